"""How EOS marks where the catalog says by delay: one threshold in time for a port, and what that is in bytes.

A packet that waited longer than the threshold is marked, whatever its queue (Arista's description of ECN by latency,
July 2024; michaely-cb/cluster-cp writes the line on interfaces). There is no ramp and no probability, so the threshold
is Kmax: where the policy marks every packet too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.vocabulary import settings
from fabricc.fabric.qos import Ecn

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile

UNITS_US = {"milliseconds": 1000, "microseconds": 1}
"""Units of the threshold, the largest first; only milliseconds are in a public text of this line."""

_AMOUNT = re.compile(r"[1-9][0-9]{0,8}")


def step_us(switch: Switch) -> int | None:
    """Step of the threshold in microseconds; None where EOS marks by the bytes of a queue."""
    by_delay = settings(switch).get("ecn_delay")
    return int(by_delay["step_us"]) if by_delay else None


def delay_us(switch: Switch, profile: PortProfile | None) -> int | None:
    """The threshold of the profile's ports: the time in which the port sends Kmax, down to a step, one at least."""
    step = step_us(switch)
    if step is None or profile is None or profile.ecn is None:
        return None
    if not any(c.ecn for c in switch.qos.classes):
        return None
    whole_us = profile.ecn.max_bytes * 8 // (profile.speed_gbps * 1000)
    return max(step, whole_us // step * step)


def thresholds(threshold_us: int, speed_gbps: int) -> Ecn:
    """What the delay is in bytes of a queue that has the port to itself: none are marked up to it, all above.

    A queue that shares the port is shorter when its packets have waited so long: it is marked earlier.
    """
    waited = threshold_us * speed_gbps * 1000 // 8
    return Ecn(waited, waited + 1, 100)


def marked(*, strict: bool, stopped: bool) -> bool:
    """Whether packets of a queue can wait that long: all but those that are sent before all others and never paused."""
    return stopped or not strict


def delay_words(threshold_us: int) -> str:
    """The threshold as EOS spells it, in the largest unit that holds it whole."""
    unit = next(unit for unit, us in UNITS_US.items() if threshold_us % us == 0)
    return f"{threshold_us // UNITS_US[unit]} {unit}"


def read(amount: str, unit: str) -> int | None:
    """The threshold in microseconds; None where it is not one."""
    if unit not in UNITS_US or not _AMOUNT.fullmatch(amount):
        return None
    return int(amount) * UNITS_US[unit]
