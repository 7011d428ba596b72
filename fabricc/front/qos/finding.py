"""A finding of the lossless arithmetic, before it is given a place in the spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.base.diagnostics import Severity


@dataclass(frozen=True, slots=True)
class QosFinding:
    """A finding about the lossless settings of one kind of switch; the caller adds the position.

    Attributes:
        code: `FAB4001` too many lossless classes, `FAB4002` no headroom for a link, `FAB4003` buffer over
            budget, `FAB4004` shared headroom pool oversubscribed, `FAB4005` no room for ECN below PFC, `FAB4006`
            marking starts far below the path's BDP, `FAB4007` MTU above the table's, `FAB4008` table row short of
            its own xon + xoff, `FAB4009` a preset's marks lowered below PFC, `FAB4010` stated marks above PFC,
            `FAB4011` alpha outside the platform's, `FAB4012` egress pool below the ingress share, `FAB4013`
            oversubscription without a pool, `FAB4014` more profiles than the platform holds,
            `FAB4015` trimming to a size that the platform does not have, `FAB4018` a class that the system's own
            policy does not have.
        message, help: as in a `Diagnostic`.
    """

    code: str
    severity: Severity
    message: str
    help: str = ""
