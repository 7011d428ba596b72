"""Run `fabricc upgrade`: plan the spec with another release, compare, and print it as text or JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.formats import finding_entry
from fabricc.base.diagnostics.wording import format_share_option, plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.shell import shell_path, shell_word
from fabricc.base.foreign.text import Line, Part, Rendered
from fabricc.base.numbers import group_pairs
from fabricc.base.values import replace
from fabricc.cli import output
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.recheck import find_obstacles
from fabricc.compiler.result import exit_status
from fabricc.front.spec.document import format_path
from fabricc.operate.change.order_text import describe_review, describe_wave, encode_review, encode_wave
from fabricc.operate.push.image_step import ImageKey
from fabricc.operate.upgrade import Release, Upgrade, UpgradeRequest, prepare_upgrade
from fabricc.review.diff.phrases import theme_phrases
from fabricc.review.diff.unread import list_unread_text
from fabricc.review.diff.wording import group_title

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabricc.fabric.vocabulary import Gap
    from fabricc.review.diff.model import Group


_INSTEAD = "Switches of InfiniBand have no configuration: upgrade their firmware with the maker's tools."
"""What does the job for InfiniBand."""


def run_upgrade(spec: Path, to: str, since: str | None, format_: str, **request: Any) -> int:
    """Plan and report; return the exit status. Keyword arguments have the names of the command's parameters."""
    compiled = compile_ethernet(spec, _INSTEAD)
    proof = find_obstacles(compiled)
    if exit_status(proof):
        output.print_findings(proof, format_, compiled.sources)
        return exit_status(proof)
    wanted = UpgradeRequest(Release.of(to), Release.of(since) if since else None, **request)
    with output.progress() as bars:
        found = prepare_upgrade(compiled, wanted, bars or (lambda *_: None))
    found = replace(found, findings=(*proof, *list_unread_text(compiled), *found.findings))
    if format_ == "json":
        output.print_document(as_json(found, str(spec)))
    else:
        output.print_parts(render_upgrade(found, str(spec)))
        output.print_findings(found.findings, "text", {})
    return exit_status(found.findings)


FORMAT = 1
_SHOWN = 6


def render_upgrade(found: Upgrade, spec: str) -> Iterator[Part]:
    """Render the upgrade as lines; `spec` is the spec's name, for commands."""
    left = Counter(taker.release for taker in found.targets)
    message = ", ".join(
        f"{count:,} run {found.request.to.nos}-{release}" for release, count in sorted(left.items())
    )
    yield Line(
        f"{found.cluster}: {plural(len(found.targets), 'switch')} to {found.request.to} ({message})", "bold"
    )
    yield from _render_features(found)
    yield from _render_configurations(found)
    for network, waves in found.waves.items():
        yield from (Line(), Line(f"{network + ': ' if network else ''}order", "bold"))
        for number, wave in enumerate(waves, 1):
            yield Line(f"  {describe_wave(number, wave, _SHOWN)}")
    yield from (Line(), Line("images", "bold"))
    yield from map(Line, _render_images(found))
    yield from (Line(), Line("return", "bold"))
    yield from map(Line, _render_return(found))
    yield from (Line(), Line("steps", "bold"))
    yield from (Line(f"  {number}. {step}") for number, step in enumerate(list_steps(found, spec), 1))


def _render_features(found: Upgrade) -> Iterator[Line]:
    if found.features:
        yield from (Line(), Line("features and gaps of the release", "bold"))
    for feature in found.features:
        yield Line(f"  {'+' if feature.comes else '-'} {feature.name}: {feature.words}; {feature.source}")
    for sign, gaps in (("!", found.gaps), ("✓", found.closed)):
        for gap in gaps:
            word = "new" if sign == "!" else "no longer"
            yield Line(
                f"  {word}: {gap.code} {gap.feature}: {gap.reason}", "yellow" if sign == "!" else "green"
            )
            if gap.source:
                yield Line(f"    source: {gap.source}")


def group_by_cause(found: Upgrade) -> Iterator[tuple[str, Group]]:
    """Split each group of the review by the feature that causes its statements; "" for the release itself."""
    settings = {each.setting: each.name for each in found.features if each.setting}
    for group in found.review.groups:
        subjects = [(line, line.statement.subject) for line in group.lines]
        of = group_pairs(
            (next((name for key, name in settings.items() if subject.startswith(key)), ""), line)
            for line, subject in subjects
        )
        for cause, lines in of.items():
            yield cause, replace(group, lines=tuple(lines))


