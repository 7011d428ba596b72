# ruff: noqa: E501  (an edit is one line)
"""Edits of the switches of a fabric, harmful and harmless ones, in the words of six systems.

`python -m tests.review.diff.edits [SYSTEM...]` prints the verdict of `diff` on each, for all switches at once.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from fabricc.base.values import replace
from fabricc.compiler.driver import build_tree
from fabricc.proof.tree import read_manifest
from fabricc.review.diff.run import Context, compare_sides
from fabricc.review.diff.trees import read_tree
from fabricc.tree.manifest import NAME
from tests.outward import spec_text
from tests.review.diff.conftest import compare_specs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabricc.review.diff.model import Review

    Edit = Callable[[dict[str, str]], None]

SYSTEMS = ("frr", "sonic", "cumulus", "eos", "nxos", "junos")
_ACCEPTED = ("FAB5321", "FAB5717", "FAB5725", "FAB5680", "FAB5505", "FAB5507")
_MANAGEMENT = """\
  network: 10.254.0.0/16
  access: [10.250.0.0/24]
  ntp: [192.0.2.101, 192.0.2.102]
  dns: [192.0.2.103]
  syslog: [192.0.2.104, 192.0.2.105]
  tacacs: {servers: [192.0.2.106], key: {secret: tac}}
  snmp: {community: {secret: snm}}
"""


def spec_with_services(nos: str) -> str:
    """The spec of a small fabric with ways out and every management service."""
    accepted = "".join(f'{{code: {code}, reason: "a lab of six systems"}}, ' for code in _ACCEPTED)
    found = spec_text(nos).replace("management:\n", f"management:\n{_MANAGEMENT}")
    return found.replace("accept: [{", f"accept: [{accepted}{{", 1)


@cache
def built_tree(nos: str) -> Path:
    """A tree of that fabric."""
    folder = Path(mkdtemp(prefix="fabricc-edits-"))
    spec = folder / "cluster.yaml"
    spec.write_text(spec_with_services(nos), "utf-8")
    result, _ = build_tree(spec, folder / "out", jobs=1)
    assert result.tree is not None
    return result.tree


def edited_tree(nos: str, edit: Edit, folder: Path) -> tuple[Path, int]:
    """A copy of the tree with the edit on every switch and a manifest that agrees, and how many switches it changes."""
    tree = folder / "outward"
    shutil.copytree(built_tree(nos), tree)
    changed, manifest = 0, read_manifest(tree)
    files = dict(manifest.files)
    for switch in sorted((tree / "switches").iterdir()):
        before = {path.name: path.read_text("utf-8") for path in switch.iterdir()}
        after = dict(before)
        edit(after)
        changed += before != after
        for name in after:
            (switch / name).write_text(after[name], "utf-8")
            files[f"switches/{switch.name}/{name}"] = hashlib.sha256(after[name].encode()).hexdigest()
    (tree / NAME).write_bytes(b"".join(replace(manifest, files=files).parts()))
    return tree, changed


def review_edit(nos: str, edit: Edit, folder: Path, *, rules: bool = False) -> Review | None:
    """The review of the edit, with the findings of the rules if wanted; None where no switch has what it edits."""
    tree, changed = edited_tree(nos, edit, folder)
    if not changed:
        return None
    if rules:
        return compare_specs(built_tree(nos), tree)
    return compare_sides(read_tree(built_tree(nos))[0], read_tree(tree)[0], Context(), 1)


def replace_lines(*edits: tuple[str, str], file: str = "") -> Edit:
    """Replace what expressions match, in all files or one."""

    def edit(texts: dict[str, str]) -> None:
        for name in texts:
            if file in ("", name):
                for pattern, new in edits:
                    texts[name] = re.sub(pattern, new, texts[name], flags=re.MULTILINE)

    return edit


def append_text(added: str, file: str) -> Edit:
    """Add text at the end of a file."""

    def edit(texts: dict[str, str]) -> None:
        texts[file] = texts.get(file, "") + added

    return edit


def before_end(added: str) -> Edit:
    """Add text before the last line of a configuration of EOS."""
    return replace_lines((r"^end$", added + "end"))


def set_rows(*edits: tuple[str, Any]) -> Edit:
    """Set values of SONiC's tables: `TABLE>row>field`, `*` for any; None takes away."""

    def edit(texts: dict[str, str]) -> None:
        tables = json.loads(texts["config_db.json"])
        for path, value in edits:
            _set_path(tables, path.split(">"), value)
        texts["config_db.json"] = json.dumps(tables, indent=4) + "\n"

    return edit


def _set_path(at: dict[str, Any], path: list[str], value: Any) -> None:
    first, rest = path[0], path[1:]
    pattern = re.compile(re.escape(first).replace(r"\*", ".*"))
    keys = [key for key in at if pattern.fullmatch(key)] if "*" in first else [first]
    for key in keys:
        if rest:
            if value is None and key not in at:
                continue
            _set_path(at.setdefault(key, {}), rest, value)
        elif value is None:
            at.pop(key, None)
        else:
            at[key] = value


def for_frr(added: str) -> dict[str, Edit]:
    """Text that FRR and SONiC share, because SONiC's routing daemon is FRR."""
    return dict.fromkeys(("frr", "sonic"), append_text(added, "frr.conf"))


def frr_edits(*edits: tuple[str, str]) -> dict[str, Edit]:
    """Lines that FRR and SONiC share."""
    return dict.fromkeys(("frr", "sonic"), replace_lines(*edits, file="frr.conf"))


def block_pattern(name: str, indent: int = 4, until: str = r"^") -> str:
    """An expression for a block of YAML or braces: its line and what is further in."""
    return rf"^ {{{indent}}}{name}\n(?: {{{indent + 1},}}.*\n)*{until}"


_JUNOS_BLOCK = r"^( *){}\{{\n(?:\1 +.*\n)*\1\}}\n"


def junos_block(name: str) -> str:
    """An expression for a block of Junos."""
    return _JUNOS_BLOCK.format(name)


