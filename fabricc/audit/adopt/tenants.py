"""Tenants, read back: VRFs over the ports to hosts, with their numbers, as the section `tenants` of a spec.

A VRF of a tenant has nothing else than ports to hosts and exits, and on all ToRs the same numbers. Where a fabric has
VRFs that the section cannot describe, it is left out as a whole, with the reason: a tenant that is described in part
would shut the ports of the others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.documents.schema import fits_schema
from fabricc.base.numbers import whole_number
from fabricc.base.values import dataclass
from fabricc.fabric.tenants import MOST, VNI_BASE, Tenant, TenantNumbers
from fabricc.facts.statement import Tier
from fabricc.front.spec.document import cluster_schema
from fabricc.front.spec.tenants import SECTION, fold_gpus, fold_names, list_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.adopt.found_tiers import Words
    from fabricc.audit.adopt.groups import FoundHost
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.adopt.outward import ExternalPort
    from fabricc.audit.model import FoundFabric
    from fabricc.fabric.facts import Facts

_TARGET = re.compile(r"[0-9]{1,5}:[0-9]{1,10}")
_JUNOS_TARGET = "target:"


@dataclass(frozen=True, slots=True)
class FoundTenants:
    """The tenants of a found fabric by their VRFs; empty without any.

    Attributes:
        numbers: VRF -> its number in the lock; in this order.
        own: VRF -> numbers that do not follow from that.
        rails: host -> VRF of each rail, "" for none.
        exits: (switch, port) outside -> its VRF.
        names: VRF -> its tenant.
        problem: why the spec cannot describe the VRFs that are there, in words; "" if it can.
    """

    numbers: Mapping[str, int] = field(default_factory=dict)
    own: Mapping[str, TenantNumbers] = field(default_factory=dict)
    rails: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exits: Mapping[tuple[str, str], str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    def lock_lines(self) -> str:
        """Return the lines of a lock with the numbers of tenants."""
        numbers = {self.names[vrf]: number for vrf, number in self.numbers.items()}
        return "".join(f"tenant {name} {number}\n" for name, number in sorted(numbers.items()))

    def find_divided(self, gpus: Mapping[str, int]) -> str:
        """Return why hosts cannot be divided between their tenants, in words; "" if they can.

        Args:
            gpus: host -> its number of GPUs.
        """
        for host, rails in self.rails.items():
            own = {*rails} - {""}
            if len({*rails}) > 1 and (
                alone := [each for each in own if not list_gpus(rails, each, gpus[host])]
            ):
                return f"VRF {min(alone)} has ports of {host}, and no whole GPU of it"
        return ""

    def section(
        self, names: Mapping[str, str], gpus: Mapping[str, int], parties: Mapping[str, Sequence[str]]
    ) -> Words:
        """Return the section `tenants`.

        Args:
            names: host -> its name in the spec.
            gpus: host -> its number of GPUs.
            parties: VRF -> outside parties that it reaches.
        """
        found: Words = {}
        for vrf in self.numbers:
            whole, parts = [], {}
            for host, rails in self.rails.items():
                if vrf in rails and host in names:
                    own = list_gpus(rails, vrf, gpus[host])
                    if len(own) < gpus[host] or {*rails} != {vrf}:
                        parts[names[host]] = fold_gpus(own)
                    else:
                        whole.append(names[host])
            words: Words = {"hosts": fold_names([*whole, *parts])}
            alike = {tuple(each) for each in parts.values()}
            if parts and not whole and len(alike) == 1:
                words["gpus"] = next(iter(parts.values()))
            elif parts:
                words["gpus"] = parts
            if reached := parties.get(vrf):
                words["reach"] = list(reached)
            if (name := self.names[vrf]) != vrf:
                words["vrf"] = vrf
            stated = zip(TenantNumbers._fields, self.own[vrf], strict=True)
            found[name] = words | {key: value for key, value in stated if value is not None}
        return found


def list_gpus(rails: Sequence[str], tenant: str, gpus: int) -> list[int]:
    """Return the GPUs of a host whose rails are all in a tenant."""
    found = []
    for gpu in range(gpus):
        first = gpu * len(rails) // gpus
        if {*rails[first : max((gpu + 1) * len(rails) // gpus, first + 1)]} == {tenant}:
            found.append(gpu)
    return found


def rename_hosts(words: Mapping[str, Any], new_names: Mapping[str, str]) -> dict[str, Any]:
    """Return words of a spec with other names of hosts in their tenants."""
    if "tenants" not in words:
        return dict(words)
    renamed: Words = {}
    for tenant, own in words["tenants"].items():
        hosts = [new_names.get(host, host) for host in list_names(own["hosts"]) or ()]
        gpus = own.get("gpus")
        if isinstance(gpus, dict):
            gpus = {new_names.get(host, host): each for host, each in gpus.items()}
        renamed[tenant] = own | {"hosts": fold_names(hosts)} | ({"gpus": gpus} if gpus else {})
    return {**words, "tenants": renamed}


def find_tenants(found: FoundFabric, order: Order, exits: Iterable[ExternalPort]) -> FoundTenants:
    """Return the tenants of a fabric."""
    tors = order.tier(Tier.TOR)
    facts = {name: found.devices[name].reading.facts for name in tors}
    if not any(path.endswith("]/vrf") for each in facts.values() for path in each) or any(
        path.startswith("evpn/segment[") for path in facts[tors[0]]
    ):
        return FoundTenants()
    rails, problem = _read_rails(order.hosts, facts)
    named = dict.fromkeys(vrf for own in rails.values() for vrf in own if vrf)
    if not named:
        return FoundTenants()
    numbers: dict[str, TenantNumbers] = {}
    places: dict[str, int] = {}
    for vrf in named:
        own = [each for each in facts.values() if _has_vrf(each, vrf)]
        numbers[vrf], wrong = _read_numbers(vrf, own, spines=bool(order.spines) or order.has_peer_links)
        problem = problem or wrong
        vlans = {each.get(f"evpn/vrf[{vrf}]/vlan") for each in own}
        vlan = next(iter(vlans)) if len(vlans) == 1 else None
        vni = numbers[vrf].vni
        for number in (vlan - 1 if isinstance(vlan, int) else 0, vni - VNI_BASE if vni else 0):
            if 0 < number <= MOST and number not in places.values():
                places.setdefault(vrf, number)
    for vrf in named:
        free = (number for number in range(1, MOST + 1) if number not in places.values())
        places.setdefault(vrf, next(free, MOST))
    tenants, wrong = _choose_names(named)
    if problem or wrong:
        return FoundTenants(problem=problem or wrong)
    ordered = dict(sorted(places.items(), key=lambda each: each[1]))
    outside = {
        (way.switch, way.port): str(found.devices[way.switch].reading.facts.get(f"interface[{way.port}]/vrf"))
        for way in exits
    }
    return FoundTenants(
        ordered,
        {vrf: _list_own_numbers(vrf, number, numbers[vrf]) for vrf, number in ordered.items()},
        rails,
        {way: vrf for way, vrf in outside.items() if vrf in ordered},
        tenants,
    )


def _read_rails(
    hosts: Iterable[FoundHost], facts: Mapping[str, Facts]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Return host -> VRF of each rail, and why a spec cannot describe that."""
    rails: dict[str, tuple[str, ...]] = {}
    outside, divided = [], []
    for host in hosts:
        per_nic = max(1, len(host.cables) // host.nics)
        vrfs: list[str] = []
        for cable in host.cables:
            port = f"interface[{cable.peer_port}]/"
            own = facts.get(cable.peer, {})
            vrf = str(own.get(port + "vrf", ""))
            if not vrf and own.get(port + "enabled") != "false":
                outside.append(f"{cable.peer} {cable.peer_port}")
            vrfs.append(vrf)
        groups = [vrfs[at : at + per_nic] for at in range(0, len(vrfs), per_nic)]
        divided += [host.name for each in groups if len({*each}) > 1]
        rails[host.name] = tuple(each[0] for each in groups)
    if outside:
        return rails, (
            f"{plural(len(outside), 'port')} to hosts ({join_words(outside, 2)}) are in no VRF and not shut"
        )
    if divided:
        return rails, f"ports of one NIC of {join_words(divided, 2)} are in two VRFs"
    return rails, ""


def _has_vrf(facts: Facts, vrf: str) -> bool:
    return any(path in facts for path in (f"evpn/vrf[{vrf}]/vni", f"vrf[{vrf}]", f"tenant[{vrf}]"))


def _choose_names(vrfs: Iterable[str]) -> tuple[dict[str, str], str]:
    """Return VRF -> the tenant that it is for, and why a VRF cannot be that of a tenant.

    A tenant has the name of its VRF, or one like it where names of tenants have to be shorter or in lower case.
    """
    schema = cluster_schema()
    rule = schema["properties"][SECTION]["additionalProperties"]["properties"]["vrf"]
    found: dict[str, str] = {}
    problem = ""
    for vrf in vrfs:
        if not fits_schema(vrf, rule, schema):
            problem = f"VRF {vrf} has no name that one of a tenant can have ({rule['patternErrorMessage']})"
        found[vrf] = vrf if fits_schema(vrf, schema["$defs"]["vrf_name"], schema) else ""
    if len({vrf.lower() for vrf in found}) < len(found):
        problem = "names of VRFs differ in case alone"
    for vrf in [vrf for vrf, name in found.items() if not name]:
        like, used = vrf.lower().replace("_", "-"), {*found.values()}
        fits = like not in used and fits_schema(like, schema["$defs"]["vrf_name"], schema)
        free = (f"tenant-{number}" for number in range(1, len(found) + 1))
        found[vrf] = like if fits else next(name for name in free if name not in used)
    return found, problem


def _find_misfit(numbers: TenantNumbers) -> str:
    """Return the key of a number that a spec does not accept for a tenant, "" for none."""
    schema = cluster_schema()
    rules = schema["properties"][SECTION]["additionalProperties"]["properties"]
    stated = zip(TenantNumbers._fields, numbers, strict=True)
    return next(
        (key for key, value in stated if value is not None and not fits_schema(value, rules[key], schema)), ""
    )


def _read_numbers(vrf: str, tors: Sequence[Facts], *, spines: bool) -> tuple[TenantNumbers, str]:
    """Return the numbers of a VRF on its ToRs, and why they are not those of a tenant."""
    values: dict[str, set[object]] = defaultdict(set)
    for facts in tors:
        for key, value in zip(TenantNumbers._fields, _numbers_on_tor(facts, vrf), strict=True):
            values[key].add(value)
    several = [key for key, each in values.items() if len(each) > 1]
    if several:
        return TenantNumbers(), f"VRF {vrf} has another {several[0].replace('_', ' ')} on another ToR"
    made: dict[str, Any] = {key: next(iter(each)) for key, each in values.items()}
    numbers = TenantNumbers(**made)
    missing = [key for key, value in made.items() if value is None]
    if spines and (missing or not tors):
        lacking = missing[0].replace("_", " ") if missing else "statement"
        return numbers, f"VRF {vrf} has no {lacking} that all ToRs share"
    if key := _find_misfit(numbers):
        return numbers, f"VRF {vrf} has the {key.replace('_', ' ')} {made[key]}, which no tenant can have"
    return numbers, ""


def _numbers_on_tor(facts: Facts, vrf: str) -> Iterator[object]:
    """Yield VNI, route target and the number of the distinguisher; None for what a tenant cannot have."""
    vni = facts.get(f"evpn/vrf[{vrf}]/vni", facts.get(f"vxlan/vrf[{vrf}]/vni"))
    yield vni if isinstance(vni, int) else None
    ways = {facts.get(f"vrf[{vrf}]/{way}") for way in ("import", "export")}
    foreign = next(iter(ways)) if len(ways) == 1 else None
    target = str(facts.get(f"evpn/vrf[{vrf}]/route_target", foreign)).removeprefix(_JUNOS_TARGET)
    yield target if _TARGET.fullmatch(target) else None
    value = str(facts.get(f"evpn/vrf[{vrf}]/distinguisher", facts.get(f"vrf[{vrf}]/distinguisher", "")))
    address, _, number = value.rpartition(":")
    own = {str(facts.get(path, "")).partition("/")[0] for path in ("loopback/ipv4", "evpn/source")}
    yield whole_number(number) if address in own else None


def _list_own_numbers(vrf: str, number: int, stated: TenantNumbers) -> TenantNumbers:
    """Return the numbers that do not follow from the number of a tenant in the lock."""
    if stated.vni is None:
        return TenantNumbers()
    plain = Tenant(vrf, number)
    own = TenantNumbers(vni=None if stated.vni == plain.vni else stated.vni)
    known = Tenant(vrf, number, own)
    if stated.route_target != known.route_target:
        own = own._replace(route_target=stated.route_target)
    if f":{stated.distinguisher}" != known.distinguisher(""):
        own = own._replace(distinguisher=stated.distinguisher)
    return own
