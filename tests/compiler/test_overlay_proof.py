"""`validate` and `build` agree on overlays and descriptions, and report marks of templates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.back import nos as back_ends
from fabricc.cli.entry import run
from tests.trust.conftest import SPEC

ENTRY = "overlays: [{file: o.conf, nos: frr, into: frr.conf, %s}]\n"


def run_codes(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, set[str]]:
    capsys.readouterr()
    status = run([*words[:1], str(folder / "cluster.yaml"), *words[1:]])
    return status, set(re.findall(r"error (FAB[0-9]{4})", "".join(capsys.readouterr())))


def compare_verdicts(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, set[str]]:
    """Return the verdict, which both verbs have to share."""
    found = run_codes(folder, capsys, "validate")
    assert run_codes(folder, capsys, "build", "-o", str(folder / "build")) == found
    return found


@pytest.mark.parametrize("where", ["tiers: [spine]", "devices: [spine01a]"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ip route 10.9.0.0/16 Null0  \n", set()),
        ("interface swp1\n description x\n", {"FAB6002"}),
        ("hostname ${NAME}\n", {"FAB6002"}),
        ("router bgp *\n neighbor DOWNSTREAM-V4 shutdown\n", {"FAB6003"}),
        ("ip route 10.9.0.0/16\u00a0Null0\n", {"FAB2111"}),
        ("ip route 10.9.0.0/16 Null0\u3000\n", {"FAB2111"}),
    ],
)
@pytest.mark.spread
def test_an_overlay_has_one_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, text: str, expected: set[str]
) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ENTRY % where)
    (tmp_path / "o.conf").write_text(text)
    assert compare_verdicts(tmp_path, capsys) == (1 if expected else 0, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("interface *\n no ip address\n", {"FAB6054"}),
        ("router bgp *\n no bgp router-id\n", {"FAB6054"}),
        ("no router bgp 4200000001\n", set()),
        ("router bgp *\n no bgp log-neighbor-changes\n", set()),
    ],
)
def test_a_line_that_removes_what_the_build_wrote_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, expected: set[str]
) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ENTRY % "tiers: [spine]")
    (tmp_path / "o.conf").write_text(text)
    assert compare_verdicts(tmp_path, capsys)[1] >= expected


@pytest.mark.parametrize(
    ("nos", "file", "text", "lines"),
    [
        ("eos", "running-config.cfg", "interface Ethernet1\n   ip address 10.0.0.0/31\n   no ip address\n", [3]),
        ("eos", "running-config.cfg", "interface Ethernet1\n   mtu 9214\ninterface Ethernet1\n   default mtu\n", [4]),
        ("eos", "running-config.cfg", "interface Ethernet1\n   mtu 9214\ninterface Ethernet2\n   no mtu\n", []),
        ("eos", "running-config.cfg", "interface Ethernet1\n   no switchport\n   switchport\n", [2]),
        ("eos", "running-config.cfg", "interface Ethernet1\n   switchport mode trunk\n   no switchport\n", []),
        ("eos", "running-config.cfg", "no snmp-server vrf default\nsnmp-server vrf MGMT\n", []),
        ("nxos", "running-config.cfg", "feature lldp\nno feature lldp\n", [2]),
        ("nxos", "running-config.cfg", "router bgp 1\n  neighbor A\n    mtu 9 1\n    no mtu\n", [4]),
        ("eos", "running-config.cfg", "interface Ethernet1/1\n   mtu 9\nint et1/1\n   NO mtu\n", [4]),
        ("eos", "running-config.cfg", "interface Ethernet1\n   ip address 10.0.0.0/31\n   no ip addr\n", [3]),
        ("eos", "running-config.cfg", "route-map A permit 1\nno route-map a2\nno ip ro\nip route 1\n", [3]),
        ("eos", "running-config.cfg", "router bgp 1\n   vrf A\n      x\n   shutdown\n", [4]),
        ("nxos", "running-config.cfg", "interface Ethernet1/1\n  mtu 9\ndefault interface eth1/1\n", [3]),
        ("nxos", "running-config.cfg", "router bgp 1\n  shut\n  neighbor A\n    shutdown\n", [2]),
        ("sonic", "frr.conf", "router bgp 1\n bgp shutdown message x\n", [2]),
        ("frr", "frr.conf", "router bgp 1\n no neighbor UP\n neighbor UP peer-group\n", [2]),
        ("sonic", "frr.conf", "ip prefix-list A seq 5 permit any\nno ip prefix-list A\n", [2]),
        ("sonic", "config_db.json", '{"no a": 1, "a": 2}', []),
        ("junos", "juniper.conf", "protocols {\n    inactive: bgp {\n    }\n}\n", [2]),
        ("junos", "juniper.conf", "a { inactive: b; }\nprotect: inactive: c;\n", [1, 2]),
        ("junos", "juniper.conf", 'description "inactive: c";\n/* inactive: d; */\ninactive-timeout 5;\n', []),
    ],
)  # fmt: skip
def test_each_system_has_its_reversals(nos: str, file: str, text: str, lines: list[int]) -> None:
    back_end = back_ends.load(nos)
    assert file in back_end.files, back_end.files
    found = [each.line for each in back_end.reversals(file, text)]
    assert found == lines


@pytest.mark.slow
@pytest.mark.parametrize("mark", ["{{ pool }}", "{% if x %}", "${POOL}"])
def test_marks_of_a_template_are_reported_with_their_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mark: str
) -> None:
    spec = SPEC + ENTRY % "tiers: [spine]"
    (tmp_path / "cluster.yaml").write_text(spec)
    (tmp_path / "o.conf").write_text(f"! first\nip prefix-list x seq 5 permit {mark}\n")
    assert run_codes(tmp_path, capsys, "validate") == (0, set())
    run(["validate", str(tmp_path / "cluster.yaml")])
    assert "o.conf:2:1: warning FAB0085" in "".join(capsys.readouterr())
    assert run(["build", str(tmp_path / "cluster.yaml"), "-o", str(tmp_path / "build")]) == 0
    assert "o.conf:2:1: warning FAB0085" in "".join(capsys.readouterr())
    assert mark in (tmp_path / "build" / "lab" / "switches" / "spine01a" / "frr.conf").read_text()
    accepted = "accept: [{code: FAB0085, reason: the switch expands it}]\n"
    (tmp_path / "cluster.yaml").write_text(spec + accepted)
    run(["validate", str(tmp_path / "cluster.yaml")])
    assert "warning FAB0085" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "line", ["configure terminal", "wr", "commit", "end", "reload", "exit", "do show ip bgp"]
)
def test_commands_of_a_prompt_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC + ENTRY % "tiers: [spine]")
    (tmp_path / "o.conf").write_text(f"{line}\nip prefix-list x seq 5 permit 192.0.2.0/24\n")
    assert compare_verdicts(tmp_path, capsys) == (1, {"FAB0087"})


_CLI = ("eos", "nxos", "frr")
_TYPED = ("configure terminal", "write memory", "commit", "rollback 1", "reload", "end", "exit")


@pytest.mark.parametrize(
    ("nos", "line", "is_command"),
    [
        *((nos, line, True) for nos in _CLI for line in _TYPED),
        *((nos, "router bgp 1\n  bgp log-neighbor-changes\nexit", False) for nos in _CLI),
        ("eos", "banner motd\nshow your badge\nEOF", False),
        ("nxos", "banner motd ^\nreload at noon\n^", False),
        *(
            ("nxos", line, True)
            for line in ("tclsh bootflash:x", "python bootflash:x.py", "guestshell enable")
        ),
        *(
            ("junos", line, True)
            for line in ("commit", "rollback 1", "commit and-quit", "exit", "rollback 1;")
        ),
        *(
            ("junos", line, False)
            for line in ("commit {\n    x;\n}", "commit synchronize;", 'x "delete: y";')
        ),
        *(
            ("junos", line, True)
            for line in ("delete: protocols;", "replace: snmp {\n}", "a {\n    b; delete: c;\n}")
        ),
        *(
            ("cumulus", line, True)
            for line in ("- unset:\n    router: {}", "- {unset: {router: {}}}", '- "unset" : {router: {}}')
        ),
        ("cumulus", "- set:\n    system:\n      hostname: unset", False),
    ],
)
def test_each_system_knows_its_commands(nos: str, line: str, is_command: bool) -> None:
    into = "frr.conf" if nos == "frr" else ""
    found = list(back_ends.load(nos).exec_lines(into, f"{line}\n"))  # type: ignore[attr-defined]
    assert bool(found) is is_command
    assert not any(each.unclosed for each in found)


_SHELLS = ("eos", "nxos", "frr", "sonic")
_VARIANTS = (
    "wri mem",
    "RELOAD",
    "rel now",
    "sh run",
    "conf t",
    "roll 1",
    "reload ! now",
    "exit all",
    "ping 192.0.2.1",
)


@pytest.mark.parametrize(
    ("nos", "line"),
    [
        *((nos, line) for nos in _SHELLS for line in _VARIANTS),
        *((nos, f"{prompt} hostname x") for nos in _SHELLS for prompt in ("sw#", "sw(config)#", "op@sw>")),
        *(
            ("junos", line)
            for line in (
                "set interfaces et-0/0/0 disable", "delete interfaces;", "deactivate protocols bgp",
                "root@sw# set system", "op@sw> show version", "[edit interfaces]", "{master:0}",
                "request system reboot;",
                "system {\n    host-name a; }\ncommit;", "wildcard delete interfaces x", "start shell",
            )
        ),
        ("eos", "delete flash:x"), ("eos", "zerotouch disable"), ("eos", "format flash:"),
        ("nxos", "install all nxos bootflash:x"), ("nxos", "system switchover"), ("nxos", "erase startup-config"),
        ("cumulus", "nv config apply"), ("cumulus", "sudo reboot"), ("cumulus", "cumulus@sw:~$ nv show"),
    ],
)  # fmt: skip
def test_short_and_pasted_commands_are_commands(nos: str, line: str) -> None:
    into = "frr.conf" if nos in ("frr", "sonic") else ""
    first = "snmp;" if nos == "junos" else "ip prefix-list x"
    found = back_ends.load(nos).exec_lines(into, f"{first}\n{line}\n")  # type: ignore[attr-defined]
    each = next(found)
    assert each.number > 1
    assert not each.unfinished


@pytest.mark.parametrize(
    ("nos", "text"),
    [
        ("eos", "flow tracking hardware\n   exporter x\n      format ipfix version 10\n"),
        ("eos", "enable password sha512 x\nrouter bgp 1\n   neighbor x send-community\n   exit\n!\n"),
        ("eos", "event-handler x\n   action bash\n   show this\n   EOF\n"),
        ("nxos", "banner motd #reload#\ninterface Ethernet1/1\n  shutdown\n  exit\n"),
        (
            "nxos",
            "scheduler job name x\ncopy running-config startup-config\n\nend-job\ninstall feature-set fcoe\n",
        ),
        ("frr", "enable password x\nrouter bgp 1\n exit-address-family\nexit\n"),
        (
            "junos",
            'system {\n    commit synchronize;\n    login {\n        message "set x\ncommit";\n    }\n}\n',
        ),
        ("junos", "/*\n commit\n*/\nprotocols {\n    bgp; # set\n}\n"),
        ("cumulus", "- set:\n    system:\n      message:\n        post-login: nv show\n"),
    ],
)
def test_configuration_is_no_command(nos: str, text: str) -> None:
    into = "frr.conf" if nos == "frr" else ""
    assert not list(back_ends.load(nos).exec_lines(into, text))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("nos", "text", "line"),
    [
        ("eos", "hostname x\nbanner motd\nhello\n", 2),
        ("eos", "interface Ethernet1\n   comment\n   hello\n", 2),
        ("nxos", "banner motd ^\nhello\n", 1),
        ("nxos", "banner motd #hello\n", 1),
        ("junos", "system {\n    location {\n        building x; /* hello\n    }\n}\n", 3),
        ("junos", 'system {\n    login {\n        message "a\\";\n    }\n}\n', 3),
    ],
)
def test_a_text_that_nothing_ends_is_found(nos: str, text: str, line: int) -> None:
    found = list(back_ends.load(nos).exec_lines("", text))  # type: ignore[attr-defined]
    assert [(each.number, each.unclosed) for each in found] == [(line, True)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("protocols {\n    lldp {\n        interface et-0/0/9\n    }\n}\n", [3]),
        ("protocols {\n    bgp {\n        hold-time\n            90;\n    }\n}\n", [3]),
        ("system {\n    no-redirects\n    host-name x;\n}\n", [2]),
        ("policy-options {\n    community X members [ 1:1 2:2 ]\n}\n", [2]),
        ('snmp {\n    location "a\n b"\n}\n', [3]),
        ("system\n{\n    host-name x; # why\n}\n", [1]),
        ("policy-options {\n    community X members [ 1:1\n        2:2 ];\n}\n", []),
        ('snmp {\n    location "a\n\n b";\n    contact "c"; /* d */\n}\n', []),
        ("system { services { ssh { root-login deny } } }\n", [1]),
        ("## Last\nsystem { services { ssh { root-login deny; } } }\n/* a\n b */\ninactive: snmp;\n", []),
    ],
)
def test_a_statement_of_junos_ends_on_its_line(text: str, lines: list[int]) -> None:
    found = list(back_ends.load("junos").exec_lines("", text))  # type: ignore[attr-defined]
    assert [each.number for each in found] == lines
    assert all(each.unfinished for each in found)


@pytest.mark.parametrize(
    ("text", "open_lines", "surplus"),
    [
        ("protocols {\n    lldp {\n        interface all;\n    }\n", [4], []),
        ("protocols {\n    bgp {\n        hold-time 9;\n    lldp {\n    }\n}\n", [4], []),
        ("protocols {\n    bgp {\n        hold-time 9;\n}\nsnmp;\n", [4], []),
        ("protocols {\n    bgp {\n        }\n        hold-time 9;\n    }\n}\n", [], [3]),
        ("!RANCID-CONTENT-TYPE: juniper\n!\nsnmp;\n", [], []),
        ("snmp { location x; } } protocols { bgp;\n}\n", [], [1]),
        ("}\nprotocols {\n    bgp;\n}\n", [], [1]),
        ('system {\n    location "{";\n    # }\n}\n', [], []),
    ],
)
def test_braces_of_junos_come_in_pairs(text: str, open_lines: list[int], surplus: list[int]) -> None:
    found = list(back_ends.load("junos").exec_lines("", text))  # type: ignore[attr-defined]
    assert [each.number for each in found if each.unclosed] == open_lines
    assert [each.number for each in found if each.surplus] == surplus


def test_a_text_that_nothing_ends_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = SPEC.replace("linux-16x100, nos: frr", "9332d-gx2b, nos: nxos").replace("lab-host", "dgx-h100")
    entry = "overlays: [{file: o.conf, nos: nxos, tiers: [spine]}]\n"
    (tmp_path / "cluster.yaml").write_text(spec + entry)
    (tmp_path / "o.conf").write_text("banner motd #hello\n")
    assert run_codes(tmp_path, capsys, "validate") == (1, {"FAB2111"})


@pytest.mark.parametrize(
    ("text", "valid"), [("{peer} ;", True), ("a  {peer}", True), (" {peer}", False), ("{peer} ", False)]
)
@pytest.mark.parametrize("key", ["fabric", "host", "session"])
def test_a_description_has_one_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, text: str, valid: bool
) -> None:
    (tmp_path / "cluster.yaml").write_text(f"{SPEC}descriptions: {{{key}: '{text}'}}\n")
    assert compare_verdicts(tmp_path, capsys) == ((0, set()) if valid else (1, {"FAB1006"}))
