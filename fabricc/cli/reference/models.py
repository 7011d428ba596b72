"""Generate two kinds of reference pages as Markdown: all hardware models, and the limits of a system's releases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import TITLES
from fabricc.base.values import attribute_names
from fabricc.catalog.load import load_catalog
from fabricc.catalog.optics import Part, load_optics

if TYPE_CHECKING:
    from fabricc.back.nos.base import Departure
    from fabricc.back.nos.limits import Limit, System
    from fabricc.catalog.model import Breakout, CageGroup, Catalog, HostModel, Power, SwitchModel

_LEAD = """\
# Hardware models

{ethernet} Ethernet switches, {infiniband} InfiniBand switches, {linux} Linux boxes for labs. `fabricc catalog MODEL`
shows the figures of one model with their sources.

A switch that is `listed` has no supported system, or contradictory port tables: a spec that names it is rejected
(FAB3016) until your catalog file extends it with `nos`. `*`: the lossless table and pools of this SONiC hwsku are
used; others use those of their ASIC, marked as assumed.
"""


def render_models() -> str:
    """Return tables of switches, hosts, NICs, transceivers, cables and known power."""
    catalog, _ = load_catalog()
    infiniband = {name: model for name, model in catalog.switches.items() if _is_infiniband(model)}
    ethernet = {name: model for name, model in catalog.switches.items() if not _is_infiniband(model)}
    linux = sum(name.startswith("linux-") for name in ethernet)
    sections = [
        _LEAD.format(ethernet=len(ethernet) - linux, infiniband=len(infiniband), linux=linux),
        "## Ethernet switches\n\n" + render_table(
            ("key", "switch", "ASIC", "fabric cages (splits)", "systems, since", "SONiC hwsku"),
            ((f"`{name}`", model.title, model.asic, _panel(model), _systems(model), _hwsku(model))
             for name, model in sorted(ethernet.items())),
        ),
        "## InfiniBand switches\n\n" + render_table(
            ("key", "switch", "ASIC", "cages (splits)", "generation"),
            ((f"`{name}`", model.title, model.asic, _panel(model), _generation(model))
             for name, model in sorted(infiniband.items())),
        ),
        "## Hosts\n\n" + render_table(
            ("key", "host", "GPUs", "rails", "ports per rail", "NIC"),
            (_host_row(model) for _, model in sorted(catalog.hosts.items())),
        ),
        "## NICs\n\n" + render_table(
            ("key", "NIC", "driver", "uses of a port"),
            ((f"`{model.name}`", model.title, model.driver, _uses(model.port_splits))
             for _, model in sorted(catalog.nics.items())),
        ),
        *_optics_sections(),
        "## Known power\n\n" + render_table(("part", "typical, W", "maximum, W"), _power_rows(catalog)),
    ]  # fmt: skip
    return "\n".join(sections)


def _optics_sections() -> Iterator[str]:
    optics = load_optics()
    yield "## Transceivers\n\n" + render_table(
        ("transceiver", "uses", "fiber", "reach, m", "part numbers"),
        ((each.title, _uses(each.uses), f"{optics.families[each.family].medium}, {' + '.join(each.connectors)}",
          f"{each.reach_m:,}", _parts(each.parts)) for each in optics.transceivers),
    )  # fmt: skip
    yield "## Cables with modules\n\n" + render_table(
        ("cable", "from", "to", "lanes, Gb/s", "reach, m", "part numbers"),
        ((f"{each.medium}, retimed" if each.converts else each.medium, " ".join(each.near),
          f"{'/'.join(map(str, each.fan))} x {' '.join(each.far)}", each.lane_gbps, each.reach_m,
          _parts(each.parts)) for each in optics.assemblies),
    )  # fmt: skip
    yield "## Fibers\n\n" + render_table(
        ("medium", "from", "to", "part numbers"),
        ((each.medium, each.near, f"{each.fan} x {each.far}", _parts(each.parts)) for each in optics.fibres),
    )


def _is_infiniband(model: SwitchModel) -> bool:
    return model.asic_family == "quantum"


def _panel(model: SwitchModel) -> str:
    return " + ".join(_cages(group) for group in model.cages if group.fabric)


def _cages(group: CageGroup) -> str:
    whole = [use for use in group.breakouts if use.children == 1] or [group.breakouts[0]]
    best = max(whole, key=lambda use: use.speed_gbps)
    splits = _uses(use for use in group.breakouts if use.children > 1)
    twin = f"{best.children}x" if best.children > 1 else ""
    return f"{group.count}x{twin}{best.speed_gbps}G" + (f" ({splits})" if splits and not twin else "")


def _uses(breakouts: Iterable[Breakout]) -> str:
    return " ".join(dict.fromkeys(f"{use.children}x{use.speed_gbps}" for use in breakouts))


def _systems(model: SwitchModel) -> str:
    systems = (f"{nos} {model.support.get(nos, '')}".strip() for nos in sorted(model.nos))
    return ", ".join(systems) or "listed"


def _hwsku(model: SwitchModel) -> str:
    sonic = model.nos.get("sonic")
    return f"{sonic['hwsku']}{'*' if 'lookup' in sonic.get('sku', {}) else ''}" if sonic else ""


def _generation(model: SwitchModel) -> str:
    return str(model.nos["infiniband"]["generation"]) if model.nos else "listed"


def _host_row(model: HostModel) -> tuple[object, ...]:
    maker = " AMD" if model.gpu_vendor == "amd" else ""
    ports = f"{model.ports_per_nic}x{model.port_gbps}G"
    return f"`{model.name}`", model.title, f"{model.gpus}{maker}", model.rails, ports, f"`{model.nic.name}`"


def _parts(parts: Iterable[Part]) -> str:
    return ", ".join(
        part.number
        + (f" ({part.reach_m} m)" if part.reach_m else "")
        + ("" if "ethernet" in part.protocols else " (InfiniBand)")
        for part in parts
    ) or "-"  # fmt: skip


def _power_rows(catalog: Catalog) -> Iterator[tuple[str, str, str]]:
    """Yield the parts with known power: switches, hosts, then optics and cables."""
    devices: list[tuple[str, Power | None]] = [
        (model.title, model.power) for _, model in sorted(catalog.switches.items())
    ]
    devices += [(model.title, model.power) for _, model in sorted(catalog.hosts.items())]
    optics = load_optics()
    parts = [part for module in optics.transceivers for part in module.parts]
    parts += [part for cable in optics.assemblies for part in cable.parts]
    devices += [(part.number, part.power) for part in parts]
    for title, power in devices:
        if power is not None:
            yield title, _watts(power.typical_w), _watts(power.maximum_w)


def _watts(figure: float | None) -> str:
    return "-" if figure is None else f"{figure:,g}"


_LIMITS_LEAD = """\
# Limits of {name} by release

