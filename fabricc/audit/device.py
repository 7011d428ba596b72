"""Split collected files into texts, one below each command, and read the device that these texts belong to."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from fabricc.audit.coverage import UnderstoodLines, measure_understood
from fabricc.audit.ends import Placement, address_of, place_statements
from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.back.hosts import recognition as host_files
from fabricc.back.nos import collected
from fabricc.back.nos.collected import Collected, FileMatch, Identity, Output, other_system
from fabricc.back.reading.tree import is_broken
from fabricc.base.diagnostics import Severity
from fabricc.base.documents.document import conflict_in_output
from fabricc.base.foreign.files import Folder
from fabricc.compiler.render.switch_files import unfit_lines
from fabricc.fabric.facts import Reading
from fabricc.facts.frame import KEPT, Contents, Frame, PackedContents, Parts, pack_contents, split_facts
from fabricc.facts.statement import HOST, Neighbor
from fabricc.proof import Finding

if TYPE_CHECKING:
    from pathlib import Path


_ADDRESSES = ("/ipv4", "/ipv6", "management/address", "bgp/router_id")
"""Ends of paths whose value is an address, perhaps with its prefix length, or a word such as `dhcp`."""
_DIGIT = re.compile(r"\d")


class PackedDevice(NamedTuple):
    """A device as a worker sends it: its contents packed, and of them what the folder as a whole is looked at by."""

    key: str
    name: str
    system: str
    places: dict[str, tuple[str, int]]
    held: PackedContents
    placement: Placement
    understood: UnderstoodLines
    identity: Identity


def devices_of(key: str, parts: list[TextSection]) -> tuple[list[PackedDevice], set[str], list[Finding]]:
    """Return the devices of one name's texts, their paths, and the findings about the others."""
    findings: list[Finding] = []
    left, found = parts, []
    while (chosen := _choose_system(left)) is not None:
        system, texts = chosen
        left = [part for part in left if part not in texts.values()]
        found.append((system, texts))
    taken = {part.path for _, texts in found for part in texts.values()}
    outputs: list[list[tuple[TextSection, Output]]] = [[] for _ in found]
    for part in left:
        at = next((n for n, (_, texts) in enumerate(found) if _is_in_same_place(part, texts)), 0)
        output = _read_output(part.text, found[at][0] if found else None)
        if output is None:
            continue
        taken.add(part.path)
        if found:
            outputs[at].append((part, output))
        else:
            findings.append(
                Finding("FAB9505", f"{part.path} lists {key or 'a device'}, whose configuration is not here",
                        part.path, part.first, "alone", Severity.WARNING, "Add its running configuration.")
            )  # fmt: skip
    for part in left:
        if part.path not in taken:
            taken.add(part.path)
            findings.append(report_unknown(part.path, _explain_doubt(part)))
    known = taken - {finding.file for finding in findings if finding.code == "FAB9501"}
    devices = []
    for (system, texts), printed in zip(found, outputs, strict=True):
        device, wrong = _read_device(key, system, texts, printed)
        devices.append(device)
        findings += wrong
    return devices, known, findings


def _choose_system(parts: Sequence[TextSection]) -> tuple[str, dict[str, TextSection]] | None:
    """Return the system and files of a device: the text with the strongest evidence, and others of its system.

    None with too little evidence, or with the same evidence for two systems.
    """
    sure = [
        (weights[0], part) for part in parts if (weights := _system_weights(part)) and not _is_tied(weights)
    ]
    if not sure:
        return None
    (_, system), main = max(sure, key=lambda each: each[0][0])
    if main.matches[system].weight < LEAST:
        return None
    texts = {main.matches[system].file: main}
    for part in sorted(parts, key=lambda part: _part_folder(part) != _part_folder(main)):
        match = part.matches.get(system)
        if match and 2 * match.weight >= _system_weights(part)[0][0]:
            texts.setdefault(match.file, part)
    return system, texts


def _system_weights(part: TextSection) -> list[tuple[int, str]]:
    """Return the evidence for each system, the strongest first."""
    return sorted(((match.weight, system) for system, match in part.matches.items()), reverse=True)


