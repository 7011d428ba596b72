"""Port names of Junos: the catalog's pattern for a whole cage and for a child, which counts from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """The name of child `child` (from 1) of `children` of front-panel cage `cage`, as printed on the panel.

    Raises:
        KeyError: the catalog has no Junos settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than children are asked of it.
    """
    nos = model.nos["junos"]
    group = next((g for g in model.cages if g.first <= cage < g.first + g.count), None)
    if group is None:
        raise ValueError(f"{model.name} has no cage {cage}")
    if not 1 <= child <= children or children > group.lanes:
        raise ValueError(f"{model.name}: cage {cage} has no child {child} of {children}")
    if children == 1:
        return str(nos["port"]).format(cage=cage)
    return str(nos["child"]).format(cage=cage, child=child - 1)


def parent_name(name: str) -> str:
    """The name of the cage that a port is, or is a child of."""
    return name.partition(":")[0]
