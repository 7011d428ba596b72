"""Ports of a host: addresses and routes, in the words of what configures them, and names fixed by PCI address."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts import keyfile, netplan, nics, words
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, HostPort

RDMA_NAMES = "etc/udev/rules.d/60-rdma-persistent-naming.rules"
SYSCTL = "etc/sysctl.d/90-fabricc.conf"
LINKS = "etc/systemd/network/10-fabricc-"
_ARP = (("arp_ignore", 1), ("arp_announce", 2), ("rp_filter", 2))

SYSTEMS: Mapping[str, words.Network] = {
    "ubuntu-22.04": netplan,
    "ubuntu-24.04": netplan,
    "dgx-os": netplan,  # Ubuntu 22.04 (DGX OS 6) or 24.04 (DGX OS 7) below
    "rhel-9": keyfile,  # netplan is not shipped, and its NetworkManager back end drops policy rules
    "rhel-10": keyfile,
}
"""Operating system, as a spec names it -> what configures its ports."""


_ROUTED = re.compile(r"gateway[46]?\s*[:=]|(?:to|via|route\d*)\s*[:=]", re.IGNORECASE)


def may_route(text: str) -> bool:
    """Return whether a line that no row reads has a gateway or a route of a port."""
    return bool(_ROUTED.match(text))


def render(host: Host) -> dict[str, str]:
    """Return the files; a port with an unknown PCI address keeps the kernel's name (FAB5601)."""
    files = SYSTEMS[host.os].render(host)
    nic = host.nic
    functions = tuple(_functions(host))
    for function in functions:
        files[f"{LINKS}{function.name}.link"] = _link_file(
            function.name, function.pci, function.mtu, _pause_settings(host), nic.ring_rx, nic.ring_tx
        )
    if functions:
        files[words.network_path(RDMA_NAMES, host)] = _rdma_names(
            tuple([(function.pci, function.rdma) for function in functions])
        )
    if kernel := _kernel_settings(host):
        lines = "\n".join([f"{key} = {value}" for key, value in kernel])
        files[words.network_path(SYSCTL, host)] = words.fill_template(
            words.read_template("sysctl.conf.j2"), settings=lines
        )
    return files


class _Function(NamedTuple):
    """A PCI function with the fixed names of its network and RDMA devices."""

    name: str
    rdma: str
    pci: str
    mtu: int


def _functions(host: Host) -> Iterator[_Function]:
    """Yield the PCI functions with a known address; the second one of a port has its names with an `s`."""
    for port in host.ports:
        if pci := words.pci_function(port):
            yield _Function(port.name, port.rdma, pci, port.mtu)
        if pci := words.second_pci_function(port):
            yield _Function(f"{port.name}s", f"{port.rdma}s", pci, port.mtu)


def _kernel_settings(host: Host) -> list[tuple[str, int]]:
    """Return the kernel settings of ports that share an IPv4 subnet with another port of the host.

    A kernel answers ARP for every address of the host on each port (RFC 1122, 3.3.4.2, the weak model), which is wrong
    only where two ports receive the same request. They are set for a port and not for the host: container
    networks need other values on their interfaces (kubernetes issue 71555).
    """
    if words.KERNEL_SETTINGS in host.leave_out:
        return []
    segments = [words.segment_of(port.ipv4) for port in host.ports]
    return [
        (f"net.ipv4.conf.{words.check_word(port.name)}.{key}", value)
        for port, segment in zip(host.ports, segments, strict=True)
        if segment and segments.count(segment) > 1
        for key, value in _ARP
    ]


def _pause_settings(host: Host) -> tuple[str, ...]:
    """Return the settings of 802.3x pause that the driver takes from a .link file."""
    family = nics.family_of(host)
    return family.link_pause if family else nics.PAUSE_SETTINGS


@lru_cache(maxsize=1024)
def _link_file(name: str, pci: str, mtu: int, pause: tuple[str, ...], ring_rx: int, ring_tx: int) -> str:
    """Return the systemd .link file that names a port by PCI address, disables 802.3x pause and enlarges its rings."""
    return words.fill_template(
        words.read_template("rail.link.j2"),
        name=words.check_word(name),
        pci=words.check_word(pci),
        representor=words.REPRESENTOR,
        mtu=mtu,
        pause="".join([f"{key}=no\n" for key in pause]),
        ring_rx=ring_rx,
        ring_tx=ring_tx,
    )


