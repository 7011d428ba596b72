"""Reads an NX-OS running configuration, rendered or as a device prints it, into facts in one pass."""

# ruff: noqa: ARG001 (the openers of a table share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import document as cli
from fabricc.back.nos.cli_dialect.document import hostname
from fabricc.back.nos.cli_dialect.read_policy import asn
from fabricc.back.nos.nxos.named import ONCE
from fabricc.back.nos.nxos.read_bgp import BgpBlock
from fabricc.back.nos.nxos.read_blocks import IgnoredBlock, ManagementVrfBlock, PrefixLists
from fabricc.back.nos.nxos.read_interfaces import InterfaceBlock, breakout_line, finish_interfaces
from fabricc.back.nos.nxos.read_policies import Policies
from fabricc.back.nos.nxos.read_qos import WatchdogLines
from fabricc.back.nos.nxos.read_routes import ClauseBlock, route_map, unite
from fabricc.back.nos.nxos.read_services import DynamicBlock, Services, VtyBlock
from fabricc.back.nos.nxos.vocabulary import COMMUNITY_OF, MANAGEMENT_VRF
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.back.nos.cli_dialect.document import Block

    Opener = Callable[["Document", list[str], int], Block | bool]

_USE_VRF = ["use-vrf", MANAGEMENT_VRF]


def read(files: Mapping[str, str]) -> Reading:
    """The facts of a device's files; lines of no known meaning are in `unknown`, references to nothing after them."""
    reading = Reading()
    for file, text in files.items():
        document = Document(file, reading)
        document.parse(text, _OPENERS)
        document.finish()
    return reading


class Document(cli.Document):
    """One file while it is read."""

    __slots__ = (
        "bgp",
        "breakouts",
        "interfaces",
        "policies",
        "prefix_lists",
        "route_maps",
        "services",
        "watchdog",
    )

    community_of = COMMUNITY_OF

    def __init__(self, file: str, reading: Reading) -> None:
        super().__init__(file, reading)
        self.interfaces: dict[str, InterfaceBlock] = {}
        self.breakouts: dict[str, tuple[str, int]] = {}
        self.policies = Policies()
        self.watchdog = WatchdogLines()
        self.services = Services(self.put)
        self.bgp: BgpBlock | None = None
        self.prefix_lists = PrefixLists()
        self.route_maps: dict[str, dict[str, ClauseBlock]] = {}

    def said_twice(self, words: list[str], first: int, second: int) -> None:
        """List both lines that open the same block: a device prints one, so either may be meant for another."""
        self.reading.unknown += [(self.file, number, " ".join(words)) for number in (first, second)]

    def finish(self) -> None:
        """State what only all lines together say."""
        self.state_servers()
        for kind, servers in self.servers.items():
            for name, number in servers:
                self.put(f"structure/{kind}/{name}", ONCE, number)
        self.watchdog.finish(self.put)
        self.policies.finish(self.interfaces.values(), self.put)
        finish_interfaces(self)
        self.services.finish()
        self.prefix_lists.finish(self.put)
        if self.bgp is not None:
            self.bgp.finish(unite(self))
        for number, line in (*self.policies.undefined(), *self.services.undefined()):
            self.reading.unknown.append((self.file, number, line))
        self.check_matches(self.prefix_lists.family)


def _feature(document: Document, words: list[str], number: int) -> bool:
    document.put(f"system/feature[{words[-1]}]", "on", number)
    document.services.feature(words[-1], number)
    return len(words) == 2


_HASHED = ("5", "8", "9")
"""Kinds of passwords that the device keeps hashed; `0` would be a password in clear text."""


def _username(document: Document, words: list[str], number: int) -> bool:
    """Password hashes are the device's own, so they are read over."""
    name, rest = (words[1], words[2:]) if len(words) > 2 else ("", [])
    if rest[:1] == ["sshkey"] and len(rest) > 1:
        document.put(f"user[{name}]/ssh_key", " ".join(rest[1:]).strip('"'), number)
        return True
    if rest[:1] == ["password"] and len(rest) > 3:
        if rest[1].isdecimal() and rest[1] not in _HASHED:
            return False
        rest = rest[3:] if rest[1].isdecimal() else rest[2:]
    if rest[:1] == ["role"] and len(rest) == 2:
        document.put(f"user[{name}]/role", rest[1], number)
        return True
    return rest[:1] == ["passphrase"]


def _ip(document: Document, words: list[str], number: int) -> Block | bool:
    rest = words[1:] or [""]
    if rest[0] == "prefix-list":
        return document.prefix_lists.line(words, number)
    if rest[0] == "access-list" and len(rest) == 2:
        return document.services.access_list(rest[1], number)
    if rest[0] == "community-list" and rest[1:2] == ["standard"] and len(rest) > 4:
        tail = rest[5:] if rest[3] == "seq" and rest[4].isdecimal() else rest[3:]
        if tail[:1] != ["permit"] or len(tail) != 2:
            return False
        document.put(f"community_list[{rest[2]}]", COMMUNITY_OF.get(tail[1], tail[1]), number)
    elif rest[:2] == ["load-sharing", "address"]:
        document.put("platform/load_sharing", " ".join(rest[2:]), number)
    elif rest[0] == "name-server" and rest[-2:] == _USE_VRF and len(rest) > 3:
        return all(document.server("dns", name, number) for name in rest[1:-2])
    else:
        return rest == ["domain-lookup"]
    return True


