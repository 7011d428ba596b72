"""BGP sessions in FRR's lines: neighbors, the peer groups that they inherit from, and BFD's timers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.frr.words import BFD_INTERVAL_MS, BFD_MULTIPLIER, SET, setting_rows, settings_in
from fabricc.back.reading import Document, Each, Keep, Row, Scope, StoredValue
from fabricc.back.reading.rows import parse_address, parse_asn
from fabricc.fabric.model import SECRET_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value

FAMILIES = ("ipv4", "ipv6")
FURTHER = ("ipv4 vpn", "ipv6 vpn", "ipv4 labeled-unicast", "ipv6 labeled-unicast")
"""Families that a session has only if it activates them."""
ALLOWED_AS = 3
"""How often a path may contain the own AS number with `allowas-in` without a number (user guide, BGP)."""
FARTHEST = 255
"""Hops of `ebgp-multihop` without a number."""
_BFD = ("bfd_on", "bfd_profile")
_OWN = (
    "remote_asn", "description", "ttl_security_hops", "secret", "remote_kind", "password", "enabled", "local_asn",
    "update_source", "multihop", "keepalive_s", "hold_s", "extended_next_hop",
)  # fmt: skip
_JOINT = ("import", "export", "maximum_prefixes")
_FURTHER_JOINT = (
    "allow_as_in", "remove_private", "default_originate", "prefix_list_in", "prefix_list_out", "filter_in",
    "filter_out", "send_community",
)  # fmt: skip
_FLAGS = ("reflector_client", "next_hop_self", "next_hop_unchanged", "as_override")
"""Statements whose value is the list of families that have them."""
_MEMBER = frozenset({"is a port", "group", "remote_asn", "description"})
"""Statements that usually differ between the members of a peer group."""
_TIMERS = {"transmit": BFD_INTERVAL_MS, "receive": BFD_INTERVAL_MS, "multiplier": BFD_MULTIPLIER}


def _remote_asn(text: str) -> str | int | None:
    """Return an AS number, or what it is by the own one."""
    return text if text in ("external", "internal", "auto") else parse_asn(text)


def _remote_values(number: Value) -> dict[str, Value]:
    if isinstance(number, int):
        return {"remote_asn": number}
    return {"setting[remote-as]" if number == "auto" else "remote_kind": number}


def _password_value(text: str) -> str:
    """Return a reference to a secret of a spec unchanged; any other secret is masked."""
    return text if text.startswith(SECRET_PREFIX) else SET


TYPES = {"remote asn": _remote_asn}

SESSION: tuple[Row, ...] = (
    Keep("peer-group", "is a group"),
    Keep("peer-group <word>", "group"),
    Keep("remote-as <remote asn>", _remote_values),
    Keep("interface [v6only] peer-group <word>", lambda name: {"is a port": "true", "group": name}),
    Keep("interface [v6only] remote-as <remote asn>", lambda number: {"is a port": "true", **_remote_values(number)}),
    Keep("interface [v6only]", "is a port"),
    Keep("interface <word>", "setting[interface]"),
    Keep("description <rest>", "description"),
    Keep("bfd", "bfd_on"),
    Keep("bfd <integer> <integer> <integer>",
        lambda *n: {"bfd_on": "true", "setting[bfd]": f"multiplier {n[0]} receive {n[1]} transmit {n[2]}"}),
    Keep("bfd profile <word>", "bfd_profile"),
    Keep("password <rest>", "secret", _password_value),
    Keep("ttl-security hops <1-254>", "ttl_security_hops"),
    Keep("ebgp-multihop [<1-255>]", "multihop", lambda hops: hops or FARTHEST),
    Keep("update-source <word>", "update_source"),
    Keep("local-as <asn> [<rest>]", lambda own, rest: {"local_asn": own, "setting[local-as]": rest}),
    Keep("timers <integer> <integer>", lambda keepalive, hold: {"keepalive_s": keepalive, "hold_s": hold}),
    Keep("(shutdown|shut) [<rest>]", "enabled", lambda _: "false"),
    Keep("capability extended-nexthop", "extended_next_hop"),
    *setting_rows(
        "advertisement-interval", "aigp", "bfd check-control-plane-failure", "bfd strict",
        "capability dynamic", "capability fqdn", "capability link-local", "capability software-version",
        "disable-connected-check", "disable-link-bw-encoding-ieee", "dont-capability-negotiate", "enforce-first-as",
        "enforce-multihop", "extended-link-bandwidth", "extended-optional-parameters", "graceful-restart",
        "graceful-restart-disable", "graceful-restart-helper", "graceful-shutdown", "ip-transparent", "local-role",
        "oad", "override-capability", "passive", "path-attribute discard", "path-attribute treat-as-withdraw", "port",
        "rpki strict", "send-nexthop-characteristics", "sender-as-path-loop-detection", "solo",
        "strict-capability-match", "tcp-mss", "timers connect", "timers delayopen",
    ),
)  # fmt: skip
"""Rows of the process after the neighbor's name."""
NEGATED: tuple[Row, ...] = (
    Keep("(shutdown|shut)", "enabled", "true"),
    Keep("capability extended-nexthop", "extended_next_hop", "false"),
    Keep("bfd", "bfd_on", "false"),
    *(
        Keep(words, f"setting[{words}]", "false")
        for words in ("enforce-first-as", "send-nexthop-characteristics")
    ),
)
"""Rows of the process that begin with `no`."""


