"""One device's files against its plan: what differs, each finding at the line that is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.rendering import overlay_lines, rendered
from fabricc.proof import compare, findings
from fabricc.proof.placing import Text, placed
from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, Switch
    from fabricc.proof import Finding

    Reader = Callable[[Mapping[str, str]], Reading]


def switch_findings(
    switch: Switch, found: Text, *, fresh: bool = True, altered: bool = False
) -> Iterator[Finding]:
    """What is wrong with a switch's files; overlays may add lines and facts, and change none that is planned.

    Args:
        switch: what is planned.
        found: its files.
        fresh: False when they were rendered just now by the same templates, so that there is no line to blame.
        altered: whether they were changed after they were written, so that every line counts; see `placed`.
    """
    back_end = back_ends.load(switch.nos)
    own: set[tuple[str, int]] = set()
    if switch.overlays:
        missing, own = overlay_lines(switch, found.files)
        yield from missing

    def expected() -> Text | None:
        try:
            files = rendered(switch)
        except EmitError:  # a template of the user's own that fails, or an overlay that no longer fits
            return None
        return Text(files, back_end.read(files))

    planned = back_end.planned(switch)
    reader = back_end.read if altered else None
    yield from _findings(switch.name, planned, found, expected if fresh else None, reader, own)


def host_findings(host: Host, found: Text, *, fresh: bool = True, altered: bool = False) -> Iterator[Finding]:
    """What is wrong with a host's files; arguments as those of `switch_findings`."""

    def expected() -> Text:
        files = host_files.render(host)
        return Text(files, host_files.read(files))

    planned = host_files.planned(host)
    reader = host_files.read if altered else None
    yield from _findings(host.name, planned, found, expected if fresh else None, reader, ())


def _findings(
    device: str,
    planned: Facts,
    found: Text,
    expected: Callable[[], Text | None] | None,
    reader: Reader | None,
    own: Collection[tuple[str, int]],
) -> Iterator[Finding]:
    """The findings; `own`: (file, line) that may state what is not planned."""
    mismatches, unknown = compare(planned, found.reading), found.reading.unknown
    if own:
        mismatches = [
            each for each in mismatches if each.planned is not None or (each.file, each.line) not in own
        ]
        unknown = [each for each in unknown if each[:2] not in own]
    text = expected() if expected and (mismatches or unknown or reader) else None
    if text is None:
        return findings(device, mismatches, unknown)
    return placed(device, mismatches, unknown, text, found, reader)
