"""Compare the identity that a device reports with the plan. A successful login does not prove which switch answers."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.base.values import dataclass, replace
from fabricc.operate.devices import running

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import SwitchId
    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.connection import Connection
    from fabricc.operate.devices.login import Device

FACTORY = frozenset({
    "", "arista", "bootstrap", "cumulus", "debian", "frr", "juniper", "localhost", "localhost.localdomain", "none",
    "router", "sonic", "switch", "ubuntu",
})  # fmt: skip
"""Hostnames of unconfigured devices: they do not identify a switch."""
_NO_SERIAL = frozenset({"", "-", "0", "default string", "n/a", "na", "none", "not specified", "null", "unknown",
                        "to be filled by o.e.m."})  # fmt: skip
_ADDRESSES = ("loopback/ipv4", "loopback/ipv6", "bgp/router_id")
_LONGEST = 64
LOOK = "Compare the address in the plan, the access file, DHCP and DNS with the device, and its cables with the plan."
"""The remedy where another device answers."""
LOOK_OR_STATE = f"{LOOK} If it is the switch, write its serial number under `replaced` in the spec."
"""The remedy where a device of the same name answers."""
LldpNeighbors = tuple[tuple[str, str, str], ...]
"""LLDP announcements on ports of the plan: system name, port ID and port description."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity that a device reports.

    Attributes:
        hostnames: in lower case; a device has several when a change of its name has not taken effect everywhere.
        serial: number of the chassis, "" where it is not reported.
        addresses: loopbacks and router ID of the running configuration.
        management: address of its management port in the running configuration, "" where it states none.
        neighbors: LLDP announcements on its ports; read only where the rest does not prove the identity.
    """

    hostnames: frozenset[str] = frozenset()
    serial: str = ""
    addresses: frozenset[str] = frozenset()
    neighbors: LldpNeighbors = ()
    management: str = ""

    @property
    def words(self) -> str:
        """Return the name of the device for a message."""
        name = next(iter(sorted(self.hostnames - FACTORY)), "")
        parts = [f"hostname {shorten_word(name)}"] if name else []
        parts += [f"loopback {shorten_word(one)}" for one in sorted(self.addresses)[:1]] if not name else []
        parts += [f"serial number {shorten_word(self.serial)}"] if self.serial and not parts else []
        return ", ".join(parts) or "no name"

    def matching_name(self, others: Iterable[str], own: str) -> str:
        """Return the one among other names that is its hostname, "" for none and where its own fits too."""
        known = {_normalize_hostname(each): each for each in others}
        labels = [label for name in sorted(self.hostnames) for label in _hostname_forms(name)]
        if _normalize_hostname(own) in labels:
            return ""
        return next((known[label] for label in labels if label in known), "")

    def same_device(self, other: Identity) -> bool:
        """Return whether two reports come from one device."""
        if self.serial and other.serial:
            return self.serial == other.serial
        if self.addresses and other.addresses:
            return bool(self.addresses & other.addresses and self.hostnames & other.hostnames)
        return bool(self.neighbors) and (self.hostnames, self.neighbors) == (other.hostnames, other.neighbors)


def shorten_word(text: str) -> str:
    """Return a word of a device in a length that fits into a message."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def identity_of(stated: Mapping[str, str], facts: Mapping[str, object]) -> Identity:
    """Return the identity that a device reports.

    Args:
        stated: `hostname` and `serial_number` as its driver returns them.
        facts: of its running configuration; empty when that was not read.
    """
    names = {
        _normalize_hostname(stated.get("hostname", "")),
        _normalize_hostname(str(facts.get("system/hostname", ""))),
    } - {""}
    serial = stated.get("serial_number", "").strip().lower()
    found = (str(facts[path]).partition("/")[0] for path in _ADDRESSES if path in facts)
    management = str(facts.get("management/address", "")).partition("/")[0]
    return Identity(
        frozenset(names), "" if serial in _NO_SERIAL else serial, frozenset(found), management=management
    )


def _normalize_hostname(name: str) -> str:
    """Return a hostname in lower case: names have no case (RFC 4343)."""
    return name.strip().strip('"').rstrip(".").lower()


def _hostname_forms(name: str) -> tuple[str, ...]:
    """Return the forms under which a hostname may be in the plan: as it is, and without its domain."""
    return tuple(dict.fromkeys((name, name.partition(".")[0])))


