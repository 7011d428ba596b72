"""Change pins of the lock where a build may do so, and report what changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass, replace
from fabricc.front.planning.identity.repinning import ChangedParts, PlanResult, RepinResult, find_repin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.front.spec.lock import Lock

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
    def requested_pins(self) -> tuple[str, ...] | None:
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
        yield from self._report_unknown_pins()
        for name in dict.fromkeys(network for network, _ in map(_split_key, self.requested or ()) if network):
            if (lock := self.lock.networks.get(name)) is not None:
                found = self.of_network(name, lock)._report_unknown_pins()
                yield from (replace(each, message=f"{name}: {each.message}") for each in found)
                continue
            message = f"the lock has no network {name!r}"
            known = ", ".join(sorted(self.lock.networks))
            help_ = f"It has {known}." if known else "It has that of the rails alone."
            yield Diagnostic("FAB3036", Severity.ERROR, message, Position(str(self.file), 1), help_)

    def _report_unknown_pins(self) -> Iterator[Diagnostic]:
        for key in self.requested_pins or ():
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
        """Return the plan with the lock unchanged or with the allowed pins changed; see `find_repin`."""
        if self.requested_pins is None or not self.lock.strides:
            return plan(self.lock), None
        return find_repin(self.lock, self.requested_pins, plan, touched)

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
