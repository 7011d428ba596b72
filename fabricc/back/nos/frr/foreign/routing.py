"""FRR's lines outside of routing processes: static routes, routing instances, BFD, segment routing."""

from __future__ import annotations

import re

from fabricc.back.nos.cli_dialect import masked_prefix
from fabricc.back.nos.frr.words import put_settings, repeated_rows, setting_rows, settings_in
from fabricc.back.reading import Block, Document, Each, Entry, Fact, Keep, Row, Scope, Silent
from fabricc.back.reading.rows import parse_address
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import static_text

DISCARDS = frozenset({"blackhole", "Null0", "null0", "reject", "lo"})
"""Ways on which packets are dropped; the loopback device takes only those to an address of the switch itself."""
_INTERFACE = re.compile(r"[A-Za-z][\w.:@/-]{0,15}")
_OPTIONS = ("tag", "vrf", "nexthop-vrf", "table", "label", "weight", "color", "segments")
"""Words of a static route that one more follows."""


def _is_hop(word: str) -> bool:
    return parse_address(word) is not None or _INTERFACE.fullmatch(word) is not None


def _next_hop(text: str) -> str | None:
    """Return a next hop as facts have it, with the routing instance of the route before it; None where it is none.

    `10.0.0.1 vrf RED` is `RED 10.0.0.1`.
    """
    words = text.split()
    own, parts = "", list[str]()
    at = 0
    while at < len(words):
        word = words[at]
        if word in _OPTIONS and at + 1 < len(words):
            at += 1
            if word == "vrf":
                own = words[at]
            else:
                parts.append(f"{word} {words[at]}")
        elif is_number(word) and at and len(word) <= 3:
            parts.append(f"distance {word}")
        elif word in ("onlink", "bfd"):
            parts.append(word)
        elif at == 0 and word in DISCARDS:
            parts.append("discard")
        elif _INTERFACE.fullmatch(word) if at == 1 and parse_address(words[0]) else at == 0 and _is_hop(word):
            parts.append(word)
        else:
            return None
        at += 1
    return f"{own} {' '.join(parts)}" if words else None


_STATIC: tuple[Row, ...] = (
    *(
        Each(f"{keyword} route <prefix{family}>", "static route", (Entry("<rest>", "via", _next_hop),))
        for keyword, family in (("ip", 4), ("ipv6", 6))
    ),
    Entry("ip route <address4> <rest>", "masked route"),
)
_LOCATOR: tuple[Row, ...] = (
    Keep("prefix <prefix6> [<rest>]", lambda prefix, rest: {"prefix": prefix, "setting[lengths]": rest}),
    *setting_rows("behavior", "format"),
)
_FORMAT = setting_rows(
    "compressed", "uncompressed", "local-id-block", "block-len", "node-function-length", "node-len"
)
_BFD: tuple[Row, ...] = (
    Keep("detect-multiplier <integer>", "multiplier"),
    Keep("transmit-interval <integer>", "transmit"),
    Keep("receive-interval <integer>", "receive"),
    *setting_rows(
        "echo transmit-interval", "echo receive-interval", "echo-interval", "echo-mode", "log-session-changes",
        "minimum-ttl", "passive-mode", "shutdown",
    ),
)  # fmt: skip

_MULTICAST = (
    *setting_rows(
        "autorp", "bsr", "ecmp", "embedded-rp", "join-prune-interval", "keep-alive-timer", "msdp", "packets",
        "register-accept-list", "register-suppress-time", "send-v6-secondary", "spt-switchover", "ssm",
    ),
    *repeated_rows("rp"),
)  # fmt: skip
_NOT_LOOKED_INTO = (
    "nexthop-group", "pbr-map", "router babel", "router eigrp", "router openfabric", "router pim", "router pim6",
    "router rip", "router ripng",
)  # fmt: skip

