"""The twenty-three invariants of a lossless fabric: number, code, title and remedy, and the finding of a breach.

The spec declares ratios and accepts single breaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import RULE_CODES, Diagnostic, Severity
from fabricc.base.values import replace
from fabricc.proof.compare import Finding

if TYPE_CHECKING:
    from fabricc.front.spec.model import ClusterSpec


class Rule(NamedTuple):
    """One invariant; `slug` names its section in `docs/invariants.md`."""

    code: str
    slug: str
    title: str
    remedy: str


_RULES = (
    Rule("FAB6201", "port-conservation", "Port conservation",
         "Give every lane to one port only, and both ends of a link the same speed and error correction."),
    Rule("FAB6202", "degree", "Degree",
         "Cable every switch of a tier in the same way: the same number of links to each switch above it."),
    Rule("FAB6203", "counts", "Counts",
         "Build again; a device or cable of the plan has no files, or the files have one too many."),
    Rule("FAB6204", "oversubscription", "Oversubscription",
         "Bring the missing uplinks back, or declare the intended ratio in the spec."),
    Rule("FAB6205", "plane-and-rail-isolation", "Plane and rail isolation",
         "Cable the named port to a switch of its own plane, and each rail to its own ToR."),
    Rule("FAB6206", "address-plan", "Address plan",
         "Assign a separate block to each link, loopback and ToR, and separate the management network from them."),
    Rule("FAB6207", "asn-plan", "ASN plan",
         "Use private AS numbers, one per ToR, and one for the switches of a tier, plane and pod."),
    Rule("FAB6208", "session-symmetry", "Session symmetry",
         "Set equal families, timers and BFD on both ends, and detection by BFD below the hold time."),
    Rule("FAB6209", "ecmp-completeness", "ECMP completeness",
         "Give every link between switches its session, permit the routes on it, and raise maximum-paths."),
    Rule("FAB6210", "valley-free", "Valley-free routing",
         "Announce upwards only prefixes from below: a ToR its own, a spine none that a core announced."),
    Rule("FAB6211", "deadlock-free", "Deadlock-free buffers",
         "Break the cycle: filter the announcement named, and keep lossless ports routed."),
    Rule("FAB6212", "priority-identity", "Priority identity",
         "Let every switch and NIC put a code point into the same priority; the spec's `priorities` is the contract."),
    Rule("FAB6213", "pfc-symmetry", "PFC symmetry",
         "Enable PFC for the same priorities on both ends, only where there is headroom."),
    Rule("FAB6214", "cnp-class", "Class of congestion notifications",
         "Give notifications a queue without PFC and marking, strict or with a guaranteed share."),
    Rule("FAB6215", "headroom-lookup", "Headroom lookup",
         "Use the headroom of the platform's table row for the port's speed and cable length, rounded up."),
    Rule("FAB6216", "pool-fit", "Pool fit",
         "Shrink the pools, the number of lossless ports or the cable lengths until they fit the chip."),
    Rule("FAB6217", "ecn-before-pfc", "ECN before PFC",
         "Lower the marking thresholds below the point at which the ingress pauses."),
    Rule("FAB6218", "watchdog", "PFC watchdog",
         "Enable the watchdog on every PFC port, slower than the longest pause and faster than the NIC's timeout."),
    Rule("FAB6219", "mtu", "MTU",
         "Set one MTU on all links between switches, and no larger one on hosts."),
    Rule("FAB6220", "closure", "Closure",
         "Define the name, or remove the reference. Shut every unused port."),
    Rule("FAB6221", "ways-out", "Ways out",
         "At external links accept the prefixes of the spec, and announce only aggregates."),
    Rule("FAB6340", "segments", "Segments",
         "Use the same settings of a segment on every ToR, and pass EVPN routes on unchanged."),
    Rule("FAB6341", "tenants", "Tenants",
         "Keep each port to a host in its tenant's VRF, with a VNI and a route target that no other tenant has."),
)  # fmt: skip

RULES = dict(enumerate(_RULES, 1))
"""Invariant number -> rule."""

CODES = frozenset(rule.code for rule in _RULES)
"""Those that a spec may accept with a reason, errors too."""


class Breach(NamedTuple):
    """A finding of one device before its place is known; `path` is the fact to point at."""

    number: int
    message: str
    path: str = ""
    warning: bool = False


def findings_of(
    breaches: Iterator[Breach], name: str, place: Callable[[str], tuple[str, int]]
) -> Iterator[Finding]:
    """Yield the breaches of device `name` as findings; `place` gives file and line of a fact's path."""
    for number, message, path, warning in breaches:
        file, line = place(path) if path else ("", 0)
        yield breach_finding(number, f"{name}: {message}", file, line, warning=warning)


def breach_finding(
    number: int, message: str, file: str = "", line: int = 0, *, warning: bool = False
) -> Finding:
    """Return a breach of invariant `number`; those of one invariant are grouped."""
    rule = RULES[number]
    severity = Severity.WARNING if warning else Severity.ERROR
    return Finding(rule.code, message, file, line, rule.slug, severity, rule.remedy)


ACCEPTABLE = CODES | {"FAB6101"}
"""Breaches, and ends of links that an overlay makes differ."""


class Ratio(NamedTuple):
    """Down over up bandwidth of a tier at most; with `n_minus_1` also when any one switch above is lost."""

    limit: Fraction
    n_minus_1: bool = False


def declared_ratios(spec: ClusterSpec) -> dict[int, Ratio]:
    """Return tier -> oversubscription; a tier with pinned uplinks has one only if the spec requests it."""
    ratios = {}
    for tier, name, wanted in ((0, "tors", spec.tors), (1, "spines", spec.spines)):
        above = spec.cores if tier else spec.spines
        if wanted is None or above is None:
            continue
        written = (name, "oversubscription") in spec.positions or wanted.n_minus_1
        if wanted.oversubscription is not None and (written or wanted.uplinks is None):
            ratios[tier] = Ratio(Fraction(str(wanted.oversubscription)), wanted.n_minus_1)
    return ratios


def soften_breaches(found: Iterable[Diagnostic], spec: ClusterSpec) -> list[Diagnostic]:
    """Return breaches that the spec accepts as warnings; its reason then turns them into notes."""
    accepted = {entry.code for entry in spec.accept}
    codes = {code for code in accepted if code in ACCEPTABLE or code.startswith(RULE_CODES)}
    return [replace(each, severity=Severity.WARNING) if each.code in codes else each for each in found]
