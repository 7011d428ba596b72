"""Reads BGP: what a template says is carried over to the neighbours that inherit it, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.read_policy import asn
from fabricc.back.nos.nxos.named import ONCE
from fabricc.back.nos.nxos.read_blocks import depth
from fabricc.back.nos.nxos.vocabulary import DEFAULT_TIMERS_S, FAMILY_SUFFIXES

if TYPE_CHECKING:
    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.fabric.facts import Value

    Attributes = dict[str, tuple[Value, int]]

_FAMILIES = ("ipv4", "ipv6")
_PER_FAMILY = ("import", "export", "maximum_prefixes", "send_community")


def _family(words: list[str]) -> str | None:
    if len(words) == 3 and words[0] == "address-family" and words[1] in _FAMILIES and words[2] == "unicast":
        return words[1]
    return None


class PeerBlock:
    """A neighbour or a template: attributes of its own and per address family."""

    __slots__ = ("attributes", "families", "inherits", "inherits_line", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.inherits = ""
        self.inherits_line = number
        self.attributes: Attributes = {}
        self.families: dict[str, Attributes] = {}

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A line below the peer, outside its address families."""
        if words[:2] == ["inherit", "peer"] and len(words) == 3:
            self.inherits, self.inherits_line = words[2], number
        elif words[0] == "remote-as" and len(words) == 2 and (remote := asn(words[1])) is not None:
            self.attributes["remote_asn"] = (remote, number)
        elif words[0] == "description" and len(words) > 1:
            self.attributes["description"] = (raw.strip().partition(" ")[2], number)
        elif words == ["bfd"] and "bfd" not in self.attributes:
            self.attributes["bfd"] = ("true", number)
        elif words[:2] == ["ttl-security", "hops"] and len(words) == 3 and words[2].isdecimal():
            self.attributes["ttl_security_hops"] = (int(words[2][:9]), number)
        else:
            return False
        return True

    def family_line(self, family: str, words: list[str], number: int) -> bool:
        """A line below one of the peer's address families."""
        own = self.families[family]
        if words in (["send-community"], ["send-community", "standard"]):
            own["send_community"] = ("true", number)
        elif words[0] == "route-map" and len(words) == 3 and words[2] in ("in", "out"):
            own["import" if words[2] == "in" else "export"] = (words[1], number)
        elif words[0] == "maximum-prefix" and len(words) == 2 and words[1].isdecimal():
            own["maximum_prefixes"] = (int(words[1]), number)
        else:
            return False
        return True


