"""A fabric for NVIDIA's Kubernetes Launch Kit (`l8k`): its topology file, a profile, and the addresses it computes.

Source: github.com/NVIDIA/k8s-launch-kit, pkg/networkoperatorplugin/spectrumx/addressing.go (format `reference`, with
`nodes` and `links` arrays; host addresses from plane, rail, pod, scalable unit and host index) and
pkg/config/config.go (`profile.spectrumX`, `spectrumX.overlay`).
"""

from __future__ import annotations

from collections import Counter
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity

if TYPE_CHECKING:
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, HostPort

FIRST_OCTET = {2: 172, 3: 10}
"""Tiers -> the first octet of host addresses, if `hostFirstOctet` names none."""
_REMEDY = "Use `jobs/kubernetes/address-pools.yaml` of the build, which has the addresses of the plan."
_MOST_RAILS, _MOST_HOSTS, _MOST_PLANES, _MOST_PODS = 8, 128, 4, 32
_MOST_UNITS = {(2, False): 64, (2, True): 64, (3, False): 256, (3, True): 64}
"""Tiers, and whether the fabric has planes -> the most scalable units."""


class KitLink(NamedTuple):
    """A host link with the addresses that the kit gives it, without prefix length."""

    host: str
    port: HostPort
    unit: int
    pod: int
    host_address: str
    tor_address: str

    @property
    def agrees(self) -> bool:
        """Return whether the plan has the same addresses."""
        planned = (self.port.ipv4 or "").partition("/")[0], (self.port.gateway4 or "").partition("/")[0]
        return planned == (self.host_address, self.tor_address)


class UnfitFabricError(FindingsError):
    """The kit's addresses cannot number the fabric (FAB2154), or its profile has no such NICs (FAB2157)."""


def list_kit_links(fabric: Fabric, first_octet: int | None = None) -> list[KitLink]:
    """Return the links of hosts, with the addresses that the kit computes from them.

    Args:
        fabric: the network of the rails.
        first_octet: `hostFirstOctet` of the kit's profile; None for the kit's own.

    Raises:
        UnfitFabricError: a rail, unit, plane or host is beyond the kit's numbers.
    """
    tiers = _count_tiers(fabric)
    octet = FIRST_OCTET[tiers] if first_octet is None else first_octet
    used: Counter[tuple[int, int]] = Counter()
    links = []
    for host_id in fabric.host_ids():
        host = fabric.host(host_id)
        pod, unit = divmod(host.unit, fabric.shape.units_per_pod) if tiers == 3 else (0, host.unit)
        index = used[pod, unit]
        used[pod, unit] += 1
        for port in host.ports:
            addresses = _compute_addresses(fabric, host, port, (octet, pod, unit, index))
            links.append(KitLink(host.name, port, unit, pod, *addresses))
    _reject_equal_addresses(links)
    return links


def _reject_equal_addresses(links: list[KitLink]) -> None:
    """Reject two links of a host on one rail and plane, such as those to a pair of ToRs: the kit numbers one."""
    seen: dict[str, KitLink] = {}
    for link in links:
        other = seen.setdefault(link.host_address, link)
        if other is not link:
            ports = f"{other.port.name} and {link.port.name}"
            message = f"{link.host}: the kit gives {ports} one address, {link.host_address}"
            raise UnfitFabricError("FAB2154", message, _REMEDY)


def topology_document(fabric: Fabric, links: list[KitLink]) -> dict[str, Any]:
    """Return the kit's topology file: hosts, ToRs, and a link of each host port."""
    tors = dict.fromkeys(link.port.peer.device for link in links)
    nodes = [
        {"name": name, "role": "host", "type": "default"} for name in dict.fromkeys(one.host for one in links)
    ]
    nodes += [{"name": name, "role": "leaf", "type": "default"} for name in tors]
    return {"nodes": nodes, "links": [_link_entry(fabric, link) for link in links]}


def _link_entry(fabric: Fabric, link: KitLink) -> list[dict[str, Any]]:
    """Return the two ends of a link: the ToR states the plane, the host its rail."""
    port, place = link.port, {"pod": link.pod, "su": link.unit}
    tor = {"role": "leaf", "plane": _plane_of(fabric, port), **place}
    return [
        {"node": port.peer.device, "interface": port.peer.port, "attributes": tor},
        {
            "node": link.host,
            "interface": port.name,
            "attributes": {"role": "host", "rail": port.rail, **place},
        },
    ]


def profile_document(fabric: Fabric, topology: str, first_octet: int | None = None) -> dict[str, Any]:
    """Return the section `profile` of the kit's configuration for the fabric, and the overlay of its tenants.

    Args:
        fabric: the network of the rails.
        topology: name of the topology file.
        first_octet: as for `list_kit_links`.
    """
    tiers = _count_tiers(fabric)
    planes = fabric.port_planes
    tenancy = fabric.tenancy
    return {
        **({"spectrumX": {"overlay": "l3"}} if tenancy and tenancy.tunnels else {}),
        "profile": {
            "fabric": "ethernet", "deployment": "sriov", "multirail": True,
            "spectrumX": {
                "enable": True, "multiplaneMode": "swplb" if planes > 1 else "none", "numberOfPlanes": planes,
                "topologyType": f"{tiers}-tier", "topologyFile": topology, "ipVersion": "ipv4",
                "hostFirstOctet": FIRST_OCTET[tiers] if first_octet is None else first_octet,
            },
        },
    }  # fmt: skip