def of_family(family: str) -> tuple[Row, ...]:
    """Return lines of neighbors in an address family."""
    return (
        Each("neighbor <word>", "neighbor", (
            Keep("activate", f"{family} active"),
            Keep("maximum-prefix <integer>", f"{family} maximum_prefixes"),
            Keep("maximum-prefix <integer> <rest>", lambda number, rest: {
                f"{family} maximum_prefixes": number, f"{family} setting[maximum-prefix]": rest,
            }),
            Keep("route-map <word> in", f"{family} import"),
            Keep("route-map <word> out", f"{family} export"),
            Keep("prefix-list <word> in", f"{family} prefix_list_in"),
            Keep("prefix-list <word> out", f"{family} prefix_list_out"),
            *(
                Keep(f"{words} <word> {way}", f"{family} filter_{way}", lambda name, kind=kind: f"{kind} {name}")
                for words, kind in (("filter-list", "as_path_list"), ("distribute-list", "access_list"))
                for way in ("in", "out")
            ),
            Keep("allowas-in [<1-10>]", f"{family} allow_as_in", lambda times: times or ALLOWED_AS),
            Keep("allowas-in origin", {f"{family} setting[allowas-in]": "origin"}),
            Keep("remove-private-AS [<rest>]", f"{family} remove_private", lambda rest: rest or "true"),
            Keep("default-originate [route-map <word>]", f"{family} default_originate", lambda name: name or "all"),
            Keep("route-reflector-client", f"{family} reflector_client"),
            Keep("next-hop-self [force|all]", f"{family} next_hop_self"),
            Keep("as-override", f"{family} as_override"),
            Keep("attribute-unchanged next-hop", f"{family} next_hop_unchanged"),
            Keep("send-community [both|all|standard|extended|large]", f"{family} send_community", "true"),
            *setting_rows(
                "accept-own", "addpath-rx-paths-limit", "addpath-tx-all-paths", "addpath-tx-best-selected",
                "addpath-tx-bestpath-per-AS", "advertise-map", "attribute-unchanged as-path",
                "attribute-unchanged med", "capability orf prefix-list", "dampening", "disable-addpath-rx",
                "maximum-prefix-out", "nexthop-local unchanged", "route-server-client",
                "soft-reconfiguration inbound", "soo", "unsuppress-map", "weight", under=f"{family} setting",
            ),
        )),
        Each("no neighbor <word>", "neighbor", (
            Keep("activate", f"{family} active", "false"),
            Keep("send-community [both|all|standard]", f"{family} send_community", "false"),
            Keep("send-community extended", {f"{family} setting[send-community extended]": "false"}),
            Keep("send-community large", {f"{family} setting[send-community large]": "false"}),
        )),
    )  # fmt: skip


