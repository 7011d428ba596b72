"""Rules between values that a schema cannot state: tiers, routing, MTU, cables and acceptances."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.codes import TITLES
from fabricc.catalog.reach import longest, reaches
from fabricc.fabric.addresses import ASN_BLOCK, TWO_BYTES
from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.fabric import CableKind
    from fabricc.fabric.routing import LoadBalancing
    from fabricc.front.spec.document import Findings
    from fabricc.front.spec.model import Acceptance, Cables, Routing, Tier

PRIVATE_ASNS = (4_200_000_000, 4_294_967_294)  # RFC 6996
TWO_BYTE_BASES = (64_512, TWO_BYTES - 16)  # RFC 6996; 16 ASNs, of which ToRs have 8
ROCE_MTU = 4192  # 4096 + GRH 40 + UDP 8 + BTH 12 + XRC 4 + AtomicETH 28 + ICRC 4 (Linux ib_addr.h)
# Longest cable of a medium at any data-centre speed: 100GBASE-CR4 5 m (IEEE 802.3 clause 92), AEC 7 m and AOC 100 m
# (vendors' longest), 100GBASE-SR10 on OM4 150 m (clause 86), 100GBASE-LR4 10 km (clause 88).
TOR_KEYS_NEEDING_SPINES = (
    "oversubscription",
    "n_minus_1",
    "uplinks",
    "uplink_gbps",
    "border",
    "border_links",
)
SPINE_KEYS_NEEDING_CORES = ("oversubscription", "n_minus_1", "uplinks", "uplink_gbps", "units_per_pod")


def check_spines(spines: Tier, findings: Findings) -> None:
    """Settings of a spine's up-links make sense only with cores above."""
    for key in SPINE_KEYS_NEEDING_CORES:
        if getattr(spines, key) not in (None, False):
            findings.error(
                "FAB2008",
                f"spines.{key} needs 'cores' above the spines",
                "spines",
                key,
                help="Remove it, or add `cores: {model: …, nos: …}`.",
            )


def check_tiers(raw: Mapping[str, Any], findings: Findings) -> None:
    """Each tier has the one below it, ToRs have up-links only to spines, and rails are kept apart or joined."""
    if "spines" not in raw:
        if "cores" in raw:
            findings.error(
                "FAB3050",
                "cores join the spines of several pods, and there are no spines",
                "cores",
                help="Add `spines: {model: …, nos: …}`, or remove `cores`.",
            )
        for key in TOR_KEYS_NEEDING_SPINES:
            if ("tors", key) in findings.document.positions:
                findings.error(
                    "FAB3050",
                    f"tors.{key} needs 'spines' above the ToRs",
                    "tors",
                    key,
                    help="Remove it, or add `spines: {model: …, nos: …}`.",
                )
    written = findings.document.positions
    if raw.get("fabric") == "infiniband" and {("cores",), ("spines", "rails")} <= written.keys():
        findings.error(
            "FAB3055",
            "on InfiniBand each set of spines by rail is a subnet, and cores would join them",
            "spines",
            "rails",
            help="Remove it, or remove `cores`.",
        )
    if ("gpus", "wiring") in findings.document.positions and raw["gpus"]["wiring"] == "rail-only":
        for path, why in ((("spines", "rails"), "says it as well"), (("cores",), "join the rails")):
            if path in findings.document.positions:
                findings.error(
                    "FAB3051",
                    f"wiring: rail-only keeps the rails apart; {'.'.join(path)} {why}",
                    *path,
                    help="Remove it, or write `wiring: rail`.",
                )


def check_load_balancing(balancing: LoadBalancing, findings: Findings) -> None:
    """A pause between flowlets is only said where there are flowlets."""
    if balancing.flowlet_idle_us is not None and balancing.mode is not Spreading.FLOWLET:
        findings.error(
            "FAB2043",
            f"load_balancing.flowlet_idle_us has no meaning with mode {balancing.mode.value}",
            "load_balancing",
            "flowlet_idle_us",
            help="Write `mode: flowlet`, or remove it.",
        )


