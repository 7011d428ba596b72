"""Port names of EOS: `Ethernet<cage>/<lane>`, with the slot in front on a chassis."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.catalog.model import CageGroup, SwitchModel


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """The name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    A child is named after its first lane; a cage of a single lane has no lane in its name.

    Raises:
        KeyError: the catalog has no EOS settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than children are asked of it.
    """
    nos = model.nos["eos"]
    group = _group(model, cage)
    if not 1 <= child <= children or children > group.lanes:
        raise ValueError(f"{model.name}: cage {cage} has no child {child} of {children}")
    lane = (child - 1) * (group.lanes // children) + 1
    pattern = str(nos["port"])
    if group.lanes == 1:
        pattern = pattern.removesuffix("/{lane}")
    if not model.chassis:
        return pattern.format(cage=cage, lane=lane)
    slot, position = divmod(cage - 1, int(nos["cages_per_slot"]))
    return pattern.format(slot=int(nos["first_slot"]) + slot, cage=position + 1, lane=lane)


def service_ports(model: SwitchModel) -> list[str]:
    """The names of the cages that are not for the fabric, which stay shut."""
    cages = (cage for g in model.cages if not g.fabric for cage in range(g.first, g.first + g.count))
    return [port_name(model, cage, 1, 1) for cage in cages]


def _group(model: SwitchModel, cage: int) -> CageGroup:
    for group in model.cages:
        if group.first <= cage < group.first + group.count:
            return group
    raise ValueError(f"{model.name} has no cage {cage}")