ROUTING: dict[str, dict[str, Edit]] = {
    "own prefixes replaced": {
        **frr_edits((r"(prefix-list OWN-V4 seq \d+ permit) \S+", r"\1 203.0.113.128/25")),
        "eos": replace_lines((r"(ip prefix-list OWN-V4\n   seq 10 permit) \S+", r"\1 203.0.113.128/25")),
        "nxos": replace_lines((r"(prefix-list OWN-V4 seq \d+ permit) \S+", r"\1 203.0.113.128/25")),
        "junos": replace_lines((r"(route-filter-list OWN-V4 \{\n\s+)\S+ exact", r"\g<1>203.0.113.128/25 exact")),
        "cumulus": replace_lines((r"(OWN-V4:\n\s+rule:\n\s+'10':\n\s+action: permit\n\s+match:\n\s+)\S+: ", r"\g<1>203.0.113.128/25: ")),
    },
    "own prefixes gone": {
        **frr_edits((r"^ip prefix-list OWN-V4 .*\n", "")),
        "eos": replace_lines((r"^ip prefix-list OWN-V4\n(?: .*\n)*!\n", "")),
        "nxos": replace_lines((r"^ip prefix-list OWN-V4 .*\n", "")),
        "junos": replace_lines((junos_block("route-filter-list OWN-V4 "), "")),
        "cumulus": replace_lines((block_pattern("OWN-V4:", 10), "")),
    },
    "accepted prefixes replaced": {
        **frr_edits((r"(prefix-list FABRIC-V4 seq \d+ permit) \S+", r"\1 203.0.113.0/24")),
        "eos": replace_lines((r"(ip prefix-list FABRIC-V4\n   seq 10 permit) \S+( \S+ \d+)?", r"\1 203.0.113.0/24")),
        "nxos": replace_lines((r"(prefix-list FABRIC-V4 seq \d+ permit) \S+", r"\1 203.0.113.0/24")),
        "junos": replace_lines((r"(route-filter-list FABRIC-V4 \{\n\s+)\S+", r"\g<1>203.0.113.0/24")),
        "cumulus": replace_lines((r"(FABRIC-V4:\n\s+rule:\n\s+'10':\n\s+action: permit\n\s+match:\n\s+)\S+:", r"\g<1>203.0.113.0/24:")),
    },
    "accepted prefixes widened": {
        **frr_edits((r"(prefix-list FABRIC-V4 seq \d+ permit) \S+", r"\1 0.0.0.0/0")),
        "eos": replace_lines((r"(ip prefix-list FABRIC-V4\n   seq 10 permit) \S+", r"\1 0.0.0.0/0")),
        "nxos": replace_lines((r"(prefix-list FABRIC-V4 seq \d+ permit) \S+", r"\1 0.0.0.0/0")),
        "junos": replace_lines((r"(route-filter-list FABRIC-V4 \{\n\s+)\S+", r"\g<1>0.0.0.0/0")),
        "cumulus": replace_lines((r"(FABRIC-V4:\n\s+rule:\n\s+'10':\n\s+action: permit\n\s+match:\n\s+)\S+:", r"\g<1>0.0.0.0/0:")),
    },
    "export denied": {
        **frr_edits((r"^route-map TO-(UP|DOWN)STREAM permit", r"route-map TO-\1STREAM deny")),
        "eos": replace_lines((r"^route-map TO-(UP|DOWN)STREAM permit", r"route-map TO-\1STREAM deny")),
        "nxos": replace_lines((r"^route-map TO-(UP|DOWN)STREAM permit", r"route-map TO-\1STREAM deny")),
        "junos": replace_lines((r"(policy-statement TO-(?:UP|DOWN)STREAM \{\n(?:(?!    policy-statement).*\n)*?.*route-filter-list.*\n(?:.*\n)*?\s+)accept;", r"\1reject;")),
        "cumulus": replace_lines((r"(TO-(?:UP|DOWN)STREAM:\n\s+rule:\n(?:.*\n){0,12}?\s+'[2]0':\n\s+action:\n\s+)permit", r"\1deny")),
    },
    "import denied": {
        **frr_edits((r"^route-map FROM-(UP|DOWN)STREAM permit", r"route-map FROM-\1STREAM deny")),
        "eos": replace_lines((r"^route-map FROM-(UP|DOWN)STREAM permit", r"route-map FROM-\1STREAM deny")),
        "nxos": replace_lines((r"^route-map FROM-(UP|DOWN)STREAM permit", r"route-map FROM-\1STREAM deny")),
        "junos": replace_lines((r"(policy-statement FROM-(?:UP|DOWN)STREAM \{\n(?:.*\n)*?\s+)accept;", r"\1reject;")),
        "cumulus": replace_lines((r"(FROM-(?:UP|DOWN)STREAM:\n\s+rule:\n\s+'\d+':\n\s+action:\n\s+)permit", r"\1deny")),
    },
    "export policy taken off": {
        **frr_edits((r"^ +neighbor \S+ route-map TO-\S+ out\n", "")),
        "eos": replace_lines((r"^ +neighbor \S+ route-map TO-\S+ out\n", "")),
        "nxos": replace_lines((r"^ +route-map TO-\S+ out\n", "")),
        "junos": replace_lines((r"^ +export \[ .*TO-.*\n", "")),
        "cumulus": replace_lines((r"^ +outbound:\n +route-map: TO-\S+\n", "")),
    },
    "import policy taken off": {
        **frr_edits((r"^ +neighbor \S+ route-map FROM-\S+ in\n", "")),
        "eos": replace_lines((r"^ +neighbor \S+ route-map FROM-\S+ in\n", "")),
        "nxos": replace_lines((r"^ +route-map FROM-\S+ in\n", "")),
        "junos": replace_lines((r"^ +import FROM-.*\n", "")),
        "cumulus": replace_lines((r"^ +inbound:\n +route-map: FROM-\S+\n", "")),
    },
    "another export policy": {
        **frr_edits((r"route-map TO-\S+ out", "route-map NONE out")),
        "eos": replace_lines((r"route-map TO-\S+ out", "route-map NONE out")),
        "nxos": replace_lines((r"route-map TO-\S+ out", "route-map NONE out")),
        "junos": replace_lines((r"export \[ (.*)TO-\S+ \]", r"export [ \1NONE ]")),
        "cumulus": replace_lines((r"route-map: TO-\S+", "route-map: NONE")),
    },
    "a session less": {
        **frr_edits((r"^ neighbor 10\.64\.0\.[02] .*\n", "")),
        "eos": replace_lines((r"^ +neighbor 10\.64\.0\.[01] .*\n", "")),
        "nxos": replace_lines((r"^  neighbor 10\.64\.0\.[01]\n(?:    .*\n)*", "")),
        "junos": replace_lines((junos_block(r"neighbor 10\.64\.0\.[01] "), "")),
        "cumulus": replace_lines((block_pattern(r"10\.64\.0\.[01]:", 14), "")),
    },
    "sessions shut": {
        **frr_edits((r"^( neighbor (?:UP|DOWN)STREAM-V4 peer-group)$", r"\1\n neighbor UPSTREAM-V4 shutdown")),
        "eos": replace_lines((r"^(   neighbor (\S+) peer group)$", r"\1\n   neighbor \2 shutdown")),
        "nxos": replace_lines((r"^(  neighbor 10\S+)$", r"\1\n    shutdown")),
        "junos": replace_lines((r"^( +)(type external;)$", r"\1\2\n\1shutdown;")),
        "cumulus": replace_lines((r"^( +)(peer-group: \S+)$", r"\1\2\n\1shutdown: 'on'")),
    },
    "family off": {
        **frr_edits((r"^ +neighbor \S+ activate\n", "")),
        "eos": replace_lines((r"^ +neighbor \S+ activate\n", "")),
        "nxos": replace_lines((r"^(  template peer (?:UP|DOWN)STREAM\n.*\n)    address-family ipv4 unicast\n(?:      .*\n)*", r"\1")),
        "junos": replace_lines((r"^( +)family inet \{\n\1    unicast \{\n(?:\1     +.*\n)*\1    \}\n\1\}\n", "")),
        "cumulus": replace_lines((r"(ipv4-unicast:\n(?:.*\n){0,12}?\s+enable: )'on'", r"\1'off'")),
    },
    "static route gone": {
        **frr_edits((r"^ip route 198\S+ .*\n", "")),
        "eos": replace_lines((r"^ip route 198\S+ .*\n", "")),
        "nxos": replace_lines((r"^ip route 198\S+ .*\n", "")),
        "junos": replace_lines((r"^ +route 198\S+ .*\n", "")),
        "cumulus": replace_lines((block_pattern(r"198\.51\.100\.0/24:", 12), "")),
    },
    "static route to nowhere": {
        **frr_edits((r"^(ip route 198\S+) .*", r"\1 blackhole")),
        "eos": replace_lines((r"^(ip route 198\S+) .*", r"\1 Null0")),
        "nxos": replace_lines((r"^(ip route 198\S+) .*", r"\1 Null0")),
        "junos": replace_lines((r"^( +route 198\S+) .*", r"\1 discard;")),
        "cumulus": replace_lines((r"192\.0\.2\.10:\n(\s+)type: ipv4-address", r"blackhole:\n\1type: blackhole")),
    },
    "a host's address on the loopback": {
        "frr": append_text("interface lo\n ip address 10.0.0.1/32\nexit\n", "frr.conf"),
        "eos": replace_lines((r"^(interface Loopback0\n(?:   .*\n)*?   ip address .*\n)", r"\1   ip address 10.0.0.1/32 secondary" + "\n")),
        "nxos": replace_lines((r"^(interface loopback0\n(?:  .*\n)*?  ip address .*\n)", r"\1  ip address 10.0.0.1/32 secondary" + "\n")),
        "sonic": set_rows(("LOOPBACK_INTERFACE>Loopback0|10.0.0.1/32", {})),
        "junos": replace_lines((r"^(    lo0 \{\n        unit 0 \{\n            family inet \{\n)", r"\1                address 10.0.0.1/32;" + "\n")),
        "cumulus": replace_lines((r"^(      lo:\n        ip:\n          address:\n)", r"\1            10.0.0.1/32: {}" + "\n")),
    },
    "discard of hosts": {
        **for_frr("ip route 10.0.0.0/28 blackhole\n"),
        "eos": before_end("ip route 10.0.0.0/28 Null0\n!\n"),
        "nxos": replace_lines((r"^(ip prefix-list CONNECTED-V4 seq 10)", r"ip route 10.0.0.0/28 Null0\n\1")),
        "junos": replace_lines((r"^( +)(route 10\.128\.0\.0/12 discard;)", r"\1\2\n\1route 10.0.0.0/28 discard;")),
        "cumulus": replace_lines((r"^( +)(10\.128\.0\.0/12:\n +address)", r"\g<1>10.0.0.0/28:\n\1  address-family: ipv4-unicast\n\1  via:\n\1    blackhole:\n\1      type: blackhole\n\1\2")),
    },
    "discard of more than the fabric": {
        **for_frr("ip route 10.0.0.0/8 blackhole\n"),
        "eos": before_end("ip route 10.0.0.0/8 Null0\n!\n"),
        "nxos": replace_lines((r"^(ip prefix-list CONNECTED-V4 seq 10)", r"ip route 10.0.0.0/8 Null0\n\1")),
        "junos": replace_lines((r"^( +)(route 10\.128\.0\.0/12 discard;)", r"\1\2\n\1route 10.0.0.0/8 discard;")),
        "cumulus": replace_lines((r"^( +)(10\.128\.0\.0/12:\n +address)", r"\g<1>10.0.0.0/8:\n\1  address-family: ipv4-unicast\n\1  via:\n\1    blackhole:\n\1      type: blackhole\n\1\2")),
    },
    "default route to nowhere": {
        **for_frr("ip route 0.0.0.0/0 blackhole\n"),
        "eos": before_end("ip route 0.0.0.0/0 Null0\n!\n"),
        "nxos": replace_lines((r"^(ip prefix-list CONNECTED-V4 seq 10)", r"ip route 0.0.0.0/0 Null0\n\1")),
        "junos": replace_lines((r"^( +)(route 10\.128\.0\.0/12 discard;)", r"\1\2\n\1route 0.0.0.0/0 discard;")),
        "cumulus": replace_lines((r"^( +)(10\.128\.0\.0/12:\n +address)", r"\g<1>0.0.0.0/0:\n\1  address-family: ipv4-unicast\n\1  via:\n\1    blackhole:\n\1      type: blackhole\n\1\2")),
    },
    "connected routes stay out": {
        **frr_edits((r"^ +redistribute connected .*\n", "")),
        "eos": replace_lines((r"^ +redistribute connected .*\n", "")),
        "nxos": replace_lines((r"^ +redistribute direct .*\n", "")),
        "junos": replace_lines((r"export \[ CONNECTED", "export [")),
        "cumulus": replace_lines((r"^ +connected:\n +enable: 'on'\n +route-map: CONNECTED\n", "")),
    },
    "static routes stay out": {
        **frr_edits((r"^ +redistribute static .*\n", "")),
        "eos": replace_lines((r"^ +redistribute static .*\n", "")),
        "nxos": replace_lines((r"^ +redistribute static .*\n", "")),
        "junos": replace_lines((r"export \[ CONNECTED STATIC", "export [ CONNECTED")),
        "cumulus": replace_lines((r"^ +static:\n +enable: 'on'\n +route-map: STATIC\n", "")),
    },
    "connected map refers to no list": {
        **frr_edits((r"prefix-list CONNECTED-V4$", "prefix-list NONE")),
        "eos": replace_lines((r"prefix-list CONNECTED-V4$", "prefix-list NONE"), (r"^ip prefix-list NONE", "ip prefix-list CONNECTED-V4")),
        "nxos": replace_lines((r"address prefix-list CONNECTED-V4$", "address prefix-list NONE")),
        "junos": replace_lines((r"route-filter-list CONNECTED-V4;", "route-filter-list NONE;")),
        "cumulus": replace_lines((r"ip-prefix-list: CONNECTED-V4", "ip-prefix-list: NONE")),
    },
    "aggregate gone": {
        **frr_edits((r"^ +aggregate-address .*\n", "")),
        "eos": replace_lines((r"^ +aggregate-address .*\n", "")),
        "nxos": replace_lines((r"^ +aggregate-address .*\n", "")),
        "junos": replace_lines((junos_block("aggregate "), "")),
        "cumulus": replace_lines((r"^( +)aggregate-route:\n(?:\1 +.*\n)*", "")),
    },
    "one path": {
        **frr_edits((r"^( +maximum-paths) 64", r"\1 1")),
        "eos": replace_lines((r"maximum-paths 64 ecmp 64", "maximum-paths 1")),
        "nxos": replace_lines((r"maximum-paths 64", "maximum-paths 1")),
        "junos": replace_lines((r"^( +)multipath \{\n\1 +multiple-as;\n\1\}\n", "")),
        "cumulus": replace_lines((r"ebgp: 64", "ebgp: 1")),
    },
    "one path by lack of a line": {  # FRR has many without it
        "eos": replace_lines((r"^ +maximum-paths 64 ecmp 64\n", "")),
        "nxos": replace_lines((r"^ +maximum-paths 64\n", "")),
        "junos": replace_lines((r"^ +export PFE-LB;\n", "")),
        "cumulus": replace_lines((r"^ +multipaths:\n +ebgp: 64\n", "")),
    },
    "no multipath across ASNs": {
        **frr_edits((r"^ bgp bestpath as-path multipath-relax\n", "")),
        "eos": replace_lines((r"^ +bgp bestpath as-path multipath-relax\n", "   no bgp bestpath as-path multipath-relax\n")),
        "nxos": replace_lines((r"^ +bestpath as-path multipath-relax\n", "")),
        "junos": replace_lines((r"^ +multiple-as;\n", "")),
        "cumulus": replace_lines((r"^ +path-selection:\n +multipath:\n +aspath-ignore: 'on'\n", "")),
    },
    "marks of routes replaced": {
        **frr_edits((r"(community-list standard FROM-ABOVE seq \d+ permit) \S+", r"\1 65000:9")),
        "eos": replace_lines((r"(ip community-list FROM-ABOVE permit) \S+", r"\1 65000:9")),
        "nxos": replace_lines((r"(community-list standard FROM-ABOVE seq 10 permit) \S+", r"\1 65000:9")),
        "junos": replace_lines((r"(community FROM-ABOVE members) \S+;", r"\1 65000:9;")),
        "cumulus": replace_lines((r"(FROM-ABOVE:\n(?:.*\n){4,5}?\s+)'65000:1'", r"\1'65000:9'")),
    },
    "own ASN accepted": {
        **frr_edits((r"^( +)neighbor (\S+) activate", r"\1neighbor \2 activate\n\1neighbor \2 allowas-in 9")),
        "eos": replace_lines((r"^(   neighbor (\S+) peer group)$", r"\1\n   neighbor \2 allowas-in 9")),
        "nxos": replace_lines((r"^( +)send-community$", r"\1send-community\n\1allowas-in 9")),
        "junos": replace_lines((r"^( +)(type external;)$", r"\1\2\n\1local-as 4200000001 loops 9;")),
        "cumulus": replace_lines((r"^( +)(enable: 'on'\n\1policy:)", r"\1aspath:\n\1  allow-my-asn:\n\1    enable: 'on'\n\1\2"), (r"^( +)policy:\n( +)inbound:", r"\1aspath:\n\2allow-my-asn:\n\2  enable: 'on'\n\1policy:\n\2inbound:")),
    },
    "no BFD": {
        **frr_edits((r"^ neighbor \S+ bfd.*\n", "")),
        "eos": replace_lines((r"^ +neighbor \S+ bfd\n", "")),
        "nxos": replace_lines((r"^ +bfd\n", "")),
        "junos": replace_lines((junos_block("bfd-liveness-detection "), "")),
        "cumulus": replace_lines((r"^( +)bfd:\n(?:\1 +.*\n)*", "")),
    },
    "slow BFD": {
        "eos": replace_lines((r"interval 300 min-rx 300 multiplier 3", "interval 3000 min-rx 3000 multiplier 10")),
        "nxos": replace_lines((r"bfd interval 300 min_rx 300 multiplier 3", "bfd interval 999 min_rx 999 multiplier 10")),
        "junos": replace_lines((r"minimum-interval 1000;", "minimum-interval 10000;")),
    },
    "a prefix limit of one": {
        **frr_edits((r"maximum-prefix \d+", "maximum-prefix 1")),
        "eos": replace_lines((r"maximum-routes \d+", "maximum-routes 1")),
        "nxos": replace_lines((r"maximum-prefix \d+", "maximum-prefix 1")),
        "junos": replace_lines((r"maximum \d+;", "maximum 1;")),
        "cumulus": replace_lines((r"maximum: \d+", "maximum: 1")),
    },
    "outside unreachable": {
        **frr_edits((r"^ip prefix-list OUTSIDE-V4 seq \d+ permit 0.*\n", "")),
        "eos": replace_lines((r"^   seq 10 permit 0\.0\.0\.0/0\n", "")),
        "nxos": replace_lines((r"^ip prefix-list OUTSIDE-V4 seq \d+ permit 0.*\n", "")),
        "junos": replace_lines((r"^ +0\.0\.0\.0/0 exact;\n", "")),
        "cumulus": replace_lines((r"(OUTSIDE-V4:\n\s+rule:\n\s+'10':\n\s+action: )permit", r"\1deny")),
    },
    "a summary denied first": {
        **for_frr("ip prefix-list FABRIC-V4 seq 1 deny 10.0.0.0/8 le 32\n"),
        "eos": replace_lines((r"^(ip prefix-list FABRIC-V4\n)", r"\1   seq 1 deny 10.0.0.0/8 le 32\n")),
        "nxos": replace_lines((r"^(ip prefix-list FABRIC-V4 seq 10)", r"ip prefix-list FABRIC-V4 seq 1 deny 10.0.0.0/8 le 32\n\1")),
        "junos": replace_lines((r"^( +)(policy-statement (?:FROM-UP|FROM-DOWN)STREAM \{)\n", r"\1\2\n\1    term 1 {\n\1        then {\n\1            reject;\n\1        }\n\1    }\n")),
        "cumulus": replace_lines((r"(FABRIC-V4:\n\s+rule:\n)(\s+)'10':", r"\1\2'1':\n\2  action: deny\n\2  match:\n\2    10.0.0.0/8:\n\2      max-prefix-len: 32\n\2'10':")),
    },
    "a route map denies all first": {
        **for_frr("route-map TO-UPSTREAM deny 1\nexit\nroute-map TO-DOWNSTREAM deny 1\nexit\n"),
        "eos": before_end("route-map TO-UPSTREAM deny 1\n!\nroute-map TO-DOWNSTREAM deny 1\n!\n"),
        "nxos": replace_lines((r"^(route-map CONNECTED permit 10)", r"route-map TO-UPSTREAM deny 1\nroute-map TO-DOWNSTREAM deny 1\n\1")),
        "junos": replace_lines((r"^( +)(policy-statement (?:TO-UP|TO-DOWN)STREAM \{)\n", r"\1\2\n\1    term 1 {\n\1        then {\n\1            reject;\n\1        }\n\1    }\n")),
        "cumulus": replace_lines((r"(TO-(?:UP|DOWN)STREAM:\n\s+rule:\n)(\s+)'10':", r"\1\2'1':\n\2  action:\n\2    deny: {}\n\2'10':")),
    },
}  # fmt: skip

