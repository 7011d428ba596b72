"""How many uplinks a ToR has and how many spines there are: the ratio and the divisor rule with their figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.front.planning import topology
from fabricc.front.planning.uplinks import PIN
from fabricc.front.qos.worksheet import Row
from fabricc.review.explain.formulas import formula
from fabricc.review.explain.model import Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.review.explain.formulas import Numbers
    from fabricc.review.explain.origins import PlanSources

_UPLINKS = (
    "As many as the ratio of bandwidth down to bandwidth up needs, and so many that every spine gets the same "
    "number of them."
)
_OWN = "A ToR has as many of these as its own host group needs, the same number to every spine."
_SPINES = (
    "Every ToR has the same number of links to every spine, so the count is the smallest divisor of a ToR's uplinks "
    "that gives the spines ports enough."
)
_BORDER = "A border leaf has the links to every spine that `tors.border_links` states, one by default."
_NO_SPINES = (
    "The spec has no spines: a ToR leads to its hosts alone, and keeps its other ports for what comes later."
)
DOCS = "fabricc docs architecture"


def uplinks(plan: PlanSources, group: int = 0) -> Statement:
    """The uplinks of every ToR of a host group."""
    fabric, shape = plan.fabric, plan.fabric.shape
    if not shape.spines:
        return Statement("uplinks of a ToR", "0", _NO_SPINES, (), (), (), docs=DOCS)
    own, count = fabric.tor_links[group], fabric.uplinks(group)
    numbers: Numbers = {"spines": shape.spines, "links_per_spine": own}
    closed = formula("uplinks", "spines * links_per_spine", numbers, count)
    if not fabric.attachments[group].slots:
        keys = ("tors.border", "tors.border_links", "tors.uplink_gbps", "spines.count")
        name, origins = "uplinks of a border leaf", plan.all_of(keys)
        return Statement(name, str(count), _BORDER, (closed,), (), origins, docs="fabricc docs external")
    keys = ("tors.oversubscription", "tors.uplinks", "tors.uplink_gbps", "spines.count")
    origins = (*plan.all_of(keys), plan.lock_origin("stride links_per_spine", shape.links_per_spine))
    rows, rule = tuple(_ratio(plan, group)), _UPLINKS
    if own < shape.links_per_spine:
        rule = f"{_UPLINKS} {_OWN}"
        origins = (*origins, plan.lock_origin(f"stride {PIN}", shape.spines))
        rows = (
            *rows,
            Row("links to each spine", own, "", "uplinks needed / spines that the lock tells, rounded up"),
            Row(
                "positions kept for each spine", shape.links_per_spine, "", "lock; the busiest group's links"
            ),
        )
    return Statement("uplinks of a ToR", str(count), rule, (closed,), rows, origins, docs=DOCS)


def _ratio(plan: PlanSources, group: int) -> Iterator[Row]:
    fabric, tier = plan.fabric, plan.spec.tors
    own = fabric.tor_links[group] < fabric.shape.links_per_spine
    layouts = [fabric.tor_layouts[group]] if own else [each for each in fabric.tor_layouts if each.down]
    down = max((len(each.down) - each.reserved) * each.slots[each.down[0]].speed_gbps for each in layouts)
    of = "" if own else ", of the busiest ToR"
    yield Row("to hosts, with every slot taken", down, "Gb/s", f"host ports * speed{of}")
    yield Row(
        "speed of an uplink",
        fabric.shape.uplink_gbps,
        "Gb/s",
        "the spec, or the fastest that both models share",
    )
    if tier.uplinks:
        yield Row("uplinks asked for", tier.uplinks, "", "spec")
        return
    ratio = tier.oversubscription or 1.0
    needed = topology.uplinks_needed(down, ratio, fabric.shape.uplink_gbps)
    yield Row("oversubscription, at most", ratio, "", "spec, or default")
    yield Row("uplinks that it needs", needed, "", "to hosts / oversubscription / speed, rounded up")


def spines(plan: PlanSources) -> Statement:
    """The spines of a plane, and of a pod where there are cores."""
    shape = plan.fabric.shape
    rows = (
        Row(
            "uplinks of a ToR" if plan.fabric.even else "uplinks of the busiest ToR",
            shape.uplinks,
            "",
            "plan",
        ),
        Row("links of a ToR to each spine", shape.links_per_spine, "", "lock"),
        Row("spines", shape.spines, "", "uplinks / links to each"),
    )
    origins = (
        *plan.all_of(("spines.count", "tors.uplinks", "tors.oversubscription")),
        plan.lock_origin("stride links_per_spine", shape.links_per_spine),
    )
    where = "of a plane and pod" if shape.cores else "of a plane"
    return Statement(f"spines {where}", str(shape.spines), _SPINES, (), rows, origins, docs=DOCS)
