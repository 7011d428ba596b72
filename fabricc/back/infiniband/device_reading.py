"""The facts of a subnet manager's files and of an InfiniBand host's files, for the comparison of two builds.

Devices are named as the topology names them, so that a real GUID in place of a placeholder is one fact. Every line is
a fact, part of a digest, or listed as unknown.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back import hosts
from fabricc.back.infiniband import host_files, sm_files
from fabricc.back.infiniband.reading import ReadSubnet, read_subnet
from fabricc.back.reading.yaml_lines import yaml_tree
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Reading
from fabricc.fabric.infiniband import DEFAULT_PKEY, guid_text, is_placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.back.reading.tree import Node
    from fabricc.fabric.vocabulary import Vocabulary

_PORT_ROW = re.compile(r"(\S+)\) port=(\d+) gbps=(\d+) lid=(\d+) ipoib=(\S*) ipoib_mode=(\S*) pkeys=(\S*) ;;")
_SCRIPT_VALUE = re.compile(r"(READ_REQUEST_BYTES|LEAVES_OUT)='?([^']*?)'?")
_KEPT_SETTING = re.compile(r"([A-Z][A-Z0-9_]*)=(\d+)")
_NAMED = re.compile(
    r'ACTION=="add", SUBSYSTEM=="(infiniband|net)", (?:ATTR\{type\}=="32", KERNEL!="\*\.\*", )?'
    r'(KERNELS|ATTR\{\w+\})=="([^"]+)", (?:PROGRAM="rdma_rename %k NAME_FIXED (\S+)"|NAME="(\S+)")'
)
_JOB_SETTING = re.compile(r"NCCL_IB_(SL|PKEY)=(\d+)")
_SECTION = re.compile(r"\[(\S.*)\]")
_NAME_KEYS = ("Match.Name", "NetDev.Name", "connection.interface-name")
_MEANINGS = {
    "Link.MTUBytes": "mtu", "infiniband.mtu": "mtu", "mtu": "mtu",
    "IPoIB.Mode": "ipoib_mode", "infiniband.transport-mode": "ipoib_mode", "infiniband-mode": "ipoib_mode",
    "IPoIB.PartitionKey": "pkey", "infiniband.p-key": "pkey",
    "Network.Address": "ipv4", "ipv4.address1": "ipv4", "addresses": "ipv4",
}  # fmt: skip
"""Key of a file of networkd, NetworkManager or netplan -> the leaf of its fact."""


@cache
def vocabulary() -> Vocabulary:
    """Return the vocabulary of subnet managers, switches and hosts of InfiniBand."""
    return hosts.vocabulary().with_file(Path(__file__).with_name("facts.yaml"))


def read_device(files: Mapping[str, str]) -> Reading:
    """Return the facts of the files of a subnet, or of a host."""
    return _read_subnet(files) if sm_files.CONF in files or sm_files.TOPOLOGY in files else _read_host(files)


def _read_subnet(files: Mapping[str, str]) -> Reading:
    reading, read = Reading(), read_subnet(files)
    texts = {file: text.split("\n") for file, text in files.items()}
    names = _unique_names(read)
    for odd in read.unknown:
        lines = texts.get(odd.file, [])
        whole = (
            _statement_at(lines, odd.line)
            if odd.file == sm_files.PARTITIONS
            else lines[odd.line - 1 : odd.line]
        )
        reading.unknown.append((odd.file, odd.line, "".join(whole) or odd.text))
    at = _LinePlaces(texts)
    for key, value in read.conf.items():
        reading.put(f"opensm/{key}", value, sm_files.CONF, at.find(sm_files.CONF, f"{key} "))
    for each in read.partitions:
        path, file = f"partition[{each.name}]", sm_files.PARTITIONS
        reading.put(f"{path}/pkey", f"0x{each.pkey:04x}", file, each.line)
        for key, value in each.options.items():
            of_level = key == "sl" and is_number(value)
            where = f"service_level[partition {each.name}]" if of_level else f"{path}/option[{key}]"
            reading.put(where, int(value) if of_level else value, file, each.line)
        member = "default_member" if each.pkey & DEFAULT_PKEY == DEFAULT_PKEY else f"{path}/member"
        for who, kind in each.members.items():
            reading.put(f"{member}[{names.get(who, who)}]", kind, file, each.line)
    for word, listed, file in (
        ("root", read.roots, sm_files.ROOTS),
        ("compute", read.compute, sm_files.COMPUTE),
    ):
        for guid, line in listed.items():
            reading.put(f"{word}[{names.get(guid, guid)}]", "listed", file, line)
    for guid, name in read.names.items():
        reading.put(
            f"node_name[{names.get(guid, guid)}]", name, sm_files.NAMES, at.find(sm_files.NAMES, guid)
        )
    for guid, lid in read.lids.items():
        reading.put(f"lid[{names.get(guid, guid)}]", lid, sm_files.LIDS, at.find(sm_files.LIDS, guid))
    for pkey, level in read.levels.items():
        words = "default" if pkey is None else f"pkey 0x{pkey:04x}"
        line = at.find(sm_files.POLICY, words if pkey is None else f"any, {words}")
        reading.put(
            f"service_level[{'default' if pkey is None else f'0x{pkey:04x}'}]", level, sm_files.POLICY, line
        )
    _add_topology(reading, read, names)
    return reading


def _add_topology(reading: Reading, read: ReadSubnet, names: Mapping[str, str]) -> None:
    for node in read.topology.nodes.values():
        name, file = names[guid_text(node.guid)], sm_files.TOPOLOGY
        if not is_placeholder(node.guid):
            reading.put(f"guid[{name}]", guid_text(node.guid), file, node.line)
        reading.put(f"topology/ports[{name}]", node.ports, file, node.line)
        reading.put(f"topology/lid[{name}]", node.lid, file, node.line)
        for port, (peer, peer_port, word) in node.ends.items():
            end = names.get(f"0x{peer[2:]}", peer)
            reading.put(
                f"topology/port[{name} port {port}]", f"{end} port {peer_port} {word}", file, node.line
            )


def _unique_names(read: ReadSubnet) -> dict[str, str]:
    """Return GUID in hex -> the name of the node; with its GUID if several nodes have the name."""
    nodes = [(guid_text(node.guid), node.name) for node in read.topology.nodes.values()]
    seen = [name for _, name in nodes]
    several = {name for name in seen if seen.count(name) > 1} if len({*seen}) < len(seen) else set[str]()
    return {guid: f"{name} {guid}" if name in several else name for guid, name in nodes}


def _statement_at(lines: list[str], first: int) -> Iterator[str]:
    """Yield the lines of a definition that starts there, up to its semicolon."""
    for line in lines[first - 1 :]:
        yield line.strip()
        if line.rstrip().endswith(";"):
            return


class _LinePlaces:
    """The numbers of lines by their first words."""

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        self._lines = {
            file: [(line.strip(), number) for number, line in enumerate(lines, 1)]
            for file, lines in texts.items()
        }
        self._of_word = {
            file: {line.partition(" ")[0]: number for line, number in lines}
            for file, lines in self._lines.items()
        }

    def find(self, file: str, words: str) -> int:
        """Return the number of the line that begins with some words; 1 if there is none."""
        number = self._of_word.get(file, {}).get(words.strip())
        if number is not None:
            return number
        return next((number for line, number in self._lines.get(file, ()) if line.startswith(words)), 1)


def _read_host(files: Mapping[str, str]) -> Reading:
    reading = Reading()
    ports = _ports_of_interfaces(files)
    for file, text in files.items():
        reader = next(
            (each for beginning, each in _READERS.items() if file.startswith(beginning)), _read_common
        )
        reader(reading, file, text, ports)
    return reading


def _ports_of_interfaces(files: Mapping[str, str]) -> dict[str, str]:
    """Return IPoIB interface -> port of the plan, by the rows of the adapters' script."""
    found = {}
    for file, text in files.items():
        if file.startswith(host_files.SCRIPT):
            for rdma, _, _, _, interface, _, _ in _PORT_ROW.findall(text):
                found[interface] = _port_of_device(rdma)
    return found


