"""Read the InfiniBand section: service levels, partitions and IPoIB as typed values, and reject Ethernet settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.fabric.infiniband import ServiceClass
from fabricc.fabric.tenants import TenantNumbers
from fabricc.front.spec.model import Infiniband, Ipoib, PartitionSpec
from fabricc.front.spec.pools import parse_network
from fabricc.front.spec.priorities import check_weights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.base.documents.document import KeyPath
    from fabricc.front.spec.document import Assumptions, Findings

LEVELS = 8
"""Service levels given to classes; every data VL that the catalog's switches have can then carry one."""
DATAGRAM_MTU = 4092  # an InfiniBand MTU of 4096 less the 4 bytes of the IPoIB header (RFC 4391 section 6)
CONNECTED_MTU = 65520  # RFC 4755: 2^16 less headers, as Linux ib_ipoib has it

MEANINGLESS = {
    "addressing": (
        "hosts and switches have LIDs and GUIDs",
        "IPoIB has its pool in `infiniband.ipoib.pool`.",
    ),
    "routing": ("the subnet manager computes every route, there is no BGP", "See `infiniband.routing`."),
    "load_balancing": ("routes are spread by the subnet manager, there is no hash", ""),
    "congestion": ("credits make links lossless, so marks have no effect", ""),
    "qos": ("credits keep links lossless, switches have no such command", ""),
    "buffers": ("link credits need no headroom", ""),
    "mtu": ("the InfiniBand MTU is 4096 throughout", "IPoIB has `infiniband.ipoib.mtu`."),
    "management": ("switches take their settings from the subnet manager", ""),
    "unused_ports": ("no switch has a file of its own", ""),
    "descriptions": ("no switch has a file of its own", ""),
    "overlays": ("no switch has a file of its own", ""),
    "identities": ("a subnet has neither ASNs nor loopbacks", ""),
    "evpn": ("partitions isolate tenants", "See `infiniband.partitions`."),
    "external": ("fabricc plans no routers between subnets", ""),
}
"""Sections of Ethernet fabrics -> why they mean nothing here, and what does."""
CLASS_KEYS = {
    "dscp": "packets carry a service level, which `priority` gives",
    "lossless": "every class is lossless by link credits",
    "ecn": "there are no ECN bits",
}


def sections_of(value: Mapping[str, Any], unfit: frozenset[str]) -> dict[str, Any]:
    """The spec's sections that fit the schema, with the sections that an InfiniBand fabric cannot be without."""
    sections = {key: part for key, part in value.items() if key not in unfit and key != "networks"}
    if sections.get("fabric") == "infiniband":
        needed: dict[str, Any] = {"infiniband": {}, "priorities": {"default": {}}}
        sections = {**{key: part for key, part in needed.items() if key not in unfit}, **sections}
    return sections


def build_infiniband(fit: Mapping[str, Any], findings: Findings) -> Infiniband | None:
    """The section as values; None when a part of it does not fit. Refuses what has no meaning on InfiniBand."""
    _reject_ethernet_keys(findings)
    if "infiniband" not in fit or "priorities" not in fit:
        return None
    raw = fit["infiniband"]
    classes = _read_classes(fit["priorities"], findings)
    partitions = tuple(
        PartitionSpec(name, part["pkey"], tuple(part["units"]), tuple(part["hosts"]), part.get("priority"))
        for name, part in sorted(raw["partitions"].items())
    )
    _check_partitions(partitions, {each.name for each in classes}, findings)
    _check_tenants(fit.get("tenants", {}), partitions, findings)
    ipoib = _read_ipoib(raw["ipoib"], findings) if raw["ipoib"] is not False else None
    return Infiniband(raw["routing"], raw.get("guids"), classes, partitions, ipoib)


def _check_tenants(
    tenants: Mapping[str, Any], partitions: tuple[PartitionSpec, ...], findings: Findings
) -> None:
    """Report partitions that two sections describe, and networks of tenants, which have specs of their own."""
    if tenants and partitions:
        message = "`tenants` and `infiniband.partitions` both describe partitions"
        findings.error("FAB3320", message, "tenants", help="Keep one of the two sections.")
    for name, part in tenants.items():
        if "reach" in part:
            message = "tenants.*.reach has no meaning on InfiniBand: further networks have specs of their own"
            help_ = "Remove it, and write `tenants` in the spec of that network."
            findings.error("FAB5801", message, "tenants", name, "reach", help=help_)
        for key in part.keys() & {"vrf", *TenantNumbers._fields}:
            message = f"tenants.*.{key} has no meaning on InfiniBand: the P_Key of a tenant is its number in the lock"
            findings.error("FAB5801", message, "tenants", name, key, help="Remove it.")


def refuse_infiniband(findings: Findings) -> None:
    """The section in a spec of another kind of fabric."""
    if "infiniband" in findings.document.value:
        message = "the section 'infiniband' needs `fabric: infiniband`"
        findings.error("FAB5802", message, "infiniband", help="Add it, or remove the section.")


