"""Conventions of a site: descriptions of ports and sessions, statements about unused ports, BGP limits."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.fabric.facts import neighbor_key
from fabricc.fabric.model import Direction

if TYPE_CHECKING:
    from fabricc.audit.adopt.trial import Draft, Site
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Port, Switch

Step = tuple["Draft", "Compiled"]
_FITTING = re.compile(r"(?! )[\w .:;,/()\[\]<>@#+=*{}-]+(?<! )", re.ASCII)
_USUAL = {"fabric": "{peer} {peer_port}", "host": "{peer} {peer_port}", "session": "{peer}"}


def apply_conventions(site: Site, draft: Draft, compiled: Compiled) -> Step:
    """Add the conventions that most switches share and a build would not produce to a sound draft."""
    switches = [
        (each, site.found.devices[each.name].reading.facts)
        for each in compiled.switches()
        if each.name in site.found.devices
    ]
    for key, words in (
        ("routing", _shared_limits(switches)),
        ("descriptions", _common_descriptions(switches)),
        ("unused_ports", _unused_ports(switches)),
    ):
        if not words:
            continue
        value = words if isinstance(words, str) else {**draft.words.get(key, {}), **words}
        tried = replace(draft, words={**draft.words, key: value})
        if (made := site.compiled(tried)).sound:
            draft, compiled = tried, made
    return draft, compiled


def _shared_limits(switches: list[tuple[Switch, Facts]]) -> dict[str, int]:
    """Return the limits that all switches share, if they differ from the planned ones."""
    paths = {(each.bgp.maximum_paths, facts.get("bgp/maximum_paths")) for each, facts in switches}
    limits = set()
    for each, facts in switches:
        groups = {group.name: group.maximum_prefixes for group in each.bgp.groups}
        for session in each.bgp.sessions:
            key = neighbor_key(session.transport, session.remote, session.port)
            limits.add((groups[session.group], facts.get(f"bgp/neighbor[{key}]/maximum_prefixes")))
    found = {}
    for name, pairs in (("maximum_paths", paths), ("maximum_prefixes", limits)):
        stated = {value for _, value in pairs}
        value = next(iter(stated)) if len(stated) == 1 else None
        if isinstance(value, int) and {planned for planned, _ in pairs} != stated:
            found[name] = value
    return found


def _common_descriptions(switches: list[tuple[Switch, Facts]]) -> dict[str, str]:
    """Return the text of most descriptions of a kind, if it differs from the default."""
    counted: dict[str, Counter[str]] = {kind: Counter() for kind in _USUAL}
    for switch, facts in switches:
        ports = {port.name: port for port in switch.ports if port.peer}
        for port in ports.values():
            kind = "host" if port.direction is Direction.HOST else "fabric"
            if port.direction is not Direction.EXTERNAL:
                counted[kind][
                    _description_pattern(facts.get(f"interface[{port.name}]/description"), switch, port)
                ] += 1
        for session in switch.bgp.sessions:
            key = neighbor_key(session.transport, session.remote, session.port)
            stated = facts.get(f"bgp/neighbor[{key}]/description")
            counted["session"][_description_pattern(stated, switch, ports[session.port])] += 1
    most = {kind: each.most_common(1)[0] for kind, each in counted.items() if each}
    return {
        kind: words
        for kind, (words, count) in most.items()
        if words not in ("", _USUAL[kind]) and 2 * count > counted[kind].total()
    }


def _description_pattern(stated: object, switch: Switch, port: Port) -> str:
    """Return a description with placeholders for the names of both ends; "" if it cannot be a convention."""
    if (
        not isinstance(stated, str)
        or not _FITTING.fullmatch(stated)
        or port.peer is None
        or set(stated) & set("{}")
    ):
        return ""
    names = {
        switch.name: "device", port.name: "port", port.peer.device: "peer", port.peer.port: "peer_port"
    }  # fmt: skip
    longest = sorted(names, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest)), lambda at: f"{{{names[at[0]]}}}", stated)


def _unused_ports(switches: list[tuple[Switch, Facts]]) -> str | None:
    """Return `silent` if no switch states anything about unconnected ports."""
    stated = {
        f"interface[{port.name}]/{leaf}" in facts
        for switch, facts in switches
        for port in switch.ports
        if port.direction is Direction.UNUSED
        for leaf in ("enabled", "description", "routed")
    }
    return "silent" if stated == {False} else None