@lru_cache(maxsize=256)
def _rdma_names(devices: tuple[tuple[str, str], ...]) -> str:
    """Return the udev rules that give each (PCI address, RDMA device name) its fixed name."""
    rules = (
        f'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="{words.check_word(pci)}", '
        f'PROGRAM="rdma_rename %k NAME_FIXED {words.check_word(name)}"'
        for pci, name in devices
    )
    return words.fill_template(words.read_template("rdma-naming.rules.j2"), rules="\n".join(rules))


def state(facts: Facts, host: Host) -> None:
    """Add the facts of the ports."""
    for port in host.ports:
        _state_port(facts, host, port)
    for function in _functions(host):
        _state_function(facts, host, function)
    facts.update([(f"sysctl[{key}]", value) for key, value in _kernel_settings(host)])
    SYSTEMS[host.os].state(facts, host)


def _state_port(facts: Facts, host: Host, port: HostPort) -> None:
    prefix = f"interface[{port.name}]/"
    facts[prefix + "mtu"] = port.mtu
    for family, address, gateway, bits, prefixes in (
        ("ipv4", port.ipv4, port.gateway4, 32, (*host.fabric_prefixes4, *host.outside4)),
        ("ipv6", port.ipv6, port.gateway6, 128, (*host.fabric_prefixes6, *host.outside6)),
    ):
        if address is None:
            continue
        facts[prefix + family] = address
        if gateway is None or not prefixes:
            continue
        for reached in prefixes:
            if words.on_link(address, reached):
                facts[f"{prefix}route[{reached}]"] = f"scope link table {port.table}"
                continue
            facts[f"{prefix}route[{reached}]"] = f"via {gateway} table {port.table}"
            if port.metric is not None:
                facts[f"{prefix}main_route[{reached}]"] = f"via {gateway} metric {port.metric}"
        source = address.partition("/")[0]
        facts[f"{prefix}rule[{source}/{bits}]"] = (
            f"table {port.table} priority {words.rule_priority(port.table)}"
        )


def _state_function(facts: Facts, host: Host, function: _Function) -> None:
    prefix = f"interface[{function.name}]/"
    facts[prefix + "pci"] = function.pci
    facts[prefix + "link_property"] = f"!{words.REPRESENTOR}"
    facts[prefix + "link_mtu"] = function.mtu
    for key in _pause_settings(host):
        facts[prefix + _LEAVES[f"Link.{key}"]] = "no"
    facts[prefix + "ring_rx"] = host.nic.ring_rx
    facts[prefix + "ring_tx"] = host.nic.ring_tx
    facts[f"rdma[{function.rdma}]/pci"] = function.pci


_LEAVES = {
    "Match.Path": "pci", "Match.Property": "link_property", "Link.MTUBytes": "link_mtu",
    "Link.RxFlowControl": "pause_rx",
    "Link.TxFlowControl": "pause_tx", "Link.AutoNegotiationFlowControl": "pause_autoneg",
    "Link.RxBufferSize": "ring_rx", "Link.TxBufferSize": "ring_tx",
}  # fmt: skip
_NAME = "Link.Name"


def _read_link(reading: Reading, file: str, text: str) -> None:
    """The facts of a systemd .link file, under the name that it gives."""
    lines = list(words.setting_lines(text))
    name = next((value for _, key, value, _ in lines if key == _NAME), "")
    for number, key, value, line in lines:
        if name and key in _LEAVES:
            stated = words.parse_decimal(value.removeprefix("pci-"))
            reading.put(f"interface[{name}]/{_LEAVES[key]}", stated, file, number)
        elif key != _NAME:
            reading.unknown.append((file, number, line))


_NETWORK_LEAVES = {"Link.MTUBytes": "mtu", "Network.DHCP": "dhcp4", "Network.IPv6AcceptRA": "accept_ra"}
_ADDRESSES = ("Network.Address", "Address.Address")
_PARTS = {
    "Route": ("Destination", "Gateway", "Table", "Metric"),
    "RoutingPolicyRule": ("From", "Table", "Priority"),
}
"""Section of a .network file -> its keys with meaning, the one that names its fact first."""
_TRUTHS = dict.fromkeys(("yes", "true", "on", "1", "ipv4"), "true") | dict.fromkeys(
    ("no", "false", "off", "0", "ipv6"), "false"
)
_SIZES = {"K": 10, "M": 20, "G": 30}
_PORT_NAME = re.compile(r"[^\s*?\[\]!]+")


