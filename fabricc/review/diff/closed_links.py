"""Links between switches that a change closes for good, and the rails that then have no path through the fabric.

A closed link has a shut port, or no BGP session that may come up. It differs from a session that resets: no time brings
its traffic back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from fabricc.base.values import replace
from fabricc.fabric.model import Direction
from fabricc.review.diff.model import ClosedLink, DeviceDiff, Impact, Rail

if TYPE_CHECKING:
    from fractions import Fraction

    from fabricc.review.diff.sides import Side
    from fabricc.review.diff.view import DeviceView, PortView

STOPPED = "bgp/setting[shutdown]"
"""The fact of a BGP process that is shut as a whole."""
_UPWARDS = (Direction.UP, Direction.PEER)
_FABRIC = (*_UPWARDS, Direction.DOWN)


def find_closed_links(base: DeviceView, head: DeviceView) -> frozenset[ClosedLink]:
    """Return the links of a device that both views have and that only the newer one closes."""
    after = {port.identity: (name, port) for name, port in head.ports.items()}
    open_before = _open_ports(base)
    still_open = _open_ports(head)
    return frozenset(
        _name_link(head.name, after[port.identity][1])
        for name, port in base.ports.items()
        if port.role in _FABRIC
        and port.identity in after
        and name in open_before
        and after[port.identity][0] not in still_open
    )


def _open_ports(view: DeviceView) -> set[str]:
    """Return the ports that are not shut and have a session that may come up."""
    facts = view.facts
    if facts.get(STOPPED) == "true":
        return set()
    return {
        port
        for neighbor, port in view.sessions.items()
        if facts.get(f"interface[{port}]/enabled") != "false"
        and f"bgp/neighbor[{neighbor}]/remote_asn" in facts
        and facts.get(f"bgp/neighbor[{neighbor}]/enabled") != "false"
    }


def _name_link(device: str, port: PortView) -> ClosedLink:
    first, second = sorted((device, port.peer))
    return first, second, port.ordinal


def with_cut_rails(head: Side, diffs: Mapping[str, DeviceDiff]) -> dict[str, DeviceDiff]:
    """Return the changes of each device, with the rails that lose every path because of links that it closes."""
    closed = frozenset(link for diff in diffs.values() for link in diff.closed)
    if not closed:
        return dict(diffs)
    paths = _Paths(head, closed)
    found = dict(diffs)
    for name, diff in diffs.items():
        rails: dict[Rail, Fraction] = {}
        for switch in paths.find_cut_switches(diff.closed):
            rails.update(paths.view(switch).reach())
        if rails:
            impact = max(diff.impact, Impact.TRAFFIC_LOSS)
            found[name] = replace(diff, reach={**diff.reach, **rails}, impact=impact, ports_only=False)
    return found


class _Paths:
    """The paths of switches to the top of the fabric, with the views that they need."""

    def __init__(self, head: Side, closed: frozenset[ClosedLink]) -> None:
        self._head, self._closed = head, closed
        self._views: dict[str, DeviceView] = {}
        self._shut: dict[str, frozenset[ClosedLink]] = {}
        self._cut: dict[str, bool] = {}

    def view(self, name: str) -> DeviceView:
        if name not in self._views:
            self._views[name] = self._head.view(name)
        return self._views[name]

    def find_cut_switches(self, closed: Iterable[ClosedLink]) -> set[str]:
        """Return the switches without a path to the top at these links, and those below them."""
        found: set[str] = set()
        waiting = [name for first, second, _ in closed for name in (first, second)]
        while waiting:
            name = waiting.pop()
            if name in found or name not in self._head.kinds or not self._is_cut(name):
                continue
            found.add(name)
            waiting += [port.peer for port in self.view(name).ports.values() if port.role == Direction.DOWN]
        return found

    def _is_cut(self, name: str) -> bool:
        if name not in self._cut:
            self._cut[name] = False
            ports = [port for port in self.view(name).ports.values() if port.role in _UPWARDS]
            self._cut[name] = bool(ports) and not any(self._leads_up(name, port) for port in ports)
        return self._cut[name]

    def _leads_up(self, name: str, port: PortView) -> bool:
        link = _name_link(name, port)
        if link in self._closed or link in self._shut_links(name) or port.peer not in self._head.kinds:
            return False
        return port.role == Direction.PEER or (
            link not in self._shut_links(port.peer) and not self._is_cut(port.peer)
        )

    def _shut_links(self, name: str) -> frozenset[ClosedLink]:
        """Return the links that are closed at one of their ends, whether the change closes them or not."""
        if name not in self._shut:
            view = self.view(name)
            ports = _open_ports(view)
            self._shut[name] = frozenset(
                _name_link(name, port)
                for own, port in view.ports.items()
                if port.role in _FABRIC and own not in ports
            )
        return self._shut[name]
