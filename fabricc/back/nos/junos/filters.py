"""Packet filters of Junos in front of the switch itself: who may log in, how far a BGP packet may have come."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.nos.cli_dialect import in_address_order
from fabricc.back.nos.junos import words
from fabricc.back.nos.junos.interfaces import LOOPBACK
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope, Topic
from fabricc.fabric.routing import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

ACCEPT, DISCARD, REJECT = "accept", "discard", "reject"
FILTERS = {"inet": "PROTECT", "inet6": "PROTECT-V6"}
NEXT_HEADER = {"inet": "protocol", "inet6": "next-header"}
TTL_WORDS = {"inet": "ttl", "inet6": "hop-limit"}
LOGIN_PORTS = ("ssh", "830")  # 830: NETCONF over SSH (RFC 6242)
QUERY_PORT = "snmp"
_ICMP = {"inet": "icmp", "inet6": "icmp6"}
BFD_PORTS = ("3784", "3785", "4784")  # RFC 5881 (control, echo) and RFC 5883
REPLY_PORTS = ("domain", "ntp")
RADIUS_PORTS = ("radius", "radacct")  # 1812 and 1813
ESTABLISHED = "tcp-established"


# --- what Junos makes of the Fabric's statements ------------------------------------------------------


class FilterTermView(NamedTuple):
    """One term: (word, values) of each condition and the action; without conditions it matches every packet."""

    name: str
    conditions: list[tuple[str, list[str]]]
    action: str


class FilterView(NamedTuple):
    """One filter of a family, applied to what reaches the switch itself."""

    family: str
    name: str
    terms: list[FilterTermView]


def filter_views(switch: Switch) -> list[FilterView]:
    """Return the filters of `lo0`: none without requested access networks or TTL security."""
    if not switch.management.access and not switch.bgp.ttl_security:
        return []
    families = ["inet", "inet6"] if _has_ipv6(switch) else ["inet"]
    return [FilterView(family, FILTERS[family], list(_filter_terms(switch, family))) for family in families]


def management_filter(switch: Switch) -> str | None:
    """Return the filter of the management port, one of those of `lo0`; None where everyone may log in."""
    return FILTERS["inet"] if switch.management.access else None


def _has_ipv6(switch: Switch) -> bool:
    """Return whether the switch answers IPv6 on the fabric's side."""
    unnumbered = any(session.transport is Transport.UNNUMBERED for session in switch.bgp.sessions)
    return unnumbered or switch.bgp.ipv6 or switch.loopback6 is not None


def _far_conditions(family: str) -> list[tuple[str, list[str]]]:
    """Return the conditions of BGP packets that another than a neighbor may have sent."""
    ttl = f"{TTL_WORDS[family]}-except"
    return [(NEXT_HEADER[family], ["tcp"]), (ttl, [str(words.ONE_HOP_TTL)]), ("port", ["bgp"])]


def _filter_terms(switch: Switch, family: str) -> Iterator[FilterTermView]:
    """Yield the terms in the order of evaluation.

    Access networks are IPv4, so nobody logs in over IPv6. With access networks the filter ends with a discard, as the
    one of Juniper's validated design does (Juniper/jvd, 3stage_dc_connected_security, `cpp-filter-v1`): what the switch
    itself needs is accepted before. Without them logins may come from anywhere, so everything else is accepted.
    """
    protocol = NEXT_HEADER[family]
    if switch.bgp.ttl_security:
        yield FilterTermView("TTL-SECURITY", _far_conditions(family), DISCARD)
    if switch.management.access:
        if family == "inet":
            networks = in_address_order(switch.management.access)
            yield FilterTermView("ACCESS", [("source-address", networks)], ACCEPT)
        gnmi = switch.management.gnmi_port
        ports = [*LOGIN_PORTS, *([str(gnmi)] if gnmi is not None else [])]
        yield FilterTermView("LOGIN", [(protocol, ["tcp"]), ("destination-port", ports)], DISCARD)
        yield FilterTermView("QUERIES", [(protocol, ["udp"]), ("destination-port", [QUERY_PORT])], DISCARD)
        yield FilterTermView("BGP", [(protocol, ["tcp"]), ("port", ["bgp"])], ACCEPT)
        yield FilterTermView("BFD", [(protocol, ["udp"]), ("destination-port", [*BFD_PORTS])], ACCEPT)
        yield FilterTermView("ICMP", [(protocol, [_ICMP[family]])], ACCEPT)
        replies = [*REPLY_PORTS, *(RADIUS_PORTS if switch.management.radius else ())]
        yield FilterTermView("REPLIES", [(protocol, ["udp"]), ("source-port", replies)], ACCEPT)
        yield FilterTermView("SESSIONS", [(protocol, ["tcp"]), (ESTABLISHED, [])], ACCEPT)
    yield FilterTermView("OTHERS", [], DISCARD if switch.management.access else ACCEPT)


