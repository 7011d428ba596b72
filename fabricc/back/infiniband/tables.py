"""The plan's tables: the cabling workbook, LIDs and GUIDs, partitions, service levels, and the summary."""

from __future__ import annotations

import json
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import csv_text
from fabricc.fabric import links
from fabricc.fabric.infiniband import MOST_LIDS, InfinibandFabric, guid_text, is_placeholder
from fabricc.fabric.infiniband_wiring import Subnet, ports_by_name, speed_word
from fabricc.fabric.shape import Slot, TierName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


CABLING = (
    "kind", "a_device", "a_port", "a_number", "b_device", "b_port", "b_number", "link", "gbps", "medium", "length_m",
)  # fmt: skip
LIDS = ("name", "kind", "subnet", "guid", "known", "lid")
PARTITIONS = ("name", "pkey", "hosts", "sl", "members")
CLASSES = ("class", "sl", "vl", "strict", "weight_percent")

Row = tuple[object, ...]


def plan_files(ib: InfinibandFabric, assumptions: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Name and text of every file of the plan."""
    yield "cabling.csv", csv_text(chain([CABLING], cabling_rows(ib)))
    yield "lids.csv", csv_text(chain([LIDS], lid_rows(ib)))
    yield "partitions.csv", csv_text(chain([PARTITIONS], partition_rows(ib)))
    yield "classes.csv", csv_text(chain([CLASSES], class_rows(ib)))
    yield "fabric.json", json.dumps(fabric_summary(ib, assumptions), indent=2, sort_keys=True) + "\n"


def cabling_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Yield one row per cable, lower end first: ports as printed, and as the subnet manager counts them."""
    wiring = ib.wiring
    ports: dict[str, dict[str, tuple[int, Slot]]] = {}
    by_key: dict[str, dict[str, tuple[int, Slot]]] = {}
    for at in wiring.switch_ids():
        key = links.layout_key(wiring, at)
        if key not in by_key:
            by_key[key] = ports_by_name(wiring, at)
        ports[wiring.name(at)] = by_key[key]
    for c in wiring.cables():
        a = 1 if c.kind == "host" else ports[c.a_device][c.a_port][0]
        b, used = ports[c.b_device][c.b_port]
        word = speed_word(c.speed_gbps, used.lanes)
        yield (
            c.kind, c.a_device, c.a_port, a, c.b_device, c.b_port, b, word, c.speed_gbps, c.medium, c.length_m,
        )  # fmt: skip


def lid_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Every port that has a LID, by subnet; `known` is no where the GUID is a placeholder."""
    for number in range(ib.subnets):
        subnet = Subnet(ib, number)
        for switch in subnet.switches():
            known = "no" if is_placeholder(switch.guid) else "yes"
            yield switch.name, switch.tier.value, number + 1, guid_text(switch.guid), known, switch.lid
        for port in subnet.host_ports():
            known = "yes" if port.real_guid else "no"
            yield port.label, "host", number + 1, guid_text(port.guid), known, port.lid


def partition_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Yield the tenants."""
    for each in ib.partitions:
        level = "" if each.sl is None else each.sl
        yield each.name, f"0x{each.pkey | 0x8000:04x}", len(each.hosts), level, " ".join(each.members())


def class_rows(ib: InfinibandFabric) -> Iterator[Row]:
    """Classes with service level and virtual lane."""
    for lane, each in enumerate(ib.classes):
        yield each.name, each.sl, lane, each.strict, each.weight_percent


_PLAIN = (bool, int, float, str, list, NoneType)
"""Types that JSON contains unchanged."""


def fabric_summary(ib: InfinibandFabric, assumptions: Mapping[str, object]) -> dict[str, object]:
    """Return the content of `plan/fabric.json`."""
    wiring = ib.wiring
    leaf = wiring.tiers[TierName.TOR]
    top = max(lid for _, _, _, _, _, lid in lid_rows(ib) if isinstance(lid, int))
    return {
        "assumptions": {path: v if isinstance(v, _PLAIN) else str(v) for path, v in assumptions.items()},
        "cluster": wiring.cluster,
        "counts": ib.counts(),
        "fabric": "infiniband",
        "generation": str(leaf.model.nos[leaf.nos]["generation"]),
        "ipoib": {"pool": str(ib.ipoib.pool), "mode": ib.ipoib.mode, "mtu": ib.ipoib.mtu}
        if ib.ipoib
        else None,
        "lids": {
            "spines_from": ib.lids.spine,
            "units_from": ib.lids.unit,
            "highest": top,
            "limit": MOST_LIDS,
        },
        **({"moved": moved} if (moved := wiring.moves.list_stated()) else {}),
        "partitions": {each.name: each.pkey for each in ib.partitions},
        **({"racks": wiring.rack_hosts()} if wiring.racks else {}),
        "routing": {"engines": list(ib.engine.names), "reason": ib.engine.reason},
        "shape": wiring.figures(),
        "tiers": {tier.value: plan.model.name for tier, plan in wiring.tiers.items()},
    }
