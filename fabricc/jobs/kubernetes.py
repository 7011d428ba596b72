"""Kubernetes objects: NIC settings, the rails as networks of pods with the plan's addresses, and the topology."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from fabricc.hosts import nccl
from fabricc.hosts.classes import PRIORITIES, nic_qos, tos_byte
from fabricc.hosts.templating import word
from fabricc.jobs.roster import port_addresses, port_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host
    from fabricc.jobs.roster import Roster

Object = dict[str, Any]

CLUSTER_LABEL = "fabricc/cluster"
"""Label of every node of the fabric; its value is the cluster's name."""
TIER_LABELS = tuple(f"network.topology.nvidia.com/{tier}" for tier in ("leaf", "spine", "core"))
"""Labels of a node's unit, its set of spines and its set of cores."""
HOST_LABEL = "kubernetes.io/hostname"

_NIC_TYPES = {"connectx-6": "101b", "connectx-7": "1021", "connectx-8": "1023", "bluefield-3": "a2dc"}
"""PCI device IDs (pci.ids, vendor 15b3) by which the NIC operator selects adapters."""
_POOLS_NAMESPACE = "kube-system"


def kubernetes_files(fabric: Fabric, hosts: Roster) -> dict[str, str]:
    """Every file, by name.

    Raises:
        ValueError: a name that the files cannot hold.
    """
    files = {
        "address-pools.yaml": _address_pools(fabric, hosts),
        "host-device-networks.yaml": _documents(_host_device_networks(fabric)),
        "sriov.yaml": _documents(_sriov(fabric, hosts)),
        "nccl-settings.yaml": _documents(_settings(hosts)),
        "pod.yaml": _documents([_pod(fabric, hosts)]),
        "kueue-topology.yaml": _documents(_kueue(hosts)),
        "volcano-hypernodes.yaml": _hyper_nodes(hosts),
        "label-nodes.sh": _labels(hosts),
    }
    if templates := _nic_templates(hosts):
        files["nic-configuration.yaml"] = _documents(templates)
    return files


def _documents(objects: Iterable[Object]) -> str:
    return _dumper()(list(objects))


