"""The out-of-band networks: they hold every switch, and no gateway or server that the spec names has its address."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.fabric.management_addresses import management_network, management_place
from fabricc.fabric.shape import TierName
from fabricc.front.planning.topology.models import UnfitError
from fabricc.front.spec.document import format_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.management import ManagementNetwork
    from fabricc.front.planning.topology.strides import NarrowSubnets
    from fabricc.front.spec.model import ClusterSpec


def narrow_subnets(spec: ClusterSpec, narrow: NarrowSubnets, everything: str) -> Diagnostic:
    """FAB3018: a management network that is too small for its switches; `everything` counts all of the fabric."""
    network = narrow.network
    path = network_path(network)
    if network.tier is None:
        message = (
            f"the management network {network.pool} is too small for {everything} by the strides of the plan"
        )
        return spec.error("FAB3018", message, *path, help=f"Use a /{narrow.length} or larger.")
    what = plural(narrow.wanted, "ToR")
    if network.tier is not TierName.TOR:
        what = f"{narrow.wanted} numbers of {network.tier}s by the strides of the plan"
    several = network.subnets > 1
    where = f"a subnet of /{network.length} of {network.pool}" if several else str(network.pool)
    message = f"{format_path(path)}: {where} has {network.room} addresses for {what}"
    help_ = f"Use {'as many subnets of ' if several else 'a '}/{narrow.length}, or larger."
    return spec.error("FAB3018", message, *path, help=help_)


def network_path(network: ManagementNetwork) -> KeyPath:
    """Return the path of a management network in the spec."""
    key = network.key.removeprefix("management.")
    return ("management", key) if key == "network" else ("management", "networks", int(key[9:-1]))


def refuse_unmanaged(spec: ClusterSpec, fabric: Fabric) -> None:
    """Every switch is in a management network.

    Raises:
        UnfitError: FAB3111, with the number of those that are in none.
    """
    without = [at for at in fabric.switch_ids() if management_network(fabric, at) is None]
    if not without:
        return
    first = without[0]
    missing = f"tier: {first.tier}" + (f", from: {first.unit + 1}" if first.tier is TierName.TOR else "")
    message = (
        f"{plural(len(without), 'switch')} {'is' if len(without) == 1 else 'are'} in no management "
        f"network, {fabric.name(first)} the first"
    )
    help_ = f"Add a network with `{missing}`, or give `network` for all that no other takes."
    raise UnfitError(spec.error("FAB3111", message, "management", "networks", help=help_))


def out_of_band_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3025 for each gateway or server of the management section whose address a switch has."""
    reserved = 0 if fabric.given.switches else MANAGEMENT_RESERVED
    named: dict[str, tuple[KeyPath, str]] = {}
    for path, text in named_addresses(spec):
        if any(_is_switch_address(network, text, reserved) for network in fabric.addresses.management):
            named[text] = (path, text)
    if not named:
        return
    for at in fabric.switch_ids():
        place = management_place(fabric, at)
        if found := named.get(place.address):
            path, text = found
            subnet = place.offset // place.network.size * place.network.size
            first, last = (place.network.pool.address(subnet + n) for n in (1, MANAGEMENT_RESERVED - 1))
            message = f"{format_path(path)} {text} is the management address of {fabric.name(at)}"
            help_ = f"Keep to {first} to {last}, which no switch gets, or to an address outside the network."
            yield spec.error("FAB3025", message, *path, help=help_)


def named_addresses(spec: ClusterSpec) -> Iterator[tuple[KeyPath, str]]:
    """Return the paths in the spec of each address (or name) of an out-of-band network."""
    services = spec.management.services
    if spec.management.gateway is not None:
        yield ("management", "gateway"), str(spec.management.gateway)
    for service in ("ntp", "dns", "syslog"):
        for index, server in enumerate(getattr(services, service)):
            yield ("management", service, index), server
    for index, server in enumerate(services.tacacs.servers if services.tacacs else ()):
        yield ("management", "tacacs", "servers", index), server


def _is_switch_address(network: ManagementNetwork, text: str, reserved: int) -> bool:
    """Return whether an address could be a switch's, past the reserved ones of its subnet.

    Not for a name, or an address of the other IP version.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    offset = int(address) - network.pool.first
    inside = address.version == network.pool.version and 0 <= offset < 1 << network.pool.bits
    return inside and offset % network.size >= reserved
