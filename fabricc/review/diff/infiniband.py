"""An InfiniBand fabric as a side of a comparison: a planned spec, or a built tree.

Devices are the subnets with the files of their managers, the switches by their cables, and the hosts with their files.
Both kinds of sides state facts that are read from the files, so that templates of the user's own count.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from fabricc.back.infiniband.cabling import CABLING, cabling_rows, fabric_summary
from fabricc.back.infiniband.device_reading import read_device
from fabricc.back.infiniband.host_files import HostFiles
from fabricc.back.infiniband.reading import read_subnet
from fabricc.back.infiniband.sm_files import sm_files, subnet_folder
from fabricc.back.nos.templating import use_template_path
from fabricc.base.values import dataclass
from fabricc.compiler.render.switch_files import with_templates
from fabricc.fabric.infiniband import PLATFORM, InfinibandFabric
from fabricc.fabric.infiniband_wiring import Subnet, host_at
from fabricc.facts.paths import path_pattern
from fabricc.review.diff.figures import count_cabled_ports, count_figures
from fabricc.review.diff.model import SUBNET, SUBNETS, Rail
from fabricc.review.diff.sides import Cluster, Side
from fabricc.review.diff.unread import unread_lines
from fabricc.review.diff.view import DeviceView, PortView, cable_facts, numbered_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.given_identities import Moves

_SUBNET_NAME = f"{SUBNET}-"
_TIERS = {"host": ("host", "tor"), "spine": ("tor", "spine"), "core": ("spine", "core")}
_MEMBER = path_pattern(r"partition[*]/member\[(\S+) (\S+)\]")


@dataclass(frozen=True, slots=True)
class _Cable:
    """One end of a cable: own port and its number, its role, the far end, the link, its length and medium."""

    port: str
    number: str
    role: str
    peer: str
    peer_port: str
    link: str
    length_m: int
    medium: str


@dataclass(frozen=True)
class InfinibandSide(Side):
    """A fabric of InfiniBand.

    Attributes:
        plan: the content of `plan/fabric.json`.
        cables: device -> its ends of cables, in the order of the plan.
        read: returns the files of a folder in the tree, by their paths below it.
        with_gpus: hosts that jobs run on.
        accepted: lines without a statement that the spec accepts -> the reason.
    """

    plan: Mapping[str, Any]
    cables: Mapping[str, tuple[_Cable, ...]]
    read: Callable[[str], Mapping[str, str]]
    with_gpus: frozenset[str]
    accepted: Mapping[str, str] = field(default_factory=dict)

    @property
    def vouched_lines(self) -> Mapping[str, str]:
        """The lines that `accept` of the spec names."""
        return self.accepted

    def same(self, other: Side, name: str) -> bool:
        """Compare files, cables and models."""
        return (
            isinstance(other, InfinibandSide)
            and self.kinds[name] == other.kinds[name]
            and self.cables.get(name) == other.cables.get(name)
            and self._model(name) == other._model(name)
            and self.files(name) == other.files(name)
        )

    def _model(self, name: str) -> str:
        return str(self.plan["tiers"].get(self.kinds[name], ""))

    def files(self, name: str) -> Mapping[str, str]:
        """Return the files of a subnet or host; a switch has none."""
        kind = self.kinds[name]
        if kind == SUBNET:
            return self.read(f"subnets/{name.removeprefix(_SUBNET_NAME)}")
        return self.read(f"hosts/{name}") if kind == "host" else {}

    def view(self, name: str) -> DeviceView:
        """Return the facts of a device's files and its cables."""
        kind, cables, files = self.kinds[name], self.cables.get(name, ()), self.files(name)
        reading = read_device(files)
        facts = dict(reading.facts)
        if model := self._model(name):
            facts["device/model"] = model
        for each in cables:
            port = f"interface[{each.port}]"
            facts.update(cable_facts(each.port, each.length_m, each.medium))
            facts[f"{port}/link"] = each.link
            if kind == "host":
                facts[f"{port}/peer"] = f"{each.peer} {each.peer_port}"
            else:
                facts[f"{port}/number"] = each.number
        if kind == "host":
            ports = {each.port: PortView("rail", each.port, each.peer_port, 0) for each in cables}
        else:
            ports = numbered_ports([(c.port, c.role, c.peer, c.peer_port) for c in cables])
        hosts = {name, *(each.peer for each in cables)}
        behind = self._rails_of_subnet(name) if kind == SUBNET else {}
        others = {host: Fraction(0) for host in hosts if host not in self.with_gpus}
        unread = unread_lines(PLATFORM, files, reading)
        return DeviceView(
            name, kind, PLATFORM, PLATFORM, model or PLATFORM, facts, ports, {}, self._rail_gpus, others,
            unread=unread, behind=behind,
        )  # fmt: skip

    def _rails_of_subnet(self, name: str) -> dict[Rail, Fraction]:
        """Return the rails of hosts whose switches are in a subnet."""
        members = {node.name for node in read_subnet(self.files(name)).topology.switches()}
        found: dict[Rail, Fraction] = {}
        for host in self.with_gpus:
            cables = [each for each in self.cables.get(host, ()) if each.peer in members]
            ports = {each.port: PortView("rail", each.port, each.peer_port, 0) for each in cables}
            found |= DeviceView(host, "host", "", "", "", {}, ports, {}, self._rail_gpus).reach()
        return found

    @property
    def _host_gpus(self) -> Fraction:
        return Fraction(int(self.plan["counts"]["gpus"]), max(1, len(self.with_gpus)))

    @property
    def _rail_gpus(self) -> Fraction:
        return self._host_gpus / max(1, int(self.plan["shape"]["rails"]))

    def gpus_of(self, name: str) -> Fraction:
        """GPUs in a host; 0 for a subnet or switch."""
        return self._host_gpus if name in self.with_gpus else Fraction(0)

    def figures(self) -> Mapping[str, str]:
        """Return the figures of the plan."""
        plan = self.plan
        found = count_figures(plan["counts"], plan["shape"], None)
        found[SUBNETS] = str(plan["counts"]["subnets"])
        found["LIDs"] = f"{plan['lids']['highest']:,} of {plan['lids']['limit']:,}"
        found["routing engine"] = ", ".join(plan["routing"]["engines"])
        found["partitions"] = str(len(plan["partitions"]))
        return found

    @property
    def partition_keys(self) -> Mapping[str, int]:
        """Partition -> its P_Key."""
        return self.plan["partitions"]  # type: ignore[no-any-return]

    @cached_property
    def partitions(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Host and RDMA device -> the partitions that it is in, without the default one."""
        found: dict[tuple[str, str], frozenset[str]] = {}
        for name, kind in self.kinds.items():
            if kind == SUBNET:
                for path in read_device(self.files(name)).facts:
                    if match := _MEMBER.fullmatch(path):
                        place = match[2], match[3]
                        found[place] = found.get(place, frozenset()) | {match[1]}
        return found


class _Rendering:
    """The files of a planned fabric, by their folders in the tree."""

    def __init__(self, ib: InfinibandFabric, templates: tuple[Path, ...]) -> None:
        self._ib = ib
        self._templates = templates
        self._hosts = HostFiles(ib)
        self._subnets = {subnet_folder(number): number for number in range(ib.subnets)}
        self._places = {
            f"hosts/{name}": (coordinate, slot)
            for coordinate, unit in ib.wiring.units.items()
            for slot, name in unit.hosts.items()
        }
        self._known: dict[str, dict[str, str]] = {}

    def __call__(self, folder: str) -> Mapping[str, str]:
        with use_template_path(self._templates):
            return self._render(folder)

    def _render(self, folder: str) -> Mapping[str, str]:
        if folder in self._places:
            host = host_at(self._ib, *self._places[folder])
            return with_templates(host.name, partial(dict, self._hosts.render(host)))
        if folder not in self._known:
            subnet = Subnet(self._ib, self._subnets[folder])
            self._known[folder] = with_templates(folder, partial(dict, sm_files(subnet)))
        return self._known[folder]


def planned_side(label: str, compiled: Compiled, ib: InfinibandFabric) -> InfinibandSide:
    """Return the side of a planned spec."""
    wiring = ib.wiring
    rows = [dict(zip(CABLING, map(str, row), strict=True)) for row in cabling_rows(ib)]
    with_gpus = frozenset(
        name
        for unit in wiring.units.values()
        if wiring.host_models[unit.group].gpus
        for name in unit.hosts.values()
    )
    hosts = [name for unit in wiring.units.values() for name in unit.hosts.values()]
    folders = [*map(subnet_folder, range(ib.subnets)), *(f"hosts/{name}" for name in hosts)]
    accepted = {each.line: each.reason for each in compiled.spec.accept if each.line}
    return infiniband_side(
        label,
        fabric_summary(ib, {}),
        rows,
        folders,
        _Rendering(ib, compiled.templates),
        with_gpus,
        wiring.moves,
        accepted,
    )


def infiniband_side(
    label: str,
    plan: Mapping[str, Any],
    rows: Iterable[Mapping[str, str]],
    paths: Iterable[str],
    read: Callable[[str], Mapping[str, str]],
    with_gpus: frozenset[str] | None,
    moves: Moves,
    accepted: Mapping[str, str],
) -> InfinibandSide:
    """Return the side of a fabric.

    Args:
        label: the name of the side for people.
        plan: the content of `plan/fabric.json`.
        rows: those of `plan/cabling.csv`.
        paths: paths or folders of the files of subnets and hosts, from the top of the tree.
        read: returns the files of a folder in the tree.
        with_gpus: hosts that jobs run on; None for all.
        moves: what devices were called before.
        accepted: lines that the spec accepts -> the reason.
    """
    kinds: dict[str, str] = {}
    cables: dict[str, list[_Cable]] = {}
    for row in rows:
        below, above = _TIERS[row["kind"]]
        for end, far, kind, role in (("a", "b", below, "up"), ("b", "a", above, "down")):
            name = row[f"{end}_device"]
            kinds[name] = kind
            role = "rail" if kind == "host" else "host" if row["kind"] == "host" else role
            cable = _Cable(
                row[f"{end}_port"], row[f"{end}_number"], role, row[f"{far}_device"], row[f"{far}_port"], row["link"],
                int(row["length_m"]), row["medium"],
            )  # fmt: skip
            cables.setdefault(name, []).append(cable)
    for path in paths:
        top, _, rest = path.partition("/")
        name = rest.partition("/")[0]
        if top in ("subnets", "hosts"):
            kinds[f"{_SUBNET_NAME}{name}" if top == "subnets" else name] = (
                SUBNET if top == "subnets" else "host"
            )
    order = (SUBNET, "tor", "spine", "core", "host")
    ordered = dict(sorted(kinds.items(), key=lambda item: (order.index(item[1]), item[0])))
    hosts = frozenset(name for name, kind in kinds.items() if kind == "host")
    shape = plan["shape"]
    cluster = Cluster(
        plan["cluster"], plan["counts"]["gpus"], count_cabled_ports(shape), shape["spines"], moves
    )
    ends = {name: tuple(each) for name, each in cables.items()}
    return InfinibandSide(
        label, cluster, ordered, plan, ends, read, hosts if with_gpus is None else with_gpus, accepted
    )
