"""Templates and overlays of the user's own: used everywhere, proved like the rest, and refused with file and line."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import templating
from fabricc.base.installation import data_folder as installed
from fabricc.compiler.render.switch_files import holds_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

CONF = "build/lab/switches/su001-tor1a/frr.conf"
OVERLAYS = "overlays:\n  - {file: own.conf, nos: frr, into: frr.conf, tiers: [tor]}\n"


@pytest.fixture
def own(repo: Path) -> Iterator[Path]:
    """A folder with the user's copy of one template."""
    folder = repo / "own" / "frr"
    folder.mkdir(parents=True)
    (folder / "frr.conf.j2").write_text((installed("templates") / "frr" / "frr.conf.j2").read_text())
    yield folder / "frr.conf.j2"
    templating.set_template_path(())


def add_overlay(repo: Path, text: str, entry: str = OVERLAYS) -> None:
    (repo / "own.conf").write_text(text)
    spec = repo / "cluster.yaml"
    spec.write_text(spec.read_text().partition("overlays:")[0] + entry)


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.spread
def test_a_template_of_the_users_own_is_used_by_every_worker(
    repo: Path, own: Path, fabricc: Fabricc, jobs: str
) -> None:
    own.write_text(own.read_text() + "! ours\n")
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", jobs)
    assert ran.status == 0, ran.err
    files = sorted((repo / "build/lab/switches").glob("*/frr.conf"))
    assert len(files) == 6
    assert all(file.read_text().endswith("! ours\n") for file in files)
    assert "templates:frr/frr.conf.j2" in json.loads((repo / "build/lab/manifest.json").read_text())["inputs"]
    checked = fabricc("check", "build/lab")
    assert checked.status == 0
    assert "FAB6014" not in checked.err


@pytest.mark.slow
def test_a_changed_template_is_noticed_and_one_left_out_too(repo: Path, own: Path, fabricc: Fabricc) -> None:
    fabricc("build", "cluster.yaml", "--templates", "own")
    assert "all up to date" in fabricc("build", "cluster.yaml", "--templates", "own").out
    own.write_text(own.read_text() + "! ours\n")
    assert "all up to date" not in fabricc("build", "cluster.yaml", "--templates", "own").out
    assert "FAB6014" not in fabricc("check", "build/lab", "--templates", "own").err
    own.write_text(own.read_text() + "! more\n")
    assert "FAB6014" in fabricc("check", "build/lab", "--templates", "own").err
    ran = fabricc("build", "cluster.yaml")
    assert "all up to date" not in ran.out
    assert "! ours" not in (repo / CONF).read_text()


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"{% for %}\n", "syntax"),
        (b"{# no end\n", "Missing end of comment"),
        (b"{{ router.nothing }}\n", "'router' is undefined"),
        (b"{{ 1 // 0 }}\n", "by zero"),
        (b'{% include "none.j2" %}\n', "there is no template none.j2"),
        (b"{{ ''.__class__.__mro__ }}\n", "unsafe"),
    ],
)
@pytest.mark.spread
def test_a_faulty_template_is_named_with_its_line(
    repo: Path, own: Path, fabricc: Fabricc, jobs: str, bad: bytes, why: str
) -> None:
    line = own.read_text().count("\n") + 1
    own.write_bytes(own.read_bytes() + bad)
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", jobs)
    assert ran.status == 3
    assert f"own/frr/frr.conf.j2:{line}:1: error FAB7012: " in ran.err
    assert why in ran.err
    assert not re.search(r"[A-Z][a-z]+(?:Error|NotFound)\b", ran.err), "the name of an exception"
    assert "Traceback" not in ran.err
    assert not (repo / "build/lab").exists()


def test_a_review_names_a_faulty_template_too(repo: Path, own: Path, fabricc: Fabricc) -> None:
    (repo / "after.yaml").write_text(
        (repo / "cluster.yaml").read_text() + "overlays: [{file: o, nos: frr, into: daemons}]\n"
    )
    (repo / "o").write_text("ospfd=no\n")
    own.write_text("{{ nothing }}\n")
    ran = fabricc("diff", "cluster.yaml", "after.yaml", "--templates", "own")
    assert ran.status == 3 or ran.status == 1
    assert "own/frr/frr.conf.j2:1:1: error FAB7012" in ran.err


