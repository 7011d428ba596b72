"""Prove the invariants on a fabric without a plan, as far as its facts allow, and note what foreign designs imply.

The rules are those of `proof.invariants`, on a switch built from facts. A rule that needs a plan does not run; a rule
that the facts do not answer counts as unproved. An error of a planned fabric may be a design here: each rule has its
own severity.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Evidence, Link
from fabricc.audit.rules import switch_views
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.values import dataclass, replace
from fabricc.fabric.model import NO_CAGE
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, outer_key
from fabricc.facts.statement import Device, Kind, Statement, Tier
from fabricc.proof.compare import Finding
from fabricc.proof.invariants import clos
from fabricc.proof.invariants.contract import contract_breaches, switch_contracts
from fabricc.proof.invariants.lossless import lossless_breaches
from fabricc.proof.invariants.policy import Policy, policy_of
from fabricc.proof.invariants.ports import port_breaches, session_breaches
from fabricc.proof.invariants.prefixes import address_breaches
from fabricc.proof.invariants.rules import RULES, Breach, findings_of
from fabricc.proof.invariants.segments import check_agreement
from fabricc.proof.invariants.survey import digest_of
from fabricc.proof.invariants.transit import kinds_of, routing_findings
from fabricc.rules.answers import NEEDS_PLAN, Answers, answer_rules, why_routes_are_unknown
from fabricc.rules.findings import finding_at, line_with, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.proof.invariants.view import SwitchView
    from fabricc.rules.sessions import Sessions


_GRAVITY = {
    6: Severity.WARNING, 7: Severity.NOTE, 8: Severity.WARNING, 9: Severity.WARNING, 14: Severity.WARNING,
    19: Severity.WARNING, 22: Severity.WARNING, 23: Severity.WARNING,
}  # fmt: skip
"""Rules of which a breach can be a design; those of the others are what they are in a fabric that was planned."""
_FLOODING = 11
_HELP = {RULES[_FLOODING].code: "Route the ports, or leave PFC off where frames are bridged."}
"""Remedies of rules that differ for a single switch and for a planned fabric."""
_DIFFERS = re.compile(r" states for .* another \S+ than ")
_ASSUMED = "; the device does not state the length of the cable, {} m are assumed"


class RuleProgress(NamedTuple):
    """The progress of a rule: on how many switches it was proved or broken, not answered, and not applicable."""

    number: int
    code: str
    title: str
    proved: int
    unproved: int
    not_applicable: int
    why: str


class ProvedSwitch(NamedTuple):
    """One switch as it was proved.

    Attributes:
        findings: findings about it alone.
        answers: whether each rule was answered.
        lossless: whether a port of it has PFC.
        digest, policy: for the rules of the whole, of a switch that stands in a tier; `unfollowed`: why its routes
            cannot be followed.
    """

    findings: list[Finding]
    answers: Answers
    lossless: bool
    digest: clos.SwitchDigest | None = None
    policy: Policy | None = None
    unfollowed: str = ""


def prove_switch(
    statement: Statement, sessions: Sessions, models: switch_views.Models, cnp: int | None
) -> ProvedSwitch:
    """Run the rules on one switch."""
    known = models.of(statement.device)
    seen = switch_views.view_of(statement, known, cnp)
    _connect_sessions(seen, statement, sessions)
    name = statement.name
    contracts = statement.once((switch_contracts, cnp), lambda: switch_contracts(seen))
    reported = findings_of(
        _find_breaches(seen, statement, contracts, cnp), name, lambda path: place_of(statement.device, path)
    )
    findings = [_raise_severity(each)._replace(help=_HELP.get(each.code, each.help)) for each in reported]
    networks = statement.facts_below("bgp/network[")
    seen.aggregates += [outer_key(path) for path in networks if path.endswith("]")]
    policy = policy_of(seen, f"{name}/{seen.place('bgp/asn')[0]}")
    routed = why_routes_are_unknown(seen, policy)
    has = bool(sessions.addresses), bool(sessions.stated), bool(seen.evpn)
    answers = statement.once(
        (answer_rules, cnp, routed, has),
        lambda: answer_rules(
            seen, statement, sessions, known=known.model is not switch_views.UNKNOWN, cnp=cnp, routed=routed
        ),
    )
    lossless = any(kind.pfc for kind, _ in seen.kinds())
    if statement.place.tier not in (Tier.TOR, Tier.SPINE, Tier.CORE) or not seen.links:
        return ProvedSwitch(findings, answers, lossless)
    return ProvedSwitch(
        findings, answers, lossless, digest_of(seen, policy.key, contracts, name), policy, routed
    )


@dataclass(slots=True)
class Proof:
    """The digests of all switches for the rules of the whole fabric.

    Attributes:
        files: as rules name them -> below the folder.
        answers: whether each rule was answered -> how many switches.
        unfollowed: whether routes of some switch cannot be followed.
    """

    switches: list[clos.SwitchDigest] = field(default_factory=list)
    policies: dict[bytes, Policy] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    answers: Counter[Answers] = field(default_factory=Counter)
    unfollowed: bool = False
    lossless: bool = False

    def add(self, device: Device, found: ProvedSwitch) -> None:
        """Add a switch."""
        for file, path in device.paths.items():
            self.files[f"{device.name}/{file}"] = path
        self.answers[found.answers] += 1
        self.lossless |= found.lossless
        if found.digest is not None and found.policy is not None:
            self.unfollowed |= bool(found.unfollowed)
            self.policies.setdefault(found.policy.key, found.policy)
            self.switches.append(found.digest)

    def findings(self, devices: Mapping[str, Device]) -> Iterator[Finding]:
        """Yield the findings about the whole."""
        switches = sorted(self.switches, key=lambda each: each.name)
        sharing: set[str] = set()
        for each in self._of_whole(switches):
            name, _, file = each.file.partition("/")
            line = line_with(devices[name], file, each.line, each.words) if name in devices else each.line
            yield _raise_severity(each._replace(file=self.files.get(each.file, each.file), line=line))
            if name in devices and (file, each.line) == devices[name].reading.lines.get("bgp/asn"):
                sharing.add(name)
        for name in sorted(sharing):
            for other in _alike(switches, name):
                message = (
                    f"{other.name} has the AS number of {name}, {other.asn}: neither gets routes of the other"
                )
                device, rule = devices[other.name], RULES[9]
                yield finding_at(rule.code, device, "bgp/asn", message, rule.slug, remedy=rule.remedy)

    def _of_whole(self, switches: list[clos.SwitchDigest]) -> Iterator[Finding]:
        yield from (
            each for each in check_agreement(switches) if _DIFFERS.search(each.message)
        )  # ToRs may differ in what they serve
        for each in routing_findings(kinds_of(switches, self.policies)) if not self.unfollowed else ():
            if each.code == RULES[11].code and not self.lossless:
                continue
            if each.code == RULES[10].code and not self.lossless:
                yield each._replace(severity=Severity.NOTE)
            elif each.code != RULES[21].code:
                yield each
        yield from clos.check_timeouts(switches, (0, "", "", 0))

    def rule_progress(self) -> list[RuleProgress]:
        """Return the progress of each rule."""
        return [self._progress_of(number) for number in RULES]

    def _progress_of(self, number: int) -> RuleProgress:
        counts: Counter[bool | None] = Counter()
        whys: Counter[str] = Counter()
        for answers, times in self.answers.items():
            answer = dict(answers.invariants)[number]
            counts[answer.proved] += times
            if answer.why:
                whys[answer.why] += times
        why = NEEDS_PLAN.get(number) or next((why for why, _ in whys.most_common(1)), "")
        rule = RULES[number]
        return RuleProgress(number, rule.code, rule.title, counts[True], counts[False], counts[None], why)


def _alike(switches: Iterable[clos.SwitchDigest], name: str) -> list[clos.SwitchDigest]:
    """Return the switches with the policy and the AS number of a switch, without itself."""
    own = next(each for each in switches if each.name == name)
    return [each for each in switches if each is not own and (each.policy, each.asn) == (own.policy, own.asn)]


def _connect_sessions(seen: SwitchView, statement: Statement, sessions: Sessions) -> None:
    """Connect sessions over subnets of any size like their ports, and those of a bundle like its members."""
    by_port = {link.port.name: link for link in seen.links}
    for link in seen.links:
        bundle = statement.ports.get(link.port.name, {}).get("bundle")
        if bundle is not None:
            by_port.setdefault(str(bundle), link)
    for (vrf, neighbor), port in sessions.near.items():
        if not vrf and port in by_port:
            seen.by_neighbor.setdefault(neighbor, by_port[port])


def _find_breaches(
    seen: SwitchView, statement: Statement, contracts: dict[bytes, str], cnp: int | None
) -> Iterator[Breach]:
    yield from statement.once(
        (_find_breaches, cnp),
        lambda: tuple(_of_ports(replace(seen, reading=statement.device.reading), statement)),
    )
    igp = statement.has_link_state
    for each in session_breaches(seen):
        if each.number == 7 and each.path != "bgp/asn":
            continue  # iBGP is a design
        if (
            each.number == 9
            and each.path.endswith("/description")
            and (igp or not _has_family_address(statement, each))
        ):
            continue  # the link may be of another protocol, or of none
        if each.number == 9 and each.path == "bgp/multipath_relax" and each.path not in seen.facts:
            continue  # the default is the system's
        yield each
    for each in address_breaches(seen):
        if each.path != "management/isolated":
            yield each  # separation of management does not affect lossless traffic
    yield from contract_breaches(contracts)


def _of_ports(seen: SwitchView, statement: Statement) -> Iterator[Breach]:
    """Yield breaches that depend on no value of the switch itself."""
    placed = all(link.port.cage != NO_CAGE for link in seen.links)
    flooding = []
    for each in port_breaches(seen):
        if each.number == 19 or (each.number == 1 and not placed):
            continue  # both ends and the peers cover the MTU; lanes are checked for known models
        if each.number != _FLOODING:
            yield each
        elif _is_bridge(
            statement, each.path
        ):  # otherwise it is stated on a bundle's member, or in a file that is missing
            flooding.append(each)
    if flooding:
        ports = join_words([first_key(each.path) for each in flooding], 2)
        text = f"{ports}: PFC on bridged ports, so lossless frames can be flooded"
        path = f"{PORT}{first_key(flooding[0].path)}]/switchport"
        yield flooding[0]._replace(message=text, warning=True, path=path)
    for each in lossless_breaches(seen):
        if each.number == 18 and each.path.endswith("watchdog"):
            continue  # reported once for all ports, also without any statement
        yield _mark_assumed(each, statement)


def _is_bridge(statement: Statement, path: str) -> bool:
    values = statement.ports.get(first_key(path), {})
    return "switchport" in values and "bundle" not in values


def _has_family_address(statement: Statement, each: Breach) -> bool:
    """Return whether a port without a session of a family has an address of that family and is in no bundle."""
    values = statement.ports.get(first_key(each.path), {})
    return (
        "bundle" not in values
        and "vrf" not in values
        and any(leaf in values and leaf in each.message for leaf in ("ipv4", "ipv6"))
    )


def _mark_assumed(each: Breach, statement: Statement) -> Breach:
    """Note that a breach of headroom depends on an assumed length, and lower its certainty.

    The same applies to the worst case for marking: every lossless queue of the switch full at once.
    """
    if each.number == 17 and each.path.endswith("/ecn_max_bytes"):
        return each._replace(warning=True)
    port = first_key(each.path)
    if each.number != 15 or port not in statement.ports or statement.of(port, "headroom/cable_m"):
        return each
    return each._replace(
        message=each.message + _ASSUMED.format(switch_views.cable_of(statement, port)), warning=True
    )


def _raise_severity(each: Finding) -> Finding:
    number = next((n for n, rule in RULES.items() if rule.code == each.code), 0)
    wanted = _GRAVITY.get(number)
    return each._replace(severity=wanted) if wanted else each


LEADS, MEANS, UNLINKED, LOSSY = "FAB9609", "FAB9611", "FAB9511", "FAB9621"
_LINK_STATE = "a link-state protocol"
_DESIGNS = (
    (_LINK_STATE, (),
     "every switch takes any shortest path, so after a failure traffic can come down and go up again, and lossless "
     "buffers can wait for each other in a circle; no policy shows that it cannot"),
    ("bundles that two switches share", ("mlag/",),
     "lossless traffic crosses the link of the pair when one of them loses its own links: that link needs PFC, "
     "headroom and watchdog like any other"),
    ("VXLAN", ("vxlan/", "evpn/source"),
     "the code point of RDMA has to be copied to the outer header where a packet enters, and packets are 50 bytes "
     "longer on links between switches"),
)  # fmt: skip
"""A design, the prefixes of its paths unless the statement reads them, and its meaning for RDMA."""
_TIERS = {Tier.TOR: "ToRs", Tier.SPINE: "spines", Tier.CORE: "cores"}


class DesignEvidence(NamedTuple):
    """A device that shows a design, and where."""

    device: str
    path: str


@dataclass(slots=True)
class Designs:
    """The designs of the switches: how many have each, and the first that shows it."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, DesignEvidence] = field(default_factory=dict)
    switches: int = 0

    def add(self, name: str, shown: Iterable[tuple[str, str]]) -> None:
        """Add a switch by the designs that it shows."""
        self.switches += 1
        for design, path in shown:
            self.counts[design] += 1
            self.first.setdefault(design, DesignEvidence(name, path))

    def notes(self, devices: Mapping[str, Device]) -> Iterator[Finding]:
        """Report the consequence of each design once per folder."""
        for design, _, means in _DESIGNS:
            if times := self.counts[design]:
                device, path = self.first[design]
                message = f"{design} on {times:,} of {plural(self.switches, 'switch')}: {means}"
                yield finding_at(MEANS, devices[device], path, message, f"design {design}", Severity.NOTE)