def check_routing(routing: Routing, findings: Findings) -> None:
    """The ASN block is private and the timers fit each other."""
    least, most = PRIVATE_ASNS[0], PRIVATE_ASNS[1] - ASN_BLOCK + 1
    fewest, last = TWO_BYTE_BASES
    if not (least <= routing.asn_base <= most or fewest <= routing.asn_base <= last):
        nearest = min((fewest, last, least, most), key=lambda each: abs(each - routing.asn_base))
        findings.error(
            "FAB2040",
            f"routing.asn_base {routing.asn_base}: the ASNs from here on are not all private, or too few",
            "routing",
            "asn_base",
            help=f"It ranges from {least} to {most} (RFC 6996), or from {fewest} to {last} for a small fabric; the "
            f"nearest that fits is {nearest}.",
        )
    if routing.hold_s < 3 * routing.keepalive_s:
        findings.error(
            "FAB2041",
            f"routing.hold_s {routing.hold_s} is less than three keepalives of {routing.keepalive_s} s",
            "routing",
            "hold_s" if ("routing", "hold_s") in findings.document.positions else "keepalive_s",
            help=f"The least that fits is hold_s: {3 * routing.keepalive_s} (RFC 4271 section 4.4).",
        )
    if routing.bfd_interval_ms is not None:
        detection_ms = routing.bfd_interval_ms * routing.bfd_multiplier
        if detection_ms >= 1000 * routing.hold_s:
            fits = (1000 * routing.hold_s - 1) // routing.bfd_multiplier
            findings.warning(
                "FAB2042",
                f"BFD detects after {detection_ms} ms, not before the hold time of {routing.hold_s} s",
                "routing",
                "bfd",
                help=f"The largest interval_ms of use is {fits}; or write `bfd: false`.",
            )


def check_mtu(host: int, switch: int, findings: Findings) -> None:
    """Switches carry what hosts send, and hosts send full RoCE packets."""
    written = findings.document.positions
    if host > switch:
        key = "host" if ("mtu", "host") in written else "switch"
        findings.error(
            "FAB2050",
            f"mtu.host {host} is larger than mtu.switch {switch}",
            "mtu",
            key,
            help=f"The largest host MTU that fits is {switch}.",
        )
    if host < ROCE_MTU:
        findings.warning(
            "FAB2051",
            f"mtu.host {host} is too small for a RoCE path MTU of 4096",
            "mtu",
            "host",
            help=f"It needs {ROCE_MTU}: 4096 and 96 bytes of headers.",
        )


def check_cables(cables: Cables, findings: Findings) -> None:
    """A cable is no longer than its medium reaches at any speed; the plan knows more, once it has ports (FAB3026)."""
    for link in ("host", "spine", "core"):
        cable: CableKind = getattr(cables, link)
        if cable.length_m > (most := longest(cable.medium)):
            fits = next(medium for medium in reaches() if longest(medium) >= cable.length_m)
            key = "length_m" if ("cables", link, "length_m") in findings.document.positions else "medium"
            findings.warning(
                "FAB2052",
                f"cables.{link}: {cable.medium} does not reach {cable.length_m} m",
                "cables",
                link,
                key,
                help=f"The longest is {most} m; {fits} reaches {longest(fits)} m.",
            )


def check_acceptances(accept: Sequence[Acceptance], findings: Findings) -> None:
    """Accepted codes exist, stand once, and are of a kind that can be accepted."""
    first: dict[str, int] = {}
    for index, each in enumerate(accept):
        path = ("accept", index, "code")
        if each.code not in TITLES:
            close = get_close_matches(each.code, TITLES, 1)
            findings.error(
                "FAB2061",
                f"no diagnostic has the code {each.code}",
                *path,
                help=f"Did you mean {close[0]} ({TITLES[close[0]]})?" if close else "",
            )
        elif each.code < "FAB2":
            findings.error(
                "FAB2062",
                f"{each.code} cannot be accepted: {TITLES[each.code]}",
                *path,
                help="Repair the file.",
            )
        elif first.setdefault(each.code, index) != index:
            findings.error(
                "FAB2063",
                f"{each.code} is accepted twice",
                *path,
                help=f"Remove accept[{index}] or {first[each.code]}.",
            )
