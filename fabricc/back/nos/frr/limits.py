"""Limits of plain FRR on Linux and its releases, with the source of every entry."""

from __future__ import annotations

from fabricc.back.nos.frr.words import MULTIPATH_LIMIT
from fabricc.back.nos.limits import (
    Limit,
    Range,
    Reservation,
    System,
    always_supported,
    distinguishers_limit,
    log_certificate,
    open_management_limit,
)

RELEASES = ("8.4", "9.1", "10.0", "10.3", "10.4", "10.5", "10.6", "10.7")
DEFAULT_RELEASE = "10.0"

_LOADED = "loaded into FRR 8.4.4's own daemons by the tests; later releases by FRR's user guide 10.3"
_HASH = "Linux hashes only addresses, protocol and ports of a flow (ip-sysctl, fib_multipath_hash_fields)"
_QUEUES = (
    "no option in iproute2 6.1 (tc, dcb, devlink) and ethtool 6.1 of Debian 12, and FRR leaves queues alone"
)


RECOVERING_GROUPS = Limit(feature="kernel next-hop groups that recover from a port flap", since="9.1",
    source="FRRouting pull request 13413; 8.4 does not use them (`no zebra nexthop kernel enable`)",
)  # fmt: skip
LIMITS = (
    Limit("FAB5201", feature="lossless class {it}",
        requested=lambda s: [", ".join(c.name for c in s.qos.lossless)] if s.qos.lossless else [],
        reason="plain FRR on Linux has no PFC: the ASIC's driver sets priorities, headroom and watchdog, "
        "and iproute2's dcb works only where a driver implements it",
        remedy="use another system of `fabricc catalog MODEL`, or accept FAB5201 with a reason, as a lab does"),
    Limit("FAB5201", feature="marking of lossy class {it}",
        requested=lambda s: [", ".join(c.name for c in s.qos.marked if not c.lossless)]
        if any(not c.lossless for c in s.qos.marked) else [],
        reason="plain FRR on Linux has no ECN setting of the ASIC's queues, which are left to its driver",
        remedy="leave `ecn` out of the class, use another system of `fabricc catalog MODEL`, or accept FAB5201 "
        "with a reason, as a lab does"),
    Limit("FAB5205", feature="{it} equal-cost paths", requested=lambda switch: [switch.bgp.maximum_paths],
        allowed={"it": Range(0, MULTIPATH_LIMIT)},
        reason=f"FRR packages are built with --enable-multipath={MULTIPATH_LIMIT} and refuse a larger number",
        remedy=f"lower the maximum to {MULTIPATH_LIMIT}, or use a NOS with its own build of FRR"),
    Reservation("FAB5202", feature="classification, scheduling and ECN",
        requested=lambda switch: len(switch.qos.classes) > 1,
        reason="queues of the switching ASIC have no setting common to Linux drivers",
        remedy="use another system of `fabricc catalog MODEL` where the classes matter; routing works without them"),
    Reservation("FAB5202", setting="interface[",
        reason="queues of the switching ASIC have no setting common to Linux drivers, so nothing is lossless either",
        remedy="use a NOS that sets code points on ports to outside parties"),
    Reservation("FAB5203", feature="breakout and speed of ports",
        requested=lambda switch: any(port.children > 1 for port in switch.ports),
        reason="a cage is split with `devlink port split` by the driver's own indexes, before interfaces exist",
        remedy="split the cages once when the switch is installed; names follow as swp3s0, swp3s1"),
    Reservation("FAB5204", feature="local accounts", requested=lambda switch: bool(switch.management.users),
        reason="accounts and their keys belong to the Debian installation, not to FRR",
        remedy="create them with the installer, for instance preseed or cloud-init", section="management"),
    distinguishers_limit(),
    Reservation("FAB5832", feature="VXLAN in hardware",
        requested=lambda switch: switch.vtep is not None or bool(switch.tenants and switch.tenants.source),
        reason="its driver decides whether the ASIC forwards VXLAN; otherwise the CPU does, far slower",
        remedy="look for `offload` in `bridge fdb` and `ip route` of one ToR before you rely on it"),
    *(
        Reservation("FAB5207", setting=setting,
            reason="it is a package of the Debian installation, not part of FRR",
            remedy="install and configure it with the system, for instance by the same means as the accounts")
        for setting in ("management/tacacs/", "management/radius/", "management/snmp/", "management/snmp_trap[",
                        "management/gnmi_port",
                        "management/ntp_key", "management/banner")
    ),
    *(
        Limit("FAB5208", setting=setting,
            remedy="leave it out, or use a NOS that programs the ASIC's load balancing", source=_HASH)
        for setting in (
            "load_balancing/mode", "load_balancing/flowlet_idle_us", "load_balancing/queue_pairs",
            "load_balancing/global", "load_balancing/reassignment/",
        )
    ),
    Limit("FAB5209", setting="trimming/",
        remedy="leave it out, or use sonic or cumulus on a switch whose ASIC trims", source=_QUEUES),
    Limit("FAB5209", setting="link_retry", remedy="leave it out", source=_QUEUES),
    RECOVERING_GROUPS,
    log_certificate("update-ca-certificates(8); rsyslog, gtls network stream driver",
        "install rsyslog-gnutls, put it at /usr/local/share/ca-certificates/{it}.crt, run update-ca-certificates"),
    open_management_limit("sshd listens at all local addresses, those of the fabric too",
        "sshd_config(5), ListenAddress"),
    *always_supported(
        RELEASES[0],
        ("BGP over unnumbered links", "neighbor … interface, no ipv6 nd suppress-ra", _LOADED),
        ("BFD of BGP sessions", "bfd profile, neighbor … bfd profile", _LOADED),
        ("bgp/ttl_security", "neighbor … ttl-security hops 1", _LOADED),
        ("management/access", "nftables.conf", "nft of Debian 12, which the tests run"),
        ("management/syslog_tls", "omfwd, StreamDriver gtls", "rsyslog 8.2302 of Debian 12, omfwd"),
        ("evpn/",
         "bridge-vlan-aware, vxlan-id, vrf-table, address-family l2vpn evpn, advertise-all-vni, vrf … vni",
         "FRR 8.4.4 and ifupdown2 3.0 on Linux 6.1, which carried packets of hosts between VTEPs"),
        ("tenant[", "vrf-table, vrf, route replace unreachable default",
         "kernel documentation, networking/vrf; ifupdown2's module vrf"),
    ),
)  # fmt: skip
SYSTEM = System("FRR", RELEASES, DEFAULT_RELEASE, LIMITS, never=("{source}", "{remedy}"), unknown="FAB5206")
has, gaps = SYSTEM.has, SYSTEM.gaps
