"""Gaps that back ends have alike, each at its own figures: the back end gives the code, the range and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import Gap
from fabricc.fabric.facts import setting_facts
from fabricc.fabric.logins import refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fabricc.fabric.model import Switch
    from fabricc.fabric.qos import PortProfile, TrafficClass, Watchdog
    from fabricc.fabric.routing import Bgp


def mtu(code: str, switch: Switch, most: int, reason: str) -> Iterator[Gap]:
    """A port in use has an IP MTU of more than `most` bytes."""
    asked = max((port.mtu for port in switch.ports if port.enabled), default=0)
    if asked > most:
        yield Gap(code, f"IP MTU {asked}", reason, f"set the fabric's MTU to {most} or less")


def weight(code: str, traffic_class: TrafficClass, reason: str) -> Iterator[Gap]:
    """A weighted class has no share from 1 to 100 %."""
    if not traffic_class.strict and not 1 <= traffic_class.weight_percent <= 100:
        yield Gap(
            code,
            f"class {traffic_class.name} with {traffic_class.weight_percent} % of the bandwidth",
            reason,
            "give the class at least one percent",
        )


def marking(code: str, profile: PortProfile, reason: str, *, least_percent: int = 1) -> Iterator[Gap]:
    """ECN thresholds that do not ascend from 1 byte, or a probability below `least_percent` or above 100 %."""
    ecn = profile.ecn
    if ecn and not (least_percent <= ecn.max_percent <= 100 and 1 <= ecn.min_bytes <= ecn.max_bytes):
        yield Gap(
            code,
            f"ECN from {ecn.min_bytes} to {ecn.max_bytes} bytes at {ecn.max_percent} % on {profile.name}",
            reason,
            "set ECN thresholds and probability within these ranges",
        )


def watchdog_timers(
    code: str, watchdog: Watchdog, held_ms: tuple[int, int, int], reason: str
) -> Iterator[Gap]:
    """The NOS holds other timers (detect, restore, poll) than were asked for."""
    asked = (watchdog.detect_ms, watchdog.restore_ms, watchdog.poll_ms)
    if asked != held_ms:
        yield Gap(
            code,
            "PFC watchdog timers of {} / {} / {} ms (detect, restore, poll)".format(*asked),
            reason + "; written are {} / {} / {} ms".format(*held_ms),
            "none needed, or ask for the figures that are written",
            fatal=False,
        )


def watchdog_action(code: str, watchdog: Watchdog, reason: str) -> Iterator[Gap]:
    """The watchdog is to do anything but drop what a stuck queue holds."""
    if watchdog.action != "drop":
        yield Gap(code, f"PFC watchdog action {watchdog.action}", reason, "use the action drop", fatal=False)


def paths(code: str, bgp: Bgp, most: int, reason: str) -> Iterator[Gap]:
    """More equal-cost paths than `most`, or none."""
    if not 1 <= bgp.maximum_paths <= most:
        yield Gap(
            code, f"{bgp.maximum_paths} equal-cost paths", reason, f"use at most {most} uplinks per switch"
        )


def bfd(
    code: str,
    bgp: Bgp,
    nos: str,
    interval_ms: tuple[int, int],
    multiplier: tuple[int, int],
    source: str = "",
) -> Iterator[Gap]:
    """BFD timers outside the ranges that the NOS takes, both ends included; `source` follows the reason."""
    (low, high), (few, many) = interval_ms, multiplier
    interval = bgp.bfd_interval_ms
    if interval is not None and not (low <= interval <= high and few <= bgp.bfd_multiplier <= many):
        yield Gap(
            code,
            f"BFD every {interval} ms, {bgp.bfd_multiplier} times",
            f"{nos} takes {low} to {high} ms and a multiplier from {few} to {many}{source}",
            "set BFD within these ranges",
        )


def login(code: str, switch: Switch, transport: str, proofs: Collection[str]) -> Iterator[Gap]:
    """No account could log in as the driver does, which proves a login by `proofs` over `transport`."""
    users = switch.management.users
    facts = setting_facts(switch) | {f"user[{user.name}]/ssh_key": user.ssh_key for user in users}
    if users and all(refusal(facts, user.name, proofs) for user in users):
        yield Gap(
            code,
            f"a login of `fabricc push` over {transport}",
            f"{transport} takes a password, and accounts have a key alone: a switch refuses the push that loaded it",
            "name TACACS+ servers under `management`, which check the password, or load the files over SSH",
            fatal=False,
        )


def accounts(code: str, switch: Switch, reason: str, *, fatal: bool = False) -> Iterator[Gap]:
    """Nobody could log in: no user is named."""
    if not switch.management.users:
        yield Gap(
            code,
            "no account with an SSH key",
            reason,
            "name at least one user with a key under `management`",
            fatal=fatal,
        )
