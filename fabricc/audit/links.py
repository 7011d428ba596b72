"""Derive links from LLDP, subnets of two, BGP sessions and descriptions, each only where it names a port.

Every statement is a claim of one end about the far end of its port. A pair of ports with matching claims is a link, the
best attested pairs first. A claim about a port with another link is stored with that link. Work grows linearly: ports
are found in tables by subnet, by address and by name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache, lru_cache
from itertools import combinations
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.ends import DescribedEnd, Placement, Shape, is_link_subnet, placement_of
from fabricc.audit.model import Claim, Evidence, Link
from fabricc.back.nos.ports import PortKind
from fabricc.base.numbers import is_number
from fabricc.facts.statement import Device, End, Neighbor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_BITS = {evidence: 1 << rank for rank, evidence in enumerate(Evidence)}
_CLAIM = 1 << len(_BITS)
"""The claims about two ports as a number: a bit for each kind of evidence, and above these the number of claims."""
_MOST_IN_SUBNET = 8
"""Ends in a subnet for two up to which each two of them may be the link that a wrong address hides."""
_PIECE = re.compile(r"[A-Za-z0-9]+")
_MOST_CLAIMS = 3
"""Claims by a subnet of two, one of either end, and by a session that one end states."""
_MOST_PIECES = 12

Pair = tuple[End, End]


class _Claim(NamedTuple):
    """A claim in progress: `at` is its evidence, whose line is looked up when the claim is reported."""

    near: End
    far: End
    evidence: Evidence
    at: _SubnetPort | Neighbor | str


_SubnetPort = tuple[str, str, str, str, int, int]
"""An address: device, port, the port that this is on ("" where no cable is), word of its path, number, subnet."""


def links_of(
    devices: Mapping[str, Device], placements: Mapping[str, Placement] | None = None
) -> tuple[Link, ...]:
    """Return every link of the devices, ordered by its ends; `placements` are statements that are already known."""
    named = placements or {name: placement_of(device) for name, device in devices.items()}
    return tuple(
        Link(*pair, evidence, tuple([_locate_claim(claim, devices) for claim in against]))
        for pair, evidence, against in _ClaimTable(named).links()
    )


def _locate_claim(claim: _Claim, devices: Mapping[str, Device]) -> Claim:
    """Return a claim with the line of its evidence."""
    near, far, evidence, at = claim
    if isinstance(at, Neighbor):
        return Claim(near, far, evidence, at.file, at.line)
    if isinstance(at, tuple):
        _, port, _, leaf, _, _ = at
        paths = [f"interface[{port}]/{leaf}"]
    elif evidence is Evidence.SESSION:
        paths = [f"bgp/neighbor[{at}]/remote_asn", f"bgp/neighbor[{at}]/description"]
    else:
        paths = [f"interface[{at}]/description"]
    lines = devices[near.device].reading.lines
    return Claim(near, far, evidence, *min((lines[path] for path in paths if path in lines), default=("", 0)))


class _ClaimTable:
    """The claims of all devices during the search for links.

    Attributes:
        claim_counts: pair of ports -> number and kinds of claims for this link; see `_CLAIM`.
        joined: claims that need both ends together.
        chosen: port -> its link; `lost`: link -> pairs and claims that cannot be true with it.
        wanted: pairs whose claims are made again; None in the first pass.
        elsewhere: ports whose descriptions name a port of a device that the folder does not have.
        shared: pairs of ports in a larger subnet that a session joins.
    """

    def __init__(self, devices: Mapping[str, Placement]) -> None:
        self.devices = devices
        self.names = {name.lower(): name for name in devices}
        self.matching_name: dict[str, Sequence[tuple[int, int, str]]] = {}
        self.ends: dict[str, dict[str, End]] = defaultdict(dict)
        self.claim_counts: dict[Pair, int] = defaultdict(int)
        self.joined: dict[Pair, list[_Claim]] = defaultdict(list)
        self.vague: list[_Claim] = []
        self.chosen: dict[End, Pair] = {}
        self.lost: dict[Pair, list[Pair | _Claim]] = defaultdict(list)
        self.wanted: dict[Pair, list[_Claim]] | None = None
        self.elsewhere: set[End] = set()
        self.shared: set[Pair] = set()

    def links(self) -> Iterator[tuple[Pair, tuple[Evidence, ...], Sequence[_Claim]]]:
        self._make_claims()
        self._choose_pairs(list(self.claim_counts))
        self._named_alone()
        self._join_unnumbered()
        self._lone_members()
        against = self._contradicting_claims()
        for pair in sorted({*self.chosen.values(), *self._pairs_in_shared_subnets()}):
            yield pair, _evidence_kinds(self.claim_counts[pair] % _CLAIM), against.get(pair, ())

    def _pairs_in_shared_subnets(self) -> Iterator[Pair]:
        """Yield pairs that a session joins over a segment with several devices, whose ports have no other link."""
        for pair in self.shared:
            if self.chosen.keys().isdisjoint(pair):
                self.claim_counts[pair] = _BITS[Evidence.SESSION]
                yield pair

    def _make_claims(self) -> None:
        """Make all claims that a device, or two ends of a subnet, can make alone."""
        subnets: _Subnets = {}
        for name, device in self.devices.items():
            self._claim_lldp(name, device)
            self._claim_descriptions(name, device.described_ends())
            for subnet, port, base, leaf, number in device.address_rows():
                _add_address(
                    subnets, subnet, (name, intern(port), intern(base), intern(leaf), number, subnet)
                )
        self._claim_subnets(subnets)
        self._claim_sessions(subnets)

    def _add_claim(self, near: End, far: End, evidence: Evidence, at: _SubnetPort | Neighbor | str) -> None:
        if near.device == far.device:
            return
        if not far.port:
            if self.wanted is None:
                self.vague.append(_Claim(near, far, evidence, at))
            return
        pair = _ordered_pair(near, far)
        if self.wanted is None:
            self.claim_counts[pair] = (self.claim_counts[pair] | _BITS[evidence]) + _CLAIM
        elif pair in self.wanted:
            self.wanted[pair].append(_Claim(near, far, evidence, at))

    def _accept_pair(self, pair: Pair, claims: Sequence[_Claim]) -> None:
        """Accept a pair as a link that only both of its ends together show."""
        for claim in claims:
            self.claim_counts[pair] = (self.claim_counts[pair] | _BITS[claim.evidence]) + _CLAIM
        self.joined[pair] += claims
        self._choose_pairs([pair])

    def _contradicting_claims(self) -> dict[Pair, list[_Claim]]:
        """Return link -> the contradicting claims; few pairs lose, and their claims are made again."""
        self.wanted = {
            pair: [] for some in self.lost.values() for pair in some if not isinstance(pair, _Claim)
        }
        if self.wanted:
            self._make_claims()
        for pair, claims in self.wanted.items():
            claims += self.joined.get(pair, ())
        return {
            link: [claim for each in some
                   for claim in ([each] if isinstance(each, _Claim) else self.wanted[each])]
            for link, some in self.lost.items()
        }  # fmt: skip

    def _shared_end(self, device: str, port: str) -> End:
        """Return the end of that name, always the same object; many devices share port names."""
        known = self.ends[device]
        return known.get(port) or known.setdefault(port, End(device, intern(port)))

    def _find_device(self, named: str) -> str | None:
        """Return the device for a system name: exact match first, else without its domain."""
        lower = named.lower()
        return self.names.get(lower) or self.names.get(lower.partition(".")[0])

    def _claim_lldp(self, name: str, device: Placement) -> None:
        for announced in device.announced:
            near = self._shared_end(name, device.port(announced.port) or announced.port)
            if device.kind(near.port) is PortKind.MANAGEMENT or not announced.device:
                continue
            known = self._find_device(announced.device)
            port = announced.far_port
            if known is not None:
                port = self.devices[known].port(port) or port
                if self.devices[known].kind(port) is PortKind.MANAGEMENT:
                    continue
            self._add_claim(near, self._shared_end(known or announced.device, port), Evidence.LLDP, announced)

    def _claim_descriptions(self, name: str, described: Iterable[DescribedEnd]) -> None:
        for port, base, names_end, text in described:
            if not names_end:
                continue
            if (far := self._find_named(text, name)) is not None:
                self._add_claim(self._shared_end(name, base), far, Evidence.DESCRIPTION, port)
            elif _port_in(self.devices[name].shape, tuple(text.lower().split())):
                self.elsewhere.add(self._shared_end(name, base))

    def _find_named(self, text: str, own: str) -> End | None:
        """Return the device of the folder that a description names, and the port if it names one."""
        words = text.lower().split()
        for at, word in enumerate(words):
            for start, end, known in self._devices_in(word):
                if known != own:
                    behind = (word[end:], *words[at + 1 :])
                    rest = behind if any(map(_word_runs, behind)) else (*words[:at], word[:start])
                    return self._shared_end(known, _port_in(self.devices[known].shape, rest))
        return None

    def _devices_in(self, word: str) -> Sequence[tuple[int, int, str]]:
        """Devices that a word has the name of, and where it begins and ends."""
        found = self.matching_name.get(word)
        if found is None:
            runs = _word_runs(word)
            found = self.matching_name[word] = [
                (start, end, known) for start, end, run in runs if (known := self.names.get(run)) is not None
            ]
        return found

    def _claim_subnets(self, subnets: _Subnets) -> None:
        for subnet, every in subnets.items():
            for one, two in _of_two(subnet, every) if isinstance(every, list) else ():
                if one[2] and two[2]:
                    ends = self._shared_end(one[0], one[2]), self._shared_end(two[0], two[2])
                    self._add_claim(*ends, Evidence.SUBNET, one)
                    self._add_claim(*ends[::-1], Evidence.SUBNET, two)

    def _claim_sessions(self, subnets: _Subnets) -> None:
        """Claim links by neighbors whose address one device has on the port that the own subnet leads to."""
        owners: dict[int, _SubnetPort | None] = {}  # None where several have an address
        for every in subnets.values():
            for held in every if isinstance(every, list) else (every,):
                owners[held[4]] = None if held[4] in owners else held
        for name, device in self.devices.items():
            for remote, number, base, two in device.port_claims():
                if (of := owners.get(number)) is not None and of[2]:
                    here, far = self._shared_end(name, base), self._shared_end(of[0], of[2])
                    if two or is_link_subnet(of[5]) or _ordered_pair(here, far) in self.claim_counts:
                        self._add_claim(here, far, Evidence.SESSION, remote)
                    elif name != of[0] and self.wanted is None and _is_sole(subnets[of[5]], here, owners):
                        self.shared.add(_ordered_pair(here, far))

    def _choose_pairs(self, pairs: Iterable[Pair]) -> None:
        """Choose pairs as links, the best attested first; claims against a link are stored with it."""
        for pair in sorted(pairs, key=self._pair_order):
            taken = [self.chosen[end] for end in pair if end in self.chosen]
            if not taken and self.elsewhere.issuperset(pair) and self._is_chance(pair):
                continue
            if taken:
                for link in dict.fromkeys(taken):
                    self.lost[link].append(pair)
            else:
                self.chosen[pair[0]] = self.chosen[pair[1]] = pair

    def _is_chance(self, pair: Pair) -> bool:
        """Return whether addresses alone join two ends, without a session that both state."""
        count, bits = divmod(self.claim_counts[pair], _CLAIM)
        return not bits & ~(_BITS[Evidence.SUBNET] | _BITS[Evidence.SESSION]) and count <= _MOST_CLAIMS

    def _pair_order(self, pair: Pair) -> tuple[int, int, int, Pair]:
        count, ranks = divmod(self.claim_counts[pair], _CLAIM)
        return (ranks & -ranks).bit_length(), -ranks.bit_count(), -count, pair

    def _named_alone(self) -> None:
        """Join ports that name each other's devices and no port, where there is one on either side."""
        open_: dict[tuple[str, str], list[_Claim]] = defaultdict(list)
        for claim in self.vague:
            if (link := self.chosen.get(claim.near)) is None:
                open_[claim.near.device, claim.far.device].append(claim)
            elif claim.far.device not in (link[0].device, link[1].device):
                self.lost[link].append(claim)
        for (one, two), claims in open_.items():
            back = open_.get((two, one), ())
            if one < two and len(claims) == 1 and len(back) == 1:
                named = claims[0]._replace(far=back[0].near), back[0]._replace(far=claims[0].near)
                self._accept_pair(_ordered_pair(claims[0].near, back[0].near), named)

    def _join_unnumbered(self) -> None:
        """Join open ports with unnumbered sessions, if AS numbers or descriptions leave one on each side."""
        by_asn: dict[int, list[str]] = defaultdict(list)
        for name, device in self.devices.items():
            if isinstance(asn := device.facts.get("bgp/asn"), int):
                by_asn[asn].append(name)
        leads: dict[tuple[str, str], list[tuple[End, str]]] = defaultdict(list)
        for name, device in self.devices.items():
            for neighbor, values in device.without_address().items():
                port = device.port(neighbor) or neighbor
                if End(name, port) in self.chosen:
                    continue
                named = self._find_named(str(values.get("description", "")), name)
                asn = values.get("remote_asn")
                far = [named.device] if named else by_asn.get(asn, []) if isinstance(asn, int) else []
                if len(far) == 1 and far[0] != name:
                    leads[name, far[0]].append((self._shared_end(name, port), neighbor))
        for (one, two), near in leads.items():
            back = leads.get((two, one), ())
            if one < two and len(near) == 1 and len(back) == 1:
                both = [
                    _Claim(here, there, Evidence.SESSION, neighbor)
                    for (here, neighbor), (there, _) in ((near[0], back[0]), (back[0], near[0]))
                ]
                self._accept_pair(_ordered_pair(near[0][0], back[0][0]), both)

    def _lone_members(self) -> None:
        """Join the members of two bundles that are linked and have one member each."""
        members = {name: bundles for name, device in self.devices.items() if (bundles := device.bundles())}
        if not members:
            return
        for pair in sorted({*self.chosen.values()}):
            ends = [
                self._shared_end(end.device, ports[0])
                for end in pair
                if len(ports := self._members_of(members, end)) == 1
            ]
            if len(ends) == 2 and not any(end in self.chosen for end in ends):
                below = _ordered_pair(*ends)
                self.claim_counts[below] = self.claim_counts[pair]
                self._choose_pairs([below])

    @staticmethod
    def _members_of(members: Mapping[str, Mapping[str, list[str]]], end: End) -> Sequence[str]:
        return members.get(end.device, {}).get(end.port, ())


