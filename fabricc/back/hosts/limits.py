"""Report settings that host files and the tools of the NICs cannot express, with the source of every entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back import limits
from fabricc.back.hosts.nics import FAMILIES, family_of, over_tcp
from fabricc.back.hosts.words import is_word
from fabricc.back.limits import Limit

if TYPE_CHECKING:
    from fabricc.fabric.model import Host
    from fabricc.fabric.vocabulary import Gap

MAX_NAME_CHARACTERS = 15  # IFNAMSIZ less the terminator, linux/if.h

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def _ports_without_pci(host: Host) -> list[str]:
    names = ", ".join([port.name for port in host.ports if not port.pci])
    return [names] if names else []


def _unusable_names(host: Host) -> list[str]:
    names = [port.name for port in host.ports]
    unusable = [name for name in names if len(name) > MAX_NAME_CHARACTERS or not is_word(name)]
    unusable += [port.rdma for port in host.ports if not is_word(port.rdma)]
    unusable += [port.pci for port in host.ports if port.pci and not _PCI.fullmatch(port.pci)]
    unusable += [
        port.second_pci for port in host.ports if port.second_pci and not _PCI.fullmatch(port.second_pci)
    ]
    sockets = host.socket_interface
    if sockets and not is_word(sockets):
        unusable.append(sockets)
    return [", ".join(map(repr, unusable))] if unusable else []


def _lossless_classes(host: Host) -> list[str]:
    return [c.name for c in host.classes if c.lossless]


_NAMES: tuple[Limit[Host], ...] = (
    Limit("FAB5601", feature="fixed names for {it}", requested=_ports_without_pci,
        reason="the catalog gives host model {device.model.name} no PCI addresses",
        remedy="add `pci` to the host model, in rail order, or name the devices on the hosts", fatal=False),
    Limit("FAB5602", feature="the names {it}", requested=_unusable_names,
        reason=f"an interface name has at most {MAX_NAME_CHARACTERS} characters, these files take letters, digits and "
        "`_.:@-` only, and a PCI address reads 0000:18:00.0",
        remedy="choose shorter or plainer names in the host model"),
)  # fmt: skip
_DRIVERS: tuple[Limit[Host], ...] = (
    Limit("FAB5603", feature="NIC settings for {device.nic.title}",
        requested=lambda host: family_of(host) is None,
        reason="its driver is {device.nic.driver}; trust, PFC and ECN are written for " + ", ".join(sorted(FAMILIES)),
        remedy="name another NIC with `nic`, or set the priorities with the NIC's own tools and accept FAB5603"),
)  # fmt: skip
_NICS: tuple[Limit[Host], ...] = (
    Limit("FAB5604", feature="the lossless classes {lossless}",
        requested=lambda host: len(_lossless_classes(host)) > host.nic.lossless_classes and not over_tcp(host),
        reason="{device.nic.title} protects {device.nic.lossless_classes} with PFC",
        remedy="make one class lossless, or name another NIC with `nic`"),
    Limit("FAB5604", feature="{it} traffic classes",
        requested=lambda host: [count for count in (len(host.classes),) if count > host.nic.traffic_classes],
        reason="{device.nic.title} schedules {device.nic.traffic_classes}",
        remedy="merge classes, or name another NIC with `nic`"),
    Limit("FAB5606", feature="some settings of {device.nic.title}",
        requested=lambda host: bool(FAMILIES[host.nic.driver].cannot), reason="{family.cannot}",
        remedy="leave its cable length to the firmware",
        fatal=False),
    Limit("FAB5610", feature="{family.kept} of {device.nic.title}",
        requested=lambda host: bool(FAMILIES[host.nic.driver].kept and (_lossless_classes(host) or not host.guest)),
        reason="the NIC's firmware stores them, and `fabricc-roce --firmware` does not write them",
        remedy="for each NIC of `niccli --list` run `niccli --dev N nvm --setoption support_rdma --scope 0 --value 1` "
        "(formerly one dash), set the others, restart the host",
        fatal=False),
    Limit("FAB5606", feature="the code point of congestion notifications of {device.nic.title}",
        requested=lambda host: (
            FAMILIES[host.nic.driver].unset_cnp and not over_tcp(host) and any(c.cnp for c in host.classes)
        ),
        reason="its driver has no published setting for it",
        remedy="capture one notification on the switch and compare its DSCP with the spec's", fatal=False),
    Limit("FAB5605", feature="the lossless class {lossless}",
        requested=lambda host: over_tcp(host) and bool(_lossless_classes(host)),
        reason="RDMA of {device.nic.title} runs over TCP, which recovers from loss and does not use it",
        remedy="keep it for hosts with RoCE; without such hosts, remove `lossless`, because no PFC is needed",
        fatal=False),
    Limit("FAB5608", feature="NCCL over RDMA", requested=over_tcp,
        reason="its InfiniBand transport makes connections without the RDMA connection manager, which RDMA over TCP "
        "needs (assumed; no NCCL document confirms it)",
        remedy="use RDMA for storage; NCCL uses sockets over the management network. Or name a RoCE NIC "
        "with `nic`",
        fatal=False),
    Limit("FAB5607", feature="RDMA over TCP with {device.nic.title} on {device.os}",
        requested=lambda host: over_tcp(host) and host.os == "ubuntu-22.04",
        reason="its kernel 5.15 starts the NIC as RoCE v2, and `enable_iwarp` came with 5.17",
        remedy="use ubuntu-24.04, or Intel's own driver with `options irdma roce_ena=0`", fatal=False),
)  # fmt: skip
LIMITS = (*_NAMES, *_DRIVERS, *_NICS)


def gaps(host: Host) -> list[Gap]:
    """Report what this host needs and its files cannot state; nothing is known of NICs of another driver."""
    family, lossless = family_of(host), ", ".join(_lossless_classes(host))
    rows = LIMITS if family else (*_NAMES, *_DRIVERS)
    return limits.gaps(
        host, rows, lambda row, thing: row.gap(thing, device=host, family=family, lossless=lossless)
    )
