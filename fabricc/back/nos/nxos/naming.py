"""Port names of NX-OS: slot and cage, with the child of a split cage behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.catalog.model import CageGroup, SwitchModel


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """The name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    Raises:
        KeyError: the catalog has no NX-OS settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than children are asked of it.
    """
    settings = model.nos["nxos"]
    group = _group(model, cage)
    if not 1 <= child <= children or children > group.lanes:
        raise ValueError(f"{model.name}: cage {cage} has no child {child} of {children}")
    pattern = settings["port"] if children == 1 else settings["child"]
    return str(pattern).format(cage=cage, child=child)


def service_ports(model: SwitchModel) -> list[str]:
    """The names of the cages that are not for the fabric, which stay shut."""
    cages = (cage for g in model.cages if not g.fabric for cage in range(g.first, g.first + g.count))
    return [port_name(model, cage, 1, 1) for cage in cages]


def _group(model: SwitchModel, cage: int) -> CageGroup:
    for group in model.cages:
        if group.first <= cage < group.first + group.count:
            return group
    raise ValueError(f"{model.name} has no cage {cage}")