def finish(document: Document, bgp: Scope, prefix: str = "") -> None:
    """State sessions with the values of their peer groups, which most members do not repeat."""
    speakers = {str(name): speaker for name, speaker in bgp.each("neighbor").items()}
    default: dict[str, StoredValue] = {"ipv4": ("true", 0)}
    if "no default" in bgp.values:
        default["ipv4"] = ("false", bgp.values["no default"][1])
    if "ipv6 default" in bgp.values:
        default["ipv6"] = ("true", 0)
    members: dict[str, list[tuple[str, Value, int]]] = {}
    used: dict[Value, int] = {}
    refused = dict(_refused_names(speakers, bgp))
    for name, line in refused.items():
        why = "no line makes it a peer group, and it is neither an address nor a port (`interface`)"
        document.put(f"{prefix}unread[neighbor {name}]", why, line)
    alone = all("is a group" in speaker.values for speaker in speakers.values())
    for name in speakers if alone else ():
        if name not in map(str, (group for group, _ in bgp.table("listen").values())):
            why = "no neighbor is in this peer group"
            document.put(f"{prefix}unread[neighbor {name}]", why, speakers[name].line)
    for name, speaker in speakers.items():
        own = speaker.values
        if name in refused:
            continue
        if "ttl_security_hops" in own:
            document.put(f"{prefix}bgp/ttl_security", "true", own["ttl_security_hops"][1])
        if "is a group" in own:
            for key in _BFD:
                if key in own and not prefix:
                    document.put(f"structure/bgp_group[{name}]/{key}", *own[key])
            continue
        of = str(own["group"][0]) if "group" in own else ""
        stored = speakers[of].values | own if of in speakers else own
        stated = members.get(of) if own.keys() <= _MEMBER else None
        if stated is None:
            stated = _session_facts(stored, default)
            if own.keys() <= _MEMBER:
                members[of] = stated
        if "bfd_profile" in own and not prefix:
            document.put(f"structure/bgp_group[{name}]/bfd_profile", *own["bfd_profile"])
        path = f"{prefix}bgp/neighbor[{name}]/"
        for key, value, line in stated:
            document.put(path + key, value, line or speaker.line)
        document.put_leaves(path, stored, _OWN)
        if of and of not in speakers:
            document.put(path + "group", *own["group"])
        document.put_all((prefix + leaf, value, line) for leaf, value, line in _of_evpn(name, stored))
        if "bfd_on" in stored or "bfd_profile" in stored:
            profile, line = stored.get("bfd_profile") or ("", stored["bfd_on"][1])
            used[profile] = line
    for seen, (group, line) in bgp.table("listen").items():
        document.put(f"{prefix}bgp/listen[{seen}]", group, line)
        stored = speakers[str(group)].values if str(group) in speakers else {}
        own_leaves = [(key, *stored[key]) for key in _OWN if key in stored]
        for key, value, at in (*_session_facts(stored, default), *own_leaves) if stored else ():
            name = key if key.startswith("setting[") else f"setting[{key}]"
            document.put(f"{prefix}bgp/listen[{seen}]/{name}", str(value), at or line)
    _finish_bfd(document, used, prefix)


def _refused_names(speakers: Mapping[str, Scope], bgp: Scope) -> Iterator[tuple[str, int]]:
    """Yield neighbors that FRR refuses, and the line: the first one, or that of the only group without members.

    bgp_vty.c: "Create the peer-group or interface first".
    """
    groups = {name: speaker.line for name, speaker in speakers.items() if "is a group" in speaker.values}
    joined = {str(speaker.values["group"][0]) for speaker in speakers.values() if "group" in speaker.values}
    joined.update(str(group) for group, _ in bgp.table("listen").values())
    bare = [line for name, line in groups.items() if name not in joined]
    for name, speaker in speakers.items():
        if name not in groups and "is a port" not in speaker.values and parse_address(name) is None:
            yield name, bare[0] if name in joined and len(bare) == 1 else speaker.line


def _session_facts(
    values: Mapping[str, StoredValue], default: Mapping[str, StoredValue]
) -> list[tuple[str, Value, int]]:
    """Return the statements of a session by its families, without its far end: (name, value, line).

    `default` contains the families that are active by default. The line is 0 for a default value, and that of
    `no bgp default` for a session that carries nothing.
    """
    carried = {f: values.get(f"{f} active") or default.get(f, ("false", 0)) for f in (*FAMILIES, *FURTHER)}
    active = [f for f, (value, _) in carried.items() if value == "true"]
    found: dict[str, StoredValue] = {"bfd": ("false", 0)}
    for key in _BFD:
        if key in values:
            found["bfd"] = ("false" if values[key][0] == "false" else "true", values[key][1])
    off = max(
        line if value == "false" and not (active and line == default["ipv4"][1]) else 0
        for value, line in carried.values()
    )
    bare = default["ipv4"][0] == "false" and values.get("evpn active", ("false",))[0] == "false"
    if active or off or bare:
        found["families"] = (",".join(active), off or (carried[active[0]][1] if active else 0))
    for key in _JOINT:
        found |= join_families(key, {f: values.get(f"{f} {key}") for f in active})
    if not values.keys() <= _PLAIN:
        found |= _rare_facts(values, active)
    return [(key, value, line) for key, (value, line) in found.items()]