def test_templates_that_include_one_another_in_a_circle_are_named(own: Path, fabricc: Fabricc) -> None:
    line = own.read_text().count("\n") + 1
    own.write_text(own.read_text() + '{% include "daemons.j2" %}\n')
    (own.parent / "daemons.j2").write_text('x\n{% include "frr.conf.j2" %}\n')
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", "1")
    assert ran.status == 3
    assert "FAB7012" in ran.err
    assert "it includes itself: " in ran.err
    assert f"own/frr/frr.conf.j2:{line}:1" in ran.err or "own/frr/daemons.j2:2:1" in ran.err


def test_a_macro_that_calls_itself_is_named(own: Path, fabricc: Fabricc) -> None:
    own.write_text(own.read_text() + "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}\n")
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", "1")
    assert ran.status == 3
    assert "FAB7012" in ran.err
    assert "it includes or calls itself without end" in ran.err


@pytest.mark.parametrize(
    "more", ["{% include 3 %}", "{% include ['none.j2', 4] ignore missing %}", "{{ " + "(" * 2000]
)
def test_own_templates_with_dead_references_are_reported(own: Path, fabricc: Fabricc, more: str) -> None:
    own.write_text(f"{own.read_text()}{more}\n")
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", "1")
    assert ran.status in (0, 3)
    assert ran.status == 0 or "FAB7012" in ran.err, ran.err


def test_a_template_that_ends_may_include_itself(own: Path, repo: Path, fabricc: Fabricc) -> None:
    again = "{% if again is not defined %}{% set again = true %}{% include 'frr.conf.j2' %}{% else %}"
    again += own.read_text() + "{% endif %}"
    own.write_text(again)
    ran = fabricc("build", "cluster.yaml", "--templates", "own", "-j", "1")
    assert ran.status == 0, ran.err
    assert "hostname" in next((repo / "build/lab/switches").glob("*/frr.conf")).read_text()


def test_a_template_that_is_no_text_is_named(repo: Path, own: Path, fabricc: Fabricc) -> None:
    own.write_bytes(b"\xff\xfe")
    ran = fabricc("build", "cluster.yaml", "--templates", "own")
    assert "own/frr/frr.conf.j2:1:1: error FAB7012" in ran.err


def test_output_of_own_templates_is_proved(repo: Path, own: Path, fabricc: Fabricc) -> None:
    own.write_text(own.read_text().replace("maximum-paths {{", "maximum-paths 1{{", 1))
    ran = fabricc("build", "cluster.yaml", "--templates", "own")
    assert ran.status == 1
    assert "error FAB600" in ran.err
    assert "bgp/maximum_paths" in ran.err
    assert not (repo / "build/lab").exists()


def test_a_folder_that_replaces_nothing_is_reported(repo: Path, fabricc: Fabricc) -> None:
    (repo / "wrong" / "fr").mkdir(parents=True)
    assert "warning[FAB7013]: wrong" in fabricc("build", "cluster.yaml", "--templates", "wrong").err


def test_a_template_under_a_name_that_nothing_prints_is_reported(
    repo: Path, own: Path, fabricc: Fabricc
) -> None:
    for former in ("eos/routing.j2", "nxos/qos.j2", "frr/mine.j2", "frr/part.j2"):
        (own.parents[1] / former).parent.mkdir(exist_ok=True)
        (own.parents[1] / former).write_text("!\n")
    own.write_text(own.read_text() + '{% include "part.j2" %}\n')
    reported = fabricc("build", "cluster.yaml", "--templates", "own").err
    assert "warning[FAB7013]: eos/routing.j2 " in reported
    assert (
        "what it printed is now in eos/access-lists.j2, eos/prefix-lists.j2 and eos/running-config.j2"
        in reported
    )
    assert "what it printed is now in nxos/queuing.j2" in reported
    assert "warning[FAB7013]: frr/mine.j2 " in reported
    assert reported.count("FAB7013") == 3, "own/frr/frr.conf.j2 replaces one, and includes part.j2"


