"""Hashing and load balancing of NX-OS: how flows are spread over equal paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.departures import LEFT_OUT, Departure
from fabricc.back.nos.nxos.limits import DYNAMIC_LOAD_BALANCING, has
from fabricc.back.reading import Block, Entry, Fact, Topic, types
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading import Document, Row, Types
    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.model import Switch

DEPARTURES = (
    Departure(
        "load_balancing/mode", LEFT_OUT, "no dynamic load balancing on this family or release (FAB5418)"
    ),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "no dynamic load balancing there (FAB5418)"),
    Departure("load_balancing/global", LEFT_OUT, "switches report no loads (FAB5418)"),
    Departure("load_balancing/reassignment/*", LEFT_OUT, "flows move after a pause only (FAB5418)"),
    Departure(
        "load_balancing/queue_pairs", LEFT_OUT, "hashed instead of the ports, not in addition (FAB5420)"
    ),
)

DLB_MODES = {Spreading.FLOWLET: "flowlet", Spreading.PACKET: "per-packet"}

DEFAULT_DLB_MAC = "00:cc:cc:cc:cc:cc"

# Random seeds of the ECMP hash, one per tier: multiples of 2**32 divided by the golden ratio, spread over all bits.
HASH_SEEDS = tuple(2_654_435_761 * tier % 2**32 for tier in (1, 2, 3))


def dynamic_mode(switch: Switch) -> str | None:
    """Return how load shares paths; None where flows are hashed and where the switch cannot but hash."""
    mode = DLB_MODES.get(switch.load_balancing.mode)
    return mode if mode and has(switch, DYNAMIC_LOAD_BALANCING) else None


def dynamic_ports(switch: Switch) -> list[str]:
    """Return the ports with BGP sessions, in panel order."""
    reached = {session.port for session in switch.bgp.sessions}
    return [port.name for port in switch.ports if port.name in reached]


def load_sharing(switch: Switch) -> str:
    """The ECMP hash: addresses and ports, so that the UDP source port of each queue pair counts; a seed per tier."""
    seed = HASH_SEEDS[switch.tier_index]
    return f"source-destination port source-destination universal-id {seed}"


@dataclass(frozen=True, slots=True)
class DynamicView:
    """Dynamic load balancing over the ports with BGP sessions; `aging_us` is None for the platform's own."""

    mode: str
    interfaces: str
    aging_us: int | None


def dynamic_view(switch: Switch) -> DynamicView | None:
    """Return the view of dynamic load balancing."""
    mode = dynamic_mode(switch)
    names = ",".join(name.replace("Ethernet", "Eth") for name in dynamic_ports(switch))
    return DynamicView(mode, names, switch.load_balancing.flowlet_idle_us) if mode else None


def state_balancing(facts: Facts, switch: Switch) -> None:
    """State hashing and dynamic paths, and drop settings that the switch does not have."""
    facts.pop("load_balancing/queue_pairs", None)
    for path in ("global", "reassignment/probability", "reassignment/quality_delta"):
        facts.pop(f"load_balancing/{path}", None)
    if dynamic_mode(switch):
        facts["load_balancing/interfaces"] = ",".join(sorted(dynamic_ports(switch)))
    else:
        for path in ("load_balancing/mode", "load_balancing/flowlet_idle_us"):
            facts.pop(path, None)
    facts["platform/load_sharing"] = load_sharing(switch)
    facts["platform/hash_seed"] = HASH_SEEDS[switch.tier_index]


_PORT = re.compile(r"Eth(?:ernet)?(\d+(?:/\d+)+)|(all)")


def _dynamic_ports(text: str) -> str | None:
    """Return the ports of `Eth1/1,Eth1/3-4`, comma-joined; None when any part is not known."""
    listed = types.parse_ports("".join(text.split()))
    found = [_PORT.fullmatch(name) for name in ([listed] if isinstance(listed, str) else listed or ())]
    names = [each[2] or f"Ethernet{each[1]}" for each in found if each]
    return ",".join(names) if names and len(names) == len(found) else None


def _dynamic_mac(address: str) -> Mapping[str, Value]:
    return {} if address.lower() == DEFAULT_DLB_MAC else {"load_balancing/mac": address}


def _hashing_facts(text: str) -> Mapping[str, Value]:
    """Return what is hashed, and the seed where it is stated."""
    _, _, seed = text.partition("universal-id ")
    first = seed.partition(" ")[0]
    known = {"platform/hash_seed": int(first)} if is_number(first) else {}
    return {"platform/load_sharing": text, **known}


TYPES: Types = {"dynamic mode": {word: mode.value for mode, word in DLB_MODES.items()}}
ROWS: Sequence[Row] = (
    Fact("ip load-sharing address <rest>", _hashing_facts),
    Block("hardware profile dlb", "", (
        Fact("mode <dynamic mode>", "load_balancing/mode"),
        Fact("flowlet-aging <integer>", "load_balancing/flowlet_idle_us"),
        Fact("mac-address <word>", _dynamic_mac),
        Entry("dlb-interface <rest>", "dynamic ports", _dynamic_ports),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the ports that share load dynamically."""
    ports = {
        name: line
        for text, line in document.scope.table("dynamic ports").values()
        for name in str(text).split(",")
    }
    if ports:
        document.put("load_balancing/interfaces", ",".join(sorted(ports)), max(ports.values()))


TOPIC = Topic(ROWS, finish)
