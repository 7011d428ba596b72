"""`frr.conf` on SONiC: what its image, its templates and bgpcfgd make of FRR besides the plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.back.nos.frr.conf import GracefulRestart, render_frr_conf
from fabricc.back.nos.frr.defaults import BFD_INTERVAL_MS, BFD_MULTIPLIER, BFD_PROFILE
from fabricc.back.nos.frr.planned import routing_facts as frr_facts
from fabricc.back.nos.frr.planned import ttl_security_facts
from fabricc.back.nos.sonic.limits import BFD, MULTIPATH_LIMIT, has, release_of

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch
    from fabricc.fabric.routing import Bgp

LOG_FACILITY = "local4"  # common/daemons.common.conf.j2 of all branches
SOURCE_MAPS = {"ip": "RM_SET_SRC", "ipv6": "RM_SET_SRC6"}
"""Route maps that bgpcfgd pushes into FRR in every routing mode, as soon as Loopback0 has an address of that family
(managers_setsrc.py, zebra.set_src.conf.j2 of all branches): a frr.conf without them differs for ever."""
GRACEFUL_RESTART = GracefulRestart(restart_s=240, defer_s=45)
"""Of ToRs alone, as in the image's own template (bgpd.main.conf.j2, constants.yml of all branches)."""


def as_run(switch: Switch) -> Switch:
    """The switch without BFD where its release starts no bfdd, or no session needs it."""
    bgp = switch.bgp
    if bgp.bfd_interval_ms is None or (bgp.sessions and has(switch, BFD)):
        return switch
    return replace(switch, bgp=replace(bgp, bfd_interval_ms=None))


def bfd_profile(bgp: Bgp) -> str | None:
    """The profile of BFD's timers; None for FRR's own timers, which need none.

    bgpcfgd starts bfdd after `vtysh -b` has read frr.conf (managers_bfd.py), so what frr.conf says to bfdd itself is
    lost at every start of the container, while bgpd registers its sessions anew.
    """
    own = (bgp.bfd_interval_ms, bgp.bfd_multiplier) == (BFD_INTERVAL_MS, BFD_MULTIPLIER)
    return None if own else BFD_PROFILE


def frr_conf(switch: Switch) -> str:
    """`frr.conf` of a switch; addresses and descriptions of ports are in `config_db.json`."""
    return render_frr_conf(
        as_run(switch),
        router_interfaces=False,
        extra_head=release_of(switch).head,
        multipath_limit=MULTIPATH_LIMIT,
        log_facility=LOG_FACILITY,
        bfd_profile=bfd_profile(switch.bgp),
        route_maps_of_source=SOURCE_MAPS,
        graceful_restart=None if switch.tier_index else GRACEFUL_RESTART,
    )


def routing_facts(switch: Switch) -> Facts:
    """What the reader finds in `frr.conf` beyond the facts of the waist."""
    facts: Facts = {"log/facility": LOG_FACILITY}
    for (keyword, name), address in zip(
        SOURCE_MAPS.items(), (switch.loopback4, switch.loopback6), strict=True
    ):
        if address:
            facts[f"bgp/source[{keyword}]"] = f"{address} by {name}"
    if not switch.tier_index:
        facts["bgp/graceful_restart/on"] = facts["bgp/graceful_restart/keeps_routes"] = "true"
        facts["bgp/graceful_restart/restart_s"] = GRACEFUL_RESTART.restart_s
        facts["bgp/graceful_restart/defer_s"] = GRACEFUL_RESTART.defer_s
    run = as_run(switch)
    head = release_of(switch).head
    return facts | ttl_security_facts(run) | frr_facts(run, head, bfd_profile(run.bgp))