# --- the facts of that --------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Add every term of the filters, and where they are applied; what they come to are facts of the Fabric's own."""
    for each in filter_views(switch):
        facts[f"platform/filter_input[{LOOPBACK} {each.family}]"] = each.name
        for at, term in enumerate(each.terms):
            prefix = f"platform/filter[{each.name}]/{at}/"
            for word, values in term.conditions:
                facts[prefix + word.replace("-", "_")] = ",".join(sorted(values)) if values else "true"
            facts[prefix + "action"] = term.action
            facts[f"structure/filter[{each.name}]/{at}/name"] = term.name
    if name := management_filter(switch):
        facts[f"platform/filter_input[{words.MANAGEMENT_INTERFACES[words.junos_flavor(switch)]} inet]"] = name


# --- and back -----------------------------------------------------------------------------------------

_CONDITIONS = (
    "source-address", "protocol", "next-header", "destination-port", "source-port", "port", "ttl", "ttl-except",
    "hop-limit", "hop-limit-except",
)  # fmt: skip

POLICER = "qos"
_FAMILIES = "inet|inet6|ethernet-switching|any|mpls|ccc|vpls|bridge|evpn"
_FILTER: Sequence[Row] = (
    Block("term <word>", "term", (
        *(Entry(f"from {word} <word>", word) for word in _CONDITIONS),
        Keep(f"from {ESTABLISHED}", ESTABLISHED, "true"),
        Keep(f"then <{ACCEPT}|{DISCARD}>", "action"),
        Keep("then reject [<below>]", "action", REJECT),
        Keep("then next term", "action", "next term"),
        *words.verbatim_rows(" ".join(f"{word}+" for word in _CONDITIONS), "from", words.FROM),
        *words.verbatim_rows("address ah-spi arp-type destination-address destination-class destination-mac-address "
                  "destination-port-except destination-port-range-optimize destination-prefix-list dot1q-tag "
                  "dot1q-user-priority dscp dscp-except encapsulated esp-spi ether-type exp extension-header "
                  "filename first-fragment flexible-match-mask flexible-match-range forwarding-class "
                  "forwarding-class-except fragment-flags fragment-offset fragment-offset-except gre-key icmp-code "
                  "icmp-code-except icmp-type icmp-type-except inner-vlan interface interface-group interface-set "
                  "ip-destination-address ip-options ip-options-except ip-precedence ip-protocol ip-source-address "
                  "ip-version ip6-destination-address ip6-source-address is-fragment l2-encap-type "
                  "learn-vlan-1p-priority learn-vlan-id loss-priority loss-priority-except mac-address "
                  "next-header-except packet-length packet-length-except payload-protocol port-except precedence "
                  "precedence-except prefix-list protocol-except rat-type redirect-reason service-filter-hit "
                  "source-class source-mac-address source-port-except source-port-range-optimize source-prefix-list "
                  "tcp-flags tcp-initial traffic-class traffic-class-except traffic-type "
                  "user-vlan-1p-priority user-vlan-id vlan vlan-ether-type vxlan gbp-src-tag gbp-dst-tag apply-path "
                  "ah-spi-except destination-class-except egress-to-ingress esp-spi-except fast-lookup-tuple "
                  "fast-lookup-tuple-list first-byte-of-payload first-byte-of-payload-except gre-key-except "
                  "gtp-header interface-group-except policy-map policy-map-except rat-type-except "
                  "redirect-reason-except sctp-initial slice slice-except source-class-except", "from", words.FROM),
        *words.verbatim_rows("analyzer count decapsulate dscp encapsulate force-premium forwarding-class gbp-src-tag "
                  "hierarchical-policer ipsec-sa l2-mirror load-balance log logical-system loss-priority next "
                  "next-hop-group next-interface next-ip next-ip6 no-decrement-ttl packet-capture packet-mode "
                  "policer port-mirror port-mirror-instance prefix-action routing-instance sample "
                  "service-accounting service-filter-hit syslog three-color-policer topology traffic-class vlan "
                  "gbp-tag dont-fragment flood clear-policy-map enhanced-hierarchical-policer exclude-accounting "
                  "inband-flow-telemetry-init inband-flow-telemetry-terminate inline-monitoring-instance outer-dscp "
                  "pkt-trace policer-charge policy-map qfi redirect service-accounting-deferred skip-services slice "
                  "tos-reflect traffic-class-count virtual-channel", "then", words.THEN),
    )),
    *words.verbatim_rows("accounting-profile enhanced-mode fast-lookup-filter instance-shared interface-shared "
              "interface-specific physical-interface-filter promote scale-optimized template-type "
              "enhanced-mode-override instance-specific layer2-policer micro-segmentation no-incremental-update "
              "no-longest-prefix-match scale-mode transient-filter"),
)  # fmt: skip
ROWS: Sequence[Row] = (
    Block(f"firewall family <{_FAMILIES}>", "filters", (Block("filter <word>", "filter", _FILTER),)),
    Block("firewall filter <word>", "plain filter", _FILTER),
    *words.verbatim_rows("policer three-color-policer hierarchical-policer load-balance-group interface-set "
              "tunnel-end-point shared-bandwidth-policer flexible-match atm-policer disable-arp-policers "
              "enhanced-hierarchical-policer no-next-header-to-payload-protocol-mapping v6-flowlabel-enable",
              "firewall", POLICER),
)  # fmt: skip


