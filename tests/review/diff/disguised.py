# ruff: noqa: E501  (an edit is one line)
"""Harmful edits of switches that look like layout, comments, order or descriptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.review.diff.edits import frr_edits, replace_lines

if TYPE_CHECKING:
    from tests.review.diff.edits import Edit

_TWICE = '"pfc_enable": "3",\n            "pfc_enable": "0"'


def _exchange_matches(first: str, second: str, file: str = "") -> Edit:
    """Exchange what two expressions match, one after the other in the text."""
    return replace_lines((rf"({first})((?:.*\n)+?)({second})", r"\3\2\1"), file=file)


def _pfc_twice(texts: dict[str, str]) -> None:
    found = json.loads(texts["config_db.json"])
    for row in found["PORT_QOS_MAP"].values():
        row.pop("pfc_enable", None)
    text = json.dumps(found, indent=4)
    texts["config_db.json"] = text.replace(
        '"dscp_to_tc_map"', _TWICE.replace('"0"', '""') + ',\n            "dscp_to_tc_map"'
    )


DISGUISED: dict[str, dict[str, Edit]] = {
    "a banner that nothing ends": {
        "eos": replace_lines((r"^(router bgp)", r"banner motd" + "\nMaintenance every Tuesday.\n" + r"\1")),
        "nxos": replace_lines((r"^(router bgp)", r"banner motd ^" + "\nMaintenance every Tuesday.\n" + r"\1")),
        "junos": replace_lines((r"^(protocols \{)", r"/* maintenance every Tuesday" + "\n" + r"\1")),
    },
    "a line in a comment": {
        "eos": replace_lines((r"^   (neighbor \S+ activate|   neighbor \S+ activate)", r"!  \1")),
        "nxos": replace_lines((r"^  (service-policy type qos input)", r"  ! \1")),
        "junos": replace_lines((r"^( +)(export \[ .*TO-.*;)$", r"\1/* \2 */")),
        **frr_edits((r"^  (neighbor \S+ activate)", r"  ! \1")),
        "cumulus": replace_lines((r"^( +)(pfc-watchdog:)\n( +)(state: enable)$", r"\1# \2" + "\n" + r"\3# \4")),
    },
    "a name in small letters": {
        "eos": replace_lines((r"route-map TO-(\S+) out", r"route-map to-\1 out")), "nxos": replace_lines((r"route-map TO-(\S+) out", r"route-map to-\1 out")),
        **frr_edits((r"route-map TO-(\S+) out", r"route-map to-\1 out")),
        "junos": replace_lines((r"(export \[ .*)TO-", r"\1to-")), "cumulus": replace_lines((r"route-map: TO-", "route-map: to-")),
    },
    "a letter that looks like another": {
        "eos": replace_lines((r"route-map TO-(\S+)AM out", "route-map TO-\\1\u0410M out")), "nxos": replace_lines((r"route-map TO-(\S+)AM out", "route-map TO-\\1\u0410M out")),
        **frr_edits((r"route-map TO-(\S+)AM out", "route-map TO-\\1\u0410M out")),
        "junos": replace_lines((r"(export \[ .*TO-\S+)AM", "\\1\u0410M")), "cumulus": replace_lines((r"(route-map: TO-\S+)AM$", "\\1\u0410M")),
    },
    "an entry before all others": {
        "eos": replace_lines((r"^(ip prefix-list FABRIC-V4\n)", r"\1   seq 1 deny 0.0.0.0/0 le 32" + "\n")),
        "nxos": replace_lines((r"^(ip prefix-list FABRIC-V4 seq 10)", r"ip prefix-list FABRIC-V4 seq 1 deny 0.0.0.0/0 le 32" + "\n" + r"\1")),
        **frr_edits((r"^(ip prefix-list FABRIC-V4 seq 5)", r"ip prefix-list FABRIC-V4 seq 1 deny 0.0.0.0/0 le 32" + "\n" + r"\1")),
    },
    "numbers of a route map exchanged": {
        "eos": replace_lines((r"^route-map TO-UPSTREAM deny 10", "route-map TO-UPSTREAM deny 130"), (r"^route-map TO-DOWNSTREAM permit 10$", "route-map TO-DOWNSTREAM deny 10")),
        "nxos": replace_lines((r"^route-map TO-UPSTREAM deny 10", "route-map TO-UPSTREAM deny 130"), (r"^route-map TO-DOWNSTREAM permit 10$", "route-map TO-DOWNSTREAM deny 10")),
        **frr_edits((r"^route-map TO-UPSTREAM deny 10", "route-map TO-UPSTREAM deny 130"), (r"^route-map TO-DOWNSTREAM permit 10$", "route-map TO-DOWNSTREAM deny 10")),
        "junos": _exchange_matches(r"^        term [^\n]*\{\n(?:(?!        \}).*\n)*?.*community FROM-ABOVE.*\n(?:(?!        \}).*\n)*        \}\n", r"^        term [^\n]*\{\n(?:(?!        \}).*\n)*        \}\n"),
    },
    "policies in another order": {"junos": replace_lines((r"export \[ CONNECTED STATIC (TO-\S+) \]", r"export [ \1 CONNECTED STATIC ]"), (r"export \[ CONNECTED (TO-\S+) \]", r"export [ \1 CONNECTED ]"))},
    "a key twice": {
        "sonic": _pfc_twice,
        "cumulus": replace_lines((r"^( +)(mtu: 9100)$", r"\1\2" + "\n" + r"\1mtu: 1500")),
    },
    "a description and a line more": {
        "eos": replace_lines((r"^   description (rack.*)$", r"   description \1" + "\n   shutdown")), "nxos": replace_lines((r"^  description (rack.*)$", r"  description \1" + "\n  shutdown")),
        "junos": replace_lines((r"^( +)(description \"rack.*\";)$", r"\1\2" + "\n" + r"\1disable;")),
        "frr": replace_lines((r"^ description (rack.*)$", r" description \1" + "\n shutdown"), file="frr.conf"),
    },
    "an indentation less": {
        "eos": replace_lines((r"^   (maximum-paths .*)$", r"\1")), "nxos": replace_lines((r"^ +(maximum-paths .*)$", r"\1")),
        "cumulus": replace_lines((r"^(          )pfc-watchdog:\n +state: enable\n", ""), (r"^(        )type: swp$", r"\1pfc-watchdog:" + "\n" + r"\1  state: enable" + "\n" + r"\1type: swp")),
    },
    "an inactive statement": {"junos": replace_lines((r"^( +)(congestion-notification-profile|classifiers|export|multipath)\b", r"\1inactive: \2"))},
}  # fmt: skip
