"""The older side under the names of the newer one: devices that moved are compared with themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.review.diff.sides import Networks, Side, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from fabricc.fabric.given_identities import Moves
    from fabricc.fabric.given_identities import ReplacedDevice as FormerBox
    from fabricc.fabric.model import Host, Switch
    from fabricc.review.diff.view import DeviceView

_PEER = "/peer"


@dataclass(frozen=True)
class RenamedSide(Side):
    """A side whose devices are called as the other side calls them.

    Attributes:
        side: the side as it is.
        former: present name -> the one that the side has, of devices that it has under another.
    """

    side: Side
    former: Mapping[str, str]

    @staticmethod
    def of(side: Side, moves: Moves, kinds: Mapping[str, str]) -> Side:
        """Return the side with the names in `moves` for its devices that have another name in `kinds`."""
        every = {**moves.renamed, **{name: box.name for name, box in moves.replaced.items()}}
        former = {
            new: old
            for new, old in every.items()
            if new in kinds and old in side.kinds and old not in kinds and new not in side.kinds
        }
        if not former:
            return side
        present = {old: new for new, old in former.items()}
        own = {present.get(name, name): kind for name, kind in side.kinds.items()}
        return RenamedSide(side.label, side.cluster, own, side, former)

    @property
    def vouched_lines(self) -> Mapping[str, str]:
        """Return the lines that the side vouches for."""
        return self.side.vouched_lines

    def planned(self, name: str) -> Switch | Host | None:
        """Return the planned device by its former name."""
        return self.side.planned(self._own_name(name))

    def _own_name(self, name: str) -> str:
        return self.former.get(name, name)

    def view(self, name: str) -> DeviceView:
        """Return the device and its neighbors under their present names."""
        present = {old: new for new, old in self.former.items()}
        found = self.side.view(self._own_name(name))
        ports = {
            port: replace(each, peer=present.get(each.peer, each.peer)) if each.role != "rail" else each
            for port, each in found.ports.items()
        }
        facts = found.facts
        if found.kind == "host":
            facts = {
                path: _rename_end(str(value), present) if path.endswith(_PEER) else value
                for path, value in facts.items()
            }
        others = {present.get(host, host): gpus for host, gpus in found.others.items()}
        return replace(found, name=name, ports=ports, facts=facts, others=others)

    def files(self, name: str) -> Mapping[str, str]:
        """Return the files under the former name."""
        return self.side.files(self._own_name(name))

    def figures(self) -> Mapping[str, str]:
        """Return the figures of the side."""
        return self.side.figures()

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host; 0 for a switch."""
        return self.side.gpus_of(self._own_name(name))


def _rename_end(end: str, present: Mapping[str, str]) -> str:
    """Return the far end of a cable, `device port`, with the device's present name."""
    device, space, port = end.partition(" ")
    return f"{present.get(device, device)}{space}{port}"


def under_present_names(base: Side, head: Side) -> Side:
    """Return the older side with moved devices under their new names; moved networks are compared too."""
    ours, theirs = parts_of(head), parts_of(base)
    networks = dict(theirs)
    for network, side in ours.items():
        was = side.cluster.moves.network
        if was is not None and was in networks and network not in networks:
            networks[network] = networks.pop(was)
    found = {
        network: RenamedSide.of(side, ours[network].cluster.moves, ours[network].kinds)
        if network in ours
        else side
        for network, side in networks.items()
    }
    if all(found.get(network) is side for network, side in theirs.items()):
        return base
    return Networks.of(found) if len(found) > 1 else found[""]


def box_of(side: Side, name: str) -> FormerBox | None:
    """Return the former name and the new serial number of a device that is another box, else None."""
    for part in parts_of(side).values():
        if (found := part.cluster.moves.replaced.get(name)) is not None:
            return found
    return None


def former_names(side: Side) -> dict[str, str]:
    """Present name -> former one of everything that a side shows under its present name."""
    return {
        name: old
        for part in parts_of(side).values()
        if isinstance(part, RenamedSide)
        for name, old in part.former.items()
    }
