"""Fixed names of ports and RDMA devices: systemd `.link` files and udev rules, both by PCI address."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts.templating import fill, word

if TYPE_CHECKING:
    from fabricc.fabric.model import HostPort

RDMA_NAMES = "etc/udev/rules.d/60-rdma-persistent-naming.rules"
LINKS = "etc/systemd/network/10-fabricc-"


def pci_function(port: HostPort) -> str:
    """PCI address of a port, "" when unknown: port n of a NIC is its function n."""
    if not port.pci or not port.nic_port:
        return port.pci
    device, _, function = port.pci.rpartition(".")
    return f"{device}.{int(function) + port.nic_port}"


@lru_cache(maxsize=1024)
def link_file(name: str, pci: str, mtu: int, ring_rx: int, ring_tx: int) -> str:
    """The systemd .link file that names a port by its PCI address, turns 802.3x pause off and enlarges its rings."""
    return fill("rail.link.j2", name=word(name), pci=word(pci), mtu=mtu, ring_rx=ring_rx, ring_tx=ring_tx)


@lru_cache(maxsize=256)
def rdma_names(devices: tuple[tuple[str, str], ...]) -> str:
    """The udev rules that give each (PCI address, RDMA device name) its fixed name."""
    rules = (
        f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{word(pci)}", '
        f'PROGRAM="rdma_rename %k NAME_FIXED {word(name)}"'
        for pci, name in devices
    )
    return fill("rdma-naming.rules.j2", rules="\n".join(rules))