LOSSLESS: dict[str, dict[str, Edit]] = {
    "RDMA in another class": {
        "eos": replace_lines((r"qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 0")),
        "nxos": replace_lines((r"match dscp 26", "match dscp 27")),
        "junos": replace_lines((r"code-points \[ 011010 \]", "code-points [ 011011 ]"), (r" 011011 011100", " 011010 011100")),
        "sonic": set_rows(("DSCP_TO_TC_MAP>AZURE>26", "0")),
        "cumulus": replace_lines((r"('26':\n\s+switch-priority: )3", r"\g<1>0")),
    },
    "no PFC": {
        "eos": replace_lines((r"^ +priority-flow-control on\n", "")),
        "nxos": replace_lines((r"priority-flow-control mode on", "priority-flow-control mode off")),
        "junos": replace_lines((r"^ +pfc;\n", "")),
        "sonic": set_rows(("PORT_QOS_MAP>Ethernet*>pfc_enable", "")),
        "cumulus": replace_lines((r"^( +)pfc:\n +profile: \S+\n", "")),
    },
    "a lossless class drops": {
        "eos": replace_lines((r"priority 3 no-drop", "priority 3 drop")),
        "nxos": replace_lines((r"^ +pause pfc-cos 3\n", "")),
        "junos": replace_lines((r"^ +no-loss;\n", "")),
        "sonic": set_rows(("BUFFER_PG>Ethernet*|3>profile", "ingress_lossy_profile")),
        "cumulus": replace_lines((r"^( +)tx: enable", r"\1tx: disable")),
    },
    "no watchdog": {
        "eos": replace_lines((r"^ +priority-flow-control pause watchdog\n", "")),
        "nxos": replace_lines((r"^priority-flow-control watch-dog-interval on\n", "")),
        "junos": replace_lines((junos_block("pfc-watchdog "), "")),
        "sonic": set_rows(("PFC_WD>Ethernet*", None)),
        "cumulus": replace_lines((r"^ +pfc-watchdog:\n +state: enable\n", "")),
    },
    "the watchdog only reports": {
        "eos": replace_lines((r"watchdog action drop", "watchdog action notify-only")),
        "sonic": set_rows(("PFC_WD>Ethernet*>action", "alert")),
    },
    "no ECN": {
        "eos": replace_lines((r"^ +random-detect ecn minimum.*\n", "")),
        "nxos": replace_lines((r"^ +random-detect .*\n", "")),
        "junos": replace_lines((r"^ +explicit-congestion-notification;\n", "")),
        "sonic": set_rows(("WRED_PROFILE>*>ecn", "ecn_none")),
        "cumulus": replace_lines((r"ecn: enable", "ecn: disable")),
    },
    "ECN never marks": {
        "eos": replace_lines((r"minimum-threshold \d+ bytes maximum-threshold \d+", "minimum-threshold 40000000 bytes maximum-threshold 50000000")),
        "nxos": replace_lines((r"minimum-threshold \d+ bytes maximum-threshold \d+", "minimum-threshold 40000000 bytes maximum-threshold 50000000")),
        "junos": replace_lines((r"fill-level \[ \d+ \d+ \]", "fill-level [ 98 99 ]")),
        "sonic": set_rows(("WRED_PROFILE>*>green_min_threshold", "40000000"), ("WRED_PROFILE>*>green_max_threshold", "50000000")),
        "cumulus": replace_lines((r"max-threshold: \d+", "max-threshold: 50000000"), (r"min-threshold: \d+", "min-threshold: 40000000")),
    },
    "the class follows the CoS": {
        "eos": replace_lines((r"qos trust dscp", "qos trust cos")),
        "nxos": replace_lines((r"^ +service-policy type qos input PM-CLASSIFY\n", "")),
        "junos": replace_lines((r"^( +)classifiers \{\n +dscp DSCP;\n +\}\n", "")),
        "sonic": set_rows(("PORT_QOS_MAP>*>dscp_to_tc_map", None)),
        "cumulus": replace_lines((r"trust: l3", "trust: l2")),
    },
    "RDMA starves": {
        "eos": replace_lines((r"bandwidth percent 90", "bandwidth percent 1")),
        "nxos": replace_lines((r"remaining percent 90", "remaining percent 1")),
        "junos": replace_lines((r"transmit-rate percent 85", "transmit-rate percent 1")),
        "sonic": set_rows(("SCHEDULER>rdma>weight", "1")),
        "cumulus": replace_lines((r"bw-percent: 90", "bw-percent: 1")),
    },
    "the RDMA queue is shaped": {
        "eos": replace_lines((r"^( +)(bandwidth guaranteed percent 1)", r"\1\2\n\1shape rate 1000")),
        "nxos": replace_lines((r"^( +)(bandwidth remaining percent 90)", r"\1\2\n\1shape min 1 mbps max 1 mbps")),
        "junos": replace_lines((r"^( +)(transmit-rate percent 85;)", r"\1\2\n\1shaping-rate 1m;")),
        "sonic": set_rows(("SCHEDULER>rdma>pir", "1000"), ("SCHEDULER>rdma>meter_type", "bytes")),
        "cumulus": replace_lines((r"^( +)qos:\n( +)congestion-control:", r"\1qos:\n\2egress-shaper:\n\2  profile: slow\n\2congestion-control:")),
    },
    "no headroom": {
        "eos": replace_lines((r"ingress headroom bytes \d+", "ingress headroom bytes 1")),
        "junos": replace_lines((r"(buffer-partition lossless-headroom \{\n +percent) \d+", r"\1 1")),
        "sonic": set_rows(("BUFFER_PROFILE>pg_lossless*>xoff", "192")),
        "cumulus": replace_lines((r"xoff-threshold: \d+", "xoff-threshold: 192")),
    },
    "another share of the buffer": {
        "eos": replace_lines((r"priority-group 3 threshold 1$", "priority-group 3 threshold 1/64")),
        "junos": replace_lines((r"dynamic-threshold 10;", "dynamic-threshold 1;")),
        "sonic": set_rows(("BUFFER_PROFILE>pg_lossless*>dynamic_th", "-7")),
        "cumulus": replace_lines((r"shared-alpha: alpha_1$", "shared-alpha: alpha_1_64")),
    },
    "CNP not first": {
        "eos": replace_lines((r"priority strict", "no priority")),
        "nxos": replace_lines((r"priority level 2", "bandwidth remaining percent 0")),
        "junos": replace_lines((r"priority strict-high;", "priority low;")),
        "sonic": set_rows(("SCHEDULER>cnp>type", "DWRR"), ("SCHEDULER>cnp>weight", "1")),
        "cumulus": replace_lines((r"mode: strict", "mode: dwrr\n              bw-percent: 0")),
    },
    "one hash on all tiers": {
        "eos": replace_lines((r"ip load-sharing trident \d+", "ip load-sharing trident 7")),
        "nxos": replace_lines((r"universal-id \d+", "universal-id 7")),
        "junos": replace_lines((r"hash-seed \d+", "hash-seed 7")),
        "cumulus": replace_lines((r"hash-seed: \d+", "hash-seed: 7")),
        "frr": replace_lines((r"multipath_hash_policy = 1", "multipath_hash_policy = 0")),
        "sonic": set_rows(("SWITCH_HASH>GLOBAL>ecmp_hash", ["IP_PROTOCOL"])),
    },
    "a smaller MTU": {
        "eos": replace_lines((r"^   mtu 9\d+", "   mtu 1500")), "nxos": replace_lines((r"^  mtu 9100", "  mtu 1500")),
        "junos": replace_lines((r"mtu 9\d+;", "mtu 1500;")), "sonic": set_rows(("PORT>*>mtu", "1500")),
        "cumulus": replace_lines((r"mtu: 9\d+", "mtu: 1500")), "frr": replace_lines((r"mtu 9\d+", "mtu 1500")),
    },
    "a port is shut": {
        "eos": replace_lines((r"^interface Ethernet1/1$", "interface Ethernet1/1\n   shutdown")),
        "nxos": replace_lines((r"(interface Ethernet1/1\n(?:  .*\n)*?)  no shutdown", r"\1  shutdown")),
        "junos": replace_lines((r"^    et-0/0/0 \{\n(        description)", r"    et-0/0/0 {\n        disable;\n\1")),
        "sonic": set_rows(("PORT>Ethernet0>admin_status", "down")),
        "cumulus": replace_lines((r"(      swp1:\n(?:        .*\n)*?\s+state:\n\s+)up", r"\1down")),
        "frr": replace_lines((r"^iface swp1$", "iface swp1\n    link-down yes"), file="interfaces"),
    },
    "a slower port": {
        "eos": replace_lines((r"speed 400g-8", "speed 100g-4")), "nxos": replace_lines((r"speed 400000", "speed 100000")),
        "junos": replace_lines((r"speed 400g", "speed 100g")), "sonic": set_rows(("PORT>*>speed", "100000")),
        "cumulus": replace_lines((r"speed: 400G", "speed: 100G")),
    },
    "no FEC": {
        "eos": replace_lines((r"^ +error-correction encoding reed-solomon\n", "")), "nxos": replace_lines((r"fec kp-fec", "fec off")),
        "sonic": set_rows(("PORT>*>fec", "none")), "cumulus": replace_lines((r"fec: rs", "fec: 'off'")),
    },
    "no address on a port": {
        "eos": replace_lines((r"^   ip address 10\.0\.0\.0/31\n", "")), "nxos": replace_lines((r"^  ip address 10\.0\.0\.0/31\n", "")),
        "junos": replace_lines((r"^ +address 10\.0\.0\.0/31;\n", "")), "sonic": set_rows(("INTERFACE>Ethernet0|10.0.0.0/31", None)),
        "cumulus": replace_lines((r"^ +address:\n +10\.0\.0\.0/31: \{\}\n", "")), "frr": replace_lines((r"^ +ip address 10\.0\.0\.0/31\n", "")),
    },
}  # fmt: skip