ROWS: tuple[Row, ...] = (
    *_STATIC,
    *(Fact(f"bgp {words} <rest>", f"bgp/setting[{words}]") for words in ("route-map delay-timer", "session-dscp")),
    Block("vrf <word>", "vrf", (
        Keep("vni <integer>", "vni"),
        Keep("vni <integer> prefix-routes-only", lambda vni: {"vni": vni, "setting[prefix-routes-only]": "true"}),
        *_STATIC,
        *setting_rows("ip router-id", "ipv6 router-id", "ip protocol", "ipv6 protocol", "netns"),
        Silent("exit-vrf"),
    )),
    Silent("exit-vrf"),
    Block("bfd", "", (
        Block("profile <word>", "profile", _BFD),
        Block("peer <rest>", "bfd peer", (Keep("profile <word>", "profile"), *_BFD)),
    )),
    Block("segment-routing", "", (
        Block("srv6", "", (
            Block("locators", "", (Block("locator <word>", "locator", _LOCATOR),)),
            Block("formats", "", (Block("format <word>", "srv6 format", _FORMAT),)),
            Block("static-sids", "", (
                Fact("sid <prefix6> <rest>", lambda prefix, rest: {f"srv6/sid[{prefix}]": rest}),
            )),
            Block("encapsulation", "", (Fact("source-address <address6>", "srv6/source"),)),
        )),
    )),
    *(
        row
        for protocol in _NOT_LOOKED_INTO
        for row in (
            Fact(protocol, f"routing/setting[{protocol}]", "true"),
            Fact(f"{protocol} <rest>", lambda rest, protocol=protocol: {f"routing/setting[{protocol} {rest}]": "true"}),
            Block(protocol, "", _MULTICAST if "pim" in protocol else ()),
            Block(f"{protocol} <rest>", "", _MULTICAST if "pim" in protocol else ()),
        )
    ),
    Block("mpls ldp", "mpls ldp", (
        *setting_rows(
            "address-family", "discovery", "discovery transport-address", "label local",
            "ordered-control", "router-id",
        ),
        *repeated_rows("interface", "neighbor"),
        Silent("exit-address-family"),
    )),
    *setting_rows(
        "evpn mh startup-delay",
        "evpn mh mac-holdtime", "evpn mh neigh-holdtime", "evpn mh redirect-off", "ip multicast-routing", "nhrp",
    ),
    *repeated_rows(
        "ip igmp", "ip import-table", "ip mroute", "ip msdp", "ip pim", "ip protocol", "ip ssmpingd",
        "ipv6 import-table", "ipv6 pim", "ipv6 protocol", "mpls label",
    ),
    Fact("[ip] router-id <address4>", "routing/setting[router-id]"),
    Fact("[ip] router-id <address4> vrf <word>",
        lambda router, vrf: {f"vrf[{vrf}]/routing/setting[router-id]": router}),
    Fact("no ip forwarding", "routing/enabled[ipv4]", "false"),
    Fact("no ipv6 forwarding", "routing/enabled[ipv6]", "false"),
)  # fmt: skip
"""Rows other than those of processes."""


def finish(document: Document) -> None:
    """State static routes, BFD's peers and profiles, and locators."""
    scope = document.scope
    _finish_static(document, scope, "")
    put_settings(document, "routing/", scope.values)
    for process in scope.each("mpls ldp").values():
        put_settings(document, "mpls/", process.values)
    for name, vrf in scope.each("vrf").items():
        _finish_static(document, vrf, str(name))
        put_settings(document, f"vrf[{name}]/routing/", vrf.values)
        if "vni" not in vrf.values:
            document.put(f"vrf[{name}]", "present", vrf.line)
    for name, profile in scope.each("profile").items():
        document.put(f"structure/bfd_profile[{name}]", "true", profile.line)
        _put_bfd(document, f"profile {name}", profile)
    for key, peer in scope.each("bfd peer").items():
        stored = {leaf: str(value) for leaf, (value, _) in peer.values.items() if leaf in _TIMERS}
        text = " ".join(f"{leaf} {stored[leaf]}" for leaf in _TIMERS if leaf in stored)
        document.put(f"bfd/peer[{key}]", text or "default", peer.line)
        _put_bfd(document, f"peer {key}", peer)
    for name, locator in scope.each("locator").items():
        document.put(f"srv6/locator[{name}]", "present", locator.line)
        document.put_kept(f"srv6/locator[{name}]/prefix", locator.values, "prefix")
        put_settings(document, f"srv6/locator[{name}]/", locator.values)
    for name, form in scope.each("srv6 format").items():
        document.put(f"srv6/format[{name}]", "present", form.line)
        put_settings(document, f"srv6/format[{name}]/", form.values)


_TIMERS = ("profile", "multiplier", "transmit", "receive")


def _put_bfd(document: Document, owner: str, scope: Scope) -> None:
    for name, each in settings_in(scope.values):
        document.put(f"bfd/setting[{owner} {name.removeprefix('setting[')}", *each)


def _finish_static(document: Document, scope: Scope, vrf: str) -> None:
    """State each route with its next hops, in the instance that the block or the line names."""
    found = {
        str(prefix): (route.line, [str(hop) for hop, _ in route.table("via").values()])
        for prefix, route in scope.each("static route").items()
    }
    for address, (text, line) in scope.table("masked route").items():
        mask, _, rest = str(text).partition(" ")
        prefix, hop = masked_prefix(str(address), mask), _next_hop(rest)
        if prefix is not None and hop is not None:
            found.setdefault(prefix, (line, []))[1].append(hop)
    for prefix, (line, ways) in found.items():
        hops: dict[str, list[str]] = {}
        for way in ways:
            own, _, text = way.partition(" ")
            hops.setdefault(own or vrf, []).append(text)
        for own, each in hops.items():
            path = f"vrf[{own}]/" if own and own != "default" else ""
            document.put(f"{path}static_route[{prefix}]", static_text(each), line)
