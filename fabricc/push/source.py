"""What is to be pushed: a built tree that is exactly what its manifest, its spec and its lock say."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.build.front import run_front
from fabricc.build.outcome import manifest_inputs
from fabricc.build.recheck import DeviceFiles, find_spec
from fabricc.build.rendering import rendered
from fabricc.check.tree import read_manifest, verify_manifest
from fabricc.devices import inventory
from fabricc.diagnostics import Diagnostic, Severity
from fabricc.emit import manifest as manifests
from fabricc.fabric.fabric import DeviceChange, Fabric
from fabricc.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabricc.devices.inventory import Device
    from fabricc.fabric.model import Switch
    from fabricc.fabric.shape import SwitchId

_REBUILD = "Build again, review the difference, and push what was built."
_AS_IT_IS = DeviceChange(None, None, drained=False, cable_m=None, ports={})


class RefusedError(Exception):
    """The push does not start; `diagnostics` say why."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], sources: Mapping[str, str] | None = None) -> None:
        super().__init__(diagnostics[0].message if diagnostics else "refused")
        self.diagnostics = diagnostics
        self.sources = sources or {}


def refused(code: str, message: str, remedy: str = "") -> RefusedError:
    """A refusal for one reason."""
    return RefusedError((Diagnostic(code, Severity.ERROR, message, None, remedy),))


@dataclass(frozen=True, slots=True)
class Source:
    """A tree and the fabric it was built from.

    Attributes:
        spec: path of the spec.
        digest: SHA-256 of the manifest, which names every file's.
        places: switch -> coordinates, in the fabric's order.
    """

    tree: Path
    spec: Path
    fabric: Fabric
    digest: str
    places: Mapping[str, SwitchId]
    devices: Mapping[str, Device]
    files_below: DeviceFiles

    def files(self, name: str) -> dict[str, str]:
        """The files of a switch as they lie in the tree."""
        return self.files_below(f"switches/{name}")

    def switch(self, name: str) -> Switch:
        """The switch as planned."""
        return self.fabric.switch(self.places[name])

    def renderings(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        """The switch rendered in service, and drained."""
        place, changes = self.places[name], self.fabric.changes
        found = []
        for drained in (False, True):
            change = replace(changes.get(name, _AS_IT_IS), drained=drained)
            switch = replace(self.fabric, changes={**changes, name: change}).switch(place)
            found.append(rendered(switch))
        return found[0], found[1]


def read_source(tree: Path, spec: Path | None = None) -> Source:
    """Read a tree, and prove that its bytes, its spec and its lock belong together.

    Args:
        tree: what `build` wrote, `build/<cluster>`.
        spec: its spec; None to look where the last build or the tree's parents have it.

    Raises:
        RefusedError: FAB9120 and what `check` says of the manifest, or the spec does not plan.
    """
    manifest, missing = read_manifest(tree)
    if manifest is None:
        raise RefusedError((missing,) if missing else ())
    wrong = [d for d in verify_manifest(tree, manifest) if d.severity is Severity.ERROR]
    if wrong:
        message = f"{tree} is not what its manifest says: {len(wrong)} files differ or are missing"
        raise RefusedError((*wrong[:5], Diagnostic("FAB9120", Severity.ERROR, message, None, _REBUILD)))
    path = spec or find_spec(tree, manifest)
    if path is None:
        message = f"the spec {manifest.spec} of {tree} is not where it was, nor above the tree"
        raise refused("FAB6015", message, "Name it with --spec.")
    front = run_front(path, gaps=False)
    if front.spec is None or front.fabric is None or not front.sound:
        raise RefusedError(front.diagnostics, front.sources)
    if front.lock_before != front.lock_text:
        raise refused("FAB9120", f"{front.lock_path} is not the lock that {path} needs", _REBUILD)
    if manifest_inputs(front, front.spec) != dict(manifest.inputs):
        message = f"{tree} was built from another state of {path}, its lock or its catalog"
        raise refused("FAB9120", message, _REBUILD)
    fabric = front.fabric
    if not isinstance(fabric, Fabric):
        raise refused(
            "FAB9130", f"the switches of {path} are not configured one by one: its subnet manager routes"
        )
    digest = hashlib.sha256((tree / manifests.NAME).read_bytes()).hexdigest()
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    return Source(
        tree, path, fabric, digest, places, inventory.devices(fabric), DeviceFiles.of(tree, manifest)
    )
