"""Nothing renumbers in a whole cluster: GPUs, storage nodes, several networks and ways out, grown in any order."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.compiler.compiled import compile_spec
from tests.front.planning.test_growth import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.compiler.compiled import Compiled

BOX = {"model": "7060x6-64pe", "nos": "eos"}
ABOVE = {**BOX, "count": 4, "reserved_ports": 8}
NETWORK = {"hosts_per_unit": 16, "tors": BOX, "spines": ABOVE, "priorities": {"default": {}}}
WHOLE: dict[str, Any] = {
    "cluster": "whole",
    "gpus": {
        "capacity": 64,
        "groups": [
            {"name": "train", "model": "dgx-h100", "hosts": 12, "hosts_per_unit": 8},
            {"name": "store", "model": "storage-2x400", "hosts": 3, "hosts_per_unit": 8},
        ],
    },
    "tors": BOX,
    "spines": ABOVE,
    "networks": {"frontend": NETWORK},
}


def more(spec: dict[str, Any], group: int) -> None:
    spec["gpus"]["groups"][group]["hosts"] += 3


def network(spec: dict[str, Any]) -> None:
    spec["networks"]["storage"] = deepcopy(NETWORK)


def party(section: dict[str, Any], at: str, lowest: int) -> None:
    """One more link of a party, at the next spine that has none."""
    links = section.setdefault("external", {"dc": {"asn": 64999, "links": []}})["dc"]["links"]
    if len(links) < 4:
        number = len(links)
        links.append({
            "at": f"{at}spine0{number + 1}a", "port": "Ethernet64/1", "speed_gbps": 800, "peer": f"{at}core-{number}",
            "local": f"192.0.2.{lowest + 2 * number}/31", "peer_port": "e1",
        })  # fmt: skip


STEPS: dict[str, Callable[[dict[str, Any]], None]] = {
    "GPU hosts": lambda spec: more(spec, 0),
    "storage nodes": lambda spec: more(spec, 1),
    "a network": network,
    "a way out of the rails": lambda spec: party(spec, "", 0),
    "a way out of the front end": lambda spec: party(spec["networks"]["frontend"], "frontend-", 32),
}


def everything(found: Compiled) -> dict[str, object]:
    parts = [found, *found.networks.values()]
    return {
        f"{part.fabric.network} {key}": value
        for part in parts
        for key, value in identity(part.fabric).items()
    }


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6))
def test_growth_of_a_whole_cluster_changes_nothing_that_exists(steps: list[str]) -> None:
    spec, known = deepcopy(WHOLE), dict[str, object]()
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        for step in ("", *steps):
            if step:
                STEPS[step](spec)
            path.write_text(json.dumps(spec))
            found = compile_spec(path, gaps=False)
            assert [each.message for each in found.diagnostics if each.severity is Severity.ERROR] == []
            grown = everything(found)
            assert {key: grown.get(key) for key in known} == known
            found.lock_path.write_text(found.lock_text)
            known = grown
