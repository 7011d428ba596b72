"""Whatever is renamed, replaced, retired or added in any order: a fresh build of the last spec gives the same.

The lock is carried along from step to step, as a repository does. What is deployed at the end equals a build of the
last spec alone, without its history, with that lock; and no step changes what it does not name.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import Compiled, compile_spec
from tests.effort import scale_examples
from tests.front.planning.test_growth import find_identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn

PAST = ("moved", "replaced", "retired")
TIER = {"model": "7060dx5-64s", "nos": "eos"}
BASE = {
    "cluster": "zone",
    "tors": TIER,
    "spines": TIER | {"count": 2},
    "priorities": {
        "rdma": {"dscp": 26, "lossless": True},
        "cnp": {"dscp": 48, "strict": True},
        "default": {},
    },
    "addressing": {"family": "ipv4"},
    "accept": [{"code": "FAB5513", "reason": "accounts are of no concern here"}],
}


class Fabric:
    """A spec with its lock in a folder, and every name in it that a step may take."""

    def __init__(self, folder: Path, *, racks: bool) -> None:
        self.folder, self.fresh, self.racked = folder, 0, racks
        self.spec: dict[str, Any] = json.loads(json.dumps(BASE))
        if racks:
            hosts = {"r1": ["h1", "h2"], "r2": ["h3"], "r3": 2}
            self.spec["gpus"] = {
                "model": "grand-teton", "wiring": "rack", "hosts_per_rack": 2, "capacity": 16, "racks": hosts,
            }  # fmt: skip
        else:
            self.spec["gpus"] = {
                "model": "grand-teton",
                "hosts": 5,
                "hosts_per_unit": 2,
                "rails_per_tor": 8,
                "capacity": 16,
            }
        self.compiled = self.build()

    def name(self) -> str:
        self.fresh += 1
        return f"n{self.fresh}"

    def build(self, spec: dict[str, Any] | None = None) -> Compiled:
        path = self.folder / "cluster.yaml"
        path.write_text(json.dumps(self.spec if spec is None else spec))
        compiled = compile_spec(path)
        wrong = [f"{d.code} {d.message}" for d in compiled.diagnostics if d.severity is Severity.ERROR]
        assert not wrong, (wrong, self.spec)
        compiled.lock_path.write_text(compiled.lock_text)
        return compiled

    def names(self) -> list[str]:
        """Devices, and units whose names devices have."""
        fabric = self.compiled.fabric
        every = [fabric.name(at) for at in fabric.switch_ids()]
        return every + self.hosts()

    def hosts(self) -> list[str]:
        return [host for unit in self.compiled.fabric.units.values() for host in unit.hosts.values()]

    def rename(self, old: str, new: str) -> None:
        """Where the spec lists the name, it has the new one."""
        racks = self.spec["gpus"].get("racks", {})
        self.spec["gpus"] |= {
            "racks": {
                (new if rack == old else rack): [new if host == old else host for host in hosts]
                if isinstance(hosts, list) else hosts
                for rack, hosts in racks.items()
            }
        } if racks else {}  # fmt: skip


def move_devices(fabric: Fabric, draw: DrawFn) -> dict[str, str]:
    units = [unit.name for unit in fabric.compiled.fabric.units.values()]
    old, new = draw(st.sampled_from([*fabric.names(), *units])), fabric.name()
    fabric.rename(old, new)
    fabric.spec["moved"] = {old: new}
    return {old: new}


def replace_devices(fabric: Fabric, draw: DrawFn) -> dict[str, str]:
    old, new = draw(st.sampled_from(fabric.names())), fabric.name()
    fabric.rename(old, new)
    fabric.spec["replaced"] = {old: {"by": new, "serial": new}}
    return {old: new}


def add_devices(fabric: Fabric, draw: DrawFn) -> dict[str, str]:
    gpus = fabric.spec["gpus"]
    if not fabric.racked:
        gpus["hosts"] = min(16, gpus["hosts"] + draw(st.integers(1, 3)))
    elif len(gpus["racks"]) < 6:
        gpus["racks"][fabric.name()] = draw(st.sampled_from([2, [fabric.name()]]))
    return {}


def grow_fabric(fabric: Fabric, _: DrawFn) -> dict[str, str]:
    for hosts in fabric.spec["gpus"].get("racks", {}).values():
        if isinstance(hosts, list) and len(hosts) < 2:
            hosts.append(fabric.name())
    return {}


def remove_devices(fabric: Fabric, draw: DrawFn) -> dict[str, str]:
    racks = fabric.spec["gpus"].get("racks", {})
    if len(racks) > 2:
        rack = draw(st.sampled_from(sorted(racks)))
        gone = [rack, *(racks.pop(rack) if isinstance(racks[rack], list) else [racks.pop(rack)][:0])]
        if draw(st.booleans()):
            fabric.spec["retired"] = gone
    return {}


STEPS: tuple[Callable[[Fabric, DrawFn], dict[str, str]], ...] = (
    move_devices,
    move_devices,
    replace_devices,
    add_devices,
    grow_fabric,
    remove_devices,
)


def device_texts(compiled: Compiled) -> dict[str, str]:
    return {
        device.name: json.dumps(compiled.files(device), sort_keys=True)
        for device in (*compiled.switches(), *compiled.hosts())
    }


def restore_names(names: dict[str, str], found: dict[str, str]) -> dict[str, str]:
    """Texts of devices, with every former name in the place of its present one, wherever it stands alone."""
    if not names:
        return found
    every = re.compile(r"(?<![a-z0-9-])(" + "|".join(map(re.escape, names)) + r")(?![a-z0-9])")
    return {
        every.sub(lambda match: names[match[1]], name): every.sub(lambda match: names[match[1]], text)
        for name, text in found.items()
    }


@given(st.data(), st.booleans())
@settings(max_examples=scale_examples(25), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_fabric_that_lives_is_a_fresh_build_of_its_last_spec(data: st.DataObject, racks: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        fabric = Fabric(Path(scratch), racks=racks)
        for _ in range(data.draw(st.integers(1, 6), label="steps")):
            before, known = device_texts(fabric.compiled), find_identity(fabric.compiled.fabric)
            if data.draw(st.booleans(), label="tidy"):
                for section in PAST:
                    fabric.spec.pop(section, None)
            kept = {key: fabric.spec.pop(key) for key in PAST if key in fabric.spec}
            step = data.draw(st.sampled_from(STEPS), label="step")
            names = step(fabric, data.draw)
            if not any(key in fabric.spec for key in PAST):
                gone = set(kept.get("retired", ())) & set(fabric.spec["gpus"].get("racks", {}))
                fabric.spec |= kept if not gone else {}
            fabric.compiled = fabric.build()
            after = device_texts(fabric.compiled)
            was = restore_names({new: old for old, new in names.items()}, after)
            if step in (move_devices, replace_devices):
                assert was == before
            else:
                stays = find_identity(fabric.compiled.fabric)
                assert {key: stays[key] for key in known if key in stays} == {
                    key: value for key, value in known.items() if key in stays
                }
        plain = {key: value for key, value in fabric.spec.items() if key not in PAST}
        lock = fabric.compiled.lock_text
        fresh = fabric.build(plain)
        assert fresh.lock_text == lock
        assert device_texts(fresh) == device_texts(fabric.compiled)