FILTERS: dict[str, dict[str, Edit]] = {
    "a filter that denies all": {
        "eos": replace_lines((r"^(interface Ethernet.*)$", r"\1\n   ip access-group K in"), (r"^end$", "ip access-list K\n   10 deny ip any any\n!\nend")),
        "nxos": replace_lines((r"^(interface Ethernet.*)$", r"\1\n  ip access-group K in"), (r"^(class-map type qos match-any CM-RDMA)", r"ip access-list K\n  10 deny ip any any\n\1")),
        "junos": replace_lines((r"^firewall \{\n    family inet \{\n", "firewall {\n    family inet {\n        filter K {\n            term 1 {\n                then {\n                    discard;\n                }\n            }\n        }\n"), (r"^( +)(mtu 9100;)", r"\1filter {\n\1    input K;\n\1}\n\1\2")),
        "sonic": set_rows(("ACL_TABLE>K", {"type": "L3", "stage": "ingress", "ports": ["Ethernet0"]}), ("ACL_RULE>K|R1", {"PRIORITY": "1", "PACKET_ACTION": "DROP"})),
        "cumulus": replace_lines((r"^    acl:\n", "    acl:\n      K:\n        rule:\n          '10':\n            action:\n              deny: {}\n        type: ipv4\n"), (r"^( +)(description: (?:rack|spine).*)$", r"\1\2\n\1acl:\n\1  K:\n\1    inbound: {}")),
        "frr": replace_lines((r"^(    chain input \{)$", r"    chain forward {\n        type filter hook forward priority filter; policy drop;\n    }\n\1"), file="nftables.conf"),
    },
    "RoCE filtered": {
        "eos": replace_lines((r"^(interface Ethernet.*)$", r"\1\n   ip access-group K in"), (r"^end$", "ip access-list K\n   10 deny udp any any eq 4791\n   20 permit ip any any\n!\nend")),
        "nxos": replace_lines((r"^(interface Ethernet.*)$", r"\1\n  ip access-group K in"), (r"^(class-map type qos match-any CM-RDMA)", r"ip access-list K\n  10 deny udp any any eq 4791\n  20 permit ip any any\n\1")),
        "junos": replace_lines((r"^firewall \{\n    family inet \{\n", "firewall {\n    family inet {\n        filter K {\n            term 1 {\n                from {\n                    protocol udp;\n                    destination-port 4791;\n                }\n                then {\n                    discard;\n                }\n            }\n            term 2 {\n                then {\n                    accept;\n                }\n            }\n        }\n"), (r"^( +)(mtu 9100;)", r"\1filter {\n\1    input K;\n\1}\n\1\2")),
        "sonic": set_rows(("ACL_TABLE>K", {"type": "L3", "stage": "ingress", "ports": ["Ethernet0"]}), ("ACL_RULE>K|R1", {"PRIORITY": "1", "IP_PROTOCOL": "17", "L4_DST_PORT": "4791", "PACKET_ACTION": "DROP"})),
        "frr": replace_lines((r"^(    chain input \{)$", r"    chain forward {\n        type filter hook forward priority filter; policy accept;\n        udp dport 4791 drop\n    }\n\1"), file="nftables.conf"),
    },
    "management routed with the fabric": {
        "eos": replace_lines((r"(interface Management1\n)   vrf MGMT\n", r"\1")),
        "nxos": replace_lines((r"^(interface mgmt0\n)  vrf member management\n", r"\1")),
        "junos": replace_lines((r"^ +management-instance;\n", "")),
        "sonic": set_rows(("MGMT_VRF_CONFIG>vrf_global>mgmtVrfEnabled", "false")),
        "cumulus": replace_lines((r"^ +vrf: mgmt\n( +type: eth)", r"\1")),
        "frr": replace_lines((r"^    ip-forward off\n", ""), (r"^    up .*1001 to.*\n", ""), file="interfaces"),
    },
    "no routing": {
        "eos": replace_lines((r"^ip routing\n", "no ip routing\n")),
        "nxos": replace_lines((r"^feature bgp\n", "")),
        "frr": replace_lines((r"bgpd=yes", "bgpd=no"), (r"ip_forward = 1", "ip_forward = 0")),
        "sonic": set_rows(("FEATURE>bgp>state", "disabled")),
        "cumulus": replace_lines((r"(autonomous-system: \d+\n\s+enable: )'on'", r"\1'off'")),
        "junos": replace_lines((r"^( +)autonomous-system \d+;\n", "")),
    },
}  # fmt: skip

