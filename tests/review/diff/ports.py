"""Ports of planned switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.model import Direction
from fabricc.fabric.shape import SwitchId

if TYPE_CHECKING:
    from pathlib import Path


def first_uplink(spec: Path, name: str) -> str:
    """The first uplink of a switch."""
    fabric = compile_spec(spec).fabric
    assert fabric is not None
    place = fabric.find(name)
    assert place is not None
    assert isinstance(place, SwitchId)
    return next(port.name for port in fabric.switch(place).ports if port.direction is Direction.UP)
