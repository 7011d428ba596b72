"""The sample ToR as EOS switches: every addressing and QoS variant on both families."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.fabric.routing import Spreading
from tests.back.nos.enlarged import enlarge_switch
from tests.samples import switch_model, tor, with_radius, with_settings

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

PORTS = ("Ethernet1/1", "Ethernet1/5", "Ethernet2/1", "Ethernet2/5", "Ethernet3/1", "Ethernet4/1")
CHOICES: dict[str, dict[str, Any]] = {
    "numbered": {},
    "unnumbered": {"unnumbered": True},
    "dual": {"dual": True},
    "dual-unnumbered": {"dual": True, "unnumbered": True},
    "drained": {"drained": True},
    "lossy": {"lossless": False},
}
FAMILIES = ("trident", "sand", "delay")  # `delay` is the sand family where EOS marks by delay
VARIANTS = [
    *(f"{family}-{choice}" for family in FAMILIES for choice in (*CHOICES, "settings")),
    "trident-radius",
]
GOLDENS = [name for name in VARIANTS if name.startswith("trident-")] + [
    "sand-numbered",
    "sand-dual-unnumbered",
    "sand-settings",
    "delay-numbered",
]


def variant(name: str) -> Switch:
    """The switch of that name."""
    family, _, choice = name.partition("-")
    eos: dict[str, Any] = {"family": family, "port": "Ethernet{cage}/{lane}"}
    if family == "delay":
        eos |= {"family": "sand", "ecn_delay": {"step_us": 1}}
    model = switch_model(eos=eos)
    if choice == "settings":
        mode = Spreading.FLOWLET if family == "trident" else Spreading.HASH
        return with_settings(tor(PORTS, model=model, nos="eos", release="4.33", dual=True), mode)
    if choice == "radius":
        return with_radius(tor(PORTS, model=model, nos="eos", release="4.33"))
    release = "4.33" if family == "delay" else "4.32"
    return tor(PORTS, model=model, nos="eos", release=release, **CHOICES[choice])


def make_chassis() -> Switch:
    """The sand sample with all settings as a switch of two supervisors."""
    switch = variant("sand-settings")
    eos = {**switch.model.nos["eos"], "management_interface": "Management0"}
    return replace(switch, model=replace(switch.model, nos={"eos": eos}))


def large_switch(count: int = 64) -> Switch:
    """The numbered sample with that many ports, half to hosts and half up."""
    return enlarge_switch(
        variant("trident-numbered"),
        lambda index: {"name": f"Ethernet{index // 2 + 1}/{1 + 4 * (index % 2)}"},
        count,
    )
