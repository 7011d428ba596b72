"""Reads what guards and watches the switch (access, TACACS+, SNMP, LLDP) and how it hashes; related at the end."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.eos.read_blocks import depth
from fabricc.back.nos.eos.vocabulary import (
    AAA,
    DEFAULT_LLDP_HOLD_S,
    DEFAULT_LLDP_S,
    MANAGEMENT_VRF,
    NOBODY,
    QUEUE_PAIR_BYTES,
    QUEUE_PAIR_OFFSETS,
    ROCE_PORT,
)

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Block, Put

_VRF = ["vrf", MANAGEMENT_VRF]
_DLB = "ip hardware fib load-balance distribution dynamic"
_PER_PACKET = _DLB + " member-selection optimal always"
_PAUSE = re.compile(_DLB + r" inactivity-threshold (\d{1,9}) microseconds")
_UDF = (
    "port-channel load-balance trident udf eth-type TYPE ip-protocol udp header outer l4 offset AT mask 0xFF"
)
_SSH_GUARDS = {("ip", *_VRF, "in"): "ssh", ("ip", "in"): "ssh/default", ("ipv6", "in"): "ssh/ipv6"}
_QUEUE_PAIR_PAYLOAD = f"udp {ROCE_PORT} payload {QUEUE_PAIR_BYTES}"


class AccessListBlock:
    """A standard access list: the networks it permits, or nobody; anything else is unknown."""

    __slots__ = ("last", "networks")

    def __init__(self) -> None:
        self.networks: list[tuple[str, int]] = []
        self.last = -1

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`N permit PREFIX`, ascending, what no line permits being denied; or `10 deny any` alone."""
        if len(words) != 3 or not words[0].isdecimal() or int(words[0]) <= self.last:
            return False
        nobody = words == ["10", "deny", "any"] and not self.networks
        if words[1] != "permit" and not nobody:
            return False
        self.last = int(words[0])
        self.networks.append((NOBODY if nobody else words[2], number))
        return True


class RulesBlock:
    """An access list of whole rules, which are compared as they stand."""

    __slots__ = ("last", "rules")

    def __init__(self) -> None:
        self.rules: list[tuple[str, int]] = []
        self.last = -1

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`N permit|deny …`, ascending."""
        known = len(words) > 2 and words[0].isdecimal() and words[1] in ("permit", "deny")
        if not known or int(words[0]) <= self.last:
            return False
        self.last = int(words[0])
        self.rules.append((" ".join(words[1:]), number))
        return True


class ControlPlaneBlock:
    """`system control-plane`: the list in front of the CPU in the management VRF."""

    __slots__ = ("services",)

    def __init__(self, services: Services) -> None:
        self.services = services

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`ip access-group LIST vrf MGMT in`."""
        if words[:2] != ["ip", "access-group"] or words[3:] != [*_VRF, "in"]:
            return False
        self.services.control_plane = words[2]
        return True


class SshBlock:
    """`management ssh`: the list that guards it, and the VRF that it answers in."""

    __slots__ = ("services", "vrf")

    def __init__(self, services: Services) -> None:
        self.services = services
        self.vrf = ""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`ip access-group LIST [vrf MGMT] in`, `ipv6 access-group LIST in`; `no shutdown` in `vrf MGMT`."""
        if depth(raw) == 1 and words[0] == "vrf" and len(words) == 2:
            self.vrf = words[1]
            return True
        if depth(raw) == 2 and words == ["no", "shutdown"]:
            self.services.put("management/ssh", self.vrf, number)
            return True
        service = _SSH_GUARDS.get((words[0], *words[3:])) if words[1:2] == ["access-group"] else None
        return service is not None and self.services.guard(service, words[2], number)


class ServerGroupBlock:
    """`aaa group server tacacs+`: its servers in the order in which they are asked."""

    __slots__ = ("servers",)

    def __init__(self) -> None:
        self.servers: list[tuple[str, int]] = []

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`server ADDRESS vrf MGMT`."""
        if len(words) != 4 or words[0] != "server" or words[2:] != _VRF:
            return False
        self.servers.append((words[1], number))
        return True


