"""The files of devices that are named, in time proportional to them: no tree, no manifest and no record."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.base.values import replace
from fabricc.compiler.compiled import Compiled, unknown_device_error
from fabricc.compiler.load.lock_file import lock_change
from fabricc.compiler.result import BuildResult
from fabricc.compiler.write.device import Work
from fabricc.compiler.write.outcome import Outcome
from fabricc.fabric.shape import DeviceId, HostId
from fabricc.front.spec.load import apply_severities
from fabricc.proof.invariants.rules import soften_breaches
from fabricc.tree import EmitError, manifest
from fabricc.tree.file import make_folder, write_file
from fabricc.tree.stage import CREATE, MemoryStage

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric


def write_devices(
    compiled: Compiled, names: Collection[str], out: Path, *, frozen: bool = False, check: bool = True
) -> BuildResult:
    """Write the files of these devices below `out`, each as its tree has it; the lock is not written.

    Args:
        compiled: the spec.
        names: switches and hosts.
        out: folder for `switches/NAME/…` and `hosts/NAME/…`; files of others there stay.
        frozen: fail where the lock would change.
        check: prove each device, and the links that both ends of are among them.
    """
    if not compiled.sound:
        return BuildResult(diagnostics=compiled.diagnostics)
    spec, held, outcomes = compiled.spec, MemoryStage(), []
    result = BuildResult(spec.cluster, None, compiled.diagnostics)
    if frozen and compiled.lock_text != compiled.lock_before:
        return replace(result, diagnostics=(*compiled.diagnostics, lock_change(compiled)))
    unknown = set(names)
    try:
        if (out / manifest.NAME).exists():
            raise EmitError(
                "FAB7002", f"{out} is an output tree, which is built whole", "Name another folder."
            )
        for each in (compiled, *compiled.networks.values()):
            places = _device_places(each.fabric, names)
            unknown -= places.keys()
            outcome = Outcome(Work(each.fabric, [[at] for at in places.values()], held, None, check), 1)
            outcome.run(None, "")
            outcomes.append(outcome)
        if unknown:
            none = (unknown_device_error(compiled, name) for name in sorted(unknown))
            return replace(result, diagnostics=(*compiled.diagnostics, *none))
        findings = [d for outcome in outcomes for d in outcome.among_themselves(str(out))]
        found = apply_severities(soften_breaches(findings, spec), spec.accept)
        result = replace(
            result,
            diagnostics=(*compiled.diagnostics, *found),
            links=sum(outcome.links.links for outcome in outcomes),
            lock_changed=compiled.lock_text != compiled.lock_before,
        )
        if any(d.severity is Severity.ERROR for d in found):
            return result
        return replace(result, tree=out, files=len(held.files), written=_write_differences(held, out))
    except OSError as error:
        return replace(result, diagnostics=(*compiled.diagnostics, EmitError.from_os(error).diagnostic))
    except EmitError as error:
        return replace(result, diagnostics=(*compiled.diagnostics, error.diagnostic))


def _device_places(fabric: Fabric, names: Collection[str]) -> dict[str, DeviceId]:
    """Return the names that a fabric has, and their coordinates."""
    found: dict[str, DeviceId] = {
        name: at for at in fabric.switch_ids() if (name := fabric.name(at)) in names
    }
    for coordinate, unit in fabric.units.items():
        found |= {name: HostId(coordinate, slot) for slot, name in unit.hosts.items() if name in names}
    return found


def _write_differences(stage: MemoryStage, out: Path) -> int:
    """Write what differs from the files that are there; how many that are."""
    written = 0
    for path, (content, mode) in stage.files.items():
        file = out / path
        make_folder(file.parent)
        with suppress(FileExistsError):  # an existing file keeps its permissions
            os.close(os.open(file, CREATE, mode))
        written += write_file(file, content)
    return written