def _is_tied(weights: Sequence[tuple[int, str]]) -> bool:
    return len(weights) > 1 and weights[0][0] == weights[1][0]


def _part_folder(part: TextSection) -> str:
    return part.path.rpartition("/")[0]


def _is_in_same_place(part: TextSection, texts: Mapping[str, TextSection]) -> bool:
    return any(_part_folder(part) == _part_folder(other) for other in texts.values())


def _explain_doubt(part: TextSection) -> str:
    """Return why a text belongs to no device."""
    if name := other_system(part.text):
        return f"it is a configuration of {name}, which fabricc does not read"
    weights = _system_weights(part)
    if weights and _is_tied(weights):
        return f"it may be of {weights[0][1]} or of {weights[1][1]}"
    return "it is not a configuration, LLDP or version output of a known system"


def _read_output(text: str, system: str | None) -> Output | None:
    """Return the content of an output as the device's own system reads it, else as any system does."""
    own = collected_systems().get(system or "")
    if own and (output := own.output(text)):
        return output
    if output := collected.read_getter(text, own.products if own else lambda box: (box,)):
        return output
    if neighbors := collected.parse_lldpd(text):
        return Output(neighbors=neighbors)
    return next(
        (output for one in collected_systems().values() if one is not own and (output := one.output(text))),
        None,
    )


def _read_device(
    key: str, system: str, texts: Mapping[str, TextSection], outputs: Sequence[tuple[TextSection, Output]]
) -> tuple[PackedDevice, list[Finding]]:
    """Return one device, read."""
    findings: list[Finding] = []
    files = {file: part.text for file, part in texts.items()}
    found = collected_systems().get(system)
    reading, ignorable = Reading(), frozenset[tuple[str, int]]()
    try:
        if found is None:
            reading = hosts.read(files)
        else:
            back_end = back_ends.load(system)
            reading = back_end.read(files)
            ignorable = back_end.ignorable(files, reading) if hasattr(back_end, "ignorable") else ignorable
    except Exception as error:
        path = next(iter(texts.values())).path
        findings.append(
            Finding("FAB9508", f"the reader of {system} failed on {path}: {type(error).__name__}", path, 1, "failed",
                    help="This is a defect of fabricc or of the back end: report it with the file.")
        )  # fmt: skip
    findings += _broken_files(reading, texts)
    identity = found.identity(files) if found else Identity()
    for _, output in outputs:
        identity = identity.or_else(output.identity)
    neighbors = tuple(
        Neighbor(seen.port, seen.device, seen.far_port, part.path, seen.line)
        for part, output in outputs
        for seen in output.neighbors
    )
    comments = found.COMMENTS if found else host_files.COMMENTS
    name = str(reading.facts.get("system/hostname") or identity.name or key)
    findings += _unended_texts(name, system, texts)
    parts = split_facts(reading)
    if any(_invalid_address_facts(parts)):
        reading = drop_invalid_addresses(reading, next(iter(files)))
        parts = split_facts(reading)
    return PackedDevice(
        key, name, system,
        {file: (part.path, part.first) for file, part in texts.items()},
        pack_contents(Contents(reading, ignorable), parts), place_statements(system, parts, neighbors),
        measure_understood(system, parts, reading.unknown, ignorable, sum(count_statements(text,
            comments) for text in files.values())),
        identity,
    ), findings  # fmt: skip


def _broken_files(reading: Reading, texts: Mapping[str, TextSection]) -> Iterator[Finding]:
    """Yield a finding for each file that its own system cannot parse, so it loads none of it."""
    for file, line, text in reading.unknown:
        if is_broken(text):
            path = texts[file].path
            yield Finding(
                "FAB9502", f"{path} is no valid YAML or JSON: its device does not load it, and it is not audited",
                path, line, "unread", Severity.WARNING, "Correct the text at this line.",
            )  # fmt: skip


def _unended_texts(name: str, system: str, texts: Mapping[str, TextSection]) -> Iterator[Finding]:
    """Yield texts, statements and blocks of configurations that nothing ends, as of a file that is cut off."""
    for file, part in texts.items():
        for each in unfit_lines(system, file, part.text):
            if each.is_misplaced or not each.is_command:
                group, message = f"open text {each.message}", f"{name}: {each.message}"
                yield Finding("FAB6051", message, part.path, each.line, group, Severity.WARNING, each.remedy)