_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIBCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
ACCESS: dict[str, dict[str, Edit]] = {
    "a user without a password": {
        "eos": replace_lines((r"^(no username admin)$", r"\1\nusername evil privilege 15 role network-admin nopassword")),
        "nxos": replace_lines((r"^(username netops password)", r"username evil password 0 x role network-admin\n\1")),
        "junos": replace_lines((r"^( +)(user netops \{)", r"\1user evil {\n\1    class super-user;\n\1}\n\1\2")),
        "sonic": set_rows(("LOCAL_USERS>evil", {"role": "admin"})),
        "cumulus": replace_lines((r"^( +)(netops:\n)", r"\1evil:\n\1  role: system-admin\n\1\2")),
        "frr": append_text("password x\n", "frr.conf"),
    },
    "SNMP public": {
        "eos": replace_lines((r"^snmp-server community \S+ ro$", "snmp-server community public rw")),
        "nxos": replace_lines((r"^(snmp-server community) \S+ group", r"\1 public group")),
        "junos": replace_lines((r"community FABRICC-SECRET-snm \{\n( +)authorization read-only", r"community public {\n\1authorization read-write")),
        "sonic": set_rows(("SNMP_COMMUNITY>public", {"TYPE": "RW"})),
        "cumulus": replace_lines((r"FABRICC-SECRET-snm:", "public:")),
        "frr": append_text("agentx\n", "frr.conf"),
    },
    "telnet": {
        "eos": before_end("management telnet\n   no shutdown\n!\n"),
        "nxos": replace_lines((r"^feature bgp$", "feature telnet\nfeature bgp")),
        "junos": replace_lines((r"^( +)(netconf \{)", r"\1telnet;\n\1\2")),
        "sonic": set_rows(("FEATURE>telnet", {"state": "enabled"})),
        "cumulus": replace_lines((r"^( +)(ssh-server:)", r"\1telnet-server:\n\1  state: enabled\n\1\2")),
        "frr": replace_lines((r'(vtysh_enable=yes)', r"\1"), (r"-A 127\.0\.0\.1", "-A 0.0.0.0"), file="daemons"),
    },
    "access for all": {
        "eos": replace_lines((r"(FABRICC-ACCESS\n   10 permit) 10\.250\.0\.0/24", r"\1 0.0.0.0/0")),
        "nxos": replace_lines((r"^( +\d+ permit (?:ip|tcp)) 10\.250\.0\.0/24", r"\1 0.0.0.0/0")),
        "junos": replace_lines((r"10\.250\.0\.0/24;", "0.0.0.0/0;")),
        "sonic": set_rows(("ACL_RULE>*|RULE_1>SRC_IP", "0.0.0.0/0")),
        "cumulus": replace_lines((r"source-ip: 10\.250\.0\.0/24", "source-ip: 0.0.0.0/0")),
        "frr": replace_lines((r"10\.250\.0\.0/24", "0.0.0.0/0"), file="nftables.conf"),
    },
    "access lists gone": {
        "eos": replace_lines((r"^ +ip access-group FABRICC-ACCESS .*\n", "")),
        "nxos": replace_lines((r"^ +(?:ipv6 )?access-class FABRICC\S+ in\n", "")),
        "junos": replace_lines((junos_block("filter (?!PROTECT)"), ""), (r"^ +input PROTECT;\n", "")),
        "sonic": set_rows(("ACL_TABLE>*", None), ("ACL_RULE>*", None)),
        "cumulus": replace_lines((r"^ +FABRICC-ACCESS\S*:\n +inbound: \{\}\n", "")),
        "frr": replace_lines((r"^ +tcp dport 22 drop\n", ""), file="nftables.conf"),
    },
    "another key": {
        **{nos: replace_lines((r"AAAAC3\S+[0-9A-Za-z]", _KEY)) for nos in ("eos", "nxos", "cumulus")},
        "junos": replace_lines((r"AAAAC3\S+", _KEY)),
    },
    "login without TACACS+": {
        "eos": replace_lines((r"^aaa auth.*\n", "")), "nxos": replace_lines((r"^aaa auth.*\n", "")),
        "junos": replace_lines((r"authentication-order .*;", "authentication-order password;")),
        "sonic": set_rows(("AAA>authentication>login", "local")),
        "cumulus": replace_lines((r"^( +)authentication-order:\n(?:\1 +.*\n)*", "")),
    },
    "another TACACS+ server": {
        **{nos: replace_lines((r"192\.0\.2\.106", "203.0.113.6")) for nos in ("eos", "nxos", "junos", "cumulus")},
        "sonic": replace_lines((r"192\.0\.2\.106", "203.0.113.6")),
    },
    "no accounting of commands": {
        "eos": replace_lines((r"^aaa accounting.*\n", "")), "nxos": replace_lines((r"^aaa accounting.*\n", "")),
        "junos": replace_lines((junos_block("accounting "), "")), "sonic": set_rows(("AAA>accounting", None)),
        "cumulus": replace_lines((r"^( +)accounting:\n +state: enabled\n", "")),
    },
    "an API more": {
        "eos": replace_lines((r"^   protocol https$", "   protocol https\n   protocol http")),
        "nxos": replace_lines((r"^feature bgp$", "feature bgp\nfeature grpc")),
        "junos": replace_lines((r"^( +)(netconf \{)", r"\1rest {\n\1    http;\n\1}\n\1\2")),
        "sonic": set_rows(("RESTAPI>config>client_auth", "false")),
        "cumulus": replace_lines((r"^( +)(hostname: )", r"\1gnmi-server:\n\1  state: enabled\n\1\2")),
    },
}  # fmt: skip

