"""Sample switches with SONiC settings, one of each kind that the back end renders differently."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.fabric.qos import BufferPools, Trimming, Watchdog
from fabricc.fabric.routing import LoadBalancing
from fabricc.fabric.shape import TierName
from tests import samples

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

NAMES = ("Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12", "Ethernet16", "Ethernet24")

MELLANOX: dict[str, Any] = {
    "platform": "x86_64-nvidia_sn5600-r0",
    "hwsku": "ACS-SN5600",
    "asic_vendor": "mellanox",
    "port_step": 8,
    "alias": "etp{cage}",
    "alias_style": "letters",
    "lanes": [list(range(8 * cage, 8 * cage + 8)) for cage in range(4)],
    "breakouts": {
        "1x800": "1x800G[400G,200G,100G,50G,40G,25G,10G]",
        "2x400": "2x400G[200G,100G,50G,40G,25G,10G]",
        "4x200": "4x200G[100G,50G,25G,10G]",
    },
    "service_ports": [{"name": "Ethernet512", "lanes": [512], "alias": "etp65", "index": 65, "speed": 25000}],
}
BROADCOM: dict[str, Any] = {
    **MELLANOX,
    "platform": "x86_64-arista_7060x6_64pe",
    "hwsku": "Arista-7060X6-64PE",
    "asic_vendor": "broadcom",
    "alias": "Ethernet{cage}/{lane}",
    "alias_style": "lane",
    "lanes": [[17, 18, 19, 20, 21, 22, 23, 24], *([first + i for i in range(8)] for first in (1, 9, 25))],
    "breakouts": {},
    "service_ports": [],
}


def tor(settings: dict[str, Any] = MELLANOX, **options: Any) -> Switch:
    """The sample ToR with SONiC's port names."""
    model = samples.switch_model(sonic=settings)
    return samples.tor(NAMES, model=model, nos="sonic", **options)


def broadcom_tor() -> Switch:
    """A ToR with the pools of Arista-7060X6-64PE-O128S2: shared headroom, a relative xon, static thresholds."""
    switch = tor(BROADCOM, dual=True)
    profiles = tuple(
        replace(p, headroom=replace(p.headroom, size_bytes=18796, xon_bytes=0, xon_offset_bytes=3556))
        for p in switch.qos.profiles
    )
    pools = BufferPools(
        ingress_lossless_bytes=166_115_492,
        headroom_bytes=29_423_360,
        egress_lossless_bytes=166_115_492,
        egress_lossy_bytes=None,
        egress_lossless_static=True,
        egress_pool_static=False,
        egress_lossless_limit_bytes=167_546_528,
        lossy_ingress_limit_bytes=167_546_528,
        lossy_egress_bytes=1778,
        lossy_egress_alpha=0,
    )
    return replace(switch, qos=replace(switch.qos, profiles=profiles, pools=pools))


def trimming_tor() -> Switch:
    """A ToR that trims best-effort packets into the queue of notifications, on a chip known to trim."""
    switch = tor(release="202505")
    limits = replace(switch.model.buffers.limits, trim_bytes=(256, 1024))
    model = replace(switch.model, buffers=replace(switch.model.buffers, limits=limits))
    return replace(switch, model=model, qos=replace(switch.qos, trimming=Trimming(256, 48, 6, (0,))))


VARIANTS: dict[str, Switch] = {
    "numbered": tor(),
    "unnumbered": tor(unnumbered=True),
    "dual": tor(dual=True),
    "drained": tor(drained=True),
    "lossy": tor(lossless=False),
    "broadcom": broadcom_tor(),
    "trimming": trimming_tor(),
    "settings": replace(samples.with_settings(tor(dual=True)), load_balancing=LoadBalancing()),
    "radius": samples.with_radius(tor()),
    "spine": replace(tor(dual=True), tier=TierName.SPINE, unit=None),
}

LOSSY = VARIANTS["lossy"]
EDGES = (
    replace(LOSSY, qos=replace(LOSSY.qos, trimming=Trimming(256, 48, 6, (0,)))),
    replace(LOSSY, qos=replace(LOSSY.qos, watchdog=Watchdog(200, 400, 200, "drop"))),
)
"""Settings of a switch without a lossless class that need one on SONiC."""
