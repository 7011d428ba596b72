"""Differences of hosts by the maker of their GPUs: modules, collective library, names in schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.fabric.model import Host


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