fabricc writes {name} {releases}; the default is {default}. A row that stops a build is an error, one that warns is a
warning; `fabricc explain CODE` has the remedy. `since` is the first release without the limit, by family of switches
where they differ.

## Limits

"""
_FIELD = re.compile(r"\{[^{}]*\}")
_ALLOWED = re.compile(r"\{allowed\[(\w+)\]\}")


def render_limits(nos: str) -> str:
    """Return the limits of each release of a built-in system, what every release has, and the facts not compared."""
    module = import_module(f"fabricc.back.nos.{nos}.limits")
    system: System = module.SYSTEM
    limits = [row for row in system.limits if row.code]
    supported = [row for row in system.limits if not row.code]
    releases = ", ".join(system.releases)
    text = _LIMITS_LEAD.format(name=system.name, releases=releases, default=system.default)
    text += render_table(
        ("code", "of", "effect", "since", "reason", "source"),
        (
            (row.code, _feature(row), "stops" if row.fatal else "warns", _releases(row),
             _reason(row), row.source)
            for row in limits
        ),
    )  # fmt: skip
    if supported:
        text += "\n## Supported\n\n" + render_table(
            ("feature", "written as", "since", "source"),
            ((_fill(row, row.title()), row.words, _releases(row), row.source) for row in supported),
        )
    if isinstance(module.RELEASES, Mapping):
        text += "\n## Files of each release\n\n" + render_table(
            ("setting", *module.RELEASES), _release_rows(module.RELEASES)
        )
    departures: tuple[Departure, ...] = import_module(f"fabricc.back.nos.{nos}").DEPARTURES
    if departures:
        text += "\n## Facts that differ from the plan\n\nThe system rounds these values, or has no place for them.\n\n"
        text += render_table(
            ("facts", "value", "reason"),
            ((f"`{each.path}`", str(each.kind), each.reason) for each in departures),
        )
    return text


def _release_rows(releases: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the settings whose values differ between releases."""
    first = next(iter(releases.values()))
    for name in attribute_names(type(first)):
        values = [_format_setting(getattr(release, name)) for release in releases.values()]
        if name != "name" and len(set(values)) > 1:
            yield (f"`{name}`", *values)


def _format_setting(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = (f"{key}: {', '.join(sorted(names))}" for key, names in value.items())
        return "; ".join(parts)
    if isinstance(value, tuple):
        return "; ".join(value)
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _releases(row: Limit) -> str:
    if row.since is None:
        return "none"
    if isinstance(row.since, str):
        return row.since
    return "; ".join(f"{family} {release or 'none'}" for family, release in row.since.items())


def _feature(row: Limit) -> str:
    """Return the subject of a row, with the commands or tables that carry it."""
    feature = _fill(row, row.title())
    if not re.search("[a-z]", feature):
        feature = TITLES[row.code].lower()
    return f"{feature} ({row.words})" if row.words else feature


def _reason(row: Limit) -> str:
    if row.reason:
        return _fill(row, row.reason)
    return "not in earlier releases" if row.since else "in no known release"


def _fill(row: Limit, text: str) -> str:
    """Return a format with the supported ranges, and "…" for values that depend on the switch."""
    known = _ALLOWED.sub(lambda found: str(row.allowed.get(found[1], "…")), text)
    return _FIELD.sub("…", known)


def render_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a row of names; "|" and line breaks in cells are escaped."""
    lines = [_format_row(head), "|" + "---|" * len(head), *map(_format_row, rows)]
    return "\n".join(lines) + "\n"


def _format_row(cells: Sequence[object]) -> str:
    texts = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(texts) + " |"
