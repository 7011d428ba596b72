"""The blocks of a running configuration that are about few lines, and how deep a line is in one."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.read_policy import prefix_lengths

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.nos.cli_dialect.document import Put

_DEFAULT_ROUTES = (["ip", "route", "0.0.0.0/0"], ["ipv6", "route", "::/0"], ["ipv6", "route", "0::/0"])


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
            self.put("structure/management_vrf/gateway", words[3], number)
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
        lengths = prefix_lengths(words[7:])
        if lengths is None:
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