def drop_invalid_addresses(reading: Reading, file: str) -> Reading:
    """A reading whose addresses are some: `10.0.0.999/31` is understood by nobody; without a line it is of `file`."""
    paths = list(reading.facts)
    wrong = [paths[at] for at in _invalid_address_facts(split_facts(reading))]
    if not wrong:
        return reading
    facts, lines, unknown = dict(reading.facts), dict(reading.lines), list(reading.unknown)
    for path in wrong:
        place, line = lines.pop(path, (file, 1))
        unknown.append((place, line, f"{path} {facts.pop(path)}"))
    return Reading(facts, lines, unknown)


def _invalid_address_facts(parts: Parts) -> Iterator[int]:
    """Yield the facts whose value is to be an address and is none."""
    return (
        at
        for at in _of_addresses(parts.frame)
        if address_of(text := str(parts.all[at])) is None and _DIGIT.search(text)
    )


@lru_cache(maxsize=KEPT)
def _of_addresses(frame: Frame) -> list[int]:
    return [at for at, path in enumerate(frame.paths) if path.endswith(_ADDRESSES)]


def count_statements(text: str, comments: str) -> int:
    """Count lines that are not empty, no comment and more than brackets."""
    lines = ((line.strip(" \t{}[],;"), times) for line, times in Counter(text.split("\n")).items())
    return sum(times for line, times in lines if line and line[0] not in comments)


_PROMPT = re.compile(
    r"^(?P<prompt>(?:\[[^\]\n]{1,64}\] ?)?[\w.@:~/()-]{0,80}[#>$%] ?|[-=*#]{3,80} *|)"
    r"(?P<command>(?:sudo )?"
    r"(?:show|sh|nv show|nv config|net show|lldpctl|lldpcli|vtysh|cat|ibdev2netdev|show_gids|mlnx_qos|cma_roce_tos)"
    r"(?: [^{;\n]*)?)$",
    re.MULTILINE,
)
"""A command as a terminal shows it, or as a heading over its output."""
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\n]\x08|\r| ?--More-- ?(?:\x08| )*")
_SIGNS = ("\x1b", "\r", "\x08", "--More--")
"""One of these is in whatever `_CONTROLS` takes out; to look for them costs nothing."""
_COMMANDS = ("show", "sh ", "nv config", "lldpc", "vtysh", "cat ", "ibdev2netdev", "mlnx_qos", "cma_roce_tos")
"""One of these is in whatever `_PROMPT` matches."""
_SILENT = ("mlnx_qos", "cma_roce_tos")
"""Commands whose output does not name its port: they stay above it."""
_BINARY = 4096


class Section(NamedTuple):
    """A text of a file from line `first` on; `text` has empty lines before it, so that lines keep their numbers."""

    first: int
    text: str


