"""Cumulus Linux's releases, how NVUE spells things in each, and what it cannot express, with the sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.nos import limits
from fabricc.back.nos.cumulus import words
from fabricc.back.nos.limits import Limit, Range, Reservation, System
from fabricc.base.values import dataclass, replace
from fabricc.catalog.support import release_numbers
from fabricc.fabric.routing import LoadBalancing, Spreading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Cumulus Linux (source: NVIDIA's NVUE OpenAPI documents, as PyPI `nvueschema` 0.1.0 has them).

    Attributes:
        on, off: the words of most switches; `enable`: the key of most of them.
        auto_save: key and word below `system config auto-save` that turn it off; a push saves what it confirmed.
        dns, syslog, ntp: whether the servers are below `service <name> <vrf>` instead of `system <name>`.
        lldp, snmp: whether they are below `service` or `system`.
        lldp_state: LLDP can be switched on and off.
        snmp_switch: key and word that switch the SNMP agent on.
        tacacs_by_address: TACACS+ servers are named by their addresses and have a priority; before, they are
            named by it and have a host, and TACACS+ has a switch of its own.
        login_list: the order of login methods is a list, not a mapping by number.
        family_addresses: interfaces have separate `ipv4`, `ipv6` and `vrf`, not one `ip` around all three.
        bfd_profiles: BFD timers are in a profile of `router bfd`, not in the peer group.
        ebgp_paths: largest number of equal-cost paths.
        reboot_mode: whether the factory configuration has `system reboot mode`.
        key_types: SSH public keys that an account may have.
        l3vxi: a VNI of a VRF has a device of its own instead of a VLAN. 5.18 has it as a beta.
    """

    name: str
    on: str = "on"
    off: str = "off"
    enable: str = "enable"
    auto_save: tuple[str, str] = ("state", "disabled")
    dns: str = "service"
    syslog: str = "service"
    ntp: str = "service"
    lldp: str = "service"
    lldp_state: bool = False
    snmp: str = "service"
    snmp_switch: tuple[str, str] = ("enable", "on")
    tacacs_by_address: bool = False
    login_list: bool = False
    family_addresses: bool = False
    bfd_profiles: bool = False
    ebgp_paths: int = 128
    reboot_mode: bool = True
    l3vxi: bool = False
    key_types: frozenset[str] = frozenset(
        {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-ed25519", "ssh-rsa"}
    )

    @property
    def version(self) -> str:
        """Return the version in the header of a switch of this release."""
        return f"Cumulus Linux {self.name}.0"


_5_10 = Release("5.10")
_5_11 = replace(
    _5_10, name="5.11", dns="system", lldp_state=True, snmp="system", snmp_switch=("state", "enabled")
)
_5_12 = replace(_5_11, name="5.12", tacacs_by_address=True)
_5_13 = replace(_5_12, name="5.13", syslog="system")
_5_15 = replace(_5_13,
    name="5.15", on="enabled", off="disabled", enable="state", ntp="system", lldp="system", login_list=True,
    family_addresses=True, bfd_profiles=True, ebgp_paths=256, reboot_mode=False,
)  # fmt: skip
RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        replace(_5_10, name="5.9", auto_save=("enable", "off")), _5_10, _5_11, _5_12, _5_13,
        replace(_5_13, name="5.14"), _5_15,
        *(replace(_5_15, name=name) for name in ("5.16", "5.17", "5.18")), replace(_5_15, name="5.19", l3vxi=True),
    )
}  # fmt: skip
DEFAULT_RELEASE = "5.14"

_HOST_NAME = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")
_DESCRIPTION_LENGTH = 255
_BFD_MS, _BFD_MULTIPLIER, _HOLD_S = Range(50, 60_000), Range(2, 255), Range(3, 65_535)
_ADAPTIVE_ASIC, _ADAPTIVE_SPEEDS = "spectrum4", (200, 400)
_LATER_ADAPTIVE_ASICS, _LATER_ADAPTIVE_RELEASE = ("spectrum5", "spectrum6"), "5.19"
"""Support of adaptive routing (NVIDIA, Equal Cost Multipath Load Sharing, Cumulus Linux 5.14 and 5.19, a draft)."""

_TRIMMING_ASICS, _TRIMMED_BYTES, _TRIMMED_STEP = ("spectrum4", "spectrum5"), Range(256, 1024), 4
"""Support and sizes of packet trimming (NVIDIA, Packet Trimming, Cumulus Linux 5.14)."""


