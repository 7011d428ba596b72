"""The SONiC back end: `config_db.json` and, routed by FRR in `split-unified` mode, `frr.conf`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.frr.reader import read_frr_conf
from fabricc.back.nos.sonic import document
from fabricc.back.nos.sonic.consumers import FRR_FILE, unread_lines
from fabricc.back.nos.sonic.facts import planned_facts
from fabricc.back.nos.sonic.limits import DEFAULT_RELEASE, MULTIPATH_LIMIT, RELEASES, gaps
from fabricc.back.nos.sonic.platform import port_name
from fabricc.back.nos.sonic.qos_reader import read_qos
from fabricc.back.nos.sonic.reader import (
    read_config_db,
    read_consumers,
    read_isolation,
    read_ports,
    read_started,
    read_system,
)
from fabricc.back.nos.sonic.routing import as_run, frr_conf
from fabricc.back.nos.sonic.services import read_services
from fabricc.back.nos.sonic.tables import config_db
from fabricc.fabric.facts import Reading, switch_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.gap import Gap
    from fabricc.fabric.model import Switch


class Sonic:
    """Community SONiC; see `fabricc.back.nos.base.Nos`."""

    name = "sonic"
    releases = tuple(RELEASES)
    default_release = DEFAULT_RELEASE

    def supports(self, model: SwitchModel) -> bool:
        """Whether the catalog has SONiC settings for the model."""
        return "sonic" in model.nos

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """The `PORT` key, `Ethernet` and the position of the first lane."""
        return port_name(model, cage, child, children)

    def gaps(self, switch: Switch) -> list[Gap]:
        """What the switch's SONiC release cannot express; codes FAB5301 to FAB5326 and FAB5630 to FAB5635."""
        return gaps(switch)

    def render(self, switch: Switch) -> dict[str, str]:
        """`config_db.json` for /etc/sonic and `frr.conf` for /etc/sonic/frr."""
        return {
            document.FILE: document.write(config_db(switch)),
            FRR_FILE: frr_conf(switch),
        }

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of both files; one alone gives the facts it has."""
        reading = Reading()
        if document.FILE in files:
            source = read_config_db(files[document.FILE], reading)
            read_system(source)
            read_ports(source)
            read_services(source)
            read_qos(source)
            read_started(source)
            read_consumers(source)
        if FRR_FILE in files:
            stated = dict(reading.facts)
            read_frr_conf(files[FRR_FILE], FRR_FILE, reading, multipath_limit=MULTIPATH_LIMIT)
            if stated:
                _compare_files(reading, stated)
                for line, consumer, why in unread_lines(files[FRR_FILE], source.raw, source.release):
                    reading.put(f"unread[{FRR_FILE}/{consumer.split()[0]}]", why, FRR_FILE, line)
        if document.FILE in files:
            read_isolation(source)
        return reading

    def planned(self, switch: Switch) -> Facts:
        """All facts of the switch but accounts, and those of SONiC's own ports; see docs/nos-sonic.md."""
        run = as_run(switch)
        return planned_facts(run, switch_facts(run))


def _compare_files(reading: Reading, stated: Facts) -> None:
    """List where `frr.conf` presumes what `config_db.json`, which `stated` these facts, does not say."""
    asn = stated.get("bgp/asn")
    if asn is not None and reading.facts.get("bgp/asn") != asn:
        reading.unknown.append((FRR_FILE, 1, f"BGP's AS number is {asn} in {document.FILE}"))
    for path in reading.facts.keys() - stated.keys():
        if path.endswith("]/unnumbered"):
            file, line = reading.lines[path]
            reading.unknown.append((file, line, f"{path} is not in {document.FILE}"))


SONIC = Sonic()
