"""Figures of switches, ASICs, hosts and NICs: plain values read from the catalog's YAML."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Breakout:
    """One way to use a cage: `children` ports of `speed_gbps` on `lanes` lanes each."""

    children: int
    speed_gbps: int
    lanes: int


@dataclass(frozen=True, slots=True)
class CageGroup:
    """A run of identical cages, numbered from `first` as printed on the front panel.

    Attributes:
        lanes: SerDes lanes of one cage.
        breakouts: what a cage can be, the unsplit use among them (children 1).
        fabric: False for service ports (SFP28 and the like), which the planner leaves alone.
        form_factor: empty where it follows from lanes and speed, see `optics.form_factor`.
    """

    first: int
    count: int
    lanes: int
    breakouts: tuple[Breakout, ...]
    fabric: bool = True
    form_factor: str = ""

    @property
    def numbers(self) -> range:
        """The numbers of its cages."""
        return range(self.first, self.first + self.count)


TABLE_MTU_BYTES = 9216
"""Port MTU that the published tables are computed with (every Spectrum table reproduces with it)."""


@dataclass(frozen=True, slots=True)
class HeadroomRow:
    """One row of a platform's lossless table (bytes): what one priority group needs at a speed and length.

    Attributes:
        xon_offset_bytes: None where the ASIC has an absolute `xon` only.
        dynamic_th: exponent of the shared-buffer alpha, limit = 2**dynamic_th * free shared buffer.
        table: the catalog's name of the table that has it.
    """

    speed_gbps: int
    cable_m: int
    size_bytes: int
    xon_bytes: int
    xoff_bytes: int
    dynamic_th: int
    xon_offset_bytes: int | None = None
    table: str = ""


@dataclass(frozen=True, slots=True)
class SpectrumFigures:
    """Inputs of the Spectrum headroom formula (sonic-swss buffer_headroom_mellanox.lua).

    Attributes:
        version: which of the formula's versions serves what the table lacks; see `fabricc.front.qos.headroom`.
        quanta_800g: pause quanta at 800G; the lua has 905, the tables of Spectrum-6 are computed with 1,810.
        compensation_kb: what the version `compensated` adds for the accounting of Spectrum-6: 18 KiB.
    """

    cell_bytes: int
    pipeline_latency_kb: int
    mac_phy_delay_kb: float
    lossless_mtu_bytes: int
    small_packet_percent: int
    tile: bool
    version: str = "byte-share"
    quanta_800g: int = 905
    compensation_kb: int = 0


@dataclass(frozen=True, slots=True)
class TofinoFigures:
    """Inputs of the Tofino headroom formula (sonic-swss buffer_headroom_barefoot.lua).

    Attributes:
        peer_response_kb: the peer's reaction where no pause quanta are known for the speed, KiB.
        dynamic_th: exponent of alpha for ports that no table row serves.
    """

    cell_bytes: int
    pipeline_latency_kb: int
    mac_phy_delay_kb: float
    peer_response_kb: int
    gearbox_delay_ns: int
    lossless_mtu_bytes: int
    small_packet_percent: int
    dynamic_th: int
    version: str


@dataclass(frozen=True, slots=True)
class AnnexFigures:
    """Inputs of the worst case of IEEE 802.1Q, for a platform without figures of its maker.

    Attributes:
        interface_delay_ns: MAC and PHY of one end, one way.
        xon_bytes: what a priority group has in addition to its headroom.
        dynamic_th: exponent of alpha for ports that no table row serves.
    """

    cell_bytes: int
    interface_delay_ns: int
    xon_bytes: int
    dynamic_th: int
    version: str


Formula = SpectrumFigures | TofinoFigures | AnnexFigures
"""Figures of a headroom formula; their type is its family."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a platform other than its buffer, each as (least, most); None where no figure is known.

    Attributes:
        alpha_exponents: exponents of alpha that the ASIC has.
        port_profiles: different lossless or marking profiles on one switch, at most.
        detect_ms, restore_ms, poll_ms: PFC watchdog timers.
        trim_bytes: what packet trimming can leave of a packet.
    """

    alpha_exponents: tuple[int, int] | None = None
    port_profiles: int | None = None
    detect_ms: tuple[int, int] | None = None
    restore_ms: tuple[int, int] | None = None
    poll_ms: tuple[int, int] | None = None
    trim_bytes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Pools:
    """Shared-buffer pools of a platform, in bytes.

    Attributes:
        ingress_lossless_bytes: the ingress pool as its NOS states it.
        headroom_bytes: shared headroom pool; 0 where every priority group owns its headroom.
        egress_lossless_bytes: the egress pool of lossless queues.
        egress_lossy_bytes: the egress pool of lossy queues; None where one pool serves both.
        egress_lossless_static: True when the egress lossless threshold is static (bytes), not an alpha.
        size_includes_headroom: whether `ingress_lossless_bytes` counts the headroom pool in.
        egress_pool_static: the mode of the egress pool itself; None where it is that of its lossless threshold.
        egress_lossless_limit_bytes: that threshold where it is static; None for the whole pool.
        lossy_ingress_limit_bytes: the static threshold of lossy priority groups; None where it is an alpha.
        lossy_egress_bytes: what each lossy queue is guaranteed.
        lossy_egress_alpha: exponent of alpha of lossy queues; None where no figure is known.
    """

    ingress_lossless_bytes: int
    headroom_bytes: int
    egress_lossless_bytes: int
    egress_lossy_bytes: int | None
    egress_lossless_static: bool
    size_includes_headroom: bool
    egress_pool_static: bool | None = None
    egress_lossless_limit_bytes: int | None = None
    lossy_ingress_limit_bytes: int | None = None
    lossy_egress_bytes: int = 0
    lossy_egress_alpha: int | None = None


@dataclass(frozen=True, slots=True)
class Buffers:
    """The lossless buffer model of a switch: a table, a formula, or both (the table wins where it has a row).

    Attributes:
        formula: None for a platform that is known by its table alone.
        siblings: rows that other SKUs of the same box ship, to compare with and never used.
    """

    total_bytes: int
    cell_bytes: int
    rows: tuple[HeadroomRow, ...]
    formula: Formula | None
    pools: Pools
    max_lossless_classes: int
    limits: Limits = field(default_factory=Limits)
    siblings: tuple[HeadroomRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Power:
    """The power draw of a device, W; None where no source gives the figure.

    Attributes:
        typical_w: at usual load. maximum_w: at the most.
        with_optics: `typical`, `maximum`: figures that count what is plugged into the cages.
    """

    typical_w: float | None = None
    maximum_w: float | None = None
    with_optics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReleaseFigures:
    """Figures of a switch on some releases of a NOS, where they differ from those of its other releases.

    Attributes:
        since, until: the first and the last of these releases; None where the range is open.
        buffers: the buffer model on these releases.
        lookup: the table with the lossless rows that the image of these releases ships; empty where it ships none.
        sources: figure path (dotted) -> source; these replace the sources of the switch.
    """

    since: str | None
    until: str | None
    buffers: Buffers
    lookup: str
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def releases(self) -> str:
        """The releases in words: `202505`, `202505 to 202511`, `to 202505`, `since 202511`."""
        if self.since == self.until:
            return self.since or "all"
        if self.since and self.until:
            return f"{self.since} to {self.until}"
        return f"since {self.since}" if self.since else f"to {self.until}"


@dataclass(frozen=True, slots=True)
class SwitchModel:
    """A switch model on the market.

    Attributes:
        name: catalog key, e.g. `sn5600`.
        title: the maker's name for it, e.g. `NVIDIA SN5600`.
        asic_family: catalog word such as `spectrum4`, `tomahawk5`, `jericho2`; back ends choose syntax by it.
        chassis: True for a modular system.
        ecmp_max_paths: next hops the ASIC can hold in one group.
        forwarding_latency_ns: port to port, cut-through, unloaded.
        nos: per NOS name, the settings its back end needs (lane maps, hwsku, …); opaque here.
        support: per NOS name, the first release that runs on the box; a NOS without one is not known to run.
        releases: per NOS name, the figures that differ on some of its releases; see `support.model_at_release`.
        power: what it draws; None where no source states it.
        listed: why no system runs on it here; empty where one does.
        sources: figure path (dotted) -> source, or `assumed`.
    """

    name: str
    title: str
    vendor: str
    asic: str
    asic_family: str
    chassis: bool
    cages: tuple[CageGroup, ...]
    ecmp_max_paths: int
    forwarding_latency_ns: int
    buffers: Buffers
    nos: Mapping[str, Mapping[str, Any]]
    support: Mapping[str, str] = field(default_factory=dict)
    releases: Mapping[str, tuple[ReleaseFigures, ...]] = field(default_factory=dict)
    power: Power | None = None
    listed: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def split_cage(self, cage: int, child: int, children: int) -> CageGroup:
        """Return the group of child `child` of a cage that is split into `children`, both from 1.

        Raises:
            ValueError: there is no such cage, or it has fewer lanes than requested children.
        """
        group = next((group for group in self.cages if cage in group.numbers), None)
        if group is None:
            raise ValueError(f"{self.name} has no cage {cage}")
        if not 1 <= child <= children or children > group.lanes:
            raise ValueError(f"{self.name}: cage {cage} has no child {child} of {children}")
        return group

    def service_cages(self) -> list[int]:
        """The cages that are not for the fabric, which stay shut."""
        return [cage for group in self.cages if not group.fabric for cage in group.numbers]


@dataclass(frozen=True, slots=True)
class NicCage:
    """A cage that a NIC is sold with, and what its port is used as."""

    form_factor: str
    children: int
    speed_gbps: int
    lanes: int


CARD_MODE = "INTERNAL_CPU_OFFLOAD_ENGINE"
"""Stored setting of a BlueField: 1 is NIC mode, 0 is DPU mode, in which the card's own system has the ports."""
DPU_MODE = 0


