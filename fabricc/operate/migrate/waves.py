"""Predict the waves of a push of a step from its review: drained switches and the remaining capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.compiler.recheck import NO_SHARE
from fabricc.fabric.links import switch_links
from fabricc.fabric.model import Direction, Switch
from fabricc.facts.paths import list_leaf, path_pattern
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.impact import AGREED, AGREED_BY_PROCESS, FAMILIES, find_changed_exits
from fabricc.operate.push.plan_waves import plan_waves
from fabricc.review.diff.fact_impact import OUTSIDE_ROUTE, row_of
from fabricc.review.diff.model import Group, Impact, Review

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.change.order import Wave

_LEFT = "] left"
_OUTSIDE = f"[{Direction.EXTERNAL.value}]"
_PORT = path_pattern(r"interface[*]/(\w+)")


class Order(NamedTuple):
    """The waves of a network, or the reason why there are none.

    Attributes:
        possible: lines about the waves of the largest share that some order keeps; none where there are waves.
    """

    network: str
    waves: Sequence[Wave]
    refused: str = ""
    possible: tuple[str, ...] = ()


UNKNOWN = Order("", (), f"{NO_SHARE.message}. {NO_SHARE.help}")


def order_networks(review: Review, before: Compiled, after: Compiled, keep: Fraction) -> tuple[Order, ...]:
    """Return the waves of every network where the change of a switch is disruptive.

    Every rail, plane and switch keeps the share `keep` of its paths.
    """
    found = []
    for network, part in {"": after, **after.networks}.items():
        places = {part.fabric.name(at): at for at in part.fabric.switch_ids()}
        changing = [
            (name, group, _find_changed_directions(group, part.fabric))
            for group in review.groups
            if group.kind != "host"
            for name in group.devices
            if name in places
        ]
        breaking = {name for name, _, roles in changing if roles}
        effects = {
            name: Effect(
                group.platform,
                group.impact,
                breaks=_find_peers(part.fabric, places[name], roles) & breaking,
                outside=None if roles else _list_outside_ports(group, name, before, part),
            )
            for name, group, roles in changing
        }
        if any(effect.disruptive for effect in effects.values()):
            found.append(_order_network(network, part.fabric, places, effects, keep))
    return tuple(found)


def _order_network(
    network: str,
    fabric: Fabric,
    places: Mapping[str, SwitchId],
    effects: Mapping[str, Effect],
    keep: Fraction,
) -> Order:
    try:
        return Order(network, plan_waves(build_capacity_model(fabric, places, effects), keep, None))
    except PushRefusedError as error:
        possible = tuple(note.message for note in error.diagnostics[1:])
        return Order(network, (), f"{error.diagnostic.message}. {error.diagnostic.help}", possible)


def _find_changed_directions(group: Group, after: Fabric) -> frozenset[str]:
    """Directions of the ports on which something changes that both ends must agree on.

    A family that goes breaks no link on which another one stays. The other end of an external link is no switch.
    """
    found: set[str] = set()
    touched = {list_leaf(line.statement.subject) for line in group.lines}
    stays = _list_link_families(after) - touched
    for line in group.lines:
        subject = line.statement.subject
        if _OUTSIDE in subject:
            continue
        if line.verdict.impact < Impact.SESSION_RESET or (stays and line.statement.op == "-"):
            continue
        if subject.startswith((*AGREED_BY_PROCESS, "session[")):
            return frozenset({Direction.UP.value, Direction.DOWN.value, Direction.PEER.value})
        if (port := _PORT.fullmatch(subject)) and port[2] in AGREED:
            found.add(port[1])
    return frozenset(found)


def _list_link_families(fabric: Fabric) -> set[str]:
    """Return the address families of the links between switches."""
    addresses = fabric.addresses
    if not addresses.numbered:
        return {FAMILIES[2]}
    return {name for name, pool in zip(FAMILIES, (addresses.links4, addresses.links6), strict=False) if pool}


def _list_outside_ports(group: Group, name: str, before: Compiled, after: Compiled) -> frozenset[str] | None:
    """Return the external ports that change, where only parties behind them notice a switch's change; else None."""
    subjects = [line.statement.subject for line in group.lines if line.verdict.impact >= Impact.SESSION_RESET]
    noticed = all(subject.endswith(_LEFT) or _is_outside(subject, group.nos) for subject in subjects)
    if not subjects or not noticed:
        return None
    known = any(fabric.find(name) is not None for fabric in (before.fabric, *before.fabric.networks))
    former = name if known else after.fabric.moves.renamed.get(name, name)
    old, new = before.device(former), after.device(name)
    assert isinstance(old, Switch)
    assert isinstance(new, Switch)
    facts = [
        back_ends.load(switch.nos).read(of.files(switch)).facts
        for switch, of in ((old, before), (new, after))
    ]
    return find_changed_exits(new, *facts)


def _is_outside(subject: str, nos: str) -> bool:
    return _OUTSIDE in subject or OUTSIDE_ROUTE in row_of(subject, nos).tags


def _find_peers(fabric: Fabric, at: SwitchId, roles: frozenset[str]) -> frozenset[str]:
    return (
        frozenset(link.peer for link in switch_links(fabric, at) if link.direction.value in roles)
        if roles
        else frozenset()
    )