def finish(document: Document) -> None:
    """State every term by its place, and who may log in by the filter on a management port."""
    guards = {
        stored for path, stored in document.reading.facts.items() if path.startswith("platform/filter_input[")
    }
    filters = [*document.scope.each("filters").values()]
    for name, each in [
        *(pair for family in filters for pair in family.each("filter").items()),
        *document.scope.each("plain filter").items(),
    ]:
        for at, (term_name, term) in enumerate(each.each("term").items()):
            path = f"filter[{name}]/{at}/"
            document.put(f"structure/{path}name", str(term_name), term.line)
            if name not in guards or not _is_simple(each):
                line = max([term.line, *(line for _, line in term.stored_values())])
                document.put(f"access_list[{name}]/{at}", _term_entry(document, term), line)
                continue
            document.put_kept(f"platform/{path}tcp_established", term.values, ESTABLISHED)
            for word in term.tables:
                document.put_set(f"platform/{path}{word.replace('-', '_')}", term.table(word))
            document.put_kept(f"platform/{path}action", term.values, "action")
        words.put_settings(document, f"access_list[{name}]/", each)
    words.put_settings(document, "qos/", document.scope, POLICER)
    for family in words.FAMILIES:
        for term in _applied_terms(document, LOOPBACK, family):
            ports = {*map(str, term.table("destination-port"))} & {*LOGIN_PORTS, "22", "telnet", QUERY_PORT}
            for network, (_, line) in term.table("source-address").items() if ports else ():
                if str(network) in ("0.0.0.0/0", "::/0") and _term_action(term) in (None, ACCEPT):
                    document.put(f"access[{min(ports)}]", network, line)
    for port in words.MANAGEMENT_INTERFACES.values():
        for family in words.FAMILIES:
            _put_access(document, _applied_terms(document, port, family))


