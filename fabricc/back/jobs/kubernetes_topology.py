"""Write Kubernetes objects as YAML, and with them the place of every node: labels, Kueue's topology, HyperNodes."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import yaml

from fabricc.back.hosts.words import check_word
from fabricc.back.jobs.roster import JobHost, Roster, nvlink_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


TIER_LABELS = tuple(f"network.topology.nvidia.com/{tier}" for tier in ("leaf", "spine", "core"))
"""Labels of a node's unit, its set of spines and its set of cores, as Topograph before 1.0 wrote them."""
FABRIC_LABELS = tuple(f"fabric.topograph.run/tier-{tier}" for tier in range(len(TIER_LABELS)))
"""The same as Topograph writes them from 1.0 on, tier 0 closest to the node (its `docs/reference/node-labels.md`)."""
RACK_LABEL = "fabricc/rack"
DOMAIN_LABEL = "fabricc/nvlink-domain"
"""Labels of a node's rack and NVLink domain, as planned: drivers label what they find (`nvidia.com/gpu.clique`)."""
HOST_LABEL = "kubernetes.io/hostname"
CLUSTER_LABEL = "fabricc/cluster"
"""Label of every node of the fabric; its value is the cluster's name."""
MODEL_LABEL = "fabricc/model"
"""Label of a node's host model, in a cluster of several."""


TOPOLOGY = ("kueue-topology.yaml", "volcano-hypernodes.yaml", "label-nodes.sh")


def topology_files(hosts: Roster[Any]) -> dict[str, str]:
    """`label-nodes.sh`, `kueue-topology.yaml` and `volcano-hypernodes.yaml`.

    Raises:
        ValueError: a name that the files cannot hold.
    """
    return {
        "kueue-topology.yaml": render_documents(_kueue_objects(hosts)),
        "volcano-hypernodes.yaml": _hyper_nodes(hosts),
        "label-nodes.sh": _label_script(hosts),
    }


def _topology_levels(hosts: Roster[Any]) -> list[str]:
    """Return the labels from the top tier down, as Kueue requires: it leaves out nodes that lack one."""
    domains = [DOMAIN_LABEL] if all(host.domain for host in hosts.hosts) else []
    return [*reversed(TIER_LABELS[: hosts.tiers]), *domains, HOST_LABEL]


def _kueue_objects(hosts: Roster[Any]) -> Iterable[Object]:
    """Yield the topology and its flavor in the version of Kueue 0.15 and later: 0.20 no longer serves v1beta1."""
    api = "kueue.x-k8s.io/v1beta2"
    levels = [{"nodeLabel": label} for label in _topology_levels(hosts)]
    yield make_object(api, "Topology", hosts.cluster, {"levels": levels})
    flavor = {"nodeLabels": {CLUSTER_LABEL: hosts.cluster}, "topologyName": hosts.cluster}
    yield make_object(api, "ResourceFlavor", hosts.cluster, flavor)


def _hyper_nodes(hosts: Roster[Any]) -> str:
    """Volcano HyperNodes, a line each: what shares NVLink and units by their labels, the rest by those below."""
    units = hosts.units()
    objects = []
    pods: dict[str, list[str]] = {}
    split = {unit: nvlink_parts(unit, members) for unit, members in units.items()}
    tier = 2 if any(split.values()) else 1
    for unit, members in units.items():
        labels = {TIER_LABELS[0]: check_word(unit)}
        for name, each in split[unit].items():
            within = labels | {DOMAIN_LABEL: check_word(each[0].domain)}
            objects.append(_hyper_node(check_word(name), 1, _node_list(within)))
        objects.append(_hyper_node(check_word(unit), tier, _children_of(split[unit]) or _node_list(labels)))
        pods.setdefault(members[0].pod or "", []).append(unit)
    tops = [pod for pod in pods if pod]
    objects += [_hyper_node(pod, tier + 1, _children_of(pods[pod])) for pod in tops]
    top = tier + 2 if tops else tier + 1
    objects.append(_hyper_node(f"{hosts.cluster}-fabric", top, _children_of(tops or list(units))))
    return "".join(f"---\n{json.dumps(entry)}\n" for entry in objects)


def _hyper_node(name: str, tier: int, members: list[Object]) -> Object:
    return make_object("topology.volcano.sh/v1alpha1", "HyperNode", name, {"tier": tier, "members": members})


def _node_list(labels: Mapping[str, str]) -> list[Object]:
    return [{"type": "Node", "selector": {"labelMatch": {"matchLabels": labels}}}]


def _children_of(names: Iterable[str]) -> list[Object]:
    return [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in names]


def _label_script(hosts: Roster[Any]) -> str:
    """Return a script that labels the nodes: a command per unit, or per rack, NVLink domain and model of it."""
    lines = [
        "#!/usr/bin/env bash\n# Labels every node with its place in the fabric; may run again at any time.\n",
        'set -euo pipefail\nlabel() { "${KUBECTL:-kubectl}" label node --overwrite "$@"; }\n\n',
    ]
    several = has_several_models(hosts)
    for unit, members in hosts.units().items():
        places = (check_word(unit), members[0].pod or "spine", "core")[: hosts.tiers]
        labels = {CLUSTER_LABEL: hosts.cluster}
        for keys in (TIER_LABELS, FABRIC_LABELS):
            labels |= dict(zip(keys, places, strict=False))
        for own, names in _by_own_labels(members, several).items():
            assigned = " ".join(f"{key}={value}" for key, value in (labels | dict(own)).items())
            lines.append(f"label {assigned} \\\n  {' '.join(names)}\n")
    return "".join(lines)


def has_several_models(hosts: Roster[Any]) -> bool:
    """Return whether the hosts are of several models, which their nodes then have a label for."""
    return len({host.model for host in hosts.hosts}) > 1


def _by_own_labels(
    members: Iterable[JobHost], with_model: bool
) -> dict[tuple[tuple[str, str], ...], list[str]]:
    """Names of a unit's hosts by the labels of their racks, NVLink domains and, `with_model`, models."""
    table: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for host in members:
        model = host.model if with_model else ""
        own = ((RACK_LABEL, host.rack), (DOMAIN_LABEL, host.domain), (MODEL_LABEL, model))
        key = tuple((label, check_word(value)) for label, value in own if value)
        table.setdefault(key, []).append(check_word(host.name))
    return table


Object = dict[str, Any]


def render_documents(objects: Iterable[Object]) -> str:
    """Return the objects as YAML documents, in the given order."""
    return _render_json(json.dumps([*objects]))


@lru_cache(maxsize=256)
def _render_json(objects: str) -> str:
    """Return YAML documents of a list of objects as JSON; most objects of a fabric's tenants are the same."""
    return _make_dumper()(json.loads(objects))


@cache
def _make_dumper() -> Callable[[list[Object]], str]:
    """Return a function from objects to YAML documents, with text of several lines as a block."""

    class Blocks(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes text of several lines as it reads."""

    def write(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Blocks.add_representer(str, write)
    return lambda objects: yaml.dump_all(
        objects, Dumper=Blocks, sort_keys=False, explicit_start=True, width=110
    )


def make_object(api: str, kind: str, name: str, spec: Object, namespace: str | None = None) -> Object:
    """Return an object of that kind and name."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
