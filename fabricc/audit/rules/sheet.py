"""The facts of one device sorted for the rules: its ports, its sessions, and the place of each statement."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fabricc.audit.frame import NEIGHBOUR, SECONDARY, VRF
from fabricc.audit.model import End, Kind, Place, Tier
from fabricc.audit.packed import parts_of
from fabricc.back.nos.ports import PLAIN, PortKind, parser
from fabricc.base.diagnostics import Severity
from fabricc.base.values import dataclass
from fabricc.proof.compare import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from fabricc.audit.model import Device, Found
    from fabricc.back.nos.ports import PortName
    from fabricc.fabric.facts import Value

_FAMILIES = ("ipv4", "ipv6")
_USED = ("ipv4", "ipv6", "unnumbered", "switchport", "pfc", "bundle")
_FIRST = ("ipv4", "mtu", "description", "enabled", "remote_asn", "switchport", "pfc", "speed_gbps")
NOWHERE = Place(Tier.OTHER)

T = TypeVar("T")


class Far(NamedTuple):
    """The other end of a link of a device: `known` if the folder has that device."""

    end: End
    tier: Tier
    known: bool


@dataclass(slots=True)
class Sheet:
    """One device.

    Attributes:
        ports: port -> its facts, by the rest of the path.
        sessions: routing instance ("" for the default one) and neighbor -> its facts, likewise.
        addresses: port -> its addresses with prefix lengths.
        rest: facts of no port and no session; `lines`: file and line of each.
        chains: results of `chain`.
        fars: port -> other end of its link.
        parsed: parses port names of the device's system.
        shared: results from facts shared with devices whose ports lead to the same tiers; see `once`.
    """

    device: Device
    place: Place
    fars: Mapping[str, Far]
    parsed: Callable[[str], PortName]
    shared: dict[Any, Any]
    ports: Mapping[str, Mapping[str, Value]]
    sessions: Mapping[tuple[str, str], Mapping[str, Value]]
    addresses: Mapping[str, list[str]]
    rest: dict[str, Value]
    lines: dict[str, tuple[str, int]]
    chains: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The device's."""
        return self.device.name

    def base(self, port: str) -> str:
        """Return the port below a logical interface, as far as the device mentions it."""
        below = port.rpartition(".")[0]
        return below if below in self.ports else port

    def carrier(self, port: str) -> str:
        """Return the interface with the addresses of a port: its bundle, or the port."""
        return self.chain(port)[-1]

    def chain(self, port: str) -> tuple[str, ...]:
        """Return a port, the port below it, and its bundle, each once."""
        if port not in self.chains:
            base = self.base(port)
            bundle = self._bundle(base)
            self.chains[port] = tuple(dict.fromkeys((port, base, bundle) if bundle else (port, base)))
        return self.chains[port]

    def _bundle(self, port: str) -> str:
        bundle = str(self.ports.get(port, {}).get("bundle", ""))
        if not bundle or bundle in self.ports:
            return bundle
        wanted = self.parsed(bundle).port
        return next((each for each in self.ports if self.parsed(each).port == wanted), "")

    def of(self, port: str, leaf: str) -> Value | None:
        """Return a fact of a port, of the port below it, or of its bundle."""
        for each in self.chain(port):
            if (value := self.ports.get(each, {}).get(leaf)) is not None:
                return value
        return None

    def open_ports(self) -> Iterator[str]:
        """Yield ports that are up and in use without a known far end: hosts are often not in the folder."""
        for port, says in self.ports.items():
            if port in self.fars or says.get("enabled") == "false" or "kind" in says:
                continue
            name = self.parsed(port)
            if name.kind is PortKind.PORT and not name.unit and any(leaf in says for leaf in _USED):
                yield port

    def once(self, what: Hashable, worked_out: Callable[[], T]) -> T:
        """Return a result that needs no own facts of the device, and only tiers of its links: computed once for all."""
        if what not in self.shared:
            self.shared[what] = worked_out()
        found: T = self.shared[what]
        return found

    @property
    def tells_quality(self) -> bool:
        """Whether its files speak of quality of service at all, so that what they leave out is not there."""
        return any(path.startswith(("qos/", "pool/", "watchdog/")) for path in self.rest) or any(
            "pfc" in says or "trust" in says for says in self.ports.values()
        )


def sheet(device: Device, place: Place, fars: Mapping[str, Far]) -> Sheet:
    """Sort the facts of a device."""
    parts = parts_of(device.held)
    rest = parts.rest()
    addresses: dict[str, list[str]] = {}
    for port, own in parts.own_of_ports():
        for leaf, value in own:
            if leaf in _FAMILIES and isinstance(value, str):
                addresses.setdefault(port, []).append(value)
            elif leaf.startswith(SECONDARY):
                addresses.setdefault(port, []).append(leaf[len(SECONDARY) : -1])
    parsed = PLAIN.parsed if device.kind is Kind.HOST else parser(device.system)
    tiers = tuple([(port, far.tier) for port, far in fars.items()])
    alike = device.system, device.kind, device.model, device.box, place.tier, tiers
    shared = parts.frame.memo.setdefault(alike, {})
    return Sheet(
        device,
        place,
        fars,
        parsed,
        shared,
        parts.ports(),
        parts.sessions(),
        addresses,
        rest.facts,
        rest.lines,
    )


