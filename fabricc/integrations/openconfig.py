"""Write the switches of a fabric as OpenConfig documents, with a list of the facts that these do not carry."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import openconfig
from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.document import clip
from fabricc.base.foreign import files
from fabricc.base.foreign.formats import json_document
from fabricc.base.values import dataclass
from fabricc.compiler.write.workers import spread_work, usable_cpus
from fabricc.fabric.vocabulary import neutral_vocabulary
from fabricc.facts.paths import replace_keys
from fabricc.tree.file import make_folder, remove_file, write_file
from fabricc.tree.manifest import is_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId

SWITCHES, MISSING = "switches", "not-carried.json"
_PIECE = 16


class ExportResult(NamedTuple):
    """The written documents.

    Attributes:
        switches: number of documents; `removed`: number of documents removed because their switches are gone.
        facts, carried: number of facts of these switches, and of those that the documents state with the same value.
        missing: kind of fact, its keys starred -> number of facts that are not carried, largest first.
    """

    switches: int
    removed: int
    facts: int
    carried: int
    missing: Mapping[str, int]

    def as_json(self) -> dict[str, object]:
        """Return the same as plain values, with the meaning of each kind."""
        return {
            "switches": self.switches,
            "facts": self.facts,
            "carried": self.carried,
            "not_carried": [
                {"fact": kind, "count": count, "means": neutral_vocabulary().row(kind).means}
                for kind, count in self.missing.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class _Work:
    fabric: Fabric
    folder: Path
    pieces: Sequence[Sequence[SwitchId]]

    def __call__(self, number: int) -> tuple[int, Counter[str]]:
        """Write the documents of a piece; how many facts its switches have, and of each kind how many are missing."""
        facts, missing = 0, Counter[str]()
        for switch in map(self.fabric.switch, self.pieces[number]):
            document = openconfig.render(switch)
            write_file(self.folder / f"{switch.name}.json", json_document(document).encode())
            stated, carried = openconfig.neutral_facts(switch), openconfig.read(document)
            facts += len(stated)
            missing.update(
                replace_keys(path, "[*]") for path, value in stated.items() if carried.get(path) != value
            )
        return facts, missing


def export_documents(
    compiled: Compiled,
    folder: Path,
    only: Sequence[str] = (),
    network: str | None = None,
    jobs: int | None = None,
) -> ExportResult:
    """Write `switches/NAME.json` for each switch, and `not-carried.json`; remove documents of switches that are gone.

    Args:
        compiled: the spec.
        folder: where; it is made.
        only: the switches; empty for all.
        network: which network of the spec.
        jobs: worker processes; None for one per usable CPU.

    Raises:
        FindingsError: FAB0080, no such switch; FAB3110, no such network; FAB7001, the folder cannot be written.
    """
    fabric = compiled.of_network(network).fabric
    places = _device_places(fabric)
    if unknown := [name for name in only if name not in places]:
        message = f"{fabric.cluster} has no switch '{clip(unknown[0])}'"
        raise FindingsError("FAB0080", message, "`fabricc plan` lists the names.")
    wanted = [at for name, at in places.items() if not only or name in only]
    make_folder(folder / SWITCHES)
    pieces = [wanted[at : at + _PIECE] for at in range(0, len(wanted), _PIECE)]
    facts, missing = 0, Counter[str]()
    for _, (stated, lacking) in spread_work(
        jobs or usable_cpus(), len(pieces), _Work(fabric, folder / SWITCHES, pieces)
    ):
        facts += stated
        missing.update(lacking)
    before = _earlier_documents(folder)
    present = {
        name for each in (compiled, *compiled.networks.values()) for name in _device_places(each.fabric)
    }
    removed = sum(remove_file(folder / SWITCHES / f"{name}.json") for name in sorted(before - present))
    ordered = dict(sorted(missing.items(), key=lambda item: (-item[1], item[0])))
    found = ExportResult(len(wanted), removed, facts, facts - missing.total(), ordered)
    documents = sorted({*(before & present), *map(fabric.name, wanted)})
    write_file(folder / MISSING, json_document({**found.as_json(), "documents": documents}).encode())
    return found


def _device_places(fabric: Fabric) -> dict[str, SwitchId]:
    return {fabric.name(at): at for at in fabric.switch_ids()}


def _earlier_documents(folder: Path) -> set[str]:
    """Return the switches whose documents an earlier run wrote, from its `not-carried.json`."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        stated = json.loads(files.read(folder / MISSING))["documents"]
        return {name for name in stated if is_path(name) and "/" not in name}
    return set()
