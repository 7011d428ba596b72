"""Filters on links that drop BGP, BFD or RoCE without the exact port in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.audit.faults.edits import add, chain_edits, edit_nvue, edit_tables, replace, walk
from tests.audit.faults.traffic import LINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]

JUNOS = "        filter F1 {{\n{0}        }}\n"
_NUMBERS = {"tcp": "6", "udp": "17", "ip": ""}


def _filter_cli(lines: tuple[str, ...]) -> tuple[Callable[[Files], Files], Callable[[Files], Files]]:
    """Return the edits of EOS and NX-OS: a list with these lines on every port between switches."""
    eos = "".join(f"   {number}0 {line}\n" for number, line in enumerate(lines, 1))
    nxos = "".join(f"  {number}0 {line}\n" for number, line in enumerate(lines, 1))
    return (
        chain_edits(
            add(f"ip access-list F1\n{eos}", before="^ip routing"),
            replace(rf"(interface Ethernet\S+\n   description {LINK}\n)", r"\1   ip access-group F1 in\n"),
        ),
        chain_edits(
            add(f"ip access-list F1\n{nxos}", before="^class-map"),
            replace(rf"(interface Ethernet\S+\n  description {LINK}\n)", r"\1  ip access-group F1 in\n"),
        ),
    )


def _filter_junos(terms: tuple[tuple[tuple[str, ...], str], ...]) -> Callable[[Files], Files]:
    """Return the edit of Junos: a filter of terms, each with its conditions and its action."""
    text = ""
    for number, (conditions, action) in enumerate(terms, 1):
        lines = "".join(f"                    {each};\n" for each in conditions)
        origin = f"                from {{\n{lines}                }}\n" if conditions else ""
        then = f"                then {{\n                    {action};\n                }}\n"
        text += f"            term T{number} {{\n{origin}{then}            }}\n"
    return chain_edits(
        add(JUNOS.format(text), after="^    family inet {"),
        replace(
            rf"(description \"?{LINK}\"?;\n(?:.*\n)*?            family inet {{\n)",
            r"\1                filter {\n                    input F1;\n                }\n",
        ),
    )


def _filter_sonic(rules: dict[str, dict[str, str]]) -> Callable[[Files], Files]:
    """Return the edit of SONiC: a table of rules on every port between switches."""

    def change(tables: dict[str, Any]) -> None:
        ports = [
            name
            for name, row in tables["PORT"].items()
            if row.get("description", "").startswith(("x0", "rack0")) and "host" not in row["description"]
        ]
        tables["ACL_TABLE"]["F1"] = {"policy_desc": "F1", "ports": ports, "stage": "ingress", "type": "L3"}
        tables["ACL_RULE"].update({f"F1|{name}": row for name, row in rules.items()})

    return edit_tables(change)


def _filter_nvue(rules: dict[str, dict[str, Any]]) -> Callable[[Files], Files]:
    """Return the edit of NVUE: a list of rules on every port between switches."""

    def change(tree: dict[str, Any]) -> None:
        walk(tree, "acl")["F1"] = {"type": "ipv4", "rule": rules}
        for port in tree["interface"].values():
            output = str(port.get("description", ""))
            if output.startswith("x0") or "-leaf" in output:
                port["acl"] = {"F1": {"inbound": {}}}

    return edit_nvue(change)


def _filter_nft(line: str) -> Callable[[Files], Files]:
    return add(f"        {line}\n", after="type filter hook input", file="nftables.conf")


def _drop_protocol(
    protocol: str, cli: str, junos: tuple[str, ...], sonic: dict[str, str], nvue: dict[str, Any], nft: str
) -> Fault:
    """Drop one kind of packet and permit the rest."""
    eos, nxos = _filter_cli((f"deny {protocol} any any {cli}".rstrip(), "permit ip any any"))
    match: dict[str, Any] = {"protocol": protocol, **({protocol: nvue} if nvue else {})}
    return {
        "eos": eos,
        "nxos": nxos,
        "junos": _filter_junos((((f"protocol {protocol}", *junos), "discard"), ((), "accept"))),
        "sonic": _filter_sonic(
            {"R1": {"PRIORITY": "9999", "PACKET_ACTION": "DROP", "IP_PROTOCOL": _NUMBERS[protocol], **sonic}}
        ),
        "cumulus": _filter_nvue(
            {
                "10": {"match": {"ip": match}, "action": {"deny": {}}},
                "20": {"match": {"ip": {"source-ip": "ANY"}}, "action": {"permit": {}}},
            }
        ),
        "frr": _filter_nft(nft),
    }


def _permit_only(protocol: str) -> Fault:
    """Permit one protocol, and nothing else by the end of the list."""
    eos, nxos = _filter_cli((f"permit {protocol} any any",))
    return {
        "eos": eos,
        "nxos": nxos,
        "junos": _filter_junos((((f"protocol {protocol}",), "accept"),)),
        "cumulus": _filter_nvue(
            {
                "10": {"match": {"ip": {"protocol": protocol}}, "action": {"permit": {}}},
                "20": {"match": {"ip": {"source-ip": "ANY"}}, "action": {"deny": {}}},
            }
        ),
        "sonic": _filter_sonic(
            {
                "R1": {"PRIORITY": "9999", "PACKET_ACTION": "FORWARD", "IP_PROTOCOL": "1"},
                "R2": {"PRIORITY": "1", "PACKET_ACTION": "DROP", "SRC_IP": "0.0.0.0/0"},
            }
        ),
        "frr": add(
            '        iifname "swp*" ip protocol icmp accept\n        iifname "swp*" drop\n',
            after="type filter hook input",
            file="nftables.conf",
        ),
    }


def _before_cpu() -> Fault:
    """Drop BGP in front of the CPU."""
    rules = "ip access-list CPU\n   10 deny tcp any any eq bgp\n   20 permit ip any any\n!\n"
    term = """\
            term FIRST {
                from {
                    protocol tcp;
                    port bgp;
                }
                then {
                    discard;
                }
            }
