"""Explain an AS number by its switches and its closed form."""

from __future__ import annotations

from fabricc.fabric import links
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.review.explain import coordinates, formulas
from fabricc.review.explain import origins as value_origins
from fabricc.review.explain.groups import PARTY_DOCS, PARTY_RULE
from fabricc.review.explain.model import Details, Explanation, Formula, Origin, single_explanation

RULE = (
    "Every ToR has an ASN of its own; spines and cores share one for each tier, pod and plane unless the spec requests "
    "unique ones. ToRs begin in the middle of the block of 2^20 ASNs above the base (2^10 with a base of 64512), "
    "spines at a sixteenth of it (shared) or a quarter (unique), cores at 0 or an eighth."
)
DOCS = "fabricc docs architecture"
_SHOWN = 4
_KEYS = ("routing.asn_base", "routing.spine_asn")


def explain_asn(plan: value_origins.PlanSources, asn: int) -> Explanation:
    """Return the owner of the ASN."""
    fabric, subject = plan.fabric, f"AS{asn}"
    number = asn - fabric.routing.asn_base
    if given := [at for at, own in fabric.given.switches.items() if own.asn == asn]:
        return value_origins.explain_given(plan, "asn", subject, str(asn), "asn", given)
    asns = fabric.routing.asns
    if not asns.first <= asn <= asns.last:
        names = [party.name for party in fabric.external.outsiders if party.asn == asn]
        if names:
            origins, own = plan.all_of(f"external.{name}" for name in names), str(asn)
            title = f"ASN of {_join_names(names)}, outside the fabric"
            return single_explanation(
                "asn", subject, title, (), PARTY_RULE, origins, value=own, docs=PARTY_DOCS
            )
        block = (("block", f"{asns.first} to {asns.last}"),)
        return _make_answer(asn, "outside the block of this fabric: not assigned", block, plan.all_of(_KEYS))
    every = list(coordinates.of_asn(fabric, number))
    places = [each for each in every if each.missing or links.switch_asn(fabric, each.switch) == asn]
    places = places or [every[0]._replace(missing=f"{fabric.name(every[0].switch)} is given another")]
    if places[0].missing:
        tier = value_origins.TIERS[places[0].tier]
        details = (
            ("block", f"that of a {tier}, number {number:,} from the base"),
            ("nobody's", places[0].missing),
        )
        return _make_answer(asn, "not assigned", details, plan.all_of(_KEYS))
    at = places[0].switch
    names = [fabric.name(place.switch) for place in places]
    steps = formulas.asn_formulas(fabric, at)
    details = (
        ("device" if len(names) == 1 else "devices", _join_names(names)),
        (
            "coordinates",
            value_origins.switch_text(at) if len(names) == 1 else f"pod {at.pod}, plane {at.plane}",
        ),
    )
    origins = (*plan.all_of(_KEYS), *asn_origins(plan, at))
    title = f"ASN of {names[0]}"
    if len(names) > 1:
        of = "pod and plane" if at.tier is TierName.SPINE and fabric.shape.pods > 1 else "plane"
        title = f"ASN of the {len(names)} {value_origins.TIERS[at.tier]}s of a {of}"
    return _make_answer(asn, title, details, origins, steps)


def _make_answer(
    asn: int, title: str, details: Details, origins: tuple[Origin, ...], steps: tuple[Formula, ...] = ()
) -> Explanation:
    return single_explanation(
        "asn", f"AS{asn}", title, details, RULE, origins, steps, value=str(asn), docs=DOCS
    )


def asn_origins(plan: value_origins.PlanSources, at: SwitchId) -> tuple[Origin, ...]:
    """Return the items of the lock that a switch's ASN is made with."""
    shared = at.tier is not TierName.TOR and not plan.fabric.routing.unique_spine_asn
    if shared:
        return value_origins.stride_origins(plan, "plane") if at.tier is TierName.SPINE else ()
    names = formulas.NUMBER_STRIDES[at.tier]
    return (*value_origins.stride_origins(plan, *names), *value_origins.identity_origins(plan, at.unit))


def _join_names(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_SHOWN])} and {more} more"
