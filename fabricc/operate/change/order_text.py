"""Render waves: one text form and one JSON form for all verbs that order changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import format_share, join_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.operate.change.order import Wave

_SHOWN = 12


def describe_kept_share(wave: Wave) -> str:
    """Describe the share that a wave keeps."""
    kept = f"keeps {format_share(wave.kept)} of {wave.at}" if wave.at else "keeps every path"
    return kept if wave.risked == wave.kept else f"{kept} ({format_share(wave.risked)} if all of it failed)"


def describe_wave(number: int, wave: Wave, most: int) -> str:
    """Describe a wave: its number, at most so many of its switches, the drains, and the share that it keeps."""
    canary = " (canary)" if wave.canary else ""
    return f"{number}{canary}: {join_words(wave.members, most)}; {describe_drains(wave)}{describe_kept_share(wave)}"


def describe_drains(wave: Wave) -> str:
    """Describe which switches are drained, and which hosts jobs must leave; "" where none are."""
    words = []
    if wave.drained:
        count = len(wave.drained)
        words.append("each drained" if wave.drained == wave.members else f"{count} drained")
    if wave.cut:
        words.append(f"jobs must leave {join_words(wave.cut, 2)}")
    return "".join(f"{each}, " for each in words)


def wave_json(wave: Wave) -> dict[str, Any]:
    """Return a wave as JSON; `kept` is the share of `at`, `risked` the share if all of the wave failed."""
    return {
        "switches": list(wave.members),
        "canary": wave.canary,
        "kept": float(wave.kept),
        "at": wave.at,
        "risked": float(wave.risked),
        "drained": list(wave.drained),
        "hosts_to_leave": list(wave.cut),
    }


def list_wave_notes(code: str, waves: Sequence[Wave]) -> Iterator[Diagnostic]:
    """Yield a note for each of the first waves of a plan that would work."""
    for number, wave in enumerate(waves[:_SHOWN], 1):
        yield Diagnostic(code, Severity.NOTE, f"wave {describe_wave(number, wave, 4)}", None, "")
    if len(waves) > _SHOWN:
        yield Diagnostic(code, Severity.NOTE, f"and {len(waves) - _SHOWN} more waves", None, "")