def release_of(name: str) -> Release:
    """Return the release of that name, the default one when there is none of it."""
    return RELEASES.get(name, RELEASES[DEFAULT_RELEASE])


def _invalid_description(switch: Switch) -> list[str]:
    """Return the first text that is no description, of ports and of BGP's neighbors."""
    of_ports = [port.description for port in switch.ports if not _is_description(port.description)]
    of_peers = [session.peer for session in switch.bgp.sessions if not _is_description(session.peer)]
    return [text[:40] for text in of_ports[:1] + of_peers[:1]]


def _is_description(text: str) -> bool:
    return 1 <= len(text) <= _DESCRIPTION_LENGTH and text.isascii() and text.isprintable()


def _profile_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    """Headroom and marking of the profiles that ports have."""
    marks = {mark["profile"]: mark for mark in limits.marking_figures(switch)}
    unmarked = dict.fromkeys(("min_bytes", "ramp_bytes", "max_percent"))
    for profile in words.used_profiles(switch):
        if (headroom := profile.headroom) is None or switch.qos.vendor:
            continue
        yield {
            **marks.get(profile.name, {"profile": profile.name, **unmarked}),
            "headroom": headroom,
            "pause_bytes": words.pause_bytes(headroom),
            "offset_bytes": headroom.xon_offset_bytes or 0,
            "cable_m": headroom.cable_m,
        }


def _changed_alphas(switch: Switch) -> Iterator[tuple[str, str]]:
    """Yield the requested thresholds with the written one, if they differ."""
    profiles = words.used_profiles(switch)
    alpha = words.shared_alpha(profiles)
    requested = sorted({profile.headroom.dynamic_th for profile in profiles if profile.headroom})
    if alpha is not None and requested != [alpha] and not switch.qos.vendor:
        yield ", ".join(f"2^{exponent}" for exponent in requested), words.ALPHAS[alpha]


def _watchdog_timers(switch: Switch) -> Iterator[dict[str, Any]]:
    """Yield timers of the watchdog as requested and as NVUE stores them."""
    for requested in limits.list_watchdogs(switch):
        held = words.watchdog_timers(requested)
        same = (requested.poll_ms, requested.detect_ms) == (held.polling_ms, held.detect_ms)
        exact = same or held.robustness not in Range(*words.ROBUSTNESS_RANGE)
        yield {"requested": requested, "held": held, "polls": held.robustness, "exact": exact}


def _most_paths(switch: Switch) -> int:
    return min(release_of(switch.release).ebgp_paths, int(switch.model.nos["cumulus"]["ecmp_paths"]))


def _replaced_communities(switch: Switch) -> list[str]:
    named = {community_list.community for community_list in switch.bgp.community_lists}
    added = {c.add_community for rows in switch.bgp.route_maps for c in rows.clauses if c.add_community}
    return [", ".join(sorted(added))] if added and named - added else []


def _unsupported_keys(switch: Switch) -> Iterator[tuple[str, str, str]]:
    """Accounts, the kind of their keys and those that there are, where a key is of no such kind."""
    types = release_of(switch.release).key_types
    for account in switch.management.users:
        kind, key = words.ssh_key(account)
        if kind not in types or not key:
            yield account.name, kind, ", ".join(sorted(types))


def _beside_adaptive_routing(switch: Switch) -> list[tuple[str, str]]:
    """Return why requested adaptive routing does not work, the speed of a port or the ASIC, and the ways out."""
    if switch.load_balancing.mode is not Spreading.PACKET:
        return []
    speeds = {port.speed_gbps for port in switch.ports if port.direction in words.FABRIC}
    beside = sorted(speeds.difference(_ADAPTIVE_SPEEDS))
    family, release = switch.model.asic_family, release_numbers(release_of(switch.release).name)
    if family in _LATER_ADAPTIVE_ASICS and release >= release_numbers(_LATER_ADAPTIVE_RELEASE):
        return []
    if family in _LATER_ADAPTIVE_ASICS:
        return [(switch.model.asic, f"use release {_LATER_ADAPTIVE_RELEASE} or later, or `mode: hash`")]
    if family != _ADAPTIVE_ASIC:
        return [(switch.model.asic, "use `mode: hash`")]
    if not beside:
        return []
    return [(f"ports of {beside[0]} Gb/s", _SLOWER_LINKS)]


