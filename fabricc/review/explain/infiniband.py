"""InfiniBand: a LID, GUID, P_Key or address of IPoIB, a switch, a host or a port, a partition, a class, a line."""

from __future__ import annotations

import re
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from ipaddress import IPv4Address
from itertools import chain
from typing import TYPE_CHECKING

from fabricc.back.infiniband.device_reading import read_device, vocabulary
from fabricc.back.infiniband.host_files import HostFiles, tenants_by_host
from fabricc.back.infiniband.sm_files import sm_files, subnet_folder
from fabricc.base.diagnostics.wording import as_sentence, plural
from fabricc.base.documents.document import clip
from fabricc.base.values import dataclass
from fabricc.compiler.render.switch_files import with_templates
from fabricc.fabric.capacity.wiring import Outage
from fabricc.fabric.infiniband import guid_text, is_placeholder, spine_sets
from fabricc.fabric.infiniband_wiring import Subnet, expand_hosts, host_at, ports_by_name, switch_guid
from fabricc.fabric.shape import HostId, SwitchId, TierName
from fabricc.facts.paths import replace_keys
from fabricc.front.spec.document import format_path
from fabricc.front.spec.tenants import fold_names
from fabricc.review.explain.devices import OUT, describe_outage, explain_spines, explain_uplinks, group_paths
from fabricc.review.explain.formulas import make_formula
from fabricc.review.explain.groups import explain_group, group_names
from fabricc.review.explain.lines import Texts
from fabricc.review.explain.model import Explanation, Statement, SubjectError, single_explanation
from fabricc.review.explain.origins import TIERS, PlanSources, identity_origins, switch_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Facts, Value
    from fabricc.fabric.infiniband import HostPort, InfinibandFabric, Partition, ServiceClass
    from fabricc.fabric.model import CableRow
    from fabricc.review.explain.model import Formula, Origin

_DOCS = "fabricc docs infiniband"
_GUID = re.compile(
    r"(?:0x)?((?:[0-9a-f]{2}[:-]?){7}[0-9a-f]{2}|(?:[0-9a-f]{4}[:-]){3}[0-9a-f]{4})", re.IGNORECASE
)
_LID = re.compile(r"(?:lid[ =]?)?(0x[0-9a-f]{1,4}|[0-9]{1,5})", re.IGNORECASE)
_ASN = re.compile(r"AS[0-9]+", re.IGNORECASE)
_ADAPTER = re.compile(r"(?:topology/)?lid\[(\S+) (\S+)\]|interface\[(\S+)\]/lid")
_SWITCH = re.compile(r"(?:topology/)?lid\[(\S+)\]")
_NEAR = 3
_LID_RULE = (
    "Cores have the first LIDs of a subnet, then spines by pod, then unit after unit: its ToRs, then its host ports. "
    "The lock pins the start of each, so that growth renumbers nothing."
)
_GUID_RULE = (
    "The file of `infiniband.guids` has the real one. A placeholder stands for one that it lacks: 0x02fab plus the "
    "network, then kind, plane, unit or pod, and number."
)
_ADDRESS_RULE = (
    "Each port of a host has an address in the subnet of its rail. The subnets are equal parts of the pool, and the "
    "position in one follows from unit and slot."
)
_NUMBER_RULE = (
    "The subnet manager counts the ports of all cages from 1; a split cage has one number for each port."
)
_HOST_RULE = (
    "A counted host is named after its unit and slot; one that the spec names keeps its slot by the lock."
)
_PARTITION_RULE = (
    "A partition separates its members from all other hosts. A P_Key with bit 15 set makes a full member."
)
_CLASS_RULE = (
    "All ports have the same table of service levels. The virtual lane follows from the order of levels."
)
_CABLE_RULE = "All cables between two tiers have one length and medium, where no override sets another."
_LINE_RULE = "A setting of the files that hosts or subnet managers of InfiniBand have."


