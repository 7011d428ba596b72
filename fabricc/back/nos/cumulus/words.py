"""Port names, words and figures of NVUE on Cumulus Linux, and rows of settings that are kept by their first words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Entry, Row, Scope
from fabricc.base.values import dataclass
from fabricc.fabric.model import Account, Direction, Switch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.qos import Headroom, PortProfile, Watchdog

FILE = "startup.yaml"
MANAGEMENT, LOOPBACK = "eth0", "lo"
MANAGEMENT_VRF = "mgmt"
SHUT_MANAGEMENT = f"interface[{MANAGEMENT}]/enabled"
GLOBAL = "default-global"
"""The profile of all ports that name no other; the only one of some nodes."""

OWN_ACCOUNT = "cumulus"
"""The account every switch has; a configuration that replaces all others and lacks it deletes it."""

ADMINISTRATOR = "system-admin"
CONTROL_PLANE_LISTS = ("acl-default-dos", "acl-default-whitelist")
"""The filters of the control plane since 5.9: they shape and drop what attacks it, and open the usual ports."""

SPEEDS = (1, 10, 25, 40, 50, 100, 200, 400, 800)
"""Speeds of `link speed` in Gb/s, spelled `400G`."""

FABRIC = (Direction.UP, Direction.DOWN, Direction.PEER)
"""Port roles with equal-cost paths: links to other switches."""

MTU_RANGE = (552, 9216)
LANES_PER_PORT = (1, 2, 4, 8)

ALPHAS = {
    **{-exponent: f"alpha_1_{2**exponent}" for exponent in range(7, 0, -1)},
    **{exponent: f"alpha_{2**exponent}" for exponent in range(7)},
}
"""Exponent of alpha -> NVUE's word (`shared-alpha`)."""

POLLING_RANGE_MS = (100, 5000)
ROBUSTNESS_RANGE = (1, 1000)


@dataclass(frozen=True, slots=True)
class Timers:
    """A PFC watchdog as NVUE has it: a storm is `robustness` polls long."""

    polling_ms: int
    robustness: int

    @property
    def detect_ms(self) -> int:
        """The shortest storm that is acted on."""
        return self.polling_ms * self.robustness


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """Return the poll closest to the requested one, and enough polls to last the detection time."""
    low, high = POLLING_RANGE_MS
    polling = min(max(watchdog.poll_ms, low), high)
    return Timers(polling, max(1, -(-watchdog.detect_ms // polling)))


def cage_name(model: SwitchModel, cage: int) -> str:
    """Return the name of a whole cage, which has the breakout of its children.

    Raises:
        KeyError: the catalog has no Cumulus settings for the model.
    """
    return str(model.nos["cumulus"]["port"]).format(cage=cage)


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """Return the name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    Raises:
        KeyError: the catalog has no Cumulus settings for the model.
        ValueError: there is no such child, or no breakout into that many.
    """
    if children not in (1, 2, 4, 8) or not 1 <= child <= children:
        raise ValueError(f"{model.name}: cage {cage} has no child {child} of {children}")
    whole = cage_name(model, cage)
    return whole if children == 1 else f"{whole}s{child - 1}"


def used_profiles(switch: Switch) -> tuple[PortProfile, ...]:
    """Return the profiles that ports have, in the order of the switch."""
    used = {port.profile for port in switch.ports}
    return tuple(profile for profile in switch.qos.profiles if profile.name in used)


def shared_alpha(profiles: Iterable[PortProfile]) -> int | None:
    """Return the exponent of the shared alpha of lossless priority groups: the smallest requested, in NVUE's range."""
    exponents = [profile.headroom.dynamic_th for profile in profiles if profile.headroom]
    return min(max(min(exponents), min(ALPHAS)), max(ALPHAS)) if exponents else None


def pause_bytes(headroom: Headroom) -> int:
    """Return what lies below the headroom: where pausing begins."""
    return headroom.size_bytes - headroom.xoff_bytes


def ssh_key(account: Account) -> tuple[str, str]:
    """Return the type and the key of an account's public key, without its comment."""
    kind, _, rest = account.ssh_key.partition(" ")
    return kind, rest.partition(" ")[0]


MOST_VRFS = 255
"""VRFs of a switch (NVIDIA, Virtual Routing and Forwarding)."""


ENABLE = "(enable|state)"


def setting_rows(*beginnings: str, under: str = "setting", before: str = "") -> tuple[Row, ...]:
    """Statements that begin with these words: what follows is an entry of the table `setting[words]`."""
    return tuple(
        Entry(f"{before}{words} [<rest>]", f"{under}[{words}]", lambda _: "true")
        for words in dict.fromkeys(beginnings)
    )


def place_of(scope: Scope, unknown: frozenset[int]) -> int:
    """Return the first unknown line of a scope's values, else its own line."""
    return min((line for _, line in scope.stored_values() if line in unknown), default=scope.line)


def gather_settings(scope: Scope, under: str = "setting") -> dict[str, tuple[str, int]]:
    """Settings of a scope: what follows their words, joined."""
    found = {
        name: (str(value), line)
        for name, (value, line) in scope.values.items()
        if name.startswith(under + "[")
    }
    for name, table in scope.tables.items():
        if name.startswith(under + "["):
            texts = ["true" if text is None else str(text) for text in table]
            found[name] = (", ".join(texts), max(line for _, line in table.values()))
    return found


def put_settings(
    document: Document, prefix: str, scope: Scope, under: str = "setting", leaf: str = "setting"
) -> None:
    """State the settings of a scope that are kept `under` a word, below `leaf` of a prefix."""
    for name, stored in gather_settings(scope, under).items():
        document.put(f"{prefix}{leaf}{name[len(under) :]}", *stored)
