"""Notes: statements that contradict a port's link, and consequences of foreign designs for lossless traffic."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.model import Evidence, Link
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass
from fabricc.facts.frame import PORT
from fabricc.facts.statement import Device, Kind, Statement, Tier
from fabricc.proof.compare import Finding
from fabricc.rules.findings import finding_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.proof.invariants.digest import SwitchDigest

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
    switches: Iterable[SwitchDigest], tiers: Mapping[str, Tier], devices: Mapping[str, Device]
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


def find_contradictions(link: Link, devices: Mapping[str, Device]) -> Iterator[Finding]:
    """Report descriptions and LLDP statements that contradict a link."""
    shown = link.evidence[0].value
    for claim in link.against:
        if claim.evidence not in (Evidence.DESCRIPTION, Evidence.LLDP) or claim.near.device not in devices:
            continue
        device = devices[claim.near.device]
        far = f"{claim.far.device} {claim.far.port}".strip()
        other = link.b if link.a == claim.near else link.a
        if claim.near in (link.a, link.b):
            truth = f"the link leads to {other.device} {other.port} ({shown})"
        else:
            ends = f"{link.a.device} {link.a.port} and {link.b.device} {link.b.port}"
            truth = f"that port has a link with another ({ends}, {shown})"
        what = "its description names" if claim.evidence is Evidence.DESCRIPTION else "LLDP names"
        message = f"{claim.near.device} {claim.near.port}: {what} {far}, and {truth}"
        remedy = "Cable the port as it is described, or describe it as it is cabled."
        if claim.file:
            place = device.paths.get(claim.file, claim.file), claim.line
            yield Finding(LEADS, message, *place, "said otherwise", Severity.WARNING, remedy)
        else:
            path = f"{PORT}{claim.near.port}]/description"
            yield finding_at(LEADS, device, path, message, "said otherwise", Severity.WARNING, remedy)