def text_of(content: bytes) -> str | None:
    """Return a file's text without what terminals add; None for a file that is not text."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content[:_BINARY]:
        return None
    else:
        text = content.removeprefix(codecs.BOM_UTF8).decode(errors="replace")
    return _CONTROLS.sub("", text) if any(sign in text for sign in _SIGNS) else text


def split_sections(text: str) -> tuple[Section, ...]:
    """Return the outputs of a file that shows their commands; else the file as one."""
    return tuple(each for each in _find_sections(text) if each.text.strip()) or (Section(1, text),)


def _find_sections(text: str) -> Iterator[Section]:
    matches = list(_PROMPT.finditer(text)) if any(word in text for word in _COMMANDS) else []
    if not matches:
        yield Section(1, text)
        return
    prompts = sorted(
        {re.escape(match["prompt"].rstrip()) for match in matches if match["prompt"].strip("-=*# >")}
    )
    ends = [match.start() for match in matches]
    if prompts:
        ends = sorted(
            {*ends, *(m.start() for m in re.finditer(rf"^(?:{'|'.join(prompts)})", text, re.MULTILINE))}
        )
    yield _make_section(text, 0, ends[0])
    for start, end in zip(ends, [*ends[1:], len(text)], strict=True):
        below = text.find("\n", start, end) + 1
        if below:
            named = any(word in text[start:below] for word in _SILENT)
            yield _make_section(text, start if named else below, end)


def _make_section(text: str, start: int, end: int) -> Section:
    above = text.count("\n", 0, start)
    return Section(above + 1, "\n" * above + text[start:end])


LEAST = 3
"""Score that a system needs before its texts count as a device."""
_LARGEST = 32 << 20  # bytes of a file


class TextSection(NamedTuple):
    """A text of a file, and what back ends take it for."""

    path: str
    first: int
    text: str
    matches: Mapping[str, FileMatch]


class Texts(Mapping[str, str]):
    """The texts of a device by the names of its back end, read on use; "" if a file disappeared.

    Only the last used text of all devices stays in memory.
    """

    __slots__ = ("_folder", "_places")
    _last: ClassVar[tuple[object, str, str]] = (None, "", "")

    def __init__(self, folder: Path, places: Mapping[str, tuple[str, int]]) -> None:
        """`places`: name -> path below the folder, and the line that the text begins at."""
        self._folder, self._places = folder, places

    def __getitem__(self, name: str) -> str:
        path, first = self._places[name]
        texts, last, text = Texts._last
        if texts is self and last == name:
            return text
        try:
            with Folder(self._folder) as folder:
                text = text_of(folder.read(path, limit=_LARGEST)) or ""
        except OSError:
            return ""
        text = next((each.text for each in split_sections(text) if each.first == first), "")
        Texts._last = self, name, text
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def collected_systems() -> Mapping[str, Collected]:
    """Return the knowledge about collected texts for each system whose back end has it."""
    found = {name: getattr(back_ends.load(name), "found", None) for name in back_ends.list_names()}
    return {name: one for name, one in found.items() if one is not None}


def texts_of(folder: Folder, paths: Sequence[str]) -> tuple[list[tuple[str, str]], list[Finding]]:
    """Return a device's files, path and text of each."""
    texts: list[tuple[str, str]] = []
    unread: list[Finding] = []
    for path in paths:
        try:
            text = text_of(folder.read(path, limit=_LARGEST))
        except OSError as error:
            unread.append(
                Finding(
                    "FAB9502", f"{path} is not read: {error.strerror}", path, 1, "unread", Severity.WARNING
                )
            )
            continue
        if text is None:
            unread.append(report_unknown(path, "it is not text"))
        elif conflict := conflict_in_output(text, path):
            line = conflict.position.line if conflict.position else 1
            unread.append(
                Finding(
                    "FAB0032",
                    f"{path} is not read: {conflict.message}",
                    path,
                    line,
                    "conflict",
                    Severity.ERROR,
                    conflict.help,
                )
            )
        else:
            texts.append((path, text))
    return texts, unread


def parts_in(texts: Iterable[tuple[str, str]]) -> list[TextSection]:
    """Return the texts of files with the systems that they match."""
    return [
        TextSection(path, each.first, each.text, _match_systems(path, each.text))
        for path, text in texts
        for each in split_sections(text)
    ]


_PROGRAM = re.compile(r"#! ?/\S*(?:/env +)?(?:python|perl|ruby|node|expect|tclsh)")
"""How a program begins, which can contain configurations of many devices."""
_PROSE = (".md", ".rst", ".adoc", ".html")
"""Ends of names of documents, which quote lines of configurations."""


def _match_systems(path: str, text: str) -> dict[str, FileMatch]:
    if path.endswith(_PROSE) or _PROGRAM.match(text) or other_system(text):
        return {}
    matches = {name: match for name, one in collected_systems().items() if (match := one.takes(path, text))}
    if file := host_files.host_path(path, text):
        matches[HOST] = FileMatch(file, LEAST - host_files.is_of_any_system(file))
    return matches


def report_unknown(path: str, why: str) -> Finding:
    """Report a file that no back end recognizes."""
    remedy = "Give running configurations as devices print them, or take the file out of the folder."
    return Finding(
        "FAB9501", f"{path} is not recognized: {why}", path, 1, "unknown", Severity.WARNING, remedy
    )
