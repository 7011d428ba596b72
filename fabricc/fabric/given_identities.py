"""Names and numbers that tables give to single switches and links, and records of former names and replaced boxes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.shape import PortLayout, SwitchId


@dataclass(frozen=True, slots=True)
class GivenIdentity:
    """Names and numbers that a table gives to a switch; None is as computed.

    Attributes:
        loopback4, loopback6, management: offsets in their pools.
        hosts4, hosts6: offsets in the hosts pools of a ToR's block for the hosts of its unit.
    """

    name: str | None = None
    asn: int | None = None
    loopback4: int | None = None
    loopback6: int | None = None
    management: int | None = None
    hosts4: int | None = None
    hosts6: int | None = None


@dataclass(frozen=True, slots=True)
class SingleModel:
    """A switch of another model than its tier's: the n-th link of the tier's layout is the n-th of this model's layout.

    Attributes:
        key: of its layout, see `links.layout_key`; no other switch has it.
    """

    model: SwitchModel
    layout: PortLayout
    key: str


class Ends(NamedTuple):
    """The addresses of a link, upper and lower end; a host is below its ToR. None is as computed."""

    ipv4: tuple[str, str] | None
    ipv6: tuple[str, str] | None


NOTHING = GivenIdentity()
"""The identity of a switch that is in no table."""
COMPUTED = Ends(None, None)
"""The addresses of a link that is in no table."""


@dataclass(frozen=True, slots=True)
class Identities:
    """A sparse mapping of exceptions to the closed form.

    Attributes:
        switches: of the switches that are given anything.
        links: offset in the links pool, which the closed form gives a link -> its addresses.
        hosts: ToR -> slot of a port to a host -> addresses of the link.
    """

    switches: Mapping[SwitchId, GivenIdentity] = field(default_factory=dict)
    links: Mapping[int, Ends] = field(default_factory=dict)
    hosts: Mapping[SwitchId, Mapping[int, Ends]] = field(default_factory=dict)

    def of(self, at: SwitchId) -> GivenIdentity:
        """Return what a switch is given."""
        return self.switches.get(at, NOTHING) if self.switches else NOTHING


class ReplacedDevice(NamedTuple):
    """The box that a device took the place of, by its name; `serial` is the new one's number or ""."""

    name: str
    serial: str = ""


@dataclass(frozen=True, slots=True)
class Moves:
    """The renames and replacements in the spec; none of them is needed to configure devices.

    Attributes:
        renamed: name of a device -> the one that it had, of devices that are the same.
        replaced: name of a device -> what stood in its place.
        units: name of a unit or rack -> the one that it had.
        parties: name of an outside party -> the one that it had.
        network: name that the fabric's network had; None where it has the same.
        settled: former names that the spec gives and something now bears in another way; no set, whose order would be
            another in every process.
    """

    renamed: Mapping[str, str] = field(default_factory=dict)
    replaced: Mapping[str, ReplacedDevice] = field(default_factory=dict)
    parties: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()

    def list_stated(self) -> dict[str, object]:
        """Return what `plan/fabric.json` has of them: kind -> the renames, replacements or the network's name."""
        shown = ("renamed", "replaced", "parties", "network")
        return {kind: value for kind in shown if (value := getattr(self, kind))}

    def present(self, name: str) -> str:
        """Return the device that a former name stands for now, "" where it is none."""
        boxes = ((new, box.name) for new, box in self.replaced.items())
        return next((new for new, old in (*self.renamed.items(), *boxes) if old == name), "")
