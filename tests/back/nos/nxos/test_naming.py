"""Ports are named after slot and cage, and the child when the cage is split."""

from __future__ import annotations

import pytest

from fabricc.back.nos.nxos import NXOS
from fabricc.catalog import load_catalog
from tests.back.nos.nxos.variants import PATTERNS
from tests.samples import switch_model

MODEL = switch_model(nxos={"family": "cloudscale", **PATTERNS})


@pytest.mark.parametrize(
    ("cage", "child", "children", "name"),
    [
        (1, 1, 1, "Ethernet1/1"),
        (4, 1, 2, "Ethernet1/4/1"),
        (4, 2, 2, "Ethernet1/4/2"),
        (2, 8, 8, "Ethernet1/2/8"),
        (5, 1, 1, "Ethernet1/5"),
    ],
)
def test_a_port_is_named_after_cage_and_child(cage: int, child: int, children: int, name: str) -> None:
    assert NXOS.port_name(MODEL, cage, child, children) == name


@pytest.mark.parametrize(
    ("cage", "child", "children"), [(6, 1, 1), (0, 1, 1), (1, 3, 2), (1, 0, 1), (1, 1, 16)]
)
def test_a_port_that_cannot_be_is_refused(cage: int, child: int, children: int) -> None:
    with pytest.raises(ValueError, match="cage"):
        NXOS.port_name(MODEL, cage, child, children)


@pytest.mark.parametrize(("name", "family"), [("9332d-gx2b", "cloudscale"), ("9364e-sg2", "silicon-one")])
def test_the_catalog_s_switches_are_supported(name: str, family: str) -> None:
    catalog, _ = load_catalog()
    model = catalog.switches[name]
    assert NXOS.supports(model)
    assert model.nos["nxos"]["family"] == family
    assert NXOS.port_name(model, 32, 2, 2) == "Ethernet1/32/2"


def test_a_model_without_settings_is_not_supported() -> None:
    assert NXOS.supports(MODEL)
    assert not NXOS.supports(switch_model())
