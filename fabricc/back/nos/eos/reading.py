"""Reads an EOS running configuration, rendered or as a device prints it, into facts in one pass."""

# ruff: noqa: ARG001 (the openers of a table share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import document as cli
from fabricc.back.nos.cli_dialect.document import hostname
from fabricc.back.nos.cli_dialect.read_policy import asn, route_map
from fabricc.back.nos.eos.read_bgp import BfdBlock, BgpBlock
from fabricc.back.nos.eos.read_blocks import GnmiBlock, HttpApiBlock, PrefixListBlock, SecurityBlock
from fabricc.back.nos.eos.read_interfaces import InterfaceBlock, finish_interfaces
from fabricc.back.nos.eos.read_qos import MmuProfileBlock, QosMaps, QosProfileBlock
from fabricc.back.nos.eos.read_services import ControlPlaneBlock, Services, SshBlock
from fabricc.back.nos.eos.vocabulary import COMMUNITY_OF, MANAGEMENT_VRF, UNTYPEABLE
from fabricc.fabric.facts import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.back.nos.cli_dialect.document import Block

    Opener = Callable[["Document", list[str], int], Block | bool]

_ROLE = ["privilege", "15", "role", "network-admin"]
_PASSWORDS = {("nopassword",): "none", ("secret", "*"): UNTYPEABLE}
_MMU_PROFILE = ["platform", "trident", "mmu", "queue", "profile"]
_MMU_POOL = ["platform", "trident", "mmu", "headroom-pool", "limit", "bytes"]
_VRF = ["vrf", MANAGEMENT_VRF]


def read(files: Mapping[str, str]) -> Reading:
    """The facts of a device's files; lines of no known meaning are listed in `unknown`, in order."""
    reading = Reading()
    for file, text in files.items():
        document = Document(file, reading)
        document.parse(text, _OPENERS)
        document.finish()
    return reading


class Document(cli.Document):
    """One file while it is read."""

    __slots__ = (
        "bgp", "default_mmu", "families", "interfaces", "mmu_profiles", "prefix_lists", "qos", "qos_profiles",
        "services",
    )  # fmt: skip

    community_of = COMMUNITY_OF

    def __init__(self, file: str, reading: Reading) -> None:
        super().__init__(file, reading)
        self.interfaces: dict[str, InterfaceBlock] = {}
        self.qos_profiles: dict[str, QosProfileBlock] = {}
        self.mmu_profiles: dict[str, MmuProfileBlock] = {}
        self.default_mmu: tuple[str, int] | None = None
        self.qos = QosMaps()
        self.services = Services(self.put)
        self.bgp: BgpBlock | None = None
        self.prefix_lists: dict[str, PrefixListBlock] = {}
        self.families: dict[str, int] = {}

    def finish(self) -> None:
        """State what only all lines together say."""
        self.state_servers()
        self.services.finish()
        self.qos.finish(self.put)
        finish_interfaces(self)
        if self.bgp is not None:
            self.bgp.finish()
        self.check_matches(self.families.get)


def _username(document: Document, words: list[str], number: int) -> bool:
    if len(words) > 3 and words[2] == "ssh-key":
        document.put(f"user[{words[1]}]/ssh_key", " ".join(words[3:]), number)
        return True
    password = _PASSWORDS.get(tuple(words[6:]))
    if words[2:6] != _ROLE or password is None:
        return False
    document.put(f"user[{words[1]}]/role", words[5], number)
    document.put(f"user[{words[1]}]/password", password, number)
    return True


def _service(document: Document, words: list[str], number: int) -> bool:
    if words[:-1] != ["service", "routing", "protocols", "model"]:
        return False
    document.put("platform/routing_agents", words[-1], number)
    return True


def _logging(document: Document, words: list[str], number: int) -> bool:
    if words[1:3] != _VRF or len(words) != 5:
        return False
    if words[3] == "host":
        return document.server("syslog", words[4], number)
    document.put("management/source[syslog]", words[4], number)
    return words[3] == "source-interface"


def _ntp(document: Document, words: list[str], number: int) -> bool:
    if words[1:4] == ["server", *_VRF] and words[5:] in ([], ["iburst"], ["prefer"], ["prefer", "iburst"]):
        return len(words) > 4 and document.server("ntp", words[4], number)
    document.put("management/source[ntp]", words[-1], number)
    return words[1:-1] in (["local-interface", *_VRF], ["local-interface"])


def _platform(document: Document, words: list[str], number: int) -> Block | bool:
    if words[:5] == _MMU_PROFILE and len(words) == 6:
        profile = MmuProfileBlock()
        document.mmu_profiles[words[5]] = profile
        return profile
    if words[:5] == _MMU_PROFILE and words[6:] == ["apply"]:
        document.default_mmu = (words[5], number)
        return True
    if words[:-1] == _MMU_POOL and words[-1].isdecimal():
        document.put("pool/headroom_bytes", int(words[-1]), number)
        return True
    return False


def _qos(document: Document, words: list[str], number: int) -> Block | bool:
    if words[1:2] == ["profile"] and len(words) == 3:
        profile = QosProfileBlock()
        document.qos_profiles[words[2]] = profile
        return profile
    return document.qos.map_line(words, number)