@dataclass(frozen=True, slots=True)
class NicModel:
    """A NIC family: how it is named by the kernel, what its port can be split into, and its QoS figures.

    Attributes:
        infiniband: fastest InfiniBand generation of a port, e.g. `NDR`; empty for a NIC without InfiniBand.
        ethernet_gbps: fastest Ethernet port; None where every port of its splits may be Ethernet.
        out_of_order: whether it places packets of a message that arrive out of order; None where no source states it.
        queue_pairs: of a connection, for the speed of a port.
        needs_flow_control: whether RoCE needs flow control for its speed.
        tunnel_packet_gap: gap between packets that leaves room for VXLAN around them, in the unit of its tools; None
            where no source states it.
        plane_splits: how the NIC itself can spread a transfer over planes: `software`, `hardware`.
        transport: `rocev2`, or `iwarp` (RDMA over TCP, RFC 5040 to 5044), which needs no lossless class.
        traffic_classes: classes that it schedules; `lossless_classes`: how many of them PFC may protect.
        ring_rx, ring_tx: descriptors of one ring.
        read_request_bytes: PCIe maximum read request size.
        congestion: parameters of its congestion control, by the names that its tools give them.
        firmware: settings kept in the NIC, likewise.
        strict_rate_limit: rate limit of a strict class in the unit of its tools; 0 for none.
        cages: those that it is sold with; empty where their form follows from lanes and speed.
    """

    name: str
    title: str
    vendor: str
    driver: str
    rdma_prefix: str
    port_splits: tuple[Breakout, ...]
    infiniband: str = ""
    transport: str = "rocev2"
    traffic_classes: int = 8
    lossless_classes: int = 8
    ring_rx: int = 8192
    ring_tx: int = 8192
    read_request_bytes: int = 4096
    congestion: tuple[tuple[str, int], ...] = ()
    firmware: tuple[tuple[str, int], ...] = ()
    strict_rate_limit: int = 0
    cages: tuple[NicCage, ...] = ()
    ethernet_gbps: int | None = None
    out_of_order: bool | None = None
    queue_pairs: int = 1
    needs_flow_control: bool = False
    tunnel_packet_gap: int | None = None
    plane_splits: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class HostPorts:
    """Ports of a host for a further network, in addition to those of its rails.

    Attributes:
        nics: how many NICs; the other attributes are those of `HostModel`.
        infiniband_gbps: speed of a port on InfiniBand, where it is another one than on Ethernet; else None.
    """

    nic: NicModel
    nics: int
    ports_per_nic: int
    port_gbps: int
    pci: tuple[str, ...] = ()
    infiniband_gbps: int | None = None


