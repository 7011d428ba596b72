"""The ledger of the last build: the contribution of each device to tables and proof.

It is stored next to the record in the user's state folder. A build of a few devices uses it to leave the others alone:
their rows keep their places in the tables, and only the few new digests are passed to the rules about the whole fabric.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.incremental.device_changes import Outline
    from fabricc.paperwork.plan_tables import Share
    from fabricc.rules.census import Census

_CLASSES = {
    ("_codecs", "encode"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("collections", "Counter"),
    ("fabricc.compiler.incremental.ledger", "Ledger"),
    ("fabricc.rules.census", "Census"),
    ("fabricc.proof.invariants.contract", "Contracts"),
    ("fabricc.proof.invariants.digest", "Load"),
    ("fabricc.proof.invariants.policy", "Clause"),
    ("fabricc.proof.invariants.policy", "Policy"),
    ("fabricc.proof.invariants.policy", "NeighborPolicy"),
    ("fabricc.proof.invariants.prefixes", "Block"),
    ("fabricc.compiler.incremental.device_changes", "Outline"),
    ("fabricc.fabric.design", "DeviceChange"),
}
"""All that a ledger may name: a file from elsewhere can make nothing else run (`pickle`, Restricting Globals)."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The contributions of the devices of a build, devices in the fabric's order: switches, then hosts.

    Attributes:
        outline: of the fabric.
        sizes: characters of a device's rows in the tables of addresses, cables and sessions.
        ends: digest of a device's link ends.
        hosts: digest of the host's contribution to the census.
        summaries: digest of what rules about several switches need of a switch.
        shares: the switch's rows in the table of lossless profiles.
        census: of the whole fabric.
    """

    outline: Outline
    sizes: Sequence[tuple[int, int, int]]
    ends: Sequence[bytes]
    hosts: Sequence[bytes]
    summaries: Sequence[bytes]
    shares: Sequence[Share]
    census: Census


Ledgers = Mapping[str, Ledger]
"""Network -> its ledger; that of the rails has the name ""."""


def store_ledgers(out: Path, cluster: str, ledgers: Ledgers | None) -> str:
    """Store the ledgers of a tree, or remove the stored ones if there are none; return "" if writing fails.

    Returns:
        Their digest.
    """
    path = _ledger_path(out, cluster, make=True)
    try:
        if path is not None and ledgers is not None:
            content = pickle.dumps(ledgers, pickle.HIGHEST_PROTOCOL)
            draft = path.with_name(path.name + ".new")
            draft.unlink(missing_ok=True)
            draft.write_bytes(content)
            draft.replace(path)
            return hashlib.sha256(content).hexdigest()
        if path is not None:
            path.unlink(missing_ok=True)
    except OSError:
        pass
    return ""


def load_ledgers(out: Path, cluster: str, digest: str) -> Ledgers | None:
    """Return the ledgers of that digest, when they are there."""
    path = _ledger_path(out, cluster)
    with suppress(OSError):
        content = path.read_bytes() if path is not None else b""
        if hashlib.sha256(content).hexdigest() == digest:
            found: Ledgers = _Unpickler(io.BytesIO(content)).load()
            return found
    return None


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CLASSES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a ledger")


def _ledger_path(out: Path, cluster: str, *, make: bool = False) -> Path | None:
    state = state_of(out, make=make)
    return state / f"{cluster}.ledger" if state is not None else None
