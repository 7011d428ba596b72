"""Every semantic rule fires on what it is about, with its code, and not on a sound spec."""

from __future__ import annotations

import pytest

from fabricc.base.diagnostics import TITLES
from tests.front.spec.samples import FULL, SHORT, load

RACK = SHORT.replace("wiring: rail", "wiring: rack")


def rack_spec(racks: str) -> str:
    return RACK.replace("hosts: 128", f"racks: {racks}")


def second_group(group: str, words: str, wiring: str = "rail") -> str:
    """Return a second group, of storage nodes, that shares ToRs with one."""
    gpus = (
        f"  wiring: {wiring}\n  groups:\n    - {{name: a, model: dgx-b200, hosts: 64, hosts_per_unit: 32}}\n"
        f"    - {{name: b, model: storage-2x400, beside: {group}, hosts_per_unit: 4, {words}}}\n"
    )
    start, end = SHORT.index("  hosts: 128"), SHORT.index("tors:")
    return SHORT[:start] + gpus + SHORT[end:]


def classes_spec(*lines: str) -> str:
    head, tail = SHORT.split("  rdma:")
    return head + "".join(f"  {each}\n" for each in lines) + tail[tail.index("mtu:") :]


RDMA, CNP = "rdma: {dscp: 26, lossless: true}", "cnp: {dscp: 48, strict: true}"

