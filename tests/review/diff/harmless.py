# ruff: noqa: E501  (an edit is one line)
"""Edits of switches that change no behavior: order, layout, comments, descriptions, and text that devices print in the same way."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.review.diff.edits import append_text, before_end, frr_edits, replace_lines, set_rows

if TYPE_CHECKING:
    from tests.review.diff.edits import Edit

_CLI = ("eos", "nxos", "junos", "frr", "sonic", "cumulus")


def reorder(*patterns: str, file: str = "") -> Edit:
    """Put the blocks that match each expression into the opposite order; other lines keep their places."""

    def edit(texts: dict[str, str]) -> None:
        for name in texts:
            if file in ("", name):
                for each in patterns:
                    found = [match[0] for match in re.finditer(each, texts[name], re.MULTILINE)]
                    waiting = iter(reversed(found))
                    texts[name] = re.sub(each, lambda _, w=waiting: next(w), texts[name], flags=re.MULTILINE)

    return edit


def edit_tables(change: object) -> Edit:
    """Write SONiC's tables again, after a function changed them."""

    def edit(texts: dict[str, str]) -> None:
        found = json.loads(texts["config_db.json"])
        texts["config_db.json"] = change(found)  # type: ignore[operator]

    return edit


def _sort_keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value, reverse=True)}
    return value


def chain_edits(*edits: Edit) -> Edit:
    """One edit after another."""

    def edit(texts: dict[str, str]) -> None:
        for each in edits:
            each(texts)

    return edit


_PORT = {
    "eos": r"^interface Ethernet\S+\n(?:   .*\n)*!\n", "nxos": r"^interface Ethernet\S+\n(?:  .*\n)*\n",
    "frr": r"^interface swp\d+\n(?: .*\n)*exit\n!\n", "junos": r"^    et-\S+ \{\n(?:     .*\n)*    \}\n",
    "cumulus": r"^      swp\d+:\n(?:       .*\n)*",
}  # fmt: skip

