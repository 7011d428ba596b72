"""Kubernetes objects of RoCE: NIC settings, and the rails as networks of pods with the plan's addresses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricc.back.hosts import nccl
from fabricc.back.hosts.gpus import gpu_of
from fabricc.back.hosts.nics import PRIORITIES, host_qos, tos_byte
from fabricc.back.hosts.words import word
from fabricc.back.jobs.kubernetes_objects import CLUSTER_LABEL, documents, named
from fabricc.back.jobs.kubernetes_topology import topology_files
from fabricc.back.jobs.roster import port_addresses, port_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.back.jobs.kubernetes_objects import Object
    from fabricc.back.jobs.roster import Roster
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host

_NIC_TYPES = {"connectx-6": "101b", "connectx-7": "1021", "connectx-8": "1023", "bluefield-3": "a2dc"}
"""PCI device IDs (pci.ids, vendor 15b3) by which the NIC operator selects adapters."""
_POOLS_NAMESPACE = "kube-system"


def kubernetes_files(fabric: Fabric, hosts: Roster[Host]) -> dict[str, str]:
    """Every file, by name.

    Raises:
        ValueError: a name that the files cannot hold.
    """
    files = {
        "address-pools.yaml": _address_pools(fabric, hosts),
        "host-device-networks.yaml": documents(_host_device_networks(fabric)),
        "sriov.yaml": documents(_sriov(fabric, hosts)),
        "nccl-settings.yaml": documents(_settings(hosts)),
        "pod.yaml": documents([_pod(fabric, hosts)]),
        **topology_files(hosts),
    }
    if templates := _nic_templates(hosts):
        files["nic-configuration.yaml"] = documents(templates)
    return files


def _address_pools(fabric: Fabric, hosts: Roster[Host]) -> str:
    """nv-ipam CIDRPools: on every node the two addresses of the port's link, the ToR's as gateway.

    Only nodes with the cluster's label are given addresses, and each of them has its own listed: none is made up.
    """
    parts = []
    kind = hosts.kinds[0]
    prefixes = kind.fabric_prefixes6 if nccl.ipv6_only(kind) else kind.fabric_prefixes4
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
        pool = named("nv-ipam.nvidia.com/v1alpha1", "CIDRPool", name, spec, _POOLS_NAMESPACE)
        rows = [
            f'  - {{nodeName: "{word(a.host)}", prefix: "{a.gateway}/{length}", gateway: "{a.gateway}"}}\n'
            for a in port_addresses(fabric, hosts, rail, nic_port)
        ]
        parts += [documents([pool]), "  staticAllocations:\n", *rows]
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
        yield named("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, {"config": text})


def _sriov(fabric: Fabric, hosts: Roster[Host]) -> Iterable[Object]:
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
        yield named(api, "SriovNetworkNodePolicy", name, policy)
        network = {
            "resourceName": name,
            "networkNamespace": "default",
            "ipam": json.dumps(_ipam(name)),
            "metaPlugins": json.dumps({"type": "sbr"}) + ", " + json.dumps({"type": "rdma"}),
        }
        yield named(api, "SriovNetwork", f"{name}-vf", network)


def _nic_templates(hosts: Roster[Host]) -> list[Object]:
    """NicConfigurationTemplates for the adapters that the NIC operator sets up, with the fabric's own priorities."""
    found: dict[str, Object] = {}
    for kind in hosts.kinds:
        nic = kind.model.nic.name
        if nic in _NIC_TYPES and kind.model.name not in found and not unmapped_classes(kind):
            spec = {
                "nodeSelector": {CLUSTER_LABEL: hosts.cluster},
                "nicSelector": _nic_selector(kind, _NIC_TYPES[nic]),
                "template": _nic_template(kind),
            }
            name = word(kind.model.name)
            api = "configuration.net.nvidia.com/v1alpha1"
            found[name] = named(api, "NicConfigurationTemplate", name, spec)
    return list(found.values())


def unmapped_classes(kind: Host) -> list[str]:
    """Return the classes that the NIC operator puts into another priority than the plan; no file can name those.

    Its API (Mellanox/nic-configuration-operator, `api/v1alpha1/nicconfigurationtemplate_types.go`) has trust, PFC and
    a traffic-class byte, and no map of code points: the NIC keeps its own, the three class-selector bits.
    """
    if kind.model.nic.name not in _NIC_TYPES:
        return []
    rest = max(kind.classes, key=lambda c: len(c.dscps), default=None)
    return [
        c.name
        for c in kind.classes
        if any(dscp >> 3 != c.priority for dscp in ((c.data_dscp,) if c is rest else c.dscps))
    ]


def _nic_selector(kind: Host, nic_type: str) -> Object:
    placed = [port.pci for port in kind.ports if port.pci and not port.nic_port]
    return {"nicType": nic_type, "pciAddresses": placed} if placed else {"nicType": nic_type}


def _nic_template(kind: Host) -> Object:
    qos = host_qos(kind)
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
    if kind.spreads_packets:
        raw.append({"name": "ROCE_ADAPTIVE_ROUTING_EN", "value": "1"})
    if raw:
        template["rawNvConfig"] = raw
    return template


def _settings(hosts: Roster[Host]) -> Iterable[Object]:
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
        lines = [line for line in nccl.text(kind).splitlines() if not line.startswith("NCCL_SOCKET_IFNAME=")]
        ports = ["NCCL_SOCKET_IFNAME==eth0", *lines]
        functions = [line for line in ports if not line.startswith("NCCL_IB_HCA=")]
        texts = {"nccl.conf": "\n".join(ports) + "\n", "nccl-vf.conf": "\n".join(functions) + "\n"}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": texts}


def _pod(fabric: Fabric, hosts: Roster[Host]) -> Object:
    """A pod that takes a whole host: all rails in order, all GPUs, locked memory, NCCL's settings."""
    kind = hosts.kinds[0]
    rails = [name for name, _, _ in port_names(fabric)]
    gpu = gpu_of(kind)
    settings = [{"name": "nccl", "mountPath": f"/{gpu.settings}", "subPath": "nccl.conf", "readOnly": True}]
    container = {
        "name": "worker",
        "image": "your-image",
        "command": ["sleep", "infinity"],
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "resources": {"limits": {gpu.resource: str(kind.model.gpus)}},
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
    pod = named("v1", "Pod", "fabric-worker", spec)
    pod["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": ", ".join(rails)}
    return pod
