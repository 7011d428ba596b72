"""Which release of which Junos has what: a table of the statements that not every release takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.vocabulary import EVOLVED, flavour
from fabricc.base.values import dataclass
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.fabric.model import Switch

RELEASES = ("20.4", "21.4", "22.4", "23.4", "24.2", "24.4")
DEFAULT_RELEASE = "24.4"


@dataclass(frozen=True, slots=True)
class Capability:
    """A statement, and since when it exists.

    Attributes:
        feature: what it is for, as a gap calls it.
        statement: its words.
        classic, evo: first release with it; None where Junos of that kind has none.
        source: who says so.
        asked: whether a switch needs it.
    """

    feature: str
    statement: str
    classic: str | None
    evo: str | None
    source: str
    asked: Callable[[Switch], bool]


# 19.1 stands for that release or one before, and 23.4 is the first of Evolved: older models were not looked at.
_MODELS = "the first of Juniper's YANG models to have it, junos-qfx from 19.1 and Evolved from 23.4"

CAPABILITIES = (
    Capability(
        "Junos OS Evolved",
        "management port `re0:mgmt-0`, splits under `interfaces`",
        None,
        "23.4",
        "the first release whose models for Evolved Juniper publishes",
        lambda switch: flavour(switch) == EVOLVED,
    ),
    Capability(
        "BGP sessions over unnumbered links",
        "protocols bgp group … dynamic-neighbor … peer-auto-discovery family inet6 ipv6-nd",
        "21.1",
        "23.4",
        "Juniper, BGP unnumbered peers; " + _MODELS,
        lambda switch: any(s.transport is Transport.UNNUMBERED for s in switch.bgp.sessions),
    ),
    Capability(
        "a watchdog for PFC",
        "class-of-service congestion-notification-profile … pfc-watchdog",
        "20.3",
        "23.4",
        _MODELS,
        lambda switch: switch.qos.watchdog is not None,
    ),
    Capability(
        SETTINGS["load_balancing/mode"],
        "forwarding-options enhanced-hash-key ecmp-dlb",
        "19.4",
        "23.4",
        _MODELS,
        lambda switch: switch.load_balancing.mode is not Spreading.HASH,
    ),
    Capability(
        SETTINGS["management/gnmi_port"],
        "system services extension-service request-response grpc ssl use-pki",
        "22.2",
        "23.4",
        _MODELS,
        lambda switch: switch.management.gnmi_port is not None,
    ),
    Capability(
        SETTINGS["bgp/ttl_security"],
        "protocols bgp group … ttl 255",
        "19.1",
        "23.4",
        _MODELS,
        lambda switch: switch.bgp.ttl_security,
    ),
    Capability(
        SETTINGS["load_balancing/queue_pairs"],
        "no statement: hashed by default",
        None,
        "23.4",
        "Juniper, AI-ML data center guide for Junos OS Evolved, queue-pair hashing for RDMA flows",
        lambda switch: switch.load_balancing.queue_pairs,
    ),
)


def lacking(switch: Switch) -> Iterator[Capability]:
    """What the switch needs and its release does not have."""
    for capability in CAPABILITIES:
        since = since_release(capability, flavour(switch))
        if capability.asked(switch) and (since is None or number(switch.release) < number(since)):
            yield capability


def since_release(capability: Capability, kind: str) -> str | None:
    """The first release of a kind (`classic` or `evo`) that has it; None for none."""
    return capability.classic if kind == "classic" else capability.evo


def number(release: str) -> tuple[int, ...]:
    """A release as numbers to compare; the default one when the switch names none."""
    return tuple(int(part) for part in (release or DEFAULT_RELEASE).split("."))