@dataclass(frozen=True, slots=True)
class ManagementPorts:
    """Out-of-band ports of a host.

    Attributes:
        bmc: of its BMC, 0 or 1.
        nic: of its own, behind `management_interface`, 0 or 1.
        dpus: DPUs with a port that their BMC and their own system share.
    """

    bmc: int = 1
    nic: int = 0
    dpus: int = 0


@dataclass(frozen=True, slots=True)
class HostModel:
    """A server; in one with GPUs NIC i is rail i and serves GPU i (or the GPUs of its share).

    Attributes:
        gpus: GPUs in the host; 0 for a storage, management or CPU host.
        rails: back-end NICs in the host, one per rail.
        ports_per_nic: back-end ports of one NIC that are cabled.
        port_gbps: speed of one such port.
        pci: PCI addresses of the NICs in rail order; empty where the platform does not fix them.
        second_pci: PCI addresses of second functions of the same ports, in rail order (Socket Direct); empty without.
        management_interface: netdev of the out-of-band or front-end network, for NCCL's socket.
        gpu_vendor: maker of the GPUs, `nvidia` or `amd`; `none` where there are none.
        form_factor, cages: of cages that NICs share, and the rails of each; empty where every NIC has its own.
        networks: name such as `storage` -> ports for that network.
        gpu_interconnect: which GPUs of the host NVLink or its like joins: `all`, `pairs` or `none`.
        nvlink_domain: GPUs that one NVLink domain joins, of the hosts of a rack; 0 where it ends with the host.
        management: its out-of-band ports; a BMC's by default.
        power: what it draws; None where no source states it.
    """

    name: str
    title: str
    vendor: str
    gpus: int
    rails: int
    nic: NicModel
    ports_per_nic: int
    port_gbps: int
    pci: tuple[str, ...]
    management_interface: str
    gpu_vendor: str = "nvidia"
    form_factor: str = ""
    cages: tuple[tuple[int, ...], ...] = ()
    networks: Mapping[str, HostPorts] = field(default_factory=dict)
    nvlink_domain: int = 0
    gpu_interconnect: str = "all"
    management: ManagementPorts = field(default_factory=ManagementPorts)
    power: Power | None = None
    second_pci: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def domain_hosts(self) -> int:
        """Hosts of one NVLink domain."""
        return self.nvlink_domain // self.gpus if self.nvlink_domain else 1


@dataclass(frozen=True, slots=True)
class Catalog:
    """Every model known: the built-in ones and those of the user's files, by name."""

    switches: Mapping[str, SwitchModel]
    hosts: Mapping[str, HostModel]
    nics: Mapping[str, NicModel]
