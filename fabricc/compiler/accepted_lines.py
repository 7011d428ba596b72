"""The ledger of accepted lines: forms by model, system and release, stored in `accepted.yaml` next to the spec.

Its entries can add warnings only: a build with it writes the same files as a build without it.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.documents.schema import breaches
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.model import SECRET_PREFIX, Switch
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric

NAME = "accepted.yaml"
_HEADER = "# Lines that devices took or refused, by form; of `fabricc push TREE --try --record`, for `fabricc build`.\n"
_LARGEST = 4 << 20  # bytes
_LONGEST = 1000
_TOKEN = re.compile(r"[^\s\"',;{}\[\]()|=]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_KEY = re.compile(r"AAAA[A-Za-z0-9+/=]{16,}")
_SECRET = re.compile(re.escape(SECRET_PREFIX) + r"\S+")
_MAC = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}", re.IGNORECASE)

Platform = tuple[str, str, str]
"""Model, operating system and release."""


@dataclass(frozen=True, slots=True)
class TriedLines:
    """The lines of one version that devices of one platform accepted or refused.

    Attributes:
        accepted: forms that a device accepted; `refused`: form -> the error message of a device that refused it.
    """

    platform: Platform
    version: str
    accepted: frozenset[str]
    refused: Mapping[str, str]


def line_form(line: str, names: Collection[str] = ()) -> str:
    """A line with placeholders for names, numbers, addresses, keys and secrets: lines of one form become equal."""
    text = _TOKEN.sub(lambda found: _word_placeholder(found[0], names), " ".join(line.split()))[:_LONGEST]
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


def _word_placeholder(word: str, names: Collection[str]) -> str:
    bare = word.rstrip(":")
    end = word[len(bare) :]
    if bare in names:
        return f"<name>{end}"
    if _SECRET.fullmatch(word):
        return "<secret>"
    if _KEY.fullmatch(word):
        return "<key>"
    if _is_address(bare):
        return f"<address>{end}"
    parts = ["<name>" if part in names else _NUMBER.sub("<number>", part) for part in word.split(":")]
    return ":".join(parts)


def _is_address(word: str) -> bool:
    if not (word.count(".") == 3 or word.count(":") > 1 or _MAC.fullmatch(word)):
        return False
    try:
        ipaddress.ip_interface(word)
    except ValueError:
        return _MAC.fullmatch(word) is not None
    return True


def names_of(switch: Switch) -> frozenset[str]:
    """Return the names that occur in the lines of a switch: its own, those of its neighbors and of its accounts."""
    peers = (port.peer.device for port in switch.ports if port.peer)
    return frozenset([switch.name, *peers, *(user.name for user in switch.management.users)])


def forms_of(switch: Switch, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the forms of a switch's lines, each with the first line that has it."""
    names = names_of(switch)
    found: dict[str, str] = {}
    for file in sorted(texts):
        for line in texts[file].splitlines():
            if text := line_form(line, names):
                found.setdefault(text, line)
    return found


def platform_of(switch: Switch) -> Platform:
    """Return the platform of a switch."""
    return switch.model.name, switch.nos, switch.release


def read_ledger(path: Path) -> tuple[tuple[TriedLines, ...], tuple[Diagnostic, ...]]:
    """Read a ledger (empty where there is none), with FAB9047 for its problems."""
    try:
        raw = files.read(path, limit=_LARGEST)
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        return (), (_ledger_error(f"cannot read {path}: {error.strerror}", Position(str(path), 1)),)
    document = parse_yaml(raw, str(path))
    if not document.usable or document.diagnostics:
        reason = "; ".join(one.message for one in document.diagnostics[:1]) or "no YAML"
        return (), (_ledger_error(f"{path} is not a ledger: {reason}", Position(str(path), 1)),)
    breach = next(breaches(document.value, "accepted"), None)
    if breach is not None:
        at = document.key_position(tuple(breach.absolute_path))
        return (), (_ledger_error(f"{path} is not a ledger: {breach.message[:200]}", at),)
    return tuple(
        TriedLines(
            (one["model"], one["nos"], one["release"]),
            one["fabricc"],
            frozenset(one["accepted"]),
            {each["form"]: each["words"] for each in one["refused"]},
        )
        for one in document.value["tried"]
    ), ()


