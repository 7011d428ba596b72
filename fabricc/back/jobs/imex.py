"""The nodes of each NVLink domain, as NVIDIA's IMEX service reads them (IMEX guide, Deployment Models)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.roster import port_addresses

if TYPE_CHECKING:
    from fabricc.back.jobs.roster import Roster
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host


def imex_files(fabric: Fabric, hosts: Roster[Host]) -> dict[str, str]:
    """`DOMAIN.cfg`: the `nodes_config.cfg` of each host of the domain, an address a line, in the order of the hosts.

    The addresses are those of rail 0. The service compares the lists, so each host of a domain has the same one.
    """
    domains = hosts.hosts_by_domain()
    if not domains:
        return {}
    address = {each.host: each.address for each in port_addresses(fabric, hosts, 0, 0)}
    return {
        f"{check_word(name)}.cfg": "".join(f"{address[host.name]}\n" for host in members)
        for name, members in domains.items()
        if all(host.name in address for host in members)
    }