_PLAIN = frozenset({
    *_OWN, *_BFD, "group", "is a group", "is a port", *(f"{f} {key}" for f in FAMILIES for key in (*_JOINT, "active")),
})  # fmt: skip


def _rare_facts(values: Mapping[str, StoredValue], active: list[str]) -> dict[str, StoredValue]:
    """Return rare statements of a session: the rest of its family values, and settings."""
    found: dict[str, StoredValue] = dict(settings_in(values))
    for key in _FURTHER_JOINT:
        found |= join_families(key, {f: values.get(f"{f} {key}") for f in active})
    speaking = [*active, *(["evpn"] if values.get("evpn active", ("false",))[0] == "true" else [])]
    for key in _FLAGS:
        flagged = [(f, values[f"{f} {key}"]) for f in speaking if f"{f} {key}" in values]
        if flagged:
            found[key] = (",".join(f for f, _ in flagged), flagged[0][1][1])
    for family in speaking:
        for name, each in settings_in(values, f"{family} setting"):
            found[f"setting[{family} {name.removeprefix(f'{family} setting[')}"] = each
    if "evpn" in speaking:
        for key in ("maximum_prefixes", *_FURTHER_JOINT):
            if f"evpn {key}" in values:
                value, line = values[f"evpn {key}"]
                found[f"setting[evpn {key}]"] = (str(value), line)
    return found


def _of_evpn(name: str, values: Mapping[str, StoredValue]) -> Iterator[tuple[str, Value, int]]:
    """Yield the facts of a session about EVPN routes, whose next hops FRR keeps by default: (path, value, line)."""
    active, at = values.get("evpn active", ("false", 0))
    if active == "false":
        return
    prefix = f"evpn/neighbor[{name}]/"
    if "evpn next_hop_self" not in values:
        yield prefix + "next_hop", "unchanged", at
    for leaf in ("import", "export"):
        if f"evpn {leaf}" in values:
            yield prefix + leaf, *values[f"evpn {leaf}"]


def _finish_bfd(document: Document, used: Mapping[Value, int], prefix: str) -> None:
    """State the timers of the profiles that neighbors use, or of all when no neighbor runs BFD."""
    profiles = document.scope.each("profile")
    found: dict[tuple[Value, Value], tuple[int, int]] = {}
    if prefix and not used:
        return
    for name, line in (used or {str(name): profile.line for name, profile in profiles.items()}).items():
        profile = profiles.get(name, Scope(line))
        transmit, receive, multiplier = (profile.values.get(key, (own, 0))[0] for key, own in _TIMERS.items())
        interval = transmit if receive == transmit else f"transmit {transmit} receive {receive}"
        lines = [profile.values[key][1] for key in ("transmit", "receive") if key in profile.values]
        _, own = profile.values.get("multiplier", (None, profile.line))
        found.setdefault((interval, multiplier), (min(lines, default=profile.line), own))
    if found:
        line, own = next(iter(found.values()))
        document.put(f"{prefix}bfd/interval_ms", _one_or_all({interval for interval, _ in found}), line)
        document.put(f"{prefix}bfd/multiplier", _one_or_all({multiplier for _, multiplier in found}), own)


def join_families(name: str, by_family: Mapping[str, StoredValue | None]) -> dict[str, StoredValue]:
    """Return one value for all families, or each family's own if they differ; empty without values."""
    stored = [each for each in by_family.values() if each]
    if not stored:
        return {}
    if len({each[0] if each else None for each in by_family.values()}) == 1:
        return {name: stored[0]}
    text = ", ".join(f"{family} {each[0] if each else 'none'}" for family, each in by_family.items())
    return {name: (text, stored[0][1])}


def _one_or_all(values: Iterable[Value]) -> Value:
    found = sorted(values, key=str)
    return found[0] if len(found) == 1 else ", ".join(map(str, found))
