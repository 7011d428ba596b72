"""Which devices two fabrics can differ in, when all that differs is what single switches do differently."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass, replace
from fabricc.fabric import links

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.plans import DeviceChange
    from fabricc.fabric.shape import DeviceId


@dataclass(frozen=True, slots=True)
class Outline:
    """A fabric as far as another one has to be told apart from it.

    Attributes:
        base: digest of everything but the next three.
        changes: switch -> what it does differently.
        qos, profiles: digest of each entry of `Fabric.qos` and `Fabric.profiles`.
    """

    base: bytes
    changes: Mapping[str, DeviceChange]
    qos: Mapping[str, bytes]
    profiles: Mapping[tuple[str, int, int], bytes]


def fabric_outline(fabric: Fabric) -> Outline:
    """The fabric's outline; of further networks it has which hosts are in them."""
    others = [(each.network, each.guests) for each in fabric.networks]
    return Outline(
        _text_digest((replace(fabric, changes={}, qos={}, profiles={}, networks=()), others)),
        dict(fabric.changes),
        {key: _text_digest(policy) for key, policy in fabric.qos.items()},
        {key: _text_digest(profile) for key, profile in fabric.profiles.items()},
    )


def altered_devices(before: Outline, now: Outline, fabric: Fabric) -> list[DeviceId] | None:
    """The switches and hosts whose files can differ, in the fabric's order; None when that may be any device.

    A change reaches its own switch, and the far end of every link that it makes different. A lossless profile that
    comes or goes belongs to ports whose cable did; one that is another concerns every port that has it.

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
    if not names and not owners:
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
    found: list[DeviceId] = [at for name, at in switches.items() if name in reached]
    if reached - switches.keys():
        found += [at for at in fabric.host_ids() if fabric.units[at.unit].hosts[at.slot] in reached]
    return found


def _changed_system(before: Outline, now: Outline, name: str) -> bool:
    """Whether a switch has another operating system than before: its files and its ports get other names."""
    then, after = before.changes.get(name), now.changes.get(name)
    return (then and then.nos) != (after and after.nos)


def _changed_digest(
    before: Mapping[tuple[str, int, int], bytes], now: Mapping[tuple[str, int, int], bytes]
) -> bool:
    return any(now.get(key, digest) != digest for key, digest in before.items())


def _text_digest(value: object) -> bytes:
    """Of the text of a value: two that are equal may differ in it, two that differ never agree."""
    return blake2b(repr(value).encode(), digest_size=16).digest()