def test_every_template_that_had_another_name_is_known_by_those_of_today() -> None:
    for former, now in templating._FORMER.items():
        assert not (installed("templates") / former).exists()
        assert all((installed("templates") / name).is_file() for name in re.findall(r"[\w/-]+\.j2", now))


def test_an_overlay_is_written_known_and_demanded(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(
        repo, "router bgp *\n bgp bestpath compare-routerid\n!\nip prefix-list OURS seq 5 permit any\n"
    )
    ran = fabricc("build", "cluster.yaml", "-j", "3")
    assert ran.status == 0, ran.err
    assert "FAB6004" not in ran.err
    text = (repo / CONF).read_text()
    assert " bgp bestpath compare-routerid\n" in text
    assert "compare-routerid" not in (repo / "build/lab/switches/spine01a/frr.conf").read_text()
    assert fabricc("check", "build/lab").status == 0
    (repo / CONF).write_text(text.replace(" bgp bestpath compare-routerid\n", ""))
    block = next(at for at, line in enumerate(text.split("\n"), 1) if line.startswith("router bgp"))
    assert f"{CONF}:{block}:1: error FAB6005: su001-tor1a: the line" in fabricc("check", "build/lab").err


def test_an_overlay_cannot_change_what_is_planned(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(repo, "router bgp *\n timers bgp 7 21\n")
    ran = fabricc("build", "cluster.yaml")
    assert ran.status == 1
    assert "error FAB6002: su001-tor1a: bgp/keepalive_s is 7 in the file" in ran.err


REMOVING = OVERLAYS.replace("tiers: [tor]", "removes: true") + (
    "  - {file: more.conf, nos: frr, into: frr.conf}\n"
)


def test_lines_that_an_overlay_removes_are_reported_and_can_be_accepted(repo: Path, fabricc: Fabricc) -> None:
    block = "router bgp *\n address-family ipv4 unicast\n"
    (repo / "more.conf").write_text(block + "  maximum-paths 32\n")
    add_overlay(repo, block + "  maximum-paths *\n  nothing like it\n", REMOVING)
    ran = fabricc("build", "cluster.yaml", "-j", "3")
    assert ran.status == 0, ran.err
    assert (
        "warning FAB6007: su001-tor1a: by an overlay bgp/maximum_paths is 32, and 64 in the plan" in ran.err
    )
    assert "own.conf:4:1: warning FAB2113" in ran.err
    text = (repo / CONF).read_text()
    assert text.count("maximum-paths") == text.count("  maximum-paths 32\n") == 1
    accepting = REMOVING + "accept: [{code: FAB6007, reason: as it runs today}]\n"
    add_overlay(repo, block + "  maximum-paths *\n", accepting)
    ran = fabricc("build", "cluster.yaml")
    assert (ran.status, "warning FAB6007" in ran.err) == (0, False), ran.err
    (repo / CONF).write_text(text.replace("maximum-paths 32", "maximum-paths 64"))
    reported = fabricc("check", "build/lab").err
    assert "error FAB6002: su001-tor1a: bgp/maximum_paths is 64 in the file and 32 in the plan" in reported


def test_another_description_by_an_overlay_is_a_note(repo: Path, fabricc: Fabricc) -> None:
    (repo / "more.conf").write_text("interface swp9\n description a port of the lab\n")
    add_overlay(repo, "interface swp9\n description *\n", REMOVING)
    ran = fabricc("build", "cluster.yaml")
    assert ran.status == 0, ran.err
    assert "note FAB6007: su001-tor1a: by an overlay interface[swp9]/description is a port of" in ran.err


def test_an_invariant_that_an_overlay_breaks_is_reported_until_it_is_accepted(
    repo: Path, fabricc: Fabricc
) -> None:
    block = "router bgp *\n address-family ipv4 unicast\n"
    (repo / "more.conf").write_text(block + "  maximum-paths 1\n")
    add_overlay(repo, block + "  maximum-paths *\n", REMOVING)
    ran = fabricc("build", "cluster.yaml")
    assert (ran.status, "error FAB6209" in ran.err) == (1, True)
    accepting = REMOVING + "accept: [{code: FAB6209, reason: as it runs today}]\n"
    add_overlay(repo, block + "  maximum-paths *\n", accepting)
    ran = fabricc("build", "cluster.yaml")
    assert (ran.status, "note FAB6209" in ran.err) == (0, True)


def test_a_line_that_no_overlay_has_is_unknown_as_ever(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(repo, "router bgp *\n bgp bestpath compare-routerid\n")
    fabricc("build", "cluster.yaml")
    (repo / CONF).write_text((repo / CONF).read_text() + "bgp bestpath compare-routerid\n")
    assert "FAB6004" in fabricc("check", "build/lab").err


@pytest.mark.slow
def test_a_changed_overlay_is_noticed_and_reviewed_against_its_revision(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(repo, "log timestamp precision 3\n")
    fabricc("build", "cluster.yaml")
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.net")
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], check=True, timeout=60)
    add_overlay(repo, "log timestamp precision 6\n")
    reviewed = fabricc("diff", "cluster.yaml", "--base", "HEAD")
    assert reviewed.status == 0, reviewed.err
    assert "+log timestamp precision 6" in reviewed.out
    assert "FAB6014" in fabricc("check", "build/lab").err
    assert "all up to date" not in fabricc("build", "cluster.yaml").out


@pytest.mark.parametrize(
    ("text", "entry", "code", "place"),
    [
        ("interface Vlan*\n shutdown\n", OVERLAYS, "FAB2111", "own.conf:1"),
        ("a\n\tb\n", OVERLAYS, "FAB2111", "own.conf:2"),
        ("a\n", OVERLAYS.replace("frr.conf", "bird.conf"), "FAB2111", "own.conf:1"),
        ("a\n", OVERLAYS.replace("own.conf", "none.conf"), "FAB2110", "cluster.yaml:"),
        ("a\nneighbor UP password hunter2\n", OVERLAYS, "FAB2112", "own.conf:2"),
        ("a\n", OVERLAYS.replace("nos: frr", "nos: eos"), "FAB2113", "cluster.yaml:"),
        ("a\n", OVERLAYS.replace("tiers: [tor]", "devices: [nobody]"), "FAB2113", "cluster.yaml:"),
        ("a\n", OVERLAYS.replace("own.conf", "../own.conf"), "FAB1", "cluster.yaml:"),
    ],
)
def test_invalid_overlays_are_rejected_before_writing(
    repo: Path, fabricc: Fabricc, text: str, entry: str, code: str, place: str
) -> None:
    add_overlay(repo, text, entry)
    ran = fabricc("validate", "cluster.yaml")
    assert code in ran.err
    assert place in ran.err
    assert (ran.status == 0) == ("nos: eos" in entry)


def test_an_overlay_outside_the_folder_of_the_spec_is_refused(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(repo, "")
    (repo / "own.conf").unlink()
    (repo / "own.conf").symlink_to("/etc/hostname")
    assert "FAB2110" in fabricc("validate", "cluster.yaml").err


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("   neighbor UP send-community standard large", False), ("   set community 65535:0 additive", False),
        ("   match community GSHUT", False), ("    community GSHUT members 65535:0;", False),
        ("      community add GSHUT;", False), ("   from community GSHUT;", False),
        ("snmp-server community public ro", True), ("set snmp community public", True),
        ("    community public {", True), ("   set password hunter2", True), ("   neighbor UP password 7 00", True),
    ],
)  # fmt: skip
def test_communities_of_routes_are_no_secrets(line: str, secret: bool) -> None:
    assert holds_secret(line) is secret


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("snmp-server user ops OPS v3 auth sha hunter22 priv aes hunter22", True),
        ("snmp-server user ops network-operator auth sha-256 hunter22 priv aes-128 hunter22", True),
        ("snmp-server user ops OPS v3 auth sha FABRICC-SECRET-a priv aes hunter22", True),
        ("snmp-server user ops OPS v3 auth sha hunter22 priv aes FABRICC-SECRET-b", True),
        ("snmp-server user ops OPS v3 auth sha FABRICC-SECRET-a priv aes FABRICC-SECRET-b", False),
        ("snmp-server group OPS v3 priv", False), ("snmp-server host 192.0.2.1 version 3 priv ops", False),
        ("ntp authentication-key 1 sha1 hunter22", True), ("ntp authentication-key 1 md5 7 0110", True),
        ("ntp authentication-key 1 sha1 FABRICC-SECRET-ntp", False), ("ntp trusted-key 1", False),
        ("authentication-key 1 type sha256 value FABRICC-SECRET-ntp;", False), ("authentication-key 1 {", False),
        ('value "$9$abc";', True), ("authentication-key hunter22;", True), ("   ntp authenticate", False),
        ("    authentication-order [ radius password ];", False), ("authentication-password hunter22;", True),
        ("radius-server host 192.0.2.9 key 7 FABRICC-SECRET-radius", False),
        ("radius-server host 192.0.2.9 key FABRICC-SECRET-radius authentication accounting", False),
        ("radius-server host 192.0.2.9 key 7 0110", True), ('password "FABRICC-SECRET-a";', False),
    ],
)  # fmt: skip
def test_secrets_of_snmp_ntp_and_radius_are_references(line: str, secret: bool) -> None:
    assert holds_secret(line) is secret


