"""Devices of every kind for explanations: all inventories, every back end's samples, every setting it expresses."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.hosts.interfaces import SYSTEMS
from fabricc.catalog.load import load_catalog
from fabricc.compiler.compiled import compile_spec
from fabricc.review.explain.questions import subject_of
from tests import outward, segmented, tenanted
from tests.back.hosts.variants import VARIANTS as HOSTS
from tests.back.nos import feature_table
from tests.review.explain.support import ROOT, known_of_front

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch
    from fabricc.review.explain.origins import PlanSources
    from fabricc.review.explain.subject import Subject

INVENTORIES = sorted(
    path.parent.name
    for path in (ROOT / "inventories").glob("*/cluster.yaml")
    if "fabric: infiniband" not in path.read_text()
)


LOSSLESS = {"rdma": {"dscp": 26, "lossless": True}, "cnp": {"dscp": 48, "strict": True}, "default": {}}
FURTHER: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "cumulus": [("sn5600", {"qos": "vendor", "congestion": {}, "priorities": LOSSLESS})],
    "junos": [
        (
            "qfx5240-64od",
            {
                "load_balancing": {"mode": "flowlet", "global": True},
                "gpus": {"model": "dgx-h100", "hosts": 64, "hosts_per_unit": 32},
                "spines": {"model": "qfx5240-64od", "nos": "junos", "count": 16},
            },
        )
    ],
}
"""System -> model and settings that the model of the feature table does not express."""


def back_samples(nos: str) -> Iterator[Switch]:
    """The switches that the back end's own tests render."""
    module = importlib.import_module(f"tests.back.nos.{nos}.variants")
    variants = module.VARIANTS
    yield from variants.values() if isinstance(variants, dict) else map(module.variant, variants)
    yield from getattr(module, "SPINES", {}).values()
    yield from outward.switches(nos)
    if nos in segmented.EXPRESSED:
        yield from segmented.segmented_switches(nos)
    if nos in tenanted.EXPRESSED:
        yield from tenanted.switches(nos)


def settings_of(nos: str) -> Iterator[Switch]:
    """Yield one switch of each kind that requires each feature, under each release that expresses it."""
    back_end = back_ends.load(nos)
    usual = dict(feature_table.MODELS)[nos]
    for model, feature in [
        *((usual, each) for each in feature_table.FEATURES.values()),
        *FURTHER.get(nos, ()),
    ]:
        try:
            fabric = feature_table.fabric_of(nos, model, feature)
        except AssertionError:  # the model cannot be planned so
            continue
        for at in fabric.kinds():
            for release in back_end.releases:
                switch = replace(fabric.switch(at), release=release)
                if not any(gap.fatal for gap in back_end.gaps(switch)):
                    yield switch


def host_facts() -> Iterator[Facts]:
    """The facts of hosts of every shape, system and NIC."""
    for host in HOSTS.values():
        for system in SYSTEMS:
            yield host_files.planned(replace(host, os=system))
    catalog, _ = load_catalog()
    for nic in catalog.nics.values():
        host = HOSTS["dual-port"]
        yield host_files.planned(replace(host, model=replace(host.model, nic=nic)))
    plain = HOSTS["plain"]
    yield host_files.planned(
        replace(plain, rail_isolated=True, model=replace(plain.model, gpu_interconnect="none"))
    )
    yield host_files.planned(replace(plain, leave_out=("access-control",)))
    ports = tuple(replace(port, metric=100 + port.rail) for port in HOSTS["plain"].ports)
    yield host_files.planned(replace(HOSTS["plain"], ports=ports, network="storage", guest=True))


def plan_inventory(name: str) -> PlanSources:
    """The plan of an inventory."""
    return known_of_front(compile_spec(ROOT / "inventories" / name / "cluster.yaml", gaps=False))


def pick_subjects(known: PlanSources) -> Iterator[Subject]:
    """One switch of each kind, and one host of each group."""
    for at in known.fabric.kinds():
        yield subject_of(known, at)
    groups: set[int] = set()
    for host in known.fabric.host_ids():
        group = known.fabric.units[host.unit].group
        if group not in groups:
            groups.add(group)
            yield subject_of(known, host)
