"""Reads BGP and BFD: attributes of peer groups are carried over to their neighbours at the end."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.read_policy import asn
from fabricc.back.nos.eos.read_blocks import nested
from fabricc.back.nos.eos.vocabulary import DEFAULT_TIMERS_S

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.fabric.facts import Value

    Attributes = dict[str, tuple[Value, int]]

_FAMILIES = ("ipv4", "ipv6")
_CONSTANT = {"bgp asn notation asplain", "bgp asn notation asdot"}
_STATED = (
    "remote_asn", "description", "import", "export", "maximum_prefixes", "send_community", "maximum_hops",
)  # fmt: skip
_NEXT_HOP = ["next-hop", "address-family", "ipv6", "originate"]


class BfdBlock:
    """`router bfd`: the default timers of all sessions."""

    __slots__ = ("put",)

    def __init__(self, put: Put) -> None:
        self.put = put

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`interval I min-rx I multiplier M default`, both intervals alike."""
        if len(words) != 7 or words[0::2] != ["interval", "min-rx", "multiplier", "default"]:
            return False
        if words[1] != words[3] or not (words[1].isdecimal() and words[5].isdecimal()):
            return False
        self.put("bfd/interval_ms", int(words[1]), number)
        self.put("bfd/multiplier", int(words[5]), number)
        return True


class BgpBlock:
    """`router bgp ASN`: sessions are stated at the end, when the groups are known."""

    __slots__ = ("attributes", "default_ipv4", "family", "groups", "interfaces", "number", "put", "timers")

    def __init__(self, number: int, put: Put) -> None:
        self.number = number
        self.put = put
        self.attributes: dict[str, Attributes] = {}
        self.groups: set[str] = set()
        self.interfaces: set[str] = set()
        self.family: str | None = None
        self.default_ipv4 = True
        self.timers: tuple[int, int, int] = (*DEFAULT_TIMERS_S, number)
        put("bgp/multipath_relax", "true", number)

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A line of the process, or of the address family last named when it is indented deeper."""
        if nested(raw):
            return self.family is not None and self._family_line(self.family, words, number)
        if words[0] == "neighbor":
            return self._neighbor(words, raw, number)
        if words[0] == "address-family":
            self.family = words[-1] if len(words) == 2 and words[1] in _FAMILIES else None
            return self.family is not None
        return self._process_line(words, number)

    def _process_line(self, words: list[str], number: int) -> bool:
        text = " ".join(words)
        numbers = [int(word) for word in words if word.isdecimal()]
        if text == "update wait-install":
            self.put("platform/wait_install", "true", number)
        elif text == "no bgp default ipv4-unicast":
            self.default_ipv4 = False
        elif text in ("bgp bestpath as-path multipath-relax", "no bgp bestpath as-path multipath-relax"):
            self.put("bgp/multipath_relax", "false" if words[0] == "no" else "true", number)
        elif words[0] == "router-id" and len(words) == 2:
            self.put("bgp/router_id", words[1], number)
        elif words[:2] == ["timers", "bgp"] and len(words) == 4 and len(numbers) == 2:
            self.timers = (numbers[0], numbers[1], number)
        elif words[0::2] == ["maximum-paths", "ecmp"] and len(numbers) == 2:
            paths, ecmp = numbers
            self.put("bgp/maximum_paths", paths if paths == ecmp else f"{paths} ecmp {ecmp}", number)
        elif words[0] == "aggregate-address" and words[2:] == ["summary-only"]:
            self.put(f"bgp/aggregate[{words[1]}]", "summary-only", number)
        elif words[:3] == ["redistribute", "connected", "route-map"] and len(words) == 4:
            self.put("bgp/redistribute_connected", words[3], number)
        else:
            return text in _CONSTANT
        return True

    def _neighbor(self, words: list[str], raw: str, number: int) -> bool:
        if len(words) < 3:
            return False
        if words[1] == "interface":
            return self._interface(words, number)
        name, key, rest = words[1], words[2], words[3:]
        own = self.attributes.setdefault(name, {})
        if key == "peer" and rest[:1] == ["group"]:
            key, rest = "peer-group", rest[1:]
        if key == "peer-group" and not rest:
            self.groups.add(name)
        elif key == "peer-group" and len(rest) == 1:
            own["group"] = (rest[0], number)
        elif key == "remote-as" and len(rest) == 1 and (remote := asn(rest[0])) is not None:
            own["remote_asn"] = (remote, number)
        elif key == "description" and rest:
            own["description"] = (raw.strip().partition(" description ")[2], number)
        elif key in ("bfd", "send-community") and not rest:
            own[key.replace("-", "_")] = ("true", number)
        elif key == "ttl" and rest[:1] == ["maximum-hops"] and len(rest) == 2 and rest[1].isdecimal():
            own["maximum_hops"] = (int(rest[1]), number)
            self.put("bgp/ttl_security", "true", number)
        elif key == "route-map" and len(rest) == 2 and rest[1] in ("in", "out"):
            own["import" if rest[1] == "in" else "export"] = (rest[0], number)
        elif key == "maximum-routes" and len(rest) == 1 and rest[0].isdecimal():
            own["maximum_prefixes"] = (int(rest[0]), number)
        else:
            return False
        return True

    def _interface(self, words: list[str], number: int) -> bool:
        if len(words) != 7 or words[3::2] != ["peer-group", "remote-as"] or (remote := asn(words[6])) is None:
            return False
        self.interfaces.add(words[2])
        self.attributes[words[2]] = {"group": (words[4], number), "remote_asn": (remote, number)}
        return True

    def _family_line(self, family: str, words: list[str], number: int) -> bool:
        if words[0] != "neighbor" or len(words) < 3:
            return False
        own = self.attributes.setdefault(words[1], {})
        if words[2:] == ["activate"]:
            own[family] = ("true", number)
        elif words[2:] == _NEXT_HOP and family == "ipv4":
            own["next_hop"] = ("true", number)
        else:
            return False
        return True

    def finish(self) -> None:
        """State timers and sessions."""
        keepalive, hold, line = self.timers
        self.put("bgp/keepalive_s", keepalive, line)
        self.put("bgp/hold_s", hold, line)
        for name, own in self.attributes.items():
            if name not in self.groups:
                group = str(own["group"][0]) if "group" in own else ""
                self._session(name, self.attributes.get(group, {}) | own)

    def _session(self, name: str, attributes: Attributes) -> None:
        prefix = f"bgp/neighbor[{name}]/"
        families = [f for f in _FAMILIES if f in attributes or (f == "ipv4" and self.default_ipv4)]
        if name in self.interfaces and "next_hop" not in attributes:
            families = [f for f in families if f != "ipv4"]
        line = max((attributes[f][1] for f in families if f in attributes), default=self.number)
        self.put(prefix + "families", ",".join(families), line)
        self.put(prefix + "bfd", *attributes.get("bfd", ("false", self.number)))
        for key in _STATED:
            if key in attributes:
                self.put(prefix + key, *attributes[key])
