"""From a fabric that was found to a spec: infer, compile, compare with what devices state, settle, tell the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt import tables
from fabricc.audit.adopt.choosing import Choosing
from fabricc.audit.adopt.order import order_of
from fabricc.audit.adopt.overlays import overlaid
from fabricc.audit.adopt.settling import settled
from fabricc.audit.adopt.shape import KEYS
from fabricc.audit.adopt.trial import Site
from fabricc.audit.adopt.words import Sides
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fabricc.audit.adopt.shape import Choice
    from fabricc.audit.adopt.tables import Moved
    from fabricc.audit.adopt.trial import Draft
    from fabricc.audit.model import Found
    from fabricc.compiler.compiled import Compiled
    from fabricc.proof.compare import Mismatch


@dataclass(frozen=True, slots=True)
class Adopted:
    """What came of it.

    Attributes:
        draft: what is to be written; `compiled`: what it becomes.
        differences: device -> where its build would still differ.
        assumed: what was taken for granted, in words.
        left: devices that the spec does not hold.
        moved: links that a build would have on other ports.
    """

    draft: Draft
    compiled: Compiled
    differences: Mapping[str, list[Mismatch]]
    assumed: tuple[str, ...]
    left: tuple[str, ...] = ()
    moved: tuple[Moved, ...] = ()


def adopted(found: Found, name: str, folder: Path) -> Adopted:
    """The spec that builds what was found, as far as there is one; drafts are compiled in `folder`."""
    order = order_of(found)
    site = Site(found, order, Sides(found, order), folder)
    choosing = Choosing(site, name)
    draft, compiled = choosing.chosen()
    assumed = (*order.assumed, *_assumed(site, choosing.choice))
    if not compiled.sound:
        return Adopted(draft, compiled, {}, assumed)
    draft, compiled = settled(site, draft, compiled)
    draft, compiled, differences, refused = overlaid(site, draft, compiled)
    if refused:
        assumed += (
            f"{', '.join(refused)} have all lines that no word of the spec says. With those of ports and routing the "
            "proof of a build fails, so the spec does not name these files.",
        )
    left = tuple(name for name in found.devices if name not in differences)
    return Adopted(draft, compiled, differences, assumed, left, tuple(tables.misplaced(compiled, order)))


def _assumed(site: Site, choice: Choice) -> Iterator[str]:
    """What was taken for granted, in words."""
    for tier, key in KEYS.items():
        if key in choice.models and not any(device.model for device in site.sides.tiers[tier]):
            yield f"No output names the model of {key}: {choice.models[key]} has their ports, and comes closest."
    for kind, cable in (choice.cables or {}).items():
        yield f"Cables of `{kind}`, {_words(cable)}, are those that thresholds and lengths of the files fit."


def _words(cable: Mapping[str, Any]) -> str:
    return " ".join(
        f"{cable[key]}{' m' * (key == 'length_m')}" for key in ("medium", "length_m") if key in cable
    )