def _is_simple(each: Scope) -> bool:
    """Return whether all terms of a filter have but such conditions and actions as fabricc writes."""
    plain = {"action", ESTABLISHED}
    return all(
        term.values.keys() <= plain and _term_action(term) in (None, ACCEPT, DISCARD)
        for term in each.each("term").values()
    )


def _term_entry(document: Document, term: Scope) -> str:
    """A term as an entry of an access list: what becomes of a packet, what it must match, what else is done."""
    matched = [f"{word} {','.join(map(str, values))}" for word, values in term.tables.items()]
    matched += [ESTABLISHED] if ESTABLISHED in term.values else []
    matched += [
        _with_prefixes(document, statement) for statement, _ in words.kept_statements(term, words.FROM)
    ]
    done = [statement for statement, _ in words.kept_statements(term, words.THEN)]
    return " ".join([str(_term_action(term) or ACCEPT), *matched, *(["then", *done] if done else [])])


def _with_prefixes(document: Document, statement: str) -> str:
    """Return a condition with the prefixes of the list that it names, if it has but literal ones."""
    way, _, name = statement.partition("-prefix-list ")
    listed = document.scope.each("prefix list").get(name) if way in ("source", "destination") else None
    prefixes = listed.table("prefixes") if listed else {}
    literal = prefixes and all(prefix == stored for prefix, (stored, _) in prefixes.items())
    return f"{way}-address {','.join(map(str, prefixes))}" if literal else statement


def one_hop(document: Document) -> dict[str, int]:
    """The families whose filter on `lo0` first refuses BGP with another TTL than that of one hop, with its line."""
    found = {}
    for family in words.FAMILIES:
        for term in _applied_terms(document, LOOPBACK, family)[:1]:
            wanted = {word: set(values) for word, values in _far_conditions(family)}
            stored = {word: set(table) for word, table in term.tables.items()}
            if stored == wanted and _term_action(term) == DISCARD:
                found[family] = _last_line(term)
    return found


def _applied_terms(document: Document, port: str, family: str) -> list[Scope]:
    """Return the terms of the filter on a port, in order."""
    name = document.reading.facts.get(f"platform/filter_input[{port} {family}]")
    filters = document.scope.each("filters").get(family)
    found = filters.each("filter").get(name) if filters else None
    return [*found.each("term").values()] if found else []


def _put_access(document: Document, terms: list[Scope]) -> None:
    """State the networks whose packets pass before those of anyone else are refused a login."""
    networks: dict[object, int] = {}
    for term in terms:
        if _term_action(term) == ACCEPT and term.tables.keys() == {"source-address"}:
            networks |= {network: line for network, (_, line) in term.table("source-address").items()}
        elif _term_action(term) in (DISCARD, REJECT) and term.table("destination-port").keys() >= set(
            LOGIN_PORTS
        ):
            line = max(networks.values(), default=_last_line(term))
            document.put("management/access", ",".join(sorted(map(str, networks))), line)
            return
        elif networks and term.table("destination-port").keys() >= set(LOGIN_PORTS):
            why = "it accepts logins from everyone (a term without an action accepts)"
            line = term.values.get("action", ("", term.line))[1]
            document.put("unread[limit of logins]", why, line)
            return
        elif not term.tables:
            return


def _term_action(term: Scope) -> object:
    """Return what becomes of packets that meet the conditions; None for the next term."""
    return term.values.get("action", (None, 0))[0]


def _last_line(term: Scope) -> int:
    """That of the last condition."""
    return max((line for table in term.tables.values() for _, line in table.values()), default=term.line)


TOPIC = Topic(ROWS, finish)