def test_a_reference_to_a_secret_is_no_secret(repo: Path, fabricc: Fabricc) -> None:
    add_overlay(repo, "router bgp *\n neighbor UPSTREAM-V4 password FABRICC-SECRET-bgp\n")
    reported = fabricc("build", "cluster.yaml").err
    assert "FAB2112" not in reported
    assert "FAB9601" in reported  # the other end has no password


PLANS = {
    "maintain": ("maintain", "spine01a", "cluster.yaml", "--window", "2h"),
    "upgrade": ("upgrade", "cluster.yaml", "--to", "frr-10.6", "--keep", "50%"),
    "migrate": ("migrate", "before.yaml", "cluster.yaml"),
    "explain": ("explain", "cluster.yaml", "spine01a"),
}


@pytest.mark.parametrize("verb", PLANS)
def test_a_plan_has_the_errors_and_warnings_of_the_build(repo: Path, fabricc: Fabricc, verb: str) -> None:
    (repo / "before.yaml").write_text((repo / "cluster.yaml").read_text())
    (repo / "less.conf").write_text("router bgp *\n address-family ipv4 unicast\n  maximum-paths *\n")
    less = "  - {file: less.conf, nos: frr, into: frr.conf, tiers: [spine], removes: true}\n"
    add_overlay(repo, "ip route 10.0.0.0/30 blackhole\n", OVERLAYS.replace("tor", "spine") + less)
    ran = fabricc(*PLANS[verb])
    assert ran.status == 1
    found = re.findall(r"(?:error|warning) FAB\d+", ran.out + ran.err)
    assert {"error FAB9660", "warning FAB6007"} <= {*found}
    if verb != "upgrade":  # it compares another release
        assert "warning FAB5202" not in found, "of the spec, which `build` lists"


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("no password strength-check", False),
        ("   password minimum length 8", False),
        ("password encryption-key common", False),
        ("    password {", False),
        ("set system login password minimum-length 12", False),
        ("        format sha512;", False),
        ("set system login password format sha512", False),
        ("password format $6$mgzi6Zcg$aN7JWIh5w", True),
        ("password encryption reversible 0822455D0A16", True),
        ("password policy", True),
        ("username x password policy STRONG", True),
        ("password 7 0822455D0A16", True),
    ],
)
def test_a_rule_for_passwords_is_no_secret(line: str, secret: bool) -> None:
    assert holds_secret(line) is secret
