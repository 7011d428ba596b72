"""Differences of hosts by hardware: how the NICs of a driver are set, and what depends on the maker of the GPUs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts.words import parse_decimal
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.fabric.facts import Value
    from fabricc.fabric.model import Host
    from fabricc.fabric.qos import TrafficClass

IWARP = "iwarp"
PRIORITIES = range(8)
PAUSE_SETTINGS = ("RxFlowControl", "TxFlowControl", "AutoNegotiationFlowControl")  # systemd.link(5)
ECT_0 = 2  # RFC 3168, section 5: the sender's transport is ECN-capable


@dataclass(frozen=True, slots=True)
class Family:
    """NICs of one driver.

    Attributes:
        procedure: templates that make up the script's procedure for them, in order.
        ecn_bits: bits of the traffic-class byte besides the code point: mlx5 expects ECT(0), others take the
            byte as it is.
        cannot: settings that its tools lack or do not show.
        kept: options in the NIC's own memory that RDMA needs and the script does not write.
        unset_cnp: True if nothing sets the code point of congestion notifications.
        link_pause: settings of 802.3x pause that its driver takes from a .link file.
    """

    procedure: tuple[str, ...]
    ecn_bits: int = 0
    cannot: str = ""
    kept: str = ""
    unset_cnp: bool = False
    link_pause: tuple[str, ...] = PAUSE_SETTINGS


FAMILIES = {
    "mlx5_core": Family(("nic-pause.sh", "nic-dcb.sh", "nic-connectx.sh", "nic-mlxconfig.sh"), ecn_bits=ECT_0),
    # AMD, ROCm cluster networking, and node-scraper (NicPlugin) look at these three with `niccli nvm -getoption`;
    # node-scraper tries `-dev N nvm -getoption` and then `--dev N nvm --getoption`, as releases of niccli differ.
    "bnxt_en": Family(("nic-pause.sh", "nic-dcb.sh", "nic-plain.sh", "nic-bnxt.sh"),
        kept="support_rdma, performance_profile, pcie_relaxed_ordering"),
    "ice": Family(("nic-pause.sh", "nic-dcb.sh", "nic-plain.sh", "nic-irdma.sh"), unset_cnp=True,
        link_pause=("RxFlowControl", "TxFlowControl")),  # ice_set_pauseparam refuses another autonegotiation
    "ionic": Family(("nic-ionic.sh",),
        cannot="nicctl sets no cable length", link_pause=()),  # ionic_set_pauseparam ends PFC
}  # fmt: skip
"""Driver -> family."""


def family_of(host: Host) -> Family | None:
    """Return the family of the host's NICs; None for a driver that nothing is written for."""
    return FAMILIES.get(host.nic.driver)


def over_tcp(host: Host) -> bool:
    """Return whether the host's RDMA runs over TCP (iWARP, RFC 5040)."""
    return host.nic.transport == IWARP


def tos_byte(dscp: int) -> int:
    """Return the IP traffic-class byte (RFC 2474 DSCP, RFC 3168 ECN) of ECN-capable packets with this code point.

    mlx5 takes only the upper six bits from it, so two such bytes mean the same when their `>> 2` are equal.
    """
    return dscp << 2 | ECT_0


def code_point(text: str) -> Value:
    """Return the DSCP of a traffic-class byte, or the text itself when it is none."""
    byte = parse_decimal(text)
    return byte >> 2 if isinstance(byte, int) else byte


@dataclass(frozen=True, slots=True)
class NicQos:
    """The contract in a NIC's terms; every tuple has one entry per priority, `dscp_priority` one per code point.

    Attributes:
        schedulers: weight in percent of that traffic class, or None where it is strict.
        rdma_dscp: code point of RDMA payload: that of the host's class, or of the first lossless one; else None.
        cnp: code point and priority of congestion notification packets, or None.
    """

    dscp_priority: tuple[int, ...]
    schedulers: tuple[int | None, ...]
    pfc: tuple[bool, ...]
    ecn: tuple[bool, ...]
    rdma_dscp: int | None
    cnp: tuple[int, int] | None


