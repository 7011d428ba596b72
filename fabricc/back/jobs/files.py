"""Every file for jobs and for the acceptance test of a fabric, by path in the output tree."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from fabricc.back.hosts import nccl
from fabricc.back.hosts.nics import GPUS, host_qos, tos_byte
from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.kubernetes import OBJECTS, kubernetes_files
from fabricc.back.jobs.kubernetes_topology import TOPOLOGY
from fabricc.back.jobs.roster import JobHost, Roster, list_hosts, read_scripts, tenant_rosters
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


EXPECTED_MISSES = 0.01
"""Links that the spine or core rounds are expected to leave without a flow, in the whole fabric."""
OVERLOADS = 0.01
"""Links that are expected to be offered more than they carry in one round, in the whole fabric."""
QUEUE_PAIRS = 16
MESSAGE_BYTES = 1 << 20
GATE = 0.95
"""Share of the expected figure below which a result is a fault: the tail of scheduling, not of the wire."""
LATENCY_FACTOR = 1.5
"""A latency above this many times the median of its round is a fault; the catalog has no latencies to expect."""

_RDMA_MTUS = (4096, 2048, 1024, 512, 256)
_RDMA_HEADERS = 96  # what the Linux kernel keeps free below the port's MTU: rdma/ib_addr.h
_ETHERNET = 8 + 14 + 4 + 12  # preamble and delimiter, header, FCS, least gap: IEEE 802.3, clauses 3 and 4
_UDP_BTH_ICRC = 8 + 12 + 4  # IBTA volume 1, annex A17 (RoCEv2)
_RETH = 16  # on the first packet of an RDMA write: IBTA volume 1, section 9.3.1


PLAN = "plan.json"


def acceptance_files(fabric: Fabric, hosts: Roster[Host]) -> dict[str, str]:
    """`plan.json` and the scripts that carry it out."""
    return {**read_scripts("acceptance"), PLAN: _plan_text(acceptance_plan(fabric, hosts))}


def rdma_mtu(mtu: int) -> int:
    """Return the path MTU of RoCE in bytes on a port with this IP MTU; 256 at least."""
    return next((size for size in _RDMA_MTUS if size <= mtu - _RDMA_HEADERS), _RDMA_MTUS[-1])


def goodput_gbps(speed_gbps: int, mtu: int, *, ipv6: bool) -> float:
    """Return the payload of a port with this speed in RDMA writes of `MESSAGE_BYTES`.

    A message of m bytes in packets of p costs ceil(m / p) times the overhead of Ethernet, IP, UDP, BTH and ICRC, and
    one RETH. Coding and FEC are inside the line rate: the MAC of a 400G port sends 400 Gb/s.

    Args:
        speed_gbps: of the port.
        mtu: IP MTU in bytes, from which the path MTU follows.
        ipv6: whether RoCE runs on IPv6 (RFC 8200 header of 40 bytes; RFC 791 of 20).
    """
    packets = math.ceil(MESSAGE_BYTES / rdma_mtu(mtu))
    overhead = packets * (_ETHERNET + (40 if ipv6 else 20) + _UDP_BTH_ICRC) + _RETH
    return speed_gbps * MESSAGE_BYTES / (MESSAGE_BYTES + overhead)


def flows_to_cover(links: int, all_links: int) -> int:
    """Flows through `links` equal-cost links that leave fewer than `EXPECTED_MISSES` of all links without one.

    With n flows spread at random a link stays empty with probability (1 - 1/links)^n.
    """
    if links < 2:
        return 1
    return math.ceil(math.log(EXPECTED_MISSES / all_links) / math.log(1 - 1 / links))


def senders_without_overload(links: int, all_links: int, capacity_flows: float) -> int:
    """Return how many ports may send over `links` links at once so that hardly any link is overloaded.

    Chernoff's bound for a Poisson load of mean m: P(load > c) <= exp(c - m - c ln(c / m)), c being the flows that fill
    a link. One port alone never overloads a link as fast as itself.
    """
    senders = 1
    wanted = math.log(OVERLOADS / all_links)
    while senders < links:
        mean = (senders + 1) * QUEUE_PAIRS / links
        if mean >= capacity_flows:
            break
        if capacity_flows - mean - capacity_flows * math.log(capacity_flows / mean) > wanted:
            break
        senders += 1
    return senders


def acceptance_plan(fabric: Fabric, hosts: Roster[Host]) -> dict[str, Any]:
    """Return the content of `plan.json`."""
    kind = hosts.kinds[0]
    qos = host_qos(kind)
    ipv6 = nccl.ipv6_only(kind)
    shape = fabric.shape
    return {
        "cluster": hosts.cluster,
        "shape": {
            "rails": shape.rails,
            "nic_ports": max(len(each.present) for each in fabric.attachments),
            "planes": len(fabric.planes),
            "rails_per_tor": shape.rails_per_tor,
        },
        "traffic": {
            "tclass": 0 if qos.rdma_dscp is None else tos_byte(qos.rdma_dscp),
            "lossless_priorities": [priority for priority, on in enumerate(qos.pfc) if on],
            "cnp_priority": qos.cnp[1] if qos.cnp else None,
            "queue_pairs": QUEUE_PAIRS,
            "message_bytes": MESSAGE_BYTES,
            "rdma_mtu": rdma_mtu(fabric.host_mtu),
            "prefixes": list(kind.fabric_prefixes6 if ipv6 else kind.fabric_prefixes4),
        },
        "limits": {"gate": GATE, "latency_factor": LATENCY_FACTOR},
        "kinds": [_host_kind(each, fabric.host_mtu, ipv6) for each in hosts.kinds],
        "units": [_unit_entry(unit, members) for unit, members in hosts.units().items()],
        "rounds": plan_rounds(fabric, hosts),
    }


def _unit_entry(name: str, members: list[JobHost]) -> dict[str, Any]:
    """Return a unit: its hosts, and their kind, or one for each where hosts of other groups share its ToRs."""
    kinds = [host.kind for host in members]
    several = {"kinds": kinds} if len(set(kinds)) > 1 else {}
    pod = members[0].pod or ""
    return {"name": name, "pod": pod, "kind": kinds[0], **several, "hosts": [host.name for host in members]}


def _host_kind(host: Host, mtu: int, ipv6: bool) -> dict[str, Any]:
    """Return a kind of host: its model, and the values that the scripts need for each port."""
    return {
        "model": host.model.name,
        "ports": [
            {
                "name": port.name,
                "rail": port.rail,
                "nic_port": port.nic_port,
                "rdma": port.rdma,
                "speed_gbps": port.speed_gbps,
                "expected_gbps": round(goodput_gbps(port.speed_gbps, mtu, ipv6=ipv6), 1),
            }
            for port in host.ports
        ],
    }


def plan_rounds(fabric: Fabric, hosts: Roster[Host]) -> list[dict[str, Any]]:
    """Return the rounds in the order of execution; `pairs.py` documents the pairs of each kind of round."""
    units = list(hosts.units().values())
    shape = fabric.shape
    fastest = max((port.speed_gbps for kind in hosts.kinds for port in kind.ports), default=1)
    largest = max((len(members) for members in units), default=0)
    found: list[dict[str, Any]] = []
    if largest > 1:
        other = {"host_shift": 2, "lane_shift": 0} if largest > 2 else {"host_shift": 1, "lane_shift": 1}
        found.append({"kind": "tor", "host_shift": 1, "lane_shift": 0})
        if largest > 2 or shape.rails_per_tor > 1:
            found.append({"kind": "tor", **other})
    if _cross_spines(fabric, hosts):
        found += _spine_rounds(fabric, min(len(members) for members in units), fastest)
    if shape.cores and len({host.pod for host in hosts.hosts}) > 1:
        found += _core_rounds(fabric, hosts, fastest)
    if largest > 1:
        found.append({"kind": "latency", "host_shift": 1, "lane_shift": 0})
    if largest > 2:
        found.append({"kind": "incast", "senders": min(4, largest - 1)})
    if _cross_spines(fabric, hosts):
        found.append({"kind": "load"})
    return [{"round": number, **entry} for number, entry in enumerate(found, 1)]


def _cross_spines(fabric: Fabric, hosts: Roster[Host]) -> bool:
    """Return whether two joined ToRs can be paired: by two units, or two groups of rails of one."""
    shape = fabric.shape
    if not shape.spines and not shape.peer_links:
        return False
    by_pod: dict[str | None, set[str]] = {}
    for host in hosts.hosts:
        by_pod.setdefault(host.pod, set()).add(host.unit)
    between_rails = shape.groups > 1 and shape.rail_planes == 1
    return between_rails or any(len(units) > 1 for units in by_pod.values())


def _spine_rounds(fabric: Fabric, smallest: int, fastest: int) -> list[dict[str, Any]]:
    """Rounds between ToRs: as many hosts of each unit at once as the uplinks of any ToR take, at either end.

    Args:
        fabric: the fabric.
        smallest: hosts of its smallest unit; a unit of one host has its links tested here and nowhere else.
        fastest: speed of the fastest port, Gb/s.
    """
    shape, counts = fabric.shape, fabric.counts()
    cables = counts.get("peer_cables", counts["spine_cables"])
    capacity = QUEUE_PAIRS * shape.uplink_gbps / fastest
    uplinks = {shape.peer_links or fabric.uplinks(group) for group in fabric.groups().values()}
    at_once = min(smallest, senders_without_overload(min(uplinks), cables, capacity))
    covering = math.ceil(flows_to_cover(max(uplinks), cables) / (QUEUE_PAIRS * at_once))
    turns = max(covering, shape.rails_per_tor if smallest == 1 else 1, 2)
    return [{"kind": "spine", "turn": turn, "hosts": at_once} for turn in range(turns)]


def _core_rounds(fabric: Fabric, hosts: Roster[Host], fastest: int) -> list[dict[str, Any]]:
    """Rounds between pods: as many senders at once as the cores' links take, until every link has had a flow."""
    shape, counts = fabric.shape, fabric.counts()
    sizes: dict[str | None, set[str]] = {}
    for host in hosts.hosts:
        sizes.setdefault(host.pod, set()).add(host.unit)
    smallest = min(len(units) for units in sizes.values())
    links = shape.spines * shape.spine_uplinks
    capacity = QUEUE_PAIRS * shape.core_link_gbps / fastest
    senders = senders_without_overload(links, counts["core_cables"], capacity)
    at_once = max(1, min(smallest, senders // shape.tors_per_unit_plane))
    per_round = at_once * shape.tors_per_unit_plane * QUEUE_PAIRS
    turns = max(2, math.ceil(flows_to_cover(links, counts["core_cables"]) / per_round))
    return [{"kind": "core", "turn": turn, "units": at_once} for turn in range(turns)]


def _plan_text(entry: dict[str, Any]) -> str:
    """JSON with a line per unit, kind and round: a diff of two plans can be read."""
    parts = []
    for key, value in entry.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f'"{key}": [\n  {rows}\n]')
        else:
            parts.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
