"""Specs as text to plans, for tests of planning that look at no NOS."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.catalog.load import load_catalog
from fabricc.front.planning import Plan, plan_fabric
from fabricc.front.spec.load import load_spec
from fabricc.front.spec.lock import EMPTY_LOCK, Lock

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Slot
    from fabricc.front.spec.model import ClusterSpec

CATALOG, _ = load_catalog()


class AnyNos:
    """Names ports plainly and runs on everything, so that planning can be tested on models that no NOS drives."""

    def names(self) -> tuple[str, ...]:
        return ("frr",)

    def supports(self, nos: str, model: SwitchModel) -> bool:
        return True

    def releases(self, nos: str) -> tuple[str, ...]:
        return ("10.0",)

    def release(self, nos: str, release: str | None) -> str:
        if nos != "frr":
            raise KeyError(nos)
        return release or "10.0"

    def sets_headroom_pool(self, nos: str) -> bool:
        return True

    def sets_pfc(self, nos: str) -> bool:
        return True

    def longest_cable_m(self, nos: str, model: SwitchModel) -> None:
        return None

    def vendor_policy(self, nos: str) -> None:
        return None

    def port_name(self, nos: str, model: SwitchModel, slot: Slot) -> str:
        return f"swp{slot.cage}" if slot.children == 1 else f"swp{slot.cage}s{slot.child - 1}"


def make_document(**sections: Any) -> dict[str, Any]:
    """A spec with the sections given, without those that are None, and plain defaults for the rest."""
    base: dict[str, Any] = {
        "cluster": "test",
        "gpus": {"model": "dgx-b200", "hosts": 128, "hosts_per_unit": 32},
        "tors": {"model": "sn5400", "nos": "frr"},
        "spines": {"model": "sn5400", "nos": "frr"},
        "priorities": {
            "rdma": {"dscp": 26, "lossless": True},
            "cnp": {"dscp": 48, "strict": True},
            "default": {},
        },
    }
    for name, section in sections.items():
        known = base.get(name)
        merged = {**known, **section} if isinstance(known, dict) and isinstance(section, dict) else section
        base[name] = without_none(merged)
    return without_none(base)  # type: ignore[no-any-return]


def without_none(section: Any) -> Any:
    """A section without the keys that a test took away by giving them None."""
    if not isinstance(section, dict):
        return section
    return {key: value for key, value in section.items() if value is not None}


def spec_of(text: dict[str, Any]) -> ClusterSpec:
    """The spec of a document; JSON is YAML."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(json.dumps(text, indent=1))
        file.flush()
        loaded = load_spec(Path(file.name))
    assert loaded.spec is not None, [d.message for d in loaded.diagnostics]
    return loaded.spec


def planned(text: dict[str, Any], lock: Lock = EMPTY_LOCK) -> Plan:
    """The plan of a document."""
    return plan_fabric(spec_of(text), CATALOG, lock, AnyNos())


def fabric_of(text: dict[str, Any], lock: Lock = EMPTY_LOCK) -> Fabric:
    """The fabric of a document that must be plannable."""
    result = planned(text, lock)
    assert result.fabric is not None, [f"{d.code} {d.message} {d.help}" for d in result.diagnostics]
    return result.fabric
