"""Plan further networks of a cluster's hosts, each as a separate fabric, and join them with the rails' fabric.

Questions of planning about back ends are answered here, and pins of the lock that a build may change are reported.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass, replace
from fabricc.compiler.render.overlays import add_overlays
from fabricc.front.planning import plan_fabric
from fabricc.front.planning.hosts import with_host_cable
from fabricc.front.planning.identity.lock_renames import with_hosts_called
from fabricc.front.planning.identity.repinning import PlanResult, find_repin, find_touched
from fabricc.front.planning.networks.further_networks import (
    check_networks,
    join_networks,
    shared_ports,
    with_front_end,
    with_hosts,
)
from fabricc.front.spec.lock import EMPTY_LOCK, Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.catalog.model import Catalog, SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.qos import VendorPolicy
    from fabricc.fabric.shape import Slot
    from fabricc.front.planning.identity.repinning import ChangedParts, RepinResult
    from fabricc.front.planning.plan import Plan
    from fabricc.front.spec.model import ClusterSpec


class Network(NamedTuple):
    """A further network, planned: its spec and its fabric; see `PlannedSpec` for `draft` and `repinned`."""

    spec: ClusterSpec
    fabric: Fabric | None
    draft: Fabric | None
    repinned: RepinResult | None


class FurtherPlans(NamedTuple):
    """The result of planning the further networks.

    Attributes:
        fabric: that of the rails with the others, None where one of them cannot be.
        networks: name -> the network, in the order of their numbers.
        locks: name -> its part of the lock; those of removed networks are unchanged.
    """

    fabric: Fabric | None
    networks: dict[str, Network]
    locks: Mapping[str, Lock]
    diagnostics: list[Diagnostic]


def with_networks(
    spec: ClusterSpec,
    folder: Path,
    rails: Fabric,
    catalog: Catalog,
    repinning: Repinning,
    sources: dict[str, str],
    *,
    gaps: bool,
) -> FurtherPlans:
    """Plan the further networks of a spec whose rails have the given fabric; arguments as those of `compile_spec`."""
    locks = dict(repinning.lock.networks)
    replaced = {name: box.name for name, box in rails.moves.replaced.items()}
    former = {**rails.moves.units, **rails.moves.renamed, **replaced}
    networks: dict[str, Network] = {}
    diagnostics = list(shared_ports(spec.networks.values(), catalog))
    if diagnostics:
        return FurtherPlans(None, networks, locks, diagnostics)
    for name, stated in spec.networks.items():
        filled, findings = with_hosts(stated, rails, catalog)
        found = list(findings)
        if filled is not None and stated.network is not None:
            own = repinning.of_network(name, with_hosts_called(locks.get(name, EMPTY_LOCK), former))
            planned, repinned = _plan_network(filled, catalog, own)
            fabric, unfit = add_overlays(filled, folder, planned.fabric, sources, gaps=gaps)
            found += [*planned.diagnostics, *own.report_changes(repinned), *unfit]
            locks[name] = replace(planned.lock, number=stated.network.number)
            filled = filled if fabric is None else with_host_cable(filled, fabric.cable_kinds["host"])
            networks[name] = Network(filled, fabric, planned.draft, repinned)
        diagnostics += [replace(each, message=f"{name}: {each.message}") for each in found]
    fabrics = [each.fabric for each in networks.values() if each.fabric is not None]
    if len(fabrics) < len(spec.networks):
        return FurtherPlans(None, networks, locks, diagnostics)
    whole = with_front_end(join_networks(spec, rails, fabrics), spec.networks)
    networks = {each.network: networks[each.network]._replace(fabric=each) for each in whole.networks}
    specs = [spec, *(each.spec for each in networks.values())]
    return FurtherPlans(
        whole, networks, locks, [*diagnostics, *check_networks(specs, [whole, *whole.networks])]
    )


def _plan_network(
    spec: ClusterSpec, catalog: Catalog, repinning: Repinning
) -> tuple[Plan, RepinResult | None]:
    return repinning.run(
        lambda pinned: plan_fabric(spec, catalog, pinned, Naming()),
        lambda after: find_touched(spec, catalog, repinning.lock, after.fabric),
    )


P = TypeVar("P", bound=PlanResult)
_OF_NETWORK = re.compile(r"network ([a-z]+)(?: (.*))?")
REPINNED = ("FAB3037", "FAB3038")
"""Findings of the one run that repins; of no later one."""


def _split_key(key: str) -> tuple[str, str]:
    """Return the network of a key, "" for that of the rails, and the pin; "" where it names the network alone."""
    found = _OF_NETWORK.fullmatch(key.strip())
    network, pin = (found[1], found[2] or "") if found else ("", key.strip())
    return network, pin.removeprefix("stride ").strip()


@dataclass(frozen=True, slots=True)
class Repinning:
    """A lock and the pins that may change.

    Attributes:
        lock: the numbers, with the file and its text.
        network: the further network whose lock it is, "" for that of the rails.
        requested: None for no pin, () for the smallest sufficient set, else names from `stride` lines; for further
            networks from lines that begin with `network`.
    """

    lock: Lock
    file: Path
    text: str
    requested: Sequence[str] | None
    network: str = ""

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """Return the requested names for this network without its name and the word `stride`; otherwise as `requested`.

        A network without a pin name requests the smallest sufficient set.
        """
        if not self.requested:
            return None if self.requested is None else ()
        split = [_split_key(key) for key in self.requested]
        own = [key for network, key in split if network == self.network]
        return tuple(dict.fromkeys(filter(None, own))) if own else None

    def of_network(self, name: str, lock: Lock) -> Repinning:
        """Return the same for the lock of a further network."""
        return replace(self, lock=lock, network=name)

    def list_unknown(self) -> Iterator[Diagnostic]:
        """Report FAB3036 for every key that the lock does not pin, of any network."""
        yield from self._unknown()
        for name in dict.fromkeys(network for network, _ in map(_split_key, self.requested or ()) if network):
            if (lock := self.lock.networks.get(name)) is not None:
                found = self.of_network(name, lock)._unknown()
                yield from (replace(each, message=f"{name}: {each.message}") for each in found)
                continue
            message = f"the lock has no network {name!r}"
            known = ", ".join(sorted(self.lock.networks))
            help_ = f"It has {known}." if known else "It has that of the rails alone."
            yield Diagnostic("FAB3036", Severity.ERROR, message, Position(str(self.file), 1), help_)

    def _unknown(self) -> Iterator[Diagnostic]:
        for key in self.wanted or ():
            if key in self.lock.strides:
                continue
            if key.removeprefix("unit ") in self.lock.units or key.removeprefix("host ").split()[:1] in (
                [name] for name in self.lock.hosts
            ):
                message = f"{key!r} is the place of a unit or host, which repinning does not change"
            else:
                message = f"the lock has no pin {key!r}"
            known = ", ".join(sorted(self.lock.strides))
            help_ = f"Its pins are {known}." if known else "It pins nothing yet: build without `--repin`."
            yield Diagnostic("FAB3036", Severity.ERROR, message, Position(str(self.file), 1), help_)

    def run(
        self, plan: Callable[[Lock], P], touched: Callable[[P], ChangedParts]
    ) -> tuple[P, RepinResult | None]:
        """Return the plan with the lock unchanged or with the allowed pins changed; see `planning.repin`."""
        if self.wanted is None or not self.lock.strides:
            return plan(self.lock), None
        return find_repin(self.lock, self.wanted, plan, touched)

    def report_changes(self, found: RepinResult | None) -> Iterator[Diagnostic]:
        """Report FAB3037 with the changes, FAB3038 if nothing changes, FAB3035 if the requested pins do not suffice."""
        if found is None:
            return
        at = self._pin_position(found.pins)
        if not found.enough:
            requested = ", ".join(found.requested)
            what = f"changing {requested} is not enough; required: {found.changes}"
            named, alone = "--repin={}", "--repin"
            if self.network:
                named = f'--repin="network {self.network} stride {{}}"'
                alone = f'--repin="network {self.network}"'
            words = " ".join(map(named.format, found.pins))
            help_ = f"Use `{words}`, or `{alone}` alone, which touches {found.touched}."
            yield Diagnostic("FAB3035", Severity.ERROR, what, at, help_)
        elif found.pins:
            what = f"--repin changes {found.changes}: {found.touched}"
            help_ = "The numbers count pinned values only. `fabricc diff` compares the trees."
            yield Diagnostic("FAB3037", Severity.NOTE, what, at, help_)
        else:
            what = "--repin changes nothing: the lock fits the spec"
            yield Diagnostic("FAB3038", Severity.NOTE, what, at, "Build without it.")

    def _pin_position(self, pins: Mapping[str, object]) -> Position:
        """Return the position of the first of some pins in the lock."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if self.network:
                line = line.removeprefix(f"network {self.network} ")
            if line.startswith("stride ") and line.split()[1:2] == [next(iter(pins), None)]:
                return Position(str(self.file), number, 1)
        return Position(str(self.file), 1)


