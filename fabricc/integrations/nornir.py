"""Nornir's inventory of a fabric, from its spec: the plugin `FabriccInventory`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from nornir.core.inventory import ConnectionOptions, Defaults, Group, Groups, Host, Hosts, Inventory

from fabricc.base.foreign.shell import expand_home
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric import links
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.operate.devices.access import NAME, Access, access_of
from fabricc.operate.devices.login import Device, device_of_switch, driver_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.fabric import Fabric


class FabriccInventory:
    """Every switch of a spec as a host of Nornir, in groups by tier, unit, rail, plane and NOS.

    Args:
        spec: path of the spec, which is planned; nothing is built.
        access_file: the access file; by default fabricc-access.yaml next to the spec, if it exists.
        network: the network, if the spec has several: `compute`, or one of `networks`.
        passwords: look up the secrets that the access file names, so that tasks can log in; no file contains them.
    """

    def __init__(
        self, spec: str, access_file: str | None = None, network: str | None = None, *, passwords: bool = True
    ) -> None:
        self._spec = expand_home(spec)
        self._access = expand_home(access_file) if access_file else None
        self._network, self._passwords = network, passwords

    def load(self) -> Inventory:
        """Return the inventory.

        Raises:
            CompileError: the spec has errors, or is of InfiniBand.
            FindingsError: FAB3110, no such network; FAB9101, FAB9102 or FAB9163, what is wrong with the access file.
        """
        fabric = compile_spec(self._spec, gaps=False).of_network(self._network).fabric
        access = None
        if self._access is not None or (self._spec.parent / NAME).exists():
            access = access_of(self._spec, self._access)
            if access.unverified:
                place = self._access or self._spec.parent / NAME
                warnings.warn(
                    f"{place} turns off the verification of host keys or certificates", stacklevel=2
                )
        hosts, groups, defaults = Hosts(), Groups(), Defaults(data={"cluster": fabric.cluster})
        for at in fabric.switch_ids():
            known = device_of_switch(fabric, at)
            host = Host(known.name, known.address, data=_task_data(fabric, at, known), defaults=defaults)
            for name in _group_names(fabric, at, known):
                host.groups.append(groups.setdefault(name, Group(name, defaults=defaults)))
            self._log_in(host, known, access)
            hosts[known.name] = host
        return Inventory(hosts, groups, defaults)

    def _log_in(self, host: Host, device: Device, access: Access | None) -> None:
        if access is None:
            host.platform = driver_name(device.nos)
            return
        login = access.login(device)
        host.platform = driver_name(device.nos, login)
        host.hostname = login.address or device.address
        host.username, host.port = login.username, login.port
        host.password = access.password(login).reveal() if self._passwords else None
        extras = {"timeout": login.timeout_s, "optional_args": login.arguments()}
        host.connection_options["napalm"] = ConnectionOptions(extras=extras)


def _group_names(fabric: Fabric, at: SwitchId, device: Device) -> Iterator[str]:
    """Names of the groups that a switch is in, the most special first."""
    yield from (f"rail_{rail}" for rail in _served_rails(fabric, at))
    if at.tier is TierName.TOR:
        yield f"unit_{fabric.units[at.unit].name}"
    yield f"plane_{at.plane}"
    yield f"tier_{device.kind}"
    yield f"nos_{device.nos}"


def _served_rails(fabric: Fabric, at: SwitchId) -> list[int]:
    """Return the rails of hosts with GPUs that a ToR serves, from 0."""
    if at.tier is not TierName.TOR:
        return []
    return sorted(
        {rail for unit, _, rails in links.served_slots(fabric, at) if unit.beside is None for rail in rails}
    )


def _task_data(fabric: Fabric, at: SwitchId, device: Device) -> dict[str, Any]:
    """Return the data of a switch for tasks; addresses without prefix length, None for an absent family."""
    addresses, tor = fabric.addresses, at.tier is TierName.TOR

    def loopback(pool: Pool | None) -> str | None:
        return pool.address(links.loopback_offset(fabric, at, pool)) if pool else None

    change = fabric.changes.get(device.name)
    return {
        "network": fabric.network or "compute",
        "tier": device.kind,
        "unit": fabric.units[at.unit].name if tor else None,
        "pod": at.pod if fabric.shape.cores and at.tier is not TierName.CORE else None,
        "plane": at.plane,
        "rails": _served_rails(fabric, at),
        "model": fabric.model(at).name,
        "nos": device.nos,
        "release": device.release,
        "asn": links.switch_asn(fabric, at),
        "loopback4": loopback(addresses.loopbacks4 if addresses.hosts4 else None),
        "loopback6": loopback(addresses.loopbacks6),
        "drained": bool(change and change.drained),
        "former": device.former or None,
    }
