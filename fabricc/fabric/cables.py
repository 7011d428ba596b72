"""Cables: what those of one kind of link are, and the row of each in the cabling plan."""

from __future__ import annotations

from fabricc.base.values import dataclass


@dataclass(frozen=True, slots=True)
class CableKind:
    """Medium and length of the cables of one kind of link."""

    medium: str
    length_m: int


@dataclass(frozen=True, slots=True)
class CableRow:
    """One cable of the cabling plan; `a` is the lower end. `kind` is `host`, `spine`, `core` or `external`."""

    a_device: str
    a_port: str
    b_device: str
    b_port: str
    speed_gbps: int
    medium: str
    length_m: int
    kind: str
