"""PFC watchdog timers that scale with the number of ports, as SONiC's own default does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.qos import Watchdog

if TYPE_CHECKING:
    from fabricc.catalog.model import Limits

STEP_MS = 200
DETECT_LIMITS_MS = (100, 5000)
RESTORE_LIMITS_MS = (100, 60_000)
POLL_LIMITS_MS = (100, 1000)
MAX_PAUSE_QUANTA = 65_535
_QUANTUM_BITS = 512


def watchdog_timers(port_count: int, limits: Limits | None = None) -> Watchdog:
    """Timers for a switch of `port_count` ports, action drop.

    Detection and restoration as in sonic-utilities `pfcwd start_default`: 200 ms per started group of 32 ports.
    Polls are twice as frequent, so that a stall is seen by two of them, as EOS requires (polling at most half of
    the shorter timer) and Junos does (detection after two polls). Limits are those of sonic-swss and its YANG
    model, the polling limit that of release 202511, which the earlier ones contain; a platform's own replace them.

    Raises:
        ValueError: `port_count` is less than 1.
    """
    if port_count < 1:
        raise ValueError(f"a switch has at least one port, not {port_count}")
    scaled = STEP_MS * ((port_count - 1) // 32 + 1)
    detect = _clamp_value(scaled, (limits and limits.detect_ms) or DETECT_LIMITS_MS)
    restore = _clamp_value(scaled, (limits and limits.restore_ms) or RESTORE_LIMITS_MS)
    poll = _clamp_value(detect // 2, (limits and limits.poll_ms) or POLL_LIMITS_MS)
    return Watchdog(detect, restore, poll, "drop")


def longest_pause_ns(speed_gbps: int) -> int:
    """Time that one pause frame can stop a port: 65,535 quanta of 512 bit times (IEEE 802.3 annex 31B)."""
    return MAX_PAUSE_QUANTA * _QUANTUM_BITS // speed_gbps


def _clamp_value(value: int, limits: tuple[int, int]) -> int:
    low, high = limits
    return min(max(value, low), high)
