"""Facts of a host: what the Fabric says that its files must state.

netplan/version, netplan/renderer
interface[rail0]/mtu, ipv4, ipv6, link_local, accept_ra, optional      addressing; sets comma-joined
interface[rail0]/route[10.0.0.0/8]  = via 10.0.0.0 table 100           reached through this rail
interface[rail0]/rule[10.0.0.1/32]  = table 100 priority 1000          what leaves by this rail
interface[rail0]/pci, link_mtu, pause_rx, pause_tx, pause_autoneg, ring_rx, ring_tx
interface[rail0]/rdma, cable_m, trust, pfc, ecn, started_unit          priorities comma-joined
rdma[mlx5_r0]/pci                                                      which device gets the name
qos/dscp[26]/priority, qos/priority[3]/traffic_class, qos/traffic_class[3]/scheduler
qos/rdma_dscp, qos/cnp_dscp, qos/cnp_priority                          code points, never bytes with ECN bits
roce/procedure, roce/unit/...                                          digest of the script; its unit
nccl/hca, socket_ifname, dscp, control_dscp, roce_version, address_family, address_range, cross_nic, ...
sysctl[key], limit[domain]/kind/item, module[name]
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.hosts import nccl
from fabricc.hosts.classes import PRIORITIES, nic_qos
from fabricc.hosts.netplan import rule_priority
from fabricc.hosts.roce import pci_function, planned_procedure

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Host, HostPort, TrafficClass

CONNECTX_DRIVER = "mlx5_core"

_SYSTEM: Facts = {
    "netplan/version": 2,
    "netplan/renderer": "networkd",
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
    **{f"module[{name}]": "load" for name in ("ib_umad", "rdma_cm", "rdma_ucm", "nvidia_peermem")},
}
_UNIT: Facts = {
    "roce/unit/binds_to": "sys-subsystem-net-devices-%i.device",
    "roce/unit/after": "sys-subsystem-net-devices-%i.device systemd-modules-load.service sys-kernel-config.mount",
    "roce/unit/type": "oneshot",
    "roce/unit/remain_after_exit": "yes",
    "roce/unit/exec_start": "/usr/local/sbin/fabricc-roce %i",
}


def is_connectx(host: Host) -> bool:
    """Whether the NIC settings files apply to the host's NICs."""
    return host.model.nic.driver == CONNECTX_DRIVER


def host_facts(host: Host) -> Facts:
    """Every fact that the host's files state."""
    facts = dict(_SYSTEM)
    facts.update(nccl.planned(host))
    connectx = is_connectx(host)
    if connectx:
        facts.update(_qos_facts(host.classes))
    for port in host.ports:
        _port_facts(facts, host, port, connectx)
    return facts


def _port_facts(facts: Facts, host: Host, port: HostPort, connectx: bool) -> None:
    prefix = f"interface[{port.name}]/"
    facts[prefix + "mtu"] = port.mtu
    facts[prefix + "link_local"] = "none"
    facts[prefix + "accept_ra"] = "false"
    facts[prefix + "optional"] = "true"
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
        facts[prefix + "ring_rx"] = facts[prefix + "ring_tx"] = 8192
        facts[f"rdma[{port.rdma}]/pci"] = pci
    if connectx:
        qos = nic_qos(host.classes)
        facts[prefix + "rdma"] = port.rdma
        facts[prefix + "cable_m"] = port.cable_m
        facts[prefix + "trust"] = "dscp"
        facts[prefix + "pfc"] = _set(qos.pfc)
        facts[prefix + "ecn"] = _set(qos.ecn)
        facts[prefix + "started_unit"] = "fabricc-roce"


def _set(flags: tuple[bool, ...]) -> str:
    return ",".join([str(priority) for priority in PRIORITIES if flags[priority]])


@lru_cache(maxsize=64)
def _qos_facts(classes: tuple[TrafficClass, ...]) -> Facts:
    qos = nic_qos(classes)
    facts: Facts = {"roce/procedure": planned_procedure(), **_UNIT}
    for dscp, priority in enumerate(qos.dscp_priority):
        facts[f"qos/dscp[{dscp}]/priority"] = priority
    for priority, weight in enumerate(qos.schedulers):
        facts[f"qos/priority[{priority}]/traffic_class"] = priority
        facts[f"qos/traffic_class[{priority}]/scheduler"] = "strict" if weight is None else f"dwrr {weight}"
    if qos.rdma_dscp is not None:
        facts["qos/rdma_dscp"] = qos.rdma_dscp
    if qos.cnp:
        facts["qos/cnp_dscp"], facts["qos/cnp_priority"] = qos.cnp
    return facts
