"""The proof of a host's files: addresses, modes and names read back from whichever files its system takes."""

from __future__ import annotations

import configparser
import re
from typing import TYPE_CHECKING

from fabricc.back.hosts.nccl import FILES
from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.services import MODULES, RDMA_MODULES
from fabricc.back.hosts.words import network_path
from fabricc.back.infiniband import host_files
from fabricc.back.reading.tree import find_node
from fabricc.back.reading.yaml_lines import yaml_tree
from fabricc.base.documents.document import clip
from fabricc.proof import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.infiniband.model import Host, HostPort, InfinibandFabric, IpoibPlan, Partition

Interface = tuple[str | None, str | None, int | None, int | None]
"""Address, mode, MTU and P_Key of an interface, None where the files do not state it."""

_ADAPTER = re.compile(
    r"^(\S+)\) port=\d+ gbps=(\d+) lid=(\d+) ipoib=\S* ipoib_mode=\S* pkeys=(\S*) ;;$", re.MULTILINE
)
_RENAME = re.compile(r'SUBSYSTEM=="infiniband", .*NAME_FIXED (\S+)"')


def prove_host(
    ib: InfinibandFabric, host: Host, files: Mapping[str, str], tenants: Sequence[Partition] = ()
) -> Iterator[Finding]:
    """FAB6310 for everything in a host's files that is not as planned; `tenants`: the host's partitions by name."""
    if not host.network:
        yield from _check_collectives(ib, host, files)
    yield from _check_system(ib, host, files, tenants)
    rules = network_path(host_files.RULES, host)
    named = set(_RENAME.findall(files.get(rules, "")))
    wanted_names = {port.rdma for port in host.ports if port.real_guid or port.pci}
    if named != wanted_names:
        yield Finding("FAB6310", "RDMA devices are not named as planned", rules)
    if ib.ipoib is not None:
        yield from _check_ipoib(ib.ipoib, host, files, tenants)


def _check_collectives(ib: InfinibandFabric, host: Host, files: Mapping[str, str]) -> Iterator[Finding]:
    """Report settings of the collective library that are not those of the rails."""
    file = next((path for path in FILES if path in files), host_files.NCCL)
    nccl = dict(line.split("=", 1) for line in _split_words(files.get(file, "")))
    level = str(host_files.rdma_class(ib.classes).sl)
    devices = f"={host_files.rdma_ports(host)}"
    for key, wanted in (("NCCL_IB_HCA", devices), ("NCCL_IB_SL", level)):
        if nccl.get(key) != wanted:
            yield Finding("FAB6310", f"{key} is {nccl.get(key)}, planned is {wanted}", file)


def _check_system(
    ib: InfinibandFabric, host: Host, files: Mapping[str, str], tenants: Sequence[Partition]
) -> Iterator[Finding]:
    """Report limits, modules and adapters that differ from the plan, and edited fixed texts."""
    modules = {*RDMA_MODULES, *GPUS[host.model.gpu_vendor].modules} - {*host.leave_out}
    wanted = {"ib_ipoib"} if ib.ipoib else set[str]()
    file = MODULES
    if host.rails_elsewhere:
        file = network_path(MODULES, host)
    else:
        wanted |= modules
    listed = {line for line in files.get(file, "").splitlines() if not line.startswith("#")}
    if listed != wanted:
        yield Finding("FAB6310", f"modules are {', '.join(sorted(listed))}, planned otherwise", file)
    path_of_script = network_path(host_files.SCRIPT, host)
    script = files.get(path_of_script, "")
    rows = [tuple(row) for row in _ADAPTER.findall(script)]
    planned = [
        (
            port.rdma,
            str(port.gbps),
            str(port.lid),
            ",".join(f"0x{key:04x}" for key in _keys_of(port, tenants)),
        )
        for port in host.ports
    ]
    if rows != planned:
        yield Finding("FAB6310", "adapters are not those of the plan", path_of_script)
    for path, text in host_files.system_files(host, ib.ipoib, tenants):
        if files.get(path) != text:
            yield Finding("FAB6310", "the text is not the one that fabricc writes for this host", path)