def host_qos(host: Host) -> NicQos:
    """Return the NICs' side of the fabric's traffic classes on a host."""
    return nic_qos(host.classes, host.rdma_class)


@lru_cache(maxsize=64)
def nic_qos(classes: tuple[TrafficClass, ...], rdma_class: str = "") -> NicQos:
    """The NIC's side of the fabric's traffic classes; `rdma_class`: that of RDMA, "" for the first lossless one."""
    of_dscp = {dscp: c.priority for c in classes for dscp in c.dscps}
    of_priority = {c.priority: c for c in classes}
    rdma = next((c for c in classes if (c.name == rdma_class if rdma_class else c.lossless)), None)
    cnp = next((c for c in classes if c.cnp), None)
    return NicQos(
        # A code point of no class keeps the NIC's own default, its three class-selector bits.
        dscp_priority=tuple(of_dscp.get(dscp, dscp >> 3) for dscp in range(64)),
        schedulers=tuple(_scheduler_weight(of_priority.get(priority)) for priority in PRIORITIES),
        pfc=tuple(p in of_priority and of_priority[p].lossless for p in PRIORITIES),
        ecn=tuple(p in of_priority and of_priority[p].ecn for p in PRIORITIES),
        rdma_dscp=rdma.data_dscp if rdma else None,
        cnp=(cnp.data_dscp, cnp.priority) if cnp else None,
    )


def _scheduler_weight(traffic_class: TrafficClass | None) -> int | None:
    if traffic_class is None:
        return 0
    return None if traffic_class.strict else traffic_class.weight_percent


def traffic_classes(
    classes: tuple[TrafficClass, ...], limit: int
) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """Return the traffic class of each priority, and the scheduler of each traffic class as in `NicQos`.

    A NIC with all eight has one for each priority. One with fewer numbers the fabric's classes from 0 in order of
    their priorities; a priority of no class then goes where priority 0 goes.
    """
    if limit >= len(PRIORITIES):
        return tuple(PRIORITIES), nic_qos(classes).schedulers
    number = {c.priority: index for index, c in enumerate(classes)}
    rest = number.get(0, 0)
    return (
        tuple(number.get(priority, rest) for priority in PRIORITIES),
        tuple(_scheduler_weight(traffic_class) for traffic_class in classes),
    )


@dataclass(frozen=True, slots=True)
class Gpu:
    """The GPUs of one maker.

    Attributes:
        modules: loaded at boot in addition to those of RDMA, so that NICs reach the memory of the GPUs.
        modules_template: the template that lists them.
        settings: path of the settings of the collective library; "" without one.
        extra: settings of that library in addition to those of the fabric, by the leaves of their facts.
        pxn: True if PXN helps, the way over the GPUs' own links to a NIC on the rail of the destination.
        resource: name of a GPU in Kubernetes.
    """

    modules: tuple[str, ...]
    modules_template: str
    settings: str
    extra: tuple[tuple[str, int], ...]
    pxn: bool
    resource: str


GPUS = {
    "nvidia": Gpu(("nvidia_peermem",), "modules.conf.j2", "etc/nccl.conf", (), pxn=True, resource="nvidia.com/gpu"),
    # RCCL (ROCm; `src/misc/param.cc`, `rocmwrap.cc`, `graph/paths.cc`) reads /etc/rccl.conf; takes
    # memory by DMA-BUF, which amdgpu offers without a module, only where it is configured; PXN is off by default.
    "amd": Gpu(
        (), "modules-amd.conf.j2", "etc/rccl.conf", (("dmabuf_enable", 1),), pxn=False, resource="amd.com/gpu"
    ),
    "none": Gpu((), "modules-rdma.conf.j2", "", (), pxn=False, resource=""),
}  # fmt: skip
"""Maker, as in a host model -> its properties; `none` is a host without GPUs."""


def gpu_of(host: Host) -> Gpu:
    """Return what follows from the maker of the host's GPUs."""
    return GPUS[host.model.gpu_vendor]
