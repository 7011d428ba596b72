"""Add to a device's difference how its system applies it, and what that interrupts besides the changed facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import replace
from fabricc.review.diff.compare import sessions_on
from fabricc.review.diff.model import DeviceDiff, Impact

if TYPE_CHECKING:
    from fabricc.back.nos.base import Application
    from fabricc.review.diff.view import DeviceView

_MINUTE = 60


def application_impact(base: DeviceView, application: Application) -> Impact:
    """Return what an application does to traffic on a device that runs `base`; ports of hosts lose their traffic."""
    if application.reloads:
        return Impact.RELOAD
    if any(base.reach(port) for port in application.ports):
        return Impact.TRAFFIC_LOSS
    return Impact.SESSION_RESET if application.interrupts else Impact.NONE


def with_application(found: DeviceDiff, base: DeviceView, application: Application | None) -> DeviceDiff:
    """Return the difference with the effect of its application: of a reload, or of ports that go down for a while."""
    if application is None:
        return found
    if application.reloads:
        return replace(
            found,
            application=application,
            impact=application_impact(base, application),
            reach=base.reach(),
            sessions=found.sessions | frozenset(sessions_on(base, base.ports.keys())),
            ports_only=False,
        )
    ports = base.ports.keys() & application.ports
    reach = {rail: gpus for port in ports for rail, gpus in base.reach(port).items()}
    down = base.ports.keys() if application.restarts_bgp else ports
    return replace(
        found,
        application=application,
        impact=max(found.impact, application_impact(base, application)),
        reach={**found.reach, **reach},
        sessions=found.sessions | frozenset(sessions_on(base, down)),
    )


def application_words(application: Application) -> str:
    """Return how a change is applied, how long that may take, and what it interrupts."""
    minutes = plural(-(-application.limit_s // _MINUTE), "minute")
    return f"{application.way}, at most {minutes}" + (
        f"; {application.interrupts}" if application.interrupts else ""
    )