LAYOUT: dict[str, dict[str, Edit]] = {
    "blank lines": {
        "eos": replace_lines((r"^!\n", "!\n!\n")), "nxos": replace_lines((r"^(interface .*\n)", r"\n\1")),
        "junos": replace_lines((r"^(    et-.*\n)", r"\n\1")), "frr": replace_lines((r"^!\n", "!\n\n"), file="frr.conf"),
        "sonic": chain_edits(replace_lines((r"^!\n", "!\n\n"), file="frr.conf"), replace_lines((r"^(    \"[A-Z_]+\": \{)", r"\n\1"), file="config_db.json")),
        "cumulus": replace_lines((r"^(    interface:\n)", r"\n\1")),
    },
    "blanks at the ends of lines": dict.fromkeys(_CLI, replace_lines((r"([^\s\\])$", r"\1  "))),
    "one line break more at the end": dict.fromkeys(_CLI, replace_lines((r"\n\Z", "\n\n"))),
    "no line break at the end": dict.fromkeys(_CLI, replace_lines((r"\n\Z", ""))),
    "ports in another order": {
        **{nos: reorder(each) for nos, each in _PORT.items()},
        "sonic": edit_tables(lambda found: json.dumps({**found, "PORT": dict(reversed(found["PORT"].items()))}, indent=4)),
    },
    "prefix lists in another order": {
        "eos": reorder(r"^ip prefix-list \S+\n(?:   .*\n)*!\n"),
        "nxos": replace_lines((r"^(ip prefix-list CONNECTED-V4 .*\n)((?:ip prefix-list FABRIC-V4 .*\n)+)", r"\2\1")),
        **dict.fromkeys(("frr", "sonic"), reorder(r"^ip prefix-list (\S+) .*\n(?:ip prefix-list \1 .*\n)*!\n", file="frr.conf")),
        "junos": reorder(r"^    route-filter-list \S+ \{\n(?:     .*\n)*    \}\n"),
    },
    "numbered entries in another order": {
        "eos": replace_lines((r"^(   seq \d+ permit .*\n)(   seq \d+ permit .*\n)", r"\2\1")),
        "nxos": replace_lines((r"^(ip prefix-list FABRIC-V4 seq 10 .*\n)(ip prefix-list FABRIC-V4 seq 20 .*\n)", r"\2\1")),
        **frr_edits((r"^(ip prefix-list FABRIC-V4 seq 5 .*\n)(ip prefix-list FABRIC-V4 seq 10 .*\n)", r"\2\1")),
    },
    "route maps in another order": {
        "eos": reorder(r"^route-map CONNECTED .*\n(?:   .*\n)*!\n|^route-map TO-\S+ permit 20\n(?:   .*\n)*!\n"),
        **dict.fromkeys(("frr", "sonic"), reorder(r"^route-map CONNECTED .*\n(?: .*\n)*exit\n!\n|^route-map TO-\S+ permit 20\n(?: .*\n)*exit\n!\n", file="frr.conf")),
        "nxos": reorder(r"^route-map CONNECTED .*\n(?:  .*\n)*|^route-map TO-\S+ permit 20\n(?:  .*\n)*"),
    },
    "neighbors in another order": {
        "eos": replace_lines((r"^((?:   neighbor 10\.64\S+\.0 .*\n)+)((?:   neighbor 10\.64\S+\.2 .*\n)+)", r"\2\1")),
        "nxos": reorder(r"^  neighbor 10\.64\S+\n(?:    .*\n)*"),
        **dict.fromkeys(("frr", "sonic"), reorder(r"^ neighbor (10\.64\S+) .*\n(?: neighbor \1 .*\n)*", file="frr.conf")),
        "junos": reorder(r"^            neighbor 10\.64\S+ \{\n(?:             .*\n)*            \}\n"),
        "cumulus": reorder(r"^              10\.64\S+:\n(?:               .*\n)*"),
    },
    "servers in another order": {
        "eos": replace_lines((r"^(ntp server .*\n)(ntp server .*\n)", r"\2\1")), "nxos": replace_lines((r"^(ntp server .*\n)(ntp server .*\n)", r"\2\1")),
        "junos": replace_lines((r"^(        server 192.*\n)(        server 192.*\n)", r"\2\1")),
        "frr": replace_lines((r"^(\*\.\* .*\n)(\*\.\* .*\n)", r"\2\1"), file="rsyslog.conf"),
        "sonic": edit_tables(lambda found: json.dumps({**found, "NTP_SERVER": dict(reversed(found["NTP_SERVER"].items()))}, indent=4)),
        "cumulus": replace_lines((r"^( +192\.0\.2\.101:\n +iburst: 'on'\n)( +192\.0\.2\.102:\n +iburst: 'on'\n)", r"\2\1")),
    },
    "keys in another order": {
        "sonic": edit_tables(lambda found: json.dumps(_sort_keys(found), indent=4) + "\n"),
        "cumulus": replace_lines((r"^( +fec: rs\n)( +mtu: 9100\n)", r"\2\1")),
    },
    "another indentation": {
        "sonic": edit_tables(lambda found: json.dumps(found, indent=2) + "\n"),
        "junos": replace_lines((r"^( +)", r"\1\1")),
    },
    "on one line": {"sonic": edit_tables(lambda found: json.dumps(found) + "\n")},
    "other quotes": {
        "junos": replace_lines((r"description ([a-z]\w*);", r'description "\1";')),
        "cumulus": replace_lines((r": '(on|off)'$", r': "\1"')),
    },
    "comments inside blocks": {
        "eos": replace_lines((r"^(interface Ethernet.*\n)", r"\1   !! cabled by the vendor" + "\n")),
        "nxos": replace_lines((r"^(interface Ethernet.*\n)", r"\1  ! cabled by the vendor" + "\n")),
        "junos": replace_lines((r"^(    et-.*\n)", r"\1        /* cabled by the vendor */" + "\n")),
        "frr": replace_lines((r"^(interface \S+\n)", r"\1 ! cabled by the vendor" + "\n"), file="frr.conf"),
        "cumulus": replace_lines((r"^(      swp\d+:\n)", r"\1        # cabled by the vendor" + "\n")),
    },
    "comments of a file": {
        "frr": chain_edits(
            replace_lines((r"^# .*$", "# written by fabricc"), file="daemons"), replace_lines((r"^# .*$", "# written by fabricc"), file="sysctl.conf"),
            replace_lines((r"^# .*$", "# written by fabricc"), file="interfaces"), replace_lines((r"^# .*$", "# written by fabricc"), file="nftables.conf"),
        ),
        "junos": replace_lines((r"\A", "# written by fabricc\n")), "eos": replace_lines((r"\A", "! device: written by fabricc\n")),
        "nxos": replace_lines((r"\A", "! written by fabricc\n")), "cumulus": replace_lines((r"\A", "# written by fabricc\n")),
    },
}  # fmt: skip