def _keys_of(port: HostPort, tenants: Sequence[Partition]) -> list[int]:
    """Return the P_Keys of a port, with full membership."""
    return [tenant.pkey | 0x8000 for tenant in tenants if tenant.has_rail(port.host, port.rail)]


def _check_ipoib(
    ipoib: IpoibPlan, host: Host, files: Mapping[str, str], tenants: Sequence[Partition]
) -> Iterator[Finding]:
    try:
        found = dict(_read_interfaces(files))
    except (
        configparser.Error,
        KeyError,
        TypeError,
        ValueError,
    ) as error:  # KeyError: a section or a key is missing
        yield Finding("FAB6310", f"a file of IPoIB cannot be read: {error}", "")
        return
    for port in host.ports:
        name, pkey = port.name, None
        if own := host_files.tenants_of(port, tenants):
            name, pkey = host_files.child_interface(port, own[0]), own[0].pkey | 0x8000
            if found.get(port.name, (None,))[0] is not None:
                message = (
                    f"{port.name} has an address in the default partition, of which it is a limited member"
                )
                yield Finding("FAB6310", message, "")
        wanted = (port.address, ipoib.mode, ipoib.mtu, pkey)
        if found.get(name) != wanted:
            yield Finding("FAB6310", f"{name} is not configured as planned: {found.get(name)}", "")


def _read_interfaces(files: Mapping[str, str]) -> Iterator[tuple[str, Interface]]:
    """Yield every interface with its settings from netplan, keyfiles or files of networkd."""
    for path, text in files.items():
        if path.startswith("etc/netplan/"):
            yield from _read_netplan(text)
        if path.startswith(f"{host_files.CONNECTIONS}/"):
            entry = _parse_sections(text)
            ib = entry["infiniband"]
            pkey = ib.get("p-key")
            yield (
                entry["connection"]["interface-name"],
                (
                    entry["ipv4"].get("address1"),
                    ib.get("transport-mode"),
                    int(ib["mtu"]),
                    int(pkey) if pkey else None,
                ),
            )
    yield from _read_networkd({p: t for p, t in files.items() if p.startswith(f"{host_files.NETWORKD}/")})


def _read_netplan(text: str) -> Iterator[tuple[str, Interface]]:
    tree = yaml_tree(text)
    for line, _ in tree.faults:
        raise ValueError(f"line {line} of the netplan file")
    ports = find_node(tree.nodes, "network", "ethernets")
    for port in (ports.children or ()) if ports else ():
        said = {
            node.key[0]: words[-1]
            for node in port.children or ()
            if node.key
            and (words := [*node.key[1:], *(word for child in node.children or () for word in child.key)])
        }
        mode, mtu = str(said.get("infiniband-mode")), int(said.get("mtu", 0))
        yield " ".join(port.key), (said.get("addresses"), mode, mtu, None)


def _read_networkd(files: Mapping[str, str]) -> Iterator[tuple[str, Interface]]:
    keys: dict[str, tuple[str, int]] = {}
    networks: dict[str, configparser.ConfigParser] = {}
    for path, text in files.items():
        entry = _parse_sections(text)
        if path.endswith(".netdev"):
            keys[entry["NetDev"]["Name"]] = (
                entry["IPoIB"]["Mode"],
                _partition_key(entry["IPoIB"]["PartitionKey"]),
            )
        else:
            networks[entry["Match"]["Name"]] = entry
    for name, entry in networks.items():
        mode, pkey = keys.get(name, (entry.get("IPoIB", "Mode", fallback=None), None))
        address = entry.get("Network", "Address", fallback=None)
        yield name, (address, mode, int(entry["Link"]["MTUBytes"]), pkey)


def _partition_key(text: str) -> int:
    """Return a partition key of 16 bits; raise ValueError for other text."""
    if re.fullmatch("0x[0-9A-Fa-f]{1,4}", text) is None:
        raise ValueError(f"{clip(text, 40)!r} is not a partition key")
    return int(text, 16)


def _parse_sections(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


def _split_words(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if "=" in line and not line.startswith("#"))
