"""Rate a switch's change: the facts it runs against the facts it is to run, by the rules of `diff`."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.fabric.model import Direction, Switch
from fabricc.facts.paths import first_key, first_word, path_pattern
from fabricc.operate.change.resources import Effect
from fabricc.operate.devices import running
from fabricc.review.diff.compare import application_impact, application_words, compare_views
from fabricc.review.diff.fact_impact import OUTSIDE_ROUTE, judge_statement, row_of
from fabricc.review.diff.model import Impact, Statement
from fabricc.review.diff.run import compare_texts, describe_access
from fabricc.review.diff.trees import sessions_of
from fabricc.review.diff.unread import TextChange, list_weakened, text_changes, unread_lines
from fabricc.review.diff.view import DeviceView, identity_facts, numbered_ports

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.operate.devices.login import Device

Network = IPv4Network | IPv6Network
_VNI = path_pattern("evpn/vrf[_]/vni")
_WORD = re.compile(r"[^][\s,]+")
FAMILIES = ("ipv4", "ipv6", "unnumbered")
AGREED = (*FAMILIES, "mtu")
"""Settings on which both ends of a link must agree for packets to cross it."""
AGREED_BY_PROCESS = ("bgp/asn", "bgp/ttl_security")
"""Settings of the BGP process without which no session to a switch with other ones is established."""


def assess_effect(
    device: Device,
    switch: Switch,
    before: Mapping[str, str],
    after: Mapping[str, str],
    silent: frozenset[int] = frozenset(),
    text: Sequence[TextChange] = (),
) -> Effect:
    """Return the effect of changing from one set of files to another; files on one side only are ignored.

    Args:
        device: the switch as it is logged in to.
        switch: as planned, for its cabling.
        before: file -> text that it runs.
        after: file -> text that it is to run.
        silent: code points that nobody sends, neither before nor after.
        text: changed lines without a statement, see `find_text_changes`.
    """
    old, new = _read_facts(device, before, after)
    platform = f"{device.nos} {device.release}".strip()
    cabled = [(port, port.peer) for port in switch.ports if port.peer]
    planned = [(port.name, port.direction.value, peer.device, peer.port) for port, peer in cabled]
    base, head = (
        _make_view(
            device, platform, facts, [cable for cable in planned if _is_in_use(facts, cable[0])], silent
        )
        for facts in (old, new)
    )
    found = compare_views(base, head, text=text)
    application = back_ends.plan_application(device.nos, before, after)
    if found is None and application is None:
        return Effect(platform, Impact.NONE)
    stated = found.impact if found else Impact.NONE
    way, applied = "", Impact.NONE
    if application is not None:
        way, applied = application_words(application), application_impact(base, application)
    breaks = _find_broken_peers(switch, old, new)
    statements = tuple(found.counts) if found else ()
    leaves = bool(sessions_of(old)) and not sessions_of(new)
    besides = describe_access(statements, device.nos), tuple(list_weakened(statements, device.nos)), leaves
    if application is not None and applied > stated:
        return Effect(platform, applied, application.interrupts, breaks, way, False, False, *besides)
    reason = _find_reason(statements, device.nos, stated)
    confined = False
    outside: frozenset[str] | None = None
    if not breaks and applied < Impact.SESSION_RESET <= stated and not text:
        confined = _is_unnoticed(base, head, _list_host_vrfs(switch))
        if not confined and _is_unnoticed(base, head, _list_outside_paths(switch, base, head)):
            outside = find_changed_exits(switch, base.facts, head.facts)
    loses_vrf = any(_VNI.fullmatch(path) for path in old.keys() - new.keys())
    return Effect(platform, stated, reason, breaks, way, confined, loses_vrf, *besides, outside)


def find_text_changes(
    nos: str,
    running_files: Mapping[str, str],
    after: Mapping[str, str],
    pushed_files: Mapping[str, str] | None,
    vouched_lines: Collection[str] = (),
) -> list[TextChange]:
    """Return the changed lines whose effect is unknown, since no statement describes them.

    A device prints lines of its own, such as its defaults. So the files of the last tree are compared, and where no
    run knows them, only lines that the switch does not run yet count.

    Args:
        nos: the operating system.
        running_files: file -> text that the switch runs.
        after: file -> text that it is to run.
        pushed_files: the files that the last run gave it; None where no run knows them.
        vouched_lines: lines that the spec vouches for.
    """
    if pushed_files is not None:
        return compare_texts(
            nos,
            pushed_files,
            {name: text for name, text in after.items() if name in pushed_files},
            vouched_lines,
        )
    old, new = (unread_lines(nos, files, running.read_facts(nos, files)) for files in (running_files, after))
    return text_changes(nos, (), [line for line in new if line not in set(old)], vouched_lines)


def _is_unnoticed(base: DeviceView, head: DeviceView, left_out: Collection[str]) -> bool:
    """Return whether nothing that traffic notices is left of a change without some facts."""
    without = []
    for view in (base, head):
        rest = {path: value for path, value in view.facts.items() if path not in left_out}
        without.append(replace(view, facts=rest, sessions=sessions_of(rest)))
    found = compare_views(without[0], without[1])
    return found is None or found.impact < Impact.SESSION_RESET


def _list_host_vrfs(switch: Switch) -> set[str]:
    """Return the facts about the VRFs of ports to hosts."""
    return {f"interface[{port.name}]/vrf" for port in switch.ports if port.direction is Direction.HOST}


def _list_outside_paths(switch: Switch, base: DeviceView, head: DeviceView) -> set[str]:
    """Return the facts that only outside parties and those who reach them notice, and those about VRFs of hosts.

    These are about external links, their sessions and routes, and VRFs that no port to a host is in.
    """
    ports, found = _list_outside_ports(switch), _list_host_vrfs(switch)
    for facts in (base.facts, head.facts):
        used = {facts.get(path) for path in _list_host_vrfs(switch)}
        networks = [network for _, network in _list_networks(facts, ports)]
        for path in facts:
            word, key = first_word(path), first_key(path)
            if word == "interface":
                outside = key in ports
            elif word == "bgp/neighbor":
                outside = _is_in(key, networks)
            else:
                outside = word in ("evpn/vrf", "tenant", "vrf") and key not in used
            if outside or OUTSIDE_ROUTE in row_of(path, base.nos).tags:
                found.add(path)
    return found


def _list_outside_ports(switch: Switch) -> set[str]:
    """Return the ports that lead outside, and those without a use, which may have done so."""
    return {port.name for port in switch.ports if port.direction in (Direction.EXTERNAL, Direction.UNUSED)}


def _list_networks(facts: Facts, ports: Iterable[str]) -> Iterator[tuple[str, Network]]:
    """Yield each port with the networks of its addresses."""
    for port in ports:
        for family in FAMILIES[:2]:
            for address in _WORD.findall(str(facts.get(f"interface[{port}]/{family}", ""))):
                yield port, ip_network(address, strict=False)


def _is_in(text: str, networks: Iterable[Network]) -> bool:
    """Return whether a text is an address in one of some networks."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)


