"""Resolve devices and links named on the command line, and read outages from the result of `fabricc verify`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.documents.document import clip
from fabricc.base.foreign import files
from fabricc.catalog.library import suggestion_remedy
from fabricc.fabric.capacity.wiring import Outage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.fabric.capacity.wiring import Wiring

_LARGEST = 64 << 20
_SILENT = "FAB9110"
"""Code of a switch that does not answer at all."""


class UnknownError(FindingsError):
    """A named device or link is not in the fabric, or an input file cannot be read."""


def resolve_names(words: Sequence[str], wirings: Mapping[str, Wiring]) -> Outage:
    """Return the devices and links that some words name; a link is named by one of its ends (`device:port`).

    A word applies to each network that has such a device.

    Raises:
        UnknownError: FAB9400, FAB9401.
    """
    gone: set[str] = set()
    ends: set[tuple[str, str]] = set()
    wrong: list[Diagnostic] = []
    for text in words:
        device, _, port = text.partition(":")
        having = [each for each in wirings.values() if device in each.switches or device in each.hosts]
        if not having:
            wrong.append(_unknown_device_finding(device, wirings))
        elif not port:
            gone.add(device)
        elif far := [end for each in having if (end := each.far_end((device, port)))]:
            ends |= {(device, port), *far}
        else:
            wrong.append(
                _unknown_port_finding(device, port, [name for each in having for name in each.ports(device)])
            )
    if wrong:
        raise UnknownError.of(wrong)
    return Outage(gone=frozenset(gone), ends=frozenset(ends))


def _unknown_device_finding(name: str, wirings: Mapping[str, Wiring]) -> Diagnostic:
    known = [each for wiring in wirings.values() for each in (*wiring.switches, *wiring.hosts)]
    remedy = suggestion_remedy(name, known, f"Devices are named like {known[0]} and {known[-1]}.")
    return Diagnostic("FAB9400", Severity.ERROR, f"the fabric has no device {clip(name)!r}", None, remedy)


def _unknown_port_finding(device: str, port: str, known: Sequence[str]) -> Diagnostic:
    remedy = suggestion_remedy(port, known, f"Its links are at {', '.join(known[:4])} and so on.")
    message = f"port {clip(port)!r} of {device} carries no link"
    return Diagnostic("FAB9401", Severity.ERROR, message, None, remedy)


def read_verify_result(path: Path) -> list[str]:
    """Return the silent devices and the links that are down in a result of `fabricc verify --format json`.

    Raises:
        UnknownError: FAB9405, the file is not such a result.
    """
    try:
        stated = json.loads(files.read(path, limit=_LARGEST))
        return list(dict.fromkeys(_list_outages(stated)))
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        why = "no such result"
    remedy = "Write it with `fabricc verify TREE --format json`."
    raise UnknownError("FAB9405", f"cannot read {path}: {why}", remedy)


def _list_outages(stated: Mapping[str, Any]) -> Iterator[str]:
    silent: Mapping[str, Iterable[Mapping[str, Any]]] = stated["not_asked"]
    for name, reasons in silent.items():
        if any(one["code"] == _SILENT for one in reasons):
            yield str(name)
    for one in stated["findings"]:
        if port := one.get("port_down"):
            yield f"{one['device']}:{port}"
