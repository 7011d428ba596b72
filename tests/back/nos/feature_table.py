"""The table of `fabricc docs features`: the features that each system supports by release, from the back ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fabricc.back import nos as back_ends
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.render.overlays import find_unexpressed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric

MODELS = (
    ("cumulus", "sn5600"),
    ("eos", "7060x6-64pe"),
    ("frr", "linux-64x400"),
    ("junos", "qfx5240-64od"),
    ("nxos", "9332d-gx2b"),
    ("sonic", "sn5600"),
)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr example"
LOSSLESS = {
    "rdma": {"dscp": 26, "lossless": True, "ecn": False},
    "cnp": {"dscp": 48, "strict": True},
    "default": {},
}
TRIMMED = {**LOSSLESS, "trimmed": {"dscp": 10}}
BASE: dict[str, Any] = {
    "cluster": "table",
    "gpus": {"model": "dgx-h100", "hosts": 4, "hosts_per_unit": 4},
    "priorities": {"default": {}},
    "routing": {"bfd": False},
    "congestion": {"profile": "pfc-only"},
    "management": {"users": [{"name": "netops", "ssh_key": KEY}]},
}
WAY_OUT = {
    "asn": 64999,
    "password": {"secret": "core"},
    "links": [
        {
            "at": "spine01a",
            "port": "LAST",
            "speed_gbps": 0,
            "peer": "core-1",
            "peer_port": "1",
            "local": "192.0.2.0/31",
        }
    ],
}
"""A party with a link at the last cage of a spine, whatever the system calls it, at the speed that it has undivided."""
FEATURES: dict[str, dict[str, Any]] = {
    "IPv6 links": {"addressing": {"family": "ipv6"}},
    "dual stack": {"addressing": {"family": "dual"}},
    "unnumbered links (RFC 8950)": {"addressing": {"fabric_links": "unnumbered"}},
    "BFD at 300 ms": {"routing": {"bfd": {"interval_ms": 300, "multiplier": 3}}},
    "BGP TTL security": {"routing": {"bfd": False, "ttl_security": True}},
    "a lossless class: PFC, headroom, watchdog": {"priorities": LOSSLESS},
    "ECN marking": {
        "priorities": {**LOSSLESS, "rdma": {"dscp": 26, "lossless": True}},
        "congestion": {"profile": "dcqcn"},
    },
    "two lossless classes": {
        "priorities": {**LOSSLESS, "store": {"dscp": 34, "lossless": True, "ecn": False}},
    },
    "packet trimming": {
        "priorities": TRIMMED,
        "congestion": {"profile": "pfc-only", "trimming": {"class": "trimmed"}},
    },
    "link-layer retry": {
        "priorities": LOSSLESS,
        "congestion": {"profile": "pfc-only", "link_retry": True},
    },
    "flowlet load balancing": {"load_balancing": {"mode": "flowlet"}},
    "a flowlet pause": {"load_balancing": {"mode": "flowlet", "flowlet_idle_us": 100}},
    "global load balancing": {"load_balancing": {"mode": "flowlet", "global": True}},
    "moves of flows without a pause": {"load_balancing": {"mode": "flowlet", "reassignment": {}}},
    "per-packet load balancing": {"load_balancing": {"mode": "packet"}},
    "cluster load balancing": {"load_balancing": {"mode": "cluster"}},
    "hashing of RoCE queue pairs": {"load_balancing": {"queue_pairs": True}},
    "a way out by BGP with a password, `trust_dscp`": {"external": {"core": {**WAY_OUT, "trust_dscp": True}}},
    "a way out whose packets are marked": {"external": {"core": WAY_OUT}},
    "access networks of management": {"management": {"access": ["172.16.9.0/24"]}},
    "TACACS+": {"management": {"tacacs": {"servers": ["172.16.0.5"], "key": {"secret": "tacacs"}}}},
    "RADIUS": {"management": {"radius": {"servers": ["172.16.0.5"], "key": {"secret": "radius"}}}},
    "a login banner": {"management": {"banner": "Authorized use only."}},
    "NTP authentication, MD5": {
        "management": {
            "ntp": ["172.16.0.2"],
            "ntp_authentication": {"key_id": 1, "type": "md5", "key": {"secret": "ntp"}},
        }
    },
    "syslog over TLS": {"management": {"syslog": ["172.16.0.4"], "syslog_tls": {"ca": "syslog-ca"}}},
    "SNMPv2c": {"management": {"snmp": {"community": {"secret": "snmp"}}}},
    "SNMPv3": {
        "management": {
            "snmp": {
                "users": [{"name": "monitor", "auth": {"secret": "auth"}, "privacy": {"secret": "privacy"}}]
            }
        }
    },
    "SNMP traps": {
        "management": {
            "snmp": {
                "users": [{"name": "monitor", "auth": {"secret": "auth"}, "privacy": {"secret": "privacy"}}],
                "traps": {"servers": ["172.16.0.6"], "user": "monitor"},
            }
        }
    },
    "gNMI telemetry": {"management": {"telemetry": {"gnmi_port": 9339}}},
}
Gaps = frozenset[tuple[str, str, bool]]


def fabric_of(nos: str, model: str, feature: dict[str, Any]) -> Fabric:
    """Return the two-tier fabric of one unit that requires the feature and little else."""
    tier = {"model": model, "nos": nos}
    spec = {**BASE, "tors": tier, "spines": {**tier, "reserved_ports": 4}, **feature}
    spec["management"] = {**BASE["management"], **feature.get("management", {})}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(json.dumps(spec).replace('"LAST", "speed_gbps": 0', last_port(nos, model)))
        front = compile_spec(path, gaps=False)
    if front.fabric is None:
        raise AssertionError((nos, feature, front.diagnostics))
    return front.fabric


def last_port(nos: str, model: str) -> str:
    """The last cage of a model, undivided, as keys of a link: port and speed."""
    switch = load_catalog()[0].switches[model]
    group = max((group for group in switch.cages if group.fabric), key=lambda each: each.first)
    speed = next(each.speed_gbps for each in group.breakouts if each.children == 1)
    name = back_ends.load(nos).port_name(switch, group.first + group.count - 1, 1, 1)
    return f'"{name}", "speed_gbps": {speed}'


def list_gaps(fabric: Fabric, release: str) -> Gaps:
    """Code, feature and gravity of every gap of the fabric's switches under a release."""
    found = set()
    for at in fabric.kinds():
        switch = replace(fabric.switch(at), release=release)
        back_end = back_ends.load(switch.nos)
        gaps = back_end.gaps(switch)
        found |= {
            (gap.code, gap.feature, gap.fatal) for gap in [*gaps, *find_unexpressed(switch, back_end, gaps)]
        }
    return frozenset(found)


