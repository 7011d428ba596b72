"""Kubernetes objects of RoCE: NIC settings, and the rails as networks of pods with the plan's addresses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fabricc.back.hosts import nccl
from fabricc.back.hosts.nics import PRIORITIES, gpu_of, host_qos, tos_byte
from fabricc.back.hosts.words import check_word
from fabricc.back.jobs import kubernetes_topology
from fabricc.back.jobs.roster import Roster, port_addresses, port_names
from fabricc.back.jobs.settings import one_sided_settings, ucx_settings
from fabricc.base.values import replace
from fabricc.catalog.model import CARD_MODE, DPU_MODE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host

_NIC_TYPES = {
    "connectx-5": "1017", "connectx-6": "101b", "connectx-6-dx": "101d", "connectx-7": "1021", "connectx-8": "1023",
    "connectx-9": "1025", "bluefield-2": "a2d6", "bluefield-3": "a2dc",
}  # fmt: skip
"""PCI device IDs (pci.ids, vendor 15b3) by which the NIC operator selects adapters."""
SRIOV_NICS = frozenset(_NIC_TYPES) | {"e810", "e810-iwarp", "e830", "thor"}
"""NICs that the SR-IOV operator configures by default (its 1.6.0, supported-nic-ids); its webhook refuses others."""
_POOLS_NAMESPACE = "kube-system"
_SETTINGS = "nccl.conf"
_RDMA_PREFIX, _RDMA_NAME = "rdma", "rails"
_FUNCTIONS_PREFIX = (
    "openshift.io"  # RESOURCE_PREFIX of the SR-IOV operator; NVIDIA's network operator: nvidia.com
)
_DRA = "resource.k8s.io/v1"
_CLAIM = "fabric-rails"
_CLAIM_REQUESTS = 32
"""Requests of one claim at most (Kubernetes, `DeviceRequestsMaxSize` of resource.k8s.io): others are refused."""

OBJECTS = (
    "address-pools.yaml", "host-device-networks.yaml", "sriov.yaml", "nccl-settings.yaml", "rdma-devices.yaml",
    "pod.yaml", "pod-vf.yaml", "dra.yaml",
)  # fmt: skip
"""The files that every fabric has, besides those of the topology."""


def kubernetes_files(fabric: Fabric, hosts: Roster[Host]) -> dict[str, str]:
    """Return every file, by name.

    Raises:
        ValueError: a name that the files cannot hold.
    """
    files = {
        "address-pools.yaml": _address_pools(fabric, hosts),
        "host-device-networks.yaml": kubernetes_topology.render_documents(_host_device_networks(fabric)),
        "sriov.yaml": kubernetes_topology.render_documents(_sriov_objects(fabric, hosts)),
        "nccl-settings.yaml": kubernetes_topology.render_documents(_nccl_config_maps(hosts)),
        "rdma-devices.yaml": kubernetes_topology.render_documents([_rdma_devices(fabric)]),
        "pod.yaml": kubernetes_topology.render_documents([_whole_host_pod(fabric, hosts)]),
        "pod-vf.yaml": kubernetes_topology.render_documents([_pod_of_functions(fabric, hosts)]),
        "dra.yaml": kubernetes_topology.render_documents(_dra_objects(fabric, hosts)),
        **kubernetes_topology.topology_files(hosts),
    }
    if templates := _nic_templates(hosts):
        files[NIC_TEMPLATES] = kubernetes_topology.render_documents(templates)
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
        node_term = {"key": kubernetes_topology.CLUSTER_LABEL, "operator": "In", "values": [hosts.cluster]}
        spec = {
            "cidr": prefixes[0],
            "perNodeNetworkPrefix": length,
            "gatewayIndex": 0,
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [node_term]}]},
            "routes": [{"dst": prefix} for prefix in prefixes],
        }
        pool = kubernetes_topology.make_object(
            "nv-ipam.nvidia.com/v1alpha1", "CIDRPool", name, spec, _POOLS_NAMESPACE
        )
        rows = [
            f'  - {{nodeName: "{check_word(a.host)}", prefix: "{a.gateway}/{length}", gateway: "{a.gateway}"}}\n'
            for a in port_addresses(fabric, hosts, rail, nic_port)
        ]
        parts += [kubernetes_topology.render_documents([pool]), "  staticAllocations:\n", *rows]
    return "".join(parts)


def _ip_pool(port: str) -> kubernetes_topology.Object:
    return {"type": "nv-ipam", "poolName": port, "poolType": "cidrpool"}


def _host_device_networks(fabric: Fabric) -> Iterable[kubernetes_topology.Object]:
    """Yield a network per port that moves the port itself into the pod.

    `sbr` gives each port a routing table of its own, as the policy rules do on the host.

    The plugin `rdma` is not in the chain: it takes a device ID, which only a device plugin's resource brings, or looks
    for a virtual function with the port's MAC and refuses a whole port (k8snetworkplumbingwg/rdma-cni, `CmdAdd` and
    `deriveDeviceIDFromResult` in `cmd/rdma/main.go`). The SR-IOV device plugin has no selector by name for a whole port
    (`GetPfName` in its `pkg/utils/utils.go` returns "" for one). So the node stays in the kernel's default, shared mode
    of RDMA namespaces, and `rdma-devices.yaml` brings the devices.
    """
    for name, _, _ in port_names(fabric):
        config = {
            "cniVersion": "0.3.1",
            "name": name,
            "plugins": [
                {"type": "host-device", "device": name, "ipam": _ip_pool(name)},
                {"type": "tuning", "mtu": fabric.host_mtu},
                {"type": "sbr"},
            ],
        }
        text = json.dumps(config)
        yield kubernetes_topology.make_object(
            "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, {"config": text}
        )


def _rdma_devices(fabric: Fabric) -> kubernetes_topology.Object:
    """Return the configuration of the shared RDMA device plugin: all rails of a host are one resource, for one pod.

    Mellanox/k8s-rdma-shared-dev-plugin selects by interface name and looks once at its start (interval 0), because a
    port that a pod has taken is no longer among the host's.
    """
    config = {
        "periodicUpdateInterval": 0,
        "configList": [
            {
                "resourcePrefix": _RDMA_PREFIX,
                "resourceName": _RDMA_NAME,
                "rdmaHcaMax": 1,
                "selectors": {"ifNames": [name for name, _, _ in port_names(fabric)]},
            }
        ],
    }
    metadata = {"name": "rdma-devices", "namespace": _POOLS_NAMESPACE}
    data = {"config.json": json.dumps(config, indent=2) + "\n"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _sriov_objects(fabric: Fabric, hosts: Roster[Host]) -> Iterable[kubernetes_topology.Object]:
    """Yield a policy and a network per port: one virtual function with the planned address of the port."""
    api = "sriovnetwork.openshift.io/v1"
    for name, _, _ in port_names(fabric):
        policy = {
            "resourceName": name,
            "nodeSelector": {kubernetes_topology.CLUSTER_LABEL: hosts.cluster},
            "nicSelector": {"pfNames": [name]},
            "numVfs": 1,
            "mtu": fabric.host_mtu,
            "linkType": "eth",
            "deviceType": "netdevice",
            "isRdma": True,
        }
        yield kubernetes_topology.make_object(api, "SriovNetworkNodePolicy", name, policy)
        network = {
            "resourceName": name,
            "networkNamespace": "default",
            "ipam": json.dumps(_ip_pool(name)),
            "metaPlugins": json.dumps({"type": "sbr"}) + ", " + json.dumps({"type": "rdma"}),
        }
        yield kubernetes_topology.make_object(api, "SriovNetwork", f"{name}-vf", network)


def _nic_templates(hosts: Roster[Host]) -> list[kubernetes_topology.Object]:
    """NicConfigurationTemplates for the adapters that the NIC operator sets up, with the fabric's own priorities.

    None for cards in DPU mode: their own system sets classes and PFC, and settings of the host have no effect.
    """
    found: dict[str, kubernetes_topology.Object] = {}
    for kind in hosts.kinds:
        nic = kind.model.nic.name
        if (
            nic in _NIC_TYPES
            and kind.model.name not in found
            and not unmapped_classes(kind)
            and dict(kind.model.nic.firmware).get(CARD_MODE) != DPU_MODE
        ):
            spec = {
                "nodeSelector": _node_selector(hosts, kind),
                "nicSelector": _nic_selector(kind, _NIC_TYPES[nic]),
                "template": _nic_template(kind),
            }
            name = check_word(kind.model.name)
            api = "configuration.net.nvidia.com/v1alpha1"
            found[name] = kubernetes_topology.make_object(api, "NicConfigurationTemplate", name, spec)
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


NIC_TEMPLATES = "nic-configuration.yaml"
_TITLE = re.compile(r"(?m)^# Configures a port of a (\S+) for ")
_MAPPED = re.compile(r"(?<![\d,])(\d+),(\d)(?=\s)")
_TOS = re.compile(r"(?m)^ROCE_TOS=(\d+)$")


def has_nic_template(script: str) -> bool:
    """Return whether the NIC operator sets up adapters with this script of settings; False where it does not show.

    The script maps code points to priorities as the class of each has them. See `unmapped_classes`.
    """
    title, tos = _TITLE.search(script), _TOS.search(script)
    if title is None or title[1] not in _NIC_TYPES or f"\n{CARD_MODE}={DPU_MODE}\n" in script:
        return False
    classes: dict[int, list[int]] = {}
    for dscp, priority in _MAPPED.findall(script):
        classes.setdefault(int(priority), []).append(int(dscp))
    rest = max(classes, key=lambda priority: len(classes[priority]), default=0)
    used = {priority: dscps for priority, dscps in classes.items() if priority != rest}
    if tos and int(tos[1]) >> 2 in classes.get(rest, ()):
        used[rest] = [int(tos[1]) >> 2]
    return all(dscp >> 3 == priority for priority, dscps in used.items() for dscp in dscps) and (
        rest == 0 or rest in used
    )


def _node_selector(hosts: Roster[Host], kind: Host) -> kubernetes_topology.Object:
    """Return the labels of the nodes of a kind.

    The NIC operator clears a device that several templates match (Mellanox/nic-configuration-operator,
    `internal/controller/template_matcher.go`).
    """
    model = (
        {kubernetes_topology.MODEL_LABEL: check_word(kind.model.name)}
        if kubernetes_topology.has_several_models(hosts)
        else {}
    )
    return {kubernetes_topology.CLUSTER_LABEL: hosts.cluster, **model}


def _nic_selector(kind: Host, nic_type: str) -> kubernetes_topology.Object:
    placed = [port.pci for port in kind.ports if port.pci and not port.nic_port]
    return {"nicType": nic_type, "pciAddresses": placed} if placed else {"nicType": nic_type}


def _nic_template(kind: Host) -> kubernetes_topology.Object:
    """Return the settings of an adapter.

    The operator's own defaults for notifications (DSCP 4) and for congestion control (all priorities) are overridden
    (`ConstructNvParamMapFromTemplate` in `pkg/configuration/configvalidation.go`). `qos` is always stated: without it
    the operator turns PFC on for priority 3 (`CalculateDesiredRuntimeConfig` there). Not `ecn`: it takes one priority,
    needs a folder of the vendor's driver, and that driver has it on at first. `cableLen` and `pauseFrames` are of
    network operator 26.7 and later.
    """
    qos = host_qos(kind)
    roce: kubernetes_topology.Object = {"enabled": True}
    raw: list[kubernetes_topology.Object] = []
    ports = sorted({port.nic_port + 1 for port in kind.ports})
    marked = [priority for priority in PRIORITIES if qos.ecn[priority]]
    pfc = ",".join("1" if qos.pfc[priority] else "0" for priority in PRIORITIES)
    roce["qos"] = {"trust": "dscp", "pfc": pfc}
    if qos.rdma_dscp is not None:
        roce["qos"]["tos"] = tos_byte(qos.rdma_dscp)
    if any(qos.pfc):
        roce["qos"]["cableLen"] = max(port.cable_m for port in kind.ports)
    roce["qos"]["pauseFrames"] = {"enabled": False}
    for port in ports:
        raw.append({"name": f"ROCE_CC_PRIO_MASK_P{port}", "value": str(sum(1 << each for each in marked))})
        if qos.cnp:
            raw.append({"name": f"CNP_DSCP_P{port}", "value": str(qos.cnp[0])})
            raw.append({"name": f"CNP_802P_PRIO_P{port}", "value": str(qos.cnp[1])})
    if kind.spreads_packets:
        raw.append({"name": "ROCE_ADAPTIVE_ROUTING_EN", "value": "1"})
    return {
        "numVfs": 1,
        "linkType": "Ethernet",
        "pciPerformanceOptimized": {"enabled": True, "maxReadRequest": 4096},
        "roceOptimized": roce,
        "gpuDirectOptimized": {"enabled": True, "env": "Baremetal"},
        "rawNvConfig": raw,
    }


def _nccl_config_maps(hosts: Roster[Host]) -> Iterable[kubernetes_topology.Object]:
    """Yield the NCCL settings for pods of every kind of host.

    A pod's own interface is eth0 whatever the host's is called. A virtual function's RDMA device has no planned name,
    but a pod sees its own devices only, so those need no list.
    """
    reported: set[str] = set()
    for kind in hosts.kinds:
        name = f"nccl-{check_word(kind.model.name)}"
        if name in reported:
            continue
        reported.add(name)
        lines = [
            line for line in nccl.render_text(kind).splitlines() if not line.startswith("NCCL_SOCKET_IFNAME=")
        ]
        ports = ["NCCL_SOCKET_IFNAME==eth0", *lines]
        functions = [line for line in ports if not line.startswith("NCCL_IB_HCA=")]
        texts = {_SETTINGS: "\n".join(ports) + "\n", "nccl-vf.conf": "\n".join(functions) + "\n"}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": texts}


def _whole_host_pod(fabric: Fabric, hosts: Roster[Host]) -> kubernetes_topology.Object:
    """Return a pod that takes a whole host: all rails in order with their RDMA devices, all GPUs, NCCL's settings."""
    rails = [name for name, _, _ in port_names(fabric)]
    return _worker_pod(hosts, "fabric-worker", rails, {f"{_RDMA_PREFIX}/{_RDMA_NAME}": "1"}, _SETTINGS)


