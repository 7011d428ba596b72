"""Every file for jobs and for the acceptance test of a fabric, by path in the output tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.acceptance import PLAN, acceptance_files
from fabricc.back.jobs.kubernetes import OBJECTS, kubernetes_files
from fabricc.back.jobs.kubernetes_topology import TOPOLOGY
from fabricc.back.jobs.roster import Roster, list_hosts, read_scripts, tenant_rosters
from fabricc.back.jobs.settings import LIBRARIES, TABLES, settings_files
from fabricc.back.jobs.slurm import BLOCKS, SLURM, slurm_files

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host


def imex_files(hosts: Roster[Any]) -> dict[str, str]:
    """`DOMAIN.cfg`: the `nodes_config.cfg` of each host of the domain, a name a line, in the order of the hosts.

    Names (NVIDIA, release notes of driver 570.158.01), as rails have no routes for sockets without a source address.
    The service compares the lists, so each host of a domain has the same one.
    """
    return {
        f"{check_word(name)}.cfg": "".join(f"{check_word(host.name)}\n" for host in members)
        for name, members in hosts.hosts_by_domain().items()
    }


HOSTS = "hosts.csv"
"""The table of all hosts with GPUs, which other verbs read."""


def job_files(fabric: Fabric) -> dict[str, str]:
    """Path -> text, sorted by path; a few files for the whole fabric, none per host, and none where none has GPUs.

    With tenants each has such files for its own hosts, as no job reaches across tenants.

    Raises:
        ValueError: a name that these files cannot hold; the hosts' gaps report such names before.
    """
    hosts = list_hosts(fabric, fabric.host)
    if not hosts.hosts:
        return {}
    if fabric.tenancy is None:
        folders = _folders(fabric, hosts, "jobs", "acceptance")
    else:
        folders = {"jobs": {HOSTS: settings_files(hosts)[HOSTS]}}
        for name, own in tenant_rosters(fabric.tenancy, hosts).items():
            folders |= _folders(fabric, own, f"jobs/tenants/{name}", f"acceptance/tenants/{name}")
    files = {f"{folder}/{name}": text for folder, texts in folders.items() for name, text in texts.items()}
    return dict(sorted(files.items()))


def _folders(fabric: Fabric, hosts: Roster[Host], jobs: str, acceptance: str) -> dict[str, dict[str, str]]:
    """Return folder -> files for jobs and for the acceptance test of some hosts."""
    return {
        jobs: settings_files(hosts),
        f"{jobs}/slurm": slurm_files(hosts),
        f"{jobs}/imex": imex_files(hosts),
        f"{jobs}/launch": read_scripts("launch"),
        f"{jobs}/kubernetes": kubernetes_files(fabric, hosts),
        acceptance: acceptance_files(fabric, hosts),
    }


def required_files(names: Collection[str], below: str, domains: Collection[str]) -> Iterator[str]:
    """Yield the files that every tree has whose hosts have GPUs.

    Args:
        names: all files of the tree, which show the kinds of hosts.
        below: "", or the folder of a tenant in `jobs` and `acceptance`.
        domains: the NVLink domains of the hosts, none of a tenant.
    """
    jobs, acceptance = f"jobs{below}", f"acceptance{below}"
    yield from (f"{acceptance}/{name}" for name in (*read_scripts("acceptance"), PLAN))
    yield from (f"{jobs}/launch/{name}" for name in read_scripts("launch"))
    yield from (f"{jobs}/kubernetes/{name}" for name in OBJECTS)
    yield from required_settings(names, jobs, domains)


def required_settings(names: Collection[str], jobs: str, domains: Collection[str]) -> Iterator[str]:
    """Yield the settings and tables that every tree has whose hosts have GPUs, whatever its fabric is.

    Args:
        names: all files of the tree.
        jobs: the folder.
        domains: the NVLink domains of the hosts.
    """
    yield from (f"{jobs}/kubernetes/{name}" for name in TOPOLOGY)
    yield from (f"{jobs}/imex/{name}.cfg" for name in domains)
    yield from (f"{jobs}/slurm/{name}" for name in (*SLURM, *(BLOCKS for _ in [*domains][:1])))
    yield from (f"{jobs}/{name}" for name in TABLES)
    own = [
        name.removeprefix(f"{jobs}/")
        for name in names
        if name.startswith(f"{jobs}/") and name.endswith(".conf")
    ]
    for stem in LIBRARIES:
        if not any(name.startswith(stem) for name in own):
            yield f"{jobs}/{stem}.conf"
    yield from (f"{jobs}/r{name[1:]}" for name in own if name.startswith("nccl"))
    yield from (f"{jobs}/n{name[1:]}" for name in own if name.startswith("rccl"))


_ONE_SIDED = (
    ("nvshmem", GPUS["nvidia"].settings, re.compile(r"(?m)^NCCL_IB_(?:TC|SL|PKEY|ADDR_\w+)=.*$")),
    ("mori", GPUS["amd"].settings, re.compile(r"(?m)^NCCL_IB_TC=.*$")),
)
"""Files for one-sided libraries -> the settings of the collective library on the same hosts, and what decides them."""
_DEVICES = re.compile(r"(?m)^NCCL_IB_HCA=(.*)$")
_PORT = re.compile(r"[^,:=]+:\d+")


def required_one_sided(
    names: Collection[str], jobs: str, settings: Iterable[tuple[str, str]], *, marked: bool
) -> Iterator[str]:
    """Yield `nvshmem.env` or `mori.env` if there are fewer such files than hosts have different settings for them.

    Args:
        names: all files of the tree.
        jobs: the folder.
        settings: path and text of the settings of collective libraries on the hosts.
        marked: whether only hosts that set a traffic class have such files.
    """
    found = [(path, text) for path, text in settings if "NCCL_IB_TC=" in text or not marked]
    for stem, path, keys in _ONE_SIDED:
        wanted = {
            (*keys.findall(text), *(_PORT.findall(_DEVICES.findall(text)[-1]) if stem == "nvshmem" else ()))
            for each, text in found
            if each == path and _DEVICES.search(text)
        }
        own = [name for name in names if re.fullmatch(rf"{re.escape(jobs)}/{stem}(?:-.+)?\.env", name)]
        if len(own) < len(wanted):
            yield f"{jobs}/{stem}.env"


def is_executable(path: str, text: str) -> bool:
    """Return whether the file is written with mode 0755: its first line names an interpreter."""
    return path.endswith((".sh", ".py")) and text.startswith("#!")
