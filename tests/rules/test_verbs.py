"""Every rule is a row of one registry, and `check`, `audit` and `diff` run all rows."""

from __future__ import annotations

import pkgutil
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fabricc.rules
from fabricc.base.diagnostics import TITLES, Severity
from fabricc.cli.diff import as_diagnostics
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.prove.finding_groups import FindingGroups
from fabricc.interface import audit_folder, build, check, diff
from fabricc.operate.change.variant import review_variant
from fabricc.proof import Finding
from fabricc.review.report.page import render_report
from fabricc.rules import registry
from fabricc.rules.findings import without_repeats
from fabricc.rules.host_settings import SETTING as HOST_SETTING
from fabricc.rules.rule import TOPICS, FabricRule, HostRule, SwitchRule
from tests.review.diff.edits import edited_tree, spec_with_services

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.rules.rule import Rule

SPEC = """\
cluster: rules
gpus: {model: dgx-h100, racks: 2, hosts_per_rack: 1, wiring: rack}
tors: {model: 7060x6-64pe, nos: eos, oversubscription: 1.0}
spines: {model: 7060x6-64pe, nos: eos}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
management:
  users: [{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr e"}]
"""
DISCARD = """\
overlays:
  - {file: discard.cfg, nos: eos, tiers: [spine]}
accept:
  - {code: FAB6007, reason: the overlay of this test}
"""
SMALL = "mtu: {host: 1500}\n"
VERBS = ("build", "check", "audit", "diff", "diff of trees")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a spec, the spec with an overlay, two other specs, and the trees of the first and last."""
    top = tmp_path_factory.mktemp("rules")
    (top / "cluster.yaml").write_text(SPEC)
    (top / "discard.yaml").write_text(f"{SPEC}  access: [0.0.0.0/0]\n{DISCARD}")
    (top / "discard.cfg").write_text("ip route 10.0.0.0/28 Null0\n")
    (top / "open.yaml").write_text(SPEC + "  access: [0.0.0.0/0]\n")
    (top / "small.yaml").write_text(f"{SPEC}  access: [0.0.0.0/0]\n{SMALL}")
    assert build(top / "cluster.yaml", top / "out", jobs=1).exit_status == 0
    assert build(top / "small.yaml", top / "small", jobs=1).exit_status == 0
    return top


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Rule]:
    """Record the rules that run."""
    found: list[Rule] = []

    def recorded(rule: Any) -> Any:
        find: Callable[..., Iterator[Any]] = rule.find

        def run(*inputs: Any) -> Iterator[Any]:
            found.append(rule)
            yield from find(*inputs)

        return rule._replace(find=run)

    monkeypatch.setattr(registry, "RULES", tuple(map(recorded, registry.RULES)))
    return found


def run_verb(verb: str, folder: Path) -> None:
    """Run a verb on the fabric, in this process."""
    if verb == "build":
        build(folder / "cluster.yaml", folder / "again", jobs=1)
    elif verb == "check":
        check(folder / "out/rules", folder / "cluster.yaml", jobs=1)
    elif verb == "audit":
        audit_folder(folder / "out/rules", jobs=1)
    elif verb == "diff of trees":
        diff(folder / "out/rules", folder / "small/rules", jobs=1)
    else:
        diff(folder / "cluster.yaml", folder / "open.yaml", jobs=1)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_runs_every_rule(verb: str, folder: Path, calls: list[Rule]) -> None:
    run_verb(verb, folder)
    assert [rule for rule in original_rules() if rule not in calls] == []


def original_rules() -> tuple[Rule, ...]:
    """Return the rows of the modules of rules."""
    rows: list[Rule] = []
    for module in pkgutil.iter_modules(fabricc.rules.__path__):
        if module.name != "registry":
            rows += getattr(import_module(f"fabricc.rules.{module.name}"), "RULES", ())
    return tuple(rows)


def test_the_registry_has_every_row() -> None:
    rows = original_rules()
    assert set(registry.RULES) == set(rows)
    assert len(registry.RULES) == len(rows) > 15
    assert all(row.code in TITLES and row.topic in TOPICS for row in rows)
    assert {type(row) for row in rows} == {SwitchRule, FabricRule, HostRule}


def test_faults_on_all_spines_are_found_by_each_verb(folder: Path) -> None:
    """A static discard for the prefix of a ToR, and access for everyone: no neighbor differs.

    The first is found by a rule about all switches, the second by one about a single switch.
    """
    both = {"FAB9660", "FAB9671"}
    built = build(folder / "discard.yaml", folder / "faulty", jobs=1)
    assert grave_codes(built.diagnostics) >= both
    review = diff(folder / "cluster.yaml", folder / "discard.yaml", jobs=1)
    assert grave_codes(review.proof_findings) >= both
    switches = folder / "faulty/.rules.rejected/switches"
    assert grave_codes(audit_folder(switches, jobs=1).diagnostics) >= both


def test_faults_on_all_hosts_are_found_by_each_verb(folder: Path, tmp_path: Path) -> None:
    """Packets of hosts that are too small for RDMA: no host differs from another."""
    plain, small = folder / "cluster.yaml", folder / "small.yaml"
    trees = folder / "out/rules", folder / "small/rules"
    found = {
        "build": build(small, tmp_path, jobs=1).diagnostics,
        "check": check(trees[1], small, jobs=1).diagnostics,
        "audit": audit_folder(trees[1], jobs=1).diagnostics,
        "diff": diff(plain, small, jobs=1).proof_findings,
        "diff of trees": diff(*trees, jobs=1).proof_findings,
        "report": compile_spec(small).proof(),
    }
    assert [verb for verb, each in found.items() if HOST_SETTING not in grave_codes(each)] == []
    places = {verb: places_of(found[verb]) for verb in ("build", "check", "audit")}
    assert places == dict.fromkeys(places, places["audit"]) != {}
    assert re.search(HOST_SETTING, render_report(compile_spec(small)))


def places_of(diagnostics: Any) -> set[tuple[str, int]]:
    """Return the lines of findings about hosts, below the folder of hosts."""
    positions = [each.position for each in diagnostics if each.code == HOST_SETTING]
    return {(each.file.partition("/hosts/")[2], each.line) for each in positions}


@pytest.mark.parametrize(
    ("file", "pattern", "text"),
    [
        ("usr/local/sbin/fabricc-roce", r"\b48,6\b", "48,3"),
        ("etc/nccl.conf", r"TIMEOUT=22", "TIMEOUT=5"),
        ("etc/netplan/60-fabricc.yaml", r"table: 100\n( +r)", r"table: 7\n\1"),
    ],
)
def test_an_edited_host_is_judged_by_check_and_audit_alike(
    file: str, pattern: str, text: str, folder: Path, tmp_path: Path
) -> None:
    tree = tmp_path / "rules"
    shutil.copytree(folder / "out/rules", tree)
    path = tree / "hosts/rack002-host01" / file
    path.write_text(re.sub(pattern, text, path.read_text()))
    checked = check(tree, folder / "cluster.yaml", jobs=1).diagnostics
    assert places_of(checked) == places_of(audit_folder(tree, jobs=1).diagnostics) != set()


FAULTS = {
    "eos": ("o.cfg", "ip route 10.0.0.0/28 Null0\n", ""),
    "nxos": ("o.cfg", "ip route 10.0.0.0/28 Null0\n", ""),
    "frr": ("o.conf", "ip route 10.0.0.0/28 Null0\n", ", into: frr.conf"),
    "sonic": ("o.conf", "ip route 10.0.0.0/28 Null0\n", ", into: frr.conf"),
    "junos": (
        "o.conf",
        "routing-options {\n    static {\n        route 10.0.0.0/28 discard;\n    }\n}\n",
        "",
    ),
    "cumulus": (
        "o.yaml",
        "- set:\n    vrf:\n      default:\n        router:\n          static:\n            10.0.0.0/28:\n"
        "              via:\n                blackhole:\n                  type: blackhole\n",
        "",
    ),
}


@pytest.mark.spread
@pytest.mark.parametrize("nos", FAULTS)
def test_every_verb_lists_the_same_findings(nos: str, tmp_path: Path) -> None:
    name, text, into = FAULTS[nos]
    plain, faulty = tmp_path / "cluster.yaml", tmp_path / "faulty.yaml"
    plain.write_text(spec_with_services(nos))
    (tmp_path / name).write_text(text)
    overlay = f"overlays: [{{file: {name}, nos: {nos}, tiers: [spine]{into}}}]\n"
    faulty.write_text(f"{spec_with_services(nos)}{overlay}")
    built = grave_codes(build(faulty, tmp_path / "out", jobs=1).diagnostics)
    rejected = next((tmp_path / "out").glob(".*.rejected"))
    assert "FAB9660" in built
    assert grave_codes(diff(plain, faulty, jobs=1).proof_findings) == built
    old, new = compile_spec(plain), compile_spec(faulty)
    assert grave_codes(review_variant(old, new, ("old", "new")).proof_findings) == built
    assert set(re.findall(r"FAB(?:6|7|96)\d+", render_report(new))) == built
    assert built <= grave_codes(audit_folder(rejected / "switches", jobs=1).diagnostics)
    assert built <= grave_codes(check(with_switches_of(nos, rejected, tmp_path / "tree"), jobs=1).diagnostics)


def with_switches_of(nos: str, source: Path, folder: Path) -> Path:
    """Return a copy of the sound tree with the files of switches of another tree."""
    texts = [
        {path.name: path.read_text() for path in each.iterdir()}
        for each in sorted((source / "switches").iterdir())
    ]
    later = iter(texts)
    tree, _ = edited_tree(nos, lambda files: files.update(next(later)), folder)
    return tree


def grave_codes(diagnostics: Any) -> set[str]:
    """Return the codes of the errors and warnings of the proof and of the rules."""
    return {
        each.code
        for each in diagnostics
        if each.severity is not Severity.NOTE and each.code.startswith(("FAB6", "FAB7", "FAB96"))
    }


def test_diff_reports_findings_of_the_head_alone(folder: Path) -> None:
    review = diff(folder / "cluster.yaml", folder / "open.yaml", jobs=1)
    found = next(each for each in review.proof_findings if each.code == "FAB9671")
    assert found.position is not None
    assert found.position.file.startswith("rules/switches/rack001-tor1a/")
    (shown,) = (each for each in as_diagnostics(review) if each.message.startswith(found.message))
    assert shown.position is not None
    assert shown.position.file == str(folder / "open.yaml"), "a forge shows places of the repository alone"
    assert f"{found.position.file}:{found.position.line}" in shown.message
    back = diff(folder / "open.yaml", folder / "cluster.yaml", jobs=1)
    assert "FAB9671" not in {each.code for each in back.proof_findings}


def test_one_cause_has_one_finding_at_its_line() -> None:
    shut, idle = Finding("FAB9600", "a", "x", 5, "link shut"), Finding("FAB9675", "b", "x", 5, "shut link")
    elsewhere = idle._replace(line=6)
    alone = Finding("FAB9601", "c", "x", 9, "session BFD")
    unused = Finding("FAB9665", "d", "x", 1, "BFD on no session")
    assert without_repeats([idle, shut, elsewhere]) == [shut, elsewhere]
    assert without_repeats([alone, unused, alone._replace(file="y")]) == [unused, alone._replace(file="y")]
    unplaced = [idle._replace(file="", line=0), shut._replace(file="", line=0)]
    assert without_repeats(unplaced) == unplaced
    unguarded = Finding("FAB9606", "e", "x", 3, "no watchdog")
    breach = Finding("FAB6218", "f", "x", 8, "watchdog")
    assert without_repeats([unguarded, unguarded._replace(file="y")], [breach]) == [
        unguarded._replace(file="y")
    ]
    note = unused._replace(severity=Severity.NOTE)
    assert without_repeats([alone, note]) == [alone, note]
    groups = FindingGroups()
    groups.add([idle, shut, elsewhere, alone])
    assert groups.by_code() == {"FAB9600": 1, "FAB9601": 1, "FAB9675": 1}
    groups.add([unused])
    assert [each.message for each in groups.diagnostics("t")] == ["a", "d", "b"]
