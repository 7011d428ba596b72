"""Breaks cables and switches of a running lab and heals them; what is broken is remembered in the state folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricc.lab import kernel, state
from fabricc.lab.failure import LabError

if TYPE_CHECKING:
    from fabricc.lab.predict import End
    from fabricc.lab.running import Lab

Faults = dict[str, list["End"]]
"""What was broken, as it was named -> the link ends that were taken down for it."""


def faults(lab: Lab) -> Faults:
    """What is broken now."""
    try:
        found = json.loads((lab.folder / state.FAULTS).read_text())
    except FileNotFoundError:
        return {}
    return {name: [(device, port) for device, port in ends] for name, ends in found.items()}


def dark(lab: Lab) -> frozenset[End]:
    """Every link end that is taken down."""
    return frozenset(end for ends in faults(lab).values() for end in ends)


def ends_of(lab: Lab, target: str) -> list[End]:
    """The link ends whose loss is the loss of a link (`DEVICE:PORT`, either end) or of a switch (`DEVICE`).

    A host's link goes down at the switch, as when the switch loses power, so the host keeps its own settings; a
    switch loses all its links at its own end, so its neighbours see the light go out.

    Raises:
        LabError: FAB8011, there is no such link or switch.
    """
    device, colon, port = target.partition(":")
    found = []
    for lower, lower_port, upper, upper_port in lab.record.cables:
        for near, far in (
            ((lower, lower_port), (upper, upper_port)),
            ((upper, upper_port), (lower, lower_port)),
        ):
            if near[0] == device and (near[1] == port or not colon):
                found.append(far if device in lab.record.hosts else near)
    if not found or (not colon and device in lab.record.hosts):
        raise LabError(
            "FAB8011",
            f"no link or switch is named {target!r}",
            "A link is DEVICE:PORT of either end, for example "
            f"{lab.record.cables[-1][0]}:{lab.record.cables[-1][1]}; a switch is its name.",
        )
    return found


def break_(lab: Lab, target: str) -> list[End]:
    """Take a link or a switch away; the link ends that went down.

    Raises:
        LabError: FAB8011, there is no such link or switch.
    """
    ends = ends_of(lab, target)
    known = faults(lab)
    known[target] = ends
    state.write_json(lab.folder / state.FAULTS, known)
    _set(lab, ends, "down")
    return ends


def heal(lab: Lab, target: str | None = None) -> list[str]:
    """Give back one thing that was broken, or everything; what was given back.

    Raises:
        LabError: FAB8011, it was not broken.
    """
    known = faults(lab)
    if target is not None and target not in known:
        broken = ", ".join(sorted(known)) or "nothing"
        raise LabError("FAB8011", f"{target!r} is not broken; broken now: {broken}")
    healed = [target] if target is not None else sorted(known)
    ends = {end for name in healed for end in known.pop(name)}
    still = {end for others in known.values() for end in others}
    state.write_json(lab.folder / state.FAULTS, known)
    _set(lab, sorted(ends - still), "up")
    return healed


def _set(lab: Lab, ends: list[End], word: str) -> None:
    by_device: dict[str, list[str]] = {}
    for device, port in ends:
        by_device.setdefault(lab.record.namespace(device), []).append(f"link set {port} {word}")
    kernel.ip_batches(by_device)