def forget_ethernet(assumptions: Assumptions) -> None:
    """Drop the defaults of sections and keys that mean nothing on InfiniBand."""
    for path in tuple(assumptions.by_path):
        if path[0] in MEANINGLESS or (path[0] == "priorities" and path[-1] in CLASS_KEYS):
            assumptions.remove_default(*path)


def _reject_ethernet_keys(findings: Findings) -> None:
    value = findings.document.value
    for section, (why, instead) in MEANINGLESS.items():
        if section in value:
            message = f"{section} has no meaning on InfiniBand: {why}"
            findings.error("FAB5801", message, section, help=f"Remove it. {instead}".strip())
    for path, why in _ethernet_keys(value):
        name = ".".join(map(str, path))
        findings.error("FAB5801", f"{name} has no meaning on InfiniBand: {why}", *path, help="Remove it.")


def _ethernet_keys(value: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Keys of Ethernet inside sections that both kinds of fabric have, with the reason."""
    for tier in ("tors", "spines", "cores"):
        if "nos" in _mapping_or_empty(value.get(tier)):
            yield (tier, "nos"), "the subnet manager configures switches"
    for key in ("border", "border_links"):
        if key in _mapping_or_empty(value.get("tors")):
            yield ("tors", key), "fabricc plans no routers between subnets"
    for name, part in _mapping_or_empty(value.get("priorities")).items():
        for key, why in CLASS_KEYS.items():
            if key in _mapping_or_empty(part):
                yield ("priorities", name, key), why
    for name, part in _mapping_or_empty(value.get("overrides")).items():
        for key in ("nos", "drain", "fabric_links"):
            if key in _mapping_or_empty(part):
                yield ("overrides", name, key), "there is neither a NOS nor BGP"


def _mapping_or_empty(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_classes(raw: Mapping[str, Mapping[str, Any]], findings: Findings) -> tuple[ServiceClass, ...]:
    """Classes by service level: the one stated as `priority`, `default` on 0, else the lowest that is free."""
    levels: dict[str, int] = {}
    owners: dict[int, str] = {}
    for name, part in raw.items():
        if "priority" in part:
            levels[name] = part["priority"]
        elif name == "default":
            levels[name] = 0
        if name in levels and (owner := owners.setdefault(levels[name], name)) != name:
            message = f"classes '{owner}' and '{name}' share service level {levels[name]}"
            help_ = "Set a different `priority` for each, 0 to 7."
            findings.error("FAB5803", message, "priorities", name, help=help_)
    stated = {name: part.get("weight_percent") for name, part in raw.items()}
    check_weights(stated, {name for name, part in raw.items() if part["strict"]}, findings)
    free = iter(level for level in range(LEVELS) if level not in owners)
    for name in sorted(raw.keys() - levels.keys()):
        levels[name] = next(free, LEVELS - 1)
    weights = _read_weights(raw)
    return tuple(
        ServiceClass(name, level, raw[name]["strict"], weights[name])
        for name, level in sorted(levels.items(), key=lambda item: (item[1], item[0]))
    )


def _read_weights(raw: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Percent of each class: as stated, the rest in equal parts among those that state none; 0 for strict ones."""
    shared = [name for name in sorted(raw) if not raw[name]["strict"]]
    stated = {name: raw[name]["weight_percent"] for name in shared if "weight_percent" in raw[name]}
    others = [name for name in shared if name not in stated]
    rest = max(len(others), 100 - sum(stated.values()))
    share = {name: rest // len(others) for name in others} if others else {}
    return dict.fromkeys(raw, 0) | stated | share


def _check_partitions(partitions: tuple[PartitionSpec, ...], classes: set[str], findings: Findings) -> None:
    owners: dict[int, str] = {}
    for each in partitions:
        path = ("infiniband", "partitions", each.name)
        if (owner := owners.setdefault(each.pkey, each.name)) != each.name:
            message = (
                f"partitions '{owner}' and '{each.name}' share P_Key {each.pkey}: they are one partition"
            )
            findings.error("FAB5804", message, *path, "pkey", help="Set a different P_Key for each.")
        if not each.units and not each.hosts:
            message = f"partition '{each.name}' has no member"
            findings.error("FAB5804", message, *path, help="Add `units: […]` or `hosts: […]`.")
        if each.priority is not None and each.priority not in classes:
            known = ", ".join(sorted(classes))
            message = f"partition '{each.name}': there is no class '{each.priority}'"
            findings.error("FAB5804", message, *path, "priority", help=f"Classes: {known}.")


def _read_ipoib(raw: Mapping[str, Any], findings: Findings) -> Ipoib | None:
    path = ("infiniband", "ipoib")
    most = DATAGRAM_MTU if raw["mode"] == "datagram" else CONNECTED_MTU
    mtu = raw.get("mtu", most)
    if mtu > most:
        message = f"infiniband.ipoib.mtu {mtu} does not fit {raw['mode']} mode"
        findings.error("FAB5805", message, *path, "mtu", help=f"The largest that fits is {most}.")
    network = parse_network(raw["pool"], (*path, "pool"), findings)
    return Ipoib(network.cidr, raw["mode"], mtu) if network is not None else None
