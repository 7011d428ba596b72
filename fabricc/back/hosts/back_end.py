"""The back end of every host: its files by operating system and NIC family, read back, and what cannot be stated."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts import gpus, keyfile, naming, nccl, netplan, nics, roce, system_files, systems
from fabricc.back.hosts.facts import host_facts
from fabricc.back.hosts.templating import is_word, template
from fabricc.fabric.facts import Facts, Reading
from fabricc.fabric.gap import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.fabric.model import Host

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

MAX_NAME_CHARACTERS = 15  # IFNAMSIZ less the terminator, linux/if.h

SYSCTL = "etc/sysctl.d/90-fabricc.conf"
LIMITS = "etc/security/limits.d/90-rdma.conf"
SERVICE_LIMITS = "etc/systemd/system.conf.d/90-fabricc.conf"
MODULES = "etc/modules-load.d/fabricc.conf"

_ALWAYS = (
    (SYSCTL, "sysctl.conf.j2"),
    (LIMITS, "limits.conf.j2"),
    (SERVICE_LIMITS, "service-limits.conf.j2"),
)


def gaps(host: Host) -> list[Gap]:
    """What this host asks for and its files cannot state; call it once per host model."""
    return [*_name_gaps(host), *nics.gaps(host)]


def _name_gaps(host: Host) -> Iterator[Gap]:
    unplaced = [port.name for port in host.ports if not port.pci]
    if unplaced:
        yield Gap(
            "FAB5601",
            f"fixed names for {', '.join(unplaced)}",
            f"the catalog gives host model {host.model.name} no PCI addresses",
            "add `pci` to the host model, in rail order, or name the devices on the hosts",
            fatal=False,
        )
    names = [port.name for port in host.ports]
    unusable = [name for name in names if len(name) > MAX_NAME_CHARACTERS or not is_word(name)]
    unusable += [port.rdma for port in host.ports if not is_word(port.rdma)]
    unusable += [port.pci for port in host.ports if port.pci and not _PCI.fullmatch(port.pci)]
    management = host.model.management_interface
    if management and not is_word(management):
        unusable.append(management)
    if unusable:
        yield Gap(
            "FAB5602",
            f"the names {', '.join(map(repr, unusable))}",
            f"an interface name has at most {MAX_NAME_CHARACTERS} characters, these files take letters, digits and "
            "`_.:@-` only, and a PCI address reads 0000:18:00.0",
            "choose shorter or plainer names in the host model",
        )


def render(host: Host) -> dict[str, str]:
    """The host's files, path below its root -> text; `apply`, beside them, puts them there.

    Raises:
        ValueError: a name that `gaps` reports as unusable.
    """
    files = systems.SYSTEMS[host.os].network(host)
    gpu = gpus.gpu_of(host)
    files[gpu.settings] = nccl.render(host)
    files[MODULES] = template(gpu.modules_template)
    files[systems.APPLY] = systems.apply_script(host.os)
    for path, name in _ALWAYS:
        files[path] = template(name)
    nic = host.nic
    placed = [(port, pci) for port in host.ports if (pci := naming.pci_function(port))]
    for port, pci in placed:
        files[f"{naming.LINKS}{port.name}.link"] = naming.link_file(
            port.name, pci, port.mtu, nic.ring_rx, nic.ring_tx
        )
    if placed:
        files[naming.RDMA_NAMES] = naming.rdma_names(tuple([(pci, port.rdma) for port, pci in placed]))
    if nics.family_of(host) and host.ports:
        rows = tuple([roce.row(port) for port in host.ports])
        files[roce.SCRIPT] = roce.script(host.classes, nic, rows, host.spreads_packets)
        files[roce.UNIT] = template("fabricc-roce@.service.j2")
        files[roce.HOOK] = roce.hook(tuple([port.name for port in host.ports]))
    return files


def mode(path: str) -> int:
    """The mode that a file of a host is to be written with; keyfiles and netplan's are refused or warned of else."""
    if path in (roce.SCRIPT, systems.APPLY):
        return 0o755
    return 0o600 if path == netplan.FILE or path.startswith(keyfile.FOLDER) else 0o644


_READERS: dict[str, Callable[[Reading, str, str], None]] = {
    **dict.fromkeys(nccl.FILES, nccl.read),
    SYSCTL: system_files.read_sysctl,
    LIMITS: system_files.read_limits,
    SERVICE_LIMITS: system_files.read_service_limits,
    MODULES: system_files.read_modules,
    naming.RDMA_NAMES: system_files.read_rdma_names,
    roce.HOOK: system_files.read_hook,
    roce.UNIT: system_files.read_unit,
    roce.SCRIPT: roce.read_script,
    systems.APPLY: systems.read_apply,
}


def read(files: Mapping[str, str]) -> Reading:
    """Facts of rendered or collected host files; lines and files that mean nothing here are listed as unknown."""
    reading = Reading()
    for file, text in files.items():
        if file.startswith("etc/netplan/"):
            netplan.read(reading, file, text)
            continue
        if file.startswith(keyfile.FOLDER):
            keyfile.read(reading, file, text)
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
    """The reading of a file that is the same on many hosts; each text is read once."""
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
