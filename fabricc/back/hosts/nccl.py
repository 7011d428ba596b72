"""Settings of NCCL, and of RCCL on AMD GPUs: which devices, in which traffic class and over how many paths."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back.hosts.nics import GPUS, code_point, gpu_of, host_qos, over_tcp, tos_byte
from fabricc.back.hosts.words import check_word, parse_decimal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.back.hosts.words import Reader
    from fabricc.fabric.facts import Facts, Reading, Value
    from fabricc.fabric.model import Host

FILE = GPUS["nvidia"].settings
FILES = tuple(gpu.settings for gpu in GPUS.values() if gpu.settings)

ALL_JOINED = "all"
_ROCE_V2 = 2
_TIMEOUT = 22  # 4.096 us * 2**22 = 17 s: outlives a reconvergence of BGP


def cross_nic(host: Host) -> int:
    """NCCL_CROSS_NIC by wiring: 0 without a path between rails, 1 when all rails share their ToRs, else 2."""
    if host.rail_isolated:
        return 0
    tors: dict[int, set[str]] = {}
    for port in host.ports:
        tors.setdefault(port.rail, set()).add(port.peer.device)
    first = next(iter(tors.values()), set())
    return 1 if len(tors) > 1 and all(of_rail == first for of_rail in tors.values()) else 2


def needs_pxn(host: Host, crossing: int) -> bool:
    """Return whether each rail has its own ToRs, so that traffic between rails should take NVLink first (PXN).

    PXN goes over the links between GPUs (NCCL, `src/graph/paths.cc`), so a host without them has none.

    `crossing` is the host's `cross_nic`.

    RCCL leaves PXN off; it is enabled only where no other path between rails exists.
    """
    if host.model.gpu_interconnect != ALL_JOINED:
        return False
    return crossing != 1 if gpu_of(host).pxn else host.rail_isolated


def list_devices(host: Host) -> str:
    """Return the RDMA devices with their port; with several planes also rail and plane (NCCL 2.30 and later).

    NCCL then connects no ports of different planes (`ncclTopoSearchCheckNet`); earlier releases and RCCL read the
    port and skip the rest (`parseStringList`).
    """
    if host.planes == 1:
        return ",".join([f"{check_word(port.rdma)}:1" for port in host.ports])
    return ",".join([f"{check_word(p.rdma)}:1:{p.rail}:{p.plane}" for p in host.ports])


def ipv6_only(host: Host) -> bool:
    """Return whether RoCE addresses are IPv6; a dual-stack fabric uses its IPv4 ones."""
    return not any(port.ipv4 for port in host.ports) and any(port.ipv6 for port in host.ports)


@lru_cache(maxsize=64)
def covering_prefix(prefixes: tuple[str, ...]) -> str | None:
    """Return the longest prefix that covers all prefixes of one family; None if that is everything, or without any."""
    networks = [ipaddress.ip_network(prefix) for prefix in prefixes]
    if not networks:
        return None
    low = min(int(network.network_address) for network in networks)
    high = max(int(network.broadcast_address) for network in networks)
    bits = networks[0].max_prefixlen
    length = bits - (low ^ high).bit_length()
    if length == 0:
        return None
    start = networks[0].network_address.__class__(low >> (bits - length) << (bits - length))
    return f"{start}/{length}"


def nccl_settings(host: Host) -> dict[str, Value]:
    """Return leaf of the fact -> value, in the order of the file.

    With RDMA over TCP it selects sockets and no devices (FAB5608). They take the management network, because
    NCCL binds no source address and rails answer by their policy routes only.
    """
    name = host.socket_interface
    settings: dict[str, Value] = {"socket_ifname": name} if name else {}
    if over_tcp(host):
        return settings | {"ib_disable": 1}
    qos, v6 = host_qos(host), ipv6_only(host)
    settings["hca"] = list_devices(host)
    if qos.rdma_dscp is not None:
        settings["dscp"] = qos.rdma_dscp
        if qos.cnp:
            settings["control_dscp"] = qos.cnp[0]
    settings["roce_version"] = _ROCE_V2
    settings["address_family"] = "ipv6" if v6 else "ipv4"
    if prefix := covering_prefix(host.fabric_prefixes6 if v6 else host.fabric_prefixes4):
        settings["address_range"] = prefix
    settings["cross_nic"] = crossing = cross_nic(host)
    if needs_pxn(host, crossing):
        settings["pxn_disable"] = 0
    # GPUs of one host do not meet over rails that do not meet, nor where a pod's IPv6 lookup ends at its own loopback
    # (NVIDIA/nccl issue 1405).
    if host.model.gpu_interconnect != ALL_JOINED and (host.rail_isolated or v6):
        settings["net_disable_intra"] = 1
    settings |= {"qps_per_connection": host.recommended_qps, "split_data_on_qps": 0, "timeout": _TIMEOUT}
    if (
        host.spreads_packets
    ):  # NCCL's default on Ethernet is off (`net_ib/init.cc`): a notice would overtake its data
        settings["adaptive_routing"] = 1
    return settings | dict(gpu_of(host).extra)


def state(facts: Facts, host: Host) -> None:
    """Add the facts of the file."""
    if host.model.gpus:
        facts.update([(f"nccl/{leaf}", value) for leaf, value in nccl_settings(host).items()])


class _Key(NamedTuple):
    """A key of the file, and how it spells the value of its fact."""

    name: str
    write: Callable[[Any], Value] = lambda value: value
    read: Callable[[str], Value] = parse_decimal


def _normalize_list(text: str) -> str:
    """Return a list as a fact; lists match by prefix unless they begin with `=`, which the fact then lacks."""
    return text[1:] if text.startswith("=") else f"{text}*"


_FAMILIES = {"ipv4": "AF_INET", "ipv6": "AF_INET6"}
_KEYS = {
    "socket_ifname": _Key("NCCL_SOCKET_IFNAME", lambda name: f"={check_word(name)}", _normalize_list),
    "ib_disable": _Key("NCCL_IB_DISABLE"),
    "hca": _Key("NCCL_IB_HCA", lambda devices: f"={devices}", _normalize_list),
    "dscp": _Key("NCCL_IB_TC", tos_byte, code_point),
    "control_dscp": _Key("NCCL_IB_FIFO_TC", tos_byte, code_point),
    "roce_version": _Key("NCCL_IB_ROCE_VERSION_NUM"),
    "address_family": _Key(
        "NCCL_IB_ADDR_FAMILY",
        _FAMILIES.__getitem__,
        lambda text: next((family for family, name in _FAMILIES.items() if name == text), text),
    ),
    "address_range": _Key("NCCL_IB_ADDR_RANGE"),
    "cross_nic": _Key("NCCL_CROSS_NIC"),
    "pxn_disable": _Key("NCCL_PXN_DISABLE"),
    "net_disable_intra": _Key("NCCL_NET_DISABLE_INTRA"),
    "qps_per_connection": _Key("NCCL_IB_QPS_PER_CONNECTION"),
    "split_data_on_qps": _Key("NCCL_IB_SPLIT_DATA_ON_QPS"),
    "timeout": _Key("NCCL_IB_TIMEOUT"),
    "adaptive_routing": _Key("NCCL_IB_ADAPTIVE_ROUTING"),
    "dmabuf_enable": _Key("NCCL_DMABUF_ENABLE"),
}
"""Leaf of the fact -> its key."""
_LEAVES = {key.name: leaf for leaf, key in _KEYS.items()}


def render_text(host: Host) -> str:
    """Return the text; the NCCL of every job, also in containers, must find it."""
    return as_text(tuple(nccl_settings(host).items()))


@lru_cache(maxsize=256)
def as_text(pairs: tuple[tuple[str, Value], ...]) -> str:
    """Settings by the leaves of their facts, a line each."""
    return "".join([f"{_KEYS[leaf].name}={_KEYS[leaf].write(value)}\n" for leaf, value in pairs])


def render(host: Host) -> dict[str, str]:
    """Return the file under the name that the library of the host's GPUs reads; none without GPUs."""
    return {gpu_of(host).settings: render_text(host)} if host.model.gpus else {}


