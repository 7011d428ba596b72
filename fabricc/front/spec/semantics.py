"""Rules between values that a schema cannot state: tiers, routing, MTU, cables and acceptances."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import TITLES
from fabricc.catalog.optics import load_reaches, longest_reach
from fabricc.fabric.addresses import ASN_BLOCK, TWO_BYTES
from fabricc.fabric.routing import LoadBalancing, Spreading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.fabric.model import CableKind
    from fabricc.front.spec.device_model import Acceptance
    from fabricc.front.spec.document import Findings
    from fabricc.front.spec.model import Cables, Routing, Tier

PRIVATE_ASNS = (4_200_000_000, 4_294_967_294)  # RFC 6996
TWO_BYTE_BASES = (64_512, TWO_BYTES - 16)  # RFC 6996; 16 ASNs, of which ToRs have 8
SPLIT_PLANES = (2, 4)  # NVIDIA nic-configuration-operator, README, Spectrum-X Configuration
ROCE_MTU = 4192  # 4096 + GRH 40 + UDP 8 + BTH 12 + XRC 4 + AtomicETH 28 + ICRC 4 (Linux ib_addr.h)
# Longest cable of a medium at any data-center speed: 100GBASE-CR4 5 m (IEEE 802.3 clause 92), AEC 7 m and AOC 100 m
# (vendors' longest), 100GBASE-SR10 on OM4 150 m (clause 86), 100GBASE-LR4 10 km (clause 88).
TOR_KEYS_NEEDING_SPINES = ("oversubscription", "n_minus_1", "uplinks", "uplink_gbps", "border",
                           "border_links")  # fmt: skip
SPINE_KEYS_NEEDING_CORES = ("oversubscription", "n_minus_1", "uplinks", "uplink_gbps", "units_per_pod")


def check_spines(spines: Tier, findings: Findings) -> None:
    """Settings of a spine's uplinks make sense only with cores above."""
    for key in SPINE_KEYS_NEEDING_CORES:
        if getattr(spines, key) not in (None, False):
            message = f"spines.{key} needs 'cores' above the spines"
            help_ = "Remove it, or add `cores: {model: …, nos: …}`."
            findings.error("FAB2008", message, "spines", key, help=help_)


def check_tiers(raw: Mapping[str, Any], findings: Findings) -> None:
    """Check that each tier has the one below it, that only ToRs below spines have uplinks, and how rails are joined."""
    if "spines" not in raw:
        peers = ("tors", "peer_links") in findings.document.positions
        if "cores" in raw:
            message = "cores join the spines of several pods, and there are no spines"
            help_ = "Add `spines: {model: …, nos: …}`, or remove `cores`."
            findings.error("FAB3050", message, "cores", help=help_)
        for key in TOR_KEYS_NEEDING_SPINES:
            if ("tors", key) in findings.document.positions and not (peers and key == "uplink_gbps"):
                message = f"tors.{key} needs 'spines' above the ToRs"
                help_ = "Remove it, or add `spines: {model: …, nos: …}`."
                findings.error("FAB3050", message, "tors", key, help=help_)
    if "spines" in raw and ("tors", "peer_links") in findings.document.positions:
        message = "tors.peer_links joins two ToRs that have no spines above them"
        findings.error("FAB3061", message, "tors", "peer_links", help="Remove it, or remove `spines`.")
    if ("gpus", "wiring") in findings.document.positions and raw["gpus"]["wiring"] == "rail-only":
        for path, why in (
            (("spines", "rails"), "does so as well"),
            (("cores",), "join the rails"),
            (("tors", "peer_links"), "joins them"),
        ):
            if path in findings.document.positions:
                message = f"wiring: rail-only separates the rails; {'.'.join(path)} {why}"
                findings.error("FAB3051", message, *path, help="Remove it, or write `wiring: rail`.")


def check_planes(planned: int, present: int, findings: Findings) -> None:
    """Check that there are more planes in the plan than exist now."""
    if present >= planned:
        message = f"planes_present is {present}, and `planes` plans {planned}"
        help_ = f"Write `planes_present` below {planned}, or remove it." if planned > 1 else "Remove it."
        findings.error("FAB2044", message, "planes_present", help=help_)


def check_plane_split(planes: int, split: str, findings: Findings) -> None:
    """Check that a NIC can split a transfer over this number of planes, and that the plan can have its addresses."""
    if split == "hardware":
        message = "a NIC that splits planes in hardware has one address for its ports, and the plan has one for each"
        help_ = "Write `plane_split: software`, or `none`: NCCL then uses every port as a device of its own."
        findings.error("FAB2046", message, "plane_split", help=help_)
    elif split != "none" and planes not in SPLIT_PLANES:
        fitting = " or ".join(map(str, SPLIT_PLANES))
        message = f"plane_split: {split} is for {fitting} planes, and `planes` is {planes}"
        help_ = f"Write `planes: {SPLIT_PLANES[0]}` or `planes: {SPLIT_PLANES[1]}`, or `plane_split: none`."
        findings.error("FAB2045", message, "plane_split", help=help_)


