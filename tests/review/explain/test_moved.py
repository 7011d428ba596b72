"""Explain a former name, and the origin of a name that the lock keeps."""

from __future__ import annotations

import shutil
from pathlib import Path

from fabricc.compiler.compiled import compile_spec
from fabricc.review.explain.model import Source
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.questions import explain_name

LAB = Path(__file__).parents[3] / "inventories" / "lab-smallest"


def test_a_former_name_leads_to_what_it_became(tmp_path: Path) -> None:
    shutil.copytree(LAB, tmp_path / "lab")
    spec = tmp_path / "lab" / "cluster.yaml"
    spec.write_text(
        spec.read_text()
        + "moved: {spine01a: spine-east, su001: hall1}\nreplaced: {su002-host01: {by: gpu-9, serial: S9}}\n"
    )
    compiled = compile_spec(spec)
    compiled.lock_path.write_text(compiled.lock_text)
    found = compile_spec(spec)
    plan = PlanSources(found.spec, found.fabric, found.sources, str(found.lock_path), found.lock_text)
    spine = explain_name(plan, "spine01a")
    assert spine.subject == "spine-east"
    assert dict(spine.details)["formerly"] == "spine01a"
    assert "the lock, line" in dict(spine.details)["given name"]
    (name,) = (each for each in spine.statements if each.name == "system/hostname")
    origins = [(each.source, each.key, each.snippet) for each in name.origins]
    assert (Source.LOCK, "name spine01a", "name spine01a spine-east") in origins
    assert dict(explain_name(plan, "su001-tor1a").details)["formerly"] == "su001-tor1a"
    assert (
        dict(explain_name(plan, "su002-host01").details)["in the place of"]
        == "su002-host01, serial number S9"
    )