TEXTS: dict[str, dict[str, Edit]] = {
    "descriptions of neighbors": {
        "eos": replace_lines((r"^(   neighbor 10\S+ description) .*", r"\1 see the cabling plan")),
        "nxos": replace_lines((r"^(  neighbor 10\S+\n(?:    .*\n)*?    description) .*", r"\1 see the cabling plan")),
        **frr_edits((r"^( neighbor 10\S+ description) .*", r"\1 see the cabling plan")),
        "junos": replace_lines((r"^(            neighbor 10\S+ \{\n                description) .*;", r'\1 "see the cabling plan";')),
        "cumulus": replace_lines((r"^(              10\.64\S+:\n                description:) .*", r"\1 see the cabling plan")),
    },
    "descriptions of unused ports": {
        "eos": replace_lines((r"^   description unused", "   description spare")), "nxos": replace_lines((r"^  description unused", "  description spare")),
        "junos": replace_lines((r"description unused;", "description spare;")), "frr": replace_lines((r"^ description unused", " description spare")),
        "cumulus": replace_lines((r"description: unused", "description: spare")), "sonic": replace_lines((r'"description": "unused"', '"description": "spare"')),
    },
    "a description of the loopback": {
        "eos": replace_lines((r"^(interface Loopback0\n)", r"\1   description router ID" + "\n")),
        "nxos": replace_lines((r"^(interface loopback0\n)", r"\1  description router ID" + "\n")),
        "junos": replace_lines((r"^(    lo0 \{\n)", r'\1        description "router ID";' + "\n")),
        "cumulus": replace_lines((r"^(      lo:\n)", r"\1        description: router ID" + "\n")),
        "frr": append_text("interface lo\n description router ID\nexit\n!\n", "frr.conf"),
    },
    "a description of the management port": {
        "eos": replace_lines((r"^(interface Management1\n)", r"\1   description out of band" + "\n")),
        "nxos": replace_lines((r"^(interface mgmt0\n)", r"\1  description out of band" + "\n")),
        "junos": replace_lines((r"^(    (?:em|re|fxp)\S* \{\n)", r'\1        description "out of band";' + "\n")),
        "cumulus": replace_lines((r"^(      eth0:\n)", r"\1        description: out of band" + "\n")),
    },
    "a description of a VRF": {
        "eos": replace_lines((r"^(vrf instance MGMT\n)", r"\1   description out of band" + "\n")),
        "nxos": replace_lines((r"^(vrf context management\n)", r"\1  description out of band" + "\n")),
        "junos": replace_lines((r"^(    mgmt_junos \{\n)", r'\1        description "out of band";' + "\n")),
    },
    "a description of a peer group": {
        "eos": replace_lines((r"^(   neighbor UPSTREAM peer group\n)", r"\1   neighbor UPSTREAM description spines" + "\n")),
    },
    "descriptions that name commands": {
        "eos": replace_lines((r"^   description .*host.*$", "   description shutdown planned; see port #4 (don't touch)")),
        "nxos": replace_lines((r"^  description .*host.*$", "  description shutdown planned; see port #4")),
        "junos": replace_lines((r"description \".*host.*\";", 'description "disable planned: see port #4 (wiki)";')),
        "frr": replace_lines((r"^ description .*host.*$", " description shutdown planned; see port #4")),
        "cumulus": replace_lines((r"description: .*host.*", "description: 'shutdown planned: see port #4'")),
    },
    "a description of a route map": {
        "eos": replace_lines((r"^(route-map TO-\S+ permit 20\n)", r"\1   description own prefixes" + "\n")),
        "nxos": replace_lines((r"^(route-map TO-\S+ permit 20\n)", r"\1  description own prefixes" + "\n")),
        **frr_edits((r"^(route-map TO-\S+ permit 20\n)", r"\1 description own prefixes" + "\n")),
    },
    "a description of a prefix list": {
        "nxos": replace_lines((r"^(ip prefix-list OWN-V4 seq 10)", r"ip prefix-list OWN-V4 description own prefixes" + "\n" + r"\1")),
        **frr_edits((r"^(ip prefix-list OWN-V4 seq 5)", r"ip prefix-list OWN-V4 description own prefixes" + "\n" + r"\1")),
    },
    "a remark in the access list": {
        "eos": replace_lines((r"^(ip access-list (?:standard )?FABRICC-ACCESS\n)", r"\1   5 remark hosts of the operators" + "\n")),
        "nxos": replace_lines((r"^(ip access-list FABRICC-ACCESS\n)", r"\1  5 remark hosts of the operators" + "\n")),
        "frr": replace_lines((r"^(        tcp dport 22 drop)", r"        # hosts of the operators" + "\n" + r"\1"), file="nftables.conf"),
        "junos": replace_lines((r"^(        filter \S+ \{\n)", r"\1            /* hosts of the operators */" + "\n")),
    },
    "a message of the day": {
        "eos": before_end("banner motd\nMaintenance every Tuesday.\nEOF\n!\n"),
        "nxos": replace_lines((r"^hostname", "banner motd ^\nMaintenance every Tuesday.\n^\nhostname")),
        "junos": replace_lines((r"^(    host-name .*)$", r'\1\n    login {\n        announcement "Maintenance every Tuesday.";\n    }')),
        "sonic": set_rows(("BANNER_MESSAGE>global", {"state": "enabled", "login": "x", "motd": "Maintenance every Tuesday.", "logout": ""})),
        "cumulus": replace_lines((r"^( +)(hostname: )", r"\1message:\n\1  post-login: Maintenance every Tuesday.\n\1\2")),
    },
}  # fmt: skip

