"""YAML text to a `Document`: decoding, parsing and what to say when either fails."""

from __future__ import annotations

import re

import yaml

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.front.spec.document import Document, clip
from fabricc.front.spec.yaml_composer import Composer, Stop
from fabricc.front.spec.yaml_errors import syntax_diagnostic
from fabricc.front.spec.yaml_scalars import FORBIDDEN

try:
    from yaml import CLoader as EventLoader
except ImportError:
    from yaml import Loader as EventLoader  # type: ignore[assignment]

MAX_BYTES = 16 * 1024 * 1024


def parse_yaml(source: bytes | str, file: str) -> Document:
    """Read one YAML document.

    Never raises: whatever is wrong is among the diagnostics. Scalars follow the YAML 1.2 core schema,
    narrowed: `null`, `~`, `true` and `false` in lower case, decimal numbers without leading zeros, finite
    floats; the rest is text. Aliases are shared values and may expand to 10,000 values at most.
    """
    text = _decode(source, file)
    if isinstance(text, Diagnostic):
        return Document(file, None, diagnostics=(text,), usable=False)
    composer = Composer(file)
    usable = True
    try:
        for event in yaml.parse(text, Loader=EventLoader):
            composer.feed(event)
    except Stop:
        usable = False
    except yaml.MarkedYAMLError as error:
        composer.diagnostics.append(syntax_diagnostic(error, text, file))
        usable = False
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        composer.report("FAB0007", f"not valid YAML: {clip(str(error), 100)}", Position(file, 1, 1))
        usable = False
    if usable and not composer.seen:
        composer.report(
            "FAB0006",
            "the file holds no value",
            Position(file, 1, 1),
            "`fabricc init` writes a spec to start from.",
        )
        usable = False
    return Document(
        file,
        composer.root,
        composer.positions,
        composer.value_positions,
        frozenset(composer.broken),
        tuple(composer.diagnostics),
        usable,
    )


def too_large(file: str) -> Diagnostic:
    """What to say about a file of more than `MAX_BYTES`."""
    limit = f"{MAX_BYTES // 1024 // 1024} MiB"
    help_ = "A spec of the largest clusters fits in a few kilobytes: count hosts instead of listing them."
    return Diagnostic(
        "FAB0003", Severity.ERROR, f"the file is larger than {limit}", Position(file, 1, 1), help_
    )


def decode_error(source: bytes, error: UnicodeDecodeError, file: str) -> Diagnostic:
    """What to say about bytes that are not UTF-8, at the line and column of the first bad one."""
    if source[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Diagnostic(
            "FAB0004",
            Severity.ERROR,
            "the file is UTF-16, not UTF-8",
            Position(file, 1, 1),
            "Save it as UTF-8.",
        )
    before = source[: error.start]
    line_start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    line = len(re.findall(rb"\r\n|\r|\n", before)) + 1
    column = len(before[line_start:].decode("utf-8")) + 1
    return Diagnostic(
        "FAB0004",
        Severity.ERROR,
        f"byte 0x{source[error.start]:02x} is not UTF-8",
        Position(file, line, column),
        "Save the file as UTF-8 (it looks like Latin-1 or Windows-1252).",
    )


def _decode(source: bytes | str, file: str) -> str | Diagnostic:
    if len(source) > MAX_BYTES:
        return too_large(file)
    if isinstance(source, bytes):
        try:
            text = source.decode("utf-8")
        except UnicodeDecodeError as error:
            return decode_error(source, error, file)
    else:
        text = source
    text = text.removeprefix("\ufeff")
    if (bad := FORBIDDEN.search(text)) is not None:
        before = text[: bad.start()]
        line = len(re.findall(r"\r\n|\r|\n", before)) + 1
        column = bad.start() - max(before.rfind("\n"), before.rfind("\r"))
        return Diagnostic(
            "FAB0005",
            Severity.ERROR,
            f"an invisible or control character, U+{ord(bad[0]):04X}",
            Position(file, line, column),
            "Delete it.",
        )
    return text