def _ledger_error(message: str, at: Position) -> Diagnostic:
    return Diagnostic(
        "FAB9047", Severity.WARNING, message, at, "Create it again with `fabricc push TREE --try --record`."
    )


def merge_ledgers(recorded: Iterable[TriedLines], fresh: Iterable[TriedLines]) -> tuple[TriedLines, ...]:
    """Merge two ledgers, sorted; the new result replaces the old one for the same form."""
    found: dict[tuple[Platform, str], TriedLines] = {}
    for one in (*recorded, *fresh):
        old = found.get((one.platform, one.version), one)
        refused = {name: words for name, words in old.refused.items() if name not in one.accepted} | dict(
            one.refused
        )
        accepted = (old.accepted | one.accepted) - refused.keys()
        found[one.platform, one.version] = TriedLines(one.platform, one.version, accepted, refused)
    return tuple(found[key] for key in sorted(found))


def ledger_bytes(tried: Sequence[TriedLines]) -> bytes:
    """Return a ledger as bytes: the same for the same content, whoever wrote it."""
    rows = [
        {
            **dict(zip(("model", "nos", "release"), one.platform, strict=True)),
            "fabricc": one.version,
            "accepted": sorted(one.accepted),
            "refused": [{"form": name, "words": one.refused[name]} for name in sorted(one.refused)],
        }
        for one in tried
    ]
    content = yaml.safe_dump({"version": 1, "tried": rows}, sort_keys=False, width=1 << 16)
    return f"{_HEADER}{content}".encode()


def record_trial(switch: Switch, texts: Mapping[str, str], refused: Mapping[str, str]) -> TriedLines:
    """Return the result of one switch: all lines accepted, or some refused and the rest unknown."""
    names = names_of(switch)
    words = {line_form(line, names): line_form(answer, names) for line, answer in refused.items()}
    accepted = frozenset() if refused else frozenset(forms_of(switch, texts))
    return TriedLines(platform_of(switch), __version__, accepted, words)


def unaccepted_warnings(fabric: Fabric, tried: Iterable[TriedLines]) -> Iterator[Diagnostic]:
    """FAB9046 for each platform with forms of lines that no device of it has accepted.

    The first switch of each tier and platform is looked at, and every one with lines of the user's own.
    """
    accepted: dict[Platform, set[str]] = {}
    refused: dict[Platform, dict[str, str]] = {}
    for one in tried:
        accepted.setdefault(one.platform, set()).update(one.accepted)
        refused.setdefault(one.platform, {}).update(one.refused)
    for platform, forms in sorted(_collect_forms(fabric).items()):
        taken = accepted.get(platform, set())
        new = sorted(name for name in forms if name not in taken)
        if not new:
            continue
        answers = refused.get(platform, {})
        worst = next((name for name in new if name in answers), new[0])
        message = f", which one refused: {answers[worst]}" if worst in answers else ""
        yield Diagnostic(
            "FAB9046",
            Severity.WARNING,
            f"no device has accepted {plural(len(new), 'kind')} of line of {' '.join(platform).strip()}, "
            f"such as {forms[worst].strip()!r}{message}",
            None,
            "Test them on a device: `fabricc push TREE --try --record`.",
        )


def never_accepted(spec: Path, ledger: Path) -> Sequence[Diagnostic]:
    """Return the warnings of a ledger about a spec, or the problems of the ledger itself."""
    tried, wrong = read_ledger(ledger)
    fabric = compile_spec(spec, gaps=False).planned if not wrong else None
    return tuple(unaccepted_warnings(fabric, tried)) if fabric is not None else wrong


def _collect_forms(fabric: Fabric) -> dict[Platform, dict[str, str]]:
    """Platform -> form -> a line of it, of the switches that are looked at."""
    found: dict[Platform, dict[str, str]] = {}
    for network in fabric.networks:
        for platform, forms in _collect_forms(network).items():
            found.setdefault(platform, {}).update(forms)
    seen: set[tuple[str, str]] = set()
    apart = {*fabric.changes, *(name for each in fabric.overlays for name in each.devices)}
    for at in fabric.switch_ids():
        kind = (at.tier.value, fabric.tiers[at.tier].nos)
        if kind in seen and fabric.name(at) not in apart:
            continue
        seen.add(kind)
        switch = fabric.switch(at)
        found.setdefault(platform_of(switch), {}).update(forms_of(switch, render_switch(switch)))
    return found