def _pfc(document: Document, words: list[str], number: int) -> bool:
    return document.qos.watchdog_line(words, number)


def _vrf(document: Document, words: list[str], number: int) -> bool:
    if words != ["vrf", "instance", MANAGEMENT_VRF]:
        return False
    document.put("platform/management_vrf", MANAGEMENT_VRF, number)
    return True


def _management(document: Document, words: list[str], number: int) -> Block | bool:
    if words == ["management", "api", "http-commands"]:
        return HttpApiBlock(document.put, document.services.guard)
    if words == ["management", "api", "gnmi"]:
        return GnmiBlock(document.put, document.services.guard)
    if words == ["management", "security"]:
        return SecurityBlock(document.put)
    return SshBlock(document.services) if words == ["management", "ssh"] else False


def _interface(document: Document, words: list[str], number: int) -> Block | bool:
    if len(words) != 2:
        return False
    return document.interfaces.setdefault(words[1], InterfaceBlock(number))


def _ip(document: Document, words: list[str], number: int) -> Block | bool:
    rest = words[1:] or [""]
    if rest[0] == "prefix-list" and len(rest) == 2:
        return _prefix_list(document, rest[1], 4)
    if rest[0] == "route":
        return _default_route(document, rest, "0.0.0.0/0", number)
    if rest in (["routing"], ["routing", "ipv6", "interfaces"]):
        document.put("platform/routing", " ".join(rest[1:]) or "ip", number)
    elif rest[0] == "community-list" and len(rest) == 4 and rest[2] == "permit":
        community = COMMUNITY_OF.get(rest[3], rest[3])
        document.put(f"community_list[{rest[1]}]", community, number)
    elif rest[0] == "name-server" and rest[1:3] == _VRF:
        return all(document.server("dns", name, number) for name in rest[3:])
    else:
        return document.services.ip_line(words, number)
    return True


def _ipv6(document: Document, words: list[str], number: int) -> Block | bool:
    rest = words[1:] or [""]
    if rest[0] == "prefix-list" and len(rest) == 2:
        return _prefix_list(document, rest[1], 6)
    if rest[0] == "route":
        return _default_route(document, rest, "::/0", number)
    if rest[:2] == ["access-list", "standard"] and len(rest) == 3:
        return document.services.access_list(rest[2])
    document.put("platform/routing_ipv6", "true", number)
    return rest == ["unicast-routing"]


def _prefix_list(document: Document, name: str, family: int) -> Block:
    document.families[name] = family
    return document.prefix_lists.setdefault(name, PrefixListBlock(name, document.put))


def _default_route(document: Document, rest: list[str], prefix: str, number: int) -> bool:
    if rest[1:-1] != [*_VRF, prefix]:
        return False
    document.put("management/gateway", rest[-1], number)
    return True


def _no(document: Document, words: list[str], number: int) -> bool:
    if words[1:2] == ["snmp-server"] and len(words) > 2:
        return document.services.snmp_line(words, number)
    return words[1:] == ["ip", "routing", *_VRF]


def _router(document: Document, words: list[str], number: int) -> Block | bool:
    if words == ["router", "bfd"]:
        return BfdBlock(document.put)
    number_of_as = asn(words[2]) if words[1:2] == ["bgp"] and len(words) == 3 else None
    if number_of_as is None:
        return False
    document.put("bgp/asn", number_of_as, number)
    document.bgp = BgpBlock(number, document.put)
    return document.bgp


def _aaa(document: Document, words: list[str], number: int) -> Block | bool:
    return document.services.aaa_line(words, number)


def _lldp(document: Document, words: list[str], number: int) -> bool:
    return document.services.lldp_line(words, number)


def _load_balance(document: Document, words: list[str], number: int) -> Block | bool:
    return document.services.hash_profiles if words == ["load-balance", "policies"] else False


def _port_channel(document: Document, words: list[str], number: int) -> bool:
    return document.services.hash_line(words, number)


def _snmp(document: Document, words: list[str], number: int) -> bool:
    return len(words) > 2 and document.services.snmp_line(words, number)


def _tacacs(document: Document, words: list[str], number: int) -> bool:
    return document.services.tacacs_line(words, number)


def _queue_monitor(document: Document, words: list[str], number: int) -> bool:
    document.put("management/queue_monitor", words[-1], number)
    return len(words) == 2


def _system(document: Document, words: list[str], number: int) -> Block | bool:
    return ControlPlaneBlock(document.services) if words == ["system", "control-plane"] else False


def _end(document: Document, words: list[str], number: int) -> bool:
    return len(words) == 1


_OPENERS: dict[str, Opener] = {
    "aaa": _aaa,
    "end": _end,
    "hostname": hostname,
    "interface": _interface,
    "ip": _ip,
    "ipv6": _ipv6,
    "lldp": _lldp,
    "load-balance": _load_balance,
    "logging": _logging,
    "management": _management,
    "no": _no,
    "ntp": _ntp,
    "platform": _platform,
    "port-channel": _port_channel,
    "priority-flow-control": _pfc,
    "qos": _qos,
    "queue-monitor": _queue_monitor,
    "route-map": route_map,
    "router": _router,
    "service": _service,
    "snmp-server": _snmp,
    "system": _system,
    "tacacs-server": _tacacs,
    "username": _username,
    "vrf": _vrf,
}