"""

    def nvue(tree: dict[str, Any]) -> None:
        match = {"ip": {"protocol": "tcp", "tcp": {"dest-port": {"179": {}}}}}
        tree["acl"]["CPU"] = {"rule": {"10": {"action": {"deny": {}}, "match": match}}, "type": "ipv4"}
        walk(tree, "system", "control-plane", "acl")["CPU"] = {"inbound": {}}

    return {
        "eos": add(f"{rules}system control-plane\n   ip access-group CPU in\n!\n", before="^ip routing$"),
        "junos": add(term, after=r"^        filter PROTECT \{"),
        "cumulus": edit_nvue(nvue),
    }


_GROUPS = """\
object-group ip port ROCE
  10 range 4700 4800
object-group ip address EVERYONE
  10 0.0.0.0/0
"""


def _filter_of(*lines: str) -> Fault:
    """Put a list of EOS and of NX-OS on every port between switches."""
    eos, nxos = _filter_cli(lines)
    return {"eos": eos, "nxos": nxos}


KINDS: dict[str, tuple[str, Fault]] = {
    "filter for management alone": ("tor", _filter_of("permit ip 192.0.2.0/24 any")),
    "filter on ICMP": ("tor", _filter_of("deny icmp any any", "permit ip any any")),
    "filter on groups": ("tor", {"nxos": chain_edits(
        _filter_of("deny udp addrgroup EVERYONE any portgroup ROCE", "permit ip any any")["nxos"],
        add(_GROUPS, before="^class-map"))}),
    "filter on BGP before the CPU": ("tor", _before_cpu()),
    "filter on BGP by name": ("tor", _drop_protocol(
        "tcp", "eq bgp", ("port bgp",), {"L4_DST_PORT_RANGE": "179-179"}, {"dest-port": {"bgp": {}}},
        'iifname "swp*" tcp dport bgp drop')),
    "filter on BFD by a range": ("tor", _drop_protocol(
        "udp", "range 3700 3800", ("destination-port 3700-3800",), {"L4_DST_PORT_RANGE": "3700-3800"},
        {"dest-port": {"3700:3800": {}}}, 'iifname "swp*" udp dport 3700-3800 drop')),
    "filter on RoCE by a range": ("tor", _drop_protocol(
        "udp", "gt 4096", ("destination-port 4096-65535",), {"L4_DST_PORT_RANGE": "4096-65535"},
        {"dest-port": {"4096:65535": {}}}, 'iifname "swp*" udp dport >= 4096 drop')),
    "filter on all of UDP": ("tor", _drop_protocol("udp", "", (), {}, {}, 'iifname "swp*" ip protocol udp drop')),
    "filter on all of TCP": ("tor", _drop_protocol("tcp", "", (), {}, {}, 'iifname "swp*" meta l4proto tcp drop')),
    "filter that permits ICMP alone": ("tor", _permit_only("icmp")),
}  # fmt: skip
"""Kind of fault -> the tier on which it is planted on one switch, and the edit for each system."""
