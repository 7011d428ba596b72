"""What systems do with classes, queues, rates and hashes where a configuration states nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.defaults import KERNEL_HASH
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping


_CLASSIFIES = frozenset({"eos"})
"""Systems whose routed ports classify by DSCP without a statement (EOS user manual, "Quality of Service")."""

RDMA_DSCP = 26
"""Code point of RoCEv2 where no plan and no host states another one (AF31, in the guides of NICs and switches)."""


def classifies_by_default(system: str) -> bool:
    """Return whether a routed port of a system puts packets into classes by their code points without a statement."""
    return system in _CLASSIFIES


def states_dropping(path: str) -> bool:
    """Return whether a fact states that a queue drops packets early, or never marks them.

    That is `random-detect` of NX-OS without ECN, and a drop profile of Junos that does not rise from 0, or that is for
    other packets than those of a low loss priority.
    """
    return path.startswith("qos/setting[") and (
        path.endswith(" random-detect]")
        or " drop-probability " in path
        or " drop-profile-map loss-priority high " in path
    )


def class_statement(number: int) -> str:
    """Return the words by which a policy of NX-OS puts packets into a class, at another line than what they match."""
    return f"qos-group {number}"


def drops_in_queue(leaf: str, queue: int) -> bool:
    """Return whether a fact of a port states that a queue drops packets early (EOS, `random-detect drop`)."""
    return leaf == f"qos_setting[queue {queue} random-detect drop]"


def unmarks_queue(leaf: str, queue: int) -> bool:
    """Return whether a fact of a port states that a queue marks nothing (EOS, `no random-detect ecn`)."""
    return leaf.startswith(f"qos_setting[queue {queue} no random-detect ecn")


UNUSED_PAUSES = "qos/setting[unused PFC of "
"""Beginning of a fact about a profile of PFC that no port refers to (Junos, `congestion-notification-profile`)."""


def has_headroom_pool(system: str) -> bool:
    """Return whether ports of a system share all headroom, so that a pool of 0 is none (EOS, not SONiC)."""
    return system == "eos"


def heading_of_queue(system: str) -> str:
    """Return the word by which the lines about a queue begin, where a block of its own has them."""
    return "uc-tx-queue" if system == "eos" else ""


def stops_all_pausing(facts: Mapping[str, object]) -> str:
    """Return the path of a fact by which no port pauses, "" without one (EOS, `priority-flow-control all off`)."""
    path = "qos/setting[priority-flow-control]"
    return path if facts.get(path) == "all off" else ""


LOSSY_FILTER = "qos/setting[lossy by filter {}]"
"""A fact about a filter that leads RDMA into another class (Junos, `then forwarding-class`)."""


POLICED_FILTER = "qos/setting[policed by filter {}]"
"""A fact about a filter by which a slow policer discards most packets (Junos, `then policer`)."""


def needs_cap(system: str) -> bool:
    """Return whether a strict queue should have a limit by the advice of a system's manual.

    Juniper, "Defining CoS Queue Scheduling Priority": a strict-high queue without one can starve the other queues.
    """
    return system == "junos"


def class_of_unlisted(system: str) -> int | None:
    """Return the class of code points that a map leaves out; None where the system has a map of its own.

    Junos puts them into `best-effort`, which is queue 0 ("Overview of Assigning Service Levels to Packets").
    """
    return 0 if system == "junos" else None


def lacks_lossless_pool(system: str, facts: Mapping[str, object]) -> bool:
    """Return whether a whole file states no pool, so that the system gives all of the buffer to lossy traffic.

    NVIDIA's user guide, "Quality of Service", flow control buffers: 100 % to `default-lossy` by default. The RoCE
    profile has pools of its own.
    """
    whole = system == "cumulus" and "system/api_version" in facts
    return whole and not any(path.startswith(_POOLS) for path in facts)


_POOLS = ("pool", "qos/roce", "qos/setting[roce]", "qos/setting[traffic-pool]")


def states_pfc(system: str) -> bool:
    """Return whether the files of a system state PFC; those of FRR on Linux leave it to the NIC's driver."""
    return system != "frr"


def hashes_addresses_alone(path: str, value: object) -> bool:
    """Return whether a fact states that equal paths are chosen without the ports of UDP and TCP."""
    text = str(value)
    if path == "platform/load_sharing":
        return " port " not in f"{text} "
    if path == "bridging/setting[port-channel load-balance]":
        return "mac" in text and "ip" not in text
    if path[0] in "rp" and (fields := _EOS_FIELDS.fullmatch(path)):
        return "port" not in fields[1] and "tcp-udp" not in fields[1]
    if path == "table[SWITCH_HASH|GLOBAL ecmp_hash]":
        return "L4_SRC_PORT" not in text
    if path == "qos/setting[hash_config.sport]":
        return text == "false"
    if path.startswith(_JUNOS_HASH):
        return bool(_WITHOUT_PORTS.search(text))
    if path in _KERNEL_FIELDS:
        return is_number(text) and not int(text) & _PORT_FIELDS
    return path in KERNEL_HASH and text not in ("1", "3")


