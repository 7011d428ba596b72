"""What a block of a running configuration is to the reader, and the blocks that are about few lines."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fabricc.fabric.facts import clause_text
from fabricc.fabric.model import Clause
from fabricc.nos.nxos.vocabulary import COMMUNITY_OF

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.facts import Value

    Put = Callable[[str, Value, int], None]
    Match = tuple[str, int, int, str]

_MATCH_FAMILY = {"ip": 4, "ipv6": 6}
_DEFAULT_ROUTES = (["ip", "route", "0.0.0.0/0"], ["ipv6", "route", "::/0"], ["ipv6", "route", "0::/0"])


class Block(Protocol):
    """The body of one top-level line."""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """Take one line of the body; False when its meaning is not known."""
        ...


def depth(raw: str) -> int:
    """How many modes deep a line is, at two columns a mode."""
    return (len(raw) - len(raw.lstrip())) // 2


class IgnoredBlock:
    """A block that a device adds by itself and that says nothing of the fabric: `vdc`, `line`."""

    __slots__ = ()

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """Every line is known."""
        return True


class ManagementVrfBlock:
    """`vrf context management`: its default route, and name servers written there."""

    __slots__ = ("put", "server")

    def __init__(self, put: Put, server: Callable[[str, str, int], bool]) -> None:
        self.put = put
        self.server = server

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`ip route 0.0.0.0/0 GATEWAY` or `ip name-server ADDRESS…`."""
        if words[:3] in _DEFAULT_ROUTES and len(words) == 4:
            self.put("management/gateway", words[3], number)
            return True
        if words[:2] == ["ip", "name-server"] and len(words) > 2:
            return all(self.server("dns", name, number) for name in words[2:])
        return False


class PrefixLists:
    """All prefix lists; their rules are ordered by sequence number, which has no other meaning."""

    __slots__ = ("rules",)

    def __init__(self) -> None:
        self.rules: dict[str, dict[int, tuple[str, int, int]]] = {}

    def line(self, words: list[str], number: int) -> bool:
        """`ip prefix-list NAME seq N permit PREFIX [eq N | ge N] [le N]`."""
        if len(words) < 7 or words[3] != "seq" or words[5] != "permit" or not words[4].isdecimal():
            return False
        lengths = words[7:]
        if lengths[:1] == ["eq"] and len(lengths) == 2:
            lengths = ["ge", lengths[1], "le", lengths[1]]
        if lengths[0::2] not in ([], ["ge"], ["le"], ["ge", "le"]):
            return False
        if not all(word.isdecimal() for word in lengths[1::2]) or len(lengths) % 2:
            return False
        family = 6 if words[0] == "ipv6" else 4
        if (":" in words[6]) != (family == 6):
            return False
        rules = self.rules.setdefault(words[2], {})
        if int(words[4]) in rules:
            return False
        rules[int(words[4])] = (" ".join([words[6], *lengths]), family, number)
        return True

    def finish(self, put: Put) -> None:
        """State all rules."""
        for name, rules in self.rules.items():
            for index, (_, (text, _, line)) in enumerate(sorted(rules.items())):
                put(f"prefix_list[{name}]/{index}", text, line)

    def family(self, name: str) -> int | None:
        """The family of a list; None when there is none of that name."""
        rules = self.rules.get(name)
        return next(iter(rules.values()))[1] if rules else None


class RouteMapBlock:
    """One clause of a route map, stated anew at each line so that the last word counts."""

    __slots__ = ("fields", "matches", "path", "permit", "put", "sequence")

    def __init__(
        self, name: str, permit: bool, sequence: int, number: int, put: Put, matches: list[Match]
    ) -> None:
        self.matches = matches
        self.path = f"route_map[{name}]/{sequence}"
        self.permit = permit
        self.sequence = sequence
        self.put = put
        self.fields: dict[str, str] = {}
        self._state(number)

    def _state(self, number: int) -> None:
        fields = self.fields
        preference = fields.get("local_preference")
        clause = Clause(
            self.sequence,
            self.permit,
            prefix_list=fields.get("prefix_list"),
            community_list=fields.get("community_list"),
            local_preference=None if preference is None else int(preference),
            add_community=fields.get("add_community"),
        )
        self.put(self.path, clause_text(clause), number)

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """A `match` or `set` line of those that the product uses."""
        if words[:2] == ["match", "community"] and len(words) == 3:
            self.fields["community_list"] = words[2]
        elif len(words) == 5 and words[1] in _MATCH_FAMILY and words[::2][:2] == ["match", "address"]:
            if words[3] != "prefix-list":
                return False
            self.fields["prefix_list"] = words[4]
            self.matches.append((words[4], _MATCH_FAMILY[words[1]], number, " ".join(words)))
        elif words[:2] == ["set", "local-preference"] and len(words) == 3 and words[2].isdecimal():
            self.fields["local_preference"] = words[2]
        elif words[:2] == ["set", "community"] and words[3:] == ["additive"]:
            self.fields["add_community"] = COMMUNITY_OF.get(words[2], words[2])
        else:
            return False
        self._state(number)
        return True
