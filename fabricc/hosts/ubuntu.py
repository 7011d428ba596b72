"""The host back end for Ubuntu 22.04 and 24.04 with ConnectX NICs: render, read back, and what cannot be stated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.fabric.facts import Facts, Reading
from fabricc.hosts import nccl, netplan, roce, system_files
from fabricc.hosts.facts import CONNECTX_DRIVER, host_facts, is_connectx
from fabricc.hosts.templating import is_word, template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.model import Host

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

MAX_NAME_CHARACTERS = 15  # IFNAMSIZ less the terminator, linux/if.h

SYSCTL = "etc/sysctl.d/90-fabricc.conf"
LIMITS = "etc/security/limits.d/90-rdma.conf"
MODULES = "etc/modules-load.d/fabricc.conf"


@dataclass(frozen=True, slots=True)
class HostGap:
    """Something that a host is to have and its files cannot state.

    Attributes:
        code: diagnostic code, `FAB56…`.
        feature: what was asked; `reason`: why it cannot be; `remedy`: what can be done.
        fatal: False when the files work after the remedy is applied on the host.
    """

    code: str
    feature: str
    reason: str
    remedy: str
    fatal: bool


def gaps(host: Host) -> list[HostGap]:
    """What this host asks for and its files cannot state; call it once per host model."""
    found: list[HostGap] = []
    unplaced = [port.name for port in host.ports if not port.pci]
    if unplaced:
        found.append(
            HostGap(
                "FAB5601",
                f"fixed names for {', '.join(unplaced)}",
                f"the catalog gives host model {host.model.name} no PCI addresses",
                "add `pci` to the host model, in rail order, or name the devices on the hosts",
                fatal=False,
            )
        )
    names = [port.name for port in host.ports]
    unusable = [name for name in names if len(name) > MAX_NAME_CHARACTERS or not is_word(name)]
    unusable += [port.rdma for port in host.ports if not is_word(port.rdma)]
    unusable += [port.pci for port in host.ports if port.pci and not _PCI.fullmatch(port.pci)]
    management = host.model.management_interface
    if management and not is_word(management):
        unusable.append(management)
    if unusable:
        found.append(
            HostGap(
                "FAB5602",
                f"the names {', '.join(map(repr, unusable))}",
                f"an interface name has at most {MAX_NAME_CHARACTERS} characters, these files take letters, digits and "
                "`_.:@-` only, and a PCI address reads 0000:18:00.0",
                "choose shorter or plainer names in the host model",
                fatal=True,
            )
        )
    if not is_connectx(host):
        found.append(
            HostGap(
                "FAB5603",
                f"NIC settings for {host.model.nic.title}",
                f"its driver is {host.model.nic.driver}; trust, PFC and ECN are written for {CONNECTX_DRIVER} only",
                "choose a host model with ConnectX NICs, or set the priorities with the NIC's own tools",
                fatal=True,
            )
        )
    return found


def render(host: Host) -> dict[str, str]:
    """The host's files, path below its root -> text.

    Raises:
        ValueError: a name that `gaps` reports as unusable.
    """
    files = {
        netplan.FILE: netplan.render(host),
        nccl.FILE: nccl.render(host),
        SYSCTL: template("sysctl.conf.j2"),
        LIMITS: template("limits.conf.j2"),
        MODULES: template("modules.conf.j2"),
    }
    placed = [(port, pci) for port in host.ports if (pci := roce.pci_function(port))]
    for port, pci in placed:
        files[f"{roce.LINKS}{port.name}.link"] = roce.link_file(port.name, pci, port.mtu)
    if placed:
        files[roce.RDMA_NAMES] = roce.rdma_names(tuple([(pci, port.rdma) for port, pci in placed]))
    if is_connectx(host) and host.ports:
        files[roce.SCRIPT] = roce.script(
            host.classes, tuple([(port.name, port.rdma, port.cable_m) for port in host.ports])
        )
        files[roce.UNIT] = template("fabricc-roce@.service.j2")
        files[roce.HOOK] = roce.hook(tuple([port.name for port in host.ports]))
    return files


EXECUTABLE = frozenset({roce.SCRIPT})
"""Files to be written with mode 0755."""

PRIVATE = frozenset({netplan.FILE})
"""Files to be written with mode 0600: netplan warns about any other."""

_READERS: dict[str, Callable[[Reading, str, str], None]] = {
    nccl.FILE: nccl.read,
    SYSCTL: system_files.read_sysctl,
    LIMITS: system_files.read_limits,
    MODULES: system_files.read_modules,
    roce.RDMA_NAMES: system_files.read_rdma_names,
    roce.HOOK: system_files.read_hook,
    roce.UNIT: system_files.read_unit,
    roce.SCRIPT: roce.read_script,
}


def read(files: Mapping[str, str]) -> Reading:
    """Facts of rendered or collected host files; lines and files that mean nothing here are listed as unknown."""
    reading = Reading()
    for file, text in files.items():
        if file.startswith("etc/netplan/"):
            netplan.read(reading, file, text)
            continue
        part = _part(file, text)
        if part is None:
            reading.unknown.append((file, 1, "no reader for this file"))
            continue
        reading.facts.update(part.facts)
        reading.lines.update(part.lines)
        reading.unknown += part.unknown
    return reading


@lru_cache(maxsize=1024)
def _part(file: str, text: str) -> Reading | None:
    """The reading of one file other than netplan's; hosts of a kind share them, so each text is read once."""
    reader = _READERS.get(file)
    if reader is None and file.startswith("etc/systemd/network/") and file.endswith(".link"):
        reader = system_files.read_link
    if reader is None:
        return None
    part = Reading()
    reader(part, file, text)
    return part


def planned(host: Host) -> Facts:
    """The facts of the host, which `read(render(host))` must equal."""
    return host_facts(host)
