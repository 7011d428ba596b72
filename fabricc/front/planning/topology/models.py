"""Find the catalog entries and NOS releases that a spec names, and check that no cable is too long for its medium."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, Protocol

from fabricc.base.values import dataclass, replace
from fabricc.catalog import support
from fabricc.catalog.library import find_titled_name, suggest_name
from fabricc.catalog.model import CARD_MODE, DPU_MODE, Catalog, HostModel, SwitchModel
from fabricc.catalog.optics import Reach, find_reach, load_reaches, longest_reach
from fabricc.catalog.support import explain_release, explain_system
from fabricc.fabric.design import TierPlan
from fabricc.fabric.shape import PortLayout, Slot, TierName
from fabricc.front.planning.topology.layout import cage_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.qos import VendorPolicy
    from fabricc.front.spec.device_model import NosChoice
    from fabricc.front.spec.model import ClusterSpec, Network, Tier


class UnfitError(Exception):
    """The spec cannot be built; contains the diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class Models:
    """Catalog entries of a spec: hosts per group, the switch of each tier, and those of single switches by name.

    Attributes:
        known: switches for remedies; empty if no remedy is printed.
    """

    hosts: tuple[HostModel, ...]
    tor: SwitchModel
    spine: SwitchModel | None
    core: SwitchModel | None
    boxes: Mapping[str, SwitchModel] = field(default_factory=dict)
    known: Mapping[str, SwitchModel] = field(default_factory=dict, compare=False, repr=False)

    @property
    def switches(self) -> dict[TierName, SwitchModel]:
        """Return the models of the existing tiers."""
        tiers = (TierName.TOR, self.tor), (TierName.SPINE, self.spine), (TierName.CORE, self.core)
        return {tier: model for tier, model in tiers if model is not None}


class RequestedTier(NamedTuple):
    """A requested tier above the ToRs, and its model."""

    tier: Tier
    model: SwitchModel


class Naming(Protocol):
    """The interface between planning and the network operating systems."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all NOSes."""
        ...

    def supports(self, nos: str, model: SwitchModel) -> bool:
        """Return whether a NOS runs on a model."""
        ...

    def releases(self, nos: str) -> tuple[str, ...]:
        """Return the known releases, ascending."""
        ...

    def release(self, nos: str, release: str | None) -> str:
        """Return the release, or the default one; KeyError for an unknown NOS, ValueError for an unknown release."""
        ...

    def sets_headroom_pool(self, nos: str) -> bool:
        """Return whether the configuration of a NOS sets the size of the headroom pool."""
        ...

    def sets_pfc(self, nos: str) -> bool:
        """Return whether a NOS sets PFC, which lossless classes need."""
        ...

    def longest_cable_m(self, nos: str, model: SwitchModel) -> int | None:
        """Return the longest cable of a lossless class that a NOS has figures for; None where it sets no limit."""
        ...

    def vendor_policy(self, nos: str) -> VendorPolicy | None:
        """Return the lossless policy that one command of a NOS sets; None where none is documented."""
        ...

    def port_name(self, nos: str, model: SwitchModel, slot: Slot) -> str:
        """Return the name of a port, used at the speed of the slot."""
        ...


def models_of(spec: ClusterSpec, catalog: Catalog) -> Models:
    """Return the catalog entries of a spec.

    Raises:
        UnfitError: the catalog has no such model.
    """
    hosts = [
        _with_card_mode(
            _host_model(spec, catalog, i)
            if spec.network is None
            else _network_model(spec, spec.network, catalog, i),
            group.nic_mode,
        )
        for i, group in enumerate(spec.gpus.groups)
    ]
    switches = {
        name: _known_switch(spec, catalog, tier.model, name)
        for name, tier in (("tors", spec.tors), ("spines", spec.spines), ("cores", spec.cores))
        if tier is not None
    }
    boxes = {
        name: _known_switch(spec, catalog, override.model, "overrides", name)
        for name, override in spec.overrides.items()
        if override.model is not None
    }
    tiers = switches["tors"], switches.get("spines"), switches.get("cores")
    return Models(tuple(hosts), *tiers, boxes, catalog.switches)


