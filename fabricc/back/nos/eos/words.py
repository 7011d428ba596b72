"""Words of EOS: port names, speeds, thresholds, communities, ranges, defaults, settings kept by their first words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.reading import Captured, Fact, Keep, Row, Silent, rows
from fabricc.fabric.model import SECRET_PREFIX, Management, Switch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.catalog.model import SwitchModel

DISCARD = "Null0"
"""The next hop of a route that drops its packets."""
MANAGEMENT_VRF = "MGMT"
MANAGEMENT_INTERFACE = "Management1"  # unless the catalog names another, as of two supervisors
SYSLOG_PROFILE = "FABRICC-SYSLOG"  # TLS profile of log servers
SSL_PROFILE = "FABRICC"  # of gNMI; the certificate is in the device's store, which a replace leaves alone
GRPC_PORT = 6030  # of gNMI unless `port` sets another
# The built-in ACL of EOS, `default-control-plane-acl`, permits gNMI at that port alone and cannot be changed. The ACL
# that replaces it in the management VRF permits the same management services, and gNMI (Arista openmgmt, Securing
# Management Services).
CONTROL_PLANE = (
    "permit icmp any any", "permit ip any any tracked", "permit tcp any any eq ssh",
    "permit tcp any any eq https", "permit udp any any eq snmp", "permit udp any any eq ntp",
)  # fmt: skip

TRIDENT = "trident"
SAND = "sand"
COUNTS_ON_PORTS = frozenset({"4.30"})
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
LARGEST_POOL_BYTES = 8 * HEADROOM_POOL_BYTES
"""More than the packet buffer of any switch of the Trident and Tomahawk families."""
ALPHA_OF = {text: exponent for exponent, text in ALPHAS.items()}

WATCHDOG_RANGE_MS = (10, 60_000)
POLLING_RANGE_MS = (5, 30_000)
KINDS = (
    "Ethernet", "Port-Channel", "Management", "Loopback", "Vlan", "Vxlan", "Tunnel", "Recirc-Channel", "Dps",
)  # fmt: skip
_TYPED = re.compile(r"([A-Za-z-]+)\d")
BFD_INTERVAL_RANGE_MS = (50, 60_000)
BFD_MULTIPLIER_RANGE = (3, 50)
MAXIMUM_PATHS = 600
MAXIMUM_MTU = 9214
MAXIMUM_PRIORITY = 7

# RFC 1997 and RFC 8326 values that EOS prints by name.
COMMUNITY_NAMES = {
    "65535:0": "GSHUT", "65535:65281": "no-export", "65535:65282": "no-advertise", "65535:65283": "local-as",
}  # fmt: skip
COMMUNITY_OF = {name: value for value, name in COMMUNITY_NAMES.items()}


def expand_ports(text: str) -> Captured:
    """Return ports by their full names, although a user may have typed an abbreviation."""
    found = _TYPED.match(text)
    if found is None or found[1] in KINDS:
        return rows.parse_ports(text)
    kinds = [kind for kind in KINDS if kind.lower().startswith(found[1].lower())]
    return rows.parse_ports(f"{kinds[0]}{text[found.end(1) :]}" if len(kinds) == 1 else text)


def secret_reference(secret: str) -> str:
    """Return a reference to a secret unchanged; any other secret is masked."""
    return secret if secret.startswith(SECRET_PREFIX) else "set"


def alpha_exponent(dynamic_th: int) -> int:
    """Return the exponent of the enumerated alpha nearest to 2**dynamic_th."""
    return max(min(ALPHAS), min(max(ALPHAS), dynamic_th))


def catalog_settings(switch: Switch) -> Mapping[str, Any]:
    """Return the catalog's EOS settings of the switch's model."""
    return switch.model.nos["eos"]


def asic_family(switch: Switch) -> str:
    """Return `trident` or `sand`: EOS uses other keywords for each ASIC family."""
    return str(catalog_settings(switch)["family"])


def management_interface(switch: Switch) -> str:
    """Return the interface that has the management address."""
    return str(catalog_settings(switch).get("management_interface", MANAGEMENT_INTERFACE))


def control_plane(management: Management) -> list[str]:
    """Return the rules of the control-plane ACL of the management VRF; none if the ACL of EOS suffices."""
    port = management.gnmi_port
    return [] if port in (None, GRPC_PORT) else [*CONTROL_PLANE, f"permit tcp any any eq {port}"]


def is_trident(switch: Switch) -> bool:
    """Return whether the ASIC belongs to the family with configurable buffers (Trident and Tomahawk)."""
    return asic_family(switch) == TRIDENT


def counts_in_profiles(switch: Switch) -> bool:
    """Return whether a QoS profile can count ECN marks: since EOS 4.31 (release notes)."""
    return switch.release not in COUNTS_ON_PORTS


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """Return the name of child `child` (from 1) of `children` of front-panel cage `cage` (from 1).

    A child is named after its first lane; a cage of a single lane has no lane in its name.

    Raises:
        KeyError: the catalog has no EOS settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than requested children.
    """
    nos = model.nos["eos"]
    group = model.split_cage(cage, child, children)
    lane = (child - 1) * (group.lanes // children) + 1
    pattern = str(nos["port"])
    if group.lanes == 1:
        pattern = pattern.removesuffix("/{lane}")
    if not model.chassis:
        return pattern.format(cage=cage, lane=lane)
    slot, position = divmod(cage - 1, int(nos["cages_per_slot"]))
    return pattern.format(slot=int(nos["first_slot"]) + slot, cage=position + 1, lane=lane)


def service_ports(model: SwitchModel) -> list[str]:
    """Return the names of the cages that are not for the fabric, which stay shut."""
    return [port_name(model, cage, 1, 1) for cage in model.service_cages()]


def setting_rows(path: str, outer: int, patterns: Iterable[str], about: str = "") -> tuple[Row, ...]:
    """Return a row for each pattern: the fact `path[words]`, with the text of `<rest>` or `true` as its value.

    Args:
        path: prefix of the facts; it may contain captures of the enclosing blocks.
        outer: the number of those captures.
        patterns: words, captures of a word, and at the end `<rest>`; or `...` for what is left as a part of the key, of
            lines that there may be several of.
        about: words in front of those of the line, such as the block that it is in; captures may be in them.
    """
    return tuple(Fact(*_name_row(path, outer, pattern, about)) for pattern in patterns)


def stored_rows(name: str, outer: int, patterns: Iterable[str], about: str = "") -> tuple[Row, ...]:
    """Return rows like `setting_rows`, whose values are stored in the scope of their block under `name[words]`."""
    return tuple(Keep(*_name_row(name, outer, pattern, about)) for pattern in patterns)


def default_rows(patterns: Iterable[str]) -> tuple[Row, ...]:
    """Return rows of explicit defaults: each pattern after `no` and after `default`."""
    return tuple(Silent(f"(no|default) {pattern}") for pattern in patterns)


def _name_row(path: str, outer: int, pattern: str, about: str) -> tuple[str, str, str | None]:
    """Return the pattern, the path or name, and the value of a row."""
    several = pattern.endswith("...")
    pattern = pattern.removesuffix("...") + "<rest>" * several
    words = " ".join([*about.split(), *_key_words(pattern.split(), outer, several=several)])
    return pattern, f"{path}[{words}]", None if pattern.endswith("<rest>") and not several else "true"


def _key_words(words: Iterable[str], outer: int, *, several: bool) -> Iterator[str]:
    for word in words:
        if word == "<rest>" and not several:
            return
        if word[0] == "<":
            yield f"{{{outer}}}"
            outer += 1
        else:
            yield word
