"""Settings of FRR, of systems that run it, and of Linux, that by themselves keep sessions or routes from working.

Sources: FRR user guide, "BGP", "BFD" and "Basic setup"; Linux, Documentation/networking/ip-sysctl.rst.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.facts import Value


class Harm(NamedTuple):
    """What a setting does: `kind` is the theme of it, such as `sessions` or `kernel`."""

    kind: str
    effect: str


class Scale(NamedTuple):
    """What the settings of a switch have to be enough for.

    Attributes:
        sessions: number of its sessions; `neighbors`: of its ports with an address; `prefixes`: of those to announce.
        hold_s: hold time of its sessions.
        upper: whether other switches of its tier have the same routes.
    """

    sessions: int = 0
    neighbors: int = 0
    prefixes: int = 0
    hold_s: int | None = None
    upper: bool = False


_NUMBER = re.compile(r"\d+")
_SLOWEST_S = 60
"""Seconds within which changes are announced: twice the default of the first implementations (RFC 4271, section 10)."""
_LONGEST_S = 600
"""Seconds that a start or a new attempt may take; the defaults are 0 and 120."""
_BGP = 179
_DEFAULT_BUFFER = 212_992
"""Bytes of a socket's buffer without any setting (Linux, net.core.rmem_default)."""
_SPARE_FILES = 32
"""Files of a daemon besides its sessions: logs, sockets of other daemons, of terminals."""
_NO_ANSWER = 8
_FEW = 1024
_PORT_KERNEL = re.compile(r"kernel\[net\.ipv[46]\.conf\.([^.\]]+)\.forwarding\]")
_TABLE = re.compile(r"kernel\[net\.ipv[46]\.neigh\.default\.gc_thresh3\]")


def _number(value: Value) -> int:
    """Return the first number of a value, -1 without one."""
    match = _NUMBER.search(str(value))
    return int(match[0]) if match else -1


def _above(limit: int) -> Callable[[Value, Scale], bool]:
    return lambda value, _: _number(value) > limit


def _is_on(value: Value, _: Scale) -> bool:
    return value not in ("false", "no", "off")


_FLAP = 1000
"""The penalty of one flap (FRR, bgpd/bgp_damp.h: DEFAULT_PENALTY)."""
_LOCAL = ("127.0.0.1", "::1")


def _suppression(value: Value) -> int:
    """Return from which penalty on a route is suppressed, the third number of dampening; -1 where it is not stated."""
    numbers = _NUMBER.findall(str(value))
    return int(numbers[2]) if len(numbers) > 2 else -1