def designs_of(statement: Statement) -> tuple[tuple[str, str], ...]:
    """Return the designs that a switch shows, and the first path that shows each."""
    found = []
    for design, prefixes, _ in _DESIGNS:
        paths = (path for path in statement.rest if path.startswith(prefixes))
        path = next(statement.link_state_paths() if design == _LINK_STATE else paths, None)
        if path is not None:
            found.append((design, path))
    return tuple(found)


def report_unlinked(devices: Mapping[str, Device], links: Iterable[Link]) -> Iterator[Finding]:
    """Report that some of several switches have no known link: no end, tier or path is compared there."""
    linked = {end.device for link in links for end in (link.a, link.b)}
    switches = [device for device in devices.values() if device.kind is Kind.SWITCH]
    alone = [device for device in switches if device.name not in linked]
    if alone and len(switches) > 1:
        message = (
            f"no link of {len(alone):,} of {plural(len(switches), 'switch')} is known, such as {alone[0].name}: "
            "far ends, tiers and paths are not checked there"
        )
        remedy = "Add the output of `show lldp neighbors` of each device, in a file named after the device."
        yield Finding(UNLINKED, message, "", 0, "unlinked", Severity.NOTE, remedy)


def report_lossy(devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report that no switch of the folder has PFC, so that nothing here is lossless."""
    switches = [device for device in devices.values() if device.kind is Kind.SWITCH]
    if switches:
        message = (
            f"no port of {plural(len(switches), 'switch')} has PFC: congested ports drop packets, "
            "also of RDMA"
        )
        remedy = "Where RDMA is to run, give its class PFC, headroom and marking on every port of its paths."
        yield Finding(LOSSY, message, "", 0, "lossy", Severity.NOTE, remedy)


def report_ratios(
    switches: Iterable[clos.SwitchDigest], tiers: Mapping[str, Tier], devices: Mapping[str, Device]
) -> Iterator[Finding]:
    """Report the capacity down and up of each tier, if the speed of every link is known."""
    kinds: dict[tuple[Tier, int, int], list[str]] = {}
    for each in switches:
        if each.load.up and each.load.down:
            kinds.setdefault((tiers[each.name], each.load.down, each.load.up), []).append(each.name)
    for (tier, down, up), names in sorted(kinds.items(), key=lambda kind: (kind[0][0], -len(kind[1]))):
        ratio = float(Fraction(down, up))
        who = f"{len(names):,} {_TIERS.get(tier, 'switches')}, such as {names[0]},"
        message = f"{who} have {down:,} Gb/s down and {up:,} Gb/s up: {ratio:.3g}:1"
        yield finding_at(
            MEANS, devices[names[0]], "bgp/asn", message, f"oversubscription {tier}", Severity.NOTE
        )


_NO_WORD = re.compile(r"\W")


def find_contradictions(link: Link, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report descriptions and LLDP statements that contradict a link."""
    shown = link.evidence[0].value
    claimants = {claim.near.device for claim in link.against if claim.evidence is Evidence.DESCRIPTION}
    is_alone = Evidence.LLDP not in link.evidence and len(claimants) > 1  # both ends describe another link
    for claim in link.against:
        if claim.evidence not in (Evidence.DESCRIPTION, Evidence.LLDP) or claim.near.device not in devices:
            continue
        device = devices[claim.near.device]
        far = f"{claim.far.device} {claim.far.port}".strip()
        other = link.b if link.a == claim.near else link.a
        named = f"_{_NO_WORD.sub('_', other.device)}_"  # of a file, which may contain that of the device
        if claim.far.device != other.device and f"_{claim.far.device}_" in named:
            continue
        if claim.near in (link.a, link.b):
            truth = f"the link leads to {other.device} {other.port} ({shown})"
        else:
            ends = f"{link.a.device} {link.a.port} and {link.b.device} {link.b.port}"
            truth = f"that port has a link with another ({ends}, {shown})"
        what = "its description names" if claim.evidence is Evidence.DESCRIPTION else "LLDP names"
        message = f"{claim.near.device} {claim.near.port}: {what} {far}, and {truth}"
        remedy = "Cable the port as it is described, or describe it as it is cabled."
        if claim.file and not (is_alone and claim.evidence is Evidence.DESCRIPTION):
            place = device.paths.get(claim.file, claim.file), claim.line
            yield Finding(LEADS, message, *place, "said otherwise", Severity.WARNING, remedy)
        else:
            leaves = ("ipv4", "description") if is_alone else ("description",)
            paths = [f"{PORT}{claim.near.port}]/{leaf}" for leaf in leaves]
            yield finding_at(LEADS, device, paths, message, "said otherwise", Severity.WARNING, remedy)
