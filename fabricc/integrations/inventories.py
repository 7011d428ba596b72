"""A fabric for other tools: the model of NVIDIA Topograph, and the result of Terraform's data source `external`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricc.fabric.management import management_place
from fabricc.paperwork.plan_tables import host_addresses, switch_addresses

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Unit

_DOMAIN = "accelerator.topology.test/domain"
"""The annotation of an NVLink domain (github.com/NVIDIA/topograph, pkg/models/model.go)."""


def topograph_model(fabric: Fabric) -> dict[str, Any]:
    """Return the hosts of the rails as a tree of switches and blocks of nodes.

    A unit is a switch: hosts of a unit have a distance of one hop, whichever of its ToRs they use. Units of a pod are
    below the pod, and everything is below the cluster. Hosts of one NVLink domain are a block with its name.

    Args:
        fabric: the network of the rails.
    """
    parents: dict[str, list[str]] = {}
    blocks: list[dict[str, Any]] = []
    homes = {unit.coordinate: unit for unit in fabric.units.values()}
    names = {unit.name for unit in homes.values()}
    root = _free_name(fabric.cluster, names)
    for unit in fabric.units.values():
        if not unit.hosts:
            continue
        home = homes[unit.home]
        pod = home.coordinate // fabric.shape.units_per_pod + 1
        parent = _free_name(f"{root}-pod{pod}", names) if fabric.shape.pods > 1 else root
        if home.name not in parents.setdefault(parent, []):
            parents[parent].append(home.name)
        for domain, hosts in _domains(fabric, unit).items():
            annotations = {"annotations": {_DOMAIN: domain}} if domain else {}
            blocks.append({"switch": home.name, "nodes": hosts, **annotations})
    pods = [name for name in parents if name != root]
    switches: dict[str, Any] = {root: {"switches": [*parents.get(root, []), *pods]}}
    switches |= {pod: {"switches": parents[pod]} for pod in pods}
    switches |= {block["switch"]: {} for block in blocks}
    return {"switches": switches, "blocks": blocks}


def _free_name(name: str, used_names: Collection[str]) -> str:
    """Return a name that no unit has: all names of the tree are keys of one mapping."""
    while name in used_names:
        name = f"{name}-fabric"
    return name


def _domains(fabric: Fabric, unit: Unit) -> dict[str, list[str]]:
    """Return the hosts of a unit by NVLink domain, "" where none reaches beyond a host."""
    found: dict[str, list[str]] = {}
    for host in unit.hosts.values():
        found.setdefault(fabric.domain(unit, host), []).append(host)
    return found


def terraform_result(fabrics: Sequence[Fabric]) -> dict[str, str]:
    """Return devices, links and addresses as JSON texts: the data source `external` takes strings as values.

    Source: registry.terraform.io, hashicorp/external, data source external, external program protocol.

    Args:
        fabrics: the networks of the cluster.
    """
    devices: dict[str, Mapping[str, Any]] = {}
    links: list[Mapping[str, Any]] = []
    addresses: list[Mapping[str, str]] = []
    for fabric in fabrics:
        for at in fabric.switch_ids():
            switch = fabric.switch(at)
            devices[switch.name] = {
                "kind": switch.tier.value, "model": switch.model.name, "nos": switch.nos, "release": switch.release,
                "asn": switch.bgp.asn, "management": management_place(fabric, at).address,
            }  # fmt: skip
            addresses += [_address(row) for row in switch_addresses(switch)]
        for host_id in fabric.host_ids():
            host = fabric.host(host_id)
            devices.setdefault(host.name, {"kind": "host", "model": host.model.name, "os": host.os})
            addresses += [_address(row) for row in host_addresses(host)]
        links += [
            {"kind": row.kind, "a": [row.a_device, row.a_port], "b": [row.b_device, row.b_port],
             "speed_gbps": row.speed_gbps}
            for row in fabric.cables()
        ]  # fmt: skip
    parts = {"devices": devices, "links": links, "addresses": [each for each in addresses if each["address"]]}
    return {"cluster": fabrics[0].cluster, **{name: json.dumps(value) for name, value in parts.items()}}


def _address(row: Sequence[str]) -> dict[str, str]:
    return {"device": row[0], "interface": row[1], "family": row[2], "address": row[3]}