class Roster:
    """The switches of a plan by everything that identifies them."""

    def __init__(self, fabric: Fabric, places: Mapping[str, SwitchId]) -> None:
        """Index the names; addresses and ports are indexed when a name does not prove an identity."""
        self._fabric, self._places = fabric, places
        moves = fabric.moves
        self._names = {_normalize_hostname(name): name for name in places}
        self._former = {name: _normalize_hostname(old) for name, old in moves.renamed.items()}
        self._past = {old: name for name, old in self._former.items() if name in places}
        self._serials = {
            name: box.serial.strip().lower() for name, box in moves.replaced.items() if box.serial.strip()
        }

    def nos(self, name: str) -> str:
        """Return the operating system of a switch."""
        return self._fabric.switch(self._places[name]).nos

    def accepts(self, name: str, identity: Identity, files: Mapping[str, str] | None = None) -> bool:
        """Return whether the hostname alone proves that a device is this switch.

        A name that one switch has and another one had proves nothing.

        Args:
            name: of the switch.
            identity: of the device.
            files: those that the switch is to run, which an overlay may give another hostname; None to leave them out.
        """
        own = {_normalize_hostname(name), self._former.get(name, "")} - {""}
        own -= {one for one in own if one in self._past and one in self._names}
        if files is not None and not own & identity.hostnames:
            own |= self._planned_hostnames(name, files) - self._names.keys()
        return any(own.intersection(_hostname_forms(one)) for one in identity.hostnames)

    def _planned_hostnames(self, name: str, files: Mapping[str, str]) -> set[str]:
        """Return the hostname that the files of a switch give it."""
        return {
            _normalize_hostname(
                str(running.read_facts(self.nos(name), files).facts.get("system/hostname", ""))
            )
        } - {""}

    def other(
        self,
        name: str,
        identity: Identity,
        files: Mapping[str, str] | None = None,
    ) -> str:
        """Return why a device cannot be this switch, in words; "" when nothing contradicts.

        Args:
            name: of the switch of the plan.
            identity: what the device reports.
            files: what the switch is to run.
        """
        if reason := self._by_serial(name, identity):
            return reason
        if self.accepts(name, identity, files):
            return ""
        known = {_normalize_hostname(name), self._former.get(name, "")}
        for host in sorted(identity.hostnames):
            if known.intersection(_hostname_forms(host)):
                continue
            for label in _hostname_forms(host):
                owner = self._names.get(label) or self._past.get(label)
                if owner and owner != name:
                    return f"it is {owner} (hostname {shorten_word(host)})"
        return self._by_address(name, identity) or self._by_neighbors(name, identity.neighbors)

    def _by_serial(self, name: str, identity: Identity) -> str:
        if not identity.serial:
            return ""
        for other, serial in self._serials.items():
            if serial == identity.serial and other != name:
                return f"it is {other} (serial number {shorten_word(serial)})"
        planned = self._serials.get(name, identity.serial)
        if planned != identity.serial:
            return (
                f"its serial number is {shorten_word(identity.serial)}, the spec has {shorten_word(planned)}"
            )
        return ""

    def _by_address(self, name: str, identity: Identity) -> str:
        owners = {address: self._owners.get(address, "") for address in sorted(identity.addresses)}
        if name in owners.values():
            return ""
        return next((f"it is {owner} (loopback {address})" for address, owner in owners.items() if owner), "")

    def _by_neighbors(self, name: str, seen: LldpNeighbors) -> str:
        votes = Counter(owner for one in seen if (owner := self._end_of(*one)))
        if not votes:
            return ""
        other, count = votes.most_common(1)[0]
        if other == name or count <= votes[name]:
            return ""
        return f"its LLDP neighbors are those of {other} ({count} of {len(seen)} ports)"

    def foreign(self, identity: Identity) -> str:
        """Return why a device is no switch of the plan at all, in words; "" where it may be one.

        It has a hostname, and addresses that the plan does not have.
        """
        if not identity.hostnames - FACTORY or not identity.addresses:
            return ""
        if any(self._owners.get(address) for address in identity.addresses):
            return ""
        return f"it is not a switch of this plan ({identity.words}, loopback {sorted(identity.addresses)[0]})"

    def namesake(self, name: str, identity: Identity) -> str:
        """Return why a device with the name of a switch may be another one, in words; "" if nothing contradicts.

        Clusters often have switches of the same names. Such a device has neither a loopback or router ID of this plan
        nor the management address of the switch. A device that gets its hostname by its address, as from DHCP, has
        the loopback of another switch of the plan. The serial number of `replaced` outweighs all of these.
        """
        if not identity.addresses or self._serials.get(name):
            return ""
        owners = {address: self._owners.get(address, "") for address in sorted(identity.addresses)}
        if name in owners.values():
            return ""
        for address, owner in owners.items():
            if owner:
                return f"it has this name, but the loopback of {owner} ({address})"
        planned = str(self._fabric.switch(self._places[name]).management.address).partition("/")[0]
        if not identity.management or identity.management == planned:
            return ""
        return (
            f"it has this name, but loopback {shorten_word(next(iter(owners)))} and management address "
            f"{shorten_word(identity.management)}, as a switch of another cluster"
        )

    @cached_property
    def _owners(self) -> Mapping[str, str]:
        """Loopback or router ID -> switch."""
        found: dict[str, str] = {}
        for name, at in self._places.items():
            switch = self._fabric.switch(at)
            for address in (switch.loopback4, switch.loopback6, switch.bgp.router_id):
                if address:
                    found.setdefault(str(address), name)
        return found

    @cached_property
    def _ends(self) -> Mapping[tuple[str, str], str]:
        """Device in lower case and port -> the switch at the other end of its cable."""
        return {
            (_normalize_hostname(port.peer.device), port.peer.port): name
            for name, at in self._places.items()
            for port in self._fabric.switch(at).ports
            if port.peer
        }

    def _end_of(self, system: str, port: str, text: str) -> str:
        """Return the switch that the plan connects to an announced port, "" for none."""
        for label in _hostname_forms(_normalize_hostname(system)):
            label = self._present_name(label)
            for one in (port, text, *self._match_aliases(label, port, text)):
                if owner := self._ends.get((label, one)):
                    return owner
        return ""

    def _present_name(self, label: str) -> str:
        """Return the present name of a switch by the name that it announces, which may be its former one."""
        past = self._past.get(label, "") if label not in self._names else ""
        return _normalize_hostname(past) if past else label

    def _match_aliases(self, label: str, *announced: str) -> Iterator[str]:
        """Generate the ports that a switch of the plan announces by an alias (SONiC)."""
        if (name := self._names.get(label)) is None:
            return
        switch = self._fabric.switch(self._places[name])
        planned = back_ends.load(switch.nos).planned(switch)
        for port in switch.ports:
            if str(planned.get(f"interface[{port.name}]/alias", "")) in announced:
                yield port.name


