"""Common parts of the topics of host files: their interface, names without quotes, statements and placeholders."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from ipaddress import ip_interface
from typing import TYPE_CHECKING, Protocol

from fabricc.back.reading.rows import word_variants
from fabricc.base.installation import data_folder
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from ipaddress import IPv4Network, IPv6Network

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.infiniband import Host as InfinibandHost
    from fabricc.fabric.model import Host, HostPort

    Reader = Callable[[Reading, str, str], None]
    "Adds the facts of a text, and lists the lines that it does not know: (reading, file, text)."

ACCESS_CONTROL, KERNEL_SETTINGS, LOCKED_MEMORY = "access-control", "kernel-settings", "locked-memory"
"""Settings that a spec may leave to somebody else, in addition to kernel modules by name."""

REPRESENTOR = "FABRICC_REPRESENTOR=1"
"""Property in udev of other network devices with the PCI path of a port: representors and subfunctions."""

_PLACEHOLDER = re.compile(r"\{\{ (\w+) \}\}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*")
_KIND = re.compile(r"(@?\.[a-z]+)?$")


def is_word(text: str) -> bool:
    """Return whether `word` takes the text."""
    return _WORD.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def check_word(text: str) -> str:
    """Return the text, which needs no quoting in any host file.

    Raises:
        ValueError: it has a character that some host file would take for syntax; `gaps` reports such names.
    """
    if not is_word(text):
        raise ValueError(f"not usable as a name in host files: {text!r}")
    return text


def parse_decimal(text: str) -> str | int:
    """Return the decimal integer that a text is, or the text itself when it is none or has more than 18 digits."""
    return int(text) if is_number(text) else text


def pci_function(port: HostPort) -> str:
    """PCI address of a port, "" when unknown: port n of a NIC is its function n."""
    return _function_of_port(port.pci, port.on_nic)


def second_pci_function(port: HostPort) -> str:
    """PCI address of the second function of a port, "" without one."""
    return _function_of_port(port.second_pci, port.on_nic)


def _function_of_port(first: str, on_nic: int) -> str:
    if not first or not on_nic:
        return first
    device, _, function = first.rpartition(".")
    return f"{device}.{int(function) + on_nic}"


@lru_cache(maxsize=1024)
def mark_path(path: str, mark: str) -> str:
    """Return the path of a file with a mark at the end of its name, before the suffix."""
    return _KIND.sub(lambda kind: mark + kind[0], path, count=1)


def network_path(path: str, host: Host | InfinibandHost) -> str:
    """Return the path of a file that exists once per network; a further network's name becomes part of it."""
    return mark_path(path, f"-{check_word(host.network)}") if host.network else path


def ports_of(network: str) -> str:
    """Return a description of the ports of a network for people; "" for the rails."""
    return network.capitalize() or "Back-end"


def segment_of(address: str | None) -> IPv4Network | IPv6Network | None:
    """Return the subnet of a port that has room for other hosts; None for a link of two, and without an address."""
    if not address or address.endswith(("/31", "/127")):
        return None
    return ip_interface(address).network


def on_link(address: str, prefix: str) -> bool:
    """Return whether a port reaches a prefix without a gateway: its own subnet, in a segment with other hosts."""
    segment = segment_of(address)
    return segment is not None and str(segment) == prefix


def ignores_carrier(port: HostPort) -> bool:
    """Return whether a port keeps its addresses, rules and routes while its link is down.

    A RoCE device loses the GID of an address with the address, and queue pairs with the GID. A port with routes in
    the main table must give them up, because sockets then use the next port.
    """
    return port.metric is None


def rule_priority(table: int) -> int:
    """Priority of the policy rules that lead to a rail's table: 1000 plus the table's offset from 100."""
    return 1000 + table - 100


def statement_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line that is no comment."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and stripped[0] not in "#;":
            yield number, stripped


