"""Order changes in waves, so that every rail, host, plane and switch keeps the declared share of its paths.

A path is counted where it is: a ToR's and a spine's in its uplinks, a rail's in the NIC ports that its ToRs serve, a
plane's in its spines and in its ToRs. A link is up when neither end is out of service and, if the change is one that
both ends must agree on (`CapacityModel.breaking`), when both ends are old or both are new. Two ToRs, one of them old
and one new, reach each other only through spines to which both have a link that is up, so the paths of each pair count
too. A switch that is drained before and after the change needs to keep only a third of its uplinks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import field
from fractions import Fraction

from fabricc.base.values import dataclass
from fabricc.fabric.capacity.hosts import keeps_common_plane

TIERS = ("tor", "spine", "core")
_PAIRS = ("pairs of ToRs", "pairs of spines")
WHOLE = Fraction(1)
_OUT = Fraction(1, 3)
"""Share of uplinks that a drained switch keeps: it changes between two halves of the spines above it."""
Link = tuple[str, str]
"""Lower and upper switch."""


@dataclass(frozen=True, slots=True)
class Member:
    """A switch that is to change.

    Attributes:
        tier: 0 ToR, 1 spine, 2 core.
        platform: the first of each platform and tier goes alone, as a canary.
        disruptive: whether traffic notices the change; such a switch is drained, and out of service.
        redundancy: the set of which only one may be out, `""` for none: ToRs that serve the same NICs,
            border leaves of a plane, two ToRs that are joined without spines.
        carries: resource (a rail, a plane's tier) -> weight that is lost with this switch.
        below: lower switch -> parallel links to it.
        confined: whether only hosts whose ports move notice the change.
        lost: resource -> weight that is lost although the switch stays in service: links to outside parties.
        side: the plane of the NIC ports that a ToR serves, `""` where all ports of a NIC reach the same spines. Two
            hosts have no path if they lost their ports of different planes, so all members of a wave have one side.
        rail: the unit of a ToR and its plane, where no switch joins the planes of rails.
    """

    name: str
    tier: int
    platform: str
    disruptive: bool
    redundancy: str = ""
    carries: Mapping[str, int] = field(default_factory=dict)
    below: Mapping[str, int] = field(default_factory=dict)
    confined: bool = False
    lost: Mapping[str, int] = field(default_factory=dict)
    side: str = ""
    rail: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class CapacityModel:
    """The switches that change, and the capacity that depends on them.

    Attributes:
        totals: resource -> weight in all; a switch with uplinks is a resource under its own name.
        tiers: switch with uplinks -> its tier.
        breaking: pairs of a lower and an upper switch; their links are down while only one end has changed.
        drained: switches that carry no traffic, so their uplinks need no share.
        absent: switches that do not answer; they add no capacity.
        alone: resource of hosts or an outside party -> its share while the switch that carries the most of it is out.
            One switch may always be out, even where they have no other.
        outside: the resources of outside parties.
        common: the resources of hosts that have one plane left, without which they have none in common with others.
        rails: unit -> plane -> its ToRs there, where no switch joins the planes of rails.
    """

    members: Mapping[str, Member]
    totals: Mapping[str, int]
    tiers: Mapping[str, int] = field(default_factory=dict)
    breaking: frozenset[Link] = frozenset()
    drained: frozenset[str] = frozenset()
    absent: tuple[Member, ...] = ()
    alone: Mapping[str, Fraction] = field(default_factory=dict)
    outside: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    rails: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wave:
    """Switches that change together.

    Attributes:
        canary: whether it is the first of its kind.
        kept: the smallest share of any resource while the wave is applied: drained switches are out.
        at: that resource; "" when nothing is lost.
        risked: the smallest share if every switch of the wave failed.
        drained: the switches that are drained before they change.
        cut: groups of hosts that have no port left meanwhile, which jobs must leave.
        unreachable: links to outside parties of which none is left meanwhile.
        parted: planes to hosts that have no plane in common with the hosts behind the wave meanwhile.
    """

    members: tuple[str, ...]
    canary: bool
    kept: Fraction
    at: str
    risked: Fraction
    drained: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    parted: tuple[str, ...] = ()


class ShareError(Exception):
    """No order of the changes keeps the required share.

    Attributes:
        member: a switch whose change takes too much capacity.
        resource: the resource that loses it.
        best: the share of the resource that is left if only this switch changes.
    """

    def __init__(self, member: str, resource: str, best: Fraction) -> None:
        super().__init__(f"{member} leaves {best} of {resource}")
        self.member, self.resource, self.best = member, resource, best


def compute_waves(capacity: CapacityModel, keep: Fraction, most: int | None = None) -> list[Wave]:
    """Compute the waves, upper tiers first: a receiver of routes is ready before their sender.

    A tier is left half done for the one below where that alone keeps the share, as when addresses change at both ends
    of every link. A change that traffic does not notice counts as one that fails, but may always go alone. Switches
    whose changes only move ports of hosts go together: the hosts wait for all of them.

    Raises:
        ShareError: it cannot be kept.
    """
    state = _State(capacity, keep)
    waiting: dict[int, dict[str, Member]] = {2: {}, 1: {}, 0: {}}
    for member in capacity.members.values():
        waiting[member.tier][member.name] = member
    waves: list[Wave] = []
    if most is None and capacity.members and all(member.confined for member in capacity.members.values()):
        return [state.fill_all()]
    while any(waiting.values()):
        wave = next(
            (w for queue in waiting.values() if queue and (w := state.fill(queue.values(), most))), None
        )
        if wave is None:
            raise state.refusal(member for queue in waiting.values() for member in queue.values())
        for name in wave.members:
            del waiting[capacity.members[name].tier][name]
        waves.append(wave)
    return waves


@dataclass(slots=True)
class _Mesh:
    """Lower switches whose links to the same upper ones take part in the change.

    Attributes:
        uppers: upper switch -> links to it from each of them.
        total: uplinks of each.
        tier: theirs.
        old, new: how many are yet to change, and how many have changed.
    """

    uppers: Mapping[str, int]
    total: int
    tier: int
    old: int = 0
    new: int = 0


class _State:
    """The changed switches so far, and the links that are down because their ends disagree."""

    def __init__(self, capacity: CapacityModel, keep: Fraction) -> None:
        self.plant, self.keep = capacity, keep
        self.changed: set[str] = set()
        self.seen: set[tuple[int, str]] = set()
        self.broken: defaultdict[str, int] = defaultdict(int)
        self.above: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
        links = {(lower, m.name): n for m in capacity.members.values() for lower, n in m.below.items()}
        self.partners: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for lower, upper in capacity.breaking:
            count = links.get((lower, upper), 0)
            if count:
                self.partners[lower].append((upper, lower, count))
                self.partners[upper].append((lower, lower, count))
        self.absent: Counter[str] = Counter()
        for member in capacity.absent:
            self.absent.update({**member.carries, **member.below})
        self.mesh_of = self._meshes(links)
        self.meshes = list({id(mesh): mesh for mesh in self.mesh_of.values()}.values())

    def _meshes(self, links: Mapping[Link, int]) -> dict[str, _Mesh]:
        """Lower switch -> its mesh."""
        uppers: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for lower, upper in sorted(self.plant.breaking):
            if lower not in self.plant.drained and (count := links.get((lower, upper), 0)):
                uppers[lower][upper] = count
        found: dict[object, _Mesh] = {}
        placed = {}
        for lower, counts in uppers.items():
            total, tier = self.plant.totals.get(lower, sum(counts.values())), self.plant.tiers.get(lower, 0)
            mesh = found.setdefault((*counts.items(), total), _Mesh(counts, total, tier))
            mesh.old += 1
            placed[lower] = mesh
        return placed

    def compute_pair_share(self, uppers: Set[str], lowers: Mapping[int, int]) -> tuple[Fraction, str]:
        """Return the smallest share of uplinks that connect any two lower switches, and the name of that resource.

        `uppers` are the upper switches that change now; `lowers` maps a mesh to the number of its switches that do.
        """
        sides: list[tuple[_Mesh, frozenset[str]]] = []
        for at, mesh in enumerate(self.meshes):
            new = frozenset(name for name in mesh.uppers if name in self.changed or name in uppers)
            changing = lowers.get(at, 0)
            if mesh.new + changing:
                sides.append((mesh, frozenset(mesh.uppers) - new))
            if mesh.old - changing:
                sides.append((mesh, new))
        worst = WHOLE, ""
        for number, (mesh, down) in enumerate(sides):
            for other, theirs in sides[:number]:
                if mesh.uppers.keys() & other.uppers.keys():
                    links = {**other.uppers, **mesh.uppers}
                    lost = sum(links[name] for name in down | theirs)
                    share = Fraction(max(0, mesh.total - lost), mesh.total)
                    worst = min(worst, (share, _PAIRS[mesh.tier]))
        return worst

    def fill(self, candidates: Iterable[Member], most: int | None) -> Wave | None:
        """Return a wave of as many candidates as may change together; None if no candidate may."""
        draft = _Draft(self)
        for member in candidates:
            kind = (member.tier, member.platform)
            if kind not in self.seen:
                if draft.members:
                    continue
                if draft.can_add(member):
                    draft.add(member)
                    self.seen.add(kind)
                    return self._close_wave(draft, canary=True)
                continue
            if draft.can_add(member):
                draft.add(member)
                if most is not None and len(draft.members) >= most:
                    break
        return self._close_wave(draft, canary=False) if draft.members else None

    def fill_all(self) -> Wave:
        """Return one wave of all members."""
        draft = _Draft(self)
        for member in self.plant.members.values():
            draft.add(member)
        return self._close_wave(draft, canary=False)

    def _close_wave(self, draft: _Draft, *, canary: bool) -> Wave:
        kept, at, risked = draft.shares()
        names = tuple(member.name for member in draft.members)
        self.changed.update(names)
        for name in names:
            if (mesh := self.mesh_of.get(name)) is not None:
                mesh.old, mesh.new = mesh.old - 1, mesh.new + 1
        for lower, change in draft.toggled.items():
            self.broken[lower] += change
            if not self.broken[lower]:
                del self.broken[lower]
        drained = tuple(member.name for member in draft.members if member.disruptive)
        cut = draft.find_cut_ends()
        outside = self.plant.outside
        hosts, parties = (tuple(each for each in cut if (each in outside) is far) for far in (False, True))
        parted = tuple(sorted(each for each in self.plant.common if draft.certain.get(each)))
        return Wave(names, canary, kept, at, risked, drained, hosts, parties, parted)

    def count_toggled_links(self, member: Member) -> dict[str, int]:
        """Lower switch -> links that go down (positive) or come up once this member is new."""
        found: dict[str, int] = defaultdict(int)
        for partner, lower, count in self.partners.get(member.name, ()):
            found[lower] += -count if partner in self.changed else count
        return found

    def count_down(self, resource: str) -> int:
        """Return the weight of a resource that is out already: links between old and new ends, absent switches."""
        return self.broken.get(resource, 0) + self.absent[resource]

    def compute_floor(self, tier: int) -> Fraction:
        """Return the smallest share of uplinks between waves, over all switches outside this tier."""
        plant, lacking = self.plant, {*self.broken, *self.absent} & self.plant.tiers.keys()
        shares = [
            Fraction(max(0, plant.totals[name] - self.count_down(name)), plant.totals[name])
            for name in lacking
            if plant.tiers[name] != tier and name not in plant.drained
        ]
        return min(shares, default=WHOLE)

    def refusal(self, members: Iterable[Member]) -> ShareError:
        """Return the error for the member whose change comes nearest to the share."""
        best: tuple[Fraction, str, str] | None = None
        for member in members:
            draft = _Draft(self)
            draft.add(member)
            share, resource = draft.find_worst_share()
            if best is None or share > best[0]:
                best = share, member.name, resource
        assert best is not None
        return ShareError(best[1], best[2], best[0])


class _Draft:
    """A wave that is still being filled."""

    def __init__(self, state: _State) -> None:
        self.state, self.plant = state, state.plant
        self.members: list[Member] = []
        self.sets: set[str] = set()
        self.lost: defaultdict[str, int] = defaultdict(int)
        self.certain: defaultdict[str, int] = defaultdict(int)
        self.toggled: defaultdict[str, int] = defaultdict(int)
        self.uppers: set[str] = set()
        self.lowers: Counter[int] = Counter()
        self.rails = Counter(each.rail for each in self.plant.absent if each.rail)
        self.floors = {tier: state.compute_floor(tier) for tier in range(len(TIERS))}

    def _compute_lost_weights(self, member: Member) -> dict[str, int]:
        """Resource -> weight that is out while the member changes."""
        found = dict(member.carries)
        changed, breaking = self.state.changed, self.plant.breaking
        for lower, count in member.below.items():
            down = (lower, member.name) in breaking and (lower in changed) != (member.name in changed)
            if not down:
                found[lower] = found.get(lower, 0) + count
        return found

    def can_add(self, member: Member) -> bool:
        """Return whether the member may join: of one side, alone in its set, and every share kept during and after."""
        if member.redundancy and member.redundancy in self.sets:
            return False
        if any(member.side != each.side for each in self.members):
            return False
        if member.rail and not keeps_common_plane(self.plant.rails, self.rails, member.rail):
            return False
        toggles = self.state.count_toggled_links(member)
        for lower, change in toggles.items():
            if change > 0 and not self._is_share_kept(lower, self.toggled[lower] + change):
                return False
        if self.state.meshes and self._compute_pair_share(member)[0] < self.state.keep:
            return False
        if not self.members and not member.disruptive:
            return True
        alone_so_far = len(self.members) == 1 and not self._survives_failure()
        return not alone_so_far and all(
            self._is_share_kept(resource, self.lost[resource] + weight)
            for resource, weight in self._compute_lost_weights(member).items()
        )

    def _compute_pair_share(self, *more: Member) -> tuple[Fraction, str]:
        """Return the smallest share that any pair of lower switches keeps after this wave, with further members."""
        lowers = self.lowers + Counter(at for each in more for at in self._meshes(each))
        return self.state.compute_pair_share(self.uppers | {each.name for each in more}, lowers)

    def _meshes(self, member: Member) -> list[int]:
        """Return the place of the mesh in which a member is a lower switch."""
        mesh = self.state.mesh_of.get(member.name)
        return [at for at, each in enumerate(self.state.meshes) if each is mesh]

    def _survives_failure(self) -> bool:
        """Return whether the share would be kept even if every member so far failed."""
        return all(self._is_share_kept(resource, weight) for resource, weight in self.lost.items())

    def _share(self, resource: str, out: int) -> Fraction:
        total = self.plant.totals[resource]
        tier = self.plant.tiers.get(resource)
        share = Fraction(max(0, total - out - self.state.count_down(resource)), total)
        return share if tier is None else share * self.floors[tier]

    def _is_share_kept(self, resource: str, out: int) -> bool:
        keep = min(self.state.keep, self.plant.alone.get(resource, WHOLE))
        return self._share(resource, out) >= (min(keep, _OUT) if resource in self.plant.drained else keep)

    def _list_counted(self, shares: Iterable[tuple[Fraction, str]]) -> list[tuple[Fraction, str]]:
        """Return the shares that determine the rating of a wave.

        Drained switches do not count; resources that one switch carries alone are listed by name.
        """
        plant = self.plant
        return [
            (share, resource)
            for share, resource in shares
            if resource not in plant.drained and (share or plant.alone.get(resource, WHOLE))
        ]

    def find_cut_ends(self) -> list[str]:
        """Return the hosts without a port, and the outside parties without a link, while the wave is applied."""
        ends = (each for each in self.plant.alone if self.certain.get(each))
        return sorted(each for each in ends if not self._share(each, self.certain[each]))

    def add(self, member: Member) -> None:
        self.members.append(member)
        self.uppers.add(member.name)
        self.lowers.update(self._meshes(member))
        if member.redundancy:
            self.sets.add(member.redundancy)
        if member.rail:
            self.rails[member.rail] += 1
        for resource, weight in self._compute_lost_weights(member).items():
            self.lost[resource] += weight
            if certain := weight if member.disruptive else member.lost.get(resource, 0):
                self.certain[resource] += certain
        for lower, change in self.state.count_toggled_links(member).items():
            self.toggled[lower] += change

    def find_worst_share(self) -> tuple[Fraction, str]:
        """Return the smallest share during and after the wave, and its resource."""
        shares = [(self._share(r, out), r) for r, out in self.lost.items()]
        shares += [(self._share(r, out), r) for r, out in self.toggled.items() if out > 0]
        shares = [each for each in shares if each[1] not in self.plant.alone] or shares
        return min([*shares, self._compute_pair_share()], default=(WHOLE, ""))

    def shares(self) -> tuple[Fraction, str, Fraction]:
        """Return the smallest guaranteed share, its resource, and the share if every member failed."""
        own = {member.name for member in self.members}
        standing = [(self._share(r, 0), r) for r in {*self.state.broken, *self.state.absent} if r not in own]
        kept = [(self._share(r, out), r) for r, out in self.certain.items()]
        kept += [(self._share(r, out), r) for r, out in self.toggled.items() if out > 0 or r in own]
        share, at = min([*self._list_counted([*standing, *kept]), self._compute_pair_share()])
        lost = self._list_counted((self._share(r, out), r) for r, out in self.lost.items())
        return share, at if share < WHOLE else "", min([share, *(risked for risked, _ in lost)])
