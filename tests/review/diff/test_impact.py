"""The rule table: complete for what the back ends state, sourced, and careful where it knows nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.back import nos as back_ends
from fabricc.back.hosts import back_end as host_files
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric import facts
from fabricc.review.diff.impact import TABLE, rules, verdict
from fabricc.review.diff.model import Impact
from fabricc.review.diff.view import host_view, switch_view
from tests.review.diff.conftest import INVENTORIES

UNKNOWN = "no rule describes it"
ETHERNET = sorted(
    spec.parent.name
    for spec in INVENTORIES.glob("*/cluster.yaml")
    if "fabric: infiniband" not in spec.read_text("utf-8")
)

if TYPE_CHECKING:
    from fabricc.review.diff.view import DeviceView


def subjects(view: DeviceView) -> set[str]:
    found = set()
    for path in view.facts:
        if path.startswith(facts.STRUCTURE):
            continue
        word, role, _, rest = view.place(path)
        found.add(f"{word}[{role}]{rest}" if word else path)
    return found


@pytest.mark.parametrize("inventory", ETHERNET)
def test_every_fact_of_every_inventory_has_a_rule_of_its_own(inventory: str) -> None:
    fabric = compile_spec(INVENTORIES / inventory / "cluster.yaml").fabric
    assert fabric is not None
    stated: set[str] = set()
    for place in fabric.kinds():
        switch = fabric.switch(place)
        stated |= subjects(switch_view(switch, back_ends.load(switch.nos).planned(switch), 1))  # type: ignore[arg-type]
    host = fabric.host(next(fabric.host_ids()))
    stated |= subjects(host_view(host, host_files.planned(host), 1))  # type: ignore[arg-type]
    specific = rules()[:-1]
    unknown = {
        re.sub(r"\[[^]]*\]", "[]", s) for s in stated if not any(r.pattern.fullmatch(s) for r in specific)
    }
    assert unknown == set()


@pytest.mark.parametrize("nos", sorted(back_ends.names()))
def test_every_fact_that_a_switch_can_have_has_a_rule_on_every_nos(nos: str) -> None:
    """Paths as `fabric.facts` spells them in its source, so that a new one cannot be forgotten."""
    source = Path(facts.__file__).read_text("utf-8")
    stems = set(re.findall(r'facts\[(?:prefix \+ |queue \+ )?f?"([^"{[]+)', source))
    assert len(stems) > 30
    specific = rules()[:-1]
    for stem in stems:
        forms = (stem, f"{stem}[x]", f"{stem}x", f"interface[up]/{stem}", f"session[up]/{stem}",
                 f"interface[up]/queue[3]/{stem}")  # fmt: skip
        rule = next((r for form in forms for r in specific if r.pattern.fullmatch(form)), None)
        assert rule is not None, stem
        assert rule.by_nos.get(nos, rule.default).source


def test_the_settings_of_a_spec_have_rules() -> None:
    whys = {
        path: verdict(f"{path}x" if path.endswith("/") else path, "~", "sonic").why for path in facts.SETTINGS
    }
    assert [path for path, why in whys.items() if why == UNKNOWN] == []


def test_every_row_and_exception_names_a_source_and_a_reason() -> None:
    for row in yaml.safe_load(TABLE.read_text("utf-8"))["rules"]:
        assert row["source"]
        assert row["why"]
        for name, entry in row.get("nos", {}).items():
            assert entry["source"], name
            assert name in back_ends.names()


def test_what_no_rule_describes_is_taken_to_lose_traffic() -> None:
    assert verdict("flux/capacitor", "~", "sonic").impact is Impact.TRAFFIC_LOSS


@pytest.mark.parametrize(
    ("subject", "op", "nos", "impact"),
    [
        ("interface[up]/headroom/size_bytes", "~", "sonic", Impact.RELOAD),
        ("interface[up]/headroom/size_bytes", "~", "eos", Impact.TRAFFIC_LOSS),
        ("interface[host]/description", "~", "eos", Impact.NONE),
        ("interface[up]/ipv4", "~", "eos", Impact.SESSION_RESET),
        ("interface[host]/ipv4", "~", "eos", Impact.TRAFFIC_LOSS),
        ("session[up]/maximum_prefixes", "~", "frr", Impact.HITLESS),
        ("session[up]/remote_asn", "~", "frr", Impact.SESSION_RESET),
        ("link[down]", "+", "eos", Impact.HITLESS),
        ("link[down]", "-", "eos", Impact.TRAFFIC_LOSS),
        ("route_map[TO-UPSTREAM]/20", "~", "eos", Impact.HITLESS),
        ("management/ntp", "~", "eos", Impact.NONE),
        ("nccl/dscp", "~", "host", Impact.NONE),
    ],
)
def test_rules(subject: str, op: str, nos: str, impact: Impact) -> None:
    assert verdict(subject, op, nos).impact is impact