SERVICES: dict[str, dict[str, Edit]] = {
    "no log servers": {
        "eos": replace_lines((r"^logging vrf MGMT host.*\n", "")), "nxos": replace_lines((r"^logging server.*\n", "")),
        "junos": replace_lines((junos_block(r"host 192\S+ "), "")), "sonic": set_rows(("SYSLOG_SERVER>*", None)),
        "cumulus": replace_lines((r"^      syslog:\n(?:       +.*\n)*", "")),
        "frr": replace_lines((r".*\n", ""), file="rsyslog.conf"),
    },
    "a log server less": {
        "eos": replace_lines((r"^logging vrf MGMT host \S+105\n", "")), "nxos": replace_lines((r"^logging server \S+105 .*\n", "")),
        "junos": replace_lines((junos_block(r"host 192\.0\.2\.105 "), "")), "sonic": set_rows(("SYSLOG_SERVER>*105", None)),
        "cumulus": replace_lines((r"^          192\.0\.2\.105:\n(?:           +.*\n)*", "")),
        "frr": replace_lines((r".*105.*\n", ""), file="rsyslog.conf"),
    },
    "emergencies alone in the logs": {
        "eos": before_end("logging trap emergencies\n!\n"), "nxos": replace_lines((r"^hostname", "logging level bgp 0\nhostname")),
        "sonic": set_rows(("SYSLOG_CONFIG>GLOBAL>severity", "emergency")),
        "junos": replace_lines((r"^( +)any notice;", r"\1any emergency;")),
        "frr": replace_lines((r"^\*\.\* @", "*.emerg @"), file="rsyslog.conf"),
    },
    "no local log": {
        "eos": before_end("no logging buffered\n!\n"), "nxos": replace_lines((r"^hostname", "no logging logfile\nhostname")),
    },
    "no time servers": {
        "eos": replace_lines((r"^ntp server.*\n", "")), "nxos": replace_lines((r"^ntp server.*\n", "")),
        "junos": replace_lines((junos_block("ntp "), "")), "sonic": set_rows(("NTP_SERVER>*", None)),
        "cumulus": replace_lines((r"^      ntp:\n(?:       +.*\n)*", "")),
        "frr": replace_lines((r"^NTP=.*\n", ""), file="timesyncd.conf"),
    },
    "no name servers": {
        "eos": replace_lines((r"^ip name-server.*\n", "")), "nxos": replace_lines((r"^ip name-server.*\n", "")),
        "junos": replace_lines((junos_block("name-server "), "")), "sonic": set_rows(("DNS_NAMESERVER>*", None)),
        "cumulus": replace_lines((r"^      dns:\n(?:       +.*\n)*", "")),
        "frr": replace_lines((r".*\n", ""), file="resolv.conf"),
    },
    "no LLDP": {
        "eos": before_end("no lldp run\n!\n"), "nxos": replace_lines((r"^feature lldp\n", "")),
        "junos": replace_lines((junos_block("lldp "), "")), "sonic": set_rows(("FEATURE>lldp>state", "disabled")),
        "cumulus": replace_lines((r"(lldp:\n +state: )enabled", r"\1disabled")),
        "frr": append_text("configure lldp status disabled\n", "lldpd.conf"),
    },
    "no SNMP": {
        "eos": replace_lines((r"^snmp-server .*\n", "")), "nxos": replace_lines((r"^snmp-server .*\n", "")),
        "junos": replace_lines((junos_block("snmp "), "")), "sonic": set_rows(("SNMP_COMMUNITY>*", None)),
        "cumulus": replace_lines((r"^      snmp-server:\n(?:       +.*\n)*", "")),
    },
}  # fmt: skip