def _ipv6(document: Document, words: list[str], number: int) -> Block | bool:
    if words[1:2] == ["access-list"] and len(words) == 3:
        return document.services.access_list(words[2], number)
    return words[1:2] == ["prefix-list"] and document.prefix_lists.line(words, number)


def _policy(document: Document, words: list[str], number: int) -> Block | bool:
    return document.policies.open(words, number)


def _system(document: Document, words: list[str], number: int) -> Block | bool:
    return document.policies.system if words == ["system", "qos"] else False


def _copp(document: Document, words: list[str], number: int) -> bool:
    document.put("platform/copp", words[-1], number)
    return words[:-1] == ["copp", "profile"]


def _pfc(document: Document, words: list[str], number: int) -> bool:
    return document.watchdog.line(words, number)


def _ntp(document: Document, words: list[str], number: int) -> bool:
    if words[1:2] == ["server"] and words[3:] in (_USE_VRF, ["prefer", *_USE_VRF]):
        return document.server("ntp", words[2], number)
    document.put("management/ntp_source", words[-1], number)
    return words[1:-1] == ["source-interface"]


def _logging(document: Document, words: list[str], number: int) -> bool:
    if words[1:2] != ["server"] or len(words) < 6 or words[4:6] != _USE_VRF or not words[3].isdecimal():
        return False
    document.put("management/syslog_severity", int(words[3]), number)
    return words[6:] in ([], ["facility", "local7"]) and document.server("syslog", words[2], number)


def _vrf(document: Document, words: list[str], number: int) -> Block | bool:
    if words != ["vrf", "context", MANAGEMENT_VRF]:
        return False
    document.put("structure/management_vrf/defined", ONCE, number)
    return ManagementVrfBlock(document.put, document.server)


def _line(document: Document, words: list[str], number: int) -> Block | bool:
    if words == ["line", "vty"]:
        return VtyBlock(document.services)
    return IgnoredBlock() if words == ["line", "console"] else False


def _hardware(document: Document, words: list[str], number: int) -> Block | bool:
    return DynamicBlock(document.put) if words == ["hardware", "profile", "dlb"] else False


def _aaa(document: Document, words: list[str], number: int) -> Block | bool:
    return document.services.aaa_line(words, number)


def _grpc(document: Document, words: list[str], number: int) -> bool:
    return document.services.grpc_line(words, number)


def _lldp(document: Document, words: list[str], number: int) -> bool:
    return document.services.lldp_line(words, number)


def _nxapi(document: Document, words: list[str], number: int) -> bool:
    return document.services.nxapi_line(words, number)


def _snmp(document: Document, words: list[str], number: int) -> bool:
    return document.services.snmp_line(words, number)


def _tacacs(document: Document, words: list[str], number: int) -> bool:
    return document.services.tacacs_line(words, number)


def _bfd(document: Document, words: list[str], number: int) -> bool:
    if len(words) != 7 or words[1::2] != ["interval", "min_rx", "multiplier"]:
        return False
    if words[2] != words[4] or not (words[2].isdecimal() and words[6].isdecimal()):
        return False
    document.put("bfd/interval_ms", int(words[2]), number)
    document.put("bfd/multiplier", int(words[6]), number)
    return True


def _interface(document: Document, words: list[str], number: int) -> Block | bool:
    if words[1:2] == ["breakout"]:
        split = breakout_line(words)
        for cage in split[0] if split else ():
            document.breakouts[str(cage)] = (split[1] if split else "", number)
            document.put(f"cage[{cage}]/breakout", split[1] if split else "", number)
        return split is not None
    if len(words) != 2:
        return False
    if words[1] in document.interfaces:
        document.said_twice(words, document.interfaces[words[1]].number, number)
    return document.interfaces.setdefault(words[1], InterfaceBlock(number))


def _router(document: Document, words: list[str], number: int) -> Block | bool:
    number_of_as = asn(words[2]) if words[1:2] == ["bgp"] and len(words) == 3 else None
    if number_of_as is None:
        return False
    document.put("bgp/asn", number_of_as, number)
    document.bgp = BgpBlock(number, document.put)
    return document.bgp


def _by_itself(document: Document, words: list[str], number: int) -> Block | bool:
    """What a device adds to every configuration and a fabric has nothing to say about."""
    return IgnoredBlock()


_OPENERS: dict[str, Opener] = {
    "aaa": _aaa,
    "bfd": _bfd,
    "boot": _by_itself,
    "class-map": _policy,
    "copp": _copp,
    "feature": _feature,
    "grpc": _grpc,
    "hardware": _hardware,
    "hostname": hostname,
    "interface": _interface,
    "ip": _ip,
    "ipv6": _ipv6,
    "line": _line,
    "lldp": _lldp,
    "logging": _logging,
    "ntp": _ntp,
    "nxapi": _nxapi,
    "policy-map": _policy,
    "priority-flow-control": _pfc,
    "rmon": _by_itself,
    "route-map": route_map,
    "router": _router,
    "snmp-server": _snmp,
    "system": _system,
    "tacacs-server": _tacacs,
    "username": _username,
    "vdc": _by_itself,
    "version": _by_itself,
    "vrf": _vrf,
}