FIRES = {
    "FAB2001 both": (SHORT.replace("hosts: 128", "hosts: 128\n  racks: 4"), {"FAB2001"}),
    "FAB2002 model missing": (SHORT.replace("  model: dgx-b200\n", ""), {"FAB2002"}),
    "FAB2002 model beside groups": (FULL.replace("  wiring: rack", "  wiring: rack\n  model: x"), {"FAB2002"}),
    "FAB2003 missing": (SHORT.replace("  hosts_per_unit: 32\n", ""), {"FAB2003"}),
    "FAB2003 twice": (RACK.replace("hosts_per_unit: 32", "hosts_per_unit: 32\n  hosts_per_rack: 32"), {"FAB2003"}),
    "FAB2003 per rack with rail wiring": (SHORT.replace("hosts_per_unit", "hosts_per_rack"), {"FAB2003"}),
    "FAB2076": (second_group("a", "racks: 2", "rack"), {"FAB2076"}),
    "FAB2077 unknown": (second_group("c", "hosts: 2"), {"FAB2077"}),
    "FAB2077 itself": (second_group("b", "hosts: 2"), {"FAB2077"}),
    "FAB2078 unknown": (second_group("a", "hosts: 2, class: storage"), {"FAB2078"}),
    "FAB2078 notifications": (second_group("a", "hosts: 2, class: cnp"), {"FAB2078"}),
    "FAB2030 access": (FULL.replace("172.20.9.0/24", "172.20.9.0/44"), {"FAB2030"}),
    "FAB2031 access": (FULL.replace("172.20.9.0/24", "172.20.9.1/24"), {"FAB2031"}),
    "FAB2030 TACACS+": (FULL.replace("172.20.0.6", "172.20.0.600"), {"FAB2030"}),
    "FAB2030 RADIUS": (
        FULL.replace("tacacs: {servers: [172.20.0.6", "radius: {servers: [172.20.0.600"), {"FAB2030"}
    ),
    "FAB2064": (
        FULL.replace("  tacacs:", "  radius: {servers: [172.20.0.6], key: {secret: radius}}\n  tacacs:"), {"FAB2064"}
    ),
    "FAB2043": (FULL.replace("mode: flowlet", "mode: packet"), {"FAB2043"}),
    "FAB2044": (SHORT + "\nplanes: 2\nplanes_present: 2\n", {"FAB2044"}),
    "FAB2045": (SHORT + "\nplane_split: software\n", {"FAB2045"}),
    "FAB2046": (SHORT + "\nplanes: 2\nplane_split: hardware\n", {"FAB2046"}),
    "FAB2005 too full with rail wiring": (
        SHORT.replace("hosts: 128", "racks: {a1: 5}\n  hosts_per_rack: 4"), {"FAB2005"}
    ),
    "FAB2006 host of two racks": (SHORT.replace("hosts: 128", "racks: {a1: [x], a2: [x]}"), {"FAB2006"}),
    "FAB2006 rack with rail wiring": (
        SHORT.replace("hosts: 128", "racks: [a1, a1]\n  hosts_per_rack: 4"), {"FAB2006"}
    ),
    "FAB3050": (SHORT[: SHORT.index("spines:")] + SHORT[SHORT.index("priorities:") :], {"FAB3050"}),
    "FAB3050 cores": (
        SHORT.replace("spines:", "cores:").replace("  oversubscription: 1.0\n", ""), {"FAB3050"}
    ),
    "FAB3051 rails": (
        SHORT.replace("wiring: rail", "wiring: rail-only").replace("spines:", "spines:\n  rails: 2"), {"FAB3051"}
    ),
    "FAB3051 cores": (
        SHORT.replace("wiring: rail", "wiring: rail-only") + "cores: {model: sn5600, nos: sonic}", {"FAB3051"}
    ),
    "FAB3056": (SHORT.replace("hosts: 128", "racks: [a1, a2]"), {"FAB3056"}),
    "FAB2004": (SHORT.replace("hosts: 128", "racks: 4"), {"FAB2004"}),
    "FAB2005 too full": (rack_spec("{a1: [" + ", ".join(f"h{i}" for i in range(33)) + "]}"), {"FAB2005"}),
    "FAB2005 counted in part": (rack_spec("{a1: 31}"), {"FAB2005"}),
    "FAB2006 rack": (rack_spec("[a1, a1]"), {"FAB2006"}),
    "FAB2006 host": (rack_spec("{a1: [h1], a2: [h1]}"), {"FAB2006"}),
    "FAB2006 group": (FULL.replace("name: b200", "name: h100"), {"FAB2006"}),
    "FAB2006 host of another group": (FULL.replace("big1", "node3"), {"FAB2006"}),
    "FAB2008": (SHORT.replace("spines:", "spines:\n  units_per_pod: 4\n  uplinks: 2"), {"FAB2008"}),
    "FAB2008 loss of a core": (SHORT.replace("spines:", "spines:\n  n_minus_1: true"), {"FAB2008"}),
    "FAB2010 inside a list": (classes_spec("rdma: {dscp: [26], lossless: true}", CNP, "x: {dscp: [26, 8]}"),
        {"FAB2010"}),
    "FAB2011 two": (classes_spec(RDMA, CNP, "a: {}", "default: {priority: 1}"), {"FAB2011"}),
    "FAB2011 default with code points": (classes_spec(RDMA, CNP, "default: {dscp: 0}"), {"FAB2011"}),
    "FAB2011 none left": (classes_spec(f"all: {{dscp: {list(range(64))}, priority: 1}}"), {"FAB2011"}),
    "FAB2012": (classes_spec("rdma: {lossless: true}", CNP, "default: {priority: 1}"), {"FAB2012"}),
    "FAB2013 stated": (classes_spec(RDMA, "cnp: {dscp: 48, strict: true, priority: 3}"), {"FAB2013"}),
    "FAB2013 computed": (classes_spec(RDMA, CNP, "bulk: {dscp: 1}"), {"FAB2013"}),
    "FAB2014": (classes_spec(RDMA), {"FAB2014"}),
    "FAB2015": (classes_spec(RDMA, "cnp: {dscp: 48, strict: true, lossless: true}"), {"FAB2015", "FAB2020"}),
    "FAB2016": (classes_spec(RDMA, "cnp: {dscp: 48}"), {"FAB2016"}),
    "FAB2017": (classes_spec(RDMA, CNP, "bgp: {dscp: 56}"), {"FAB2017"}),
    "FAB2018": (classes_spec("rdma: {dscp: 26, lossless: true, ecn: false}", CNP), {"FAB2018"}),
    "FAB2019": (classes_spec(RDMA, "cnp: {dscp: 48, strict: true, weight_percent: 5}"), {"FAB2019"}),
    "FAB2020 default": (classes_spec(RDMA, CNP, "default: {strict: true}"), {"FAB2020"}),
    "FAB2020 three": (classes_spec(RDMA, CNP, "a: {dscp: 9, strict: true}", "b: {dscp: 17, strict: true}"),
        {"FAB2020"}),
    "FAB2021 over": (classes_spec("a: {dscp: 9, weight_percent: 80}", "default: {weight_percent: 30}"), {"FAB2021"}),
    "FAB2021 under": (classes_spec("a: {dscp: 9, weight_percent: 20}", "default: {weight_percent: 30}"), {"FAB2021"}),
    "FAB2021 nothing left": (classes_spec("a: {dscp: 9, weight_percent: 100}"), {"FAB2021"}),
    "FAB2022 thresholds": (SHORT + "congestion: {profile: pfc-only, ecn: {preset: hpcc}}", {"FAB2022"}),
    "FAB2022 class": (
        classes_spec("rdma: {dscp: 26, lossless: true, ecn: true}", CNP) + "congestion: {profile: pfc-only}",
        {"FAB2022"},
    ),
    "FAB2023 both": (SHORT + "congestion: {ecn: {preset: hpcc, min_kb: 1}}", {"FAB2023"}),
    "FAB2023 part": (SHORT + "congestion: {ecn: {min_kb: 400, max_percent: 5}}", {"FAB2023"}),
    "FAB2023 order": (SHORT + "congestion: {ecn: {min_kb: 400, max_kb: 400, max_percent: 5}}", {"FAB2023"}),
    "FAB2024 no such class": (SHORT + "congestion: {trimming: {class: control}}", {"FAB2024"}),
    "FAB2024 lossless": (SHORT + "congestion: {trimming: {class: rdma}}", {"FAB2024"}),
    "FAB2024 no code point": (SHORT + "congestion: {trimming: {class: default}}", {"FAB2024"}),
    "FAB2024 marked": (
        classes_spec(RDMA, CNP, "rest: {dscp: 34, ecn: true}") + "congestion: {trimming: {class: rest}}",
        {"FAB2024", "FAB2026"},
    ),
    "FAB2025 several": (classes_spec("a: {dscp: 9}", "b: {dscp: 17}"), {"FAB2025"}),
    "FAB2025 none": (classes_spec("default: {}"), {"FAB2025"}),
    "FAB2026": (classes_spec(RDMA, CNP, "more: {dscp: 34, lossless: true}"), {"FAB2026"}),
    "FAB2024 nothing to trim": (
        classes_spec(RDMA, CNP, "rest: {dscp: 10}",
            "default: {strict: true}") + "congestion: {trimming: {class: rest}}",
        {"FAB2024", "FAB2020"},
    ),
    "FAB2030 pool": (SHORT + "addressing: {hosts: 10.0.0.256/10}", {"FAB2030"}),
    "FAB2030 IPv6 pool": (SHORT + "addressing: {family: ipv6, hosts6: 'fd00::1::/48'}", {"FAB2030"}),
    "FAB2030 server": (SHORT + "management: {ntp: [10.0.0.300]}", {"FAB2030"}),
    "FAB2030 gateway": (SHORT + "management: {gateway: 172.16.0.999}", {"FAB2030"}),
    "FAB2031 management": (SHORT + "management: {network: 172.16.0.1/16}", {"FAB2031"}),
    "FAB2032 IPv6": (SHORT + "addressing: {family: dual, links6: 'fd00::/40'}", {"FAB2032"}),
    "FAB2033 family": (SHORT + "addressing: {hosts6: 'fd00::/48'}", {"FAB2033"}),
    "FAB2033 unnumbered": (SHORT + "addressing: {fabric_links: unnumbered, links: 10.64.0.0/12}", {"FAB2033"}),
    "FAB2033 IPv4 in IPv6": (SHORT + "addressing: {family: ipv6, hosts: 10.0.0.0/10}", {"FAB2033"}),
    "FAB2034": (SHORT + "addressing: {hosts: 224.0.0.0/8}", {"FAB2034"}),
    "FAB2034 everything": (SHORT + "addressing: {hosts: 0.0.0.0/0}", {"FAB2034"}),
    "FAB2035": (SHORT + "addressing: {hosts: 8.0.0.0/10}", {"FAB2035"}),
    "FAB2036 outside": (SHORT + "management: {gateway: 10.0.0.1}", {"FAB2036"}),
    "FAB2036 broadcast": (SHORT + "management: {gateway: 172.16.255.255}", {"FAB2036"}),
    "FAB2040 too high": (SHORT + "routing: {asn_base: 4294967294}", {"FAB2040"}),
    "FAB2041 keepalive": (SHORT + "routing: {keepalive_s: 4}", {"FAB2041"}),
    "FAB2042": (SHORT + "routing: {bfd: {interval_ms: 3000}}", {"FAB2042"}),
    "FAB2051": (SHORT.replace("host: 9000", "host: 4191"), {"FAB2051"}),
    "FAB2052": (SHORT + "cables: {host: {medium: dac, length_m: 6}}", {"FAB2052"}),
    "a user of SNMP that is an account": (FULL.replace("monitor", "netops"), {"FAB2060"}),
    "a key of time servers without one": (SHORT + "management: {ntp_authentication: {key_id: 1, key: {secret: ntp}}}",
                                          {"FAB1002"}),
    "log servers over TLS without one": (SHORT + "management: {syslog_tls: {ca: logs}}", {"FAB1002"}),
    "traps of a user that is missing": (FULL.replace("user: monitor}", "user: other}"), {"FAB1002"}),
    "SNMP without community and users": (SHORT + "management: {snmp: {location: hall-3}}", {"FAB1002"}),
    "FAB2060": (FULL.replace("users: [{name: netops",
                             "users: [{name: netops, ssh_key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQ}, {name: netops"),
                {"FAB2060"}),
    "FAB2061": (SHORT + "accept: [{code: FAB9999, reason: no such code}]", {"FAB2061"}),
    "FAB2062": (SHORT + "accept: [{code: FAB0001, reason: cannot read it}]", {"FAB2062"}),
    "FAB2063": (SHORT + "accept: [{code: FAB2051, reason: for a reason}, {code: FAB2051, reason: once more now}]",
                {"FAB2063"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FIRES)
def test_the_rule_fires(name: str) -> None:
    text, codes = FIRES[name]
    found = {each.code: each for each in load(text).diagnostics}
    assert found.keys() == codes
    assert all(each.position is not None and each.position.line > 1 for each in found.values())


def test_every_semantic_code_has_a_case_here_or_among_the_messages() -> None:
    from tests.front.spec.test_messages import CASES

    here = {code for _, codes in FIRES.values() for code in codes}
    there = {line.split()[1] for _, lines in CASES.values() for line in lines}
    elsewhere = {
        "FAB2070",
        "FAB2071",
        "FAB2075",
    }  # see test_lock, test_network_apart, test_verbs of the command line
    elsewhere |= {"FAB2090", "FAB2092", "FAB2093", "FAB2094", "FAB2095"}  # see test_external
    assert {code for code in TITLES if code.startswith("FAB20")} - elsewhere == {
        c for c in here | there if c.startswith("FAB20")
    }


@pytest.mark.parametrize(
    "text",
    [
        SHORT.replace("host: 9000", "host: 4192"),
        SHORT + "routing: {keepalive_s: 1, hold_s: 3, bfd: {interval_ms: 999, multiplier: 3}}",
        SHORT + "routing: {asn_base: 4293918719}",
        SHORT + "addressing: {family: dual, fabric_links: unnumbered}",
        SHORT + "addressing: {family: ipv6}\nmanagement: {network: 10.0.0.0/16}",
        SHORT + "addressing: {fabric_links: unnumbered}\nmanagement: {network: 10.64.0.0/16}",
        classes_spec(RDMA, CNP, "bulk: {dscp: [8, 10], weight_percent: 30}", "default: {weight_percent: 20}"),
        rack_spec("{a1: 32, a2: [h1, h2], a10: 32}"),
        rack_spec("[a1, a2]"),
        rack_spec("7"),
        classes_spec(RDMA) + "congestion: {profile: pfc-only}",
        classes_spec("rdma: {dscp: 26, lossless: true, ecn: false}", CNP) + "congestion: {profile: pfc-only}",
        SHORT + "congestion: {ecn: {preset: sonic-default}}\nbuffers: {headroom_oversubscription: 1.5}",
        RACK.replace("hosts_per_unit", "hosts_per_rack"),
        second_group("a", "hosts: 2"),
        second_group("a", "hosts: 2, class: rdma"),
    ],
)
def test_valid_specs_have_no_findings(text: str) -> None:
    loaded = load(text)
    assert loaded.diagnostics == ()
    assert loaded.spec is not None


def test_racks_of_a_mapping_stand_in_natural_order() -> None:
    spec = load(rack_spec("{a10: 32, a9: [h1], a1: 32}")).spec
    assert spec is not None
    (group,) = spec.gpus.groups
    assert list(group.racks) == ["a1", "a9", "a10"]
    assert group.hosts == 65
