"""Build a catalog model from its YAML mapping, whose sources are already citations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.catalog import model

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


PROVENANCE = frozenset(("source", "assumed", "reason", "note"))
"""Keys that hold the source of a figure and are not figures themselves."""

FAMILIES: dict[str, type[model.SpectrumFigures] | type[model.TofinoFigures] | type[model.AnnexFigures]] = {
    "spectrum": model.SpectrumFigures,
    "tofino": model.TofinoFigures,
    "ieee8021q": model.AnnexFigures,
}
"""Families of headroom formulas; `table` is one too, without figures."""

BUFFER_FIGURES = ("total_bytes", "cell_bytes", "max_lossless_classes")

MAX_CAGE_LANES = 16

Raw = dict[str, Any]


def read_citation(raw: Mapping[str, Any]) -> str:
    """Return the source of a figure or table: the citation, or `assumed`, with a reason after a colon."""
    if raw.get("assumed"):
        return f"assumed: {raw['reason']}" if raw.get("reason") else "assumed"
    return str(raw["source"])


def strip_provenance(raw: Mapping[str, Any]) -> Raw:
    """Return a table of figures without its provenance."""
    return {key: value for key, value in raw.items() if key not in PROVENANCE}


def parse_breakout(text: str) -> model.Breakout:
    """Read `2x400/4`: children, Gb/s of each, lanes of each."""
    children, rest = text.split("x", 1)
    speed, lanes = rest.split("/", 1)
    return model.Breakout(int(children), int(speed), int(lanes))


def lane_map(lanes: Any, fabric_cages: int) -> list[list[int]]:
    """Return the SerDes lanes of every fabric cage in panel order, from any of the three forms.

    Args:
        lanes: `{first, per_cage}` for one ascending run, a text of ranges such as `17-24 1-8 9`, or the lists.
        fabric_cages: how many cages an ascending run serves.

    Raises:
        ValueError: a range in the text is wider than a cage.
    """
    if isinstance(lanes, dict):
        first, width = int(lanes["first"]), int(lanes["per_cage"])
        return [
            list(range(start, start + width)) for start in range(first, first + fabric_cages * width, width)
        ]
    if isinstance(lanes, str):
        return [_lane_range(part) for part in lanes.split()]
    return [[int(lane) for lane in cage] for cage in lanes]


def _lane_range(text: str) -> list[int]:
    first, _, last = text.partition("-")
    low, high = int(first), int(last or first)
    if not 0 <= high - low < MAX_CAGE_LANES:
        raise ValueError(f"lanes {text}")
    return list(range(low, high + 1))


def read_power(raw: Mapping[str, Any]) -> model.Power | None:
    """Return the power in the mapping of a device or of a part."""
    if "power" not in raw:
        return None
    found = strip_provenance(raw["power"])
    return model.Power(found.get("typical_w"), found.get("maximum_w"), tuple(found.get("with_optics", ())))


def build_switch(name: str, raw: Raw, table: Callable[[str], Raw]) -> model.SwitchModel:
    """Return the switch of a validated mapping; `table` finds a lossless table by name."""
    sources: dict[str, str] = {}
    cages = tuple(_build_cages(group, index, sources) for index, group in enumerate(raw["cages"]))
    fabric_cages = sum(group.count for group in cages if group.fabric)
    for key in ("ecmp_max_paths", "forwarding_latency_ns"):
        sources[key] = read_citation(raw[key])
    if "power" in raw:
        sources["power"] = read_citation(raw["power"])
    return model.SwitchModel(
        name=name,
        **{key: raw[key] for key in ("title", "vendor", "asic", "asic_family")},
        chassis=raw.get("chassis", False),
        cages=cages,
        ecmp_max_paths=raw["ecmp_max_paths"]["value"],
        forwarding_latency_ns=raw["forwarding_latency_ns"]["value"],
        buffers=_build_buffers(raw["buffers"], table, sources),
        nos={
            nos: _build_settings(nos, settings, fabric_cages, sources) for nos, settings in raw["nos"].items()
        },
        support={
            nos: settings["support"]["since"] for nos, settings in raw["nos"].items() if "support" in settings
        },
        releases={
            nos: tuple(_build_release_figures(raw["buffers"], settings, entry, table) for entry in figures)
            for nos, settings in raw["nos"].items()
            if (figures := settings.get("figures"))
        },
        power=read_power(raw),
        listed="" if raw["nos"] else raw.get("listed", ""),
        sources=sources,
    )


_NIC_DEFAULTS = ("traffic_classes", "lossless_classes", "rings", "read_request")
"""Figures of a NIC that host files always have, with a default of `NicModel`."""
_DEFAULT_FIGURE = "assumed: the file does not state it, and the figure of a ConnectX is used"


def build_nic(name: str, raw: Raw) -> model.NicModel:
    """Return the NIC of a validated mapping."""
    return model.NicModel(
        name=name,
        title=raw["title"],
        vendor=raw["vendor"],
        driver=raw["driver"]["value"],
        rdma_prefix=raw["rdma_prefix"]["value"],
        port_splits=tuple(parse_breakout(text) for text in raw["ports"]["splits"]),
        infiniband=raw["infiniband"]["value"] if "infiniband" in raw else "",
        **_nic_figures(raw),
        cages=tuple(map(_nic_cage, raw.get("cages", ()))),
        sources={key: _DEFAULT_FIGURE for key in _NIC_DEFAULTS if key not in raw}
        | {key: read_citation(part) for key, part in raw.items() if isinstance(part, dict)}
        | {f"cages.{index}": read_citation(cage) for index, cage in enumerate(raw.get("cages", ()))},
    )


def _nic_cage(raw: Raw) -> model.NicCage:
    use = parse_breakout(raw["use"])
    return model.NicCage(raw["form_factor"], use.children, use.speed_gbps, use.lanes)


def _nic_figures(raw: Raw) -> Raw:
    """Return the figures of a NIC in its mapping; the others keep their defaults."""
    keys = (
        "transport", "traffic_classes", "lossless_classes", "strict_rate_limit", "ethernet_gbps", "out_of_order",
        "queue_pairs", "needs_flow_control", "tunnel_packet_gap",
    )  # fmt: skip
    found: Raw = {key: raw[key]["value"] for key in keys if key in raw}
    if "plane_splits" in raw:
        found["plane_splits"] = tuple(raw["plane_splits"]["value"])
    if "rings" in raw:
        found["ring_rx"], found["ring_tx"] = raw["rings"]["rx"], raw["rings"]["tx"]
    if "read_request" in raw:
        found["read_request_bytes"] = raw["read_request"]["bytes"]
    for key, part in (("congestion", "parameters"), ("firmware", "settings")):
        if key in raw:
            found[key] = tuple(sorted(raw[key][part].items()))
    return found


_JOINED: Raw = {
    "value": "all",
    "assumed": True,
    "reason": "the file does not state how the GPUs are connected",
}


def build_host(name: str, raw: Raw, find_nic: Callable[[str], model.NicModel]) -> model.HostModel:
    """Return the host of a validated mapping; `find_nic` finds a NIC by name."""
    keys = ("gpus", "rails", "nic", "ports_per_nic", "port_gbps", "management_interface")
    value = {key: raw[key]["value"] for key in keys}
    sources = {key: read_citation(raw[key]) for key in keys}
    pci: tuple[str, ...] = ()
    if "pci" in raw:
        pci = tuple(raw["pci"]["addresses"])
        value["second_pci"] = tuple(raw["pci"].get("second", ()))
        sources["pci"] = read_citation(raw["pci"])
    value["nic"] = find_nic(value["nic"])
    if "nvlink_domain" in raw:
        value["nvlink_domain"] = raw["nvlink_domain"]["value"]
        sources["nvlink_domain"] = read_citation(raw["nvlink_domain"])
    if value["gpus"]:
        joined = raw.get("gpu_interconnect", _JOINED)
        value["gpu_interconnect"], sources["gpu_interconnect"] = joined["value"], read_citation(joined)
    stated = raw.get("management", {"assumed": True, "reason": "one port of a BMC, as servers have"})
    value["management"], sources["management"] = (
        model.ManagementPorts(**strip_provenance(stated)),
        read_citation(stated),
    )
    value["gpu_vendor"] = raw.get("gpu_vendor", "nvidia") if value["gpus"] else "none"
    if value["gpus"] and "gpu_vendor" not in raw:
        sources["gpu_vendor"] = "assumed: the file does not name the maker of the GPUs"
    if "cages" in raw:
        value["form_factor"] = raw["cages"]["form_factor"]
        value["cages"] = tuple(map(tuple, raw["cages"]["rails"]))
        sources["form_factor"] = sources["cages"] = read_citation(raw["cages"])
    networks = {}
    for network, part in raw.get("networks", {}).items():
        counts = {key: part[key] for key in ("nics", "ports_per_nic", "port_gbps")}
        networks[network] = model.HostPorts(
            find_nic(part["nic"]),
            **counts,
            pci=tuple(part.get("pci", ())),
            infiniband_gbps=part.get("infiniband_gbps"),
        )
        sources[f"networks.{network}"] = read_citation(part)
    if "power" in raw:
        sources["power"] = read_citation(raw["power"])
    return model.HostModel(
        name=name,
        title=raw["title"],
        vendor=raw["vendor"],
        pci=pci,
        networks=networks,
        power=read_power(raw),
        sources=sources,
        **value,
    )


def _build_cages(raw: Raw, index: int, sources: dict[str, str]) -> model.CageGroup:
    sources[f"cages.{index}"] = read_citation(raw)
    same = {key: raw[key] for key in ("first", "count", "lanes", "fabric", "form_factor") if key in raw}
    return model.CageGroup(**same, breakouts=tuple(parse_breakout(text) for text in raw["breakouts"]))


def _build_buffers(raw: Raw, table: Callable[[str], Raw], sources: dict[str, str]) -> model.Buffers:
    for key in BUFFER_FIGURES:
        sources[f"buffers.{key}"] = read_citation(raw[key])
    sources["buffers.pools"] = read_citation(raw["pools"])
    formula = raw.get("formula")
    siblings = {name: table(name) for name in raw.get("siblings", ())}
    if siblings:
        sources["buffers.siblings"] = "; ".join(map(read_citation, siblings.values()))
    if formula:
        sources["buffers.formula"] = read_citation(formula)
    return model.Buffers(
        **{key: raw[key]["value"] for key in BUFFER_FIGURES},
        rows=_merge_table_rows(raw["headroom"], table, sources),
        formula=_build_formula(strip_provenance(formula)) if formula else None,
        pools=_build_pools(raw["pools"], sources),
        limits=_build_limits(raw.get("limits", {}), sources),
        siblings=tuple(row for name, found in siblings.items() for row in _table_rows(name, found)),
    )


def _build_pools(raw: Raw, sources: dict[str, str]) -> model.Pools:
    found = strip_provenance(raw)
    if "accounting" in found:
        sources["buffers.pools.size_includes_headroom"] = read_citation(found.pop("accounting"))
    return model.Pools(**found)


def _build_formula(raw: Raw) -> model.Formula | None:
    family = FAMILIES.get(raw.pop("family"))
    return family(**raw) if family else None


def _build_limits(raw: Raw, sources: dict[str, str]) -> model.Limits:
    found: Raw = {}
    for key, limit in raw.items():
        sources[f"buffers.limits.{key}"] = read_citation(limit)
        found[key] = limit["value"] if "value" in limit else (limit["least"], limit["most"])
    return model.Limits(**found)


def _merge_table_rows(
    uses: list[Raw], table: Callable[[str], Raw], sources: dict[str, str]
) -> tuple[model.HeadroomRow, ...]:
    """Return all rows of the tables used, by speed and length; where two tables share both, the later one wins.

    The switch's own table, one that is not assumed, also replaces every earlier row of its speeds.
    """
    rows: dict[tuple[int, int], model.HeadroomRow] = {}
    for use in uses:
        found = table(use["table"])
        own = () if use.get("assumed") else _table_rows(use["table"], found)
        listed = {row.speed_gbps for row in own}
        for key in [key for key in rows if key[0] in listed]:
            del rows[key], sources[f"buffers.rows.{key[0]}.{key[1]}"]
        where = read_citation(found)
        if use.get("assumed"):
            where = f"{read_citation(use)} ({where})"
        for row in _table_rows(use["table"], found):
            row = replace(row, dynamic_th=use.get("dynamic_th", row.dynamic_th))
            rows[row.speed_gbps, row.cable_m] = row
            sources[f"buffers.rows.{row.speed_gbps}.{row.cable_m}"] = where
    return tuple(rows[key] for key in sorted(rows))


def _table_rows(name: str, found: Raw) -> Iterator[model.HeadroomRow]:
    for cells in found["rows"]:
        yield model.HeadroomRow(**dict(zip(found["columns"], cells, strict=True)), table=name)


def _build_release_figures(
    buffers: Raw, settings: Raw, entry: Raw, table: Callable[[str], Raw]
) -> model.ReleaseFigures:
    """Return the figures of some releases: the buffers of the switch with the changes of the entry."""
    sources = {"figures": read_citation(entry)}
    return model.ReleaseFigures(
        since=entry.get("since"),
        until=entry.get("until"),
        buffers=_build_buffers(merge_values(buffers, entry.get("buffers", {})), table, sources),
        lookup=entry.get("lookup", settings.get("sku", {}).get("lookup", "")),
        sources=sources,
    )


def merge_values(base: Raw, changes: Raw) -> Raw:
    """Changes over a base: mappings merge, lists and figures replace, a new provenance replaces the old one."""
    merged = dict(base)
    if changes.keys() & {"source", "assumed"}:
        for key in PROVENANCE:
            merged.pop(key, None)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(value, dict) and isinstance(old, dict) and "value" not in value:
            merged[key] = merge_values(old, value)
        else:
            merged[key] = value
    return merged


def _build_settings(nos: str, raw: Raw, fabric_cages: int, sources: dict[str, str]) -> Raw:
    sources[f"nos.{nos}"] = read_citation(raw)
    settings = {key: value for key, value in strip_provenance(raw).items() if key != "figures"}
    for part in ("support", "sku", "ecn_delay"):
        if part in settings:
            sources[f"nos.{nos}.{part}"] = read_citation(settings[part])
            settings[part] = strip_provenance(settings[part])
    if "lanes" in settings:
        settings["lanes"] = lane_map(settings["lanes"], fabric_cages)
    return settings