SETTINGS: dict[str, dict[str, Edit]] = {
    "a filter that nothing uses": {
        "eos": before_end("ip access-list SPARE\n   10 deny udp any any eq 4791\n!\n"),
        "nxos": replace_lines((r"^(ip prefix-list CONNECTED-V4 seq 10)", "ip access-list SPARE\n  10 deny udp any any eq 4791\n" + r"\1")),
        "junos": replace_lines((r"^(        filter PROTECT \{)", "        filter SPARE {\n            term 1 {\n                then {\n                    discard;\n                }\n            }\n        }\n" + r"\1")),
    },
    "a policy that nothing uses": {
        "eos": before_end("route-map SPARE permit 10\n!\n"), "nxos": replace_lines((r"^(route-map CONNECTED permit 10)", "route-map SPARE permit 10\n" + r"\1")),
        "junos": replace_lines((r"^(    policy-statement CONNECTED \{)", "    policy-statement SPARE {\n        then {\n            accept;\n        }\n    }\n" + r"\1")),
        **frr_edits((r"^(route-map CONNECTED permit 10)", "route-map SPARE permit 10\nexit\n" + r"\1")),
    },
    "a contact": {
        "eos": replace_lines((r"^(snmp-server vrf MGMT)$", r"snmp-server contact noc@example.net\n\1")),
        "nxos": replace_lines((r"^(snmp-server community \S+ group)", r"snmp-server contact noc@example.net\n\1")),
        "junos": replace_lines((r"^snmp \{", 'snmp {\n    contact "noc@example.net";')),
        "sonic": set_rows(("SNMP>CONTACT>noc", "noc@example.net")),
        "cumulus": replace_lines((r"^( +)(readonly-community:)", r"\1system-contact: noc@example.net\n\1\2")),
    },
    "a time zone": {
        "eos": before_end("clock timezone Europe/Berlin\n!\n"), "nxos": replace_lines((r"^hostname", "clock timezone CET 1 0\nhostname")),
        "junos": replace_lines((r"^(    host-name .*)$", r"\1\n    time-zone Europe/Berlin;")),
        "sonic": set_rows(("DEVICE_METADATA>localhost>timezone", "Europe/Berlin")),
        "cumulus": replace_lines((r"^( +)(hostname: .*)", r"\1\2\n\1timezone: Europe/Berlin")),
    },
    "the time of log lines": {
        "eos": before_end("logging format timestamp high-resolution\n!\n"), "nxos": replace_lines((r"^hostname", "logging timestamp milliseconds\nhostname")),
        "junos": replace_lines((r"^(    syslog \{\n)", r"\1        time-format millisecond;" + "\n")), **frr_edits((r"^(log syslog .*\n)", r"\1log timestamp precision 6" + "\n")),
    },
    "the facility of log lines": {
        "eos": before_end("logging facility local5\n!\n"), "nxos": replace_lines((r"^(logging server \S+ 6) (use-vrf .*)", r"\1 \2 facility local5")),
        "junos": replace_lines((r"^(        host 192\S+ \{\n)", r"\1            facility-override local5;" + "\n")), **frr_edits((r"^(log syslog .*\n)", r"\1log facility local5" + "\n")),
    },
    "the interval of LLDP": {
        "eos": before_end("lldp timer 20\n!\n"), "nxos": replace_lines((r"^(feature lldp\n)", r"\1lldp timer 20" + "\n")),
        "frr": replace_lines((r"tx-interval 30", "tx-interval 20"), file="lldpd.conf"), "junos": replace_lines((r"^(    lldp \{\n)", r"\1        advertisement-interval 20;" + "\n")),
    },
    "a daylight saving time": {
        "nxos": replace_lines((r"^hostname", "clock summer-time CEST 5 Sun Mar 02:00 5 Sun Oct 03:00 60\nhostname")),
        "eos": before_end("clock timezone America/New_York\n!\n"),
    },
    "sizes of the terminal": {
        "eos": before_end("terminal length 50\n!\n"), "nxos": replace_lines((r"^hostname", "terminal width 200\nhostname")),
    },
    "a building": {"junos": replace_lines((r"^(    host-name .*)$", r"\1" + "\n    location {\n        building A;\n    }"))},
    "more severities in the logs": {
        "nxos": replace_lines((r"^hostname", "logging level bgp 6\nhostname")),
        "eos": before_end("logging level BGP debugging\nlogging trap informational\n!\n"),
        "junos": replace_lines((r"^( +)any notice;", r"\1any info;")),
        "sonic": set_rows(("LOGGER>swss>LOGLEVEL", "INFO")),
    },
    "log lines of one port": {
        "nxos": replace_lines((r"^(interface Ethernet.*\n)", r"\1  logging event port link-status" + "\n")),
        "eos": replace_lines((r"^(interface Ethernet.*\n)", r"\1   logging event link-status" + "\n")),
    },
    "rows from last to first": {
        "sonic": edit_tables(lambda found: json.dumps({key: dict(reversed(rows_.items())) for key, rows_ in reversed(found.items())}, indent="\t")),
    },
    "more log lines of links": {
        "eos": before_end("logging event link-status global\n!\n"), "nxos": replace_lines((r"^hostname", "logging event link-status default\nhostname")),
        "junos": replace_lines((r"^(        file messages \{\n)", r"\1            daemon info;" + "\n")),
    },
    "the interval of counters": {
        "eos": before_end("load-interval default 30\n!\n"), "nxos": replace_lines((r"^(interface Ethernet.*\n)", r"\1  load-interval counter 1 30" + "\n")),
    },
    "defaults stated": {
        "eos": replace_lines((r"^(interface Ethernet.*\n(?:   (?!shutdown).*\n)+)(?=!)", r"\1   no shutdown" + "\n")),
        "frr": replace_lines((r"^(interface \S+\n(?: .*\n)+)(?=exit)", r"\1 no shutdown" + "\n"), file="frr.conf"),
    },
}  # fmt: skip

HARMLESS = {**LAYOUT, **TEXTS, **SETTINGS}
