"""Templates: the user's own come first, one environment serves a process, and a missing name is an error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from jinja2 import UndefinedError

from fabricc.back.nos import load, templating
from fabricc.back.nos.eos import EOS, FILE
from fabricc.back.nos.templating import set_template_path, template_environment
from fabricc.base import installation
from tests.back.nos.eos.variants import variant
from tests.back.nos.feature_table import FEATURES, MODELS, fabric_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "eos").mkdir()
    yield tmp_path / "eos"
    set_template_path([])


def test_the_environment_is_made_once() -> None:
    assert template_environment("eos") is template_environment("eos")
    assert template_environment("eos") is not template_environment("frr")


def test_compiled_templates_stay_next_to_the_built_in_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eos").mkdir()
    (tmp_path / "eos" / "one.j2").write_text("{{ name }}\n")
    monkeypatch.setattr(installation, "data_folder", lambda _: tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for _ in range(2):
        templating._make_environment.cache_clear()
        assert template_environment("eos").get_template("one.j2").render(name="x") == "x\n"
    templating._make_environment.cache_clear()
    assert len(list((tmp_path / "__pycache__").glob("*.j2c"))) == 1


def test_included_templates_are_compiled_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "data_folder", lambda _: tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for nos in ("eos", "frr"):
        (tmp_path / nos).mkdir()
        (tmp_path / nos / "one.j2").write_text('{% set own = name %}\n{% include "two.j2" %}\nend\n')
    for text in ("{{ own }} 1\n", "{{ own }} 2\n"):
        (tmp_path / "eos" / "two.j2").write_text(text)
        (tmp_path / "frr" / "two.j2").write_text("{{ own }} frr\n")
        templating._make_environment.cache_clear()
        assert (
            template_environment("eos").get_template("one.j2").render(name="x")
            == text.replace("{{ own }}", "x") + "end\n"
        )
        assert template_environment("frr").get_template("one.j2").render(name="x") == "x frr\nend\n"
    templating._make_environment.cache_clear()
    assert len(list((tmp_path / "__pycache__").glob("*.j2c"))) == 2


def test_a_template_of_the_user_replaces_the_built_in_one(own: Path) -> None:
    before = EOS.render(variant("trident-numbered"))[FILE]
    (own / "qos-maps.j2").write_text("!\nqos rewrite dscp\n")
    set_template_path([own.parent])
    after = EOS.render(variant("trident-numbered"))[FILE]
    assert "qos rewrite dscp\n" in after
    assert "qos map dscp" not in after
    set_template_path([])
    assert EOS.render(variant("trident-numbered"))[FILE] == before


def test_a_name_that_the_view_lacks_is_an_error(own: Path) -> None:
    (own / "qos-maps.j2").write_text("{{ switch.nothing }}\n")
    set_template_path([own.parent])
    with pytest.raises(UndefinedError, match="nothing"):
        EOS.render(variant("trident-numbered"))


@pytest.mark.parametrize(("nos", "model"), [pair for pair in MODELS if pair[0] not in ("sonic", "cumulus")])
def test_the_sandbox_of_the_users_templates_prints_the_same(nos: str, model: str, tmp_path: Path) -> None:
    fabric = fabric_of(nos, model, FEATURES["ECN marking"])
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    before = load(nos).render(switch)
    set_template_path([tmp_path])
    try:
        assert load(nos).render(switch) == before
    finally:
        set_template_path([])