@dataclass(frozen=True)
class InfinibandExplainer:
    """Explains the parts of one InfiniBand fabric.

    Attributes:
        plan: the plan; its fabric is the wiring of `ib`.
    """

    plan: PlanSources
    ib: InfinibandFabric

    def explain_name(self, name: str, words: Sequence[str] = ()) -> Explanation:
        """Explain a LID, GUID, P_Key or address, a device, `DEVICE:PORT`, or a group; `words` choose facts of files.

        Raises:
            SubjectError: FAB9270, nothing has that name; FAB9273, InfiniBand has no such thing; FAB9274, no such fact.
        """
        if _ASN.fullmatch(name):
            message = f"{self.plan.fabric.cluster} is an InfiniBand fabric, which has no ASNs"
            raise SubjectError("FAB9273", message, "Name a LID, a GUID, a P_Key, an address, or a device.")
        device, _, port = name.partition(":")
        at = self.plan.fabric.find(device) or self.plan.fabric.find(self.plan.fabric.moves.present(device))
        if at is None:
            found = self._explain_number(name) or self._explain_group(name)
            if found is None:
                raise self._not_found(name)
            return found
        if isinstance(at, HostId):
            return self._explain_host(at, port, words)
        return self._explain_switch(at, port, words)

    def texts_of(self, folder: str, found: Mapping[str, str]) -> Texts:
        """Return the files of a subnet or host as they are, and as a build now writes them."""
        return Texts(found, self._render(folder), read_device)

    def explain_fact(
        self, folder: str, planned: Facts, path: str, value: Value, also: tuple[str, ...] = ()
    ) -> Statement:
        """Explain a fact of a file; `planned` has the facts of the files as a build now writes them."""
        wanted = planned.get(path)
        off = None if wanted == value else "not stated" if wanted is None else str(wanted)
        if (lid := self._lid_of(folder, path)) is not None and off is None:
            return lid
        row = vocabulary().row(path)
        rule, keys = as_sentence(row.means) or _LINE_RULE, sorted(row.follows)
        if row.reason is not None and "{" not in row.reason.text:
            rule = row.reason.text
            keys = [key for key in row.reason.keys if key[0] != "@" and "{" not in key] or keys
        origins = self.plan.all_of(keys)
        return Statement(path, str(value), rule, origins=origins, planned=off, also=also, docs=_DOCS)

    def facts_of(self, folder: str) -> Facts:
        """Return the facts of a folder's files as a build now writes them."""
        return read_device(self._render(folder)).facts

    def _render(self, folder: str) -> dict[str, str]:
        kind, _, name = folder.partition("/")
        if kind == "hosts":
            at = self.plan.fabric.find(name)
            if not isinstance(at, HostId):
                return {}
            host = host_at(self.ib, at.unit, at.slot)
            return with_templates(name, partial(dict, HostFiles(self.ib).render(host)))
        number = next((each for each in range(self.ib.subnets) if subnet_folder(each) == folder), None)
        if number is None:
            return {}
        return with_templates(folder, partial(dict, sm_files(Subnet(self.ib, number))))

    def _lid_of(self, folder: str, path: str) -> Statement | None:
        """Return the explanation of a LID that a file states."""
        if (found := _ADAPTER.fullmatch(path)) is not None:
            name, rdma, rail = found.groups()
            at = self.plan.fabric.find(name or folder.partition("/")[2])
            ports = host_at(self.ib, at.unit, at.slot).ports if isinstance(at, HostId) else ()
            own = next((port for port in ports if rdma == port.rdma or rail == _label_of(port)), None)
            return self._host_lid(at, own, path) if own is not None and isinstance(at, HostId) else None
        if (found := _SWITCH.fullmatch(path)) is not None:
            at = self.plan.fabric.find(found[1])
            return self._switch_lid(at, path) if isinstance(at, SwitchId) else None
        return None

    def _explain_number(self, name: str) -> Explanation | None:
        """Explain a GUID, an address, a P_Key or a LID; None for anything else."""
        if (found := _GUID.fullmatch(name)) is not None:
            return self._explain_guid(int(re.sub("[:-]", "", found[1]), 16))
        with suppress(ValueError):
            return self._explain_address(IPv4Address(name.partition("/")[0]))
        found = _LID.fullmatch(name)
        if found is None:
            return None
        is_hex = found[1].lower().startswith("0x")
        number = int(found[1], 16 if is_hex else 10)
        keys = {each.pkey: each for each in self.ib.partitions}
        if is_hex and number & 0x7FFF in keys:
            return self._explain_partition(keys[number & 0x7FFF])
        return self._explain_lid(number)

    def _explain_guid(self, guid: int) -> Explanation:
        for at in self.plan.fabric.switch_ids():
            if switch_guid(self.ib, at) == guid:
                name = self.plan.fabric.name(at)
                return self._guid_explanation(guid, name, (("device", name),))
        for host in expand_hosts(self.ib):
            for port in host.ports:
                if port.guid == guid:
                    return self._guid_explanation(guid, port.label, _port_owner(port))
        message = f"no switch or adapter of {self.plan.fabric.cluster} has the GUID {guid_text(guid)}"
        raise SubjectError("FAB9270", message, "Real GUIDs come from the file of `infiniband.guids`.")

    def _guid_explanation(self, guid: int, name: str, details: tuple[tuple[str, str], ...]) -> Explanation:
        statement = self._guid_statement(guid)
        return Explanation("guid", guid_text(guid), f"GUID of {name}", details, (statement,))

    def _guid_statement(self, guid: int) -> Statement:
        text = guid_text(guid) + (", a placeholder" if is_placeholder(guid) else "")
        origins = self.plan.all_of(["infiniband.guids"])
        return Statement("GUID", text, _GUID_RULE, origins=origins, docs=_DOCS)

    def _explain_lid(self, lid: int) -> Explanation:
        found: list[tuple[str, Statement]] = []
        for at in self.plan.fabric.switch_ids():
            statement = self._switch_lid(at)
            if statement.value == str(lid):
                found.append((self.plan.fabric.name(at), statement))
        for coordinate, unit in self.plan.fabric.units.items():
            for slot in unit.hosts:
                at_host = HostId(coordinate, slot)
                ports = host_at(self.ib, coordinate, slot).ports
                found += [(p.label, self._host_lid(at_host, p)) for p in ports if p.lid == lid]
        if not found:
            message = f"no switch or adapter of {self.plan.fabric.cluster} has the LID {lid:,}"
            raise SubjectError("FAB9270", message, "`plan/lids.csv` of the tree lists all.")
        owners = ", ".join(name for name, _ in found)
        details = (("device" if len(found) == 1 else "devices, one in each subnet", owners),)
        return Explanation("lid", str(lid), f"LID of {owners}", details, tuple(each for _, each in found))

    def _switch_lid(self, at: SwitchId, name: str = "LID") -> Statement:
        lids, shape = self.ib.lids, self.plan.fabric.shape
        value = lids.switch(shape, at)
        if at.tier is TierName.CORE:
            formula = make_formula("LID", "1 + core", {"core": at.index}, value)
        elif at.tier is TierName.SPINE:
            numbers = {"spine_start": lids.spine, "pod": at.pod, "spines": shape.spines, "spine": at.index}
            place = "pod"
            if (sets := spine_sets(shape)) > 1:
                numbers |= {"sets": sets, "set": at.plane // shape.fabrics}
                place = "(pod * sets + set)"
            formula = make_formula("LID", f"spine_start + {place} * spines + spine", {**numbers}, value)
        else:
            numbers = self._unit_numbers(at.unit) | {"tor": shape.in_fabric(at.index, at.nic_port)}
            formula = make_formula("LID", "unit_start + unit * unit_lids + tor", {**numbers}, value)
        return self._lid_statement(name, value, formula)

    def _host_lid(self, at: HostId, port: HostPort, name: str = "LID") -> Statement:
        shape = self.plan.fabric.shape
        numbers = self._unit_numbers(at.unit) | {
            "tors": shape.tors_per_unit_fabric,
            "slot": at.slot,
            "rails": self.ib.lids.rails,
            "rail": port.rail % self.ib.lids.rails,
            "sides": shape.sides,
            "side": port.nic_port // shape.port_planes,
        }
        symbols = "unit_start + unit * unit_lids + tors + (slot * rails + rail) * sides + side"
        return self._lid_statement(name, port.lid, make_formula("LID", symbols, {**numbers}, port.lid))

    def _unit_numbers(self, unit: int) -> dict[str, int]:
        lids = self.ib.lids
        return {"unit_start": lids.unit, "unit": unit, "unit_lids": lids.unit_size(self.plan.fabric.shape)}

    def _lid_statement(self, name: str, value: int, formula: Formula) -> Statement:
        lids = self.ib.lids
        pins = {"lid_spine": lids.spine, "lid_unit": lids.unit, "lid_slots": lids.slots}
        pins |= {"lid_rails": lids.rails} if self.plan.fabric.shape.rails_apart else {}
        origins = tuple(self.plan.lock_origin(f"stride {pin}", number) for pin, number in pins.items())
        return Statement(name, str(value), _LID_RULE, (formula,), (), origins, docs=_DOCS)

    def _explain_address(self, address: IPv4Address) -> Explanation:
        cluster, ipoib = self.plan.fabric.cluster, self.ib.ipoib
        if ipoib is None:
            message = f"{cluster} has no IP over InfiniBand, so no addresses"
            raise SubjectError("FAB9273", message, "Name a LID, a GUID, a P_Key or a device.")
        for coordinate, unit in self.plan.fabric.units.items():
            for slot in unit.hosts:
                for port in host_at(self.ib, coordinate, slot).ports:
                    if port.address is not None and port.address.partition("/")[0] == str(address):
                        statement = self._address_statement(HostId(coordinate, slot), port)
                        title = f"{port.name} of {port.host}"
                        return Explanation("address", str(address), title, _port_owner(port), (statement,))
        message = f"no host of {cluster} has {address}; its pool is {ipoib.pool}"
        raise SubjectError("FAB9270", message, "`hosts/` of the tree has the addresses of each host.")

    def _address_statement(self, at: HostId, port: HostPort) -> Statement:
        ipoib, shape = self.ib.ipoib, self.plan.fabric.shape
        if ipoib is None or port.address is None:
            raise ValueError("no IP over InfiniBand")
        number = port.rail * shape.nic_ports + port.nic_port
        first, address = ipoib.pool.address(0), port.address.partition("/")[0]
        offset = (number << ipoib.bits) + at.unit * ipoib.host_stride + at.slot + 1
        numbers = {"rail_port": number, "bits": ipoib.bits, "unit": at.unit, "host_stride": ipoib.host_stride}
        symbols = "rail_port * 2^bits + unit * host_stride + slot + 1"
        steps = (
            make_formula("offset", symbols, {**numbers, "slot": at.slot}, offset),
            make_formula("address", "pool + offset", {"pool": str(first), "offset": offset}, address),
        )
        pins = (self.plan.lock_origin("stride lid_slots", self.ib.lids.slots),)
        origins = (*self.plan.all_of(["infiniband.ipoib.pool"]), *pins)
        return Statement("address", port.address, _ADDRESS_RULE, steps, (), origins, docs=_DOCS)

    def _explain_switch(self, at: SwitchId, port: str, words: Sequence[str]) -> Explanation:
        fabric, name = self.plan.fabric, self.plan.fabric.name(at)
        ports = ports_by_name(fabric, at)
        rest = list(words)
        if not port and rest and rest[0] in ports:
            port = rest.pop(0)
        if port:
            by_number = {str(number): printed for printed, (number, _) in ports.items()}
            port = port if port in ports else by_number.get(port, port)
            if port not in ports:
                raise _no_port("switch", name, port, list(ports))
        folder = subnet_folder(at.plane % fabric.shape.fabrics)
        if rest:
            return self._explain_facts(folder, name, " ".join(rest), (f"[{name}]", f"[{name} port "))
        if port:
            return self._explain_port(name, port, ports[port][0])
        tier, key = fabric.tiers[at.tier], f"{at.tier.value}s"
        cabled = sum(1 for _ in self._cables_of(name))
        details = (
            ("tier", TIERS[at.tier]),
            ("coordinates", f"{switch_text(at)}, subnet {folder.partition('/')[2]}"),
            ("model", f"{tier.model.title}{self._place_of(f'{key}.model')}"),
            ("runs", "no configuration: the subnet manager sets LIDs, routes and lanes"),
            ("ports", f"{cabled} of {len(ports)} cabled"),
            (OUT, describe_outage(fabric, Outage(gone=frozenset({name})))),
        )
        own = [self._switch_lid(at), self._guid_statement(switch_guid(self.ib, at))]
        if at.tier is TierName.TOR:
            own.append(explain_uplinks(self.plan, fabric.units[at.unit].group))
        elif at.tier is TierName.SPINE:
            own.append(explain_spines(self.plan))
        return Explanation("device", name, f"a {TIERS[at.tier]}", details, tuple(own))

    def _explain_host(self, at: HostId, name: str, words: Sequence[str]) -> Explanation:
        host = host_at(self.ib, at.unit, at.slot)
        named = {alias: port for port in host.ports for alias in (_label_of(port), port.name, port.rdma)}
        rest = list(words)
        if not name and rest and rest[0] in named:
            name = rest.pop(0)
        if name and name not in named:
            raise _no_port("host", host.name, name, [_label_of(port) for port in host.ports])
        folder = f"hosts/{host.name}"
        if rest:
            of_port = (f"[{_label_of(named[name])}]", f"[{named[name].rdma}]") if name else ()
            return self._explain_facts(folder, host.name, " ".join(rest), of_port)
        if name:
            return self._explain_port(host.name, _label_of(named[name]), 1, at, named[name])
        group = self.plan.spec.gpus.groups[self.plan.fabric.units[at.unit].group]
        section = format_path(group.path)
        tenants = [each.name for each in tenants_by_host(self.ib).get(host.name, ())]
        details = [
            ("coordinates", f"unit {at.unit}, slot {at.slot}"),
            ("model", f"{host.model.title}{self._place_of(f'{section}.model')}"),
            ("NIC", host.model.nic.title),
            ("runs", f"{host.os}{self._place_of(f'{section}.os')}"),
            ("partitions", ", ".join(tenants) or "the default partition"),
            *((_label_of(port), _port_text(port)) for port in host.ports),
            (OUT, describe_outage(self.plan.fabric, Outage(gone=frozenset({host.name})))),
        ]
        keys = [f"{section}.{key}" for key in ("racks", "hosts", "hosts_per_unit", "hosts_per_rack")]
        origins = (*self.plan.all_of(keys), *identity_origins(self.plan, at.unit, at.slot))
        stated = tuple(origin for origin in origins if origin.value or origin.position)
        statement = Statement("name", host.name, _HOST_RULE, origins=stated, docs=_DOCS)
        return Explanation("device", host.name, "a host", tuple(details), (statement,))

    def _explain_port(
        self, device: str, port: str, number: int, at: HostId | None = None, adapter: HostPort | None = None
    ) -> Explanation:
        found = next((each for each in self._cables_of(device) if each[0] == port), None)
        details = [("far end", "none: the port is not cabled")]
        title = f"a port of {device}"
        if found is not None:
            _, far, cable = found
            title = f"leads to {far}"
            out = describe_outage(self.plan.fabric, Outage(ends=frozenset({(device, port)})))
            medium = f"{cable.length_m} m, {cable.medium}"
            details = [("far end", far), ("cable", medium), ("speed", f"{cable.speed_gbps} Gb/s"), (OUT, out)]
        numbered = Statement("number", str(number), _NUMBER_RULE, docs=_DOCS)
        own = [numbered] if adapter is None else []
        if adapter is not None and at is not None:
            details += [("RDMA device", adapter.rdma), ("interface", adapter.name), ("link", adapter.word)]
            own = [self._host_lid(at, adapter), self._guid_statement(adapter.guid)]
            own += [self._address_statement(at, adapter)] if adapter.address else []
        if found is not None:
            keys = [f"cables.{found[2].kind}.{key}" for key in ("length_m", "medium")]
            medium = f"{found[2].length_m} m, {found[2].medium}"
            own.append(Statement("cable", medium, _CABLE_RULE, origins=self.plan.all_of(keys), docs=_DOCS))
        return Explanation("port", f"{device}:{port}", title, tuple(details), tuple(own))

    def _cables_of(self, device: str) -> Iterator[tuple[str, str, CableRow]]:
        """Yield own port, far end and cable, of each cable of a device."""
        for each in self.plan.fabric.cables():
            for own, far in (((each.a_device, each.a_port), (each.b_device, each.b_port)),
                             ((each.b_device, each.b_port), (each.a_device, each.a_port))):  # fmt: skip
                if own[0] == device:
                    yield own[1], " ".join(far), each

    def _explain_facts(self, folder: str, name: str, word: str, within: tuple[str, ...]) -> Explanation:
        facts = self.facts_of(folder)
        if within:
            facts = {path: value for path, value in facts.items() if any(each in path for each in within)}
        chosen = {path: value for path, value in facts.items() if word.lower() in path.lower()}
        if not chosen:
            leaves = sorted({part for path in facts for part in replace_keys(path, "").split("/")})
            near = get_close_matches(word, leaves, _NEAR) or leaves[:8]
            message = f"{name} has no fact with '{clip(word)}' in its name"
            raise SubjectError("FAB9274", message, f"There is, for example: {', '.join(near)}.")
        statements = tuple(
            self.explain_fact(folder, facts, first, facts[first], others)
            for first, others in group_paths(chosen)
        )
        return Explanation("fact", f"{name} {word}", plural(len(statements), "value"), (), statements)

    def _explain_group(self, name: str) -> Explanation | None:
        if partition := next((each for each in self.ib.partitions if each.name == name), None):
            return self._explain_partition(partition)
        if service := next((each for each in self.ib.classes if each.name == name), None):
            return self._explain_class(service)
        return explain_group(self.plan, name)

    def _explain_partition(self, each: Partition) -> Explanation:
        level = "that of the default class" if each.sl is None else str(each.sl)
        details = (
            ("P_Key", f"0x{each.pkey | 0x8000:04x}"),
            ("service level", level),
            ("hosts", plural(len(each.hosts), "host")),
            ("members", ", ".join(fold_names([*each.members()])) or "none"),
        )
        keys = [f"infiniband.partitions.{each.name}.pkey", f"infiniband.partitions.{each.name}"]
        origins: tuple[Origin, ...] = self.plan.all_of(keys)[:1]
        if not origins:
            pinned = self.plan.lock_origin(f"tenant {each.name}", each.pkey)
            origins = (*self.plan.all_of([f"tenants.{each.name}"]), pinned)
        return single_explanation(
            "tenant", each.name, "a partition", details, _PARTITION_RULE, origins, docs=_DOCS
        )

    def _explain_class(self, each: ServiceClass) -> Explanation:
        share = "strict" if each.strict else f"{each.weight_percent} % of what strict classes leave"
        details = (
            ("service level", str(each.sl)),
            ("virtual lane", str(self.ib.classes.index(each))),
            ("bandwidth", share),
        )
        origins = self.plan.all_of([f"priorities.{each.name}", "priorities"])
        return single_explanation(
            "class", each.name, "a class of traffic", details, _CLASS_RULE, origins, docs=_DOCS
        )

    def _place_of(self, key: str) -> str:
        origin = self.plan.spec_origin(key)
        at = origin.position if origin else None
        return f", {at.file}:{at.line}:{at.column}" if at else ""

    def _not_found(self, name: str) -> SubjectError:
        fabric = self.plan.fabric
        hosts = (host for unit in fabric.units.values() for host in unit.hosts.values())
        own = (*(each.name for each in self.ib.partitions), *(each.name for each in self.ib.classes))
        names = [*chain(map(fabric.name, fabric.switch_ids()), hosts, own, group_names(fabric))]
        device = name.partition(":")[0]
        near = [each for each in names if device and device in each][:_NEAR]
        near = near or get_close_matches(device, names, _NEAR)
        hint = f"Near: {', '.join(near)}." if near else f"Give a LID, a GUID, or a device such as {names[0]}."
        message = (
            f"'{clip(name)}' is no LID, GUID, address, device, unit, partition or class of {fabric.cluster}"
        )
        return SubjectError("FAB9270", message, hint)


def _label_of(port: HostPort) -> str:
    """Return the port's name in the plan, such as `rail0`."""
    return port.label.partition("/")[2]


def _port_owner(port: HostPort) -> tuple[tuple[str, str], ...]:
    far = f"{port.switch} port {port.switch_port}"
    return (("device", port.host), ("port", _label_of(port)), ("RDMA device", port.rdma), ("far end", far))


def _port_text(port: HostPort) -> str:
    """Return a host port in one line."""
    address = f"{port.address}, " if port.address else ""
    return f"{address}LID {port.lid}, {port.switch} port {port.switch_port}, {port.word}"


def _no_port(kind: str, device: str, port: str, names: list[str]) -> SubjectError:
    near = get_close_matches(port, names, _NEAR) or names[:_NEAR]
    message = f"{kind} {device} has no port '{clip(port)}'"
    return SubjectError("FAB9270", message, f"It has, for example: {', '.join(near)}.")
