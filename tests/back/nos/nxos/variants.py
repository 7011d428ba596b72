"""The sample ToR as NX-OS switches: every addressing and QoS variant on both ASIC families."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.fabric.model import Direction
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.nos.enlarged import enlarge_switch
from tests.samples import switch_model, tor, with_radius, with_settings

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch

PORTS = (
    "Ethernet1/1/1", "Ethernet1/1/2", "Ethernet1/2/1", "Ethernet1/2/2", "Ethernet1/3/1", "Ethernet1/4/1",
)  # fmt: skip
CHOICES: dict[str, dict[str, Any]] = {
    "numbered": {},
    "unnumbered": {"unnumbered": True},
    "dual": {"dual": True},
    "dual-unnumbered": {"dual": True, "unnumbered": True},
    "drained": {"drained": True},
    "lossy": {"lossless": False},
    "long": {},
}
RELEASES = {"cloudscale": "10.4", "silicon-one": "10.5"}
VARIANTS = [
    *(f"{family}/{choice}" for family in RELEASES for choice in (*CHOICES, "settings")),
    "cloudscale/radius",
]
GOLDENS = [name for name in VARIANTS if name.startswith("cloudscale")]
PAUSE = [
    {
        "speed_gbps": 400,
        "cable_m": 200,
        "buffer_bytes": 2_000_000,
        "pause_bytes": 900_000,
        "resume_bytes": 800_000,
    },
    {
        "speed_gbps": 400,
        "cable_m": 300,
        "buffer_bytes": 2_500_000,
        "pause_bytes": 900_000,
        "resume_bytes": 800_000,
    },
    {
        "speed_gbps": 800,
        "cable_m": 300,
        "buffer_bytes": 4_500_000,
        "pause_bytes": 900_000,
        "resume_bytes": 800_000,
    },
]
"""Figures for cables of more than 100 m, for tests alone."""
PATTERNS = {"port": "Ethernet1/{cage}", "child": "Ethernet1/{cage}/{child}"}


def variant(name: str) -> Switch:
    """The switch of that name; its uplinks are whole cages on Silicon One."""
    family, _, choice = name.partition("/")
    model = switch_model(nxos={"family": family, "pause": PAUSE, **PATTERNS})
    if choice == "settings":
        return settings_switch(family, model)
    if choice == "radius":
        return with_radius(tor(PORTS, model=model, nos="nxos", release="10.4"))
    switch = tor(PORTS, model=model, nos="nxos", release=RELEASES[family], **CHOICES[choice])
    if choice == "long":
        switch = with_cable_length(switch, 150)
    return whole_uplinks(switch) if family == "silicon-one" else switch


def with_cable_length(switch: Switch, cable_m: int) -> Switch:
    """The switch with uplinks of that length."""
    ports = (replace(p, cable_m=cable_m) if p.direction is Direction.UP else p for p in switch.ports)
    return replace(switch, ports=tuple(ports))


def settings_switch(family: str, model: SwitchModel) -> Switch:
    """The switch with every setting that NX-OS expresses on its family, in the newest release."""
    switch = tor(PORTS, model=model, nos="nxos", release="10.6", dual=True)
    if family == "silicon-one":
        switch = with_settings(whole_uplinks(switch), Spreading.HASH)
        return replace(switch, load_balancing=LoadBalancing())
    switch = with_settings(switch)
    return replace(switch, load_balancing=LoadBalancing(Spreading.FLOWLET, flowlet_idle_us=256))


def whole_uplinks(switch: Switch) -> Switch:
    """The switch with its two uplinks on whole cages of 800 Gb/s."""
    names = {old: old.removesuffix("/1") for old in PORTS[4:]}
    ports = tuple(
        replace(port, name=names[port.name], children=1, lanes=8, speed_gbps=800)
        if port.name in names
        else port
        for port in switch.ports
    )
    sessions = tuple(replace(s, port=names[s.port]) for s in switch.bgp.sessions)
    return replace(switch, ports=ports, bgp=replace(switch.bgp, sessions=sessions))


def large_switch(count: int = 64) -> Switch:
    """The numbered sample with that many ports, half to hosts and half up."""

    def place(index: int) -> dict[str, Any]:
        cage, child = index // 2 + 1, index % 2 + 1
        return {"name": f"Ethernet1/{cage}/{child}", "cage": cage, "child": child}

    return enlarge_switch(variant("cloudscale/numbered"), place, count)
