"""What a device is to do and its files cannot say: the answer of every back end, of switches and of hosts."""

from __future__ import annotations

from fabricc.base.values import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a device is to do and that its system cannot express on this model.

    Attributes:
        code: diagnostic code, `FAB5…`.
        feature: what was asked, a few words; `reason`: why it cannot be, with the source; `remedy`: what can be done.
        fatal: False when the configuration works without it, less well, or once the remedy is applied.
    """

    code: str
    feature: str
    reason: str
    remedy: str
    fatal: bool = True
