"""Check the order of migration steps: the previous step in a step's folder, and the trees pushed to the switches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.foreign import files
from fabricc.operate.push.built_tree import Origin, PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


FILE = "step.json"
_FORMAT, _LARGEST = 1, 1 << 16


class Place(NamedTuple):
    """The place of a step among others.

    Attributes:
        name: of the step.
        state: the digest of `origin.compute_state`; `after_state` that of the previous step.
        after: name of the step before.
        after_state: see `state`.
    """

    name: str
    state: str
    after: str
    after_state: str


def format_place(place: Place) -> str:
    """Return the text of the file that records the place of a step."""
    return json.dumps({"format": _FORMAT, **place._asdict()}, indent=1) + "\n"


def read_place(spec: Path) -> Place | None:
    """Read the place of a step from the folder of its spec; None where there is no such file.

    Raises:
        PushRefusedError: FAB9461, it cannot be read.
    """
    path = spec.with_name(FILE)
    try:
        stated = json.loads(files.read(path, limit=_LARGEST))
        found = Place(*(stated[key] for key in Place._fields))
        if stated["format"] != _FORMAT or not all(isinstance(one, str) for one in found):
            raise ValueError("another format")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = f"{path} does not name the step before: {error}"
        raise PushRefusedError(
            "FAB9461", message, "Write the steps again with `fabricc migrate --write`."
        ) from None
    return found


def require_order(
    spec: Path, state: str, names: Iterable[str], origins: Mapping[str, Origin], *, adopt: bool
) -> tuple[Diagnostic, ...]:
    """Hold a step to its order: the step before has reached every switch that is known, or this one has already.

    `origins` are the trees that switches were brought to; with `adopt` what runs is taken as known.

    Returns:
        That it is out of order, where what runs is taken as known.

    Raises:
        PushRefusedError: FAB9460, it is out of order; FAB9461.
    """
    place = read_place(spec)
    if place is None or place.state != state:
        return ()
    known = {name: origins[name].state for name in names if name in origins}
    wrong = [name for name, runs in known.items() if runs not in (place.state, place.after_state)]
    if known and not wrong:
        return ()
    where = f"{wrong[0]} and {len(wrong) - 1} more" if len(wrong) > 1 else wrong[0] if wrong else "any switch"
    message = f"the step {place.name} comes after {place.after}, which was not pushed to {where}"
    remedy = (
        f"Build and push {place.after} first, and apply its files to the hosts; "
        "`--adopt` accepts the running configurations."
    )
    if not adopt:
        raise PushRefusedError("FAB9460", message, remedy)
    return (Diagnostic("FAB9460", Severity.WARNING, message, None, remedy),)
