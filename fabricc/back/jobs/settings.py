"""Settings of collective libraries and the tables that launchers read: one file for all hosts, or one per kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.hosts import nccl
from fabricc.back.hosts.nics import host_qos, over_tcp, tos_byte
from fabricc.back.hosts.words import check_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.back.jobs.roster import Roster
    from fabricc.fabric.model import Host


RailRow = tuple[str, int, int, str, str, int, str]
"""A port of a host model: model, rail, port of the NIC, interface, RDMA device, speed in Gb/s, PCI address."""


LIBRARIES, TABLES = ("nccl", "rccl", "ucx"), ("hostfile", "hosts.csv", "rails.csv")


def settings_files(hosts: Roster[Host]) -> dict[str, str]:
    """`nccl.conf`, `rccl.conf` and `ucx.conf`, and the tables `hostfile`, `hosts.csv` and `rails.csv`.

    Raises:
        ValueError: a name that these files cannot hold.
    """
    names = [kind.model.name for kind in hosts.kinds]
    rails = [
        (kind.model.name, port.rail, port.nic_port, port.name, port.rdma, port.speed_gbps, port.pci)
        for kind in hosts.kinds
        for port in kind.ports
    ]
    return {
        **library_files(
            names,
            [nccl.render_text(kind) for kind in hosts.kinds],
            [ucx_settings(kind) for kind in hosts.kinds],
        ),
        **_one_sided_files(hosts),
        **table_files(hosts, rails),
    }


def library_files(
    kinds: Sequence[str], nccl_texts: Sequence[str], ucx_texts: Sequence[str]
) -> dict[str, str]:
    """`nccl.conf`, `rccl.conf` and `ucx.conf` from the texts of every kind of host.

    RCCL takes NCCL's keys and looks for them under its own name. Where kinds of hosts differ in a file there is one
    `<file>-<kind>.conf` per kind instead, numbered from the second text of one name on.

    Args:
        kinds: names of the kinds; a name may stand more than once.
        nccl_texts: a text for each of them.
        ucx_texts: likewise.
    """
    return {
        **per_kind("nccl", kinds, nccl_texts),
        **per_kind("rccl", kinds, nccl_texts),
        **per_kind("ucx", kinds, ucx_texts),
    }


def table_files(hosts: Roster[Any], rails: Iterable[RailRow]) -> dict[str, str]:
    """Return the tables that launchers read: `hostfile`, `hosts.csv` and `rails.csv`.

    Raises:
        ValueError: a name that these files cannot hold.
    """
    return {
        "hostfile": "".join([f"{check_word(host.name)} slots={host.gpus}\n" for host in hosts.hosts]),
        "hosts.csv": _hosts_csv(hosts),
        "rails.csv": _rails_csv(rails),
    }


def ucx_settings(host: Host) -> str:
    """Return the settings of UCX, one per line, as its `ucx.conf` and as environment variables.

    `UCX_IB_…` applies to all of its RDMA transports; more paths than one give a connection several UDP source ports.
    UCX 1.19 and later connect to what a route of the device covers, in whichever table (`ucs_netlink_route_exists` in
    `src/ucs/sys/netlink.c`), so the tables of the rails do; policy rules are not looked at.
    With RDMA over TCP these are excluded, as they connect without the RDMA connection manager (assumed, as of NCCL).
    """
    if over_tcp(host):
        sockets = host.socket_interface
        return (f"UCX_NET_DEVICES={check_word(sockets)}\n" if sockets else "") + "UCX_TLS=^ib\n"
    qos = host_qos(host)
    lines = [f"UCX_NET_DEVICES={','.join(f'{check_word(port.rdma)}:1' for port in host.ports)}"]
    if qos.rdma_dscp is not None:
        lines.append(f"UCX_IB_TRAFFIC_CLASS={tos_byte(qos.rdma_dscp)}")
    lines += ["UCX_IB_GID_INDEX=auto", f"UCX_IB_NUM_PATHS={host.recommended_qps}"]
    return "\n".join(lines) + "\n"


def _one_sided_files(hosts: Roster[Host]) -> dict[str, str]:
    """`nvshmem.env` and `mori.env`, by the GPUs of the hosts; none where RDMA has no lossless class."""
    files: dict[str, str] = {}
    for stem, vendor in (("nvshmem", "nvidia"), ("mori", "amd")):
        of_vendor = [kind for kind in hosts.kinds if kind.model.gpu_vendor == vendor]
        texts = [(kind.model.name, text) for kind in of_vendor if (text := one_sided_settings(kind))]
        if texts:
            files |= per_kind(stem, [name for name, _ in texts], [text for _, text in texts], "env")
    return files


def one_sided_settings(host: Host) -> str:
    """Return the settings of the one-sided library for the host's GPUs, one per line."""
    return nvshmem_settings(host) if host.model.gpu_vendor == "nvidia" else mori_settings(host)