SCRIPTS: dict[str, dict[str, Edit]] = {
    "a scheduled reload": {
        "eos": before_end("schedule R at 02:00:00 interval 1440 timeout 30 max-log-files 5 command reload now\n!\n"),
        "nxos": replace_lines((r"^feature bgp$", "feature scheduler\nfeature bgp\nscheduler job name R\n  reload\n")),
        "junos": replace_lines((r"^( +)(management-instance;)", r"\1\2\n\1scripts {\n\1    op {\n\1        file x.slax;\n\1    }\n\1}")),
        "sonic": set_rows(("AUTO_TECHSUPPORT>GLOBAL", {"state": "enabled"})),
        "cumulus": replace_lines((r"^( +)(hostname: )", r"\1docker:\n\1  state: enabled\n\1\2")),
        "frr": replace_lines((r"^(    up ip -4 route)", r"    up reboot\n\1"), file="interfaces"),
    },
    "an event handler": {
        "eos": before_end("event-handler X\n   trigger on-boot\n   action bash FastCli -p15 -c reload\n!\n"),
        "nxos": replace_lines((r"^feature bgp$", 'feature bgp\nevent manager applet X\n  event cli match "show *"\n  action 1 cli reload\n')),
        "junos": replace_lines((r"^(chassis \{)", r"event-options {\n    policy X {\n        events RPD_STOP;\n    }\n}\n\1")),
        "frr": append_text("ip route 10.0.0.1/32 swp1 nexthop-vrf red\n", "frr.conf"),
    },
    "an alias": {
        "eos": before_end("alias show reload now\n!\n"),
        "nxos": replace_lines((r"^feature bgp$", "feature bgp\ncli alias name show reload\n")),
        "frr": replace_lines((r"MAX_FDS=4096", "MAX_FDS=4096\nwatchfrr_options=\"-x\"")),
    },
}  # fmt: skip

HARMFUL = {**ROUTING, **LOSSLESS, **FILTERS, **ACCESS, **SERVICES, **SCRIPTS}

