"""OSPF, OSPFv3 and IS-IS in FRR's lines: processes, and their settings on interfaces.

Facts of OSPFv3 are those of a process `v3`; a process without a number is `default`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.frr.words import put_settings, repeated_rows, secret_rows, setting_rows
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, Silent
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


DEFAULT = "default"
V3 = "v3"
"""Names in facts for an OSPF process without a number, and for OSPFv3."""


def _parse_area(text: str) -> str | None:
    """Return an area, a number written as an address: `0` is `0.0.0.0`."""
    if is_number(text) and len(text) <= 10 and (number := int(text)) < 1 << 32:
        return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
    parts = text.split(".")
    whole = len(parts) == 4 and all(is_number(part) and len(part) <= 3 and int(part) < 256 for part in parts)
    return text if whole else None


TYPES = {"area": _parse_area}

_TAKEN = "redistribute <word> [<integer>] [metric <integer>] [metric-type <integer>] [route-map <word>]"
_LOG = Silent("log-adjacency-changes [detail]")
_OSPF: tuple[Row, ...] = (
    _LOG,
    Keep("[ospf|ospf6] router-id <address4>", "router_id"),
    Entry("network <prefix4> area <area>", "networks"),
    Entry("passive-interface <word> [<address4>]", "passive", lambda *_: "true"),
    Entry("no passive-interface <word> [<address4>]", "active", lambda *_: "true"),
    Entry(_TAKEN, "redistribute", lambda _protocol, _process, _metric, _kind, name: name or "all"),
    Keep("maximum-paths <integer>", "maximum_paths"),
    *(
        Entry(f"area <area> {kind} [<rest>]", "areas", lambda _, rest, kind=kind: f"{kind} {rest or ''}".strip())
        for kind in ("stub", "nssa")
    ),
    *(
        Keep(f"area <area> {words} [<rest>]", lambda area, rest, words=words: {
            f"setting[area {area} {words}{f' {rest}' if words == 'range' else ''}]": rest or "true",
        })
        for words in (
            "authentication", "default-cost", "export-list", "filter-list", "flood-reduction", "import-list", "range",
            "shortcut", "virtual-link",
        )
    ),
    Entry("interface <word> area <area>", "interfaces"),
    *setting_rows(
        "aggregation timer", "auto-cost reference-bandwidth", "bfd", "capability opaque", "compatible rfc1583",
        "default-information originate", "default-metric", "distance", "fast-reroute",
        "flood-reduction", "graceful-restart", "max-metric", "mpls ldp-sync", "mpls-te",
        "mpls-te router-address", "ospf abr-type", "ospf opaque-lsa", "ospf rfc1583compatibility",
        "ospf write-multiplier", "proactive-arp", "refresh timer", "router-info", "segment-routing",
        "segment-routing global-block", "segment-routing node-msd", "socket buffer", "socket-per-interface",
        "stub-router", "timers lsa", "timers lsa min-arrival", "timers throttle lsa",
        "timers throttle spf", "write-multiplier",
    ),
    *repeated_rows("distribute-list", "neighbor", "summary-address"),
    Keep("segment-routing prefix <prefix4> <rest>",
        lambda prefix, rest: {f"setting[segment-routing prefix {prefix}]": rest}),
)  # fmt: skip
_ISIS: tuple[Row, ...] = (
    _LOG,
    Keep("net <word>", "net"),
    Keep("is-type <level-1|level-1-2|level-2-only>", "level"),
    Keep("redistribute <ipv4|ipv6> <word> [<rest>]",
        lambda family, protocol, rest: {f"redistribute[{family} {protocol}]": _map_in(rest)}),
    *setting_rows(
        "advertise-high-metrics", "advertise-passive-only", "attached-bit", "default-information originate",
        "distance", "dynamic-hostname", "fast-reroute", "flex-algo", "hello padding", "hostname", "lsp-gen-interval",
        "lsp-mtu", "lsp-refresh-interval", "lsp-timers", "max-lsp-lifetime", "metric-style", "mpls ldp-sync", "mpls-te",
        "mpls-te export", "mpls-te router-address", "purge-originator", "segment-routing",
        "segment-routing global-block", "segment-routing node-msd", "set-attached-bit", "set-overload-bit",
        "spf-delay-ietf", "spf-interval", "spf prefix-priority", "topology",
    ),
    *secret_rows("area-password", "domain-password"),
    Block("segment-routing srv6", "", (
        *setting_rows("interface", "locator", "node-msd"),
        Block("node-msd", "", setting_rows("max-end-d", "max-end-pop", "max-h-encaps", "max-segs-left")),
    )),
    Keep("segment-routing prefix <word> <rest>",
        lambda prefix, rest: {f"setting[segment-routing prefix {prefix}]": rest}),
)  # fmt: skip


def _map_in(rest: str | None) -> str:
    """Return the route map that the end of a line names."""
    _, _, name = (rest or "").partition("route-map ")
    return name.split()[0] if name.split() else "all"


def _process_rows(pattern: str, scope: str, rows: Sequence[Row]) -> Iterator[Row]:
    """Yield a process, in a routing instance or in none."""
    yield Block(pattern, scope, rows)
    yield Block(f"{pattern} vrf <word>", f"{scope} vrf", rows)


ROWS: tuple[Row, ...] = (
    *_process_rows("router ospf", "ospf", _OSPF),
    *_process_rows("router ospf <integer>", "ospf", _OSPF),
    *_process_rows("router ospf6", "ospf6", _OSPF),
    *_process_rows("router isis <word>", "isis", _ISIS),
)
"""Rows other than those of interfaces."""

_OSPF_SETTINGS = (
    "advertise prefix-list", "authentication", "bfd", "capability opaque", "dead-interval", "graceful-restart",
    "hello-interval", "ifmtu", "instance-id", "mtu-ignore", "neighbor-filter", "p2p-p2mp", "passive",
    "prefix-suppression", "priority", "retransmit-interval", "transmit-delay",
)  # fmt: skip
INTERFACE: tuple[Row, ...] = (
    Keep("ip ospf area <area> [<address4>]", "ospf_area", lambda area, _: area),
    Keep("ip ospf <integer> area <area>", lambda process, area: {"ospf_process": str(process), "ospf_area": area}),
    Keep("ip ospf cost <integer> [<address4>]", "ospf_cost", lambda cost, _: cost),
    Keep("ip ospf network <rest>", "ospf_network"),
    *(
        row
        for words in _OSPF_SETTINGS
        for row in (
            Keep(f"ip ospf {words} [<rest>]", f"ospf_setting[{words}]", lambda rest: rest or "true"),
            Keep(f"no ip ospf {words} [<rest>]", f"ospf_setting[{words}]", lambda _: "false"),
            Keep(f"ipv6 ospf6 {words} [<rest>]", f"ospf_setting[{V3} {words}]", lambda rest: rest or "true"),
            Keep(f"no ipv6 ospf6 {words} [<rest>]", f"ospf_setting[{V3} {words}]", lambda _: "false"),
        )
    ),
    Keep("ip ospf (authentication-key|message-digest-key) <rest>", "ospf_setting[key]", lambda _: "set"),
    Keep("ipv6 ospf6 area <area>", "ospfv3_area"),
    Keep("ipv6 ospf6 cost <integer>", "ospfv3_cost"),
    Keep("ipv6 ospf6 network <rest>", f"ospf_setting[{V3} network]"),
    *(
        Keep(f"{family} router isis <word>",
            lambda process, family=family: {"isis": process, f"isis_setting[{family}]": "true"})
        for family in ("ip", "ipv6")
    ),
    Keep("isis metric [level-1|level-2] <integer>", "isis_metric"),
    *setting_rows(
        "bfd", "circuit-type", "csnp-interval", "fast-reroute", "hello padding",
        "hello-interval", "hello-multiplier", "mpls ldp-sync", "network", "passive",
        "priority", "psnp-interval", "three-way-handshake", "threeway-handshake", "topology",
        under="isis_setting", before="isis ",
    ),
    Keep("isis password <rest>", "isis_setting[password]", lambda _: "set"),
)  # fmt: skip
"""Lines of an interface."""


def finish(document: Document) -> None:
    """State processes."""
    scope = document.scope
    for kind in ("ospf", "ospf6"):
        for number, process in scope.each(kind).items():
            _finish_ospf(document, process, f"ospf[{_process_name(kind, number)}]/")
        for vrf, process in scope.each(f"{kind} vrf").items():
            _finish_ospf(document, process, f"vrf[{vrf}]/ospf[{_process_name(kind, '')}]/")
    for name, process in scope.each("isis").items():
        _finish_isis(document, process, f"isis[{name}]/")
    for vrf, process in scope.each("isis vrf").items():
        _finish_isis(document, process, f"vrf[{vrf}]/isis[{DEFAULT}]/")


def _process_name(kind: str, number: object) -> object:
    return V3 if kind == "ospf6" else number or DEFAULT


def _finish_ospf(document: Document, process: Scope, prefix: str) -> None:
    document.put_leaves(prefix, process.values, ("router_id", "maximum_paths"))
    for leaf in ("passive", "active"):
        document.put_set(prefix + leaf, process.table(leaf))
    active = [*process.table("active").items()]
    if len(active) > 1 and not process.table("passive"):  # several lines show that a default was meant
        name, (_, line) = active[0]
        document.put(f"unread[no passive-interface {name}]", "no port is passive", line)
    for leaf, table in (("network", "networks"), ("redistribute", "redistribute"), ("area", "areas")):
        for key, stored in process.table(table).items():
            document.put(f"{prefix}{leaf}[{key}]", *stored)
    for name, (area, line) in process.table("interfaces").items():
        document.put(f"interface[{name}]/ospfv3_area", area, line)
    put_settings(document, prefix, process.values)
    _put_presence(document, process, prefix)


def _finish_isis(document: Document, process: Scope, prefix: str) -> None:
    document.put_leaves(prefix, process.values, ("net", "level"))
    put_settings(document, prefix, process.values, "redistribute")
    put_settings(document, prefix, process.values)
    _put_presence(document, process, prefix)


def _put_presence(document: Document, process: Scope, prefix: str) -> None:
    """State that a process exists, if nothing else states it."""
    if not (process.values or process.tables):
        document.put(f"{prefix}setting[process]", "true", process.line)
