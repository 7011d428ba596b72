"""Sessions of NX-OS: neighbors with what they have of templates and address families, as facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.words import FAMILY_SUFFIXES, split_beginnings, state_part
from fabricc.back.reading import Captured, Document, Scope, StoredValue
from fabricc.back.reading.scope import usual_neighbor
from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Value

    Stated = tuple[str, Value, int]

UNICAST = ("ipv4", "ipv6")

OF_PEERS = "of peer "
"""Before the name of a setting of a peer."""


def inherit_templates(scope: Scope, process: Scope, depth: int = 3) -> Scope:
    """Return a peer or template with the values of its peer-session and peer-policy templates."""
    session = process.each("peer-session").get(scope.values.get("session", _NONE)[0])
    families = scope.each("family")
    named = any("policies" in family.tables for family in families.values())
    if not depth or (session is None and not named):
        return scope
    merged = Scope(scope.line)
    values = inherit_templates(session, process, depth - 1).values if session is not None else {}
    merged.values = {leaf: stored for leaf, stored in values.items() if leaf != "defined"} | scope.values
    merged.tables, merged.scopes = scope.tables, dict(scope.scopes)
    if named:
        merged.scopes["family"] = {
            key: _with_policies(family, process, depth) for key, family in families.items()
        }
    return merged


def _with_policies(family: Scope, process: Scope, depth: int) -> Scope:
    """Return the values of a peer for a family, with its peer-policy templates: the lowest number first."""
    merged = Scope(family.line)
    named = sorted(family.table("policies").items(), key=lambda each: int(each[1][0]), reverse=True)
    for name, _ in named:
        policy = process.each("peer-policy").get(name)
        if policy is not None:
            merged.values |= (_with_policies(policy, process, depth - 1) if depth else policy).values
    merged.values |= family.values
    return merged


def state_session(
    document: Document,
    path: str,
    name: str,
    peer: Scope,
    values: Mapping[str, StoredValue],
    policy: Sequence[Stated],
) -> None:
    """State a session: its own values, the defaults, and those of its families."""
    facts, lines, file = document.reading.facts, document.reading.lines, document.file
    prefix = f"{path}bgp/neighbor[{name}]/"
    if not path:
        state_part(document, f"neighbor[{name}]", peer, "template")
    elif "template" in values:
        document.put(prefix + "group", *values["template"])
    if "ttl_security_hops" in values:
        document.put(f"{path}bgp/ttl_security", "true", values["ttl_security_hops"][1])
    if "/" in name and is_number(name[0]):
        document.put(f"{path}bgp/listen[{name}]", values.get("template", ("none", 0))[0], peer.line)
    if multihop := [stored for leaf, stored in values.items() if leaf.startswith(f"{OF_PEERS}bfd")]:
        values = {"bfd": ("true", multihop[0][1]), **values}
    own = [(leaf, *values[leaf]) for leaf in _OF_PEER if leaf in values]
    own += [(leaf, default, peer.line) for leaf, default in _OF_NONE.items() if leaf not in values]
    own += [
        (f"setting[{leaf.removeprefix(OF_PEERS)}]", *stored)
        for leaf, stored in values.items()
        if leaf.startswith(OF_PEERS)
    ]
    for leaf, value, line in (*own, *policy):
        stated = f"{path}evpn/neighbor[{name}]/{leaf[1:]}" if leaf[0] == "/" else prefix + leaf
        stated = usual_neighbor(stated) if ":" in name else stated
        facts[stated] = value
        lines[stated] = (file, line)


_OF_PEER = split_beginnings("""
    remote_asn, description, bfd, ttl_security_hops, secret, enabled, remote_kind, local_asn, update_source,
    multihop, keepalive_s, hold_s, remove_private, extended_next_hop, password
""")  # fmt: skip

_OF_NONE = {"bfd": "false", "families": ""}
"""The values of a peer without statements."""
_NONE = ("", 0)

NO_TEMPLATE = Scope(0)

_PER_FAMILY = split_beginnings("""
    import, export, maximum_prefixes, send_community, prefix_list_in, prefix_list_out, filter_in, filter_out,
    allow_as_in, default_originate
""")  # fmt: skip

_MAPS = ("import", "export")
"""Of these, what EVPN has for itself."""
_LISTED = {
    "route-reflector-client": "reflector_client",
    "next-hop-self": "next_hop_self",
    "as-override": "as_override",
}
"""Setting of a peer in some families -> the fact that lists these families."""


def family_policy(template: Scope, peer: Scope, united: Mapping[object, str]) -> Iterator[Stated]:
    """Yield (leaf, value, line) of a peer's families, its own word before its template's; one value where all agree.

    What is of EVPN alone has a leaf that begins with a slash.
    """
    found: dict[str, tuple[Mapping[str, StoredValue], int]] = {}
    inherits, owns = template.each("family"), peer.each("family")
    for family in (*UNICAST, *sorted({*map(str, inherits), *map(str, owns)} - {*UNICAST})):
        inherited, own = inherits.get(family), owns.get(family)
        if last := own or inherited:
            values = (inherited.values if inherited else {}) | (own.values if own else {})
            found[family] = values, last.line
    if found:
        yield "families", ",".join(found), max(line for _, line in found.values())
    unicast = {family: stored for family, stored in found.items() if family in UNICAST} or found
    for leaf in _PER_FAMILY:
        if leaf in _MAPS and "evpn" in unicast:
            continue
        stored = {
            family: (map_name(united, family, values[leaf][0]), values[leaf][1])
            for family, (values, _) in unicast.items()
            if leaf in values
        }
        if len(stored) == len(unicast) and len({value for value, _ in stored.values()}) == 1:
            yield leaf, *next(iter(stored.values()))
        elif stored:
            *_, (_, line) = stored.values()
            yield leaf, " ".join(f"{family} {stored.get(family, ('none', 0))[0]}" for family in unicast), line
            for family, each in stored.items():
                yield f"{leaf}[{family}]", *each
    for name, leaf in _LISTED.items():
        if listed := {family: values[name][1] for family, (values, _) in found.items() if name in values}:
            yield leaf, ",".join(listed), max(listed.values())
    for family, (family_values, _) in found.items():
        for name, (value, line) in family_values.items():
            if family == "evpn" and name in _MAPS:
                yield f"/{name}", value, line
            elif name not in _LISTED and (name not in _PER_FAMILY or family not in unicast):
                yield f"setting[{family} {name}]", value, line


def map_name(united: Mapping[object, str], family: Captured, name: Value) -> Value:
    """Return the name of a map of that family, without the suffix of a family that is stated with both."""
    suffix = FAMILY_SUFFIXES.get(str(family))
    return united.get(name, name) if suffix and str(name).endswith(suffix) else name