@cache
def _dumper() -> Callable[[list[Object]], str]:
    """A function from objects to YAML documents, with text of several lines as a block."""
    import yaml

    class Blocks(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes text of several lines as it reads."""

    def write(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Blocks.add_representer(str, write)
    return lambda objects: yaml.dump_all(
        objects, Dumper=Blocks, sort_keys=False, explicit_start=True, width=110
    )


def _object(api: str, kind: str, name: str, spec: Object, namespace: str | None = None) -> Object:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _prefixes(hosts: Roster) -> tuple[str, ...]:
    kind = hosts.kinds[0]
    return kind.fabric_prefixes6 if nccl.ipv6_only(kind) else kind.fabric_prefixes4


def _address_pools(fabric: Fabric, hosts: Roster) -> str:
    """nv-ipam CIDRPools: on every node the two addresses of the port's link, the ToR's as gateway.

    Only nodes with the cluster's label are given addresses, and each of them has its own listed: none is made up.
    """
    parts = []
    prefixes = _prefixes(hosts)
    length = 127 if nccl.ipv6_only(hosts.kinds[0]) else 31
    for name, rail, nic_port in port_names(fabric):
        node_term = {"key": CLUSTER_LABEL, "operator": "In", "values": [hosts.cluster]}
        spec = {
            "cidr": prefixes[0],
            "perNodeNetworkPrefix": length,
            "gatewayIndex": 0,
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [node_term]}]},
            "routes": [{"dst": prefix} for prefix in prefixes],
        }
        pool = _object("nv-ipam.nvidia.com/v1alpha1", "CIDRPool", name, spec, _POOLS_NAMESPACE)
        rows = [
            f'  - {{nodeName: "{word(a.host)}", prefix: "{a.gateway}/{length}", gateway: "{a.gateway}"}}\n'
            for a in port_addresses(fabric, hosts, rail, nic_port)
        ]
        parts += [_documents([pool]), "  staticAllocations:\n", *rows]
    return "".join(parts)


def _ipam(port: str) -> Object:
    return {"type": "nv-ipam", "poolName": port, "poolType": "cidrpool"}


def _host_device_networks(fabric: Fabric) -> Iterable[Object]:
    """A network per port that moves the port itself into the pod.

    `sbr` gives each port a routing table of its own, as the policy rules do on the host; `rdma` moves its RDMA device.
    """
    for name, _, _ in port_names(fabric):
        config = {
            "cniVersion": "0.3.1",
            "name": name,
            "plugins": [
                {"type": "host-device", "device": name, "ipam": _ipam(name)},
                {"type": "tuning", "mtu": fabric.host_mtu},
                {"type": "sbr"},
                {"type": "rdma"},
            ],
        }
        text = json.dumps(config)
        yield _object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, {"config": text})


def _sriov(fabric: Fabric, hosts: Roster) -> Iterable[Object]:
    """A policy and a network per port: one virtual function, which has the port's planned address in its stead."""
    api = "sriovnetwork.openshift.io/v1"
    for name, _, _ in port_names(fabric):
        policy = {
            "resourceName": name,
            "nodeSelector": {CLUSTER_LABEL: hosts.cluster},
            "nicSelector": {"pfNames": [name]},
            "numVfs": 1,
            "mtu": fabric.host_mtu,
            "linkType": "eth",
            "deviceType": "netdevice",
            "isRdma": True,
        }
        yield _object(api, "SriovNetworkNodePolicy", name, policy)
        network = {
            "resourceName": name,
            "networkNamespace": "default",
            "ipam": json.dumps(_ipam(name)),
            "metaPlugins": json.dumps({"type": "sbr"}) + ", " + json.dumps({"type": "rdma"}),
        }
        yield _object(api, "SriovNetwork", f"{name}-vf", network)


def _nic_templates(hosts: Roster) -> list[Object]:
    """NicConfigurationTemplates for the adapters that the NIC operator sets up, with the fabric's own priorities."""
    found: dict[str, Object] = {}
    for kind in hosts.kinds:
        nic = kind.model.nic.name
        if nic in _NIC_TYPES and kind.model.name not in found:
            spec = {
                "nodeSelector": {CLUSTER_LABEL: hosts.cluster},
                "nicSelector": _nic_selector(kind, _NIC_TYPES[nic]),
                "template": _nic_template(kind),
            }
            name = word(kind.model.name)
            api = "configuration.net.nvidia.com/v1alpha1"
            found[name] = _object(api, "NicConfigurationTemplate", name, spec)
    return list(found.values())


def _nic_selector(kind: Host, nic_type: str) -> Object:
    placed = [port.pci for port in kind.ports if port.pci and not port.nic_port]
    return {"nicType": nic_type, "pciAddresses": placed} if placed else {"nicType": nic_type}


def _nic_template(kind: Host) -> Object:
    qos = nic_qos(kind.classes)
    roce: Object = {"enabled": True}
    raw: list[Object] = []
    ports = sorted({port.nic_port + 1 for port in kind.ports})
    if qos.rdma_dscp is not None:
        pfc = ",".join("1" if qos.pfc[priority] else "0" for priority in PRIORITIES)
        roce["qos"] = {"trust": "dscp", "pfc": pfc, "tos": tos_byte(qos.rdma_dscp)}
    if qos.cnp:
        for port in ports:
            raw.append({"name": f"CNP_DSCP_P{port}", "value": str(qos.cnp[0])})
            raw.append({"name": f"CNP_802P_PRIO_P{port}", "value": str(qos.cnp[1])})
    template: Object = {
        "numVfs": 1,
        "linkType": "Ethernet",
        "pciPerformanceOptimized": {"enabled": True, "maxReadRequest": 4096},
        "roceOptimized": roce,
        "gpuDirectOptimized": {"enabled": True, "env": "Baremetal"},
    }
    if raw:
        template["rawNvConfig"] = raw
    return template


def _settings(hosts: Roster) -> Iterable[Object]:
    """NCCL's settings for pods of every kind of host.

    A pod's own interface is eth0 whatever the host's is called. A virtual function's RDMA device has no planned name,
    but a pod sees its own devices only, so those need no list.
    """
    told: set[str] = set()
    for kind in hosts.kinds:
        name = f"nccl-{word(kind.model.name)}"
        if name in told:
            continue
        told.add(name)
        lines = [
            line for line in nccl.render(kind).splitlines() if not line.startswith("NCCL_SOCKET_IFNAME=")
        ]
        ports = ["NCCL_SOCKET_IFNAME==eth0", *lines]
        functions = [line for line in ports if not line.startswith("NCCL_IB_HCA=")]
        texts = {"nccl.conf": "\n".join(ports) + "\n", "nccl-vf.conf": "\n".join(functions) + "\n"}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": texts}


def _pod(fabric: Fabric, hosts: Roster) -> Object:
    """A pod that takes a whole host: all rails in order, all GPUs, locked memory, NCCL's settings."""
    kind = hosts.kinds[0]
    rails = [name for name, _, _ in port_names(fabric)]
    settings = [{"name": "nccl", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": True}]
    container = {
        "name": "worker",
        "image": "your-image",
        "command": ["sleep", "infinity"],
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "resources": {"limits": {"nvidia.com/gpu": str(kind.model.gpus)}},
        "volumeMounts": [*settings, {"name": "shm", "mountPath": "/dev/shm"}],
    }
    spec = {
        "nodeSelector": {CLUSTER_LABEL: hosts.cluster},
        "containers": [container],
        "volumes": [
            {"name": "nccl", "configMap": {"name": f"nccl-{kind.model.name}"}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }
    pod = _object("v1", "Pod", "fabric-worker", spec)
    pod["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": ", ".join(rails)}
    return pod


def _levels(hosts: Roster) -> list[str]:
    """The labels from the top tier down, as Kueue wants them."""
    three_tiers = any(host.pod for host in hosts.hosts)
    return [*reversed(TIER_LABELS if three_tiers else TIER_LABELS[:2]), HOST_LABEL]


def _kueue(hosts: Roster) -> Iterable[Object]:
    api = "kueue.x-k8s.io/v1beta1"
    levels = [{"nodeLabel": label} for label in _levels(hosts)]
    yield _object(api, "Topology", hosts.cluster, {"levels": levels})
    flavor = {"nodeLabels": {CLUSTER_LABEL: hosts.cluster}, "topologyName": hosts.cluster}
    yield _object(api, "ResourceFlavor", hosts.cluster, flavor)


def _hyper_nodes(hosts: Roster) -> str:
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
    return _object("topology.volcano.sh/v1alpha1", "HyperNode", name, {"tier": tier, "members": members})


def _below(names: Iterable[str]) -> list[Object]:
    return [{"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in names]


def _labels(hosts: Roster) -> str:
    """A script that labels the nodes, one command per unit."""
    leaf, spine, core = TIER_LABELS
    lines = [
        "#!/usr/bin/env bash\n# Labels every node with its place in the fabric; may run again at any time.\n",
        'set -euo pipefail\nlabel() { "${KUBECTL:-kubectl}" label node --overwrite "$@"; }\n\n',
    ]
    for unit, members in hosts.units().items():
        labels = {CLUSTER_LABEL: hosts.cluster, leaf: word(unit), spine: members[0].pod or "spine"}
        if members[0].pod:
            labels[core] = "core"
        names = " ".join(word(host.name) for host in members)
        lines.append(f"label {_assignments(labels)} \\\n  {names}\n")
    return "".join(lines)


def _assignments(labels: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in labels.items())
