"""Describe planned settings that a device's files cannot express, for the back ends of switches and hosts."""

from __future__ import annotations

from fabricc.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a device is to do and that its system cannot express on this model.

    Attributes:
        code: diagnostic code, `FAB5…`.
        feature: the setting in a few words; `reason`: why it is impossible; `remedy`: what to do.
        fatal: False when the configuration works without it, less well, or once the remedy is applied.
        section: section of the spec that causes it for every tier, reported once; empty if tiers differ.
        source: the document that states it; empty if the reason names it or none is needed.
    """

    code: str
    feature: str
    reason: str
    remedy: str
    fatal: bool = True
    section: str = ""
    source: str = ""
