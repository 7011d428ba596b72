"""Hashing and load balancing of EOS: how packets are routed and flows spread over equal paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, Departure
from fabricc.back.nos.eos import words
from fabricc.back.nos.eos.limits import HASH_SEED, has
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Topic
from fabricc.base.values import dataclass
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

# Destination queue pair in the base transport header (InfiniBand Architecture 1.4, 9.2.1): bytes 5 to 7 after the
# 8 bytes of UDP. The trident family takes one byte a line, counted from the UDP header.
QUEUE_PAIR_OFFSETS = (13, 14, 15)

QUEUE_PAIR_BYTES = "5-7"

QUEUE_PAIR_PROFILE = "ROCE-QP"

ROCE_PORT = 4791

QUEUE_PAIR_PAYLOAD = f"udp {ROCE_PORT} payload {QUEUE_PAIR_BYTES}"

# One hash seed per tier, from 1, as EOS's own is 0 and not printed; `trident` takes up to 5 (EOS user manual, IPv4).
HASH_SEEDS = (1, 2, 3)

DEPARTURES = (
    Departure("load_balancing/mode", LEFT_OUT, "the sand family has no dynamic load balancing (FAB5117)"),
    Departure("load_balancing/flowlet_idle_us", LEFT_OUT, "nor its pause (FAB5118)"),
    Departure("load_balancing/global", LEFT_OUT, "switches report no loads (FAB5117)"),
    Departure("load_balancing/reassignment/*", LEFT_OUT, "flows move after a pause only (FAB5117)"),
)


@dataclass(frozen=True, slots=True)
class BalancingView:
    """Routing of packets and spreading of flows.

    Attributes:
        unnumbered: whether IPv4 is routed over interfaces with IPv6 alone; `ipv6`: whether IPv6 is routed.
        seed: the tier's, None where EOS has no word for it.
        mode: of dynamic load balancing, None where it is off.
        flowlet_idle_us: after how long a pause a flow may move; None for EOS's own.
        queue_pair_fields: (Ethernet type, offset) of each byte hashed of the queue pair, trident family.
        queue_pair_profile: name of the hash profile that does so, sand family.
    """

    unnumbered: bool
    ipv6: bool
    seed: int | None
    mode: Spreading | None
    per_packet: bool
    flowlet_idle_us: int | None
    queue_pair_fields: list[tuple[str, int]]
    queue_pair_profile: str | None


def balancing_view(switch: Switch) -> BalancingView:
    """Return the view of routing and load balancing."""
    asked, trident = switch.load_balancing, words.is_trident(switch)
    unnumbered = True in [port.unnumbered for port in switch.ports]
    types = [name for name, used in (("IPv4", switch.bgp.ipv4), ("IPv6", switch.bgp.ipv6)) if used]
    dynamic = trident and asked.mode is not Spreading.HASH
    return BalancingView(
        unnumbered=unnumbered,
        ipv6=unnumbered or switch.bgp.ipv6,
        seed=HASH_SEEDS[switch.tier_index] if has(switch, HASH_SEED) else None,
        mode=asked.mode if dynamic else None,
        per_packet=dynamic and asked.mode is Spreading.PACKET,
        flowlet_idle_us=asked.flowlet_idle_us if trident else None,
        queue_pair_fields=[(name, at) for name in types for at in QUEUE_PAIR_OFFSETS]
        if asked.queue_pairs and trident
        else [],
        queue_pair_profile=QUEUE_PAIR_PROFILE if asked.queue_pairs and not trident else None,
    )


def state_balancing(facts: Facts, view: BalancingView) -> None:
    """State routing and hashing, and drop settings that the switch does not have."""
    facts["platform/routing"] = "ipv6 interfaces" if view.unnumbered else "ip"
    if view.ipv6:
        facts["platform/routing_ipv6"] = "true"
    if view.seed is not None:
        facts["platform/hash_seed"] = view.seed
    for path in ("global", "reassignment/probability", "reassignment/quality_delta"):
        facts.pop(f"load_balancing/{path}", None)
    if view.mode is None:
        facts.pop("load_balancing/mode", None)
    if view.flowlet_idle_us is None:
        facts.pop("load_balancing/flowlet_idle_us", None)
    for kind in {kind for kind, _ in view.queue_pair_fields}:
        facts[f"load_balancing/hash_bytes[{kind}]"] = ",".join(map(str, QUEUE_PAIR_OFFSETS))
    if view.queue_pair_profile:
        facts["load_balancing/hash_profile"] = view.queue_pair_profile
        facts[f"load_balancing/hash_profile[{view.queue_pair_profile}]"] = QUEUE_PAIR_PAYLOAD


_DYNAMIC = "ip hardware fib load-balance distribution dynamic"
ROWS: Sequence[Row] = (
    Fact("ip routing", "platform/routing", "ip"),
    Fact("ip routing ipv6 interfaces", "platform/routing", "ipv6 interfaces"),
    Fact("ipv6 unicast-routing", "platform/routing_ipv6"),
    Fact("ip load-sharing trident <integer>", "platform/hash_seed"),
    Keep(_DYNAMIC, "dynamic"),
    Keep(f"{_DYNAMIC} inactivity-threshold <integer> microseconds", "dynamic pause"),
    Keep(f"{_DYNAMIC} member-selection optimal always", "dynamic packet"),
    Each("port-channel load-balance trident udf eth-type <word> ip-protocol udp header outer l4", "hashed", (
        Entry("offset <integer> mask 0xFF", "offsets"),
    )),
    Fact("port-channel load-balance sand profile <word>", "load_balancing/hash_profile"),
    Block("load-balance policies", "", (
        Block("load-balance sand profile <word>", "", (
            Block("fields udp dst-port <word>", "", (
                Fact("payload bytes <word>", "load_balancing/hash_profile[{0}]", "udp {1} payload {2}"),
            )),
        )),
    )),
)  # fmt: skip


def finish(document: Document) -> None:
    """State the mode of load balancing and what is hashed."""
    values, facts = document.scope.values, document.reading.facts
    if "dynamic" in values:
        mode = "packet" if "dynamic packet" in values else "flowlet"
        document.put("load_balancing/mode", mode, values.get("dynamic packet", values["dynamic"])[1])
        if "dynamic pause" in values:
            document.put("load_balancing/flowlet_idle_us", *values["dynamic pause"])
    else:
        for _, line in (values[name] for name in ("dynamic pause", "dynamic packet") if name in values):
            document.reject(line)
    for kind, hashed in document.scope.each("hashed").items():
        offsets = hashed.table("offsets")
        line = max(line for _, line in offsets.values())
        document.put(f"load_balancing/hash_bytes[{kind}]", ",".join(map(str, sorted(offsets))), line)
        if sorted(offsets) == list(QUEUE_PAIR_OFFSETS):
            document.put("load_balancing/queue_pairs", "true", line)
    path = "load_balancing/hash_profile"
    if path in facts and facts.get(f"{path}[{facts[path]}]") == QUEUE_PAIR_PAYLOAD:
        document.put("load_balancing/queue_pairs", "true", document.reading.lines[path][1])


TOPIC = Topic(ROWS, finish)
