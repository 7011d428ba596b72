"""Write the specs of a cluster with devices drained and with them in service again, each in a folder that builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import FindingsError
from fabricc.base.values import dataclass
from fabricc.front.spec.document import format_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.documents.document import KeyPath
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.capacity.wiring import End, Outage, Wiring


@dataclass(frozen=True, slots=True)
class DrainKeys:
    """Keys of the spec that must be true during maintenance: path -> current value."""

    keys: Mapping[KeyPath, bool]

    @property
    def lines(self) -> list[str]:
        """The keys as lines of a spec."""
        return [f"{format_path(path)}: true" for path in self.keys]


def find_drain_keys(target: Outage, wirings: Mapping[str, Wiring]) -> DrainKeys:
    """Return the keys that drain switches and shut down links; hosts have no such key."""
    keys: dict[KeyPath, bool] = {}
    for network, wiring in wirings.items():
        root: tuple[str, ...] = ("networks", network, "overrides") if network else ("overrides",)
        changes = wiring.fabric.changes
        for name in (each for each in wiring.switches if each in target.gone):
            keys[(*root, name, "drain")] = name in changes and changes[name].drained
        for device, port in _switch_ends(target, wiring):
            known = changes[device].ports.get(port) if device in changes else None
            keys[(*root, device, "ports", port, "shutdown")] = bool(known and known[2])
    return DrainKeys(keys)


def _switch_ends(target: Outage, wiring: Wiring) -> list[End]:
    """Return one switch end of each link; setting it there shuts down both ends."""
    found: dict[frozenset[End], End] = {}
    for end in sorted(end for end in target.ends if end[0] in wiring.switches):
        if (far := wiring.far_end(end)) is not None:
            found.setdefault(frozenset({end, far}), end)
    return list(found.values())


def require_drain_keys(found: Compiled, wanted: DrainKeys) -> None:
    """Check that the compiled spec applies the keys: an anchor or a merge may define the same key twice.

    Raises:
        FindingsError: FAB9408, it does not have them.
    """
    parts = {"": found, **found.networks}
    for path in wanted.keys:
        network = str(path[1]) if path[0] == "networks" else ""
        rest = path[3:] if network else path[1:]
        change = parts[network].fabric.changes.get(str(rest[0]))
        ports = change.ports if change else {}
        done = change is not None and (change.drained if len(rest) == 2 else ports[str(rest[2])][2])
        if not done:
            message = "the keys that drain the devices cannot be written into this spec"
            raise FindingsError("FAB9408", message, f"Write them by hand: {', '.join(wanted.lines)}.")