def _host_model(spec: ClusterSpec, catalog: Catalog, index: int) -> HostModel:
    group = spec.gpus.groups[index]
    if (model := catalog.hosts.get(group.model)) is None:
        help_ = suggest_name(group.model, tuple(catalog.hosts))
        message = f"the catalog has no host model {group.model!r}"
        raise UnfitError(spec.error("FAB3013", message, *group.path, "model", help=help_))
    return model if group.nic is None else _with_nic(spec, catalog, model, index)


def _network_model(spec: ClusterSpec, network: Network, catalog: Catalog, index: int) -> HostModel:
    """Return the host model with its ports for a further network instead of its rails.

    A host that is not on the rails and has no ports for this network uses its rail ports.
    """
    model = _host_model(spec, catalog, index)
    if (ports := model.networks.get(network.ports)) is None:
        if network.rails_elsewhere and model.gpus:  # its rails are those of another spec
            message = f"{model.title} has no ports for network '{network.name}'"
            help_ = f"Give the host model `networks: {{{network.ports}: …}}` in a catalog file, or name its `ports`."
            raise UnfitError(
                spec.error("FAB3104", message, *spec.gpus.groups[index].path, "model", help=help_)
            )
        return model
    return replace(
        model,
        rails=ports.nics,
        nic=ports.nic,
        ports_per_nic=ports.ports_per_nic,
        port_gbps=(spec.infiniband and ports.infiniband_gbps) or ports.port_gbps,
        pci=ports.pci,
        second_pci=(),
        form_factor="",
        cages=(),
    )


def _with_nic(spec: ClusterSpec, catalog: Catalog, model: HostModel, index: int) -> HostModel:
    """Return the host model with the NICs that its group names."""
    group = spec.gpus.groups[index]
    at = (*group.path, "nic") if (*group.path, "nic") in spec.positions else ("gpus", "nic")
    if group.nic is None or (nic := catalog.nics.get(group.nic)) is None:
        titles = {name: nic.title for name, nic in catalog.nics.items()}
        named = find_titled_name(group.nic or "", titles)
        help_ = f"Did you mean {named}?" if named else suggest_name(group.nic or "", tuple(titles))
        raise UnfitError(spec.error("FAB3013", f"the catalog has no NIC {group.nic!r}", *at, help=help_))
    speeds = {use.speed_gbps for use in nic.port_splits}
    if model.port_gbps not in speeds:
        able = ", ".join(
            name
            for name, other in catalog.nics.items()
            if any(use.speed_gbps == model.port_gbps for use in other.port_splits)
            and (spec.infiniband is None or other.infiniband)
        )
        message = f"{nic.title} has no port of {model.port_gbps}G, which {model.title} is cabled with"
        raise UnfitError(spec.error("FAB3041", message, *at, help=f"NICs that have one: {able or 'none'}."))
    return replace(model, nic=nic)


def _with_card_mode(model: HostModel, mode: str) -> HostModel:
    """Return the host model with cards that stay in DPU mode where the spec states it."""
    kept = dict(model.nic.firmware)
    if mode != "dpu" or CARD_MODE not in kept:
        return model
    return replace(model, nic=replace(model.nic, firmware=tuple((kept | {CARD_MODE: DPU_MODE}).items())))


def _known_switch(spec: ClusterSpec, catalog: Catalog, name: str, *path: str) -> SwitchModel:
    if (model := catalog.switches.get(name)) is None:
        help_ = suggest_name(name, tuple(catalog.switches))
        raise UnfitError(
            spec.error("FAB3013", f"the catalog has no switch model {name!r}", *path, "model", help=help_)
        )
    return model


