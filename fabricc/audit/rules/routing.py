"""Find routing settings of one switch that lose routes or let loops in: policies, own AS numbers, BFD."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.audit.model import Tier
from fabricc.audit.rules.sheet import session_path, told
from fabricc.back.nos.defaults import uses_one_path_unstated
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.proof.invariants.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.audit.rules.sessions import Key, Sessions
    from fabricc.audit.rules.sheet import Sheet
    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

LOOPS, POLICY, UNUSED = "FAB9663", "FAB9664", "FAB9665"
_POLICIES = {
    "import": ("import", "prefix_list_in", "filter_in", "distribute_in"),
    "export": ("export", "prefix_list_out", "filter_out", "distribute_out"),
}
"""Direction -> what of a session counts as a policy (RFC 8212 section 2)."""
_UPPER = (Tier.SPINE, Tier.CORE)
_HEIGHT = {Tier.TOR: 1, Tier.SPINE: 2, Tier.CORE: 3}
_DETECTED = ("ospf[", "isis[", "static_route[", "routing/", "vrf[")
"""What else than sessions of the default routing instance can use BFD."""
_OWN_AS = "bgp/allow_as_in"


def session_rules(sheet: Sheet, sessions: Sessions) -> Iterator[Finding]:
    """Report sessions without the policy that the system requires, loops that a spine accepts, and BFD without use."""
    yield from _without_policy(sheet)
    yield from _loops(sheet, sessions)
    yield from _unused_detection(sheet)
    yield from _one_path(sheet, sessions)


def external_sessions(sheet: Sheet) -> Iterator[tuple[Key, Mapping[str, Value]]]:
    """Yield the sessions of the default routing instance with another AS, but for those that are shut."""
    asn = sheet.rest.get("bgp/asn")
    for key, says in sheet.sessions.items():
        remote = says.get("local_asn", asn), says.get("remote_asn", says.get("remote_kind"))
        if key[0] or says.get("enabled") == "false" or remote[1] in (None, "internal", remote[0]):
            continue
        yield key, says


def has_policy(says: Mapping[str, Value], direction: str) -> bool:
    """Whether a session has a policy in a direction."""
    return any(leaf in says for leaf in _POLICIES[direction])


def _without_policy(sheet: Sheet) -> Iterator[Finding]:
    """Report that a system which requires policies exchanges nothing over sessions without one (RFC 8212)."""
    if sheet.rest.get("bgp/requires_policy") != "true":
        return
    for direction, effect in (("import", "accepts no route"), ("export", "announces no route")):
        bare = [
            key
            for key, says in external_sessions(sheet)
            if says.get("families", "") and not has_policy(says, direction)
        ]
        if bare:
            who = join_words([neighbor for _, neighbor in bare], 2)
            message = (
                f"{sheet.name} {effect} from {who}"
                if direction == "import"
                else f"{sheet.name} {effect} to {who}"
            )
            message += f": there is no {direction} policy, and the switch requires one (RFC 8212)"
            paths = tuple(session_path(bare[0], leaf) for leaf in ("families", "remote_asn", "remote_kind"))
            remedy = f"Set an {direction} policy on the session, or switch the requirement off."
            yield told(POLICY, sheet.device, paths, message, f"no {direction} policy", remedy=remedy)


def _loops(sheet: Sheet, sessions: Sessions) -> Iterator[Finding]:
    """Report that a spine or core accepts routes which have its own AS number in their path already."""
    if sheet.place.tier not in _UPPER:
        return
    open_ = [
        key
        for key, says in external_sessions(sheet)
        if says.get("allow_as_in") not in (None, 0, "0") and _leads_down(sheet, sessions, key)
    ]
    paths = [session_path(key, "allow_as_in") for key in open_] or [_OWN_AS]
    if not open_ and _OWN_AS not in sheet.rest:
        return
    message = (
        f"{sheet.name} accepts routes with its own AS number in the path: a route that came down from this tier "
        "goes up again, and loops are not detected"
    )
    remedy = "Remove it from the sessions of spines and cores; only ToRs that share one AS number need it."
    yield told(LOOPS, sheet.device, paths[0], message, "own AS accepted", Severity.WARNING, remedy)


def _leads_down(sheet: Sheet, sessions: Sessions, key: Key) -> bool:
    far = sheet.fars.get(sessions.near.get(key, ""))
    return far is not None and far.tier in (Tier.TOR, Tier.SPINE)


def _unused_detection(sheet: Sheet) -> Iterator[Finding]:
    """Report timers of BFD on a switch no session of which uses BFD."""
    if "bfd/interval_ms" not in sheet.rest or not sheet.sessions:
        return
    if any(says.get("bfd") == "true" for says in sheet.sessions.values()):
        return
    if any("bfd" in path for path in sheet.rest if path.startswith(_DETECTED)):
        return
    if any("bfd" in leaf for says in sheet.ports.values() for leaf in says):
        return  # a link-state protocol uses it there
    message = (
        f"{sheet.name} sets timers of BFD, and no BGP session uses BFD: failures are noticed by the hold time"
    )
    remedy = "Enable BFD on the sessions of the fabric."
    yield told(UNUSED, sheet.device, "bfd/interval_ms", message, "BFD unused", Severity.WARNING, remedy)


def _one_path(sheet: Sheet, sessions: Sessions) -> Iterator[Finding]:
    """Report several sessions to upper switches where the system, without a statement, uses one path (invariant 9)."""
    unstated = "bgp/maximum_paths" not in sheet.rest and uses_one_path_unstated(sheet.device.system)
    if not unstated and sheet.rest.get("bgp/multipath_relax") != "none":
        return
    here = _HEIGHT.get(sheet.place.tier, 0)
    families: Counter[str] = Counter()
    for key, says in external_sessions(sheet):
        far = sheet.fars.get(sessions.near.get(key, ""))
        if far is not None and far.known and _HEIGHT.get(far.tier, 0) > here > 0:
            families.update(str(says.get("families", "")).split(","))
    del families[""]
    if families and max(families.values()) > 1:
        count = max(families.values())
        message = f"{sheet.name}: {count} equal paths, and the system uses one of them where it is not told to use more"
        paths = ("bgp/maximum_paths", "bgp/multipath_relax", "bgp/asn")
        rule = RULES[9]
        yield told(rule.code, sheet.device, paths, message, rule.slug, Severity.WARNING, rule.remedy)
