"""Render waves and reviews: one text form and one JSON form for all verbs that order changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import format_share, join_words, plural
from fabricc.review.diff.wording import drain_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.operate.change.order import Wave
    from fabricc.review.diff.model import Review

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
    """Describe which switches are drained, and which hosts or outside parties are cut off; "" where none are."""
    words = []
    if wave.drained:
        count = len(wave.drained)
        words.append("each drained" if wave.drained == wave.members else f"{count} drained")
    return "".join(f"{each}, " for each in [*words, *list_cuts(wave)])


def list_cuts(wave: Wave) -> Iterator[str]:
    """Yield which hosts and which links to outside parties are cut off during a wave."""
    if wave.cut:
        yield f"jobs must leave {join_words(wave.cut, 2)}"
    if wave.unreachable:
        yield f"all {join_words(wave.unreachable, 2)} are down"
    if parted := describe_parted(wave):
        yield parted


def describe_parted(wave: Wave) -> str:
    """Describe the hosts that have no plane in common with others during a wave; "" where there are none."""
    if not wave.parted:
        return ""
    return f"hosts behind it lose {join_words(wave.parted, 2)}, the only plane in common"


def encode_wave(wave: Wave) -> dict[str, Any]:
    """Return a wave as JSON; `kept` is the share of `at`, `risked` the share if all of the wave failed."""
    return {
        "switches": list(wave.members),
        "canary": wave.canary,
        "kept": float(wave.kept),
        "at": wave.at,
        "risked": float(wave.risked),
        "drained": list(wave.drained),
        "hosts_to_leave": list(wave.cut),
        "outside_cut": list(wave.unreachable),
        "no_common_plane": list(wave.parted),
    }


def describe_review(review: Review) -> Iterator[str]:
    """Yield the verdict of a review and its findings, a line each."""
    devices = sum(len(group.devices) for group in review.groups)
    yield f"{plural(devices, 'device')}, {review.impact.label}, {review.risk} risk"
    yield from (f"  {each.severity} {each.code} {each.message}" for each in _list_findings(review))


def _list_findings(review: Review) -> list[Diagnostic]:
    """Return the errors and warnings that only the newer side has, as `diff` lists them."""
    return [each for each in review.findings if each.severity is not Severity.NOTE]


def encode_review(review: Review) -> dict[str, Any]:
    """Return the verdict of a review as JSON."""
    return {
        "impact": review.impact.label,
        "risk": review.risk,
        "devices": [device for group in review.groups for device in group.devices],
        "gpus": review.gpus_affected,
        "gpus_at_a_time": review.gpus_per_step,
        "sessions": review.sessions,
        "drain": drain_steps(review),
        "access": sorted(review.access_changes),
        "weakened": sorted(review.safeguards_lost),
        "findings": [{"code": each.code, "message": each.message} for each in _list_findings(review)],
    }


def list_wave_notes(code: str, waves: Sequence[Wave]) -> Iterator[Diagnostic]:
    """Yield a note for each of the first waves of a plan that would work."""
    for number, wave in enumerate(waves[:_SHOWN], 1):
        yield Diagnostic(code, Severity.NOTE, f"wave {describe_wave(number, wave, 4)}", None, "")
    if len(waves) > _SHOWN:
        yield Diagnostic(code, Severity.NOTE, f"and {len(waves) - _SHOWN} more waves", None, "")
