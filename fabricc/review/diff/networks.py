"""A side with several networks: networks of the same name are compared, their devices reported together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.review.diff.sides import Cluster, Side, SpecSide, share_objects

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.model import Host, Switch
    from fabricc.review.diff.view import DeviceView

_NOTHING = Side("", Cluster(), {})


@dataclass(frozen=True)
class Networks(Side):
    """The sides of a cluster's networks.

    Attributes:
        parts: network -> its side; that of the rails, which speaks for the whole, has the name "".
        places: device -> its network, and its name there; the part of a host in a further network is a device.
    """

    parts: Mapping[str, Side]
    places: Mapping[str, tuple[str, str]]

    @staticmethod
    def of(parts: Mapping[str, Side]) -> Networks:
        """Return the side of some networks."""
        places: dict[str, tuple[str, str]] = {}
        kinds: dict[str, str] = {}
        for network, side in parts.items():
            for name, kind in side.kinds.items():
                shown = f"{name} ({network})" if network and kind == "host" else name
                places[shown], kinds[shown] = (network, name), kind
        rails = parts[""]
        return Networks(rails.label, rails.cluster, kinds, parts, places)

    @property
    def vouched(self) -> Mapping[str, str]:
        """Those of the network of the rails, whose acceptances count for all."""
        return self.parts[""].vouched

    def planned(self, name: str) -> Switch | Host | None:
        """Return the device as in its network."""
        network, own = self.places[name]
        return self.parts[network].planned(own)

    def suspects(self, other: Side) -> frozenset[str] | None:
        """Return those of every network; None if any device of one network can differ."""
        found: set[str] = set()
        theirs = parts_of(other)
        for network, side in self.parts.items():
            named = side.suspects(theirs.get(network, _NOTHING))
            if named is None:
                return None
            found |= {
                shown for shown, place in self.places.items() if place[0] == network and place[1] in named
            }
        return frozenset(found)

    def same(self, other: Side, name: str) -> bool:
        """Compare as in its network."""
        network, own = self.places[name]
        theirs = parts_of(other).get(network)
        return theirs is not None and self.parts[network].same(theirs, own)

    def view(self, name: str) -> DeviceView:
        """Return the view as in its network."""
        network, own = self.places[name]
        return replace(self.parts[network].view(own), name=name)

    def files(self, name: str) -> Mapping[str, str]:
        """Return the files as in its network."""
        network, own = self.places[name]
        return self.parts[network].files(own)

    def figures(self) -> Mapping[str, str]:
        """Return the figures of every network."""
        return {
            f"{network}: {title}" if network else title: figure
            for network, side in self.parts.items()
            for title, figure in side.figures().items()
        }

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host, counted with its rails."""
        network, own = self.places[name]
        gpus = self.parts[network].gpus_of(own)
        return gpus if name == own else gpus * 0


def parts_of(side: Side) -> Mapping[str, Side]:
    """Return the sides of a side's networks."""
    return side.parts if isinstance(side, Networks) else {"": side}


def merge_networks(parts: Mapping[str, Side]) -> Side:
    """Return the side of one network, or of several."""
    return Networks.of(parts) if len(parts) > 1 else parts[""]


def spec_side(label: str, compiled: Compiled, base: Compiled | None = None) -> Side:
    """The side of a planned spec; what is equal to the base's is taken from it, so that it compares quickly."""
    before = _compiled_networks(base) if base else {}
    parts: dict[str, Side] = {}
    for network, each in _compiled_networks(compiled).items():
        fabric = share_objects(before[network].fabric, each.fabric) if network in before else each.fabric
        parts[network] = SpecSide.of(label, each, fabric)
    return merge_networks(parts)


def _compiled_networks(compiled: Compiled) -> dict[str, Compiled]:
    return {"": compiled, **compiled.networks}