def _pod_of_functions(fabric: Fabric, hosts: Roster[Host]) -> kubernetes_topology.Object:
    """Return the same with a virtual function of each rail: their resource brings device ID and RDMA devices."""
    rails = [name for name, _, _ in port_names(fabric)]
    devices = {f"{_FUNCTIONS_PREFIX}/{name}": "1" for name in rails}
    return _worker_pod(hosts, "fabric-worker-vf", [f"{name}-vf" for name in rails], devices, "nccl-vf.conf")


def _dra_objects(fabric: Fabric, hosts: Roster[Host]) -> Iterable[kubernetes_topology.Object]:
    """Yield the rails by Dynamic Resource Allocation (kubernetes-sigs/dranet): no Multus, nv-ipam, device plugins.

    Attributes of a device are those of its `pkg/apis/attributes.go`. Addresses of a port, its routes of all tables and
    the rules to those go into the pod (1.4.0, `getRouteInfo` and `getRuleInfo` in `pkg/driver/dra_hooks.go`).

    An RDMA device whose port another pod has taken is listed without `ifName` (`discoverRDMADevices` in its
    `pkg/inventory/db.go`), and an attribute that is absent ends the allocation with an error: hence `has`.
    """
    attributes = 'device.attributes["dra.net"]'
    driver = {
        "cel": {"expression": f'device.driver == "dra.net" && has({attributes}.rdma) && {attributes}.rdma'}
    }
    yield kubernetes_topology.make_object(_DRA, "DeviceClass", _CLAIM, {"selectors": [driver]})
    requests = [
        {
            "name": name,
            "exactly": {
                "deviceClassName": _CLAIM,
                "selectors": [
                    {"cel": {"expression": f'has({attributes}.ifName) && {attributes}.ifName == "{name}"'}}
                ],
            },
        }
        for name, _, _ in port_names(fabric)
    ]
    parts = [requests[at : at + _CLAIM_REQUESTS] for at in range(0, len(requests), _CLAIM_REQUESTS)]
    claims = {}
    for number, part in enumerate(parts, 1):
        suffix = f"-{number}" if len(parts) > 1 else ""
        claims[f"rails{suffix}"] = template = f"{_CLAIM}{suffix}"
        yield kubernetes_topology.make_object(
            _DRA, "ResourceClaimTemplate", template, {"spec": {"devices": {"requests": part}}}
        )
    pod = _worker_pod(hosts, "fabric-worker-dra", [], {}, _SETTINGS)
    pod["spec"]["resourceClaims"] = [
        {"name": name, "resourceClaimTemplateName": template} for name, template in claims.items()
    ]
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": name} for name in claims]
    yield pod


