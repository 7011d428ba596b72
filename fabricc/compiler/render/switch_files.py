"""A switch's files as they are written: rendered, with the user's templates and overlays; and what overlays state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.back.nos import templating
from fabricc.back.nos.overlay import OverlayError, merge_overlay, stated_lines
from fabricc.base.diagnostics import Position
from fabricc.proof import Finding
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.facts import Reading, Value
    from fabricc.fabric.model import Overlay, Switch

_TEMPLATE = "Repair the template, or remove it to use the built-in one of that name."


def render_switch(switch: Switch) -> dict[str, str]:
    """Return the switch's files: path below its folder -> text.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault; FAB2111, an overlay does not fit.
    """
    files = render_without_overlays(switch)
    for overlay in switch.overlays:
        files = _apply_overlay(files, overlay)
    return files


def render_without_overlays(switch: Switch) -> dict[str, str]:
    """Return the switch's files without overlays.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault.
    """
    return with_templates(switch.name, lambda: back_ends.load(switch.nos).render(switch))


def with_templates(name: str, work: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return the files of a device or subnet that some work renders from templates.

    Raises:
        EmitError: FAB7012, a template of the user's own is at fault, or reaches a limit.
    """
    try:
        return templating.render_bounded(work)
    except Exception as error:
        raise _in_words(error, name) from None


def overlay_departures(switch: Switch) -> dict[str, Value | None]:
    """Return the facts of lines that overlays take away -> what the files with all overlays state; None for nothing.

    Raises:
        EmitError: as `rendered`.
    """
    removing = [each for each in switch.overlays if each.removes]
    if not removing:
        return {}
    read = back_ends.load(switch.nos).read
    whole = files = render_without_overlays(switch)
    for overlay in removing:
        files = _apply_overlay(files, overlay)
    before, after, now = (
        _read_values(whole, read(whole)),
        _read_values(files, read(files)),
        read(render_switch(switch)).facts,
    )
    return {path: now.get(path) for path in {**before, **after} if before.get(path) != after.get(path)}


def _read_values(files: Mapping[str, str], reading: Reading) -> dict[str, tuple[Value, str]]:
    """Return path -> the value, and the line that defines it."""
    lines = {file: ("", *text.split("\n")) for file, text in files.items()}
    nowhere = ("", 0)
    places = ((path, value, reading.lines.get(path, nowhere)) for path, value in reading.facts.items())
    return {path: (value, lines[file][line] if file in lines else "") for path, value, (file, line) in places}


def _in_words(error: Exception, name: str) -> Exception:
    fault = templating.fault_of(error)
    if fault is None:
        return error
    message = f"{name} cannot be rendered: {fault.message}"
    return EmitError("FAB7012", message, _TEMPLATE, Position(fault.file, fault.line))


def _apply_overlay(files: dict[str, str], overlay: Overlay) -> dict[str, str]:
    try:
        return merge_overlay(files, overlay)
    except OverlayError as error:
        raise EmitError("FAB2111", error.message, error.remedy, Position(overlay.name, error.line)) from None


def overlay_lines(switch: Switch, files: Mapping[str, str]) -> tuple[list[Finding], set[tuple[str, int]]]:
    """FAB6005 for what the files lack of the switch's overlays, and (file, line) of what they have of them."""
    found: list[Finding] = []
    own: set[tuple[str, int]] = set()
    for overlay in switch.overlays:
        if overlay.removes:
            continue
        group = f"overlay {overlay.name}"
        try:
            into, lines, missing = stated_lines(files, overlay)
        except OverlayError as error:
            message = f"{switch.name}: the overlay {overlay.name} is not in it: {error.message}"
            found.append(Finding("FAB6005", message, "", group=group, help=error.remedy))
            continue
        own |= {(into, line) for line in lines}
        for near, text in missing:
            message = (
                f"{switch.name}: the line {text[:80]!r} of the overlay {overlay.name} is not in the file"
            )
            found.append(Finding("FAB6005", message, into, near, group))
    return found, own
