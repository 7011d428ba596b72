"""Messages about common mistakes: place, code, message and remedy, word for word."""

from __future__ import annotations

import pytest

from tests.base.diagnostics.samples import render
from tests.front.spec.samples import SHORT, format_findings, load

RAIL = "  hosts: 128\n  model: dgx-b200\n  wiring: rail\n  hosts_per_unit: 32\n"


def change_spec(old: str, new: str) -> str:
    assert old in SHORT
    return SHORT.replace(old, new, 1)


def partition_spec(key: str) -> str:
    return (
        "cluster: ib\nfabric: infiniband\ngpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 8}\ntors: {model: qm9700}\n"
        f"infiniband: {{partitions: {{red: {{pkey: {key}, units: [su001]}}}}}}\n"
    )


CASES = {
    "a partition key in hexadecimal": (
        partition_spec("0x10"),
        [
            "5:39 FAB1003 infiniband.partitions.red.pkey must be a whole number, not '0x10' "
            "| Write it in decimal: 16."
        ],
    ),
    "a partition key with its membership bit": (
        partition_spec("0x8010"),
        [
            "5:39 FAB1003 infiniband.partitions.red.pkey must be a whole number, not '0x8010' "
            "| Write 16: 0x8010 without the membership bit."
        ],
    ),
    "a partition key with its membership bit in decimal": (
        partition_spec("32784"),
        [
            "5:39 FAB1005 infiniband.partitions.red.pkey cannot be 32784 "
            "| Write 16: 0x8010 without the membership bit."
        ],
    ),
    "an MTU beyond the range and the tables": (
        change_spec("switch: 9100", "switch: 9500"),
        [
            "20:11 FAB1005 mtu.switch cannot be 9500 | It ranges from 1280 to 9416; the nearest that fits is 9416. "
            "Published buffer tables are for 9216 at most."
        ],
    ),
    "more trays than NVLink joins": (
        change_spec(RAIL, "  model: gb200-nvl72\n  wiring: rack\n  racks: {r1: 20}\n  hosts_per_rack: 18\n"),
        [
            "5:15 FAB2005 rack 'r1' has 20 hosts, more than hosts_per_rack 18 "
            "| Move 2 to another rack, by name where it is not full: NVLink joins 18 hosts of gb200-nvl72."
        ],
    ),
    "a finding that no version reports any more": (
        SHORT + "accept: [{code: FAB3055, reason: subnets are apart}]\n",
        [
            "21:17 FAB2061 no diagnostic has the code FAB3055 "
            "| Did you mean FAB9055 (Templates of your own change)? "
            "If an earlier version reported it, remove accept[0]."
        ],
    ),
    "a key misspelt": (
        change_spec("wiring", "wirng"),
        ["5:3 FAB1001 unknown key 'wirng' in gpus | Did you mean 'wiring'?"],
    ),
    "a section misspelt": (
        change_spec("spines:", "spine:"),
        [
            "11:1 FAB1001 unknown key 'spine' | Did you mean 'spines'?",
        ],
    ),
    "a word misspelt": (
        change_spec("rail\n", "rails\n"),
        [
            "5:11 FAB1004 gpus.wiring cannot be 'rails' | Did you mean 'rail'? Allowed: 'rail', 'rail-only' or 'rack'."
        ],
    ),
    "a number in quotes": (
        change_spec("128", '"128"'),
        [
            "3:10 FAB1003 gpus.hosts must be a number of hosts or a list of host names, not '128' | "
            "Write 128, without quotes or leading zeros."
        ],
    ),
    "yes for true": (
        change_spec("lossless: true", "lossless: yes"),
        [
            "15:33 FAB1003 priorities.rdma.lossless must be true or false, not 'yes' | Write true, without quotes."
        ],
    ),
    "thresholds of a class": (
        change_spec("lossless: true", "lossless: true, ecn: {min_kb: 100}"),
        [
            "15:39 FAB1003 priorities.rdma.ecn must be true or false, not a mapping | "
            "Thresholds are the same for all classes: write them under `congestion.ecn`."
        ],
    ),
    "off for false": (
        change_spec("mtu:", "routing: {bfd: off}\nmtu:"),
        [
            "18:16 FAB1003 routing.bfd must be a mapping such as {interval_ms: 300, multiplier: 3} or false, "
            "not 'off' | Write false, without quotes."
        ],
    ),
    "a fraction of a host": (
        change_spec("_unit: 32", "_unit: 32.0"),
        ["6:19 FAB1003 gpus.hosts_per_unit must be a whole number, not 32.0 | Write 32."],
    ),
    "a code point by name": (
        change_spec("26", "ef"),
        [
            "15:19 FAB1003 priorities.rdma.dscp must be a code point (0 to 63) or a list of code points, not 'ef' | "
            "ef is code point 46: write 46."
        ],
    ),
    "a code point out of range": (
        change_spec("26", "64"),
        [
            "15:19 FAB1005 priorities.rdma.dscp cannot be 64 | It ranges from 0 to 63; the nearest that fits is 63."
        ],
    ),
    "a speed that does not exist": (
        change_spec("oversubscription: 1.0", "uplink_gbps: 300"),
        [
            "10:16 FAB1004 tors.uplink_gbps cannot be 300 | "
            "The nearest that fits is 200. Allowed: 10, 25, 40, 50, 100, 200, 400, 800 or 1600."
        ],
    ),
    "no oversubscription at all": (
        change_spec("1.0", "0"),
        [
            "10:21 FAB1005 tors.oversubscription cannot be 0 | It ranges from 0.1 to 64; the nearest that fits is 0.1."
        ],
    ),
    "a name that no file can have": (
        change_spec("zone-a", "Zone A"),
        [
            "1:10 FAB1006 cluster cannot be 'Zone A': it must be 1 to 32 lower-case letters, digits and inner "
            "hyphens | Did you mean 'zone-a'?"
        ],
    ),
    "a log server with scheme and port": (
        change_spec("mtu:", "management: {syslog: ['tls://172.16.0.3:6514']}\nmtu:"),
        [
            "18:23 FAB1006 management.syslog[0] cannot be 'tls://172.16.0.3:6514': it must be an address, or a host "
            "name in lower case | Write the address alone: '172.16.0.3'. For TLS add `syslog_tls: {ca: NAME}`."
        ],
    ),
    "a time server with the scheme of TLS": (
        change_spec("mtu:", "management: {ntp: ['tls://172.16.0.3']}\nmtu:"),
        [
            "18:20 FAB1006 management.ntp[0] cannot be 'tls://172.16.0.3': it must be an address, or a host name in "
            "lower case | Write the address alone: '172.16.0.3'. For other settings write an overlay: "
            "`fabricc docs company-standards`."
        ],
    ),
    "a range of hosts as Slurm writes it, in the wrong order": (
        change_spec("mtu:", "tenants: {a: {hosts: ['su001-host[09-01]']}}\nmtu:"),
        [
            "18:23 FAB1006 tenants.a.hosts[0] cannot be 'su001-host[09-01]': it must be a name, or names with "
            "ascending numbers such as su001-host01..16 | Write the range as 'su001-host01..09'."
        ],
    ),
    "what others call a setting of management": (
        change_spec("mtu:", "management: {ldap: {}, motd: Hi}\nmtu:"),
        [
            "18:14 FAB1001 unknown key 'ldap' in management | For other settings write an overlay: "
            "`fabricc docs company-standards`.",
            "18:24 FAB1001 unknown key 'motd' in management | Write `banner`.",
        ],
    ),
    "planes in stages in one value": (
        change_spec("mtu:", "planes: 4 of 8\nmtu:"),
        [
            "18:9 FAB1003 planes must be a whole number, not '4 of 8' | "
            "Write `planes: 8` and `planes_present: 4`."
        ],
    ),
    "the word of a mapping without its key": (
        change_spec("mtu:", "load_balancing: packet\nmtu:"),
        ["18:17 FAB1003 load_balancing must be a mapping, not 'packet' | Write {mode: packet}."],
    ),
    "a class without its braces": (
        change_spec("default: {}", "default:"),
        [
            "17:11 FAB1003 priorities.default must be a mapping, not nothing | "
            "Write {} for an empty mapping, or indent its entries below the key."
        ],
    ),
    "a host name that YAML reads as a number": (
        change_spec("128", "[gpu1, 2]"),
        ['3:17 FAB1003 gpus.hosts[1] must be a text, not 2 | Put it in quotes to make it a text: "2".'],
    ),
    "a key twice": (
        change_spec("  nos: sonic-202505\n  over", "  nos: eos\n  nos: sonic-202505\n  over"),
        ["10:3 FAB0009 duplicate key 'nos': first at 9:3 | Keep one of the two."],
    ),
    "a tab": (
        change_spec("  model: dgx", "\tmodel: dgx"),
        ["4:1 FAB0008 a tab in the indentation | YAML indents with spaces only."],
    ),
    "a brace not closed": (
        change_spec("lossless: true}", "lossless: true"),
        [
            "15:12 FAB0007 the mapping opened with `{` is not closed, or a `,` is missing | "
            "Separate the entries with `,` and close the mapping with `}`."
        ],
    ),
    "a quote not closed": (
        change_spec("zone-a", '"zone-a'),
        ["1:10 FAB0007 the quote opened here is never closed | Close it on the same line."],
    ),
    "a line indented to nowhere": (
        change_spec("  model: dgx", " model: dgx"),
        [
            "4:2 FAB0007 this line does not continue the mapping above it: its indentation fits none | "
            "Indent it exactly like the other keys of its mapping."
        ],
    ),
    "a value that needs quotes": (
        change_spec("zone-a", "@zone"),
        ["1:10 FAB0007 a value cannot begin with `@` | Put the value in quotes."],
    ),
    "a pool off its boundary": (
        SHORT + "addressing: {hosts: 10.1.2.3/10}\n",
        [
            "21:21 FAB2031 addressing.hosts: 10.1.2.3/10 is not on the boundary of a /10 | Write 10.0.0.0/10.",
        ],
    ),
    "a pool inside another": (
        SHORT + "addressing: {links: 10.0.0.0/16}\n",
        [
            "21:21 FAB2032 addressing.links 10.0.0.0/16 overlaps addressing.hosts 10.0.0.0/10 | "
            "Free and as large: 10.64.0.0/16."
        ],
    ),
    "a pool over the management network": (
        SHORT + "addressing: {links: 172.16.0.0/12}\n",
        [
            "21:21 FAB2032 addressing.links 172.16.0.0/12 overlaps management.network 172.16.0.0/16 | "
            "Free and as large: 10.64.0.0/12."
        ],
    ),
    "a public ASN": (
        SHORT + "routing: {asn_base: 65530}\n",
        [
            "21:21 FAB2040 routing.asn_base 65530: the ASNs from here on are not all private, or too few | "
            "It ranges from 4200000000 to 4293918719 (RFC 6996), or from 64512 to 65520 for a small fabric; the "
            "nearest that fits is 65520."
        ],
    ),
    "a hold time too short": (
        SHORT + "routing: {hold_s: 5}\n",
        [
            "21:19 FAB2041 routing.hold_s 5 is less than three keepalives of 3 s | "
            "The least that fits is hold_s: 9 (RFC 4271 section 4.4)."
        ],
    ),
    "host MTU above switch MTU": (
        change_spec("host: 9000", "host: 9200"),
        [
            "19:9 FAB2050 mtu.host 9200 is larger than mtu.switch 9100 | The largest host MTU that fits is 9100."
        ],
    ),
    "neither hosts nor racks": (
        change_spec("  hosts: 128\n", ""),
        [
            "2:1 FAB2001 gpus has neither 'hosts' nor 'racks' | "
            "Give one: `hosts: 128` (or names), or `racks: 16` (or names) with wiring: rack."
        ],
    ),
    "a capacity below what is there": (
        change_spec("hosts: 128", "hosts: 128\n  capacity: 100"),
        ["4:13 FAB2007 gpus.capacity 100 is less than the 128 hosts present | The least that fits is 128."],
    ),
    "two classes on one code point": (
        change_spec("48", "26"),
        [
            "15:19 FAB2010 code point 26 belongs to 'cnp' and to 'rdma' | "
            "A packet has one class. Nearest free: 25, 27 or 24.",
            "15:3 FAB2013 'rdma' gets priority 3 (its lowest code point over 8), which 'cnp' has | "
            "Add `priority: 1`. Free: 1, 2, 4, 5 or 6.",
        ],
    ),
    "a key without its colon": (
        change_spec("wiring: rail", "wiring rail"),
        ["5:3 FAB0007 a key without `:` | Write `key: value`, or `- item` in a list."],
    ),
    "a value glued to its key": (
        change_spec("hosts: 128", "hosts:128"),
        ["3:3 FAB0007 a key without `:` | Add a space after the colon: `hosts: 128`."],
    ),
    "a no-break space after the colon": (
        change_spec("hosts: 128", "hosts:\u00a0128"),
        ["3:3 FAB0007 a key without `:` | Add a space after the colon: `hosts: 128`."],
    ),
    "a value glued to a later key": (
        change_spec("_unit: 32", "_unit:32"),
        ["6:3 FAB0007 a key without `:` | Add a space after the colon: `hosts_per_unit: 32`."],
    ),
    "a key in the wrong section": (
        change_spec("nos: sonic-202505\n  over", "nos: sonic-202505\n  wiring: rail\n  over"),
        [
            "10:3 FAB1001 unknown key 'wiring' in tors | 'wiring' is a key of `gpus` or `network`: write it there."
        ],
    ),
    "a setting of management that only an overlay can have": (
        change_spec(
            "spines:", "management: {syslog: [{server: 10.9.0.1, tls: true}], snmp: {views: []}}\nspines:"
        ),
        [
            "11:23 FAB1003 management.syslog[0] must be a text, not a mapping | For example: 172.16.0.2."
            " For other settings write an overlay: `fabricc docs company-standards`.",
            "11:62 FAB1001 unknown key 'views' in management.snmp | Known keys: community, location, contact, users,"
            " traps."
            " For other settings write an overlay: `fabricc docs company-standards`.",
        ],
    ),
    "a section indented into another": (
        change_spec(
            "spines:\n  model: sn5600\n  nos: sonic-202505\n",
            "  spines: {model: sn5600, nos: sonic-202505}\n",
        ),
        [
            "11:3 FAB1001 unknown key 'spines' in tors | 'spines' is a top-level section: indent it like `cluster`.",
        ],
    ),
    "a NOS by its product name": (
        change_spec("nos: sonic-202505\n  over", "nos: Cumulus Linux 5.11\n  over"),
        [
            "9:8 FAB1006 tors.nos cannot be 'Cumulus Linux 5.11': it must be `name` or `name-release`, the name in "
            "lower case | Write `cumulus-5.11`."
        ],
    ),
    "a NOS with the name of its branch": (
        change_spec("nos: sonic-202505\n  over", "nos: junos-evo-24.4\n  over"),
        [
            "9:8 FAB1006 tors.nos cannot be 'junos-evo-24.4': it must be `name` or `name-release`, the name in "
            "lower case | Write `junos-24.4`."
        ],
    ),
    "a reason that is none": (
        SHORT + "accept: [{code: FAB2051, reason: x}]\n",
        ["21:34 FAB1007 accept[0].reason is too short: 10 characters at least | "],
    ),
    "half a metre": (
        SHORT + "cables: {host: {length_m: 0.5}}\n",
        ["21:27 FAB1003 cables.host.length_m must be a whole number, not 0.5 | For example: 40"],
    ),
    "an IPv6 network in an IPv4 pool": (
        SHORT + "addressing: {family: ipv6, hosts: 'fd00::/48'}\n",
        [
            "21:35 FAB1006 addressing.hosts cannot be 'fd00::/48': it must be an IPv4 network such as 10.0.0.0/10 | "
            "IPv6 pools are keys of their own: `addressing.hosts6: fd00::/48`."
        ],
    ),
    "everything at once": (
        change_spec("hosts: 128", "host: 128").replace("dscp: 26", "dscp: x").replace("9000", "nine"),
        [
            "3:3 FAB1001 unknown key 'host' in gpus | Did you mean 'hosts'?",
            "15:19 FAB1003 priorities.rdma.dscp must be a code point (0 to 63) or a list of code points, not 'x' | "
            "For example: 26",
            "19:9 FAB1003 mtu.host must be a whole number, not 'nine' | For example: 9000",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message(name: str) -> None:
    text, expected = CASES[name]
    assert sorted(format_findings(text)) == sorted(expected)


def test_rules_run_on_the_sections_that_fit_the_schema() -> None:
    codes = [each.code for each in load(change_spec("wiring", "wirng").replace("9000", "9200")).diagnostics]
    assert codes == ["FAB1001", "FAB2050"]


def test_the_whole_text_for_people() -> None:
    text = change_spec("wiring", "wirng").replace("9000", "9200")
    shown = render(load(text).diagnostics, "text", {"cluster.yaml": text})
    assert shown == (
        "cluster.yaml:5:3: error FAB1001: unknown key 'wirng' in gpus\n"
        "5 |   wirng: rail\n"
        "  |   ^\n"
        "  = help: Did you mean 'wiring'?\n"
        "\n"
        "cluster.yaml:19:9: error FAB2050: mtu.host 9200 is larger than mtu.switch 9100\n"
        "19 |   host: 9200\n"
        "   |         ^\n"
        "   = help: The largest host MTU that fits is 9100.\n"
        "\n"
        "2 errors\n"
    )
