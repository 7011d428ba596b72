"""Name the virtual lab devices of a NOS: its containerlab kind, its netlab device, and their port numbers."""

from __future__ import annotations

from dataclasses import field
from importlib import import_module, util
from typing import TYPE_CHECKING

from fabricc.back.nos import BUILT_IN
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.model import Switch

PortMap = dict[str, str]
"""Name of an interface of the container -> name of the switch's port."""


@dataclass(frozen=True, slots=True)
class Emulation:
    """The lab device of one NOS, where images of it exist.

    Attributes:
        kind: containerlab's kind; `image`: the image name in its documentation, `{release}` for the NOS's release.
        device: netlab's device type.
        endpoint: (place of a port in panel order from 1, its name) -> its interface in the container.
        first_ifindex: what netlab counts the device's first port as; None when ports keep the plan's names there.
        startup: emitted file that the kind boots from; "" when it has no such feature.
        binds: emitted file, or one of `port_map`, -> where the container expects it.
        port_map: a file with the names of the container's ports: (file name, its text from switch and port map).
        env: environment of the container.
        namespace: whether addresses and kernel settings are given from outside, as to any Linux container.
        unverified: what is assumed, a sentence each, for no such image was run here.
    """

    kind: str
    image: str
    device: str
    endpoint: Callable[[int, str], str]
    first_ifindex: int | None
    unverified: tuple[str, ...]
    startup: str = ""
    binds: Mapping[str, str] = field(default_factory=dict)
    port_map: tuple[str, Callable[[Switch, PortMap], str]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    namespace: bool = False


def by_place(first: int, prefix: str = "eth") -> Callable[[int, str], str]:
    """Interfaces numbered in panel order, the first port being `first`."""
    return lambda place, _name: f"{prefix}{place - 1 + first}"


def by_name(_place: int, name: str) -> str:
    """Interfaces named as the switch's ports."""
    return name


def load_emulation(nos: str) -> Emulation | None:
    """Return how a NOS is emulated, from its back end's module `emulation`; None without one."""
    if nos not in BUILT_IN:
        return None
    module = f"{BUILT_IN[nos].partition(':')[0]}.emulation"
    if util.find_spec(module) is None:
        return None
    found: Emulation = import_module(module).EMULATION
    return found
