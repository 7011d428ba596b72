"""Where every node is, for Kubernetes: labels, Kueue's topology and Volcano's HyperNodes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fabricc.back.hosts.words import word
from fabricc.back.jobs.kubernetes_objects import CLUSTER_LABEL, documents, named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.back.jobs.kubernetes_objects import Object
    from fabricc.back.jobs.roster import Roster

TIER_LABELS = tuple(f"network.topology.nvidia.com/{tier}" for tier in ("leaf", "spine", "core"))
"""Labels of a node's unit, its set of spines and its set of cores, as Topograph before 1.0 wrote them."""
FABRIC_LABELS = tuple(f"fabric.topograph.run/tier-{tier}" for tier in range(len(TIER_LABELS)))
"""The same as Topograph writes them from 1.0 on, tier 0 closest to the node (its `docs/reference/node-labels.md`)."""
HOST_LABEL = "kubernetes.io/hostname"


def topology_files(hosts: Roster[Any]) -> dict[str, str]:
    """`label-nodes.sh`, `kueue-topology.yaml` and `volcano-hypernodes.yaml`.

    Raises:
        ValueError: a name that the files cannot hold.
    """
    return {
        "kueue-topology.yaml": documents(_kueue(hosts)),
        "volcano-hypernodes.yaml": _hyper_nodes(hosts),
        "label-nodes.sh": _labels(hosts),
    }


def _levels(hosts: Roster[Any]) -> list[str]:
    """The labels from the top tier down, as Kueue wants them."""
    return [*reversed(TIER_LABELS[: hosts.tiers]), HOST_LABEL]


def _kueue(hosts: Roster[Any]) -> Iterable[Object]:
    api = "kueue.x-k8s.io/v1beta1"
    levels = [{"nodeLabel": label} for label in _levels(hosts)]
    yield named(api, "Topology", hosts.cluster, {"levels": levels})
    flavor = {"nodeLabels": {CLUSTER_LABEL: hosts.cluster}, "topologyName": hosts.cluster}
    yield named(api, "ResourceFlavor", hosts.cluster, flavor)


def _hyper_nodes(hosts: Roster[Any]) -> str:
    """Volcano HyperNodes, a line each: units by their label, pods and the fabric by those below them."""
    units = hosts.units()
    objects = []
    pods: dict[str, list[str]] = {}
    for unit, members in units.items():
        selector = {"labelMatch": {"matchLabels": {TIER_LABELS[0]: word(unit)}}}
        objects.append(_hyper_node(word(unit), 1, [{"type": "Node", "selector": selector}]))
        pods.setdefault(members[0].pod or "", []).append(unit)
    tops = [pod for pod in pods if pod]
    objects += [_hyper_node(pod, 2, _below(pods[pod])) for pod in tops]
    objects.append(_hyper_node(f"{hosts.cluster}-fabric", 3 if tops else 2, _below(tops or list(units))))
    return "".join(f"---\n{json.dumps(entry)}\n" for entry in objects)


def _hyper_node(name: str, tier: int, members: list[Object]) -> Object:
    return named("topology.volcano.sh/v1alpha1", "HyperNode", name, {"tier": tier, "members": members})


def _below(names: Iterable[str]) -> list[Object]:
    return [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in names]


def _labels(hosts: Roster[Any]) -> str:
    """A script that labels the nodes, one command per unit."""
    lines = [
        "#!/usr/bin/env bash\n# Labels every node with its place in the fabric; may run again at any time.\n",
        'set -euo pipefail\nlabel() { "${KUBECTL:-kubectl}" label node --overwrite "$@"; }\n\n',
    ]
    for unit, members in hosts.units().items():
        places = (word(unit), members[0].pod or "spine", "core")[: hosts.tiers]
        labels = {CLUSTER_LABEL: hosts.cluster}
        for keys in (TIER_LABELS, FABRIC_LABELS):
            labels |= dict(zip(keys, places, strict=False))
        names = " ".join(word(host.name) for host in members)
        lines.append(f"label {_assignments(labels)} \\\n  {names}\n")
    return "".join(lines)


def _assignments(labels: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items())
