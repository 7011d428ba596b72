"""The overlays of the page on company standards, built as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec

PAGE = (Path(__file__).parents[2] / "docs" / "company-standards.md").read_text("utf-8")
MODELS = {"eos": "7060x6-64pe", "nxos": "9364e-sg2", "junos": "qfx5240-64od"}
SPEC = """\
cluster: lab
gpus: {{model: hgx-8gpu, hosts: 2, hosts_per_unit: 2}}
tors: {{model: {model}, nos: {nos}, uplinks: 2}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities: {{rdma: {{dscp: 26, lossless: true}}, cnp: {{dscp: 48, strict: true}}, default: {{}}}}
management:
  ntp: [172.16.0.2]
  syslog: [172.16.0.4]
  syslog_tls: {{ca: logs, port: 6515}}
  banner: Authorized use only.
  snmp: {{users: [{{name: monitor, auth: {{secret: monitor-auth}}, privacy: {{secret: monitor-key}}}}],
         traps: {{servers: [172.16.0.6, "fd00:16::6"], user: monitor}}}}
  users: [{{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}}]
overlays: [{{nos: {nos}, file: standards.cfg}}]
"""


def lines_of(nos: str) -> str:
    (text,) = re.findall(rf"^```{nos}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_the_lines_build_and_are_proved(nos: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(SPEC.format(nos=nos, model=MODELS[nos]))
    (tmp_path / "standards.cfg").write_text(lines_of(nos))
    compiled = compile_spec(tmp_path / "cluster.yaml")
    found = (*compiled.diagnostics, *compiled.write(tmp_path / "out", jobs=1).diagnostics)
    assert [each.message for each in found if each.severity is Severity.ERROR] == []
    written = "".join(each.read_text() for each in (tmp_path / "out").rglob("switches/*/*") if each.is_file())
    assert "Authorized use only." in written
    assert "6515" in written
    assert [each.code for each in compiled.diagnostics].count("FAB5844") == 1
    assert "FABRICC-SECRET-snmp-priv" in written
    assert "FABRICC-SECRET-monitor-key" in written


@pytest.mark.parametrize("nos", ["sonic", "cumulus"])
def test_settings_that_a_system_lacks_are_named_with_what_happens_instead(nos: str, tmp_path: Path) -> None:
    spec = re.sub("overlays:.*", "", SPEC.format(nos=nos, model="sn5600"), flags=re.DOTALL)
    (tmp_path / "cluster.yaml").write_text(spec)
    found = [each for each in compile_spec(tmp_path / "cluster.yaml").diagnostics if each.code == "FAB5841"]
    assert ["SNMP traps" in each.message for each in found].count(True) == 2
    assert ["over UDP 514, unencrypted" in each.message for each in found].count(True) == 2


@pytest.mark.parametrize("nos", MODELS)
def test_each_secret_of_the_page_is_rejected_when_it_is_literal(nos: str, tmp_path: Path) -> None:
    text = lines_of(nos)
    (tmp_path / "cluster.yaml").write_text(SPEC.format(nos=nos, model=MODELS[nos]))
    for name in re.findall(r"FABRICC-SECRET-[a-z-]+", text):
        (tmp_path / "standards.cfg").write_text(text.replace(name, "hunter22"))
        codes = {each.code for each in compile_spec(tmp_path / "cluster.yaml", gaps=False).diagnostics}
        assert "FAB2112" in codes, name


def test_the_remedy_for_snmp_names_no_secret_of_another_service(tmp_path: Path) -> None:
    spec = re.sub(
        r"  snmp: .*\n.*", "  snmp: {location: hall-3}", SPEC.format(nos="eos", model=MODELS["eos"])
    )
    (tmp_path / "cluster.yaml").write_text(spec)
    helps = {each.code: each.help for each in compile_spec(tmp_path / "cluster.yaml").diagnostics}
    assert helps["FAB1002"] == "Add `users`, or `community: {secret: snmp}`."
