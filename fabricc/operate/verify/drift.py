"""Compare the facts of a running configuration with those of the tree, and quote the lines of the tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import Path

from fabricc.base.diagnostics import Position
from fabricc.base.values import dataclass
from fabricc.operate.devices import running
from fabricc.operate.verify.model import Aspect, Found, make_finding
from fabricc.proof.compare import compare as compare_facts

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

    found: list[Found]
    counts: dict[Aspect, int]
    unknown_lines: int
    untold: tuple[str, ...]
    facts: Mapping[str, object]


def compare_drift(
    device: str, nos: str, tree: Path, ours: Files, theirs: Files, aspects: Collection[Aspect]
) -> Drift:
    """Compare the facts of the files that the device returned."""
    planned = running.read_facts(nos, {name: text for name, text in ours.items() if name in theirs})
    live = running.read_facts(nos, theirs)
    counts = dict.fromkeys((one for one in (Aspect.QOS, Aspect.CONFIG) if one in aspects), 0)
    for path in planned.facts:
        if (aspect := _aspect_of_path(path)) in counts and not running.is_secret(nos, path):
            counts[aspect] += 1
    findings = []
    for path, runs, ours_is, file, line in compare_facts(live.facts, planned):
        aspect = _aspect_of_path(path)
        if aspect not in counts or running.is_secret(nos, path):
            continue
        position = Position(f"{tree}/switches/{device}/{file}", line) if line else None
        if runs is None:
            code, message = "FAB9252", f"{path} = {ours_is} is not running"
        elif ours_is is None:
            code, message = "FAB9253", f"{path} = {runs} runs and is not in the tree"
        else:
            code, message = "FAB9251", f"{path} runs {runs}, the tree has {ours_is}"
        findings.append(make_finding(aspect, device, code, message, position=position))
    untold = tuple(sorted(ours.keys() - theirs.keys()))
    return Drift(findings, counts, len(live.unknown), untold, live.facts)


@lru_cache(1 << 14)
def _aspect_of_path(path: str) -> Aspect:
    below = path.partition("]/")[2] if path.startswith("interface[") else ""
    return Aspect.QOS if path.startswith(LOSSLESS) or below.startswith(_OF_PORTS) else Aspect.CONFIG