def _ordered_pair(one: End, two: End) -> Pair:
    return (one, two) if one < two else (two, one)


@cache
def _evidence_kinds(bits: int) -> tuple[Evidence, ...]:
    return tuple(evidence for evidence, bit in _BITS.items() if bits & bit)


_Subnets = dict[int, _SubnetPort | list[_SubnetPort]]
"""Subnet as a number -> the address in it, or several."""


def _add_address(subnets: _Subnets, number: int, port: _SubnetPort) -> None:
    ports = subnets.setdefault(number, port)
    if isinstance(ports, list):
        ports.append(port)
    elif ports is not port:
        subnets[number] = [ports, port]


def _of_two(subnet: int, ports: Sequence[_SubnetPort]) -> Iterator[tuple[_SubnetPort, _SubnetPort]]:
    """Return the two ends of a subnet that may be a link: its only two, or in a subnet of two any of a few."""
    if len(ports) != 2 and not (is_link_subnet(subnet) and len(ports) <= _MOST_IN_SUBNET):
        return
    for one, two in combinations(ports, 2):
        if one[4] != two[4]:
            yield one, two


def _is_sole(
    every: _SubnetPort | list[_SubnetPort], end: End, owners: Mapping[int, _SubnetPort | None]
) -> bool:
    """Return whether no other device has the address of an end in a subnet."""
    own = (each for each in every if each[0] == end.device) if isinstance(every, list) else ()
    return all(owners[number] for _, _, base, _, number, _ in own if base == end.port)


@lru_cache(maxsize=1 << 14)
def _port_in(shape: Shape, words: tuple[str, ...]) -> str:
    """Return the port of a device that words name, "" where they name none."""
    for name in (run for each in words for _, _, run in _word_runs(each)):
        if any(map(is_number, name)) and (port := shape.port(name)) is not None:
            return shape.base(port)
    return ""


@lru_cache(maxsize=1 << 14)
def _word_runs(word: str) -> tuple[tuple[int, int, str], ...]:
    """Return the runs of pieces of a word, with begin and end; the longest first at each place."""
    pieces = [match.span() for match in _PIECE.finditer(word)]
    return tuple([
        (start, end, word[start:end])
        for first, (start, _) in enumerate(pieces)
        for _, end in reversed(pieces[first : first + _MOST_PIECES])
    ])  # fmt: skip
