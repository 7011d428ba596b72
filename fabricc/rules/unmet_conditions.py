"""Find clauses of policies whose conditions no route of the fabric meets, or whose lists are of another family."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos import route_blocks
from fabricc.back.nos.ports import PortKind
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.facts.paths import split_list_path
from fabricc.facts.statement import used_policies
from fabricc.proof.compare import Finding
from fabricc.rules.blocked_routes import list_entries, permits_nothing, refuses_paths
from fabricc.rules.findings import finding_at
from fabricc.rules.idle_filters import POINTLESS
from fabricc.rules.rule import POLICY, FabricRule, Input, Report, Switches, SwitchRule
from fabricc.rules.sessions import is_address, sessions_to_switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Sessions


_MATCHED = re.compile(
    r"\bmatch (tag|policy|interface|source-protocol|ip address|ip next-hop address|ip next-hop prefix-list"
    r"|ip next-hop type"
    r"|peer|neighbor|origin|ip route-source prefix-list|local-preference|probability|as-path) (\S+)"
)


_ALL = 100
"""The probability of a condition that every route fulfills, and the local preference of a route that states none."""


class _Unmet(NamedTuple):
    """What decides whether a condition can be fulfilled: the neighbors, the policies for what they send, and the rest.

    Attributes:
        numbers: AS numbers of the neighbors; `tunnels`: whether next hops may be those of other VTEPs.
        ports: over which sessions are.
    """

    neighbors: frozenset[str]
    imports: frozenset[str]
    exports: frozenset[str]
    numbers: frozenset[int]
    tunnels: bool
    ports: frozenset[str]


def _unmet_conditions(statement: Statement, sessions: Sessions) -> Iterator[Finding]:
    """Report clauses of sessions, and of connected routes, with a condition that no route there fulfills."""
    if not statement.once(_unmet_conditions, lambda: _states_condition(statement)):
        return
    joined = sessions_to_switches(statement, sessions)
    around = _Unmet(
        frozenset(neighbor for _, neighbor in sessions.stated),
        frozenset(used_policies(joined, "import")),
        frozenset(used_policies(joined, "export")),
        frozenset(number for _, values in joined if isinstance(number := values.get("remote_asn"), int)),
        any("evpn" in str(each.families) for each in sessions.stated.values()),
        frozenset(each for port in sessions.near.values() for each in statement.chain(port)),
    )
    for path, value in statement.facts_below("route_map[").items():
        name, number = split_list_path(path, "route_map")
        if not joined or not is_number(number) or not str(value).startswith("permit"):
            continue
        for match in _MATCHED.finditer(str(value)):
            kind, wanted = match.groups()
            why = _why_unmet(statement, around, name, kind, wanted)
            if why:
                message = f"{statement.name}: clause {name} {number} matches {kind} {wanted}: {why}"
                remedy = "Correct the condition, or remove it."
                called = [*statement.facts_below(f"route_map[{wanted}]/")][:1] if kind == "policy" else []
                word = "" if called else f"{kind} {wanted}"
                yield finding_at(
                    POINTLESS,
                    statement.device,
                    (*called, path),
                    message,
                    "unmet condition",
                    Severity.WARNING,
                    remedy,
                    word=word,
                )
        if name in around.imports and (words := route_blocks.uninstalling_words(str(value))):
            message = f"{statement.name}: clause {name} {number} has `{words}`: no route that it permits is installed"
            remedy = "Remove it from the policy of the session."
            yield finding_at(
                POINTLESS,
                statement.device,
                path,
                message,
                "not installed",
                Severity.WARNING,
                remedy,
                word=words,
            )


def _states_condition(statement: Statement) -> bool:
    """Return whether some clause has a condition, or words, that may leave it without effect."""
    return any(
        _MATCHED.search(str(value)) or route_blocks.uninstalling_words(str(value))
        for value in statement.facts_below("route_map[").values()
    )


def _why_unmet(statement: Statement, around: _Unmet, name: str, kind: str, wanted: str) -> str:
    """Return why no route fulfills a condition, "" where one may."""
    imports = name in around.imports
    if kind == "interface":
        missing = wanted not in statement.ports and wanted.lower() not in _LOOPBACKS
        inner = (statement.parse_name(port).kind is not PortKind.MANAGEMENT for port in statement.addresses)
        if wanted.lower() in _LOOPBACKS and any(inner) and not statement.facts_below("loopback/"):
            return "the loopback has no address"
        if missing and _CONFIGURED.fullmatch(wanted) and statement.addresses:
            return "the switch has no such interface"
        if imports and "" not in around.ports and wanted not in around.ports:
            return "no session is over this port"
        return (
            "the switch has no such interface"
            if missing and any(map(statement.rest.get, _EVERY_PORT))
            else ""
        )
    if kind == "ip address":
        listed = statement.facts_below(f"prefix_list[{wanted}]/")
        other = listed and not statement.facts_below(f"access_list[{wanted}]/")
        return f"{wanted} is a prefix list, not an access list" if other else ""
    if kind == "policy":
        return "this policy permits none" if permits_nothing(statement, wanted) else ""
    if kind == "local-preference":
        known = (str(_ALL), *_set_preferences(statement))
        return "" if wanted in known else "no policy sets it"
    if kind == "tag" and name in around.exports and _needs_tags(statement, name):
        return "no route of the switch has this tag"
    if not imports:
        return ""
    if kind == "probability":
        return "other routes are lost" if is_number(wanted) and int(wanted) < _ALL else ""
    unmet = {
        "tag": "routes of BGP have no tag",
        "source-protocol": "routes of neighbors are of BGP" if wanted != "bgp" else "",
        "ip next-hop type": "routes of neighbors have a next hop",
        "origin": "no switch sets it" if wanted == "egp" else "",
    }
    if kind in unmet:
        return unmet[kind]
    if kind == "as-path":
        entries = list_entries(statement, "as_path_list", wanted)
        closed = entries and around.numbers and all(refuses_paths(entries, each) for each in around.numbers)
        return "it permits no path of the neighbors" if closed else ""
    if kind.endswith("prefix-list"):
        entries = list_entries(statement, "prefix_list", wanted)
        met = around.tunnels or any(_may_hold(text, each) for text in entries for each in around.neighbors)
        return "no neighbor has an address in the list" if entries and not met else ""
    return (
        ""
        if wanted in around.neighbors or around.tunnels or wanted == "local"
        else "no neighbor has this address"
    )


_PREFERRED = re.compile(r"\b(?:set local-preference|local_preference) (\d+)")


def _needs_tags(statement: Statement, name: str) -> bool:
    """Return whether a policy permits routes by their tag alone, and no line or other protocol gives routes a tag."""
    clauses = map(str, statement.facts_below(f"route_map[{name}]/").values())
    texts = map(str, statement.facts_below("route_map[").values())
    return not (
        statement.has_link_state
        or any(text.startswith("permit") and "match tag" not in text for text in clauses)
        or any("tag" in f"{path} {value}" for path, value in statement.facts_below("static_route[").items())
        or any("set tag" in text for text in texts)
    )


def _set_preferences(statement: Statement) -> set[str]:
    """Return the local preferences that policies of the switch set."""
    texts = map(str, statement.facts_below("route_map[").values())
    return {number for text in texts for number in _PREFERRED.findall(text)}


def _may_hold(text: str, address: str) -> bool:
    """Return whether an entry of a list permits the route of an address, or one around it."""
    try:
        return not text.startswith("deny") and ip_address(address) in ip_network(
            text.split()[0], strict=False
        )
    except ValueError:
        return True


_OTHER_FAMILY = re.compile(r"match ipv?6? address prefix-list (\S+)")


def _lists_of_other_families(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report conditions on a list of the other family, which no row reads: no route fulfills them."""
    for file, line, text in statement.device.unknown:
        match = _OTHER_FAMILY.fullmatch(text)
        if match and statement.facts_below(f"prefix_list[{match[1]}]/"):
            message = f"{statement.name}: `{text}`: the list is of the other family, so no route fulfills it"
            place = statement.device.paths.get(file, file)
            remedy = "Match a list of the family of the route."
            yield Finding(POINTLESS, message, place, line, "other family", Severity.WARNING, remedy)


