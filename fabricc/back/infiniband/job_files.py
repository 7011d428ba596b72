"""Files for jobs on an InfiniBand fabric: those of Ethernet with other settings of the libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.hosts.nccl import FILES
from fabricc.back.hosts.words import check_word
from fabricc.back.infiniband import host_files
from fabricc.back.jobs.files import imex_files, required_settings
from fabricc.back.jobs.kubernetes_topology import topology_files
from fabricc.back.jobs.roster import JobHost, Roster, list_hosts, part_of, read_scripts
from fabricc.back.jobs.settings import library_files, nvshmem_devices, nvshmem_sockets, per_kind, table_files
from fabricc.back.jobs.slurm import slurm_files
from fabricc.fabric.infiniband_wiring import host_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fabricc.fabric.infiniband import Host, InfinibandFabric

_ROCE_ALONE = ("gid-index.sh",)
"""Launch files without meaning on InfiniBand."""


def job_files(ib: InfinibandFabric) -> dict[str, str]:
    """Path -> text, sorted by path; a few files for the whole fabric, none per host and none for a further network.

    Each partition has such files for its own hosts too, as no job reaches across partitions.

    Raises:
        ValueError: a name that these files cannot hold.
    """
    if ib.wiring.network:
        return {}
    hosts: Roster[Host] = list_hosts(ib.wiring, lambda at: host_at(ib, *at))
    folders = _folders(ib, hosts, "jobs")
    for name, own in _tenant_rosters(ib, hosts).items():
        folders |= _folders(ib, own, f"jobs/tenants/{check_word(name)}")
    files = {f"{folder}/{name}": text for folder, texts in folders.items() for name, text in texts.items()}
    return dict(sorted(files.items()))


def _folders(ib: InfinibandFabric, hosts: Roster[Host], jobs: str) -> dict[str, dict[str, str]]:
    """Return folder -> file -> text, of some hosts."""
    rails = [
        (each.model, port.rail, port.nic_port, port.name, port.rdma, port.gbps, port.pci)
        for each, kind in _first_of_each(hosts)
        for port in kind.ports
    ]
    launch = {name: text for name, text in read_scripts("launch").items() if name not in _ROCE_ALONE}
    return {
        jobs: {**_library_files(ib, hosts), **table_files(hosts, rails)},
        f"{jobs}/slurm": slurm_files(hosts),
        f"{jobs}/imex": imex_files(hosts),
        f"{jobs}/launch": launch,
        f"{jobs}/kubernetes": topology_files(hosts),
    }


def _tenant_rosters(ib: InfinibandFabric, hosts: Roster[Host]) -> dict[str, Roster[Host]]:
    """Return the hosts of each partition that has all ports of them and shares none; others are in no one's files."""
    tenants, found = host_files.tenants_by_host(ib), dict[str, list[JobHost]]()
    for each in hosts.hosts:
        own = tenants.get(each.name, ())
        if len(own) == 1 and each.name not in own[0].rails:
            found.setdefault(own[0].name, []).append(each)
    return {name: part_of(hosts, members) for name, members in found.items()}


def required_job_files(names: Collection[str], below: str, domains: Collection[str]) -> Iterator[str]:
    """Yield the files for jobs that every tree of such a fabric has.

    Args:
        names: all files of the tree.
        below: "", or the folder of a partition in `jobs`.
        domains: the NVLink domains of the hosts, none of a partition.
    """
    yield from (f"jobs{below}/launch/{name}" for name in read_scripts("launch") if name not in _ROCE_ALONE)
    yield from required_settings(names, f"jobs{below}", domains)


def ucx_settings(ib: InfinibandFabric, host: Host) -> str:
    """Return the settings of UCX: devices and service level.

    No P_Key: by itself UCX takes the first of a port's table with full membership, and in a tenant only the tenant's
    own has it. No number of paths: a LID has one route to every other.
    """
    return (
        f"UCX_NET_DEVICES={host_files.rdma_ports(host)}\nUCX_IB_SL={host_files.rdma_class(ib.classes).sl}\n"
    )


def nvshmem_settings(ib: InfinibandFabric, host: Host, tenants: int, sockets: str) -> str:
    """Return NVSHMEM's settings: devices, service level, in a tenant the index of its P_Key, interface of sockets.

    No traffic class: queue pairs fail with one (NVIDIA/nvshmem issue 45). Releases before 3.7 know no index and take
    0, the default partition, where a tenant's host reaches nobody (issue 82).
    """
    lines = [
        nvshmem_devices([host_files.rdma_ports(host)]),
        f"NVSHMEM_IB_SL={host_files.rdma_class(ib.classes).sl}",
    ]
    if tenants == 1:
        lines.append(f"NVSHMEM_IB_PKEY_INDEX={host_files.TENANT}")
    return "\n".join([*lines, *nvshmem_sockets(sockets)]) + "\n"


def _first_of_each(hosts: Roster[Host]) -> Iterator[tuple[JobHost, Host]]:
    seen = {each.kind: each for each in reversed(hosts.hosts)}
    return ((seen[index], kind) for index, kind in enumerate(hosts.kinds))


def _library_files(ib: InfinibandFabric, hosts: Roster[Host]) -> dict[str, str]:
    """Return a text for each kind of host; with tenants one for hosts of one tenant and another for the rest."""
    tenants = host_files.tenants_by_host(ib)
    renderer = host_files.HostFiles(ib)
    names, nccl_texts, ucx_texts = [], [], []
    one_sided: list[tuple[str, str]] = []
    reported: set[tuple[int, int]] = set()
    for each in hosts.hosts:
        host = host_at(ib, *each.at)
        own = tenants.get(each.name, ())
        number = 1 if host_files.has_one_tenant_per_port(host, own) else 2 * bool(own)
        if (each.kind, number) in reported:
            continue
        reported.add((each.kind, number))
        names.append(f"{each.model}-tenant" if number == 1 else each.model)
        nccl_texts.append(next(text for path, text in renderer.render(host) if path in FILES))
        ucx_texts.append(ucx_settings(ib, host))
        group = ib.wiring.units[each.at[0]].group
        if ib.wiring.host_models[group].gpu_vendor == "nvidia":
            text = nvshmem_settings(ib, host, number, ib.wiring.socket_interface(group))
            one_sided.append((names[-1], text))
    files = library_files(names, nccl_texts, ucx_texts)
    if one_sided:
        files |= per_kind("nvshmem", [name for name, _ in one_sided], [text for _, text in one_sided], "env")
    return files
