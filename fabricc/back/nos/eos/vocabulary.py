"""How EOS spells speeds, thresholds, timers and communities; shared by what writes its text and what reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fabricc.fabric.model import Management, Port, Switch
    from fabricc.fabric.qos import PortProfile, SwitchQos, Watchdog

MANAGEMENT_VRF = "MGMT"
MANAGEMENT_INTERFACE = "Management1"  # unless the catalog names another, as of two supervisors
GNMI_PROVIDER = "eos-native"  # the paths of EOS itself beside those of OpenConfig
SSL_PROFILE = "FABRICC"  # of gNMI; the certificate is in the device's store, which a replace leaves alone
GRPC_PORT = 6030  # of gNMI when no `port` says another
# EOS's own list in front of its CPU, `default-control-plane-acl`, knows gNMI at that port alone and cannot be changed.
# What stands for it in the management VRF lets in what that list does of the services there, and gNMI (Arista openmgmt,
# Securing Management Services).
CONTROL_PLANE_LIST = "FABRICC-CONTROL-PLANE"
CONTROL_PLANE = (
    "permit icmp any any",
    "permit ip any any tracked",
    "permit tcp any any eq ssh",
    "permit tcp any any eq https",
    "permit udp any any eq snmp",
    "permit udp any any eq ntp",
)
ACCESS_LIST = "FABRICC-ACCESS"
NOBODY_LIST = "FABRICC-NOBODY"  # who may log in over IPv6 from the fabric: access networks are IPv4
NOBODY = "nobody"
SERVER_GROUP = "FABRICC"
UNTYPEABLE = "untypeable"  # a password that no text fits, for accounts with a key alone
DEFAULT_LLDP_S = 30
DEFAULT_LLDP_HOLD_S = 120
LLDP_HOLD = 4  # announcements that may be lost until a neighbour forgets, IEEE 802.1AB msgTxHold
GTSM_HOPS = (
    1  # a direct neighbour's packets arrive with the TTL they left with, which passes for any number of hops
)

# Without it a session opens unprivileged, whatever the account's level (Arista, Common AAA Requirements).
LOCAL_AAA = {"authorization exec default": "local"}
# `aaa` statements about the group of TACACS+ servers; local accounts answer when no server does.
AAA = {
    "authentication login default": f"group {SERVER_GROUP} local",
    "authorization exec default": f"group {SERVER_GROUP} local",
    "authorization commands all default": f"group {SERVER_GROUP} local",
    "accounting exec default": f"start-stop group {SERVER_GROUP}",
    "accounting commands all default": f"start-stop group {SERVER_GROUP}",
}
# Destination queue pair in the base transport header (InfiniBand Architecture 1.4, 9.2.1): bytes 5 to 7 after the
# 8 bytes of UDP. The trident family takes one byte a line, counted from the UDP header.
QUEUE_PAIR_OFFSETS = (13, 14, 15)
QUEUE_PAIR_BYTES = "5-7"
QUEUE_PAIR_PROFILE = "ROCE-QP"
ROCE_PORT = 4791

# One hash seed per tier, from 1, as EOS's own is 0 and not printed; `trident` takes up to 5 (EOS user manual, IPv4).
HASH_SEEDS = (1, 2, 3)
TRIDENT = "trident"
SAND = "sand"
QUEUE_KEYWORD = {TRIDENT: "uc-tx-queue", SAND: "tx-queue"}

# Arista AVD 6.4, `ethernet_interfaces[].speed`; a single-lane 25G port and slower have no lane suffix.
SPEEDS: dict[tuple[int, int], str] = {
    (10, 1): "10g", (25, 1): "25g", (40, 4): "40g-4", (50, 1): "50g-1", (50, 2): "50g-2",
    (100, 1): "100g-1", (100, 2): "100g-2", (100, 4): "100g-4",
    (200, 1): "200g-1", (200, 2): "200g-2", (200, 4): "200g-4",
    (400, 2): "400g-2", (400, 4): "400g-4", (400, 8): "400g-8",
    (800, 4): "800g-4", (800, 8): "800g-8", (1600, 8): "1.6t-8",
}  # fmt: skip
SPEED_OF = {text: key for key, text in SPEEDS.items()}

# Arista AVD 6.4, `platform.trident.mmu.queue_profiles[].ingress.threshold`: 2**exponent, nothing between.
ALPHAS: dict[int, str] = {
    -7: "1/128", -6: "1/64", -5: "1/32", -4: "1/16", -3: "1/8", -2: "1/4", -1: "1/2",
    0: "1", 1: "2", 2: "4", 3: "8",
}  # fmt: skip
# The most that `headroom-pool limit bytes` takes, by EOS's help on some switch (aristanetworks/avd issue 4921).
HEADROOM_POOL_BYTES = 33_554_432
ALPHA_OF = {text: exponent for exponent, text in ALPHAS.items()}
EGRESS_LOSSLESS_EXPONENT = 3  # the largest: PFC, not the egress limit, is to hold a lossless queue back

# What a watched queue is given of the link before all scheduling: the watchdog asks for some, and as it may go
# before strict queues too (assumed), it is the least there is.
GUARANTEED_PERCENT = 1
QUEUE_MONITOR = "length"  # what EOS samples of its queues
WATCHDOG_ACTIONS = {"drop": "drop", "forward": "notify-only"}
WATCHDOG_RANGE_MS = (10, 60_000)
POLLING_RANGE_MS = (5, 30_000)
BFD_INTERVAL_RANGE_MS = (50, 60_000)
BFD_MULTIPLIER_RANGE = (3, 50)
MAXIMUM_PATHS = 600
MAXIMUM_MTU = 9214
MAXIMUM_PRIORITY = 7

DEFAULT_MTU = 1500
SERVICE_DESCRIPTION = "service port"
DEFAULT_TIMERS_S = (60, 180)

# RFC 1997 and RFC 8326 values that EOS prints by name.
COMMUNITY_NAMES = {
    "65535:0": "GSHUT",
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-as",
}
COMMUNITY_OF = {name: value for value, name in COMMUNITY_NAMES.items()}


def default_traffic_class(dscp: int) -> int:
    """The traffic class EOS gives a code point that no `qos map` names: its class selector, 0 and 1 swapped."""
    selector = dscp >> 3
    return 1 - selector if selector < 2 else selector


@dataclass(frozen=True, slots=True)
class Timers:
    """Watchdog timers in milliseconds as EOS can hold them."""

    timeout_ms: int
    recovery_ms: int
    polling_ms: int


def watchdog_timers(watchdog: Watchdog) -> Timers:
    """The nearest timers EOS accepts, milliseconds.

    Timeout and recovery have steps of 10 ms (rounded up); polling may take at most half of the shorter one.
    """
    timeout = -(-watchdog.detect_ms // 10) * 10
    recovery = -(-watchdog.restore_ms // 10) * 10
    return Timers(timeout, recovery, min(watchdog.poll_ms, min(timeout, recovery) // 2))


def alpha_exponent(dynamic_th: int) -> int:
    """The exponent of the enumerated alpha nearest to 2**dynamic_th."""
    return max(min(ALPHAS), min(max(ALPHAS), dynamic_th))


def watchdog_guards(switch: Switch) -> bool:
    """Whether the PFC watchdog can act: it watches queues with guaranteed bandwidth, which strict ones lack."""
    return switch.qos.watchdog is not None and not any(c.strict for c in switch.qos.lossless)


def roomiest(qos: SwitchQos) -> PortProfile | None:
    """The port profile with the most headroom: safe for a port of any cable; None without a lossless class."""
    return max(qos.profiles, key=lambda profile: profile.headroom.xoff_bytes, default=None)


def fec(port: Port) -> str | None:
    """`rs` where the lanes run at 25 Gb/s or more (IEEE 802.3 clauses 91, 119, 134 and 161), else None."""
    return "rs" if port.speed_gbps >= 25 * port.lanes else None


def settings(switch: Switch) -> Mapping[str, Any]:
    """The catalog's EOS settings of the switch's model."""
    return switch.model.nos["eos"]


def family(switch: Switch) -> str:
    """`trident` or `sand`, by which EOS spells what concerns the ASIC."""
    return str(settings(switch)["family"])


def management_interface(switch: Switch) -> str:
    """The interface that carries the management address."""
    return str(settings(switch).get("management_interface", MANAGEMENT_INTERFACE))


def control_plane(management: Management) -> list[str]:
    """The rules of the list in front of the CPU in the management VRF; none where EOS's own serves."""
    port = management.gnmi_port
    return [] if port in (None, GRPC_PORT) else [*CONTROL_PLANE, f"permit tcp any any eq {port}"]


def is_trident(switch: Switch) -> bool:
    """Whether the ASIC is of the family whose buffers EOS lets one set (Trident and Tomahawk)."""
    return family(switch) == TRIDENT