def _port_of_device(rdma: str) -> str:
    """Return the port of an RDMA device: `rail0` of `mlx5_r0`, `storage0` of `mlx5_storage0`."""
    name = rdma.rpartition("_")[2]
    return re.sub(r"^r(?=\d)", "rail", name)


def _read_common(reading: Reading, file: str, text: str, _: Mapping[str, str]) -> None:
    """Read a file that hosts of RoCE have too."""
    part = hosts.read({file: text})
    for path, value in part.facts.items():
        reading.put(path, value, *part.lines[path])
    for name, line, words in part.unknown:
        if found := _JOB_SETTING.fullmatch(words):
            reading.put(f"nccl/ib_{found[1].lower()}", int(found[2]), name, line)
        else:
            reading.unknown.append((name, line, words))


def _read_script(reading: Reading, file: str, text: str, _: Mapping[str, str]) -> None:
    """Read the settings of the adapters; a digest stands for the procedure around them."""
    procedure = []
    for number, line in enumerate(text.split("\n"), 1):
        if row := _PORT_ROW.fullmatch(line):
            rdma, nic_port, gbps, lid, interface, mode, pkeys = row.groups()
            port = f"interface[{_port_of_device(rdma)}]"
            stated = {"rdma": rdma, "nic_port": nic_port, "gbps": gbps, "lid": lid, "ipoib": interface,
                      "adapter_mode": mode, "pkeys": pkeys}  # fmt: skip
            for leaf, value in stated.items():
                reading.put(f"{port}/{leaf}", int(value) if leaf in ("gbps", "lid") else value, file, number)
        elif setting := _SCRIPT_VALUE.fullmatch(line):
            reading.put(f"apply/{setting[1].lower()}", setting[2], file, number)
        elif kept := _KEPT_SETTING.fullmatch(line):
            reading.put(f"firmware/{kept[1]}", int(kept[2]), file, number)
        elif not line.startswith(("#", "ADAPTERS=")):
            procedure.append(line)
    reading.put("apply/adapters", _digest(procedure), file, 1)