HARMLESS: dict[str, dict[str, Edit]] = {
    "a comment": {
        "eos": replace_lines((r"^hostname", "! maintained by the network team\n!\nhostname")),
        "nxos": replace_lines((r"^hostname", "! maintained by the network team\nhostname")),
        "junos": replace_lines((r"^system \{", "/* maintained by the network team */\nsystem {")),
        "cumulus": replace_lines((r"^- header:", "# maintained by the network team\n- header:")),
        "frr": replace_lines((r"^frr defaults", "! maintained by the network team\nfrr defaults")),
        "sonic": replace_lines((r"^frr defaults", "! maintained by the network team\nfrr defaults")),
    },
    "a description": {
        "eos": replace_lines((r"^   description .*host.*$", "   description rack 17")), "nxos": replace_lines((r"^  description .*host.*$", "  description rack 17")),
        "junos": replace_lines((r"description \".*host.*\";", 'description "rack 17";')), "sonic": set_rows(("PORT>Ethernet0>description", "rack 17")),
        "cumulus": replace_lines((r"description: .*host.*", "description: rack 17")), "frr": replace_lines((r"^ description .*host.*$", " description rack 17")),
    },
    "a banner": {
        "eos": before_end("banner login\nAuthorized use only.\nreload\nEOF\n!\n"),
        "nxos": replace_lines((r"^hostname", "banner motd ^Authorized use only.\nreload\n^\nhostname")),
        "junos": replace_lines((r"^(    host-name .*)$", r'\1\n    login {\n        announcement "reload";\n        message "Authorized use only.";\n    }')),
        "sonic": set_rows(("BANNER_MESSAGE>global", {"state": "enabled", "login": "Authorized use only.", "motd": "x", "logout": ""})),
        "cumulus": replace_lines((r"^( +)(hostname: )", r"\1message:\n\1  pre-login: Authorized use only.\n\1\2")),
        "frr": append_text("banner motd line Authorized use only.\n", "frr.conf"),
    },
    "a time server more": {
        "eos": replace_lines((r"^(ntp server vrf MGMT) \S+101 iburst", r"\1 192.0.2.100 iburst\n\1 192.0.2.101 iburst")),
        "nxos": replace_lines((r"^(ntp server) \S+101 (use.*)", r"\1 192.0.2.100 \2\n\1 192.0.2.101 \2")),
        "junos": replace_lines((r"^( +)server 192\.0\.2\.101 (.*)$", r"\1server 192.0.2.100 \2\n\1server 192.0.2.101 \2")),
        "sonic": set_rows(("NTP_SERVER>192.0.2.100", {"association_type": "server", "iburst": "on", "resolve_as": "192.0.2.100"})),
        "cumulus": replace_lines((r"^( +)(192\.0\.2\.101:\n +iburst: 'on'\n)", r"\g<1>192.0.2.100:\n\1  iburst: 'on'\n\1\2")),
        "frr": replace_lines((r"^NTP=", "NTP=192.0.2.100 "), file="timesyncd.conf"),
    },
    "a log server more": {
        "eos": replace_lines((r"^(logging vrf MGMT host) \S+104", r"\1 192.0.2.99\n\1 192.0.2.104")),
        "nxos": replace_lines((r"^(logging server) \S+104 (.*)", r"\1 192.0.2.99 \2\n\1 192.0.2.104 \2")),
        "junos": replace_lines((r"^( +)host 192\.0\.2\.104 (\{\n(?:\1 +.*\n)*\1\}\n)", r"\1host 192.0.2.99 \2\1host 192.0.2.104 \2")),
        "sonic": set_rows(("SYSLOG_SERVER>192.0.2.99", {"port": "514", "protocol": "udp", "severity": "notice", "vrf": "mgmt"})),
        "cumulus": replace_lines((r"^( +)192\.0\.2\.104:(\n(?:\1 +.*\n)*)", r"\g<1>192.0.2.99:\2\g<1>192.0.2.104:\2")),
        "frr": replace_lines((r"^\*\.\* @192\.0\.2\.104:514", "*.* @192.0.2.99:514\n*.* @192.0.2.104:514"), file="rsyslog.conf"),
    },
    "a name server more": {
        "eos": replace_lines((r"^(ip name-server vrf MGMT) \S+", r"\1 192.0.2.98\n\1 192.0.2.103")),
        "nxos": replace_lines((r"^ip name-server \S+ (.*)", r"ip name-server 192.0.2.98 192.0.2.103 \1")),
        "junos": replace_lines((r"^( +)192\.0\.2\.103( .*)$", r"\g<1>192.0.2.98\2\n\g<1>192.0.2.103\2")),
        "sonic": set_rows(("DNS_NAMESERVER>192.0.2.98", {})),
        "cumulus": replace_lines((r"^( +)192\.0\.2\.103:\n( +vrf: mgmt\n)", r"\g<1>192.0.2.98:\n\2\g<1>192.0.2.103:\n\2")),
        "frr": append_text("nameserver 192.0.2.98\n", "resolv.conf"),
    },
    "a location": {
        "eos": replace_lines((r"^(snmp-server vrf MGMT)$", r"snmp-server location hall 3\n\1")),
        "nxos": replace_lines((r"^(snmp-server community \S+ group)", r"snmp-server location hall 3\n\1")),
        "junos": replace_lines((r"^snmp \{", 'snmp {\n    location "hall 3";')),
        "sonic": set_rows(("SNMP>LOCATION>Location", "hall 3")),
        "cumulus": replace_lines((r"^( +)(readonly-community:)", r"\1system-location: hall 3\n\1\2")),
    },
    "more in the log": {
        "eos": before_end("logging buffered 100000\n!\n"), "nxos": replace_lines((r"^hostname", "logging logfile messages 6 size 4194304\nhostname")),
        "junos": replace_lines((r"^( +)(file messages \{)", r"\1archive size 10m files 5;\n\1\2")),
        "frr": replace_lines((r"log syslog informational", "log syslog debugging"), file="frr.conf"),
        "sonic": replace_lines((r"log syslog informational", "log syslog debugging"), file="frr.conf"),
    },
}  # fmt: skip


def is_caught(review: Review) -> bool:
    """Return whether a reviewer sees that a change may harm: by its risk, by what to drain, as unknown or as access."""
    return review.risk in ("medium", "high")


def try_edits(
    nos: str, kinds: Iterable[tuple[str, dict[str, Edit]]], *, rules: bool = False
) -> Iterable[tuple[str, Review | None]]:
    """Each kind that the system has, and its review; None where the edit fits no switch."""
    for kind, systems in kinds:
        if nos in systems:
            folder = Path(mkdtemp(prefix="fabricc-edit-"))
            try:
                yield kind, review_edit(nos, systems[nos], folder, rules=rules)
            finally:
                shutil.rmtree(folder)


def main(systems: Iterable[str]) -> None:
    for nos in systems or SYSTEMS:
        counts: Counter[str] = Counter()
        for title, kinds in (("harmful", HARMFUL), ("harmless", HARMLESS)):
            for kind, review in try_edits(nos, kinds.items()):
                if review is None:
                    verdict, subjects = "no edit", ""
                else:
                    verdict = (
                        f"{review.risk} {review.impact.label}{' access' if review.access_changes else ''}"
                    )
                    found = [line.statement for group in review.groups for line in group.lines]
                    subjects = "; ".join(dict.fromkeys(f"{each.op}{each.subject}" for each in found))[:150]
                counts[f"{title} {verdict.split()[0]}"] += 1
                print(f"{nos:8} {title:8} {kind:34} {verdict:24} {subjects}")
        print(nos, dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