def setting_lines(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield line number, `Section.Key`, value and text of each line of a file in sections; without `=` no key."""
    for _, lines in sections_of(text):
        yield from lines


def sections_of(text: str) -> Iterator[tuple[str, list[tuple[int, str, str, str]]]]:
    """Yield name and lines of each section of a file, lines as `setting_lines` does; a name may come again."""
    section, found = "", list[tuple[int, str, str, str]]()
    for number, line in statement_lines(text):
        if line[0] == "[" and line[-1] == "]":
            yield section, found
            section, found = line[1:-1], []
            continue
        key, equals, value = line.partition("=")
        found.append((number, f"{section}.{key.rstrip()}" if equals else "", value.lstrip(), line))
    yield section, found


def each_line(pattern: str, path: str, value: str) -> Reader:
    """Return the reader of a file of uniform lines; `path` and `value` of the fact name groups of the pattern."""
    known = re.compile(pattern)

    def read(reading: Reading, file: str, text: str) -> None:
        for number, line in statement_lines(text):
            if match := known.fullmatch(line):
                reading.put(match.expand(path), parse_decimal(match.expand(value)), file, number)
            else:
                reading.unknown.append((file, number, line))

    return read


@cache
def read_template(name: str) -> str:
    """Return the text of `templates/hosts/<name>`."""
    return (data_folder("templates") / "hosts" / name).read_text(encoding="utf-8")


def fill_template(text: str, /, **values: str | int) -> str:
    """Return the text with its placeholders replaced.

    Raises:
        KeyError: it names a value that is not given.
    """
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)


_KEYS = {
    "etc/netplan/*": (
        "network version renderer ethernets bonds bridges vlans match set-name macaddress driver mtu addresses dhcp4"
        " dhcp6 accept-ra optional routes routing-policy via from table metric priority nameservers search link-local"
        " gateway4 gateway6 parameters interfaces mode on-link scope type activation-mode ignore-carrier mark"
        " dhcp-identifier wakeonlan critical emit-lldp vrfs tunnels dummy-devices label lifetime ipv6-privacy"
    ),
    "usr/local/sbin/fabricc-roce*": (
        "TRANSPORT TRUST DSCP_TO_PRIORITY PRIORITY_TO_TC TC_SCHEDULER TC_WEIGHT STRICT_RATE_LIMIT ECN_PRIORITIES"
        " CNP_DSCP CNP_PRIORITY ROCE_TOS READ_REQUEST_BYTES LEAVES_OUT CONGESTION FIRMWARE"
    ),
    "etc/systemd/network/*": (
        "Name MACAddress Path Driver Type Address Gateway DHCP LinkLocalAddressing IPv6AcceptRA Destination Table"
        " Metric PreferredSource Scope From To Priority IncomingInterface OutgoingInterface MTUBytes VLAN Bridge Bond"
        " RequiredForOnline ConfigureWithoutCarrier IgnoreCarrierLoss KeepConfiguration Domains LLDP EmitLLDP VRF"
        " OriginalName NamePolicy AlternativeName Description ActivationPolicy GatewayOnLink Family Label VXLAN"
    ),
    "etc/systemd/system/*": (
        "Description BindsTo After Before Wants Requires PartOf Conflicts Type ExecStart ExecStartPre ExecStop"
        " RemainAfterExit WantedBy RequiredBy Restart User Group Environment TimeoutStartSec LimitMEMLOCK"
        " ConditionPathExists DefaultDependencies Documentation"
    ),
    "etc/NetworkManager/*": (
        "id uuid type interface-name autoconnect autoconnect-priority mtu method never-default address1 address2"
        " route1 route1_options route2 route2_options routing-rule1 routing-rule2 may-fail gateway dns mdns dns-search"
        " match-device managed ignore-carrier plugins route-metric route-table addr-gen-mode mac-address"
        " cloned-mac-address ignore-auto-routes ignore-auto-dns timestamp permissions zone master controller"
    ),
    "etc/nccl.conf": (
        "NCCL_IB_HCA NCCL_IB_TC NCCL_IB_SL NCCL_IB_GID_INDEX NCCL_IB_TIMEOUT NCCL_IB_RETRY_CNT NCCL_IB_DISABLE"
        " NCCL_IB_QPS_PER_CONNECTION NCCL_IB_SPLIT_DATA_ON_QPS NCCL_IB_ADDR_FAMILY NCCL_IB_ADDR_RANGE"
        " NCCL_IB_ROCE_VERSION_NUM NCCL_IB_PKEY NCCL_IB_AR_THRESHOLD NCCL_IB_ADAPTIVE_ROUTING NCCL_IB_FIFO_TC"
        " NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_CROSS_NIC NCCL_PXN_DISABLE NCCL_NET NCCL_NET_PLUGIN NCCL_DEBUG"
        " NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE NCCL_NET_GDR_LEVEL NCCL_NET_GDR_READ NCCL_P2P_LEVEL NCCL_ALGO NCCL_PROTO"
        " NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_BUFFSIZE NCCL_TOPO_FILE NCCL_IB_PCI_RELAXED_ORDERING"
    ),
    "etc/sysctl.d/*": (
        "arp_ignore arp_announce arp_filter arp_notify rp_filter disable_ipv6 accept_ra forwarding ip_forward"
        " accept_local autoconf rmem_max wmem_max netdev_max_backlog route_localnet src_valid_mark use_tempaddr"
        " gc_thresh1 gc_thresh2 gc_thresh3 fib_multipath_hash_policy ignore_routes_with_linkdown"
    ),
    "etc/security/limits.d/*": "memlock nofile nproc stack core data fsize rss cpu as priority nice rtprio",
}  # fmt: skip
"""Keys of files (netplan(5), systemd.network(5), .unit(5) and .service(5), nm-settings-keyfile(5), the user guide of
NCCL, the kernel's documentation of ip-sysctl, limits.conf(5)).
"""
_SHORTEST_KEY = 4


@lru_cache(maxsize=4096)
def similar_key(file: str, text: str) -> tuple[str, str] | None:
    """Return the key of a line and the one that it is but for a letter, or for two in the other order; else None."""
    keys = next((keys.split() for pattern, keys in _KEYS.items() if fnmatchcase(file, pattern)), [])
    found = _KEY.match(text.strip())
    known = {each.lower(): each for each in keys}
    for word in found[1].split(".") if found else ():
        if len(word) >= _SHORTEST_KEY and word.lower() not in known:
            near = sorted(known.keys() & {*word_variants(word.lower())} - {f"{word.lower()}s"})
            near = [each for each in near if _DIGITS.sub("", each) != _DIGITS.sub("", word.lower())]
            if near:
                return word, known[near[0]]
    return None


_KEY = re.compile(r"(?:- )?([\w.*-]+)\s*[:=]")
_DIGITS = re.compile(r"\d")


class Topic(Protocol):
    """A module of this package, such as `interfaces`.

    Attributes:
        READERS: path below the host's root, with `*` for anything -> what reads such a file.
    """

    READERS: Mapping[str, Reader]

    def render(self, host: Host) -> dict[str, str]:
        """Return its files, path below the host's root -> text; raise ValueError for a name that `gaps` reports."""
        ...

    def state(self, facts: Facts, host: Host) -> None:
        """Add the facts that these files must state; they follow from the host alone."""
        ...


class Network(Topic, Protocol):
    """A topic in the words of what configures a host's ports: netplan or NetworkManager.

    Attributes:
        ACTIVATION: template of that part of the apply script which makes it take the files.
    """

    ACTIVATION: str