def tiers_of(
    spec: ClusterSpec, models: Models, catalog: Catalog, naming: Naming, findings: list[Diagnostic]
) -> dict[TierName, TierPlan]:
    """Return model, NOS and release of each tier; an invalid one is a finding."""
    found = {}
    wanted = (
        (TierName.TOR, "tors", spec.tors, models.tor),
        (TierName.SPINE, "spines", spec.spines, models.spine),
        (TierName.CORE, "cores", spec.cores, models.core),
    )
    for tier_name, key, tier, model in wanted:
        if tier is None or model is None:
            continue
        release = nos_release(spec, naming, tier.nos, model, findings, key, "nos", others=catalog.switches)
        if release is not None:
            found[tier_name] = TierPlan(
                support.model_at_release(model, tier.nos.name, release), tier.nos.name, release
            )
    return found


_MOST_SIBLINGS = 8


def _name_siblings(naming: Naming, nos: str, model: SwitchModel, others: Mapping[str, SwitchModel]) -> str:
    """Return a remedy with switches that can replace a model without a system, after a comma; "" for none.

    These have the same ASIC and ports and run the NOS. Otherwise they have the same ASIC and ports with another system,
    or are the smallest ones that run the NOS with the same ports or bandwidth.
    """
    cages, speed = cage_count(model), _top_speed(model)
    able = [each for each in others.values() if naming.supports(nos, each)]
    ports = [each for each in others.values() if cage_count(each) == cages and _top_speed(each) == speed]
    alike = [each for each in ports if each.asic == model.asic]
    if same := [each.name for each in alike if naming.supports(nos, each)]:
        return f", or name a box with this ASIC: {', '.join(same[:_MOST_SIBLINGS])}"
    large = [each for each in able if cage_count(each) >= cages and _top_speed(each) == speed]
    large = large or [each for each in able if cage_count(each) * _top_speed(each) >= cages * speed]
    least = min((cage_count(each) * _top_speed(each) for each in large), default=0)
    found = [f"{each.name} (`nos: {next(iter(each.nos))}`)" for each in alike if each.nos]
    nearest = [each for each in large if cage_count(each) * _top_speed(each) == least]
    found += [each.name for each in sorted(nearest, key=lambda each: each.asic != model.asic)]
    return f", or name a box near to it: {', '.join(found[:_MOST_SIBLINGS])}" if found else ""


def _top_speed(model: SwitchModel) -> int:
    """Return the bandwidth of the fastest cage for the fabric, in Gb/s."""
    uses = [use for group in model.cages if group.fabric for use in group.breakouts]
    return max((use.children * use.speed_gbps for use in uses), default=0)


def models_at_releases(models: Models, tiers: Mapping[TierName, TierPlan]) -> Models:
    """Return the models with the figures that each tier's switches have on its release."""
    planned = {tier: plan.model for tier, plan in tiers.items()}
    return replace(
        models,
        tor=planned.get(TierName.TOR, models.tor),
        spine=planned.get(TierName.SPINE, models.spine),
        core=planned.get(TierName.CORE, models.core),
    )


def _name_systems(spec: ClusterSpec, naming: Naming, able: list[str]) -> str:
    """Return the systems of a model; if a class is lossless, those without PFC are listed separately."""
    lossless = any(each.lossless for each in spec.priorities)
    whole = [name for name in able if not lossless or naming.sets_pfc(name)]
    rest = ", ".join(name for name in able if name not in whole)
    if not whole:
        return f"Name another model: lossless classes need PFC, which {rest} there does not set."
    return (
        f"NOSes of that model: {', '.join(whole)}{f'; without lossless classes also {rest}' if rest else ''}."
    )


