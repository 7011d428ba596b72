"""Print the output of `push`: waves, the switches' own diffs, outcomes and runs."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.diagnostics.wording import format_share, join_words, plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.operate.change.order_text import describe_kept_share, encode_wave, list_cuts
from fabricc.operate.push.start import Preview, format_duration
from fabricc.review.diff import view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.foreign.text import Rendered
    from fabricc.operate.push.canary_trial import Trials
    from fabricc.operate.push.journal import Run, State
    from fabricc.operate.push.options import Options
    from fabricc.operate.push.run import Outcome

    Runs = Sequence[tuple[Run, Mapping[str, tuple[State, str, str, int]]]]

_MEMBERS = 6
_SHOWN = 1000
"""Lines of one switch's own difference in text."""


def format_preview(found: Preview, options: Options) -> list[str]:
    """Return lines: the tree's digest, diffs of contacted switches, then the waves with the share that each keeps."""
    lines = [f"tree sha256 {found.digest}"]
    for name, one in found.initial_states.items():
        if one.diff:
            head = f"--- {name} ({one.effect.impact.label}) {one.effect.why}".rstrip()
            diff = one.diff.splitlines()
            lines += [head, *mask_diff("\n".join(diff[:_SHOWN])).split("\n")]
            if len(diff) > _SHOWN:
                lines.append(f"... and {len(diff) - _SHOWN:,} more lines; --format json has them all")
            lines.append("")
    if not found.effects:
        return [*lines, "Every switch runs the tree."]
    for number, wave in enumerate(found.waves, 1):
        drains = sum(1 for name in wave.members if found.effects[name].disruptive)
        words = [plural(len(wave.members), "switch")]
        words += ["canary"] if wave.canary else []
        words += [f"{drains} drained" if options.drain else f"{drains} not drained"] if drains else []
        words += list_cuts(wave)
        lines.append(f"wave {number}: {', '.join(words)}; {describe_kept_share(wave)}")
        lines.append(f"  {join_words(wave.members, _MEMBERS)}")
    lines.append(
        f"{plural(len(found.effects), 'switch')} in {plural(len(found.waves), 'wave')}, "
        f"keeping {format_share(options.keep)}; "
        f"about {format_duration(found.seconds)} ({found.basis})"
    )
    lines += _format_ways(found)
    for title, attribute in (("logins change", "access"), ("services and protections end", "weakened")):
        counts = Counter(each for effect in found.effects.values() for each in getattr(effect, attribute))
        lines += [f"{title}: {what} on {plural(count, 'switch')}" for what, count in sorted(counts.items())]
    lines += [*found.unwatched, *found.drained]
    if found.assumed:
        message = (
            "switches have no earlier push, so their change counts as disruptive; "
            "`--dry-run` reads their difference"
        )
        lines.append(f"{found.assumed} {message}")
    return lines


def _format_ways(found: Preview) -> list[str]:
    """Lines: how systems apply the changes, where that matters beyond the facts, and the switches of each way."""
    ways = group_pairs((effect.way, name) for name, effect in found.effects.items() if effect.way)
    return [f"{way}: {join_words(names, _MEMBERS)}" for way, names in ways.items()]


def encode_preview(found: Preview, options: Options, remarks: Sequence[Diagnostic]) -> Rendered:
    """Return the preview as JSON; `diff` is a switch's own, None where it was not contacted."""
    waves = found.waves if options.drain else [replace(wave, drained=()) for wave in found.waves]
    return json_document({
        "tree_sha256": found.digest,
        "switches": {
            name: {
                "impact": effect.impact.label, "why": effect.why, "drained": effect.disruptive and options.drain,
                "access": list(effect.access), "weakened": list(effect.weakened),
                **({"way": effect.way} if effect.way else {}),
                "diff": mask_diff(found.initial_states[name].diff) if name in found.initial_states else None,
            }
            for name, effect in found.effects.items()
        },
        "waves": [list(wave.members) for wave in found.waves],
        "order": list(map(encode_wave, waves)),
        "seconds": round(found.seconds),
        "findings": [finding_entry(one) for one in (*found.findings, *remarks)],
    })  # fmt: skip


def format_trials(found: Trials) -> list[str]:
    """Lines: what became of each kind of configuration."""
    lines = []
    for one in found.trials:
        if one.trouble:
            message = "not tried"
        elif one.refused:
            message = f"refuses {len(one.refused)} of {one.lines} lines"
        else:
            message = f"takes all {one.lines} lines"
        lines.append(f"{one.kind}: {one.canary} {message}")
    return lines


def encode_trials(found: Trials, digest: str, exit_status: int) -> Rendered:
    """Return the trials as JSON; `refused` is None where the switch could not be reached."""
    return json_document({
        "tree_sha256": digest, "exit_status": exit_status,
        "kinds": [
            {
                "model": one.kind.model, "nos": one.kind.nos, "release": one.kind.release, "tier": one.kind.tier,
                "switch": one.canary, "lines": one.lines, "refused": None if one.trouble else len(one.refused),
            }
            for one in found.trials
        ],
        "findings": [finding_entry(one) for one in found.findings],
    })  # fmt: skip


def mask_diff(diff: str) -> str:
    """Mask the secrets in a diff."""
    return "\n".join(view.mask_secrets(line) for line in diff.splitlines())


def format_outcome(found: Outcome) -> str:
    """Describe how a run ended, in a line."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(found.states.items()))
    return f"run {found.run}: {counts or 'nothing to do'}; tree sha256 {found.digest}"


def encode_outcome(found: Outcome, remarks: Sequence[Diagnostic]) -> Rendered:
    """Return the same for programs."""
    return json_document({
        "run": found.run, "tree_sha256": found.digest, "exit_status": found.exit_status,
        "states": dict(sorted(found.states.items())),
        "findings": [finding_entry(one) for one in (*remarks, *found.diagnostics)],
    })  # fmt: skip


def format_status(runs: Runs, *, whole: bool) -> list[str]:
    """Runs, a line each; with every switch when `whole`."""
    lines = []
    for run, states in runs:
        counts = Counter(state.value for state, *_ in states.values())
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.begun))
        ended = run.outcome or "not finished"
        words = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        lines.append(f"run {run.id}  {when}  {run.kind}  {ended}: {words}; tree sha256 {run.digest}")
        if not whole and run.ended is not None:
            continue
        for name, (state, intent, detail, wave) in states.items():
            about = f", about to {intent}" if intent else ""
            lines.append(f"  {name}  wave {wave}  {state.value}{about}{'  ' + detail if detail else ''}")
    return lines


def encode_status(runs: Runs) -> Rendered:
    """Return the same for programs, every switch of every run."""
    return json_document({
        "runs": [
            {
                "run": run.id, "kind": run.kind, "begun": _format_utc(run.begun),
                "ended": None if run.ended is None else _format_utc(run.ended), "outcome": run.outcome,
                "tree_sha256": run.digest,
                "switches": {
                    name: {"state": state.value, "intent": intent, "detail": detail, "wave": wave}
                    for name, (state, intent, detail, wave) in states.items()
                },
            }
            for run, states in runs
        ]
    })  # fmt: skip


def _format_utc(seconds: float) -> str:
    """Return a time as ISO 8601 has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
