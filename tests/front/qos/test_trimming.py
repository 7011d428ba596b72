"""Packet trimming from the spec to every switch, and what of it is refused where."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.back import nos
from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import congestion_facts
from fabricc.fabric.qos import Trimming
from fabricc.front.qos import plan_trimming, traffic_classes
from fabricc.front.spec.model import Priority
from tests.front.planning.support import fabric_of, make_document, planned, spec_of

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
cluster: small
gpus: {{model: grand-teton, racks: 4, hosts_per_rack: 2, wiring: rack}}
tors: {{model: {model}, nos: {nos}}}
spines: {{model: {model}, nos: {nos}}}
congestion: {congestion}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
"""


def trimming_spec(**trimming: Any) -> dict[str, Any]:
    return make_document(congestion={"trimming": {"class": "cnp", **trimming}})


def test_trimmed_packets_use_the_configured_class() -> None:
    fabric = fabric_of(trimming_spec(size_bytes=512))
    for at in fabric.kinds():
        switch = fabric.switch(at)
        assert switch.qos.trimming == Trimming(512, 48, 6, (0,))
        facts = congestion_facts(switch.qos)
        assert facts == {
            "trimming/size_bytes": 512,
            "trimming/dscp": 48,
            "trimming/queue": 6,
            "trimming/queues": "0",
        }


def test_a_switch_that_uses_fewer_profiles_than_its_kind_trims_as_well() -> None:
    fabric = fabric_of(trimming_spec(size_bytes=512))
    spare = replace(fabric.qos["spine"].profiles[0], name="of-no-port")
    qos = {key: replace(each, profiles=(*each.profiles, spare)) for key, each in fabric.qos.items()}
    for at in fabric.kinds():
        assert replace(fabric, qos=qos).switch(at).qos == fabric.switch(at).qos


def test_no_trimming_facts_without_trimming() -> None:
    fabric = fabric_of(make_document())
    assert not [path for at in fabric.kinds() for path in congestion_facts(fabric.switch(at).qos)]


def test_lossless_and_strict_classes_are_not_trimmed() -> None:
    classes = traffic_classes(
        [
            Priority("rdma", (26,), True, False, None, None, None),
            Priority("control", (56,), False, True, None, None, None),
            Priority("trimmable", (10,), False, False, None, None, None),
            Priority("trimmed", (34,), False, False, None, None, None),
            Priority("default", (), False, False, None, None, None),
        ]
    )
    assert plan_trimming(classes, "trimmed", 256) == Trimming(256, 34, 4, (0, 1))
    assert plan_trimming(classes, "other", 256) is None


def test_a_size_that_the_chip_does_not_have_is_refused_with_its_range() -> None:
    text = trimming_spec(size_bytes=128)
    result = planned(text)
    assert result.fabric is None
    (wrong,) = result.diagnostics
    assert wrong.code == "FAB4015"
    assert "256 to 1024" in wrong.message
    assert "256" in wrong.help
    place = spec_of(text).position("congestion", "trimming")
    assert wrong.position is not None
    assert (wrong.position.line, wrong.position.column) == (place.line, place.column)


def write_spec(folder: Path, model: str, nos_name: str, congestion: str) -> Path:
    path = folder / "cluster.yaml"
    path.write_text(SPEC.format(model=model, nos=nos_name, congestion=congestion))
    return path


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("sn5600", "sonic-202411"),
        ("sn5600", "frr"),
        ("7060dx5-64s", "eos"),
        ("9332d-gx2b", "nxos"),
        ("qfx5230-64cd", "junos"),
    ],
)
@pytest.mark.parametrize("wish", ["{trimming: {class: cnp}}", "{link_retry: true}"])
def test_a_nos_that_cannot_refuses_with_the_reason(tmp_path: Path, model: str, name: str, wish: str) -> None:
    front = compile_spec(write_spec(tmp_path, model, name, wish))
    assert not front.sound
    what = "packet trimming" if "trimming" in wish else "link-layer retry"
    reported = [d for d in front.diagnostics if what in d.message and d.severity is Severity.ERROR]
    assert {d.message.split(":")[0].split()[0] for d in reported} == {name.partition("-")[0]}
    assert all(d.help for d in reported)


def test_sonic_202505_on_spectrum_4_takes_it(tmp_path: Path) -> None:
    front = compile_spec(
        write_spec(tmp_path, "sn5600", "sonic-202505", "{profile: uec, trimming: {class: cnp}}")
    )
    assert front.sound, [d.message for d in front.diagnostics]
    assert front.fabric is not None
    for at in front.fabric.kinds():
        switch = front.fabric.switch(at)
        back_end = nos.load("sonic")
        assert back_end.read(back_end.render(switch)).facts == back_end.planned(switch)
        assert back_end.planned(switch)["trimming/size_bytes"] == 256