def nos_release(
    spec: ClusterSpec,
    naming: Naming,
    nos: NosChoice,
    model: SwitchModel,
    findings: list[Diagnostic],
    *path: str | int,
    others: Mapping[str, SwitchModel] | None = None,
) -> str | None:
    """Return the release of a NOS to use on a model, or None after a finding.

    `others`: models that the finding may name in its place.
    """
    flavor = support.find_flavor(nos.name, nos.release)
    requested = nos.release
    if flavor:  # `nvidia-202511` names the community release that it starts from, `enterprise-4.5` none
        requested = support.nearest_release(
            (nos.release or "").partition("-")[2] or "none", naming.releases(nos.name)
        )
    try:
        release = naming.release(nos.name, requested)
    except KeyError:
        help_ = explain_system(nos.text) or suggest_name(nos.name, naming.names())
        findings.append(spec.error("FAB3014", f"there is no NOS {nos.name!r}", *path, help=help_))
        return None
    except ValueError as unknown:
        near = support.nearest_release(nos.release or "", naming.releases(nos.name))
        if near is None:
            help_ = explain_release(nos.name, nos.release or "")
            help_ = help_ or _name_newest(nos, naming.releases(nos.name)) or str(unknown)
            findings.append(
                spec.error("FAB3015", f"{nos.name} has no release {nos.release!r}", *path, help=help_)
            )
            return None
        findings.append(_unknown_release(spec, nos, near, *path))
        release = near
    if not naming.supports(nos.name, model):
        able = [name for name in naming.names() if naming.supports(name, model)]
        why = f": {model.listed}" if model.listed else ""
        message = f"{nos.name} does not run on {model.title}, as the catalog has it{why}"
        remedy = (
            _name_systems(spec, naming, able)
            if able
            else "It is an InfiniBand switch: write `fabric: infiniband`, or name an Ethernet model."
            if "infiniband" in model.nos
            else "None is known to: extend the model with `nos` in a catalog file of your own"
            + _name_siblings(naming, nos.name, model, others or {})
            + "."
        )
        findings.append(spec.error("FAB3016", message, *path, help=remedy))
        return None
    if flavor is not None:
        if not support.runs_release(model, nos.name, release):
            release = support.oldest_release(model, nos.name, naming.releases(nos.name)) or release
        findings.append(_vendor_build(spec, flavor, nos, release, *path))
    if (build := support.find_own_build(model, nos.name)) is not None and build != flavor:
        findings.append(_missing_build(spec, build, nos.name, model, *path))
    if flavor is not None:
        return release
    if not support.runs_release(model, nos.name, requested or release):
        known = support.oldest_release(model, nos.name, naming.releases(nos.name))
        if nos.release is None and known is not None:
            return known
        findings.append(_too_old(spec, nos.name, release, model, known, *path))
    elif nos.name in model.nos and nos.name not in model.support:
        message = f"the catalog does not state the first release in which {nos.name} runs on {model.title}"
        remedy = f"Add `support: {{since: …, source: …}}` to its `nos.{nos.name}`."
        findings.append(spec.warning("FAB5654", message, *path, help=remedy))
    return release


def _vendor_build(
    spec: ClusterSpec, flavor: support.Flavor, nos: NosChoice, release: str, *path: str | int
) -> Diagnostic:
    """Warn that the files for a vendor's build are those of a community release, with the published differences."""
    message = (
        f"{nos.name}-{nos.release} is {flavor.title}: the files are those of community {nos.name} {release}"
    )
    help_ = f"Load one switch by hand first. Published differences: {flavor.differences} ({flavor.source})."
    return spec.warning("FAB3092", message, *path, help=help_)


def _missing_build(
    spec: ClusterSpec, build: support.Flavor, nos: str, model: SwitchModel, *path: str | int
) -> Diagnostic:
    """Warn that only a vendor's build of a system supports the switch."""
    message = f"the community image of {nos} lacks {model.title}: only {build.title} has it"
    help_ = f"Write `nos: {nos}-{build.name}`; its files are those of a community release."
    return spec.warning("FAB3093", message, *path, help=help_)


