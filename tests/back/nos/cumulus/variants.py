"""Sample switches with Cumulus settings, one of each kind that the back end renders differently."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fabricc.back.nos.cumulus.limits import GNMI_SERVER, TRIMMING, has
from fabricc.fabric.model import Account, Switch
from fabricc.fabric.qos import Trimming
from fabricc.fabric.routing import LoadBalancing, Spreading
from fabricc.fabric.shape import TierName
from tests import samples

NAMES = ("swp1s0", "swp1s1", "swp2s0", "swp2s1", "swp3s0", "swp4s0")
SETTINGS: dict[str, Any] = {"port": "swp{cage}", "model": "sn5600", "ecmp_paths": 128}


def tor(release: str = "", **options: Any) -> Switch:
    """The sample ToR with Cumulus's port names."""
    model = samples.switch_model(cumulus=SETTINGS)
    return samples.tor(NAMES, model=model, nos="cumulus", release=release, **options)


def whole_cages() -> Switch:
    """A ToR without a breakout, whose account is the switch's own, that marks nothing and has no BFD."""
    switch = tor(unnumbered=True, dual=True)
    ports = tuple(
        replace(port, name=f"swp{at}", cage=at, child=1, children=1, lanes=8, speed_gbps=800)
        for at, port in enumerate(switch.ports, 1)
    )
    sessions = tuple(
        replace(session, port=ports[4 + at].name) for at, session in enumerate(switch.bgp.sessions)
    )
    profiles = tuple(replace(profile, ecn=None) for profile in switch.qos.profiles)
    return replace(
        switch,
        ports=ports,
        bgp=replace(switch.bgp, sessions=sessions, bfd_interval_ms=None),
        qos=replace(switch.qos, profiles=profiles),
        management=replace(
            switch.management,
            users=(Account("cumulus", "ssh-rsa AAAAB3NzaC1yc2E sample"),),
            ntp=(), dns=(), syslog=(),
        ),
    )  # fmt: skip


def with_everything() -> Switch:
    """A dual-stack ToR with every setting that NVUE has words for: packets spread one by one, and trimmed."""
    switch = samples.with_settings(tor(dual=True))
    return replace(
        switch,
        load_balancing=LoadBalancing(Spreading.PACKET),
        qos=replace(switch.qos, trimming=Trimming(256, 48, 6, (0,))),
    )


def parallel_tor(**options: Any) -> Switch:
    """A ToR that spreads packets over two links to one spine."""
    switch = replace(tor(**options), load_balancing=LoadBalancing(Spreading.PACKET))
    up = {session.port for session in switch.bgp.sessions}
    ports = tuple(
        replace(port, peer=replace(port.peer, device="spine01a")) if port.name in up and port.peer else port
        for port in switch.ports
    )
    return replace(switch, ports=ports)


def open_gnmi() -> Switch:
    """A ToR whose gNMI server has a port of its own, which everyone may reach."""
    switch = tor(unnumbered=True)
    return replace(switch, management=replace(switch.management, gnmi_port=50_051))


def isolated_tor() -> Switch:
    """A ToR with a lossless class that no port has, and without neighbors."""
    switch = tor()
    ports = tuple(replace(port, profile=None) for port in switch.ports)
    return replace(switch, ports=ports, bgp=replace(switch.bgp, sessions=()))


VARIANTS: dict[str, Switch] = {
    "numbered": tor(),
    "unnumbered": tor(unnumbered=True),
    "dual": tor(dual=True),
    "dual-unnumbered": tor(dual=True, unnumbered=True),
    "drained": tor(drained=True),
    "lossy": tor(lossless=False),
    "whole-cages": whole_cages(),
    "settings": with_everything(),
    "radius": samples.with_radius(tor()),
    "open-gnmi": open_gnmi(),
    "parallel": parallel_tor(dual=True),
    "alone": isolated_tor(),
    "spine": replace(tor(dual=True), tier=TierName.SPINE, unit=None),
}


def variant(name: str, release: str = "") -> Switch:
    """A variant for a release, without the settings that the release does not have."""
    switch = replace(VARIANTS[name], release=release)
    if not has(switch, GNMI_SERVER):
        switch = replace(switch, management=replace(switch.management, gnmi_port=None))
    if not has(switch, TRIMMING):
        switch = replace(switch, qos=replace(switch.qos, trimming=None))
    return switch
