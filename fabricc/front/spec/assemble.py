"""Assemble a spec from the sections of a document: each is typed and checked, and all with one another."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Severity
from fabricc.fabric.design import Descriptions
from fabricc.fabric.model import CableKind
from fabricc.fabric.routing import LoadBalancing, Reassignment, Spreading
from fabricc.fabric.tenants import port_mtu
from fabricc.front.spec import semantics
from fabricc.front.spec.device_model import Acceptance, NosChoice, OverlayFile, Override, PortOverride
from fabricc.front.spec.document import Assumptions, Findings, fill_defaults, joins_switches
from fabricc.front.spec.evpn import build_evpn, check_subnets
from fabricc.front.spec.external import build_external, own_networks
from fabricc.front.spec.gpus import build_gpus, check_classes, check_senders
from fabricc.front.spec.identities import build_replaced, check_moves
from fabricc.front.spec.infiniband import build_infiniband, forget_ethernet, refuse_infiniband, sections_of
from fabricc.front.spec.model import Cables, ClusterSpec, Congestion, Gpus, Priority, Routing, Tier
from fabricc.front.spec.pools import build_addressing, build_management, check_management_overlap
from fabricc.front.spec.priorities import build_congestion, build_priorities
from fabricc.front.spec.tenants import build_tenants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.base.documents.document import Document
    from fabricc.fabric.external import ExternalParty
    from fabricc.front.spec.external import Network


def assemble_spec(
    document: Document,
    unfit: frozenset[str],
    findings: Findings,
    assumptions: Assumptions | None = None,
    gpus: Gpus | None = None,
) -> tuple[ClusterSpec | None, tuple[Acceptance, ...]]:
    """Type and check every section that fits the schema; the whole spec when all do. Also what is accepted.

    `unfit` are sections that do not fit, `assumptions` defaults taken already, `gpus` the hosts of a spec that names
    none.
    """
    assumptions = assumptions or Assumptions()
    raw = fill_defaults(sections_of(document.value, unfit), assumptions)
    fit = {key: value for key, value in raw.items() if key not in unfit}
    joined = joins_switches(raw)
    if "gpus" in fit:
        gpus = build_gpus(fit["gpus"], findings, assumptions)
    addressing = build_addressing(fit["addressing"], findings, joined=joined) if "addressing" in fit else None
    management = build_management(fit["management"], findings, assumptions) if "management" in fit else None
    congestion = build_congestion(fit["congestion"], findings) if "congestion" in fit else Congestion()
    balancing = _load_balancing(fit["load_balancing"]) if "load_balancing" in fit else LoadBalancing()
    infiniband = build_infiniband(fit, findings) if fit.get("fabric") == "infiniband" else None
    priorities = _build_classes(document, fit, gpus, congestion, findings, assumptions)
    accept = _read_acceptances(fit)
    routing = _read_routing(fit["routing"]) if "routing" in fit else None
    cables = _read_cables(fit["cables"]) if "cables" in fit else None
    _check_sections(document, fit, balancing, accept, routing, cables, findings)
    if not unfit:
        semantics.check_tiers(document.value, findings)
    own: dict[str, Network] = {}
    if addressing is not None and management is not None:
        check_management_overlap(addressing, management, findings, joined=joined)
        own = own_networks(addressing, management, joined=joined)
    external: tuple[ExternalParty, ...] = ()
    if "external" in fit and addressing and management and routing and "mtu" in fit and infiniband is None:
        mtu = fit["mtu"]["switch"]
        mtu = port_mtu(mtu, tunnels=joined) if "tenants" in fit else mtu
        external = build_external(fit["external"], addressing.family, own, routing.asn_base, mtu, findings)
    evpn = build_evpn(fit["evpn"], fit, findings) if "evpn" in fit and infiniband is None else None
    if evpn is not None and addressing and management:
        check_subnets(evpn, own, findings)
    tenants = build_tenants(fit["tenants"], fit, findings) if "tenants" in fit else ()
    needed = {"cluster", "tors", "mtu", "overrides", "buffers"}
    if unfit or needed - fit.keys() or not (gpus and addressing and management and routing and cables):
        return None, accept
    _settle_defaults(fit, infiniband is not None, assumptions)
    moved, retired = dict(sorted(fit.get("moved", {}).items())), tuple(fit.get("retired", ()))
    replaced = build_replaced(fit.get("replaced", {}))
    if "gpus" in fit:
        check_moves(moved, replaced, retired, findings)
    spec = ClusterSpec(
        cluster=fit["cluster"],
        file=document.file,
        catalog_files=tuple(fit["catalog"]),
        gpus=gpus,
        tors=_read_tier(fit["tors"]),
        spines=_read_tier(fit["spines"]) if "spines" in fit else None,
        cores=_read_tier(fit["cores"]) if "cores" in fit else None,
        planes=fit["planes"],
        planes_present=fit.get("planes_present", 0),
        plane_split=fit.get("plane_split", ""),
        priorities=priorities,
        addressing=addressing,
        routing=routing,
        cables=cables,
        management=management,
        host_mtu=fit["mtu"]["host"],
        switch_mtu=fit["mtu"]["switch"],
        unused_silent=fit.get("unused_ports") == "silent",
        descriptions=Descriptions(**fit.get("descriptions", {})),
        overrides={name: _read_override(fit["overrides"][name]) for name in sorted(fit["overrides"])},
        accept=accept,
        congestion=congestion,
        load_balancing=balancing,
        headroom_oversubscription=_exact_fraction(fit["buffers"].get("headroom_oversubscription")),
        vendor_qos=fit.get("qos") == "vendor",
        infiniband=infiniband,
        overlays=tuple(_read_overlay(each) for each in fit.get("overlays", ())),
        external=external,
        evpn=evpn,
        tenants=tenants,
        identities=dict(fit.get("identities", {})),
        moved=moved,
        replaced=replaced,
        retired=retired,
        positions=document.positions,
        assumptions=assumptions.in_schema_order(),
    )
    return spec, accept


def _build_classes(
    document: Document,
    fit: Mapping[str, Any],
    gpus: Gpus | None,
    congestion: Congestion,
    findings: Findings,
    assumptions: Assumptions,
) -> tuple[Priority, ...]:
    """Return the classes of traffic of an Ethernet fabric, checked with the hosts that use them."""
    if fit.get("fabric") == "roce":
        refuse_infiniband(findings)
    if "priorities" not in fit or fit.get("fabric") == "infiniband":
        return ()
    priorities = build_priorities(fit["priorities"], findings, assumptions, congestion)
    if gpus is not None and "gpus" in fit:
        check_classes(gpus.groups, priorities, findings)
        if "evpn" not in document.value:  # segments make a front end, which need not carry RDMA
            check_senders(gpus.groups, priorities, findings)
    return priorities


def _read_acceptances(fit: Mapping[str, Any]) -> tuple[Acceptance, ...]:
    return tuple(
        Acceptance(each["code"], each["reason"], Severity(each.get("severity", "note")), each.get("line", ""))
        for each in fit.get("accept", ())
    )


def _check_sections(
    document: Document,
    fit: Mapping[str, Any],
    balancing: LoadBalancing,
    accept: tuple[Acceptance, ...],
    routing: Routing | None,
    cables: Cables | None,
    findings: Findings,
) -> None:
    """Check sections that need no other one."""
    semantics.check_load_balancing(balancing, findings)
    semantics.check_acceptances(accept, findings)
    if "spines" in fit and "cores" not in document.value:
        semantics.check_spines(_read_tier(fit["spines"]), findings)
    if "planes" in fit and "planes_present" in fit:
        semantics.check_planes(fit["planes"], fit["planes_present"], findings)
    if "planes" in fit and "plane_split" in fit:
        semantics.check_plane_split(fit["planes"], fit["plane_split"], findings)
    if "mtu" in fit:
        semantics.check_mtu(fit["mtu"]["host"], fit["mtu"]["switch"], findings)
    if routing is not None:
        semantics.check_routing(routing, findings)
    if cables is not None:
        semantics.check_cables(cables, findings)


def _settle_defaults(fit: Mapping[str, Any], infiniband: bool, assumptions: Assumptions) -> None:
    """Set the default that depends on other sections, and drop those of sections that a spec does not use."""
    if {"cores", "spines"} <= fit.keys() and "oversubscription" not in fit["spines"]:
        fit["spines"]["oversubscription"] = 1.0
        assumptions.add_default(1.0, "spines", "oversubscription")
    if "spines" not in fit:
        assumptions.remove_default("tors", "oversubscription")
        assumptions.remove_default("addressing", "fabric_links")
    if infiniband:
        forget_ethernet(assumptions)


def _exact_fraction(number: float | None) -> Fraction | None:
    return None if number is None else Fraction(str(number))


def _read_tier(raw: Mapping[str, Any]) -> Tier:
    """Return the section with the keys of the schema; a list of units per pod sets two fields."""
    stated = {**raw, "nos": NosChoice.of(raw.get("nos", ""))}
    if isinstance(per_pod := raw.get("units_per_pod"), list):
        stated |= {"units_per_pod": max(per_pod), "pods": tuple(per_pod)}
    if (ratio := raw.get("oversubscription")) is not None:
        stated["oversubscription"] = float(ratio)
    return Tier(**stated)


def _read_routing(raw: Mapping[str, Any]) -> Routing:
    """Return the section with the keys of the schema, but for those of BFD, which are below one of their own."""
    bfd = raw["bfd"] or {"interval_ms": None, "multiplier": 3}
    return Routing(
        **{key: value for key, value in raw.items() if key != "bfd"},
        **{f"bfd_{key}": value for key, value in bfd.items()},
    )


def _load_balancing(raw: Mapping[str, Any]) -> LoadBalancing:
    moves = raw.get("reassignment")
    return LoadBalancing(
        Spreading(raw["mode"]),
        raw["queue_pairs"],
        raw.get("flowlet_idle_us"),
        raw.get("global", False),
        Reassignment(**moves) if moves is not None else None,
    )


def _read_cables(raw: Mapping[str, Any]) -> Cables:
    kinds = {**raw, "peer": {**raw["spine"], **raw.get("peer", {})}}
    return Cables(**{link: CableKind(each["medium"], each["length_m"]) for link, each in kinds.items()})


def _read_overlay(raw: Mapping[str, Any]) -> OverlayFile:
    tiers, devices = tuple(raw.get("tiers", ())), tuple(raw.get("devices", ()))
    removes = raw.get("removes", False)
    return OverlayFile(raw["file"], raw["nos"], raw.get("into", ""), tiers, devices, removes)


def _read_override(raw: Mapping[str, Any]) -> Override:
    ports = {
        port: PortOverride(values.get("cable_m"), values.get("medium"), values["shutdown"])
        for port, values in sorted(raw["ports"].items())
    }
    nos, unnumbered = (
        NosChoice.of(raw["nos"]) if "nos" in raw else None,
        raw.get("fabric_links") == "unnumbered",
    )
    return Override(nos, raw["drain"], raw.get("cable_m"), ports, raw.get("model"), unnumbered)