def nvshmem_settings(host: Host) -> str:
    """Return NVSHMEM's settings for RoCE, a line each.

    Source: NVSHMEM, `src/modules/transport/common/env_defs.h`; family and range choose the GID where none is named.
    """
    qos = host_qos(host)
    if over_tcp(host) or qos.rdma_dscp is None:
        return ""
    v6 = nccl.ipv6_only(host)
    lines = [
        nvshmem_devices(f"{check_word(port.rdma)}:1" for port in host.ports),
        f"NVSHMEM_IB_TRAFFIC_CLASS={tos_byte(qos.rdma_dscp)}",
        "NVSHMEM_IB_ROCE_VERSION_NUM=2",
        f"NVSHMEM_IB_ADDR_FAMILY={'AF_INET6' if v6 else 'AF_INET'}",
    ]
    if prefix := nccl.covering_prefix(host.fabric_prefixes6 if v6 else host.fabric_prefixes4):
        lines.append(f"NVSHMEM_IB_ADDR_RANGE={prefix}")
    return "\n".join([*lines, *nvshmem_sockets(host.socket_interface)]) + "\n"


def nvshmem_sockets(interface: str) -> list[str]:
    """Return the line for processes that meet by a unique ID, as those of DeepEP do; none without an interface.

    Otherwise NVSHMEM takes the first interface, such as a rail, which has no routes for its sockets. Source: NVSHMEM,
    `src/modules/bootstrap/uid/ncclSocket/ncclsocket_socket.cpp` (as NCCL, `=` before an exact name).
    """
    return [f"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=={check_word(interface)}"] if interface else []


def nvshmem_devices(ports: Iterable[str]) -> str:
    """Return the line that keeps NVSHMEM on these ports of devices; the nearest one to a GPU is its own choice.

    NVSHMEM_ENABLE_NIC_PE_MAPPING, which 3.7 requires before it reads the list, is left out: it assigns devices by the
    number of a process among those of its job on the host, which is 0 for each where jobs have one process a host.
    Source: NVSHMEM, `src/modules/transport/common/transport_ib_common.cpp` and `src/host/topo/topo.cpp`.
    """
    return f"NVSHMEM_HCA_LIST={','.join(ports)}"


def mori_settings(host: Host) -> str:
    """Return the settings of MoRI, one per line: traffic class of its kernels and of its transfers, and its sockets.

    Source: ROCm/mori, `src/application/transport/rdma/rdma.cpp` and `src/application/bootstrap/socket_bootstrap.cpp`,
    which takes the first interface otherwise.
    """
    qos = host_qos(host)
    if over_tcp(host) or qos.rdma_dscp is None:
        return ""
    tos = tos_byte(qos.rdma_dscp)
    sockets = f"MORI_SOCKET_IFNAME={check_word(host.socket_interface)}\n" if host.socket_interface else ""
    return f"MORI_RDMA_TC={tos}\nMORI_IO_TC={tos}\n{sockets}"


def per_kind(stem: str, models: Sequence[str], texts: Sequence[str], suffix: str = "conf") -> dict[str, str]:
    """Return one file if all texts are equal, else one for each text, named after its first kind."""
    distinct: dict[str, str] = {}
    for model, text in zip(models, texts, strict=True):
        distinct.setdefault(text, model)
    if len(distinct) == 1:
        return {f"{stem}.{suffix}": next(iter(distinct))}
    files: dict[str, str] = {}
    used: dict[str, int] = {}
    for text, model in distinct.items():
        used[model] = used.get(model, 0) + 1
        number = f"-{used[model]}" if used[model] > 1 else ""
        files[f"{stem}-{check_word(model)}{number}.{suffix}"] = text
    return files


def _hosts_csv(hosts: Roster[Any]) -> str:
    domains = bool(hosts.hosts_by_domain())
    lines = [f"host,unit,pod,gpus,first_rank,model{',nvlink_domain' if domains else ''}\n"]
    rank = 0
    for host in hosts.hosts:
        place = f"{check_word(host.unit)},{host.pod or ''}"
        domain = f",{host.domain}" if domains else ""
        lines.append(f"{host.name},{place},{host.gpus},{rank},{check_word(host.model)}{domain}\n")
        rank += host.gpus
    return "".join(lines)


def _rails_csv(rails: Iterable[RailRow]) -> str:
    lines = ["model,rail,nic_port,interface,rdma_device,speed_gbps,pci\n"]
    lines += [",".join(map(str, row)) + "\n" for row in rails]
    return "".join(dict.fromkeys(lines))
