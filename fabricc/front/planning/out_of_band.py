"""The out-of-band network: a gateway or a server that the spec names must not have a switch's address."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from fabricc.fabric import links
from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.front.spec.document import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec


def out_of_band_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3025 for each gateway or server of the management section whose address a switch has."""
    network = fabric.addresses.management
    named = {
        offset: (path, text)
        for path, text in _named(spec)
        if 0 < (offset := _offset(text, network.first, network.version)) < 1 << network.bits
    }
    if not named.keys() - range(MANAGEMENT_RESERVED):
        return
    for at in fabric.switch_ids():
        if found := named.get(links.management_offset(fabric, at)):
            path, text = found
            yield spec.error(
                "FAB3025",
                f"{dotted(path)} {text} is the management address of {fabric.name(at)}",
                *path,
                help=f"Keep to {network.address(1)} to {network.address(MANAGEMENT_RESERVED - 1)}, "
                "which no switch gets, or to an address outside the network.",
            )


def _named(spec: ClusterSpec) -> Iterator[tuple[KeyPath, str]]:
    """Where the spec names an address (or a name) of the out-of-band network."""
    services = spec.management.services
    yield ("management", "gateway"), str(spec.management.gateway)
    for service in ("ntp", "dns", "syslog"):
        for index, server in enumerate(getattr(services, service)):
            yield ("management", service, index), server
    for index, server in enumerate(services.tacacs.servers if services.tacacs else ()):
        yield ("management", "tacacs", "servers", index), server


def _offset(text: str, first: int, version: int) -> int:
    """The offset of an address in a network; -1 for a name, or an address of the other IP version."""
    try:
        address = ip_address(text)
    except ValueError:
        return -1
    return int(address) - first if address.version == version else -1
