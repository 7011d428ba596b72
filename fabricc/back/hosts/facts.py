"""Facts of a host: what the Fabric says that its files must state; `facts.yaml` beside this declares them."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.hosts import nccl, roce
from fabricc.back.hosts.gpus import RDMA_MODULES, gpu_of
from fabricc.back.hosts.naming import pci_function
from fabricc.back.hosts.netplan import rule_priority
from fabricc.back.hosts.nics import family_of
from fabricc.back.hosts.systems import SYSTEMS, apply_facts
from fabricc.fabric.vocabulary import waist

if TYPE_CHECKING:
    from fabricc.catalog.model import NicModel
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Host, HostPort
    from fabricc.fabric.qos import TrafficClass
    from fabricc.fabric.vocabulary import Vocabulary

_SYSTEM: Facts = {
    **{
        f"sysctl[net.ipv4.conf.{scope}.{key}]": value
        for scope in ("all", "default")
        for key, value in (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", 2))
    },
    **{
        f"limit[{domain}]/{kind}/memlock": "unlimited"
        for domain in ("*", "root")
        for kind in ("soft", "hard")
    },
    "service_limit[DefaultLimitMEMLOCK]": "infinity",
    **{f"module[{name}]": "load" for name in RDMA_MODULES},
}
_UNIT: Facts = {
    "roce/unit/binds_to": "sys-subsystem-net-devices-%i.device",
    "roce/unit/after": "sys-subsystem-net-devices-%i.device systemd-modules-load.service sys-kernel-config.mount",
    "roce/unit/type": "oneshot",
    "roce/unit/remain_after_exit": "yes",
    "roce/unit/exec_start": "/usr/local/sbin/fabricc-roce %i",
}


@cache
def vocabulary() -> Vocabulary:
    """The facts of hosts."""
    return waist().with_file(Path(__file__).with_name("facts.yaml"))


def host_facts(host: Host) -> Facts:
    """Every fact that the host's files state."""
    known = family_of(host) is not None
    facts = dict(_shared(host.classes, host.nic, host.os, host.spreads_packets) if known else _SYSTEM)
    if not known:
        facts.update(apply_facts(host.os))
    facts.update((f"module[{name}]", "load") for name in gpu_of(host).modules)
    facts.update(nccl.planned(host))
    SYSTEMS[host.os].planned(facts, host)
    for port in host.ports:
        _port_facts(facts, host, port)
        if known:
            roce.port_facts(facts, f"interface[{port.name}]/", roce.row(port), host.classes)
    return facts


@lru_cache(maxsize=64)
def _shared(classes: tuple[TrafficClass, ...], nic: NicModel, system: str, spread: bool) -> Facts:
    return {**_SYSTEM, **_UNIT, **dict(apply_facts(system)), **dict(roce.planned(classes, nic, spread))}


def _port_facts(facts: Facts, host: Host, port: HostPort) -> None:
    prefix = f"interface[{port.name}]/"
    facts[prefix + "mtu"] = port.mtu
    for family, address, gateway, bits, prefixes in (
        ("ipv4", port.ipv4, port.gateway4, 32, host.fabric_prefixes4),
        ("ipv6", port.ipv6, port.gateway6, 128, host.fabric_prefixes6),
    ):
        if address is None:
            continue
        facts[prefix + family] = address
        if gateway is None or not prefixes:
            continue
        for reached in prefixes:
            facts[f"{prefix}route[{reached}]"] = f"via {gateway} table {port.table}"
        source = address.partition("/")[0]
        facts[f"{prefix}rule[{source}/{bits}]"] = f"table {port.table} priority {rule_priority(port.table)}"
    if pci := pci_function(port):
        facts[prefix + "pci"] = pci
        facts[prefix + "link_mtu"] = port.mtu
        for key in ("pause_rx", "pause_tx", "pause_autoneg"):
            facts[prefix + key] = "no"
        facts[prefix + "ring_rx"] = host.nic.ring_rx
        facts[prefix + "ring_tx"] = host.nic.ring_tx
        facts[f"rdma[{port.rdma}]/pci"] = pci