_EOS_FIELDS = re.compile(
    r"(?:routing|platform)/setting\[(?:ip load-sharing|port-channel load-balance) \S+ fields ip(?:v6)? (.*)\]"
)
"""Arista EOS user manual, `ip load-sharing` and `port-channel load-balance`."""


_JUNOS_HASH = ("routing/setting[enhanced-hash-key inet]", "routing/setting[enhanced-hash-key hash-mode]")


_WITHOUT_PORTS = re.compile(r"\bno-l4-source-port\b|\blayer2-header\b")
"""Junos CLI reference, `enhanced-hash-key`: ports and the payload of layer 2 are left out of the hash."""


_KERNEL_FIELDS = ("kernel[net.ipv4.fib_multipath_hash_fields]", "kernel[net.ipv6.fib_multipath_hash_fields]")


_PORT_FIELDS = 0x0030
"""Linux: 0 hashes addresses alone, 2 those of the inner packet, 3 the chosen fields, of which two are of ports
(Documentation/networking/ip-sysctl.rst).
"""


_ROLE_SEEDS = {"ToRRouter": 0, "LeafRouter": 10, "SpineRouter": 25}
"""Part of a role of SONiC -> the hash seed that orchagent starts with (sonic-buildimage, switch.json.j2)."""


def seed_of_role(path: str, value: object) -> int | None:
    """Return the hash seed that follows from a fact about the role of a switch, None for any other fact."""
    if path != "system/type":
        return None
    return next((seed for part, seed in _ROLE_SEEDS.items() if part in str(value)), None)


class RateLimit(NamedTuple):
    """A limit on what a port or a queue sends, in percent of the port's speed; `queue` is None for the whole port.

    Attributes:
        storm: whether it limits what a port receives, by storm control.
    """

    queue: int | None
    percent: float
    storm: bool = False


_RATE = re.compile(r"(\d+) ?(percent|kbps|mbps|gbps|[kmg](?!\w))?")


_KBPS = {"kbps": 1, "mbps": 1000, "gbps": 1_000_000, "k": 1, "m": 1000, "g": 1_000_000}


_PORT_LIMITS = ("qos_setting[shape rate]", "qos_setting[shape]", "qos_setting[shaping-rate]")


_STORM = re.compile(r"setting\[storm-control(?: (?:all|unicast|unknown-unicast))?(?: level)?\]")


_LEVEL = re.compile(r"(?:(?:all|unicast|unknown-unicast) )?(?:level )?(\d+(?:\.\d+)?)(?: percent)?")


_QUEUE_LIMIT = re.compile(
    r"(?:qos_setting\[queue (?=\d+ shape rate\])|queue\[)(\d+)"
    r"(?: shape rate\]|\]/(?:qos_)?(?:setting\[shape rate\]|shaping_percent|scheduler))"
)


_CLASS_LIMIT = re.compile(r"qos/setting\[.*q(\d) shape\]")


_LONGEST_PACKET = 9216
"""Bytes of the longest packet: a limit in packets permits no more than so many each."""


def rate_limit(leaf: str, value: object, speed_gbps: int | None) -> RateLimit | None:
    """Return the limit that a fact of a port, or one about a class of all ports, states.

    EOS counts in kb/s where no unit follows `shape rate`, NX-OS states a minimum before the maximum, and the `pir` of a
    SONiC scheduler is in bytes a second (EOS and NX-OS command references, sonic-scheduler.yang).
    """
    text, queue = str(value), None
    if _STORM.fullmatch(leaf):
        level = _LEVEL.fullmatch(text)
        return RateLimit(None, float(level[1]), storm=True) if level else None
    if match := _QUEUE_LIMIT.fullmatch(leaf) or _CLASS_LIMIT.fullmatch(leaf):
        queue = int(match[1])
    elif leaf not in _PORT_LIMITS:
        return None
    if leaf.endswith("/shaping_percent"):
        return RateLimit(queue, float(text)) if is_number(text) else None
    if leaf.endswith("/scheduler"):
        peak = text.partition(" pir ")[2].partition(" ")[0]
        if not is_number(peak) or not speed_gbps:
            return None
        most = _LONGEST_PACKET if "meter_type packets" in text else 1
        return RateLimit(queue, int(peak) * most * 8 * 100 / (speed_gbps * 1e9))
    found = _RATE.search(text.rpartition("max ")[2])
    if found is None:
        return None
    if found[2] == "percent":
        return RateLimit(queue, float(found[1]))
    if not speed_gbps:
        return None
    return RateLimit(queue, int(found[1]) * _KBPS[found[2] or "kbps"] * 100 / (speed_gbps * 1_000_000))
