"""Facts of hosts that no source settles: findings that name the key of the spec or catalog that does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts.nccl import ALL_JOINED
from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.words import ACCESS_CONTROL
from fabricc.back.jobs.kubernetes import SRIOV_NICS, unmapped_classes
from fabricc.catalog.model import CARD_MODE, HostModel
from fabricc.fabric.shape import HostId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.base.documents.document import KeyPath
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host
    from fabricc.front.spec.model import ClusterSpec, HostGroup

ASSUMED = "assumed"
"""The prefix of a figure's source that marks an assumption."""
SOCKETS = "socket_interface"


class HostFact(NamedTuple):
    """A fact of a host model that no source settles.

    Attributes:
        model: name of the host model.
        value: that is used.
        reason: why it is assumed.
        key: of the spec or of the host model in a catalog file, which settles it.
    """

    model: str
    fact: str
    value: str
    reason: str
    key: str


def host_fact_findings(
    spec: ClusterSpec, fabric: Fabric, networks: Iterable[tuple[ClusterSpec, Fabric]] = ()
) -> Iterator[Diagnostic]:
    """Report interfaces, GPU links and NIC modes of hosts that are assumed or do not fit the wiring.

    Args:
        spec: that of the rails.
        fabric: that of the rails.
        networks: spec and fabric of each further network of the same hosts.
    """
    if not fabric.rails_elsewhere:  # its jobs are those of the spec of the rails
        yield from _uncertain_sockets(spec, fabric)
        if fabric.qos:  # IP over InfiniBand has its routes in the main table
            yield from _sockets_on_rails(spec, fabric)
    yield from _topology_names(spec, fabric)
    yield from _unequal_domains(spec, fabric)
    for group in _gpu_groups(fabric):
        model, path = fabric.host_models[group], spec.gpus.groups[group].path
        yield from _second_functions(spec, model, path)
        if fabric.shape.rails_apart and model.rails > 1:
            yield from _rails_without_gpu_links(spec, model, path)
        if fabric.qos:
            yield from _classes_without_map(spec, fabric, group, path)
            yield from _unlisted_nics(spec, model, path)
    yield from _card_modes((spec, fabric), *networks)


