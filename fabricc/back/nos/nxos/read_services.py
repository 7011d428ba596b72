"""Reads what guards and watches the switch (access lists, TACACS+, SNMP, LLDP, gNMI) and dynamic load balancing."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.vocabulary import (
    AAA,
    DEFAULT_DLB_MAC,
    DEFAULT_LLDP_HOLD_S,
    DEFAULT_LLDP_S,
    DLB_MODE_OF,
    GRPC_PORT,
    SNMP_ROLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cli_dialect.document import Block, Put
    from fabricc.fabric.facts import Value

_RULE = re.compile(r"(permit|deny) (?:(ip|ipv6) (\S+) any|tcp (\S+) any eq \d+)")
_PORT = re.compile(r"Eth(?:ernet)?(\d+(?:/\d+)*)(?:-(\d+))?")
_EVERYONE = "0.0.0.0/0"
_WIDEST_RANGE = 256

_VTY = "management/vty/access-class"
_VTY_V6 = "management/vty/ipv6 access-class"


class AccessListBlock:
    """`ip access-list` or `ipv6 access-list`: its rules, ordered by numbers that have no other meaning."""

    __slots__ = ("number", "rules")

    def __init__(self, number: int) -> None:
        self.number = number
        self.rules: dict[int, tuple[str, int]] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`N permit|deny ip NETWORK any` or `N permit|deny tcp NETWORK any eq PORT`."""
        if not words[0].isdecimal() or len(words[0]) > 10 or int(words[0]) in self.rules:
            return False
        text = " ".join(words[1:])
        if not _RULE.fullmatch(text):
            return False
        self.rules[int(words[0])] = (text, number)
        return True

    def ordered(self) -> list[tuple[str, int]]:
        """(text, line) of each rule in order."""
        return [self.rules[number] for number in sorted(self.rules)]

    def networks(self) -> str:
        """The networks whose every packet it permits, before it denies everybody; comma-joined, ascending."""
        found = []
        for text, _ in self.ordered():
            action, protocol, network = text.split()[:3]
            if protocol == "tcp":
                continue
            if action == "deny":
                break
            found.append(_EVERYONE if network == "any" else network)
        return ",".join(sorted(found))


class VtyBlock:
    """`line vty`: the lists that guard SSH."""

    __slots__ = ("services",)

    def __init__(self, services: Services) -> None:
        self.services = services

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`access-class LIST in` and `ipv6 access-class LIST in`; timeouts and limits say nothing of the fabric."""
        if words[0] in ("exec-timeout", "session-limit"):
            return True
        if words[-1] != "in" or words[:-2] not in (["access-class"], ["ipv6", "access-class"]):
            return False
        return self.services.guard(_VTY_V6 if words[0] == "ipv6" else _VTY, words[-2], number)


class ServerGroupBlock:
    """`aaa group server tacacs+`: its servers in the order in which they are asked."""

    __slots__ = ("put", "servers")

    def __init__(self, put: Put) -> None:
        self.put = put
        self.servers: list[tuple[str, int]] = []

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`server ADDRESS`, `use-vrf VRF` or `source-interface NAME`."""
        if len(words) != 2:
            return False
        if words[0] == "server":
            self.put(f"management/aaa/server[{len(self.servers)}]", words[1], number)
            self.servers.append((words[1], number))
        elif words[0] in ("use-vrf", "source-interface"):
            self.put(f"management/aaa/{words[0]}", words[1], number)
        else:
            return False
        return True