def find_changed_exits(switch: Switch, old: Facts, new: Facts) -> frozenset[str]:
    """Return the external ports of which the settings, the session or a route change; all where none stands out."""
    changed = [path for path in old.keys() | new.keys() if old.get(path) != new.get(path)]
    words = {word for path in changed for word in _WORD.findall(f"{path} {old.get(path)} {new.get(path)}")}
    places = [each for facts in (old, new) for each in _list_networks(facts, _list_outside_ports(switch))]
    found = {
        port for port, network in places if port in words or any(_is_in(word, [network]) for word in words)
    }
    return frozenset(found or {port for port, _ in places})


def _read_facts(device: Device, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Facts, Facts]:
    """Return the facts of both sides without what the device keeps, and without secrets that may be the same.

    A device has a form of its own for secrets.
    """
    texts = before, {name: text for name, text in after.items() if name in before}
    old, new = (running.read_facts(device.nos, files).facts for files in texts)
    own = {path for path in old.keys() - new.keys() if running.is_of_device(device.nos, path)}
    stored = own | {
        path
        for path in old.keys() & new.keys()
        if running.is_secret(device.nos, path)
        and not running.secrets_differ(device.nos, path, old[path], new[path])
    }
    kept = [{path: value for path, value in facts.items() if path not in stored} for facts in (old, new)]
    return kept[0], kept[1]


def _is_in_use(facts: Facts, port: str) -> bool:
    return any(f"interface[{port}]/{what}" in facts for what in ("ipv4", "ipv6", "unnumbered"))


def _make_view(
    device: Device,
    platform: str,
    facts: Facts,
    cables: list[tuple[str, str, str, str]],
    silent: frozenset[int],
) -> DeviceView:
    whole, ports = {**facts, **identity_facts("", platform)}, numbered_ports(cables)
    named = (device.name, device.kind, device.nos, platform)
    return DeviceView(*named, "", whole, ports, sessions_of(facts), unsent=silent)


def _find_reason(statements: Iterable[Statement], nos: str, impact: Impact) -> str:
    for statement in statements:
        found = judge_statement(statement.subject, statement.direction or statement.op, nos)
        if found.impact is impact:
            return f"{statement.subject}: {found.why}"
    return ""


def _find_broken_peers(switch: Switch, old: Facts, new: Facts) -> frozenset[str]:
    """Peers of links in use before, on which something of before changes that both ends must agree on.

    A family that goes breaks no link on which another one stays. An outside party is no switch of the plan.
    """
    everywhere = any(old.get(path) != new.get(path) for path in AGREED_BY_PROCESS)
    neighbors = group_pairs(
        (each.port, f"bgp/neighbor[{each.remote or each.port}]/remote_asn") for each in switch.bgp.sessions
    )
    found = set()
    for port in switch.ports:
        if port.peer is None or port.name not in neighbors or not _is_in_use(old, port.name):
            continue
        if port.direction is Direction.EXTERNAL:
            continue
        paths = [f"interface[{port.name}]/{what}" for what in AGREED]
        known = [path for path in (*paths, *neighbors[port.name]) if path in old]
        stays = any(path in old and old[path] == new.get(path) for path in paths[: len(FAMILIES)])
        if everywhere or any(new[path] != old[path] if path in new else not stays for path in known):
            found.add(port.peer.device)
    return frozenset(found)
