"""Settings of NCCL, and of RCCL on AMD GPUs: which devices, in which traffic class and over how many paths."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts.classes import nic_qos, tos_byte
from fabricc.back.hosts.gpus import GPUS, gpu_of
from fabricc.back.hosts.nics import over_tcp
from fabricc.back.hosts.numbers import decimal
from fabricc.back.hosts.templating import word

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading
    from fabricc.fabric.model import Host
    from fabricc.fabric.qos import TrafficClass

FILE = GPUS["nvidia"].settings
FILES = tuple(gpu.settings for gpu in GPUS.values())

_ROCE_V2 = 2
_TIMEOUT = 22  # 4.096 us * 2**22 = 17 s: outlives a reconvergence of BGP
_FACTS = {
    "NCCL_SOCKET_IFNAME": "socket_ifname",
    "NCCL_IB_DISABLE": "ib_disable",
    "NCCL_IB_HCA": "hca",
    "NCCL_IB_TC": "dscp",
    "NCCL_IB_FIFO_TC": "control_dscp",
    "NCCL_IB_ROCE_VERSION_NUM": "roce_version",
    "NCCL_IB_ADDR_FAMILY": "address_family",
    "NCCL_IB_ADDR_RANGE": "address_range",
    "NCCL_CROSS_NIC": "cross_nic",
    "NCCL_PXN_DISABLE": "pxn_disable",
    "NCCL_IB_QPS_PER_CONNECTION": "qps_per_connection",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "split_data_on_qps",
    "NCCL_IB_TIMEOUT": "timeout",
    "NCCL_IB_ADAPTIVE_ROUTING": "adaptive_routing",
    "NCCL_DMABUF_ENABLE": "dmabuf_enable",
}


def cross_nic(host: Host) -> int:
    """NCCL_CROSS_NIC by wiring: 0 without a path between rails, 1 when all rails share their ToRs, else 2."""
    if host.rail_isolated:
        return 0
    tors: dict[int, set[str]] = {}
    for port in host.ports:
        tors.setdefault(port.rail, set()).add(port.peer.device)
    first = next(iter(tors.values()), set())
    return 1 if len(tors) > 1 and all(of_rail == first for of_rail in tors.values()) else 2


def needs_pxn(host: Host) -> bool:
    """Whether rails have ToRs of their own, so that traffic between rails should take NVLink first (NCCL's PXN).

    RCCL leaves PXN off, and is told otherwise only where no other path between rails exists.
    """
    return cross_nic(host) != 1 if gpu_of(host).pxn else host.rail_isolated


def devices(host: Host) -> str:
    """The RDMA devices with their only port; with several planes also rail and plane, as NCCL 2.30 and later take them.

    NCCL then connects no ports of different planes (`ncclTopoSearchCheckNet`); earlier releases and RCCL read the
    port and skip the rest (`parseStringList`).
    """
    if host.planes == 1:
        return ",".join([f"{word(port.rdma)}:1" for port in host.ports])
    planes = host.planes
    return ",".join([f"{word(p.rdma)}:1:{p.rail}:{p.nic_port % planes}" for p in host.ports])


def ipv6_only(host: Host) -> bool:
    """Whether RoCE addresses are IPv6; a dual-stack fabric uses its IPv4 ones."""
    return not any(port.ipv4 for port in host.ports) and any(port.ipv6 for port in host.ports)


@lru_cache(maxsize=64)
def covering(prefixes: tuple[str, ...]) -> str | None:
    """The longest prefix that covers all prefixes of one family; None when that is everything, or there are none."""
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


def render(host: Host) -> str:
    """The text, to be found by the NCCL of every job: containers need it too.

    With RDMA over TCP it says sockets and nothing of devices (FAB5608). They take the management network, because
    NCCL binds no source address and rails answer by their policy routes only.
    """
    if over_tcp(host):
        return "".join(f"{key}={value}\n" for key, value in [*_sockets(host), ("NCCL_IB_DISABLE", 1)])
    v6 = ipv6_only(host)
    return _text(
        tuple(_sockets(host)),
        devices(host),
        host.classes,
        v6,
        host.fabric_prefixes6 if v6 else host.fabric_prefixes4,
        cross_nic(host),
        needs_pxn(host),
        host.recommended_qps,
        host.spreads_packets,
        gpu_of(host).extra,
    )


def _sockets(host: Host) -> list[tuple[str, str]]:
    name = host.model.management_interface
    return [("NCCL_SOCKET_IFNAME", f"={word(name)}")] if name else []


@lru_cache(maxsize=256)
def _text(
    sockets: tuple[tuple[str, str], ...],
    listed: str,
    classes: tuple[TrafficClass, ...],
    v6: bool,
    prefixes: tuple[str, ...],
    cross: int,
    pxn: bool,
    qps: int,
    spread: bool,
    extra: tuple[tuple[str, int], ...],
) -> str:
    qos = nic_qos(classes)
    settings: list[tuple[str, str | int]] = [*sockets]
    settings.append(("NCCL_IB_HCA", "=" + listed))
    if qos.rdma_dscp is not None:
        settings.append(("NCCL_IB_TC", tos_byte(qos.rdma_dscp)))
        if qos.cnp:
            settings.append(("NCCL_IB_FIFO_TC", tos_byte(qos.cnp[0])))
    settings.append(("NCCL_IB_ROCE_VERSION_NUM", _ROCE_V2))
    settings.append(("NCCL_IB_ADDR_FAMILY", "AF_INET6" if v6 else "AF_INET"))
    if prefix := covering(prefixes):
        settings.append(("NCCL_IB_ADDR_RANGE", prefix))
    settings.append(("NCCL_CROSS_NIC", cross))
    if pxn:
        settings.append(("NCCL_PXN_DISABLE", 0))
    settings += [
        ("NCCL_IB_QPS_PER_CONNECTION", qps),
        ("NCCL_IB_SPLIT_DATA_ON_QPS", 0),
        ("NCCL_IB_TIMEOUT", _TIMEOUT),
    ]
    if spread:  # on Ethernet it is off by default (NCCL, `net_ib/init.cc`): a notice would overtake its data
        settings.append(("NCCL_IB_ADAPTIVE_ROUTING", 1))
    settings += extra
    return "".join(f"{key}={value}\n" for key, value in settings)


def planned(host: Host) -> dict[str, str | int]:
    """The facts of the file."""
    facts: dict[str, str | int] = {}
    if host.model.management_interface:
        facts["nccl/socket_ifname"] = host.model.management_interface
    if over_tcp(host):
        return {**facts, "nccl/ib_disable": 1}
    qos = nic_qos(host.classes)
    v6 = ipv6_only(host)
    facts |= {
        "nccl/hca": devices(host),
        "nccl/roce_version": 2,
        "nccl/address_family": "ipv6" if v6 else "ipv4",
        "nccl/cross_nic": cross_nic(host),
        "nccl/qps_per_connection": host.recommended_qps,
        "nccl/split_data_on_qps": 0,
        "nccl/timeout": _TIMEOUT,
    }
    facts |= {f"nccl/{_FACTS[key]}": value for key, value in gpu_of(host).extra}
    if host.spreads_packets:
        facts["nccl/adaptive_routing"] = 1
    if needs_pxn(host):
        facts["nccl/pxn_disable"] = 0
    if qos.rdma_dscp is not None:
        facts["nccl/dscp"] = qos.rdma_dscp
        if qos.cnp:
            facts["nccl/control_dscp"] = qos.cnp[0]
    if prefix := covering(host.fabric_prefixes6 if v6 else host.fabric_prefixes4):
        facts["nccl/address_range"] = prefix
    return facts


_LINE = re.compile(r"([A-Z0-9_]+)=(.*)")


def read(reading: Reading, file: str, text: str) -> None:
    """Add the facts of an `nccl.conf`: `KEY=VALUE` without quotes, `#` in the first column only."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line[0] == "#":
            continue
        match = _LINE.fullmatch(line)
        if match is None or match[1] not in _FACTS:
            reading.unknown.append((file, number, line))
            continue
        reading.put(f"nccl/{_FACTS[match[1]]}", _value(match[1], match[2]), file, number)


def _value(key: str, text: str) -> str | int:
    """The canonical value; lists match by prefix unless they begin with `=`, which the fact then lacks."""
    if key in ("NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"):
        return text[1:] if text.startswith("=") else f"{text}*"
    if key == "NCCL_IB_ADDR_FAMILY":
        return {"AF_INET": "ipv4", "AF_INET6": "ipv6"}.get(text, text)
    value = decimal(text)
    return value >> 2 if isinstance(value, int) and key in ("NCCL_IB_TC", "NCCL_IB_FIFO_TC") else value