class Naming:
    """The back ends behind the three questions that planning may put."""

    def names(self) -> tuple[str, ...]:
        """Return every NOS that can be loaded, sorted."""
        return back_ends.list_names()

    def supports(self, nos: str, model: SwitchModel) -> bool:
        """Return whether the NOS runs on the model.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).supports(model)

    def releases(self, nos: str) -> tuple[str, ...]:
        """Return the releases of a NOS that its back end supports.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).releases

    def release(self, nos: str, release: str | None) -> str:
        """Return the requested release, or the default of the back end.

        Raises:
            KeyError: no such NOS.
            ValueError: the back end does not know the release; the message lists the known ones.
        """
        back_end = back_ends.load(nos)
        if release is None:
            return back_end.default_release
        if release not in back_end.releases:
            near = get_close_matches(release, back_end.releases, 1)
            known = f"Known: {', '.join(back_end.releases) or 'none'}."
            raise ValueError(f"Did you mean {nos}-{near[0]}? {known}" if near else known)
        return release

    def sets_headroom_pool(self, nos: str) -> bool:
        """Return whether the configuration of the NOS sets the size of the headroom pool.

        Raises:
            KeyError: no such NOS.
        """
        return bool(getattr(back_ends.load(nos), "sets_headroom_pool", False))

    def vendor_policy(self, nos: str) -> VendorPolicy | None:
        """Return the lossless policy that one command of the NOS sets; None where none is documented.

        Raises:
            KeyError: no such NOS.
        """
        return getattr(back_ends.load(nos), "vendor_policy", None)

    def port_name(self, nos: str, model: SwitchModel, slot: Slot) -> str:
        """Return the name of a port, used at the speed of the slot."""
        return back_ends.port_name_at_speed(
            back_ends.load(nos), model, slot.cage, slot.child, slot.children, slot.speed_gbps
        )
