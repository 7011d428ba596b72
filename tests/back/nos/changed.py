"""Switches with a part changed, and strategies of parts that any system has to express."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from fabricc.fabric.qos import Ecn, Headroom, SwitchQos, TrafficClass, Watchdog
from fabricc.fabric.routing import Bgp, Clause, PrefixList, PrefixRule, RouteMap

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True)
POSITIVE = st.integers(1, 10**9)


def with_class(switch: Switch, name: str, **changes: Any) -> Switch:
    classes = tuple(replace(c, **changes) if c.name == name else c for c in switch.qos.classes)
    return replace(switch, qos=replace(switch.qos, classes=classes))


def with_port(switch: Switch, **changes: Any) -> Switch:
    return replace(switch, ports=(replace(switch.ports[0], **changes), *switch.ports[1:]))


def with_profile(switch: Switch, **changes: Any) -> Switch:
    """The first profile with other parts, or with other figures of a part."""
    first, *others = switch.qos.profiles
    parts = {
        key: replace(getattr(first, key), **part) if isinstance(part, Mapping) else part
        for key, part in changes.items()
    }
    return replace(switch, qos=replace(switch.qos, profiles=(replace(first, **parts), *others)))


def with_bgp(switch: Switch, **changes: Any) -> Switch:
    return replace(switch, bgp=replace(switch.bgp, **changes))


def with_management(switch: Switch, **changes: Any) -> Switch:
    return replace(switch, management=replace(switch.management, **changes))


def with_watchdog(switch: Switch, watchdog: Watchdog) -> Switch:
    return replace(switch, qos=replace(switch.qos, watchdog=watchdog))


def shared_out(draw: st.DrawFn, classes: tuple[TrafficClass, ...]) -> tuple[TrafficClass, ...]:
    """Classes with other shares of the bandwidth, 100 % in all."""
    percent = draw(st.integers(1, 99))
    return tuple(
        c if c.strict else replace(c, weight_percent=percent if c.lossless else 100 - percent)
        for c in classes
    )


def any_qos(
    draw: st.DrawFn, qos: SwitchQos, headrooms: st.SearchStrategy[Headroom], least_ms: int = 10
) -> SwitchQos:
    """Other figures of profiles and the watchdog, where there is a lossless class; timers from `least_ms`."""
    marking = st.none() | st.builds(Ecn, POSITIVE, POSITIVE, st.integers(1, 100))
    sized = [(p, draw(headrooms)) for p in qos.profiles]
    profiles = tuple(replace(p, cable_m=h.cable_m, headroom=h, ecn=draw(marking)) for p, h in sized)
    timer = st.integers(least_ms, 60_000)
    watchdogs = st.none() | st.builds(Watchdog, timer, timer, timer, st.sampled_from(["drop", "forward"]))
    return replace(qos, profiles=profiles, watchdog=draw(watchdogs) if profiles else None)


def any_rules(most: int) -> st.SearchStrategy[tuple[PrefixRule, ...]]:
    """One to `most` rules of one prefix."""
    lengths = st.none() | st.integers(10, 20), st.none() | st.integers(20, 32)
    return st.lists(st.builds(PrefixRule, st.just("10.0.0.0/9"), *lengths), min_size=1, max_size=most).map(
        tuple
    )


def any_bgp(
    draw: st.DrawFn,
    bgp: Bgp,
    rules: st.SearchStrategy[tuple[PrefixRule, ...]],
    communities: st.SearchStrategy[str | None] = NAMES | st.none(),  # noqa: B008 - a strategy has no state
    *,
    paths: int,
    bfd_ms: tuple[int, int],
    bfd_multiplier: tuple[int, int],
) -> Bgp:
    """Other figures and names everywhere, and one more list with a route map that may use it."""
    listed = PrefixList(draw(NAMES).upper(), 4, draw(rules))
    clause = Clause(
        draw(st.integers(1, 9)),
        draw(st.booleans()),
        draw(st.sampled_from([None, listed.name])),
        4,
        draw(communities),
        draw(st.none() | st.integers(0, 2**32 - 1)),
        draw(st.sampled_from([None, "65535:0", "65535:65281", "64512:7"])),
    )
    return replace(
        bgp,
        asn=draw(st.integers(1, 2**32 - 1)),
        keepalive_s=draw(st.integers(1, 60)),
        hold_s=draw(st.integers(3, 180)),
        maximum_paths=draw(st.integers(1, paths)),
        multipath_relax=draw(st.booleans()),
        bfd_interval_ms=draw(st.none() | st.integers(*bfd_ms)),
        bfd_multiplier=draw(st.integers(*bfd_multiplier)),
        groups=tuple(replace(g, maximum_prefixes=draw(POSITIVE)) for g in bgp.groups),
        sessions=tuple(replace(s, peer=draw(NAMES)) for s in bgp.sessions),
        prefix_lists=(*bgp.prefix_lists, listed),
        route_maps=(*bgp.route_maps, RouteMap("ZZ", (clause,))),
    )