def _other_modes(switch: Switch, refused: Spreading) -> list[str]:
    """Return the modes that a switch has in place of a refused one, if that one is requested."""
    if switch.load_balancing.mode is not refused:
        return []
    reasons = _beside_adaptive_routing(replace(switch, load_balancing=LoadBalancing(Spreading.PACKET)))
    ways = {way for _, way in reasons}
    if not ways:
        return ["`mode: packet` or `hash`"]
    if _SLOWER_LINKS in ways:
        return ["`mode: hash`, or `packet` with `tors.uplink_gbps` of 200 or 400"]
    if switch.model.asic_family in _LATER_ADAPTIVE_ASICS:
        return [f"`mode: hash`, or `packet` with release {_LATER_ADAPTIVE_RELEASE} or later"]
    return ["`mode: hash`"]


def _has_trimming(switch: Switch) -> bool:
    return switch.model.asic_family in _TRIMMING_ASICS


def _odd_sizes(switch: Switch) -> list[int]:
    sizes = [switch.qos.trimming.size_bytes] if switch.qos.trimming and _has_trimming(switch) else []
    return [size for size in sizes if size not in _TRIMMED_BYTES or size % _TRIMMED_STEP]


_PER_PACKET = "adaptive routing decides for every packet, and NVUE has no flowlets"
_PER_PACKET_SOURCE = "NVIDIA, Equal Cost Multipath"
_SLOWER_LINKS = (
    "between Spectrum-4 switches write `tors.uplink_gbps: 400`, with cores also `spines.uplink_gbps: 400`; else use "
    "`mode: hash`"
)
GNMI_SERVER = Limit("FAB5719", setting="management/gnmi_port",
    reason="`system gnmi-server` begins with {since}; in {release} gNMI is part of NetQ's agent, which NVUE does not "
    "configure",
    remedy="use release {since} or later, or enable it in NetQ's agent and leave it out here", since="5.13",
)  # fmt: skip
NTP_KEYS = Limit("FAB5841", setting="management/ntp_key",
    reason="`system ntp key` begins with {since}, this is {release}",
    remedy="use release {since} or later, or leave it out and set it with your configuration management", since="5.15",
)  # fmt: skip
RADIUS_ACCOUNTING = Reservation("FAB5842", setting="management/radius/", feature="accounting by RADIUS",
    reason="`system aaa radius accounting` begins with {since}, this is {release}", source="NVUE object model",
    remedy="use release {since} or later, or TACACS+", since="5.11",
)  # fmt: skip
TRIMMING = Limit("FAB5723", setting="trimming/",
    reason="`packet-trim` begins with {since}, this is {release}", remedy="use release {since} or later",
    since="5.14",
)  # fmt: skip
LIMITS = (
    NTP_KEYS,
    Limit("FAB5841", setting="management/syslog_tls",
        reason="`protocol` of a log server is udp or tcp; accepted, messages go over UDP 514, unencrypted",
        source="NVUE object model, 5.9 to 5.18; NVIDIA, Syslog Commands",
        remedy="leave it out, and name a relay in the management network that forwards over TLS"),
    Limit("FAB5841", setting="management/snmp_trap[",
        reason="a user of `trap-destination` needs the engine ID of each switch",
        source="NVUE object model, 5.9 to 5.18",
        remedy="leave `traps` out, and set them with your configuration management"),
    RADIUS_ACCOUNTING,
    limits.segments_limit("fabricc does not write it for Cumulus yet"),
    limits.distinguishers_limit(),
    Limit("FAB5726", feature="{it} VRFs of tenants",
        requested=lambda switch: [len(switch.tenants.tenants)] if switch.tenants else [],
        allowed={"it": Range(0, words.MOST_VRFS)}, reason=f"a switch has {words.MOST_VRFS} VRFs at most",
        remedy="spread the tenants over more ToRs"),
    Limit("FAB5702", feature="ports of {it} Gb/s", requested=limits.port_speeds, allowed={"it": words.SPEEDS},
        reason="`link speed` has no value for it", source="NVUE object model",
        remedy="use one of " + ", ".join(f"{speed}G" for speed in words.SPEEDS)),
    Limit("FAB5703", feature="IP MTU {it}", requested=lambda switch: sorted({port.mtu for port in switch.ports}),
        allowed={"it": Range(*words.MTU_RANGE)}, reason="`link mtu` takes {allowed[it]}",
        remedy="set an MTU from {allowed[it]}"),
    Limit("FAB5704", feature="{it[0]} ports of {it[1]} lanes out of one cage",
        requested=lambda switch: sorted(
            {
                (port.children, port.lanes)
                for port in switch.ports
                if port.children not in words.LANES_PER_PORT
                or (port.children > 1 and port.lanes not in words.LANES_PER_PORT)
            }
        ),
        reason="`link breakout` has 1x, 2x, 4x and 8x, of 1, 2, 4 or 8 lanes each",
        remedy="use such a breakout"),
    Limit("FAB5714", feature="description {it!r}", requested=_invalid_description,
        reason=f"a description has 1 to {_DESCRIPTION_LENGTH} printable ASCII characters",
        remedy="use shorter names, of ASCII characters"),
    Limit("FAB5714", feature="host name {it}",
        requested=lambda switch: [] if _HOST_NAME.fullmatch(switch.name) else [switch.name],
        reason="`system hostname` has letters, digits and hyphens, at most 63, and ends in no hyphen",
        remedy="name the switch so"),
    Limit("FAB5705",
        feature="class {it.name} on priority {it.priority} with {it.weight_percent} % of the bandwidth",
        requested=lambda switch: [
            c
            for c in switch.qos.classes
            if not 0 <= c.priority <= 7 or not (c.strict or 1 <= c.weight_percent <= 100)
        ],
        reason="switch priorities and traffic classes are 0 to 7, `bw-percent` 1 to 100",
        remedy="choose both within these ranges"),
    Limit("FAB5705", feature="{it} % of the bandwidth",
        requested=lambda switch: [sum(c.weight_percent for c in switch.qos.classes if not c.strict)],
        allowed={"it": Range(0, 100)}, reason="the shares of an egress scheduler are 100 % at most",
        remedy="lower the weights"),
    Limit("FAB5706",
        feature="headroom of {profile}: {headroom.size_bytes} bytes, {headroom.xoff_bytes} of them behind the pause",
        requested=_profile_figures,
        allowed={"pause_bytes": Range(2), "offset_bytes": (0,), "cable_m": Range(1, 100_000)},
        reason="`qos pfc` takes a port buffer of which less than all is behind `xoff-threshold`: the model of Spectrum "
        "ASICs",
        remedy="leave out `buffers.headroom_oversubscription`, which NVUE does not take, or correct the row of the "
        "model's table"),
    Limit("FAB5727", feature="classes of {it} that are not trusted",
        requested=lambda switch: [p.name for p in switch.ports if not p.trusted][:1] if switch.qos.vendor else [],
        reason="`qos roce` trusts the code points of every port (NVIDIA, RDMA over Converged Ethernet)",
        remedy="leave `qos: vendor` out, or write `trust_dscp: true` if code points mean the same there"),
    Reservation("FAB5728", feature="headroom and pools of `qos roce`",
        requested=lambda switch: [switch.qos.vendor.cable_m] if switch.qos.vendor else [],
        reason="NVUE sizes them itself for cables of {it} m; no file states them, so they are not proved",
        remedy="compare `nv show qos roce` and `nv show interface PORT qos buffer` with `fabricc plan` on one switch"),
    limits.marking_limit("FAB5708",
        "`congestion-control` takes thresholds from 1 byte, ascending, and a probability up to 100 %",
        _profile_figures, least_percent=0),
    Reservation("FAB5707", feature="alpha {it[0]} for lossless priority groups", requested=_changed_alphas,
        reason=f"NVUE has one alpha for all of them, from {words.ALPHAS[min(words.ALPHAS)]} to "
        f"{words.ALPHAS[max(words.ALPHAS)]}; "
        "written is {it[1]}",
        remedy="give every cable class the same dynamic threshold, within the range"),
    Limit("FAB5709", feature="PFC watchdog detection {requested.detect_ms} ms with polls of {held.polling_ms} ms",
        requested=_watchdog_timers, allowed={"polls": Range(*words.ROBUSTNESS_RANGE)},
        reason=f"`robustness` is {words.ROBUSTNESS_RANGE[1]} polls at most",
        remedy="shorten the detection time or lengthen the polls"),
    Reservation("FAB5710",
        feature="PFC watchdog detection {requested.detect_ms} ms with polls of {requested.poll_ms} ms",
        requested=_watchdog_timers, allowed={"exact": (True,)},
        reason=f"NVUE polls every {Range(*words.POLLING_RANGE_MS)} ms and detects after a whole number of polls; "
        "written are {held.detect_ms} and {held.polling_ms} ms",
        remedy="none needed, or set the values that are configured"),
    limits.watchdog_action("FAB5711", "Cumulus Linux only drops the packets that a storm blocks"),
    limits.paths_limit("FAB5712", _most_paths,
        "Cumulus Linux {release} takes {most} on {model} (`multipaths ebgp`)"),
    Limit("FAB5713",
        feature="BFD every {it.bfd_interval_ms} ms, {it.bfd_multiplier} times, hold time {it.hold_s} s",
        requested=lambda switch: [
            bgp
            for bgp in (switch.bgp,)
            if bgp.hold_s not in _HOLD_S
            or bgp.bfd_interval_ms not in _BFD_MS
            or (bgp.bfd_interval_ms is not None and bgp.bfd_multiplier not in _BFD_MULTIPLIER)
        ],
        reason=f"NVUE takes BFD intervals of {_BFD_MS} ms, multipliers of {_BFD_MULTIPLIER} and hold times from "
        f"{_HOLD_S.low} s",
        remedy="set the timers within these ranges"),
    Reservation("FAB5717", feature="adding the community {it} to those of a route",
        requested=_replaced_communities, reason="`set community` of a route map puts it in place of all others",
        remedy="none for the fabric's own graceful shutdown; else match the community before it is replaced"),
    Limit("FAB5715", feature="account {it[0]} with a key of type {it[1]}", requested=_unsupported_keys,
        reason="an authorized key is one of {it[2]}", remedy="give the account such a key"),
    limits.open_management_limit("SSH listens on all interfaces in all VRFs",
        "NVIDIA Cumulus Linux, SSH for Remote Access: SSH and VRFs"),
    limits.accounts_limit("FAB5716",
        f"the account `{words.OWN_ACCOUNT}` stays without a usable password, so no login would work",
        f"name at least one user with a key, be it `{words.OWN_ACCOUNT}`: {limits.USERS}"),
    GNMI_SERVER,
    Limit("FAB5720", setting="load_balancing/mode", requested=_beside_adaptive_routing,
        reason="adaptive routing is for Spectrum-4 at 200 and 400 Gb/s, from 5.19 on also for later ASICs, and this "
        "switch has {it[0]}",
        remedy="{it[1]}"),
    Limit("FAB5721", setting="load_balancing/mode",
        requested=lambda switch: _other_modes(switch, Spreading.FLOWLET), reason=_PER_PACKET,
        source=_PER_PACKET_SOURCE,
        remedy="use {it}"),
    replace(
        limits.cluster_limit("FAB5721", "{it}"),
        requested=lambda switch: _other_modes(switch, Spreading.CLUSTER),
    ),
    Limit("FAB5721", setting="load_balancing/flowlet_idle_us", reason=_PER_PACKET,
        source=_PER_PACKET_SOURCE,
        remedy="leave `flowlet_idle_us` out"),
    *(
        Limit("FAB5721", setting=f"load_balancing/{setting}", reason=_PER_PACKET, source=_PER_PACKET_SOURCE,
            remedy=f"leave `{setting.rstrip('/')}` out")
        for setting in ("global", "reassignment/")
    ),
    Limit("FAB5722", setting="load_balancing/queue_pairs",
        reason="`ecmp-hash` has no field of the RoCE transport header", source="NVUE object model",
        remedy="leave it out; more queue pairs per connection spread by their UDP source ports"),
    Limit("FAB5725", setting="interface[",
        reason="a mapping sets only the class, and `qos remark` also rewrites code points of the fabric's own packets",
        source="NVIDIA, Quality of Service, Mark and Remark Traffic",
        remedy="clear the code points of lossless classes at the far end and accept FAB5725, or "
        "write `trust_dscp: true` if they mean the same there"),
    TRIMMING,
    Limit("FAB5723", setting="trimming/",
        requested=lambda switch: [switch.model.asic] if switch.qos.trimming and not _has_trimming(switch) else [],
        reason="it is for Spectrum-4 and Spectrum-5, this is {it}", remedy="leave it out", where=TRIMMING),
    Limit("FAB5723", setting="trimming/", requested=_odd_sizes,
        reason=f"`size` is {_TRIMMED_BYTES} bytes in steps of {_TRIMMED_STEP}, and not {{it}}",
        remedy="choose such a size", where=TRIMMING),
    Limit("FAB5724", setting="link_retry",
        reason="no object model of NVUE has it, from 5.0 to 5.18 (nvueschema 0.1.0); NVIDIA documents it for "
        "InfiniBand ports of MLNX-OS only",
        remedy="leave it out"),
)  # fmt: skip
SYSTEM = System("Cumulus Linux", tuple(RELEASES), DEFAULT_RELEASE, LIMITS, unknown="FAB5701")
has, gaps = SYSTEM.has, SYSTEM.gaps