class HashProfilesBlock:
    """`load-balance policies`: the payload bytes that each profile of the sand family hashes."""

    __slots__ = ("name", "port", "profiles")

    def __init__(self) -> None:
        self.profiles: dict[str, tuple[str, int]] = {}
        self.name = ""
        self.port = ""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`load-balance sand profile P`, in it `fields udp dst-port N`, in that `payload bytes M-N`."""
        level = depth(raw)
        if level == 1 and words[:3] == ["load-balance", "sand", "profile"] and len(words) == 4:
            self.name = words[3]
        elif level == 2 and words[:3] == ["fields", "udp", "dst-port"] and len(words) == 4:
            self.port = words[3]
        elif level == 3 and words[:2] == ["payload", "bytes"] and len(words) == 3:
            self.profiles[self.name] = (f"udp {self.port} payload {words[2]}", number)
        else:
            return False
        return True


class Services:
    """What the lines of a document said about services and hashing, until `finish` states it."""

    __slots__ = (
        "access_lists", "control_plane", "dynamic", "group", "guards", "hash_profiles", "hosts", "lldp", "offsets",
        "put", "rules", "selected_profile",
    )  # fmt: skip

    def __init__(self, put: Put) -> None:
        self.put = put
        self.access_lists: dict[str, AccessListBlock] = {}
        self.control_plane = ""
        self.rules: dict[str, RulesBlock] = {}
        self.dynamic = False
        self.guards: dict[str, tuple[str, int]] = {}
        self.group = ServerGroupBlock()
        self.hosts: dict[str, tuple[str, int]] = {}
        self.hash_profiles = HashProfilesBlock()
        self.selected_profile: tuple[str, int] | None = None
        self.offsets: dict[str, list[tuple[int, int]]] = {}
        self.lldp = {"timer": (DEFAULT_LLDP_S, 0), "hold-time": (DEFAULT_LLDP_HOLD_S, 0)}

    def guard(self, service: str, access_list: str, number: int) -> bool:
        """Note that a service answers only who is on a list; always known."""
        self.guards[service] = (access_list, number)
        return True

    def access_list(self, name: str) -> Block:
        """The block of `ip access-list standard NAME`."""
        return self.access_lists.setdefault(name, AccessListBlock())

    def lldp_line(self, words: list[str], number: int) -> bool:
        """`lldp timer N` or `lldp hold-time N`, seconds."""
        if len(words) != 3 or words[1] not in self.lldp or not words[2].isdecimal():
            return False
        self.lldp[words[1]] = (int(words[2]), number)
        return True

    def snmp_line(self, words: list[str], number: int) -> bool:
        """One `snmp-server` statement, or its `no`."""
        off = words[0] == "no"
        key, rest = words[1 + off], words[2 + off :]
        if key == "vrf" and len(rest) == 1:
            self.put(f"management/snmp[{rest[0]}]", "off" if off else "on", number)
        elif off:
            return False
        elif key == "ipv4" and rest[:1] == ["access-list"] and rest[2:] == _VRF:
            return self.guard("snmp", rest[1], number)
        elif key in ("contact", "location") and len(rest) == 1:
            self.put(f"management/snmp/{key}", rest[0], number)
        elif key == "community" and rest[1:] == ["ro"]:
            self.put("management/snmp/secret", rest[0], number)
        else:
            return False
        return True

    def tacacs_line(self, words: list[str], number: int) -> bool:
        """`tacacs-server host A vrf MGMT key TYPE KEY`; a key of type 0 is as the administrator knows it."""
        if len(words) != 8 or words[1] != "host" or words[3:5] != _VRF or words[5] != "key":
            return False
        key = words[7] if words[6] == "0" else f"{words[6]} {words[7]}"
        self.hosts[words[2]] = (key, number)
        return True

    def aaa_line(self, words: list[str], number: int) -> Block | bool:
        """The server group, or one of the statements about it."""
        if words[1:4] == ["group", "server", "tacacs+"] and len(words) == 5:
            self.put("management/tacacs/group", words[4], number)
            return self.group
        text = " ".join(words[1:])
        for statement in AAA:
            if text.startswith(statement + " "):
                self.put(f"management/aaa[{statement}]", text[len(statement) + 1 :], number)
                return True
        return False

    def ip_line(self, words: list[str], number: int) -> Block | bool:
        """Access lists, the source of TACACS+, dynamic load balancing and the seed of the hash."""
        if words[1:3] == ["access-list", "standard"] and len(words) == 4:
            return self.access_list(words[3])
        if words[1:2] == ["access-list"] and len(words) == 3:
            return self.rules.setdefault(words[2], RulesBlock())
        if words[1:-1] == ["tacacs", *_VRF, "source-interface"]:
            self.put("management/tacacs/source", words[-1], number)
            return True
        if words[1:3] == ["load-sharing", "trident"] and len(words) == 4 and words[3].isdecimal():
            self.put("platform/hash_seed", int(words[3]), number)
            return True
        text = " ".join(words)
        if (pause := _PAUSE.fullmatch(text)) and self.dynamic:
            self.put("load_balancing/flowlet_idle_us", int(pause[1]), number)
            return True
        if text == _DLB:
            self.dynamic = True
            self.put("load_balancing/mode", "flowlet", number)
            return True
        if text == _PER_PACKET and self.dynamic:
            self.put("load_balancing/mode", "packet", number)
            return True
        return False

    def hash_line(self, words: list[str], number: int) -> bool:
        """`port-channel load-balance`: a byte hashed by the trident family, the profile of the sand family."""
        if words[:4] == ["port-channel", "load-balance", "sand", "profile"] and len(words) == 5:
            self.selected_profile = (words[4], number)
            return True
        pattern = _UDF.split()
        if len(words) != len(pattern) or not words[12].isdecimal():
            return False
        if any(said != word for said, word in zip(words, pattern, strict=True) if word not in ("TYPE", "AT")):
            return False
        self.offsets.setdefault(words[5], []).append((int(words[12]), number))
        return True

    def finish(self) -> None:
        """State what only several lines together say."""
        self.put("lldp/interval_s", *self.lldp["timer"])
        self.put("lldp/hold_s", *self.lldp["hold-time"])
        for service, (name, number) in self.guards.items():
            networks = self.access_lists[name].networks if name in self.access_lists else []
            path = "management/access" if service == "ssh" else f"management/access[{service}]"
            value = ",".join(sorted(network for network, _ in networks))
            self.put(path, value, networks[-1][1] if networks else number)
        applied = self.rules[self.control_plane].rules if self.control_plane in self.rules else []
        for index, (rule, number) in enumerate(applied):
            self.put(f"management/control_plane/{index}", rule, number)
        for host, (key, number) in self.hosts.items():
            self.put(f"management/tacacs[{host}]/secret", key, number)
        if servers := self.group.servers:
            self.put("management/tacacs/servers", ",".join(name for name, _ in servers), servers[-1][1])
            keys = {self.hosts.get(name, ("", 0)) for name, _ in servers}
            first, line = min(keys, key=lambda each: each[1])
            self.put("management/tacacs/secret", first if len({k for k, _ in keys}) == 1 else "", line)
        self._finish_hashing()

    def _finish_hashing(self) -> None:
        for kind, offsets in self.offsets.items():
            found = sorted(at for at, _ in offsets)
            self.put(f"load_balancing/hash_bytes[{kind}]", ",".join(map(str, found)), offsets[-1][1])
            if found == list(QUEUE_PAIR_OFFSETS):
                self.put("load_balancing/queue_pairs", "true", offsets[-1][1])
        for name, (payload, number) in self.hash_profiles.profiles.items():
            self.put(f"load_balancing/hash_profile[{name}]", payload, number)
        if self.selected_profile is not None:
            name, number = self.selected_profile
            self.put("load_balancing/hash_profile", name, number)
            if self.hash_profiles.profiles.get(name, ("", 0))[0] == _QUEUE_PAIR_PAYLOAD:
                self.put("load_balancing/queue_pairs", "true", number)
