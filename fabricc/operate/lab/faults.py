"""Break and heal cables and switches of a running lab; the state folder records the faults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.operate.lab import kernel, state
from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.operate.lab.predict import End
    from fabricc.operate.lab.running import Lab

_SILENT = "silent"
_DROP = "bpf direct-action bytecode '1,6 0 0 2,'"
"""A program of one instruction, `ret 2`: the packet is dropped (linux/pkt_cls.h, TC_ACT_SHOT)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of some link ends: they are down, or, when `silent`, drop all packets both ways."""

    ends: tuple[End, ...]
    silent: bool


Faults = dict[str, Fault]
"""Name of the broken link or switch -> its fault."""


def read_faults(lab: Lab) -> Faults:
    """Return the present faults."""
    try:
        found = json.loads((lab.folder / state.FAULTS).read_text())
    except FileNotFoundError:
        return {}
    return {
        name: Fault(tuple((device, port) for device, port in fault["ends"]), fault[_SILENT])
        for name, fault in found.items()
    }


def require_none(lab: Lab) -> None:
    """Raise FAB8015 while anything is broken on purpose."""
    if broken := read_faults(lab):
        raise LabError("FAB8015", f"broken now: {', '.join(sorted(broken))}", "Run `fabricc lab heal` first.")


def ends_of(lab: Lab, target: str) -> list[End]:
    """Return the link ends whose loss is the loss of a link (`DEVICE:PORT`, either end) or of a switch (`DEVICE`).

    A host's link goes down at the switch, as when the switch loses power, so the host keeps its own settings; a
    switch loses all its links at its own end, so its neighbors see the light go out.

    Raises:
        LabError: FAB8011, there is no such link or switch.
    """
    device, colon, port = target.partition(":")
    found = []
    for lower, lower_port, upper, upper_port in lab.record.cables:
        ends = (lower, lower_port), (upper, upper_port)
        for near, far in (ends, ends[::-1]):
            if near[0] == device and (near[1] == port or not colon):
                found.append(far if device in lab.record.hosts else near)
    if not found or (not colon and device in lab.record.hosts):
        example = ":".join(lab.record.cables[-1][:2])
        remedy = f"A link is DEVICE:PORT of either end, for example {example}; a switch is its name."
        raise LabError("FAB8011", f"no link or switch is named {target!r}", remedy)
    return found


def break_target(lab: Lab, target: str, *, silent: bool = False) -> list[End]:
    """Break a link or a switch; return the link ends that were broken.

    A `silent` one drops every packet both ways and leaves the carrier up, as a broken transceiver or a switch whose
    forwarding hangs may; only timers notice. Targets are those of `ends_of`.

    Raises:
        LabError: FAB8011, there is no such link or switch, or it is broken already.
    """
    ends = ends_of(lab, target)
    known = read_faults(lab)
    if target in known:
        raise LabError("FAB8011", f"{target!r} is broken already", "Run `fabricc lab heal` first.")
    known[target] = Fault(tuple(ends), silent)
    _save_faults(lab, known)
    if silent:
        _drop_packets(lab, ends)
    else:
        _set_links(lab, ends, "down")
    return ends


def heal_target(lab: Lab, target: str | None = None) -> list[str]:
    """Heal one fault, or all; return the names of those that were healed.

    Raises:
        LabError: FAB8011, it was not broken.
    """
    known = read_faults(lab)
    if target is not None and target not in known:
        broken = ", ".join(sorted(known)) or "nothing"
        raise LabError("FAB8011", f"{target!r} is not broken; broken now: {broken}")
    healed = [target] if target is not None else sorted(known)
    gone = [known.pop(name) for name in healed]
    for silent, give_back in ((False, _set_links), (True, _pass_packets)):
        ends = {end for fault in gone if fault.silent is silent for end in fault.ends}
        still = {end for fault in known.values() if fault.silent is silent for end in fault.ends}
        give_back(lab, sorted(ends - still))
    _save_faults(lab, known)
    return healed


def _save_faults(lab: Lab, faults: Faults) -> None:
    found = {name: {"ends": fault.ends, _SILENT: fault.silent} for name, fault in faults.items()}
    state.write_json(lab.folder / state.FAULTS, found)


def _set_links(lab: Lab, ends: Sequence[End], word: str = "up") -> None:
    lines = ((lab.record.port_namespace(device, port), f"link set {port} {word}") for device, port in ends)
    kernel.ip_batches(group_pairs(lines))


def _drop_packets(lab: Lab, ends: Sequence[End]) -> None:
    for device, port in ends:
        lines = [f"qdisc replace dev {port} clsact"]
        lines += [f"filter add dev {port} {way} {_DROP}" for way in ("ingress", "egress")]
        kernel.tc_batch(lines, lab.record.port_namespace(device, port))


def _pass_packets(lab: Lab, ends: Sequence[End]) -> None:
    for device, port in ends:
        # What a killed run left half done has no clsact to delete.
        kernel.tc_batch([f"qdisc del dev {port} clsact"], lab.record.port_namespace(device, port), force=True)