def split_finding(fabric: Fabric) -> Diagnostic | None:
    """Return FAB2157 if the profile names a split of planes that the spec does not.

    Raises:
        UnfitFabricError: NICs that split no planes, which the kit has for one plane only.
    """
    if fabric.port_planes == 1 or fabric.plane_split == "software":
        return None
    remedy = "Write `plane_split: software` in the spec."
    if fabric.plane_split == "none":
        message = (
            f"the kit has no NICs that leave {fabric.port_planes} planes unsplit, as `plane_split: none` does"
        )
        raise UnfitFabricError("FAB2157", message, remedy)
    message = (
        f"the profile has NICs split {fabric.port_planes} planes in software, which the spec leaves open"
    )
    return Diagnostic("FAB2157", Severity.WARNING, message, None, remedy)


def identity_tables(links: list[KitLink]) -> dict[str, str]:
    """Return identity tables, file name -> CSV text, that give a spec the addresses of the kit.

    Each ToR gets the block of 128 links that the kit keeps for its rail, plane and unit.
    """
    blocks = {link.port.peer.device: f"{link.host_address.rpartition('.')[0]}.0/24" for link in links}
    devices = [f"{tor},{block}" for tor, block in blocks.items()]
    rows = [
        f"{link.host},{link.port.name},{link.port.peer.device},{link.port.peer.port},"
        f"{link.host_address},{link.tor_address}"
        for link in links
    ]
    return {
        "devices.csv": "\n".join(("device,hosts4", *devices, "")),
        "links.csv": "\n".join(("a_device,a_port,b_device,b_port,a_ipv4,b_ipv4", *rows, "")),
    }


def address_finding(
    fabric: Fabric, links: list[KitLink], folder: str, first_octet: int | None = None
) -> Diagnostic | None:
    """Return FAB2155 if the plan has other addresses than the kit, with the way to equal ones.

    Args:
        fabric: the network of the rails.
        links: its links, of `list_kit_links`.
        folder: where the identity tables are.
        first_octet: as for `list_kit_links`.
    """
    other = sum(not link.agrees for link in links)
    if not other:
        return None
    message = f"the kit numbers {other:,} of {len(links):,} host links differently from the plan"
    pool = _address_pool(fabric, first_octet)
    remedy = (
        f"Before the first build, set `addressing.hosts: {pool}`, and under `identities` "
        f"`devices: {folder}/devices.csv` and `links: {folder}/links.csv`."
    )
    if inside := _overlapping_pools(fabric, pool):
        remedy += f" Move {', '.join(inside)} out of {pool}, or choose another --first-octet."
    if tor := split_tor(links):
        message += f", and {tor} has links of several rails"
        remedy = _REMEDY
    return Diagnostic("FAB2155", Severity.WARNING, message, None, remedy)


def split_tor(links: list[KitLink]) -> str:
    """Return a ToR with links in several blocks of the kit, as a ToR announces one block; "" without one."""
    blocks: dict[str, str] = {}
    for link in links:
        tor, block = link.port.peer.device, link.host_address.rpartition(".")[0]
        if blocks.setdefault(tor, block) != block:
            return tor
    return ""


def _overlapping_pools(fabric: Fabric, pool: str) -> list[str]:
    """Return the pools of the fabric besides those of hosts that share addresses with the kit's."""
    kit = IPv4Network(pool)
    pools = {
        name: ip_network(str(each)) for name, each in fabric.addresses.pools().items() if name != "hosts4"
    }
    return [name for name, each in pools.items() if isinstance(each, IPv4Network) and each.overlaps(kit)]


def _address_pool(fabric: Fabric, first_octet: int | None = None) -> str:
    """Return the pool that all host addresses of the kit are in."""
    tiers = _count_tiers(fabric)
    octet = FIRST_OCTET[tiers] if first_octet is None else first_octet
    return f"{octet}.16.0.0/12" if tiers == 2 else f"{octet}.0.0.0/8"


def _count_tiers(fabric: Fabric) -> int:
    return 3 if fabric.shape.pods > 1 else 2


def _plane_of(fabric: Fabric, port: HostPort) -> int:
    """Return the plane of a port, numbered within its rail: the kit separates rails and planes."""
    return port.plane % fabric.shape.port_planes


def _compute_addresses(
    fabric: Fabric, host: Host, port: HostPort, place: tuple[int, int, int, int]
) -> tuple[str, str]:
    """Return the addresses of a host port and of its ToR.

    Args:
        fabric: the network of the rails.
        host: the host of the port.
        port: the port.
        place: first octet, pod, unit in the pod, and index of the host in the unit.
    """
    octet, pod, unit, index = place
    tiers, planes = _count_tiers(fabric), fabric.port_planes
    plane = _plane_of(fabric, port)
    limits = (
        ("rail", port.rail, _MOST_RAILS),
        ("host of its unit", index, _MOST_HOSTS),
        ("plane", plane, _MOST_PLANES),
        ("pod", pod, _MOST_PODS),
        ("unit", unit, _MOST_UNITS[tiers, planes > 1]),
    )
    for what, number, most in limits:
        if number >= most:
            message = f"{host.name} {port.name}: {what} {number + 1}, and the kit's addresses number {most:,}"
            raise UnfitFabricError("FAB2154", message, _REMEDY)
    if tiers == 3:
        second = plane << 6 | port.rail << 3 | pod >> 2 if planes > 1 else port.rail << 5 | pod
        third = (pod & 3) << 6 | unit if planes > 1 else unit
    elif planes > 1:
        second, third = 16 | plane << 2 | port.rail >> 2, (port.rail & 3) << 6 | unit
    else:
        second, third = 16 | port.rail << 1, unit
    start = f"{octet}.{second}.{third}"
    return f"{start}.{index << 1}", f"{start}.{index << 1 | 1}"