def find_verdict(new: Gaps) -> str:
    """`yes`, `warns: CODE` for what is built with a warning, or `no: CODE`."""
    fatal = sorted({code for code, _, grave in new if grave})
    warned = sorted({code for code, _, grave in new if not grave})
    return f"no: {', '.join(fatal)}" if fatal else f"warns: {', '.join(warned)}" if warned else "yes"


def format_cell(verdicts: dict[str, str]) -> str:
    """One verdict, or each with the releases that it is about."""
    if len(set(verdicts.values())) == 1:
        return next(iter(verdicts.values()))
    spans: list[tuple[str, str, str]] = []
    for release, text in verdicts.items():
        if spans and spans[-1][2] == text:
            spans[-1] = (spans[-1][0], release, text)
        else:
            spans.append((release, release, text))
    return "; ".join(f"{a} {text}" if a == b else f"{a} to {b} {text}" for a, b, text in spans)


def make_column(nos: str, model: str) -> dict[str, str]:
    """Feature -> cell."""
    releases = back_ends.load(nos).releases
    fabrics = {feature: fabric_of(nos, model, requested) for feature, requested in FEATURES.items()}
    bare = fabric_of(nos, model, {})
    base = {release: list_gaps(bare, release) for release in releases}
    return {
        feature: format_cell(
            {release: find_verdict(list_gaps(fabric, release) - base[release]) for release in releases}
        )
        for feature, fabric in fabrics.items()
    }


def make_table() -> Iterator[str]:
    """The lines of the table, in Markdown."""
    columns = {nos: make_column(nos, model) for nos, model in MODELS}
    yield "| | " + " | ".join(f"{nos} ({model})" for nos, model in MODELS) + " |"
    yield "|---|" + "---|" * len(MODELS)
    for feature in FEATURES:
        yield f"| {feature} | " + " | ".join(columns[nos][feature] for nos, _ in MODELS) + " |"
    counts = (sum("yes" in each or "warns" in each for each in columns[nos].values()) for nos, _ in MODELS)
    yield f"| built by some release, of {len(FEATURES)} | " + " | ".join(map(str, counts)) + " |"
