"""A subnet's files read back: every line understood or named, nothing assumed of who wrote it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.infiniband import sm_files
from fabricc.back.infiniband.sm_files import ReadTopology, read_topology
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_GUID = r"0x[0-9a-f]{16}"
_SETTING = re.compile(r"([a-z0-9_]+) (\S.*)")
_NAME = re.compile(rf'({_GUID}) "([^"]+)"')
_LID = re.compile(rf"({_GUID}) (0x[0-9a-f]{{4}}) (0x[0-9a-f]{{4}})")
_PARTITION = re.compile(r"([A-Za-z0-9_.-]+)=(0x[0-9a-f]{4})((?:,[a-z0-9=]+)*):([^;]*);")
_ULP = re.compile(r"\s*(?:(any), pkey (0x[0-9a-f]{4})|(default)) : (\d{1,9})")
_MEMBERSHIPS = ("full", "limited", "both")
_KEYWORDS = ("ALL", "SELF", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS")


class UnknownText(NamedTuple):
    """A line that is not understood: file below the subnet's folder, line from 1, what is wrong."""

    file: str
    line: int
    text: str


@dataclass(slots=True)
class ReadPartition:
    """A partition: P_Key as written, options, and member (GUID in hex or keyword) -> membership."""

    name: str
    pkey: int
    line: int
    options: Mapping[str, str]
    members: dict[str, str] = field(default_factory=dict)

    @property
    def full(self) -> set[str]:
        """Members that see everyone in it."""
        return {member for member, kind in self.members.items() if kind != "limited"}


@dataclass(slots=True)
class ReadSubnet:
    """The content of the files of a subnet.

    Attributes:
        files: path -> text, as given.
        conf: settings of opensm.conf; `lids`, `names`: by GUID in hex.
        roots, compute: GUIDs in hex -> line.
        levels: P_Key (low 15 bits), or None for everything else -> service level.
        odd: lines that are not understood, and files that are missing.
    """

    files: Mapping[str, str]
    conf: dict[str, str] = field(default_factory=dict)
    partitions: list[ReadPartition] = field(default_factory=list)
    roots: dict[str, int] = field(default_factory=dict)
    compute: dict[str, int] = field(default_factory=dict)
    lids: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    levels: dict[int | None, int] = field(default_factory=dict)
    topology: ReadTopology = field(default_factory=lambda: ReadTopology({}, ()))
    unknown: list[UnknownText] = field(default_factory=list)


def read_subnet(files: Mapping[str, str]) -> ReadSubnet:
    """Read the files of a subnet, by path below its folder."""
    found = ReadSubnet(files)
    readers: dict[str, Callable[[ReadSubnet, str, int], bool]] = {
        sm_files.CONF: _read_conf,
        sm_files.PARTITIONS: _read_partition,
        sm_files.ROOTS: lambda to, line, at: _read_guid(to.roots, line, at),
        sm_files.COMPUTE: lambda to, line, at: _read_guid(to.compute, line, at),
        sm_files.NAMES: _read_name,
        sm_files.LIDS: _read_lid,
        sm_files.POLICY: _read_policy,
    }
    for file, reader in readers.items():
        if file not in files:
            if file != sm_files.POLICY:
                found.unknown.append(UnknownText(file, 0, "the file is missing"))
            continue
        lines = (
            _split_statements(files[file]) if file == sm_files.PARTITIONS else _numbered_lines(files[file])
        )
        for number, line in lines:
            if not reader(found, line, number):
                found.unknown.append(UnknownText(file, number, f"not understood: {line[:80]}"))
    if sm_files.TOPOLOGY in files:
        found.topology = read_topology(files[sm_files.TOPOLOGY])
        found.unknown += [
            UnknownText(sm_files.TOPOLOGY, number, f"not understood: {line[:80]}")
            for number, line in found.topology.unknown
        ]
    else:
        found.unknown.append(UnknownText(sm_files.TOPOLOGY, 0, "the file is missing"))
    return found


def _numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _split_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield definitions up to their semicolon, each as one line without blanks; the last may lack it."""
    start, parts = 0, ""
    for number, line in _numbered_lines(text):
        start = start if parts else number
        parts += "".join(line.split())
        if parts.endswith(";"):
            yield start, parts
            parts = ""
    if parts:
        yield start, parts


def _read_conf(to: ReadSubnet, line: str, _: int) -> bool:
    match = _SETTING.fullmatch(line)
    if match is None or match[1] in to.conf:
        return False
    to.conf[match[1]] = match[2]
    return True


def _read_guid(to: dict[str, int], line: str, at: int) -> bool:
    if not re.fullmatch(_GUID, line) or line in to:
        return False
    to[line] = at
    return True


def _read_name(to: ReadSubnet, line: str, _: int) -> bool:
    match = _NAME.fullmatch(line)
    if match is None or match[1] in to.names:
        return False
    to.names[match[1]] = match[2]
    return True


def _read_lid(to: ReadSubnet, line: str, _: int) -> bool:
    match = _LID.fullmatch(line)
    if match is None or match[2] != match[3] or match[1] in to.lids:
        return False
    to.lids[match[1]] = int(match[2], 16)
    return True


def _read_policy(to: ReadSubnet, line: str, _: int) -> bool:
    if line in ("qos-ulps", "end-qos-ulps"):
        return True
    match = _ULP.fullmatch(line)
    if match is None:
        return False
    key = None if match[3] else int(match[2], 16) & 0x7FFF
    if key in to.levels:
        return False
    to.levels[key] = int(match[4])
    return True


def _read_partition(to: ReadSubnet, line: str, at: int) -> bool:
    """Read one definition; opensm turns a misspelled membership into `limited`, this reader rejects it."""
    match = _PARTITION.fullmatch(line)
    if match is None:
        return False
    options: dict[str, str] = {}
    for option in match[3].split(",")[1:]:
        key, _, value = option.partition("=")
        options[key] = value
    found = ReadPartition(match[1], int(match[2], 16), at, options)
    default = options.get("defmember", "limited")
    for member in filter(None, match[4].split(",")):
        who, _, kind = member.partition("=")
        kind = kind or default
        known = who in _KEYWORDS or re.fullmatch(_GUID, who)
        if not known or kind not in _MEMBERSHIPS or who in found.members:
            return False
        found.members[who] = kind
    to.partitions.append(found)
    return True