def _uncertain_sockets(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report, once for a spec, the interfaces for sockets that no source confirms, with the models that have them."""
    titles: dict[tuple[str, str], list[str]] = {}
    paths = []
    for group in _gpu_groups(fabric):
        if reason := _doubt_about_sockets(fabric, group):
            known = titles.setdefault((fabric.socket_interface(group), reason), [])
            title = fabric.host_models[group].title
            known += [] if title in known else [title]
            paths.append(spec.gpus.groups[group].path)
    if not paths:
        return
    (name, reason), models = next(iter(titles.items()))
    others = sum(map(len, titles.values())) - 1
    more = f" (and {others} more)" if others else ""
    message = f"{models[0]}{more}: jobs open their sockets on {name}, {reason}"
    if len(titles) > 1:
        names = ", ".join(dict.fromkeys(name for name, _ in titles))
        message = f"{models[0]}{more}: jobs open their sockets on {names}, which no source confirms"
    or_network = ", or add the network `frontend`" if fabric.qos else ""  # InfiniBand has no `networks`
    help_ = f"Write `socket_interface` in `gpus`, as `ip link` names it{or_network}."
    yield spec.note("FAB5620", message, *(paths[0] if len(paths) == 1 else ("gpus",)), help=help_)


def _sockets_on_rails(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report jobs that open their sockets on a rail, which has no routes for sockets without a source address."""
    for group in _gpu_groups(fabric):
        name = fabric.socket_interface(group)
        host = _first_host(fabric, group)
        if name in [port.name for port in host.ports if port.metric is None]:
            message = f"{host.model.title}: jobs open their sockets on {name}, a rail without routes in the main table"
            help_ = "Name another interface with `socket_interface`, or add the network `frontend`."
            yield spec.warning("FAB5629", message, *spec.gpus.groups[group].path, help=help_)


def _topology_names(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report hosts that have the name of a unit, a rack or a level in the files of schedulers."""
    units = [unit for unit in fabric.units.values() if unit.hosts and fabric.host_models[unit.group].gpus]
    places = {"spine", "core", *(unit.name for unit in units), *fabric.racks.values()}
    if same := [host for unit in units for host in unit.hosts.values() if host in places]:
        more = f" and {len(same) - 1} more" if same[1:] else ""
        message = f"{same[0]}{more}: the name is also that of a unit, rack or tier in jobs/slurm and jobs/kubernetes"
        help_ = (
            "Rename them: Kueue leaves out such nodes (issue 14009), and Slurm's switch has the same name."
        )
        yield spec.warning("FAB5626", message, "gpus", help=help_)


def _unequal_domains(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report a small NVLink domain, as the smallest one decides the size of all blocks of Slurm."""
    sizes: dict[str, int] = {}
    for unit in fabric.units.values():
        for host in unit.hosts.values():
            if domain := fabric.domain(unit, host):
                sizes[domain] = sizes.get(domain, 0) + 1
    if sizes and min(sizes.values()) < max(sizes.values()):
        (name, least), most = min(sizes.items(), key=lambda item: item[1]), max(sizes.values())
        message = f"NVLink domains of {least} to {most} hosts: BlockSizes is {least}, that of {name}, for all of them"
        help_ = (
            "Fill the small rack, or leave it out of the blocks: Slurm divides larger racks into such blocks."
        )
        yield spec.note("FAB5627", message, "gpus", help=help_)


def _card_modes(*parts: tuple[ClusterSpec, Fabric]) -> Iterator[Diagnostic]:
    """Report BlueField cards of each group whose mode the spec does not state, and those in DPU mode."""
    networks: dict[tuple[KeyPath, str, str, str], list[str]] = {}
    for spec, fabric in parts:
        for group in _groups(fabric):
            model, stated = fabric.host_models[group], spec.gpus.groups[group]
            if _has_card_mode(model) and stated.nic_mode != "nic":
                card = (stated.path, model.title, model.nic.title, stated.nic_mode)
                networks.setdefault(card, []).append(fabric.network)
    spec, fabric = parts[0]
    for (path, title, nic, mode), names in networks.items():
        cards = f"{title}: its {nic} cards"
        if names != [""]:
            cards += f" ({', '.join([name or 'rails' for name in names])})"
        if not mode:
            help_ = "Write `nic_mode: nic`, or `nic_mode: dpu` where the card's own system has the ports."
            message = f"{cards} are assumed to be in NIC mode; the makers ship both"
            yield spec.note("FAB5624", message, *path, help=help_)
        elif fabric.qos:
            message = (
                f"{cards} stay in DPU mode: their own system sets PFC and ECN, and no file is written for it"
            )
            help_ = (
                "Set the classes of the plan there, or write `nic_mode: nic` and run `apply --firmware` once."
            )
            yield spec.warning("FAB5624", message, *path, help=help_)
        else:  # NVIDIA, BlueField Modes of Operation, InfiniBand in DPU mode
            message = f"{cards} stay in DPU mode: opensm and ibnetdiscover run in their own system alone"
            help_ = "Run them there, or write `nic_mode: nic` and run `apply --firmware` once."
            yield spec.warning("FAB5624", message, *path, help=help_)


def _second_functions(spec: ClusterSpec, model: HostModel, path: KeyPath) -> Iterator[Diagnostic]:
    """Report ports with a second PCI function, through which the plan sends no traffic."""
    if model.second_pci:
        message = (
            f"{model.title}: the second PCI function of each port has names and no address, so the PCIe lanes of "
            "the first limit RDMA"
        )
        help_ = "Join both in one network device where the kernel does (multi-PF netdev, Linux 6.9), or check the rate."
        yield spec.note("FAB5628", message, *path, help=help_)


def _has_card_mode(model: HostModel) -> bool:
    return CARD_MODE in dict(model.nic.firmware)


def _rails_without_gpu_links(spec: ClusterSpec, model: HostModel, path: KeyPath) -> Iterator[Diagnostic]:
    """Report hosts whose rails meet neither in a switch nor over the links between their GPUs."""
    joined, source = model.gpu_interconnect, model.sources.get("gpu_interconnect", ASSUMED)
    if joined != ALL_JOINED:
        what = "no NVLink or the like joins its GPUs" if joined == "none" else "its GPUs are joined in pairs"
        message = (
            f"{model.title}: no switch joins the rails and {what}: ranks of different rails have no path"
        )
        help_ = "Write `wiring: rail` with `spines`, or correct `gpu_interconnect` of the host model."
        yield spec.warning("FAB5621", message, *path, help=help_)
    elif source.startswith(ASSUMED):
        message = f"{model.title}: rails meet only over links that join all its GPUs, and these are assumed"
        help_ = "Add `gpu_interconnect: {value: all, source: …}` to the host model in a catalog file."
        yield spec.note("FAB5621", message, *path, help=help_)


def _classes_without_map(
    spec: ClusterSpec, fabric: Fabric, group: int, path: KeyPath
) -> Iterator[Diagnostic]:
    host = _first_host(fabric, group)
    if names := unmapped_classes(host):
        message = (
            f"jobs/kubernetes/nic-configuration.yaml has no template for {host.model.name}: its operator has no DSCP "
            f"map, and {', '.join(names)} needs one"
        )
        help_ = "Use the hosts' own NIC files, or give each class the priority dscp / 8."
        yield spec.warning("FAB5622", message, *path, help=help_)


def _unlisted_nics(spec: ClusterSpec, model: HostModel, path: KeyPath) -> Iterator[Diagnostic]:
    """Report NICs for which the SR-IOV operator refuses the policies of the job files."""
    if model.nic.name not in SRIOV_NICS:
        message = (
            f"{model.title}: the SR-IOV operator refuses jobs/kubernetes/sriov.yaml, as it does not list "
            f"{model.nic.title}"
        )
        help_ = (
            "Use whole ports (pod.yaml), or add the NIC to `supportedExtraNICs` of the operator's Helm chart."
        )
        yield spec.note("FAB5611", message, *path, help=help_)


def host_facts(fabric: Fabric, spec: ClusterSpec) -> Iterator[HostFact]:
    """Yield what is assumed about the hosts of a fabric, once for each model; for a further network, about its NICs."""
    reported: set[tuple[str, str]] = set()
    for group in _groups(fabric):
        model = fabric.host_models[group]
        stated = spec.gpus.groups[group]
        facts = [*_nic_facts(model), *_mode_fact(model, stated)]
        if not fabric.network:
            stated_keys = {"nic"} if stated.nic else set[str]()
            catalog = [fact for fact in _catalog_facts(model) if fact.fact not in stated_keys]
            facts = [*catalog, *facts, *_setting_facts(model, stated)]
            facts += _socket_fact(fabric, group) if model.gpus else ()
        for fact in facts:
            if (fact.model, fact.fact) not in reported:
                reported.add((fact.model, fact.fact))
                yield fact


def _first_host(fabric: Fabric, group: int) -> Host:
    coordinate, unit = next(
        (at, unit) for at, unit in fabric.units.items() if unit.group == group and unit.hosts
    )
    return fabric.host(HostId(coordinate, next(iter(unit.hosts))))


def _groups(fabric: Fabric) -> list[int]:
    return sorted({unit.group for unit in fabric.units.values() if unit.hosts})


def _gpu_groups(fabric: Fabric) -> list[int]:
    return [group for group in _groups(fabric) if fabric.host_models[group].gpus]


def _doubt_about_sockets(fabric: Fabric, group: int) -> str:
    """Return why the interface of sockets may be wrong; "" where the spec names it or a source shows it cabled."""
    model = fabric.host_models[group]
    if fabric.host_sockets and fabric.host_sockets[group]:
        return ""
    if not model.management_interface:
        return ""
    if model.sources["management_interface"].startswith(ASSUMED):
        return "a name that the catalog assumes"
    if not model.management.nic and not model.sources["management"].startswith(ASSUMED):
        return "a port that is not cabled by the catalog's source"
    return ""


def _socket_fact(fabric: Fabric, group: int) -> Iterator[HostFact]:
    if reason := _doubt_about_sockets(fabric, group):
        model = fabric.host_models[group]
        yield HostFact(model.name, SOCKETS, fabric.socket_interface(group), reason, f"gpus.{SOCKETS}")


def _mode_fact(model: HostModel, group: HostGroup) -> Iterator[HostFact]:
    if _has_card_mode(model) and not group.nic_mode:
        yield HostFact(model.name, "nic_mode", "nic", "the cards are shipped in either mode", "gpus.nic_mode")


def _setting_facts(model: HostModel, group: HostGroup) -> Iterator[HostFact]:
    """Yield what the host files assume about the use of a host, as far as the spec does not state it."""
    for module in GPUS[model.gpu_vendor].modules:
        if module not in group.leave_out:
            reason = "it registers GPU memory, unless DMA-BUF does"
            yield HostFact(model.name, module, "loaded", reason, "gpus.leave_out")
    if ACCESS_CONTROL not in group.leave_out:
        reason = "no device of the host is passed to a guest"
        yield HostFact(model.name, ACCESS_CONTROL, "off", reason, "gpus.leave_out")


def _catalog_facts(model: HostModel) -> Iterator[HostFact]:
    """Yield the figures of a host model that its catalog file assumes."""
    for key, source in model.sources.items():
        if source.startswith(ASSUMED) and key != "management_interface":
            reason = source.removeprefix(ASSUMED).removeprefix(": ")
            yield HostFact(model.name, key, _model_value(model, key), reason, f"hosts.{model.name}.{key}")


def _nic_facts(model: HostModel) -> Iterator[HostFact]:
    """Yield the figures of a host's NICs that the catalog assumes, under the name of the NIC."""
    nic = model.nic
    values = {
        "ports": " ".join(f"{use.children}x{use.speed_gbps}/{use.lanes}" for use in nic.port_splits),
        "read_request": str(nic.read_request_bytes),
        "rings": f"{nic.ring_rx} {nic.ring_tx}",
        "firmware": " ".join(f"{name}={number}" for name, number in nic.firmware),
        **{f"cages.{index}": cage.form_factor for index, cage in enumerate(nic.cages)},
    }
    for key, source in nic.sources.items():
        if source.startswith(ASSUMED):
            value = values.get(key, str(getattr(nic, key, "")))
            reason = source.removeprefix(ASSUMED).removeprefix(": ")
            yield HostFact(nic.name, key, value, reason, f"nics.{nic.name}.{key}")


def _model_value(model: HostModel, key: str) -> str:
    if key == "nic":
        return model.nic.name
    if key == "management":
        ports = model.management
        counts = {"bmc": ports.bmc, "nic": ports.nic, "dpus": ports.dpus}
        return " ".join(f"{name}={number}" for name, number in counts.items() if number)
    field, _, name = key.partition(".")
    if field == "networks" and name in model.networks:
        network = model.networks[name]
        return f"{network.nics * network.ports_per_nic}x{network.port_gbps}G {network.nic.name}"
    value = getattr(model, key, None)
    return str(value) if isinstance(value, int | str) else ""