def _environment(kind: Host, *, with_devices: bool) -> list[kubernetes_topology.Object]:
    """Return the settings of UCX, NVSHMEM and MoRI, which read no file of NCCL's.

    Without them their RDMA is in the default class, and their sockets use the first interface.

    Args:
        kind: a host with such GPUs.
        with_devices: whether the pod has the devices of the host, by their names.
    """
    inside = replace(kind, socket_interface="eth0")
    lines = [*ucx_settings(inside).splitlines(), *one_sided_settings(inside).splitlines()]
    pairs = [line.split("=", 1) for line in lines]
    return [
        {"name": name, "value": value}
        for name, value in pairs
        if with_devices or name not in ("UCX_NET_DEVICES", "NVSHMEM_HCA_LIST")
    ]


def _worker_pod(
    hosts: Roster[Host], name: str, networks: list[str], devices: dict[str, str], settings: str
) -> kubernetes_topology.Object:
    """Return a pod on a host of the first kind, with all its GPUs and locked memory.

    Args:
        hosts: of the fabric.
        name: of the pod.
        networks: that Multus attaches, in order.
        devices: resources of device plugins that it takes in addition to the GPUs.
        settings: key of the config map that NCCL's settings come from.
    """
    kind = hosts.kinds[0]
    gpu = gpu_of(kind)
    mounted = {"name": "nccl", "mountPath": f"/{gpu.settings}", "subPath": settings, "readOnly": True}
    container = {
        "name": "worker",
        "image": "your-image",
        "command": ["sleep", "infinity"],
        "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
        "env": _environment(kind, with_devices=settings == _SETTINGS),
        "resources": {"limits": {gpu.resource: str(kind.model.gpus), **devices}},
        "volumeMounts": [mounted, {"name": "shm", "mountPath": "/dev/shm"}],
    }
    spec = {
        "nodeSelector": _node_selector(hosts, kind),
        "containers": [container],
        "volumes": [
            {"name": "nccl", "configMap": {"name": f"nccl-{kind.model.name}"}},
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
        ],
    }
    pod = kubernetes_topology.make_object("v1", "Pod", name, spec)
    if networks:
        pod["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/networks": ", ".join(networks)}
    return pod