def _name_newest(nos: NosChoice, releases: tuple[str, ...]) -> str:
    """Return the remedy for a release that consists of its first number only, or ""."""
    written = support.release_numbers(nos.release or "")
    if len(written) != 1 or any(len(support.release_numbers(each)) == 1 for each in releases):
        return ""
    of_it = [each for each in releases if support.release_numbers(each)[:1] == written]
    return f"Write `{nos.name}-{(of_it or releases)[-1]}`, the newest that fabricc knows."


def _unknown_release(spec: ClusterSpec, nos: NosChoice, near: str, *path: str | int) -> Diagnostic:
    """Warn, or note within a known series, that the files of another release serve for an unknown one."""
    series = support.release_numbers(near)
    if support.release_numbers(nos.release or "")[: len(series)] == series:
        message = (
            f"{nos.name} {nos.release} is of the series {near}: the files are those of {nos.name} {near}"
        )
        help_ = (
            "Look for changed defaults in its release notes, and load the files of one switch by hand first."
        )
        return spec.note("FAB3090", message, *path, help=help_)
    message = f"fabricc does not know {nos.name} {nos.release}: the files are those of {nos.name} {near}"
    help_ = "Load the files of one switch by hand first, and compare `show` and logs; then accept this with a reason."
    return spec.warning("FAB3090", message, *path, help=help_)


def _too_old(
    spec: ClusterSpec, nos: str, release: str, model: SwitchModel, newest: str | None, *path: str | int
) -> Diagnostic:
    since, source = model.support[nos], model.sources.get(f"nos.{nos}.support", "catalog")
    message = f"{nos} {release} is not known to run on {model.title}: it does since {since} ({source})"
    help_ = (
        f"Use {nos}-{newest} or later."
        if newest
        else (
            f"Write `nos: {nos}-{since}`, planned as the newest known one, or accept FAB5653 for an image that has it."
        )
    )
    return spec.error("FAB5653", message, *path, help=help_)


def media_findings(spec: ClusterSpec, fabric: Fabric) -> Iterator[Diagnostic]:
    """Report FAB3026 for each kind of link whose cable is too long at its speed; FAB2052 covers all speeds."""
    for kind, cable in fabric.cable_kinds.items():
        slots = list(_slots_of_kind(fabric, kind))
        if not slots or not cable.length_m <= longest_reach(cable.medium):
            continue
        lane_gbps = max(Fraction(slot.speed_gbps, slot.lanes) for slot in slots)
        most = find_reach(cable.medium, lane_gbps)
        if cable.length_m <= most.metres:
            continue
        speed = max(slot.speed_gbps for slot in slots)
        message = (
            f"cables.{kind}: {cable.medium} of {cable.length_m} m; at {speed}G, "
            f"{float(lane_gbps):g}G a lane, it reaches {most.metres} m ({most.source})"
        )
        yield spec.warning(
            "FAB3026", message, "cables", kind, help=_medium_remedy(cable.length_m, lane_gbps, most)
        )


def _slots_of_kind(fabric: Fabric, kind: str) -> Iterator[Slot]:
    """Return the switch ports that links of a kind use, at both ends where both are switches."""
    tors, spine, core = fabric.tor_layouts, fabric.spine_layout, fabric.core_layout
    if kind == "host":
        for layout in tors:
            yield from _used_slots(layout, layout.down[: len(layout.down) - layout.reserved])
    elif kind == "spine":
        for layout in tors:
            yield from _used_slots(layout, layout.up)
        yield from _used_slots(spine, spine.down)
    elif core is not None:
        yield from _used_slots(spine, spine.up)
        yield from _used_slots(core, core.down)


def _used_slots(layout: PortLayout, indices: Iterable[int]) -> Iterator[Slot]:
    return (layout.slots[index] for index in indices)


def _medium_remedy(length_m: float, lane_gbps: Fraction, most: Reach) -> str:
    """Return a remedy: another medium at that length, or a shorter cable."""
    others = [medium for medium in load_reaches() if find_reach(medium, lane_gbps).metres >= length_m]
    instead = f"Use {others[0]}, or " if others else ""
    return f"{instead}a cable of at most {most.metres} m."
