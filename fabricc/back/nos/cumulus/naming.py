"""Port names of Cumulus Linux: `swp<cage>`, and `swp<cage>s<child>` counted from 0 for the children of a breakout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel


def cage_name(model: SwitchModel, cage: int) -> str:
    """The name of a whole cage, which carries the breakout of its children.

    Raises:
        KeyError: the catalog has no Cumulus settings for the model.
    """
    return str(model.nos["cumulus"]["port"]).format(cage=cage)


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """The name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    Raises:
        KeyError: the catalog has no Cumulus settings for the model.
        ValueError: there is no such child, or no breakout into that many.
    """
    if children not in (1, 2, 4, 8) or not 1 <= child <= children:
        raise ValueError(f"{model.name}: cage {cage} has no child {child} of {children}")
    whole = cage_name(model, cage)
    return whole if children == 1 else f"{whole}s{child - 1}"
