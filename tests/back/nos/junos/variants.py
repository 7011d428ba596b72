"""The sample ToR as Junos switches: every addressing and QoS variant, Evolved and classic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.fabric.routing import Reassignment, Spreading
from tests.back.nos.enlarged import enlarge_switch
from tests.samples import switch_model, tor, with_radius, with_settings

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch

PORTS = ("et-0/0/1:0", "et-0/0/1:1", "et-0/0/2:0", "et-0/0/2:1", "et-0/0/3:0", "et-0/0/4:0")
CHOICES: dict[str, dict[str, Any]] = {
    "numbered": {},
    "unnumbered": {"unnumbered": True},
    "dual": {"dual": True},
    "dual-unnumbered": {"dual": True, "unnumbered": True},
    "drained": {"drained": True},
    "lossy": {"lossless": False},
}
VARIANTS = [
    f"{flavour}-{choice}"
    for flavour in ("evo", "classic")
    for choice in (*CHOICES, "settings", "settings-unnumbered")
] + ["evo-radius"]
GOLDENS = [name for name in VARIANTS if name.startswith("evo-")] + [
    "classic-dual-unnumbered",
    "classic-settings",
]


def make_model(flavour: str) -> SwitchModel:
    """The sample model with Junos settings; only Evolved has the buffer settings, as in the catalog."""
    settings: dict[str, Any] = {
        "flavour": flavour,
        "port": "et-0/0/{cage}",
        "child": "et-0/0/{cage}:{child}",
    }
    if flavour == "evo":
        settings |= {
            "lossless_percent": 66, "headroom_percent": 24, "lossy_percent": 10, "dedicated_ingress_percent": 15,
            "dedicated_egress_percent": 30, "cnp_percent": 5, "bfd_least_ms": 1000, "buffer_monitor": True,
        }  # fmt: skip
    return switch_model(junos=settings)


def variant(name: str) -> Switch:
    """The switch of that name."""
    flavour, _, choice = name.partition("-")
    if choice.startswith("settings"):
        return _with_settings(flavour, unnumbered=choice == "settings-unnumbered")
    return with_radius(_make_tor(flavour)) if choice == "radius" else _make_tor(flavour, **CHOICES[choice])


def _with_settings(flavour: str, unnumbered: bool) -> Switch:
    """All settings, but queue pairs on Evolved alone; over unnumbered links other values of them."""
    if unnumbered:
        switch = with_settings(_make_tor(flavour, unnumbered=True), Spreading.PACKET)
        switch = replace(switch, management=replace(switch.management, lldp_interval_s=5))
    else:
        switch = with_settings(_make_tor(flavour, dual=True))
        switch = replace(switch, load_balancing=replace(switch.load_balancing, flowlet_idle_us=128))
    moves = None
    if flavour == "evo" and not unnumbered:
        moves = Reassignment(3, 6)
        switch = replace(switch, model=replace(switch.model, asic_family="tomahawk5"))
    balancing = replace(switch.load_balancing, queue_pairs=flavour == "evo", reassignment=moves)
    return replace(switch, load_balancing=balancing)


def _make_tor(flavour: str, **choices: Any) -> Switch:
    return tor(PORTS, model=make_model(flavour), nos="junos", release="24.4", **choices)


def large_switch(count: int = 64) -> Switch:
    """The numbered sample with that many ports, half to hosts and half up."""
    return enlarge_switch(
        variant("evo-numbered"), lambda index: {"name": f"et-0/0/{index // 2}:{index % 2}"}, count
    )