@dataclass(frozen=True, slots=True)
class Answering:
    """The device that answers at the address of a switch.

    Attributes:
        proved: whether its hostname is the switch's own.
        wrong: why it cannot be that switch, in words; "" when nothing contradicts.
    """

    identity: Identity
    proved: bool
    wrong: str = ""


def identify_device(
    roster: Roster, name: str, live: Connection, files: Mapping[str, str], planned: Mapping[str, str]
) -> Answering:
    """Read the identity of a device, and compare it with the plan.

    Where its name proves nothing and its configuration is known, its LLDP neighbors are read too.

    Args:
        roster: the switches of the plan.
        name: the switch that is expected.
        live: the connection to its address.
        files: the running configuration; empty when it was not read.
        planned: the files that the switch is to run.

    Raises:
        DeviceError: FAB9105, it does not answer.
    """
    facts = running.read_facts(roster.nos(name), files).facts if files else {}
    identity = identity_of(live.stated_identity(), facts)
    proved = roster.accepts(name, identity, planned)
    if not proved and files:
        identity = replace(identity, neighbors=live.lldp_neighbors())
    return Answering(identity, proved, roster.other(name, identity, planned))


def shared_devices(found: Mapping[str, Answering]) -> list[tuple[str, str]]:
    """Return pairs of switches whose addresses lead to one device.

    One serial number is no proof against two hostnames that are both as planned: virtual switches may share one.
    """
    pairs = []
    groups: dict[object, list[str]] = {}
    for name, one in found.items():
        identity = one.identity
        for key in (identity.serial, *identity.addresses, identity.neighbors):
            if key:
                groups.setdefault(key, []).append(name)
    for names in groups.values():
        for other in names[1:]:
            a, b = found[names[0]], found[other]
            distinct = a.proved and b.proved and not a.identity.hostnames & b.identity.hostnames
            if not distinct and a.identity.same_device(b.identity):
                pairs.append((names[0], other))
    return list(dict.fromkeys(pairs))


def shared_endpoints(access: Access, devices: Iterable[Device]) -> list[tuple[str, str]]:
    """Return pairs of switches that have one address and one way to it."""
    first: dict[tuple[str, str], str] = {}
    pairs = []
    for device in devices:
        other = first.setdefault(access.endpoint(device), device.name)
        if other != device.name:
            pairs.append((other, device.name))
    return pairs
