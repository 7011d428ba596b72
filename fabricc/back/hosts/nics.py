"""NIC families: which procedure sets a driver's NICs, and what its tools cannot express."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.fabric.gap import Gap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Host

IWARP = "iwarp"


@dataclass(frozen=True, slots=True)
class Family:
    """NICs of one driver.

    Attributes:
        procedure: templates that make up the script's procedure for them, in order.
        ecn_bits: what the traffic-class byte carries beside the code point: mlx5 expects ECT(0), others take the
            byte as it is.
        cannot: settings that its tools do not have, or do not show.
        kept: options that the NIC itself keeps and RDMA needs, which the script does not write.
        unsaid_cnp: True where nothing sets the code point of congestion notifications.
    """

    procedure: tuple[str, ...]
    ecn_bits: int = 0
    cannot: str = ""
    kept: tuple[str, ...] = ()
    unsaid_cnp: bool = False


FAMILIES = {
    "mlx5_core": Family(("nic-connectx.sh",), ecn_bits=2),
    # AMD, ROCm cluster networking, and node-scraper (NicPlugin) look at these three with `niccli nvm -getoption`.
    "bnxt_en": Family(
        ("nic-dcb.sh", "nic-bnxt.sh"), kept=("support_rdma", "performance_profile", "pcie_relaxed_ordering")
    ),
    "ice": Family(("nic-dcb.sh", "nic-irdma.sh"), unsaid_cnp=True),
    "ionic": Family(
        ("nic-ionic.sh",),
        cannot="nicctl has no cable length, sets all NICs of the host at once and has no documented output",
    ),
}
"""Driver -> family."""


def family_of(host: Host) -> Family | None:
    """The family of the host's NICs; None for a driver that nothing is written for."""
    return FAMILIES.get(host.nic.driver)


def over_tcp(host: Host) -> bool:
    """Whether the host's RDMA runs over TCP (iWARP, RFC 5040)."""
    return host.nic.transport == IWARP


def gaps(host: Host) -> Iterator[Gap]:
    """What the host's NICs cannot do of what the fabric asks."""
    nic, family = host.nic, family_of(host)
    if family is None:
        known = ", ".join(sorted(FAMILIES))
        yield Gap(
            "FAB5603",
            f"NIC settings for {nic.title}",
            f"its driver is {nic.driver}; trust, PFC and ECN are written for {known}",
            "name another NIC with `nic`, or set the priorities with the NIC's own tools",
        )
        return
    lossless = [c.name for c in host.classes if c.lossless]
    if len(lossless) > nic.lossless_classes and not over_tcp(host):
        yield Gap(
            "FAB5604",
            f"the lossless classes {', '.join(lossless)}",
            f"{nic.title} protects {nic.lossless_classes} with PFC",
            "make one class lossless, or name another NIC with `nic`",
        )
    if len(host.classes) > nic.traffic_classes:
        yield Gap(
            "FAB5604",
            f"{len(host.classes)} traffic classes",
            f"{nic.title} schedules {nic.traffic_classes}",
            "merge classes, or name another NIC with `nic`",
        )
    if family.cannot:
        yield Gap(
            "FAB5606",
            f"some settings of {nic.title}",
            family.cannot,
            "leave its cable length to the firmware, and look at `nicctl show qos` and `nicctl show dcqcn` yourself",
            fatal=False,
        )
    if family.kept and any(c.lossless for c in host.classes):
        yield Gap(
            "FAB5610",
            f"{', '.join(family.kept)} of {nic.title}",
            "the NIC keeps them, `fabricc-roce --firmware` writes none, and niccli names NICs by numbers of its own",
            "for each NIC of `niccli --list`: `niccli -i N nvm -getoption support_rdma -scope 0`, then `nvm -setoption "
            "support_rdma -value 1 -scope 0`; the others likewise, by the maker's sheet, and restart the host",
            fatal=False,
        )
    if family.unsaid_cnp and not over_tcp(host) and any(c.cnp for c in host.classes):
        yield Gap(
            "FAB5606",
            f"the code point of congestion notifications of {nic.title}",
            "its driver has no published setting for it",
            "capture one notification on the switch and compare its DSCP with the spec's",
            fatal=False,
        )
    if over_tcp(host):
        yield from _iwarp_gaps(host, lossless)


def _iwarp_gaps(host: Host, lossless: list[str]) -> Iterator[Gap]:
    if lossless:
        yield Gap(
            "FAB5605",
            f"the lossless class {', '.join(lossless)}",
            f"RDMA of {host.nic.title} runs over TCP, which recovers from loss and stays out of it",
            "keep it for hosts with RoCE; where there are none, remove `lossless`: no PFC is needed then",
            fatal=False,
        )
    yield Gap(
        "FAB5608",
        "NCCL over RDMA",
        "its InfiniBand transport makes connections without the RDMA connection manager, which RDMA over TCP needs "
        "(assumed: no NCCL document says so)",
        "use RDMA for storage; NCCL's settings say sockets, over the management network. Or name a RoCE NIC with `nic`",
        fatal=False,
    )
    if host.os == "ubuntu-22.04":
        yield Gap(
            "FAB5607",
            f"RDMA over TCP with {host.nic.title} on {host.os}",
            "its kernel 5.15 starts the NIC as RoCE v2, and `enable_iwarp` came with 5.17",
            "use ubuntu-24.04, or Intel's own driver with `options irdma roce_ena=0`",
            fatal=False,
        )
