"""Habits of a house as words of the spec: limits of BGP, what describes ports and sessions, what unused ports state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from fabricc import compile_spec
from fabricc.base.diagnostics import Severity

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

MODELS = {
    "eos": "7060x6-64pe", "nxos": "9364d-gx2a", "junos": "qfx5240-64od", "cumulus": "sn5600", "sonic": "sn5600",
    "frr": "linux-16x100",
}  # fmt: skip
GAPS = {"junos": [{"code": "FAB5513", "reason": "no part of this test"}]}
HABITS = {
    "routing": {"maximum_paths": 8, "maximum_prefixes": 5000},
    "unused_ports": "silent",
    "descriptions": {
        "fabric": "P2P_{peer}_{peer_port}", "host": "{device} {port} -> {peer}", "session": "to {peer}"
    },
}  # fmt: skip


def build_spec(folder: Path, nos: str, **words: Any) -> Compiled:
    fabric = {
        "cluster": "house",
        "gpus": {"model": "lab-host" if nos == "frr" else "dgx-h100", "hosts": 2, "hosts_per_unit": 2},
        "tors": {"model": MODELS[nos], "nos": nos, "uplinks": 2},
        "spines": {"model": MODELS[nos], "nos": nos, "count": 2},
        "priorities": {"default": {}},
        **words,
    }
    (folder / "cluster.yaml").write_text(yaml.safe_dump(fabric))
    return compile_spec(folder / "cluster.yaml")


@pytest.mark.parametrize("nos", MODELS)
@pytest.mark.spread
def test_every_system_renders_and_proves_company_settings(tmp_path: Path, nos: str) -> None:
    compiled = build_spec(tmp_path, nos, **HABITS, accept=GAPS.get(nos, []))
    assert compiled.sound, [each.message for each in compiled.diagnostics]
    assert not [each for each in compiled.proof(jobs=1) if each.severity is Severity.ERROR]
    tor = next(iter(compiled.switches()))
    assert all(port.peer for port in tor.ports), "cages without a cable are not spoken of"
    text = "".join(compiled.files(tor).values())
    up = next(port for port in tor.ports if port.peer and port.peer.device.startswith("spine"))
    assert up.peer
    assert f"P2P_{up.peer.device}_{up.peer.port}" in text
    assert f"to {up.peer.device}" in text
    assert "5000" in text
    assert f"{tor.name} {tor.ports[0].name} -> " in text
    plain = next(iter(build_spec(tmp_path, nos, accept=GAPS.get(nos, [])).switches()))
    assert any(port.peer is None for port in plain.ports)


@pytest.mark.parametrize(
    ("routing", "code"),
    [
        ({"maximum_paths": 1}, "FAB3019"),
        ({"maximum_paths": 4096}, "FAB3019"),
        ({"maximum_prefixes": 16}, "FAB9750"),
    ],
)
def test_limits_that_a_sound_fabric_would_break_are_refused_with_what_fits(
    tmp_path: Path, routing: dict[str, int], code: str
) -> None:
    compiled = build_spec(tmp_path, "eos", routing=routing)
    (wrong,) = [each for each in compiled.diagnostics if each.severity is Severity.ERROR]
    assert wrong.code == code
    fits = int(next(word for word in wrong.help.replace(",", "").split() if word.isdigit()))
    assert build_spec(tmp_path, "eos", routing=dict.fromkeys(routing, fits)).sound


def test_a_description_has_known_placeholders_alone(tmp_path: Path) -> None:
    compiled = build_spec(tmp_path, "eos", descriptions={"fabric": "{peer.__class__}"})
    (wrong,) = [each for each in compiled.diagnostics if each.severity is Severity.ERROR]
    assert "placeholders {device}, {port}, {peer}, {peer_port}" in wrong.message