class BgpBlock:
    """`router bgp ASN`."""

    __slots__ = (
        "family",
        "neighbors",
        "number",
        "paths",
        "peer",
        "put",
        "redistributed",
        "templates",
        "timers",
        "united",
    )

    def __init__(self, number: int, put: Put) -> None:
        self.number = number
        self.put = put
        self.peer: PeerBlock | None = None
        self.family: str | None = None
        self.templates: dict[str, PeerBlock] = {}
        self.neighbors: dict[str, PeerBlock] = {}
        self.united: set[str] = set()
        self.paths: dict[str, tuple[int, int]] = {}
        self.redistributed: dict[str, tuple[str, int]] = {}
        self.timers: tuple[int, int, int] = (*DEFAULT_TIMERS_S, number)
        put("bgp/multipath_relax", "false", number)
        put("structure/bgp/defined", ONCE, number)

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A line of the process, of a peer, or of an address family of either, by its indentation."""
        level = depth(raw)
        if level == 1:
            self.peer, self.family = None, None
            return self._process_line(words, number)
        if level == 2 and self.peer is not None:
            self.family = _family(words)
            if self.family is not None:
                self.peer.families.setdefault(self.family, {})
                self.peer.attributes.setdefault(self.family, ("true", number))
                return True
            return self.peer.line(words, raw, number)
        if level == 2 and self.family is not None:
            return self._family_line(self.family, words, number)
        if level == 3 and self.peer is not None and self.family is not None:
            return self.peer.family_line(self.family, words, number)
        return False

    def _process_line(self, words: list[str], number: int) -> bool:
        text = " ".join(words)
        if words[0] == "neighbor" and len(words) in (2, 4):
            return self._neighbor(words, number)
        if words[:2] == ["template", "peer"] and len(words) == 3:
            self.peer = self.templates.setdefault(words[2], PeerBlock(number))
        elif (family := _family(words)) is not None:
            self.family = family
            self.put(f"bgp/family[{family}]", "true", number)
        elif words[0] == "router-id" and len(words) == 2:
            self.put("bgp/router_id", words[1], number)
        elif words[:2] == ["timers", "bgp"] and len(words) == 4 and all(w.isdecimal() for w in words[2:]):
            self.timers = (int(words[2]), int(words[3]), number)
        elif text == "bestpath as-path multipath-relax":
            self.put("bgp/multipath_relax", "true", number)
        elif text == "log-neighbor-changes":
            self.put("structure/bgp/log-neighbor-changes", ONCE, number)
        else:
            return False
        return True

    def _neighbor(self, words: list[str], number: int) -> bool:
        self.peer = self.neighbors.setdefault(words[1], PeerBlock(number))
        return len(words) == 2 or self.peer.line(words[2:], "", number)

    def _family_line(self, family: str, words: list[str], number: int) -> bool:
        already = self.redistributed if words[0] == "redistribute" else self.paths
        if words[0] in ("redistribute", "maximum-paths") and family in already:
            return False
        if words[:3] == ["redistribute", "direct", "route-map"] and len(words) == 4:
            self.redistributed[family] = (words[3], number)
        elif words[0] == "maximum-paths" and len(words) == 2 and words[1].isdecimal():
            self.paths[family] = (int(words[1]), number)
        elif words[0] == "aggregate-address" and words[2:] == ["summary-only"]:
            if (":" in words[1]) != (family == "ipv6"):
                return False
            self.put(f"bgp/aggregate[{words[1]}]", "summary-only", number)
        else:
            return False
        return True

    def finish(self, united: set[str]) -> None:
        """State timers, what the families do, and sessions; `united` are the maps that are stated for both families."""
        self.united = united
        keepalive, hold, line = self.timers
        self.put("bgp/keepalive_s", keepalive, line)
        self.put("bgp/hold_s", hold, line)
        for family in reversed(_FAMILIES):
            for name, stated in (
                ("maximum_paths", self.paths),
                ("redistribute_connected", self.redistributed),
            ):
                if family in stated:
                    value, line = stated[family]
                    self.put(f"bgp/family[{family}]/{name}", value, line)
                    self.put(f"bgp/{name}", self._map(value, family), line)
        for name, template in self.templates.items():
            self.put(f"structure/peer_template[{name}]/defined", ONCE, template.number)
        for name, peer in self.neighbors.items():
            self._session(name, peer)

    def _map(self, value: Value, family: str) -> Value:
        """The name of a map of that family without the suffix, where it is stated so."""
        if value in self.united and str(value).endswith(FAMILY_SUFFIXES[family]):
            return str(value).removesuffix(FAMILY_SUFFIXES[family])
        return value

    def _session(self, name: str, peer: PeerBlock) -> None:
        prefix = f"bgp/neighbor[{name}]/"
        self.put(f"structure/neighbor[{name}]/defined", ONCE, peer.number)
        if peer.inherits:
            self.put(f"structure/neighbor[{name}]/template", peer.inherits, peer.inherits_line)
        template = self.templates.get(peer.inherits) or PeerBlock(peer.number)
        attributes = template.attributes | peer.attributes
        families = [family for family in _FAMILIES if family in attributes]
        line = max((attributes[family][1] for family in families), default=peer.number)
        self.put(prefix + "families", ",".join(families), line)
        self.put(prefix + "bfd", *attributes.get("bfd", ("false", peer.number)))
        if "ttl_security_hops" in attributes:
            self.put("bgp/ttl_security", "true", attributes["ttl_security_hops"][1])
        for key in ("remote_asn", "description", "ttl_security_hops"):
            if key in attributes:
                self.put(prefix + key, *attributes[key])
        merged = {f: template.families.get(f, {}) | peer.families.get(f, {}) for f in families}
        for key in _PER_FAMILY:
            self._agreed(prefix + key, key, merged)

    def _agreed(self, path: str, key: str, merged: dict[str, Attributes]) -> None:
        """State one value for all families; where they differ, all of them together and each family's."""
        merged = {
            family: {about: (self._map(value, family), line) for about, (value, line) in own.items()}
            for family, own in merged.items()
        }
        found = [own[key] for own in merged.values() if key in own]
        if not found:
            return
        if len(found) == len(merged) and len({value for value, _ in found}) == 1:
            self.put(path, *found[0])
            return
        said = " ".join(f"{family} {own.get(key, ('none', 0))[0]}" for family, own in merged.items())
        self.put(path, said, found[-1][1])
        for family, own in merged.items():
            if key in own:
                self.put(f"{path}[{family}]", *own[key])
