"""Warn of known field problems of the switches of a plan, with the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.catalog import support
from fabricc.fabric.shape import TierName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.qos import SwitchQos
    from fabricc.front.spec.model import ClusterSpec


def field_problem_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """FAB3091 for each known problem that the switches of a tier meet under this plan, once a system and model."""
    policy = next(iter(fabric.qos.values()), None)
    conditions = {
        support.LOSSLESS_CLASSES: policy is not None and len(policy.lossless) > 0,
        support.ONE_LOSSLESS_CLASS: policy is not None
        and len(policy.lossless) == 1
        and policy.watchdog is not None,
        support.MARKED_LOSSLESS_CLASS: policy is not None and any(each.ecn for each in policy.lossless),
        support.MARKED_LOSSLESS_CLASSES: policy is not None and _marks_lossless_classes(policy),
        support.WATCHDOG: policy is not None and len(policy.lossless) > 0 and policy.watchdog is not None,
        support.ROUTED_TUNNELS: _has_routed_tunnels(fabric),
        support.ANY_FABRIC: True,
    }
    reported = set()
    for tier, plan in fabric.tiers.items():
        for problem in support.load_field_problems():
            key = problem.name, plan.nos, plan.model.name
            if problem.when == support.ROUTED_TUNNELS and tier is not TierName.TOR:
                continue
            if key in reported or not (
                conditions[problem.when] and problem.affects(plan.nos, plan.release, plan.model.asic_family)
            ):
                continue
            reported.add(key)
            message = f"{plan.nos} on {plan.model.title}: {problem.problem}"
            help_ = f"{problem.way_out[0].upper()}{problem.way_out[1:]}. Source: {problem.source}."
            yield spec.warning("FAB3091", message, f"{tier.value}s", "model", help=help_)


def _has_routed_tunnels(fabric: Fabric) -> bool:
    """Return whether ToRs have VRFs that meet over more than one spine."""
    routed = bool(fabric.tenancy and fabric.tenancy.tunnels) or bool(fabric.evpn and fabric.evpn.vrfs)
    return routed and fabric.shape.spines > 1


def _marks_lossless_classes(policy: SwitchQos) -> bool:
    return len(policy.lossless) > 1 and sum(each.ecn for each in policy.lossless) > 1