def fars_of(found: Found) -> dict[str, dict[str, Far]]:
    """Device -> port -> the other end of its link."""
    fars: dict[str, dict[str, Far]] = {name: {} for name in found.devices}
    for link in found.links:
        for near, far in link.ways:
            if near.device in fars:
                place = found.places.get(far.device, NOWHERE)
                known = far.device in found.devices
                fars[near.device][near.port] = Far(far, place.tier, known)
    return fars


def session_path(key: tuple[str, str], leaf: str) -> str:
    """Path of a fact of a session."""
    vrf, neighbour = key
    return f"{scope_of(vrf)}{NEIGHBOUR}{neighbour}]/{leaf}"


def scope_of(vrf: str) -> str:
    """What paths of a routing instance begin with."""
    return f"{VRF}{vrf}]/" if vrf else ""


def place_of(device: Device, *paths: str, like: str = "", word: str = "") -> tuple[str, int]:
    """Return file below the folder and line of the first of these facts that exists, or of the closest statement.

    Args:
        device: whose files.
        paths: of facts, the exact one first.
        like: the line by which another device states the missing fact: a line with the same beginning and another or
            unknown meaning takes its place.
        word: a word of the exact line, if several lines make the fact.
    """
    found = _nearest(device, paths)
    if found is None:
        first = next(iter(device.paths.values()), "")
        return first, 1 if first else 0
    file, line = found
    leaf = paths[0].rpartition("]/")[2] if paths else ""
    if like and (other := _instead(device, file, line, like, leaf)):
        file, line = other
    elif word and word not in _line(device, file, line):
        block = (*range(line, line + _BLOCK), *range(line, max(line - _BLOCK, 0), -1))
        line = next((at for at in block if word in _line(device, file, at)), line)
    return device.paths.get(file, file), line


_BLOCK = 12
"""Lines of one block, as far as one is looked through."""


def _nearest(device: Device, paths: Iterable[str]) -> tuple[str, int] | None:
    lines = device.reading.lines
    for path in paths:
        if place := lines.get(path):
            return place
    for path in paths:
        above = path
        while above := above.rpartition("/")[0]:
            beside = (lines.get(f"{above}/{leaf}") for leaf in _FIRST)
            if place := next((each for each in beside if each), None):
                return place
            if "[" in above or "/" in above:
                inside = f"{above}/"
                if place := next((each for known, each in lines.items() if known.startswith(inside)), None):
                    return place
    return None


def beside(device: Device, path: str, other: Device, wanted: str) -> str:
    """Return the fact of a port or session of `other` closest to a fact that this device has too.

    Args:
        device: the device whose fact is searched.
        path: where facts of the port or session begin.
        other: a device of the same system, or the same.
        wanted: the fact of a port or session there.
    """
    place = other.reading.lines.get(wanted)
    start = wanted[: wanted.rindex("]/", 0, wanted.index("]/") + 2) + 2]
    if place is None:
        return path
    known = device.reading.lines
    near = sorted(
        (abs(line - place[1]), each[len(start) :])
        for each, (file, line) in other.reading.lines.items()
        if each.startswith(start) and file == place[0]
    )
    return next((path + leaf for _, leaf in near if path + leaf in known), path)


def line_of(device: Device, path: str) -> str:
    """The text of the line that states a fact; "" where none does."""
    place = device.reading.lines.get(path)
    return _line(device, *place) if place else ""


def _line(device: Device, file: str, line: int) -> str:
    lines = _lines(device.files.get(file, ""))
    return lines[line - 1] if 0 < line <= len(lines) else ""


@lru_cache(maxsize=2)
def _lines(text: str) -> list[str]:
    """Return the lines of a text; cached, because a device has many findings."""
    return text.split("\n")


def _instead(device: Device, file: str, line: int, like: str, leaf: str) -> tuple[str, int] | None:
    """Return a line near a place, or an unknown one, that begins like `like` and states the same of nothing else."""
    wanted = _beginning(like)
    if not wanted:
        return None
    suffix = f"]/{leaf}"
    stating = {place for path, place in device.reading.lines.items() if path.endswith(suffix)}
    near = sorted(range(max(line - _BLOCK, 1), line + _BLOCK), key=lambda at: abs(at - line))
    for at in near:
        if (file, at) not in stating and _beginning(_line(device, file, at)) == wanted:
            return file, at
    unknown = [(other, at) for other, at, text in device.reading.unknown if _beginning(text) == wanted]
    return unknown[0] if unknown else None


def _beginning(text: str) -> tuple[str, ...]:
    """Return the beginning of a line without its value: all words but the last, at most two."""
    words = text.split()
    return tuple(words[: min(2, max(1, len(words) - 1))])


def told(
    code: str,
    device: Device,
    paths: str | Iterable[str],
    message: str,
    group: str,
    severity: Severity = Severity.ERROR,
    remedy: str = "",
    *,
    like: str = "",
    word: str = "",
) -> Finding:
    """Return a finding at the first of the paths that the device states, its file below the folder; see `place_of`."""
    wanted = (paths,) if isinstance(paths, str) else tuple(paths)
    return Finding(code, message, *place_of(device, *wanted, like=like, word=word), group, severity, remedy)
