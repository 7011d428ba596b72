"""The committed lock, `fabricc.lock`: which identities have which coordinates, one line per item."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip
from fabricc.base.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
KEY = r"[a-z0-9][a-z0-9_./-]{0,127}"
NUMBER = r"0|[1-9][0-9]{0,9}"
CLUSTER = re.compile(r"cluster ([a-z0-9][a-z0-9-]{0,31})(?: network ([a-z]{1,10}))?")
LINK = r"[a-z0-9][a-z0-9_.:/-]{0,255}"
LINE = re.compile(
    rf"(?:(stride|unit|switch|tenant) ({KEY}) ({NUMBER})|(host) ({KEY}) ({NUMBER}) ({NUMBER})|"
    rf"(link) ({LINK}) ({NUMBER})|(name) ({KEY}) ({KEY}))"
)
NETWORK = re.compile(rf"network ([a-z]{{1,10}}) (?:({NUMBER})|(.*))")
"""A further network of the hosts: its number, or an item of its own."""
HEADER = """\
# Written by fabricc; commit it. Addresses, ASNs and names follow from these numbers: changing one renumbers
# what it stands for. After a merge, keep the lines of both sides; the next build tells which cannot both stay.
"""
_COUNTS = re.compile(r"(?P<digits>[a-z]+_digits)|links_per_[a-z]+|spread_spines")
_MOST_DIGITS = 9
_MOST_NETWORKS = 63  # as many blocks of AS numbers are private
_LINES = (
    "Lines are `cluster NAME`, `stride NAME N`, `unit KEY N`, `host NAME UNIT SLOT`, `switch NAME N`, `link KEY N`, "
    "`tenant NAME N` and `name NAME NAME`, and with `network NAME` before them, or a number after it, those of a "
    "further network; restore it from Git."
)
_INFINIBAND, _ETHERNET = ("lid_slots", "lid_spine", "lid_unit"), ("nic_port", "spine_uplink")
"""Strides that only fabrics of one kind have."""
CONFLICT = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


@dataclass(frozen=True, slots=True)
class Lock:
    """Pinned numbers.

    Attributes:
        strides: name of a stride -> its value.
        units: key of a unit or rack -> its coordinate.
        hosts: host name -> (coordinate of its unit, slot in the unit).
        switches: management switch -> its number.
        tenants: tenant -> its number, also after it left the spec.
        names: computed name of a unit, switch or counted host -> the one that it has instead.
        cluster: the cluster with these numbers; empty in locks of releases that did not record it.
        network: the network of the cluster that has a spec of its own (`network`); empty for all others.
        links: party, switch and port of an external link -> its number in the party's network, also after it left.
        networks: name of a further network of the hosts -> its numbers, also after it left the spec.
        number: of a further network, from 1; 0 for the network that the top level of the spec describes.
    """

    strides: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    cluster: str = ""
    networks: Mapping[str, Lock] = field(default_factory=dict)
    number: int = 0
    switches: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    tenants: Mapping[str, int] = field(default_factory=dict)
    network: str = ""

    @property
    def numbers(self) -> dict[str, int]:
        """Name of each further network -> its number."""
        return {name: each.number for name, each in self.networks.items()}


EMPTY_LOCK = Lock()


def format_lock(lock: Lock) -> str:
    """Return the lock's text: the same for equal locks, whatever the order of their items.

    Raises:
        ValueError: a key or number that a lock cannot hold.
    """
    lines = _format_items(lock)
    for name, each in sorted(lock.networks.items()):
        lines += [f"network {name} {item}" for item in (each.number, *_format_items(each))]
    owner = [_owner_line(lock.cluster, lock.network)] if lock.cluster else []
    return "\n".join((f"version {VERSION}", HEADER.rstrip(), *owner, *lines)) + "\n"


def _format_items(lock: Lock) -> list[str]:
    lines = [f"stride {name} {value}" for name, value in sorted(lock.strides.items())]
    lines += [f"unit {key} {coordinate}" for key, coordinate in sorted(lock.units.items())]
    lines += [f"host {name} {unit} {slot}" for name, (unit, slot) in sorted(lock.hosts.items())]
    lines += [f"switch {name} {number}" for name, number in sorted(lock.switches.items())]
    lines += [f"tenant {name} {number}" for name, number in sorted(lock.tenants.items())]
    lines += [f"link {key} {number}" for key, number in sorted(lock.links.items())]
    lines += [f"name {computed} {name}" for computed, name in sorted(lock.names.items())]
    for line in lines:
        if not LINE.fullmatch(line):
            raise ValueError(f"not an item of a lock: {line!r}")
    return lines


def _owner_line(cluster: str, network: str) -> str:
    return f"cluster {cluster} network {network}" if network else f"cluster {cluster}"


def renew_lock(lock: Lock, cluster: str, before: str | None, network: str = "") -> str:
    """Return the text of a cluster's lock; one that names no cluster stays as it is while its numbers do.

    `before` is what the lock file holds; None when there is none.
    """
    unnamed = [replace(lock, cluster=owner, network="") for owner in ("", *([cluster] if network else []))]
    if before in (texts := [format_lock(each) for each in unnamed]):
        return texts[texts.index(before)]
    return format_lock(replace(lock, cluster=cluster, network=network))


def report_unnamed_network(
    before: str | None, after: str, file: str, cluster: str, network: str
) -> list[Diagnostic]:
    """Return FAB2070 if the spec of a network would change a lock that names its cluster and no network.

    Locks of earlier releases name none. While no number changes, such a lock is that of the spec.
    """
    if not network or before is None or before == after:
        return []
    lines = before.splitlines()
    if (line := f"cluster {cluster}") not in lines:
        return []
    return [_other_network(cluster, "", network, Position(file, lines.index(line) + 1, 1))]


def _other_network(cluster: str, network: str, own_network: str, position: Position) -> Diagnostic:
    message = (
        f"this lock is for {describe_network(network)} of cluster '{cluster}', "
        f"and the spec describes {describe_network(own_network)}"
    )
    remedy = (
        "Give each spec its own `cluster` name and lock (`fabricc lock --own SPEC`). If these are the numbers of this "
        f"spec, write `{_owner_line(cluster, own_network)}` in this line: no number changes."
    )
    return Diagnostic("FAB2070", Severity.ERROR, message, position, remedy)


def describe_network(network: str) -> str:
    """Return the words for the network that a spec describes: that of its key `network`, or the rails."""
    return f"network '{network}'" if network else "the rails"


def lines_of(text: str, network: str) -> str:
    """The text of a lock as that of a further network alone has it, every line where it stands; "" for the rails."""
    if not network:
        return text
    own = f"network {network} "
    return "\n".join(line.removeprefix(own) if line.startswith(own) else "" for line in text.split("\n"))


def parse_lock(
    text: str, file: str, cluster: str = "", network: str = ""
) -> tuple[Lock, tuple[Diagnostic, ...]]:
    """Return the lock in `text`, and every line that cannot stay as it is; never raises.

    The first of two lines that contradict each other counts. The lock of another cluster than `cluster`, or of another
    network of it than `network`, is refused (FAB2070), unless `cluster` is empty.
    """
    return _Reader(file, cluster, network).read(text)


def report_other_kind(lock: Lock, file: str, *, infiniband: bool) -> list[Diagnostic]:
    """Return FAB2070 if a lock has the numbers of an InfiniBand fabric and the spec describes Ethernet, or conversely.

    No pin of one kind is used by the other: a build would choose all numbers again.
    """
    found = [name for name in sorted(_ETHERNET if infiniband else _INFINIBAND) if name in lock.strides]
    if not found:
        return []
    kinds = ("Ethernet", "InfiniBand") if infiniband else ("InfiniBand", "Ethernet")
    message = (
        f"this lock has the numbers of a fabric of {kinds[0]} ({found[0]}), and the spec describes {kinds[1]}"
    )
    remedy = (
        "Give each spec its own `cluster` name and lock (`fabricc lock --own SPEC`). To replace the fabric, remove its "
        "tree and its lock first."
    )
    return [Diagnostic("FAB2070", Severity.ERROR, message, Position(file, 1, 1), remedy)]


class _Reader:
    def __init__(self, file: str, cluster: str, network: str = "") -> None:
        self.file = file
        self.wanted = cluster
        self.wanted_network = network
        self.cluster = ""
        self.network = ""
        self.diagnostics: list[Diagnostic] = []
        self.strides: dict[str, int] = {}
        self.units: dict[str, int] = {}
        self.hosts: dict[str, tuple[int, int]] = {}
        self.switches: dict[str, int] = {}
        self.links: dict[str, int] = {}
        self.names: dict[str, str] = {}
        self.tenants: dict[str, int] = {}
        self.lines: dict[tuple[str, str], int] = {}
        self.owners: dict[tuple[int, ...], str] = {}
        self.numbers: dict[tuple[str, int], str] = {}
        self.networks: dict[str, _Reader] = {}
        self.number = 0

    def read(self, text: str) -> tuple[Lock, tuple[Diagnostic, ...]]:
        versions = 0
        for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
            line = raw.strip(" \t")
            if not line or line.startswith("#"):
                continue
            if line.startswith(CONFLICT):
                self._report_conflict(line, number)
            elif line.startswith("version "):
                versions += 1
                self._read_version(line, number)
            elif (match := CLUSTER.fullmatch(line)) is not None:
                self._read_owner(match[1], match[2] or "", number)
            elif (match := LINE.fullmatch(line)) is not None:
                self._read_item(match, number)
            elif (match := NETWORK.fullmatch(line)) is None or not self._network(match, number):
                self._report_problem("FAB0030", f"not a line of a lock: {clip(line)}", number, _LINES)
        if not versions:
            self._report_problem("FAB0031", "the lock has no version line", 1, "Restore the file from Git.")
        for name, part in self.networks.items():
            if not part.number:
                self._report_problem(
                    "FAB0030",
                    f"network '{name}' has items and no number",
                    min(part.lines.values(), default=1),
                    f"Restore the line `network {name} N` from Git.",
                )
        return self._lock(), tuple(self.diagnostics)

    def _lock(self) -> Lock:
        networks = {name: each._lock() for name, each in self.networks.items() if each.number}
        own, more = (
            (self.strides, self.units, self.hosts, self.cluster),
            (self.switches, self.links, self.names, self.tenants),
        )
        return Lock(*own, networks, self.number, *more, network=self.network)

    def _network(self, match: re.Match[str], number: int) -> bool:
        """Take a line about a further network; whether it is one."""
        name, stated, rest = match.groups()
        part = self.networks.setdefault(name, _Reader(self.file, ""))
        part.diagnostics = self.diagnostics
        if stated is None:
            if (item := LINE.fullmatch(rest)) is not None:
                part._read_item(item, number)
            return item is not None
        if not 1 <= int(stated) <= _MOST_NETWORKS:
            return False
        first = self.lines.setdefault(("network", name), number)
        owner = self.owners.setdefault((0, 0, int(stated)), name)
        if first != number or owner != name:
            message = (
                f"network '{name}' is defined in line {first} already"
                if first != number
                else f"network '{name}' and network '{owner}' have the number {stated}"
            )
            help_ = "Delete the line that was not committed first."
            self._report_problem("FAB0033" if first != number else "FAB0034", message, number, help_)
        else:
            part.number = int(stated)
        return True

    def _report_problem(self, code: str, message: str, line: int, help: str) -> None:
        self.diagnostics.append(Diagnostic(code, Severity.ERROR, message, Position(self.file, line, 1), help))

    def _report_conflict(self, line: str, number: int) -> None:
        self._report_problem(
            "FAB0032",
            f"a merge conflict is not resolved: {line[:7]}",
            number,
            "Keep the item lines of both sides and delete the markers; then build again.",
        )

    def _read_version(self, line: str, number: int) -> None:
        if line != f"version {VERSION}":
            message = f"the lock has {clip(line)}, but this program reads version {VERSION}"
            self._report_problem("FAB0031", message, number, "Use the release of fabricc that wrote it.")

    def _read_owner(self, cluster: str, network: str, number: int) -> None:
        if not self.cluster:
            self.cluster, self.network = cluster, network
        if not self.wanted:
            return
        line = _owner_line(self.wanted, self.wanted_network)
        if cluster != self.wanted:
            self._report_problem(
                "FAB2070",
                f"this lock belongs to cluster '{cluster}', but the spec is for '{self.wanted}'",
                number,
                "Create a separate lock with `fabricc lock --own SPEC`. If the cluster was renamed, write "
                f"`{line}` in this line: no number changes.",
            )
        elif network and network != self.wanted_network:
            place = Position(self.file, number, 1)
            self.diagnostics.append(_other_network(cluster, network, self.wanted_network, place))

    def _read_item(self, match: re.Match[str], number: int) -> None:
        kind, key = next((match[at], match[at + 1]) for at in (1, 4, 8, 11) if match[at])
        if (first := self.lines.setdefault((kind, key), number)) != number:
            message = f"{kind} '{clip(key)}' is defined in line {first} already"
            self._report_problem("FAB0033", message, number, "Delete the line that was not committed first.")
            return
        if kind == "stride":
            self._read_stride(key, int(match[3]), number)
        elif kind == "switch":
            self.switches[key] = int(match[3])
            self._check_own((-1, self.switches[key]), kind, key, number)
        elif kind == "tenant":
            self._read_tenant(key, int(match[3]), number)
        elif kind == "link":
            self._claim_link(key, int(match[10]), number)
        elif kind == "unit":
            self.units[key] = int(match[3])
            self._check_own((self.units[key],), kind, key, number)
        elif kind == "name":
            self.names[key] = match[13]
        else:
            self.hosts[key] = (int(match[6]), int(match[7]))
            self._check_own(self.hosts[key], kind, key, number)

    def _read_stride(self, name: str, value: int, number: int) -> None:
        """Names have a few digits, and links that are spread are at least one."""
        counts = _COUNTS.fullmatch(name)
        if counts and (not value or (counts["digits"] and value > _MOST_DIGITS)):
            fits = f"1 to {_MOST_DIGITS}" if counts["digits"] else "1 or more"
            message = f"the stride {name} is {value}, a build writes {fits}"
            self._report_problem("FAB6040", message, number, "Restore the line from Git.")
            return
        self.strides[name] = value

    def _read_tenant(self, name: str, value: int, number: int) -> None:
        """Take the number of a tenant, from 1: VNI, VLAN and route target follow from it."""
        if not value:
            message = f"tenant '{clip(name)}' has the number 0, a build writes 1 or more"
            self._report_problem("FAB6040", message, number, "Restore the line from Git.")
            return
        self.tenants[name] = value
        self._check_own((-2, value), "tenant", name, number)

    def _claim_link(self, key: str, value: int, number: int) -> None:
        """No two links of a party have one number."""
        self.links[key] = value
        party = key.partition("/")[0]
        if (owner := self.numbers.setdefault((party, value), key)) != key:
            self._report_problem(
                "FAB0034",
                f"link '{clip(key)}' and link '{clip(owner)}' (line {self.lines['link', owner]}) share number {value}",
                number,
                "Delete the line of the one that is not deployed yet; the next build gives it a free number.",
            )

    def _check_own(self, coordinate: tuple[int, ...], kind: str, key: str, number: int) -> None:
        """Two branches that both added something gave it the same coordinate."""
        owner = self.owners.setdefault(coordinate, key)
        if owner != key:
            where = {
                "unit": f"coordinate {coordinate[0]}",
                "host": f"unit {coordinate[0]} slot {coordinate[-1]}",
                "switch": f"number {coordinate[-1]}",
                "tenant": f"number {coordinate[-1]}",
            }[kind]
            self._report_problem(
                "FAB0034",
                f"{kind} '{clip(key)}' and {kind} '{clip(owner)}' (line {self.lines[kind, owner]}) share {where}",
                number,
                "Delete the line of the one that is not deployed yet; the next build gives it a free place.",
            )
