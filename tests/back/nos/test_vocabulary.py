"""Every fact that a back end, a host or a review states is declared by one row, and every row is stated by somebody."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from importlib.metadata import EntryPoint
from ipaddress import ip_interface
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from jsonschema import Draft202012Validator

from fabricc.back import nos as back_ends
from fabricc.back.nos import BUILT_IN
from fabricc.base.documents.schema import schema_path
from fabricc.fabric.facts import SETTINGS, congestion_facts, setting_facts, switch_facts
from fabricc.fabric.vocabulary import STRUCTURE
from fabricc.fabric.vocabulary import __file__ as waist
from fabricc.front.spec.document import cluster_schema
from fabricc.review.diff.fact_impact import judge_statement, row_of, vocabulary_of
from fabricc.review.diff.model import Impact
from fabricc.review.diff.view import host_view, switch_view
from tests.review.explain.fabrics import (
    INVENTORIES,
    back_samples,
    host_facts,
    pick_subjects,
    plan_inventory,
    settings_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.vocabulary import Vocabulary

ROOM = Path(waist).parents[1]
NEUTRAL = ROOM / "fabric" / "vocabulary.yaml"
BEYOND = ROOM / "fabric" / "beyond.yaml"
FILES = [
    NEUTRAL,
    ROOM / "back" / "hosts" / "facts.yaml",
    *(ROOM / "back" / "nos" / nos / "facts.yaml" for nos in sorted(BUILT_IN)),
]
OF_REVIEWS = {
    "link[*]", "link[*] left", "interface[*]/port", "bgp/neighbor[*]/remote", "bgp/neighbor[*] beside",
    "bgp/neighbor[*] gone", "prefix_list[*]/entry[*]", "text", "text/ended[*]", "text/harmless", "text/vouched",
}  # fmt: skip
"""Facts that only a comparison of two fabrics states."""
OF_OTHERS = {
    "lldp/enabled",
    *(f"qos/queue[*]/{each}" for each in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent")),
}
"""Facts that no build writes: every fabric has LLDP, and marks only the queues that it configures."""


def stated_by(nos: str) -> Iterator[Facts]:
    """The facts of every sample and setting: planned, and read back; `waist` for those of the Fabric."""
    if nos == "waist":
        for switch in (switch for each in BUILT_IN for switch in (*back_samples(each), *settings_of(each))):
            yield switch_facts(switch) | setting_facts(switch) | congestion_facts(switch.qos)
        return
    if nos == "host":
        yield from host_facts()
        return
    back_end = back_ends.load(nos)
    for switch in (*back_samples(nos), *settings_of(nos)):
        yield back_end.planned(switch)
    for switch in back_samples(nos):
        yield back_end.read(back_end.render(switch)).facts


@cache
def of_inventories() -> dict[str, list[Facts]]:
    """The facts of devices of all inventories by NOS, with what a review adds."""
    found: dict[str, list[Facts]] = {nos: [] for nos in ("host", "waist", *BUILT_IN)}
    for name in INVENTORIES:
        for subject in pick_subjects(plan_inventory(name)):
            device = subject.device
            if subject.on == "host":
                found["host"].append(host_view(device, subject.planned, 1).facts)  # type: ignore[arg-type]
                continue
            found[subject.nos].append(switch_view(device, subject.planned, 1).facts)  # type: ignore[arg-type]
            qos = congestion_facts(device.qos)  # type: ignore[union-attr]
            found["waist"].append(switch_facts(device) | setting_facts(device) | qos)  # type: ignore[arg-type]
    return found


@cache
def stated_values(nos: str) -> dict[str, set[Value]]:
    """Path -> values of all facts that there are of a NOS."""
    found: dict[str, set[Value]] = {}
    for facts in (*stated_by(nos), *of_inventories()[nos]):
        for path, value in facts.items():
            found.setdefault(path, set()).add(value)
    return found


def fits_type(kind: str | tuple[str, ...], value: Value) -> bool:
    """Return whether a value is of a type."""
    if not isinstance(kind, str):
        return value in kind
    parts = str(value).split(",") if value != "" else []
    match kind.partition(" ")[0]:
        case "integer":
            return isinstance(value, int)
        case "boolean":
            return value in ("true", "false")
        case "numbers":
            return all(part.isdecimal() for part in parts)
        case "address" | "addresses":
            return (kind == "addresses" or len(parts) == 1) and all(map(is_address, parts))
        case _:
            return isinstance(value, str)


def is_address(text: str) -> bool:
    try:
        return bool(ip_interface(text))
    except ValueError:
        return False


@pytest.mark.spread
@pytest.mark.parametrize("nos", ["waist", "host", *BUILT_IN])
def test_every_fact_has_a_row_and_a_value_of_its_type(nos: str) -> None:
    facts = stated_values(nos)
    assert len(facts) > 100
    rows = {path: vocabulary_of(nos).row(path) for path in facts}
    assert {path for path, row in rows.items() if not row.declared} == set()
    wrong = {
        (path, str(v)) for path, values in facts.items() for v in values if not fits_type(rows[path].type, v)
    }
    assert wrong == set()


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["waist", "host", *BUILT_IN])
def test_one_row_alone_declares_a_fact(nos: str) -> None:
    """A key that is written out, such as `[ssh/ipv6]`, is an exception to the same path with a star."""
    rows = [re.compile(path_pattern(name)) for name in vocabulary_of(nos).rows]
    shapes = {re.sub(r"\[[^]]*\]", "[*]", path) for path in stated_values(nos)}
    assert {shape for shape in shapes if sum(bool(row.fullmatch(shape)) for row in rows) != 1} == set()


def path_pattern(name: str) -> str:
    starred = re.escape(name).replace(r"\[\*\]", "\0").replace(r"\*", r"[^/\[]+").replace(r"\#", r"\d+")
    return starred.replace("\0", r"\[\*\]")


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_every_vocabulary_row_is_stated_by_a_back_end(file: Path) -> None:
    own = "waist" if file == NEUTRAL else "host" if file.parent.name == "hosts" else file.parent.name
    requested = ["waist", "host", *BUILT_IN] if own == "waist" else [own]
    found = {vocabulary_of(nos).declared(path) for nos in requested for path in stated_values(nos)}
    assert yaml.safe_load(file.read_text("utf-8"))["facts"].keys() - found - OF_REVIEWS - OF_OTHERS == set()


@pytest.mark.parametrize("file", [*FILES, BEYOND], ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_files_fit_the_schema(file: Path) -> None:
    schema = json.loads(schema_path("facts").read_text("utf-8"))
    document = yaml.safe_load(file.read_text("utf-8"))
    assert [breach.message for breach in Draft202012Validator(schema).iter_errors(document)] == []


@pytest.mark.parametrize("nos", ["waist", "host", *BUILT_IN])
def test_rows_name_reasons_impacts_and_themes_that_there_are(nos: str) -> None:
    words: Vocabulary = vocabulary_of(nos)
    for name in words.rows:
        row = words.row(name)
        assert row.means, name
        assert row.theme in words.themes, name
        assert set(row.impact.values()) <= words.impacts.keys(), name
        assert row.words.format(key="", rest="", path="") is not None
    for each in words.impacts.values():
        assert each.source
        assert each.why


def test_facts_follow_from_sections_that_a_spec_has() -> None:
    for nos in ("host", *BUILT_IN):
        words = vocabulary_of(nos)
        named = frozenset().union(*(words.row(name).follows for name in (*words.rows, *words.families)))
        assert named <= cluster_schema()["properties"].keys()


def test_settings_are_of_declared_facts() -> None:
    names = vocabulary_of("waist").rows
    for beginning in SETTINGS:
        assert any(name.startswith(beginning) for name in names), beginning


def test_parts_of_a_text_are_of_one_system_alone() -> None:
    neutral = yaml.safe_load(NEUTRAL.read_text("utf-8"))["facts"]
    assert [name for name in neutral if name.startswith(STRUCTURE)] == []


def test_undeclared_paths_inherit_from_their_family() -> None:
    row = vocabulary_of("sonic").row("management/theirs[a]/thing")
    assert (row.declared, row.impact, row.theme) == (False, {"else": "quiet"}, "management")
    assert row_of("theirs/thing", "sonic").reason is None
    assert judge_statement("theirs/thing", "~", "sonic").impact is Impact.TRAFFIC_LOSS


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of a third party's back end, and its rows."""
    package = tmp_path / "fabricc_theirs"
    package.mkdir()
    (package / "__init__.py").write_text("THEIRS = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("theirs", "fabricc_theirs:THEIRS", "fabricc.nos")
    monkeypatch.setattr(back_ends, "_entry_points", lambda: [point])
    caches = (back_ends.load_vocabulary, vocabulary_of, judge_statement)
    for each in caches:
        each.cache_clear()
    yield package / "facts.yaml"
    for each in caches:
        each.cache_clear()
    sys.modules.pop("fabricc_theirs", None)


def test_a_third_party_declares_its_own_facts(theirs: Path) -> None:
    theirs.write_text(
        "impacts: {buffers: {impact: hitless, source: their guide}}\n"
        "facts:\n"
        "  theirs/[*]/thing: {type: boolean, means: a thing, like: bgp/hold_s, impact: quiet}\n"
        "  interface[*]/mtu: {impact: unknown}\n"
    )
    row = vocabulary_of("theirs").row("theirs/[7]/thing")
    assert (row.declared, row.means) == (True, "a thing")
    assert row.reason == vocabulary_of("waist").row("bgp/hold_s").reason
    assert judge_statement("theirs/[7]/thing", "~", "theirs").impact is Impact.NONE
    assert judge_statement("pool/headroom_bytes", "~", "theirs").source == "their guide"
    assert judge_statement("interface[up]/mtu", "~", "theirs").why == "no rule describes it"
    assert vocabulary_of("waist").row("interface[*]/mtu").impact == {"else": "mtu"}


def test_a_third_party_without_rows_has_those_of_the_waist(theirs: Path) -> None:
    assert not theirs.exists()
    assert vocabulary_of("theirs") is vocabulary_of("waist")


def test_a_key_that_rows_do_not_have_is_refused(theirs: Path) -> None:
    theirs.write_text("facts: {theirs/thing: {tpye: boolean}}\n")
    with pytest.raises(ValueError, match=r"facts\.yaml: tpye in the row of theirs/thing"):
        vocabulary_of("theirs")