_HARMFUL = {
    ("NCCL_NET", "socket"): "NCCL uses TCP in place of RDMA",
    ("NCCL_IB_GID_INDEX", "0"): "NCCL uses the first GID, which is of RoCE v1",
    ("NCCL_NET_GDR_LEVEL", "loc"): "NICs do not reach the memory of GPUs themselves",
    ("NCCL_NET_GDR_LEVEL", "0"): "NICs do not reach the memory of GPUs themselves",
    ("NCCL_P2P_DISABLE", "1"): "GPUs of a host do not reach each other over their own links",
    ("NCCL_SHM_DISABLE", "1"): "GPUs of a host without a link of their own use the network",
    ("NCCL_IB_CUDA_SUPPORT", "0"): "NICs do not reach the memory of GPUs themselves",
    ("NCCL_IB_RETRY_CNT", "0"): "the first lost packet ends a connection",
    ("NCCL_PROTO", "ll"): "NCCL sends half of each line as flags",
    ("NCCL_MAX_NCHANNELS", "1"): "NCCL uses one channel, which does not fill the NICs",
}
"""Settings that fabricc does not write and that slow down jobs (NCCL user guide, environment variables).

The kernel makes the GIDs of an address in the order of the versions of RoCE, so the first is of version 1.
"""


def find_harm(text: str) -> str:
    """Return what a line of the file that no row reads does to jobs; "" for another line."""
    name, _, value = text.partition("=")
    return _HARMFUL.get((name.strip(), value.strip().lower()), "")


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of an `nccl.conf`: `KEY=VALUE` without quotes, `#` in the first column only."""
    for number, line in enumerate(text.split("\n"), 1):
        key, equals, value = line.partition("=")
        if equals and (leaf := _LEAVES.get(key)):
            reading.put(f"nccl/{leaf}", _KEYS[leaf].read(value), file, number)
        elif line and line[0] != "#":
            reading.unknown.append((file, number, line))


READERS: Mapping[str, Reader] = dict.fromkeys(FILES, read)