def _read_fixed(reading: Reading, file: str, text: str, _: Mapping[str, str]) -> None:
    """Read a text that is the same on all hosts but for the names of the adapters."""
    text = re.sub(r'KERNEL=="[^"]*"', "", text)
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    reading.put(f"apply/fixed[{file}]", _digest(lines), file, 1)


def _digest(lines: Iterable[str]) -> str:
    return sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def _read_names(reading: Reading, file: str, text: str, ports: Mapping[str, str]) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        found = _NAMED.fullmatch(line)
        if found is None:
            reading.unknown.append((file, number, line))
            continue
        kind, key, value, rdma, interface = found.groups()
        leaf = "pci" if key == "KERNELS" else "guid"
        where = f"rdma[{rdma}]" if kind == "infiniband" else f"interface[{ports.get(interface, interface)}]"
        reading.put(f"{where}/{leaf}", value, file, number)


def _read_module_options(reading: Reading, file: str, text: str, _: Mapping[str, str]) -> None:
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if words[:1] == ["options"] and words[2:]:
            reading.put(f"module[{words[1]}]/options", " ".join(words[2:]), file, number)
        elif line and not line.startswith("#"):
            reading.unknown.append((file, number, line))


def _read_sections(reading: Reading, file: str, text: str, ports: Mapping[str, str]) -> None:
    """Read a file of networkd or NetworkManager: every key is a fact of the interface."""
    entries, section = [], ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith(("#", ";")):
            continue
        key, equals, value = line.partition("=")
        if found := _SECTION.fullmatch(line.strip()):
            section = found[1]
        elif equals:
            entries.append((f"{section}.{key.strip()}", value.strip(), number))
        else:
            reading.unknown.append((file, number, line))
    name = next((value for key, value, _ in entries if key in _NAME_KEYS), "")
    for key, value, number in entries:
        if key not in _NAME_KEYS:
            reading.put(_interface_path(name, ports, key, file), value, file, number)


def _read_netplan(reading: Reading, file: str, text: str, ports: Mapping[str, str]) -> None:
    tree = yaml_tree(text)
    reading.unknown += [(file, line, words) for line, words in tree.faults]
    for path, value, number in _yaml_leaves(tree.nodes, ()):
        if path[:2] == ("network", "ethernets") and len(path) > 2:
            key, value = (".".join(path[3:]), value) if path[3:] else (value, "")
            reading.put(_interface_path(path[2], ports, key, file), value, file, number)
        else:
            reading.put(f"netplan/{'.'.join(path)}", value, file, number)


def _yaml_leaves(nodes: Iterable[Node], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, int]]:
    for node in nodes:
        if node.children:
            yield from _yaml_leaves(node.children, (*above, *node.key))
        elif len(node.key) > 1:
            yield (*above, *node.key[:-1]), node.key[-1], node.line
        else:
            yield above, " ".join(node.key), node.line


def _interface_path(name: str, ports: Mapping[str, str], key: str, file: str) -> str:
    """Return the path of a setting; that of a tenant's interface on a port belongs to the port.

    Settings that the interface and that of its tenant both have differ by `tenant/`.
    """
    parent, dot, _ = name.partition(".")
    leaf = _MEANINGS.get(key)
    port = f"interface[{ports.get(parent, parent)}]"
    if leaf in ("ipv4", "pkey"):
        return f"{port}/{leaf}"
    kind = f"{file.rpartition('.')[2]}/" if file.endswith(".netdev") else ""
    place = f"tenant/{kind}" if dot else ""
    return f"{port}/{place}{leaf or f'network[{key}]'}"


_READERS: Mapping[str, Callable[[Reading, str, str, Mapping[str, str]], None]] = {
    host_files.SCRIPT: _read_script,
    "etc/systemd/system/fabricc-ib": _read_fixed,
    "etc/udev/rules.d/70-fabricc-ib": _read_fixed,
    "etc/udev/rules.d/60-rdma-persistent-naming": _read_names,
    "etc/modprobe.d/": _read_module_options,
    f"{host_files.NETWORKD}/": _read_sections,
    "etc/NetworkManager/": _read_sections,
    "etc/netplan/": _read_netplan,
}
"""Beginning of a path -> the reader of such files."""