def _read_network(reading: Reading, file: str, text: str) -> None:
    """Read the addresses, routes and rules of a port that systemd-networkd has (systemd.network(5)).

    A file for several ports has no facts: only the host knows which ones they are.
    """
    sections = list(words.sections_of(text))
    names = [value for _, lines in sections for _, key, value, _ in lines if key == "Match.Name"]
    prefix = f"interface[{names[0]}]/" if len(names) == 1 and _PORT_NAME.fullmatch(names[0]) else ""
    addresses: dict[str, list[str]] = {}
    for section, lines in sections:
        values: dict[str, str] = {}
        part: list[tuple[str, int, str]] = []
        for number, key, value, line in lines:
            if prefix and key in _NETWORK_LEAVES:
                stated = _parse_size(value) if key == "Link.MTUBytes" else _TRUTHS.get(value.lower(), value)
                reading.put(f"{prefix}{_NETWORK_LEAVES[key]}", stated, file, number)
                if key == "Network.DHCP":
                    sixth = "false" if value.lower() in ("ipv4", "no", "false", "off", "0") else "true"
                    reading.put(f"{prefix}dhcp6", sixth, file, number)
            elif prefix and key in _ADDRESSES and value:
                family = "ipv6" if ":" in value else "ipv4"
                addresses.setdefault(family, []).append(value)
                reading.put(f"{prefix}{family}", ",".join(sorted(addresses[family])), file, number)
            elif prefix and key == "Network.Gateway" and value[:1].isalnum():
                reading.put(f"{prefix}route[{_default_of(value)}]", f"via {value}", file, number)
            elif prefix and section in _PARTS and key.partition(".")[2] in _PARTS[section]:
                values[key.partition(".")[2]] = value
                part.append((file, number, line))
            elif key != "Match.Name":
                reading.unknown.append((file, number, line))
        if part and not _put_part(reading, part[0][:2], prefix, section, values):
            reading.unknown += part


def _put_part(
    reading: Reading, at: tuple[str, int], prefix: str, section: str, values: Mapping[str, str]
) -> bool:
    """State a route or a rule at its first line; return whether it has what the fact needs."""
    named, *rest = _PARTS[section]
    stated = [
        f"{'via' if each == 'Gateway' else each.lower()} {values[each]}" for each in rest if values.get(each)
    ]
    if section == "Route":
        stated = stated if values.get("Gateway") else ["scope link", *stated]
        name = values.get(named) or (_default_of(values["Gateway"]) if values.get("Gateway") else "")
        kind = "main_route" if values.get("Metric") and not values.get("Table") else "route"
    else:
        name, kind = values.get(named, "") if values.get("Table") else "", "rule"
    if name:
        reading.put(f"{prefix}{kind}[{name}]", " ".join(stated), *at)
    return bool(name)


def _default_of(gateway: str) -> str:
    return "::/0" if ":" in gateway else "0.0.0.0/0"


def _parse_size(text: str) -> str | int:
    """Return the bytes of a size, which may have a suffix of systemd; another text as it is."""
    number, unit = text[:-1], _SIZES.get(text[-1:])
    return int(number) << unit if unit and is_number(number) else words.parse_decimal(text)


_SEPARATORS = str.maketrans("/.", "./")


def _read_kernel_settings(reading: Reading, file: str, text: str) -> None:
    """Read settings of the kernel, with dots or slashes, and `-` where a failure is ignored (sysctl.d(5))."""
    for number, line in words.statement_lines(text):
        key, equals, value = line.partition("=")
        name = key.strip().removeprefix("-")
        if not equals:
            reading.unknown.append((file, number, line))
            continue
        if "/" in name and "." not in name.partition("/")[0]:
            name = name.translate(_SEPARATORS)
        reading.put(f"sysctl[{name}]", words.parse_decimal(value.strip()), file, number)


READERS: Mapping[str, words.Reader] = {
    "etc/systemd/network/*.network": _read_network,
    "etc/systemd/network/*.link": _read_link,
    words.mark_path(RDMA_NAMES, "*"): words.each_line(
        r'ACTION=="add", SUBSYSTEM=="infiniband", KERNELS=="([^"]+)", '
        r'PROGRAM="rdma_rename %k NAME_FIXED ([^" ]+)"',
        r"rdma[\2]/pci",
        r"\1",
    ),
    "etc/sysctl.d/*": _read_kernel_settings,
    **keyfile.DEVICE_READERS,
}
