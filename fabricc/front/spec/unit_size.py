"""Propose the size of a unit or rack for a spec that names none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.catalog.load import load_catalog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import HostModel, SwitchModel

_SIZES = (32, 16, 8, 4, 2, 1)
"""Sizes for hosts without NVLink domains; 32 as in NVIDIA's reference architectures."""


def propose_size(spec: Mapping[str, Any], model: object, wiring: str) -> int:
    """Return how many hosts of a model fit on the ToRs of a spec, whose ports also lead to spines where it has some.

    Without a built-in model of the host or the ToR it is that of a usual unit.

    Args:
        spec: the spec as written, which may have other errors.
        model: name of the host model.
        wiring: `rail`, `rack` or `rail-only`.
    """
    usual = 8 if wiring == "rack" else _SIZES[0]
    catalog = load_catalog()[0]
    tors = spec.get("tors")
    name = tors.get("model") if isinstance(tors, dict) else None
    if not (isinstance(model, str) and isinstance(name, str)) or spec.get("catalog"):
        return usual
    if model not in catalog.hosts or name not in catalog.switches:
        return usual
    host, tor = catalog.hosts[model], catalog.switches[name]
    room = next(_hosts_of_a_tor(spec, host, tor, wiring), 0)
    domain = host.domain_hosts
    if domain > 1:
        return max(domain, min(room, _SIZES[0]) // domain * domain)
    return next((size for size in _SIZES if size <= min(room, usual)), usual)


def _hosts_of_a_tor(spec: Mapping[str, Any], host: HostModel, tor: SwitchModel, wiring: str) -> Iterator[int]:
    """Yield the hosts of a ToR for each way to split a NIC, its own ports first."""
    gpus = spec.get("gpus")
    per_tor = gpus.get("rails_per_tor") if isinstance(gpus, dict) else None
    rails = per_tor if isinstance(per_tor, int) else 0 if wiring == "rack" else 1
    share = 2 if "spines" in spec or "peer_links" in (spec.get("tors") or {}) else 1
    planes = spec.get("planes") if isinstance(spec.get("planes"), int) else 1
    for ports, gbps in _port_splits(host).items():
        if planes and ports % planes == 0:
            yield _count_ports(tor, gbps) // share // (rails or host.rails)


def _port_splits(host: HostModel) -> dict[int, int]:
    """Return the number of ports of one NIC -> speed of each."""
    options = {host.ports_per_nic: host.port_gbps}
    for split in host.nic.port_splits:
        if split.children * split.speed_gbps == host.port_gbps:
            options[host.ports_per_nic * split.children] = split.speed_gbps
    return options


def _count_ports(tor: SwitchModel, gbps: int) -> int:
    """Return the ports of this speed that the cages of a switch have."""
    return sum(
        group.count * max((each.children for each in group.breakouts if each.speed_gbps == gbps), default=0)
        for group in tor.cages
        if group.fabric
    )
