"""Compare a running configuration with the tree: their facts, and lines without a statement.

Findings quote the lines of the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Position, Severity
from fabricc.base.values import dataclass
from fabricc.facts.frame import PORT
from fabricc.facts.paths import first_key, list_leaf
from fabricc.operate.devices import running
from fabricc.operate.devices.secrets import secret_names_in
from fabricc.operate.verify.model import Aspect, Deviation, make_finding
from fabricc.proof.compare import compare as compare_facts
from fabricc.review.diff.unread import ENDED, REORDERED, TEXT, text_changes, unread_lines

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading

Files = Mapping[str, str]
LOSSLESS = ("qos/", "watchdog/", "pool/", "trimming/", "link_retry")
"""Prefixes of the facts of the lossless policy."""
_OF_PORTS = ("trust", "pfc", "watchdog", "headroom/", "queue[")
"""Prefixes of these facts below a port."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences between a running configuration and the tree.

    Attributes:
        counts: aspect -> how many facts were compared.
        unknown_lines: number of running lines that no reader knows.
        untold: files of the tree that the device does not return.
        facts: of the running configuration.
    """

    found: list[Deviation]
    counts: dict[Aspect, int]
    unknown_lines: int
    unreported: tuple[str, ...]
    facts: Mapping[str, object]


def compare_drift(
    device: str,
    nos: str,
    tree: Path,
    ours: Files,
    theirs: Files,
    aspects: Collection[Aspect],
    found_secrets: Collection[str] = (),
) -> Drift:
    """Compare the facts of the files that the device returned.

    `found_secrets` are the names of secrets whose values `theirs` has references for.
    """
    planned = running.read_facts(nos, {name: text for name, text in ours.items() if name in theirs})
    live = running.read_facts(nos, theirs)
    counts = dict.fromkeys((one for one in (Aspect.QOS, Aspect.CONFIG) if one in aspects), 0)
    for path in planned.facts:
        if (aspect := _aspect_of_path(path)) in counts and not running.is_secret(nos, path):
            counts[aspect] += 1
    findings = []
    for path, runs, ours_is, file, line in compare_facts(live.facts, planned):
        aspect = _aspect_of_path(path)
        if aspect not in counts:
            continue
        if running.is_secret(nos, path) and ours_is is not None:
            readable = secret_names_in(str(ours_is)) <= {*found_secrets}
            if not running.secrets_differ(nos, path, runs, ours_is, readable=readable):
                continue
        position = Position(f"{tree}/switches/{device}/{file}", line) if line else None
        if runs is None:
            code, message = "FAB9252", f"{path} = {ours_is} is not running"
        elif ours_is is None:
            code, message = "FAB9253", f"{path} = {runs} runs and is not in the tree"
        else:
            code, message = "FAB9251", f"{path} runs {runs}, the tree has {ours_is}"
        findings.append(make_finding(aspect, device, code, message, position=position))
    if Aspect.CONFIG in aspects:
        findings += _compare_unread(device, nos, (ours, planned), (theirs, live))
    untold = tuple(sorted(ours.keys() - theirs.keys()))
    return Drift(findings, counts, len(live.unknown), untold, live.facts)


def _compare_unread(
    device: str, nos: str, planned: tuple[Files, Reading], running: tuple[Files, Reading]
) -> Iterator[Deviation]:
    """Yield the lines without a statement that only one side has.

    A device prints lines of its own, so that a further line is an error only if it ends a service or protection.
    """
    files = {name: text for name, text in planned[0].items() if name in running[0]}
    for every in (True, False):
        texts = (unread_lines(nos, *side, ignored=every) for side in ((files, planned[1]), running))
        for subject, before, after in text_changes(nos, *texts):
            if every and subject.startswith(ENDED) and after:
                name = first_key(subject)
                yield make_finding(Aspect.CONFIG, device, "FAB9253", f"a line that ends {name} runs: {after}")
            elif every and before:
                message = f"lines of the tree are not running: {before}"
                yield make_finding(Aspect.CONFIG, device, "FAB9252", message)
            elif not every and subject == TEXT and after and not after.startswith(REORDERED):
                message = f"lines that fabricc does not interpret run and are not in the tree: {after}"
                yield make_finding(Aspect.CONFIG, device, "FAB9254", message, severity=Severity.WARNING)


@lru_cache(1 << 14)
def _aspect_of_path(path: str) -> Aspect:
    below = list_leaf(path) if path.startswith(PORT) else ""
    return Aspect.QOS if path.startswith(LOSSLESS) or below.startswith(_OF_PORTS) else Aspect.CONFIG