class DynamicBlock:
    """`hardware profile dlb`: how paths are chosen by load, and on which ports."""

    __slots__ = ("ports", "put")

    def __init__(self, put: Put) -> None:
        self.put = put
        self.ports: dict[str, int] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`mode WORD`, `dlb-interface LIST`, `flowlet-aging N` in microseconds, or `mac-address M`."""
        rest = " ".join(words[1:])
        if words[0] == "mode" and rest in DLB_MODE_OF:
            self.put("load_balancing/mode", DLB_MODE_OF[rest].value, number)
        elif words[0] == "flowlet-aging" and rest.isdecimal() and len(rest) < 12:
            self.put("load_balancing/flowlet_idle_us", int(rest), number)
        elif words[0] == "mac-address" and len(words) == 2:
            if rest.lower() != DEFAULT_DLB_MAC:
                self.put("load_balancing/mac", rest, number)
        elif words[0] == "dlb-interface" and rest:
            names = list(_port_names("".join(words[1:])))
            if not names:
                return False
            self.ports.update(dict.fromkeys(names, number))
            self.put("load_balancing/interfaces", ",".join(sorted(self.ports)), number)
        else:
            return False
        return True


def _port_names(text: str) -> Iterator[str]:
    """The ports of `Eth1/1,Eth1/3-4`; none when any part is not known."""
    names: list[str] = []
    for part in text.split(","):
        found = _PORT.fullmatch(part)
        if part == "all":
            names.append("all")
            continue
        if found is None or len(part) > 24:
            return
        stem, _, first = found[1].rpartition("/")
        last = int(found[2] or first)
        if not int(first) <= last < int(first) + _WIDEST_RANGE:
            return
        names.extend(f"Ethernet{stem}/{number}" for number in range(int(first), last + 1))
    yield from names


class Services:
    """What the lines of a document said about services, until `finish` states it."""

    __slots__ = ("access_lists", "group", "grpc", "guards", "hosts", "lldp", "on", "put")

    def __init__(self, put: Put) -> None:
        self.put = put
        self.access_lists: dict[str, AccessListBlock] = {}
        self.guards: dict[str, tuple[str, int]] = {}
        self.group = ServerGroupBlock(put)
        self.hosts: dict[str, tuple[str, int]] = {}
        self.grpc: tuple[int, int] | None = None
        self.lldp: dict[str, tuple[int, int]] = {}
        self.on: dict[str, int] = {}

    def guard(self, path: str, access_list: str, number: int) -> bool:
        """Note which list stands at a path, and so who is answered there; always known."""
        self.guards[path] = (access_list, number)
        return True

    def access_list(self, name: str, number: int) -> Block:
        """The block of `ip access-list NAME`."""
        return self.access_lists.setdefault(name, AccessListBlock(number))

    def feature(self, name: str, number: int) -> None:
        """Note that a feature is on: some of it holds without a line of its own."""
        self.on[name] = number

    def lldp_line(self, words: list[str], number: int) -> bool:
        """`lldp timer N` or `lldp holdtime N`, seconds."""
        if len(words) != 3 or words[1] not in ("timer", "holdtime"):
            return False
        if not words[2].isdecimal() or len(words[2]) > 5:
            return False
        self.lldp[words[1]] = (int(words[2]), number)
        return True

    def grpc_line(self, words: list[str], number: int) -> bool:
        """`grpc port N`, or `grpc use-vrf VRF` for one more VRF than that of management."""
        if len(words) != 3:
            return False
        if words[1] == "port" and words[2].isdecimal() and len(words[2]) < 6:
            self.grpc = (int(words[2]), number)
        elif words[1] == "use-vrf":
            self.put(f"management/grpc_vrf[{words[2]}]", "on", number)
        else:
            return False
        return True

    def nxapi_line(self, words: list[str], number: int) -> bool:
        """`nxapi use-vrf VRF`."""
        if words[1:2] != ["use-vrf"] or len(words) != 3:
            return False
        self.put("management/nxapi_vrf", words[2], number)
        return True

    def snmp_line(self, words: list[str], number: int) -> bool:
        """`snmp-server contact|location TEXT`, or who reads with a community and from where."""
        if len(words) < 3:
            return False
        key, rest = words[1], words[2:]
        if key in ("contact", "location"):
            self.put(f"management/snmp/{key}", " ".join(rest), number)
        elif key == "community" and rest[1:] == ["group", SNMP_ROLE]:
            self.put("management/snmp/secret", rest[0], number)
        elif key == "community" and rest[1::2] in (
            ["use-ipv4acl"],
            ["use-ipv6acl"],
            ["use-ipv4acl", "use-ipv6acl"],
        ):
            lists = dict(zip(rest[1::2], rest[2::2], strict=False))
            if len(lists) != len(rest[2::2]):
                return False
            self.put("management/snmp/guarded/secret", rest[0], number)
            for word, name in lists.items():
                self.guard(f"management/snmp/{word}", name, number)
        else:
            return False
        return True

    def tacacs_line(self, words: list[str], number: int) -> bool:
        """`tacacs-server host A key TYPE KEY`; a key of type 0 is as the administrator knows it."""
        if len(words) != 6 or words[1] != "host" or words[3] != "key" or words[2] in self.hosts:
            return False
        key = words[5].strip('"')
        self.hosts[words[2]] = (key if words[4] == "0" else f"{words[4]} {key}", number)
        return True

    def aaa_line(self, words: list[str], number: int) -> Block | bool:
        """The server group, or one of the statements about it."""
        if words[1:4] == ["group", "server", "tacacs+"] and len(words) == 5:
            self.put("management/aaa/group", words[4], number)
            return self.group
        text = " ".join(words[1:])
        for statement in AAA:
            if text.startswith(statement + " "):
                self.put(f"management/aaa/{statement}", text[len(statement) + 1 :], number)
                return True
        return False

    def undefined(self) -> Iterator[tuple[int, str]]:
        """(line, text) of each access list that guards something and is not there: it would guard nothing."""
        for name, line in self.guards.values():
            if name not in self.access_lists:
                yield line, f"access list {name}"

    def finish(self) -> None:
        """State what only several lines together say."""
        for name, block in self.access_lists.items():
            self.put(f"management/access_list[{name}]/rules", len(block.rules), block.number)
            for index, (text, line) in enumerate(block.ordered()):
                self.put(f"management/access_list[{name}]/{index}", text, line)
        for path, (name, number) in self.guards.items():
            self.put(path, name, number)
        name, number = self.guards.get(_VTY, ("", 0))
        if name in self.access_lists:
            self.put("management/access", self.access_lists[name].networks(), number)
        self._finish_tacacs()
        if "lldp" in self.on:
            hidden: dict[str, tuple[Value, int]] = {
                "timer": (DEFAULT_LLDP_S, self.on["lldp"]),
                "holdtime": (DEFAULT_LLDP_HOLD_S, self.on["lldp"]),
            }
            stated = hidden | self.lldp
            self.put("lldp/interval_s", *stated["timer"])
            self.put("management/lldp_hold_s", *stated["holdtime"])
        if "grpc" in self.on:
            self.put("management/gnmi_port", *(self.grpc or (GRPC_PORT, self.on["grpc"])))

    def _finish_tacacs(self) -> None:
        for host, (key, number) in self.hosts.items():
            self.put(f"management/aaa/host[{host}]/secret", key, number)
        if servers := self.group.servers:
            self.put("management/tacacs/servers", ",".join(name for name, _ in servers), servers[-1][1])
            keys = {self.hosts.get(name, ("", 0)) for name, _ in servers}
            first, line = min(keys, key=lambda each: each[1])
            self.put("management/tacacs/secret", first if len({k for k, _ in keys}) == 1 else "", line)
