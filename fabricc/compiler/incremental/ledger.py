"""The ledger of the last build, with the contribution of each device, and the devices that a change can reach.

It is stored next to the record in the user's state folder. A build of a few devices uses it to leave the others alone:
their rows keep their places in the tables, and only the few new digests are passed to the rules about the whole fabric.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass, replace
from fabricc.fabric import links
from fabricc.fabric.shape import DeviceId, TierName
from fabricc.tree.state import state_of

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.fabric.design import DeviceChange
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.tenants import Tenancy
    from fabricc.paperwork.plan_tables import Share
    from fabricc.rules.census import Census


@dataclass(frozen=True, slots=True)
class Outline:
    """The parts of a fabric that decide whether another one differs.

    Attributes:
        base: digest of everything but the next four.
        changes: switch -> its own settings.
        qos, profiles: digest of each entry of `Fabric.qos` and `Fabric.profiles`.
        tenants: host -> name and numbers of the tenant of each rail, "" for none; empty without tenants.
    """

    base: bytes
    changes: Mapping[str, DeviceChange]
    qos: Mapping[str, bytes]
    profiles: Mapping[tuple[str, int, int], bytes]
    tenants: Mapping[str, tuple[str, ...]]


def fabric_outline(fabric: Fabric) -> Outline:
    """Return the fabric's outline; of further networks it has which hosts are in them."""
    others = [(each.network, each.guests) for each in fabric.networks]
    tenancy = fabric.tenancy
    without = tenancy.without_hosts() if tenancy else None
    bare = replace(fabric, changes={}, qos={}, profiles={}, networks=(), tenancy=without)
    return Outline(
        _text_digest((bare, others)),
        dict(fabric.changes),
        {key: _text_digest(policy) for key, policy in fabric.qos.items()},
        {key: _text_digest(profile) for key, profile in fabric.profiles.items()},
        _tenants_by_host(tenancy) if tenancy else {},
    )


def _tenants_by_host(tenancy: Tenancy) -> dict[str, tuple[str, ...]]:
    """Return names and numbers of the tenant of each rail of each host that has one."""
    words = {
        at: " ".join(map(str, (each.name, each.vrf, each.number, *each.own)))
        for at, each in enumerate(tenancy.tenants)
    }
    known: dict[tuple[int, ...], tuple[str, ...]] = {}
    for rails in tenancy.of_host.values():
        if rails not in known:
            known[rails] = tuple(words.get(at, "") for at in rails)
    return {host: known[rails] for host, rails in tenancy.of_host.items()}


def altered_devices(before: Outline, now: Outline, fabric: Fabric) -> list[DeviceId] | None:
    """Return the switches and hosts whose files can differ, in the fabric's order; None if any device can.

    A change affects its own switch and the far end of every link that it changes. A lossless profile that appears or
    disappears belongs to ports whose cable changed; a changed profile affects every port that uses it. A host that
    moves to another tenant affects its ToRs.

    Args:
        before: outline of the fabric that the files are of.
        now: outline of `fabric`.
        fabric: as it is to be.
    """
    if before.base != now.base or _changed_digest(before.profiles, now.profiles):
        return None
    names = {name for name in before.changes.keys() | now.changes.keys()
             if before.changes.get(name) != now.changes.get(name)}  # fmt: skip
    owners = {key for key in before.qos.keys() | now.qos.keys() if before.qos.get(key) != now.qos.get(key)}
    moved = _moved_hosts(before, now)
    if not names and not owners and not moved:
        return []
    switches = {fabric.name(at): at for at in fabric.switch_ids()}
    if any(name not in switches or _changed_system(before, now, name) for name in names | owners):
        return None
    earlier = replace(fabric, changes=before.changes)
    reached = names | owners
    for name in names:
        pairs = zip(
            links.switch_links(earlier, switches[name]),
            links.switch_links(fabric, switches[name]),
            strict=True,
        )
        reached |= {after.peer for then, after in pairs if then != after}
    reached |= moved | _tors_of(fabric, moved)
    found: list[DeviceId] = [at for name, at in switches.items() if name in reached]
    if reached - switches.keys():
        found += [at for at in fabric.host_ids() if fabric.units[at.unit].hosts[at.slot] in reached]
    return found


def _moved_hosts(before: Outline, now: Outline) -> set[str]:
    """Return the hosts with a rail in another tenant."""
    if before.tenants == now.tenants:
        return set()
    hosts = before.tenants.keys() | now.tenants.keys()
    return {host for host in hosts if before.tenants.get(host) != now.tenants.get(host)}


def _tors_of(fabric: Fabric, hosts: Set[str]) -> set[str]:
    """Return the ToRs of some hosts, by name."""
    return {
        fabric.name(at)
        for at in (fabric.switch_ids() if hosts else ())
        if at.tier is TierName.TOR
        for unit, slots, _ in links.served_slots(fabric, at)
        if not hosts.isdisjoint(unit.hosts[slot] for slot in slots)
    }


def _changed_system(before: Outline, now: Outline, name: str) -> bool:
    """Return whether a switch has another operating system than before, so that file and port names change."""
    then, after = before.changes.get(name), now.changes.get(name)
    return (then and then.nos) != (after and after.nos)


def _changed_digest(
    before: Mapping[tuple[str, int, int], bytes], now: Mapping[tuple[str, int, int], bytes]
) -> bool:
    return any(now.get(key, digest) != digest for key, digest in before.items())


def _text_digest(value: object) -> bytes:
    """Return a digest of the text of a value; equal values may differ in it, different values never agree."""
    return blake2b(repr(value).encode(), digest_size=16).digest()


_CLASSES = {
    ("_codecs", "encode"),
    ("builtins", "frozenset"),
    ("builtins", "set"),
    ("collections", "Counter"),
    ("fabricc.compiler.incremental.ledger", "Ledger"),
    ("fabricc.rules.census", "Census"),
    ("fabricc.proof.invariants.contract", "Contracts"),
    ("fabricc.proof.invariants.clos", "Load"),
    ("fabricc.proof.invariants.policy", "Clause"),
    ("fabricc.proof.invariants.policy", "Policy"),
    ("fabricc.proof.invariants.policy", "NeighborPolicy"),
    ("fabricc.proof.invariants.prefixes", "Block"),
    ("fabricc.compiler.incremental.ledger", "Outline"),
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