_LOOPBACKS = ("lo", "loopback0")


_CONFIGURED = re.compile(r"[Ll]oopback[1-9]\d*|lo0\.[1-9]\d*")
"""A loopback that exists if a line of EOS, NX-OS or Junos creates it."""


_EVERY_PORT = ("loopback/enabled", "system/hwsku", "system/api_version")
"""Facts of a switch whose files state all of its interfaces: FRR's `interfaces`, SONiC's tables, NVUE's file."""


def _unset_metrics(fabric: Switches) -> Iterator[Report]:
    """Report conditions on a metric where no switch sets one: no route of BGP has it."""
    if any(summary.metrics is None for summary in fabric.summaries.values()):
        return
    for name, summary in fabric.summaries.items():
        for path, wanted in summary.metrics or ():
            clause = " ".join(split_list_path(path, "route_map"))
            message = f"{name}: clause {clause} matches metric {wanted}: no switch sets a metric"
            remedy = "Correct the condition, or remove it."
            yield Report(
                POINTLESS, name, (path,), message, "unmet condition", Severity.WARNING, remedy, "metric"
            )


def _unset_communities(fabric: Switches) -> Iterator[Report]:
    """Report imports by communities that no switch sets, where no session leads out of the known network."""
    switches = fabric.summaries.values()
    if fabric.planned or not any(each.wanted for each in switches):
        return
    neighbors = [each.key[1] for summary in switches for each in summary.outer]
    alone = any(each.asn is not None and not fabric.linked(name) for name, each in fabric.summaries.items())
    if alone or any(is_address(each) and not fabric.owners(each) for each in neighbors):
        return
    known = frozenset[str]().union(*(each.marks for each in switches))
    for name, summary in fabric.summaries.items():
        for path, wanted in summary.wanted:
            if known.isdisjoint(wanted):
                clause = split_list_path(path, "route_map")[0]
                message = f"{name}: {clause} permits routes with {wanted[0]} alone, and no switch sets it"
                remedy = "Set the community where the routes enter BGP, or permit the prefixes of the fabric."
                yield Report(POINTLESS, name, (path,), message, "unset community", Severity.WARNING, remedy)


RULES = (
    FabricRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unset_communities),
    SwitchRule(POINTLESS, POLICY, (Input.BGP,), _lists_of_other_families),
    SwitchRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unmet_conditions),
    FabricRule(POINTLESS, POLICY, (Input.BGP, Input.LINKS), _unset_metrics),
)
