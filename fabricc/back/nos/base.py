"""The protocol of a back end: it names ports, renders a switch, reads its text back, and declares its departures.

A departure is a value that a NOS expresses in another way than the Fabric, with the reason; tests check each one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fabricc.base.values import dataclass
from fabricc.fabric.vocabulary import Gap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch

__all__ = ["THIRD_PARTY", "Application", "Gap", "Nos"]

THIRD_PARTY = "FAB5900"
"""Code of the gaps of a back end that does not come with fabricc: a spec can accept only codes that are known."""


@dataclass(frozen=True, slots=True)
class Application:
    """The way in which a system applies a change to one switch, where its facts alone do not determine that.

    Attributes:
        way: the command and the number of steps; "" where nothing is known, or nothing has to be done.
        interrupts: what the way interrupts, and why; "" for nothing.
        reloads: whether all services of the switch restart.
        restarts_bgp: whether BGP restarts.
        ports: ports in use before and after the change that go down for a while.
        limit_s: seconds after which the driver gives up and goes back.
    """

    way: str = ""
    interrupts: str = ""
    reloads: bool = False
    restarts_bgp: bool = False
    ports: tuple[str, ...] = ()
    limit_s: int = 0


class Nos(Protocol):
    """One network operating system; stateless, found through the entry-point group `fabricc.nos`.

    A system whose changes interrupt more than their facts do also has `application(before, after)`, from files to
    files; it returns an `Application`, or raises a ValueError where they cannot be read. Its `typical_applications`
    yields what is often done to a switch, with how that is applied. One whose configuration sets the size of the pool
    of shared headroom has `sets_headroom_pool = True`. One that leaves PFC to a driver has `sets_pfc = False`. One
    without figures for lossless classes over long cables has `longest_cable_m(model)`, in metres. One with a command
    that sets a documented lossless policy has it as `vendor_policy`, and writes the command for a switch whose
    `qos.vendor` is set. One whose port names depend on speeds has `name_at_speed(model, name, speed_gbps)`, which
    changes a name that `port_name` returned. One whose files contain texts that follow from addresses, such as a MAC
    address or the network that several links join in, has `derived_texts(switch)`, which returns them.
    """

    name: str
    releases: tuple[str, ...]
    default_release: str

    def supports(self, model: SwitchModel) -> bool:
        """Return whether this NOS runs on the model."""
        ...

    def port_name(self, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """Return the name of a port: `child` (from 1) of `children` of front-panel cage `cage` (from 1)."""
        ...

    def gaps(self, switch: Switch) -> list[Gap]:
        """Return what this switch needs and this NOS cannot express; called for one switch of each kind."""
        ...

    def render(self, switch: Switch) -> dict[str, str]:
        """Return the switch's files: path below its folder -> text, ending in a newline."""
        ...

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of a rendered or running configuration; unknown lines are listed, never fatal."""
        ...

    def planned(self, switch: Switch) -> Facts:
        """Return the facts of the switch that this NOS expresses, which `read(render(switch))` must equal."""
        ...


class Kind(StrEnum):
    """The treatment of a neutral fact."""

    LEFT_OUT = "left out"
    ROUNDED = "rounded"


LEFT_OUT, ROUNDED = Kind.LEFT_OUT, Kind.ROUNDED


class Departure(NamedTuple):
    """Facts whose values on a NOS differ from those of the Fabric.

    Attributes:
        path: of the facts, `*` stands for anything.
        kind: whether it omits them, at least on some switch, or uses the nearest possible value.
        reason: why, with the code of the gap that reports it to the user, if any.
    """

    path: str
    kind: Kind
    reason: str