_SESSION: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...] = (
    (
        re.compile(r"setting\[(?:advertisement-interval|timers route-advertisement)\]"),
        _above(_SLOWEST_S),
        Harm("timers", "announces changes up to {} s late"),
    ),
    (
        re.compile(r"setting\[timers connect\]"),
        _above(_LONGEST_S),
        Harm("timers", "opens a lost session only after {} s again"),
    ),
    (
        re.compile(r"setting\[port\]"),
        lambda value, _: _number(value) not in (_BGP, -1),
        Harm("sessions", "connects to TCP port {}, where no BGP listens"),
    ),
    (
        re.compile(r"setting\[ipv[46] maximum-prefix-out\]"),
        lambda value, scale: 0 <= _number(value) < scale.prefixes,
        Harm("routes", "announces no more than {} of its prefixes"),
    ),
    (
        re.compile(r"setting\[ipv[46] attribute-unchanged as-path\]"),
        _is_on,
        Harm("loops", "does not add its AS number to paths: no loop is detected"),
    ),
    (
        re.compile(r"setting\[ipv[46] route-server-client\]"),
        _is_on,
        Harm("routes", "announces next hops and paths of others unchanged, as a route server"),
    ),
)
_SWITCH: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...] = (
    (
        re.compile(r"bgp/setting\[update-delay\]"),
        _above(_LONGEST_S),
        Harm("timers", "announces and installs no route for {} s after a start"),
    ),
    (
        re.compile(r"bgp/setting\[max-med\]"),
        lambda value, scale: (
            scale.upper and (str(value).startswith("administrative") or _number(value) > _LONGEST_S)
        ),
        Harm("avoided", "announces the worst metric: switches below it use others of its tier alone"),
    ),
    (
        re.compile(r"bgp/setting\[minimum-holdtime\]"),
        lambda value, scale: scale.hold_s is not None and scale.hold_s < _number(value),
        Harm("sessions", "refuses hold times below {} s, and its sessions have a shorter one"),
    ),
    (
        re.compile(r"bgp/setting\[(?:ipv[46] )?bgp dampening\]"),
        lambda value, _: 0 <= _suppression(value) < _FLAP,
        Harm("timers", "suppresses a route after one flap"),
    ),
    (
        re.compile(r"zebra/fpm_address"),
        lambda value, _: value not in _LOCAL,
        Harm("routes", "sends its routes to another switch, and not to its own ASIC"),
    ),
    (
        _PORT_KERNEL,
        lambda value, _: _number(value) == 0,
        Harm("kernel", "the kernel does not forward what arrives at {port}"),
    ),
    (
        re.compile(r"kernel\[net\.ipv4\.conf\.(?:all|default)\.arp_ignore\]"),
        lambda value, _: _number(value) == _NO_ANSWER,
        Harm("kernel", "answers no ARP request, so no neighbor finds it"),
    ),
    (
        _TABLE,
        lambda value, scale: 0 <= _number(value) < scale.neighbors,
        Harm("kernel", "has room for {} neighbors, fewer than its ports have"),
    ),
    (
        re.compile(r"kernel\[net\.ipv[46]\.conf\.all\.accept_source_route\]"),
        lambda value, _: _number(value) > 0,
        Harm("unsafe", "lets senders choose the way of their packets (source routes)"),
    ),
    (
        re.compile(r"daemon\[zebra\]/netlink_bytes"),
        lambda value, _: 0 <= _number(value) < _DEFAULT_BUFFER,
        Harm("kernel", "zebra loses messages of the kernel: its buffer has {} bytes, less than without a setting"),
    ),
    (
        re.compile(r"loopback/enabled"),
        lambda value, _: value == "false",
        Harm("kernel", "its loopback is not set up at boot, so it lacks the address by which others reach it"),
    ),
    (
        re.compile(r"daemon/open_files"),
        lambda value, scale: 0 <= _number(value) < min(scale.sessions + _SPARE_FILES, _FEW),
        Harm("sessions", "its daemons may open {} files, fewer than their sessions need"),
    ),
)  # fmt: skip
ABOUT = ("bgp/setting[", "kernel[", "daemon", "loopback/enabled", "zebra/")
"""What the paths of settings of a whole switch begin with."""
STRICT_ROLE = "strict-mode"
"""The word of a role that refuses neighbors without one (`local-role`, RFC 9234)."""


def may_harm_session(leaf: str) -> bool:
    """Return whether some value of a setting of a session does harm."""
    return any(form.fullmatch(leaf) for form, _, _ in _SESSION)


def may_harm_switch(path: str) -> bool:
    """Return whether some value of a setting of a whole switch does harm."""
    return any(form.fullmatch(path) for form, _, _ in _SWITCH)


def harm_of_session(leaf: str, value: Value, scale: Scale) -> Harm | None:
    """Return what a setting of a session does to it, None if nothing."""
    return _find_harm(_SESSION, leaf, value, scale)


def harm_of_switch(path: str, value: Value, scale: Scale) -> Harm | None:
    """Return what a setting of a whole switch does, None if nothing."""
    return _find_harm(_SWITCH, path, value, scale)


def _find_harm(
    rows: tuple[tuple[re.Pattern[str], Callable[[Value, Scale], bool], Harm], ...],
    path: str,
    value: Value,
    scale: Scale,
) -> Harm | None:
    for form, is_harmful, harm in rows:
        if (match := form.fullmatch(path)) and is_harmful(value, scale):
            port = match[1] if form is _PORT_KERNEL else ""
            return harm._replace(effect=harm.effect.format(_number(value), port=port))
    return None


def port_of_kernel(path: str) -> str:
    """Return the interface about whose forwarding a setting of the kernel is, "" for others and for all."""
    match = _PORT_KERNEL.fullmatch(path)
    return "" if match is None or match[1] in ("all", "*") else match[1]