def check_load_balancing(balancing: LoadBalancing, findings: Findings) -> None:
    """Check that each setting belongs to the mode: a pause between flowlets needs flowlets."""
    if balancing.flowlet_idle_us is not None and balancing.mode is not Spreading.FLOWLET:
        message = f"load_balancing.flowlet_idle_us has no meaning with mode {balancing.mode.value}"
        help_ = "Write `mode: flowlet`, or remove it."
        findings.error("FAB2043", message, "load_balancing", "flowlet_idle_us", help=help_)
    if balancing.reassignment is not None and balancing.mode is not Spreading.FLOWLET:
        message = f"load_balancing.reassignment has no meaning with mode {balancing.mode.value}"
        help_ = "Write `mode: flowlet`, or remove it."
        findings.error("FAB2043", message, "load_balancing", "reassignment", help=help_)
    if balancing.global_paths and balancing.mode is Spreading.HASH:
        message = "load_balancing.global has no meaning with mode hash, which measures no load"
        findings.error(
            "FAB2043", message, "load_balancing", "global", help="Write `mode: flowlet` or `packet`."
        )


def check_routing(routing: Routing, findings: Findings) -> None:
    """The ASN block is private and the timers fit each other."""
    least, most = PRIVATE_ASNS[0], PRIVATE_ASNS[1] - ASN_BLOCK + 1
    fewest, last = TWO_BYTE_BASES
    if not (least <= routing.asn_base <= most or fewest <= routing.asn_base <= last):
        nearest = min((fewest, last, least, most), key=lambda each: abs(each - routing.asn_base))
        message = (
            f"routing.asn_base {routing.asn_base}: the ASNs from here on are not all private, or too few"
        )
        help_ = (
            f"It ranges from {least} to {most} (RFC 6996), or from {fewest} to {last} for a small fabric; the "
            f"nearest that fits is {nearest}."
        )
        findings.error("FAB2040", message, "routing", "asn_base", help=help_)
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
            message = f"BFD detects after {detection_ms} ms, not before the hold time of {routing.hold_s} s"
            help_ = f"The largest interval_ms of use is {fits}; or write `bfd: false`."
            findings.warning("FAB2042", message, "routing", "bfd", help=help_)


def check_mtu(host: int, switch: int, findings: Findings) -> None:
    """Switches carry what hosts send, and hosts send full RoCE packets."""
    written = findings.document.positions
    if host > switch:
        key = "host" if ("mtu", "host") in written else "switch"
        message = f"mtu.host {host} is larger than mtu.switch {switch}"
        findings.error("FAB2050", message, "mtu", key, help=f"The largest host MTU that fits is {switch}.")
    if host < ROCE_MTU:
        message = f"mtu.host {host} is too small for a RoCE path MTU of 4096"
        help_ = f"It needs {ROCE_MTU}: 4096 and 96 bytes of headers."
        findings.warning("FAB2051", message, "mtu", "host", help=help_)


def check_cables(cables: Cables, findings: Findings) -> None:
    """A cable is no longer than its medium reaches at any speed; the plan knows more, once it has ports (FAB3026)."""
    own = ("peer",) if ("cables", "peer") in findings.document.positions else ()
    for link in ("host", "spine", "core", *own):
        cable: CableKind = getattr(cables, link)
        if cable.length_m > (most := longest_reach(cable.medium)):
            fits = next(medium for medium in load_reaches() if longest_reach(medium) >= cable.length_m)
            key = "length_m" if ("cables", link, "length_m") in findings.document.positions else "medium"
            message = f"cables.{link}: {cable.medium} does not reach {cable.length_m} m"
            help_ = f"The longest is {most} m; {fits} reaches {longest_reach(fits)} m."
            findings.warning("FAB2052", message, "cables", link, key, help=help_)


ACCEPTED_LINE = "FAB9065"
"""Lines that fabricc does not interpret; a spec may accept single ones by their text."""


def check_acceptances(accept: Sequence[Acceptance], findings: Findings) -> None:
    """Accepted codes exist, stand once, and are of a kind that can be accepted."""
    first: dict[str, int] = {}
    for index, each in enumerate(accept):
        path = ("accept", index, "code")
        if each.code not in TITLES:
            close = get_close_matches(each.code, TITLES, 1)
            help_ = f"Did you mean {close[0]} ({TITLES[close[0]]})? " if close else ""
            help_ += f"If an earlier version reported it, remove accept[{index}]."
            findings.error("FAB2061", f"no diagnostic has the code {each.code}", *path, help=help_)
        elif each.code < "FAB2":
            message = f"{each.code} cannot be accepted: {TITLES[each.code]}"
            findings.error("FAB2062", message, *path, help="Repair the file.")
        elif bool(each.line) != (each.code == ACCEPTED_LINE):
            message = f"{each.code} is accepted {'with' if each.line else 'without'} a line"
            help_ = f"Only {ACCEPTED_LINE} has a line: `{{code: {ACCEPTED_LINE}, line: ..., reason: ...}}`."
            findings.error("FAB9066", message, *path, help=help_)
        elif first.setdefault(each.code + each.line, index) != index:
            message = f"{each.code} is accepted twice"
            findings.error(
                "FAB2063", message, *path, help=f"Remove accept[{index}] or {first[each.code + each.line]}."
            )
