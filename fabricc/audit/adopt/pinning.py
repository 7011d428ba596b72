"""Pin what the closest spec leaves open: the lock, names and numbers by tables, overrides of switches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt import pins, tables
from fabricc.audit.adopt.habits import apply_conventions
from fabricc.audit.adopt.outward import rename_switches
from fabricc.audit.adopt.seats import assign_slots
from fabricc.audit.adopt.shape import named_hosts
from fabricc.audit.adopt.trial import match_switches
from fabricc.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.audit.adopt.trial import Draft, Site
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.model import Switch
    from fabricc.facts.device import Device

_DRAINED = "add_community 65535:0"

_HOSTS, _MANAGEMENT, _LOOPBACKS = ("hosts4", "hosts6"), ("management",), ("loopback4", "loopback6")
_WITHOUT: tuple[tuple[str, ...], ...] = (
    (), _HOSTS, _MANAGEMENT, (*_HOSTS, *_MANAGEMENT), (*_HOSTS, *_MANAGEMENT, *_LOOPBACKS),
    (*_HOSTS, *_MANAGEMENT, *_LOOPBACKS, "asn"),
)  # fmt: skip
"""Columns that the table does without where a spec does not take them; overlays keep what they stand for."""

_PORT = 16
"""Cells of tables that a link on another port counts for: it has to be recabled, they only to be written."""

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""Names that a spec accepts for a device."""

Step = tuple["Draft", "Compiled"]


def settle_draft(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Return a sound draft with everything that pins, names, tables and overrides can settle."""
    for step in (assign_slots, _set_pins, _set_names, _set_tables, apply_conventions, _set_overrides):
        draft, compiled = step(site, draft, compiled)
    return draft, compiled


def _set_pins(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set strides and the first ASN as found, if more numbers then equal the computed ones."""
    best = _count_deviations(site, compiled)
    shown = pins.infer_strides(compiled, site.found, site.order)
    plain = {pin: value for pin, value in shown.items() if not pin.endswith("_cage")}
    for lock in dict.fromkeys(
        _with_strides(compiled.lock_text, some, site.network) for some in (shown, plain)
    ):
        pinned = replace(draft, lock=lock)
        for tried in (pinned, *_asn_bases(site, pinned, compiled)):
            made = site.compiled(tried)
            if made.sound and (rows := _count_deviations(site, made)) < best:
                best, draft, compiled = rows, tried, made
    return draft, compiled


def _asn_bases(site: Site, draft: Draft, compiled: Compiled) -> Iterator[Draft]:
    """Yield the draft with the base that follows from the first ToR's ASN."""
    at, name = next(iter(match_switches(compiled, site.order).items()))
    asn = site.found.devices[name].reading.facts.get("bgp/asn")
    if isinstance(asn, int):
        base = compiled.fabric.routing.asn_base + asn - compiled.fabric.switch(at).bgp.asn
        routing = {**draft.words.get("routing", {}), "asn_base": base}
        yield replace(draft, words={**draft.words, "routing": routing})


def _count_deviations(site: Site, compiled: Compiled) -> int:
    """Return the number of values that differ from the computed ones: table cells and ports."""
    rows = (
        *tables.device_rows(compiled, site.found, site.order),
        *tables.link_rows(compiled, site.found, site.order),
    )
    return sum(map(len, rows)) + _PORT * sum(1 for _ in tables.misplaced_links(compiled, site.order))


def _set_names(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set the names of hosts if they differ from the computed ones."""
    if [host.name for host in compiled.hosts()] == [host.name for host in site.order.hosts]:
        return draft, compiled
    words = dict(draft.words)
    if site.network:
        words = named_hosts(site.order, words)
    else:
        words["gpus"] = named_hosts(site.order, words["gpus"])
    tried = replace(draft, words=words)
    made = site.compiled(tried)
    return (tried, made) if made.sound else (draft, compiled)


def _set_tables(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set names, numbers and addresses by tables where they differ from the closed form."""
    rows = [
        {key: cell for key, cell in row.items() if key != "name" or NAME.fullmatch(cell)}
        for row in tables.device_rows(compiled, site.found, site.order)
    ]
    for without in _WITHOUT if rows else ():
        some = [{key: cell for key, cell in row.items() if key not in without} for row in rows]
        given = {row["device"]: row["name"] for row in some if "name" in row}
        tried = replace(
            draft, devices=[row for row in some if len(row) > 1], words=_use_names(draft.words, given)
        )
        if (made := site.compiled(tried)).sound:
            draft, compiled = tried, made
            break
    links = tables.link_rows(compiled, site.found, site.order)
    between = [row for row in links if row["b_device"] not in {host.name for host in site.order.hosts}]
    for some in (links, between) if links != between else (links,):
        tried = replace(draft, links=some)
        if some and (made := site.compiled(tried)).sound:
            return tried, made
    return draft, compiled


def _use_names(words: Mapping[str, Any], given: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the words with the new names of switches where external links use them."""
    if "external" not in words:
        return words
    at = {link["at"] for party in words["external"].values() for link in party["links"]}
    return {
        **words,
        "external": rename_switches(words["external"], {name: given.get(name, name) for name in at}),
    }


def _set_overrides(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Set the deviations of single switches as overrides."""
    hosts = {device.name: device for device in site.sides.hosts}
    changes = {
        switch.name: change
        for switch in compiled.switches()
        if switch.name in site.found.devices
        and (change := _switch_changes(switch, site.found.devices[switch.name], hosts))
    }
    tried = replace(draft, words={**draft.words, "overrides": changes})
    if changes and (made := site.compiled(tried)).sound:
        return tried, made
    return draft, compiled


def _switch_changes(planned: Switch, device: Device, hosts: Mapping[str, Device]) -> dict[str, Any]:
    """Return the deviations of a switch from its tier: drained, ports shut, other lengths of cables to hosts."""
    facts = device.reading.facts
    ports: dict[str, dict[str, Any]] = {}
    for port in planned.ports:
        if port.peer is None:
            continue
        change: dict[str, Any] = {}
        if port.enabled and facts.get(f"interface[{port.name}]/enabled") == "false":
            change["shutdown"] = True
        host = hosts.get(port.peer.device)
        length = host.reading.facts.get(f"interface[{port.peer.port}]/cable_m") if host else None
        if isinstance(length, int) and length != port.cable_m:
            change["cable_m"] = length
        if change:
            ports[port.name] = change
    drained = any(
        path.startswith("route_map[TO-") and _DRAINED in str(value) for path, value in facts.items()
    )
    return ({"drain": True} if drained and not planned.drained else {}) | ({"ports": ports} if ports else {})


def _with_strides(lock: str, strides: Mapping[str, int], network: str) -> str:
    """Return the text of a lock with other strides of a network."""
    start = f"network {network} " if network else ""
    return re.sub(
        rf"^{start}stride ([\w/-]+) \d+$",
        lambda at: f"{start}stride {at[1]} {strides[at[1]]}" if at[1] in strides else at[0],
        lock,
        flags=re.M,
    )