def _render_configurations(found: Upgrade) -> Iterator[Line]:
    yield from (Line(), Line("configuration", "bold"))
    yield from (Line(f"  {each}") for each in describe_review(found.review))
    if not found.review.groups:
        yield Line("  every file stays as it is")
    for cause, group in group_by_cause(found):
        yield Line(f"  {cause or 'the release'}: {group_title(group, found.review)}")
        for phrase in theme_phrases(group):
            yield Line(f"    {phrase.theme}: {phrase.text}")
        if not cause:
            for file in group.files:
                yield Line(f"    {file.path} of {group.devices[0]} (+{file.added} -{file.removed})", "dim")


def _render_images(found: Upgrade) -> Iterator[str]:
    if found.request.images is None:
        yield "  no table is given (--images), so the hook must select its own files"
    for model in dict.fromkeys(taker.model for taker in found.targets) if found.request.images else ():
        image = found.images.of(ImageKey(*found.request.to, model))
        if image is not None:
            state = "its checksum is right" if image.present else "not here, so not checked"
            yield f"  {model}: {image.file}, sha256 {image.sha256}, {state}"
    for each in found.image_steps:
        note = " (assumed: no manual of the maker was found)" if "check" in each.assumed else ""
        yield f"  on the switch: {each.check}{note}"
        yield f"  for the hook: {'; '.join(each.install) or 'the release that runs has no command for it'}"


def _render_return(found: Upgrade) -> Iterator[str]:
    for each in found.image_steps:
        yield f"  {'; '.join(each.back) or 'the new release has no command for it: install the former image again'}"
        yield from (f"  {limit}" for limit in each.limits)
        yield from (f"  {source}" for source in each.sources)
    yield from (f"  {line}" for line in found.returns)


def list_steps(found: Upgrade, spec: str) -> list[str]:
    """Return the steps in order."""
    only = "".join(f" --only {shell_word(name)}" for name in found.request.only)
    images = f" --images {shell_path(found.request.images)}" if found.request.images else ""
    words = ", ".join(f"{format_path(path)}: {value}" for path, value in found.words.items())
    tree = shell_path(f"build/{found.cluster}")
    push = f"fabricc push {tree} --hook HOOK{images} --keep {format_share_option(found.request.keep)}{only}"
    if found.request.most:
        push += f" --wave-size {found.request.most}"
    return [
        f"in {spec}: {words}",
        f"fabricc build {shell_path(spec)}",
        f"{push} --plan",
        push,
        f"on the way back: `fabricc push {tree} --hook HOOK --rollback RUN`, then the spec of before",
    ]


def _encode_gap(gap: Gap) -> dict[str, Any]:
    reason = f"{gap.reason} ({gap.source})" if gap.source else gap.reason
    return {
        "code": gap.code, "feature": gap.feature, "reason": reason, "remedy": gap.remedy, "fatal": gap.fatal,
    }  # fmt: skip


def as_json(found: Upgrade, spec: str) -> Rendered:
    """Return the upgrade as JSON."""
    answer: dict[str, Any] = {
        "format": FORMAT,
        "cluster": found.cluster,
        "to": str(found.request.to),
        "switches": [taker._asdict() for taker in found.targets],
        "features": [feature._asdict() for feature in found.features],
        "gaps": [_encode_gap(gap) for gap in found.gaps],
        "gaps_closed": [_encode_gap(gap) for gap in found.closed],
        "impact": found.review.impact.label,
        "review": encode_review(found.review),
        "changes": [
            {
                "cause": cause,
                "devices": list(group.devices),
                "impact": group.impact.label,
                "statements": [phrase.text for phrase in theme_phrases(group)],
                "files": [
                    {"path": file.path, "added": file.added, "removed": file.removed} for file in group.files
                ],
            }
            for cause, group in group_by_cause(found)
        ],
        "waves": {
            network or "compute": list(map(encode_wave, waves))
            for network, waves in found.waves.items()
            if waves
        },
        "images": {
            model: image._asdict() if (image := found.images.of(ImageKey(*found.request.to, model))) else None
            for model in dict.fromkeys(taker.model for taker in found.targets)
        },
        "image_step": [each._asdict() for each in found.image_steps],
        "return": list(found.returns),
        "words": {format_path(path): value for path, value in found.words.items()},
        "written": [str(path) for path in found.written],
        "steps": list_steps(found, spec),
        "findings": [finding_entry(one) for one in found.findings],
    }
    return json_document(answer)
