"""Kubernetes objects fit their schemas and state the plan: addresses, priorities, the place of every node.

The schemas of the custom resources are those of their projects (NIC configuration operator, SR-IOV operator, nv-ipam,
Kueue, Volcano, the network plumbing group), which are not part of this one. `FABRICC_CRDS` names a folder of them;
without it `../shared/validators/crds` is used when it is there, and else these tests skip.
"""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fabricc.back.hosts.nics import nic_qos
from fabricc.back.jobs.files import job_files
from fabricc.back.jobs.roster import port_names
from fabricc.fabric.routing import LoadBalancing, Spreading
from tests.back.jobs.fabrics import SPECS, fabric, files
from tests.front.planning.support import make_document, planned

yaml = pytest.importorskip("yaml")
jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[3]
CRDS = Path(os.environ.get("FABRICC_CRDS") or ROOT.parent / "shared/validators/crds")
FOLDER = "jobs/kubernetes/"
KINDS = {
    "CIDRPool", "NetworkAttachmentDefinition", "SriovNetworkNodePolicy", "SriovNetwork", "NicConfigurationTemplate",
    "Topology", "ResourceFlavor", "HyperNode",
}  # fmt: skip
NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?")
LABEL = re.compile(
    r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9._-]{1,63}=[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
)


@cache
def kubernetes_objects(name: str) -> list[dict[str, Any]]:
    texts = [text for path, text in files(name).items() if path.startswith(FOLDER) and path.endswith(".yaml")]
    return [entry for text in texts for entry in yaml.safe_load_all(text)]


def of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    return [entry for entry in kubernetes_objects(name) if entry["kind"] == kind]


def close_schema(schema: Any) -> Any:
    """The schema with every object closed: the API server would drop unknown fields in silence."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            close_schema(value)
    elif isinstance(schema, list):
        for value in schema:
            close_schema(value)
    return schema


@cache
def load_schemas() -> dict[tuple[str, str], Any]:
    found = {}
    for path in sorted(CRDS.glob("*.yaml")):
        crd = yaml.safe_load(path.read_text())
        for version in crd["spec"]["versions"]:
            schema = close_schema(copy.deepcopy(version["schema"]["openAPIV3Schema"]))
            schema["properties"].update({key: {} for key in ("apiVersion", "kind", "metadata")})
            found[f"{crd['spec']['group']}/{version['name']}", crd["spec"]["names"]["kind"]] = schema
    return found


def find_faults(entry: dict[str, Any]) -> list[str]:
    schema = load_schemas().get((entry["apiVersion"], entry["kind"]))
    assert schema is not None, f"no schema of {entry['apiVersion']} {entry['kind']} in {CRDS}"
    return [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(entry)]


NEEDS_CRDS = pytest.mark.skipif(not CRDS.is_dir(), reason=f"no schemas of custom resources in {CRDS}")


@NEEDS_CRDS
@pytest.mark.parametrize("name", SPECS)
def test_custom_resources_fit_their_schemas(name: str) -> None:
    checked = [entry for entry in kubernetes_objects(name) if entry["kind"] in KINDS]
    assert {entry["kind"] for entry in checked} == KINDS
    assert {entry["metadata"]["name"]: find_faults(entry) for entry in checked if find_faults(entry)} == {}


@NEEDS_CRDS
@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("NicConfigurationTemplate", ("template", "linkType"), "RoCE"),
        ("NicConfigurationTemplate", ("template", "roceOptimized", "qos", "pfc"), "0,0,0,1"),
        ("NicConfigurationTemplate", ("template", "mtu"), 9000),
        ("SriovNetworkNodePolicy", ("numVfs",), "one"),
        ("SriovNetwork", ("resource",), "rail0"),
        ("CIDRPool", ("perNodeNetworkPrefix",), "31"),
        ("Topology", ("levels",), []),
        ("HyperNode", ("tier",), "leaf"),
    ],
)
def test_the_schemas_would_find_a_fault(kind: str, path: tuple[str, ...], value: object) -> None:
    entry = copy.deepcopy(of_kind("rails", kind)[0])
    place = entry["spec"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert find_faults(entry)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.spread
def test_core_objects_fit_the_schemas_of_kubernetes(name: str) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    core = [entry for entry in kubernetes_objects(name) if entry["kind"] in ("Pod", "ConfigMap")]
    assert len(core) == 5
    for entry in core:
        validate.validate(entry, "1.31", strict=True)


@pytest.mark.parametrize("name", SPECS)
def test_objects_are_named_once_and_as_kubernetes_allows(name: str) -> None:
    names = [(entry["kind"], entry["metadata"]["name"]) for entry in kubernetes_objects(name)]
    assert len(names) == len(set(names))
    assert all(NAME.fullmatch(text) for _, text in names)


@pytest.mark.parametrize("name", SPECS)
def test_every_node_gets_the_addresses_of_the_plan(name: str) -> None:
    built = fabric(name)
    stated = {
        (row["nodeName"], pool["metadata"]["name"]): (row["prefix"], row["gateway"])
        for pool in of_kind(name, "CIDRPool")
        for row in pool["spec"]["staticAllocations"]
    }
    planned = {}
    for at in built.host_ids():
        host = built.host(at)
        for port in host.ports:
            address, gateway = (port.ipv4, port.gateway4) if port.ipv4 else (port.ipv6, port.gateway6)
            assert address
            planned[host.name, port.name] = (f"{gateway}/{address.partition('/')[2]}", gateway)
    assert stated == planned


def pod_of(name: str, called: str) -> dict[str, Any]:
    (pod,) = [entry for entry in of_kind(name, "Pod") if entry["metadata"]["name"] == called]
    return pod


def limits_of(pod: dict[str, Any]) -> dict[str, str]:
    limits: dict[str, str] = pod["spec"]["containers"][0]["resources"]["limits"]
    return limits


@pytest.mark.parametrize("name", SPECS)
def test_a_pod_of_whole_ports_gets_their_rdma_devices(name: str) -> None:
    """No `rdma` without a resource that brings its device ID: rdma-cni refuses a whole port."""
    (config,) = [e for e in of_kind(name, "ConfigMap") if e["metadata"]["name"] == "rdma-devices"]
    (entry,) = json.loads(config["data"]["config.json"])["configList"]
    assert entry["selectors"] == {"ifNames": [port for port, _, _ in port_names(fabric(name))]}
    limits = limits_of(pod_of(name, "fabric-worker"))
    assert limits[f"{entry['resourcePrefix']}/{entry['resourceName']}"] == "1"
    for network in of_kind(name, "NetworkAttachmentDefinition"):
        assert "rdma" not in [plugin["type"] for plugin in json.loads(network["spec"]["config"])["plugins"]]


@pytest.mark.parametrize("name", SPECS)
def test_a_pod_of_virtual_functions_requests_what_its_networks_need(name: str) -> None:
    """The device plugin's resource is where Multus finds the device ID that rdma-cni takes."""
    pod = pod_of(name, "fabric-worker-vf")
    networks = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(", ")
    resources = {e["metadata"]["name"]: e["spec"]["resourceName"] for e in of_kind(name, "SriovNetwork")}
    policies = {e["spec"]["resourceName"]: e["spec"] for e in of_kind(name, "SriovNetworkNodePolicy")}
    assert [policies[resources[network]]["isRdma"] for network in networks] == [True] * len(networks)
    limits = limits_of(pod)
    assert [limits[f"openshift.io/{resources[network]}"] for network in networks] == ["1"] * len(networks)


@pytest.mark.parametrize("name", ["rails", "ipv6", "lossy"])
def test_pods_have_the_settings_of_libraries_that_read_no_nccl_conf(name: str) -> None:
    """Otherwise their RDMA is in the default class, and NVSHMEM takes a rail for its sockets."""
    host = {k: v for file in ("ucx.conf", "nvshmem.env") for k, v in settings_of(name, file).items()}
    if "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME" in host:
        host["NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"] = "=eth0"
    assert host
    for pod in ("fabric-worker", "fabric-worker-dra"):
        assert environment_of(pod_of(name, pod)) == host
    functions = environment_of(pod_of(name, "fabric-worker-vf"))
    assert functions == {k: v for k, v in host.items() if k not in ("UCX_NET_DEVICES", "NVSHMEM_HCA_LIST")}


def settings_of(name: str, file: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in files(name).get(f"jobs/{file}", "").splitlines())


def environment_of(pod: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}


def verify_claims(entries: list[dict[str, Any]], ports: list[str]) -> None:
    """The pod's claims request every port once, by name, and every attribute is read only where a device has it."""
    (device_class,) = (entry for entry in entries if entry["kind"] == "DeviceClass")
    (pod,) = (entry for entry in entries if entry["kind"] == "Pod")
    templates = {e["metadata"]["name"]: e["spec"] for e in entries if e["kind"] == "ResourceClaimTemplate"}
    claims = pod["spec"]["resourceClaims"]
    assert [each["resourceClaimTemplateName"] for each in claims] == list(templates)
    assert pod["spec"]["containers"][0]["resources"]["claims"] == [{"name": each["name"]} for each in claims]
    requests = [spec["spec"]["devices"]["requests"] for spec in templates.values()]
    assert max(map(len, requests)) <= 32  # DeviceRequestsMaxSize of resource.k8s.io
    flat = [each for part in requests for each in part]
    assert [each["name"] for each in flat] == ports
    expressions = [device_class["spec"]["selectors"][0]["cel"]["expression"]]
    for port, each in zip(ports, flat, strict=True):
        assert each["exactly"]["deviceClassName"] == device_class["metadata"]["name"]
        expressions.append(each["exactly"]["selectors"][0]["cel"]["expression"])
        assert f'ifName == "{port}"' in expressions[-1]
    for expression in expressions:
        names = re.findall(r"has\(device\.attributes\[\"dra\.net\"\]\.(\w+)\) && ", expression)
        assert names
        assert set(names) == set(re.findall(r"\]\.(\w+)", expression))


@pytest.mark.parametrize("name", SPECS)
def test_dynamic_resource_allocation_claims_every_port_by_name(name: str) -> None:
    entries = list(yaml.safe_load_all(files(name)[f"{FOLDER}dra.yaml"]))
    verify_claims(entries, [port for port, _, _ in port_names(fabric(name))])


def test_claims_of_many_ports_are_as_large_as_kubernetes_allows() -> None:
    built = planned(make_document(gpus={"model": "hgx-b300-8x100", "hosts": 4, "hosts_per_unit": 4})).fabric
    assert built is not None
    ports = [port for port, _, _ in port_names(built)]
    assert len(ports) == 64
    verify_claims(list(yaml.safe_load_all(job_files(built)[f"{FOLDER}dra.yaml"])), ports)


@pytest.mark.parametrize("name", SPECS)
def test_objects_of_kueue_have_a_version_that_its_releases_serve(name: str) -> None:
    """Its 0.20 serves v1beta2 alone, which came with 0.15."""
    versions = {
        e["apiVersion"] for e in kubernetes_objects(name) if e["apiVersion"].startswith("kueue.x-k8s.io/")
    }
    assert versions == {"kueue.x-k8s.io/v1beta2"}


@pytest.mark.parametrize("name", SPECS)
def test_a_pod_takes_all_ports_in_order_each_with_its_own_table(name: str) -> None:
    ports = [port for port, _, _ in port_names(fabric(name))]
    pod = pod_of(name, "fabric-worker")
    networks = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(", ")
    assert networks == ports
    configs = {
        n["metadata"]["name"]: json.loads(n["spec"]["config"])
        for n in of_kind(name, "NetworkAttachmentDefinition")
    }
    pools = {pool["metadata"]["name"]: pool["spec"] for pool in of_kind(name, "CIDRPool")}
    for port in ports:
        plugins = configs[port]["plugins"]
        assert [plugin["type"] for plugin in plugins] == ["host-device", "tuning", "sbr"]
        assert plugins[0]["device"] == port
        assert plugins[0]["ipam"]["poolName"] in pools
        assert pools[port]["routes"]


@pytest.mark.parametrize("name", SPECS)
def test_nic_operators_have_the_priorities_of_the_fabric(name: str) -> None:
    built = fabric(name)
    qos = nic_qos(built.host(next(iter(built.host_ids()))).classes)
    (template,) = [entry["spec"]["template"] for entry in of_kind(name, "NicConfigurationTemplate")]
    raw = {entry["name"]: entry["value"] for entry in template["rawNvConfig"]}
    marked = sum(1 << priority for priority, on in enumerate(qos.ecn) if on)
    assert raw["ROCE_CC_PRIO_MASK_P1"] == str(marked)
    stated = template["roceOptimized"]["qos"]
    assert [bit == "1" for bit in stated["pfc"].split(",")] == list(qos.pfc)
    assert stated["pauseFrames"] == {"enabled": False}
    if qos.rdma_dscp is None:
        assert "tos" not in stated
        assert "cableLen" not in stated
        return
    assert stated["tos"] >> 2 == qos.rdma_dscp
    assert stated["cableLen"] == max(port.cable_m for port in built.host(next(iter(built.host_ids()))).ports)
    assert qos.cnp
    assert (raw["CNP_DSCP_P1"], raw["CNP_802P_PRIO_P1"]) == tuple(map(str, qos.cnp))
    assert ("CNP_DSCP_P2" in raw) == (built.shape.nic_ports == 2)


def test_objects_of_one_model_select_its_nodes() -> None:
    """The NIC operator clears a device that several templates match, and a pod needs the devices of its model."""
    groups = [
        {"name": "a", "model": "hgx-h100", "hosts": 2, "hosts_per_unit": 2},
        {"name": "b", "model": "dgx-h200", "hosts": 2, "hosts_per_unit": 2},
    ]
    plan = planned(
        make_document(gpus={"model": None, "hosts": None, "hosts_per_unit": None, "groups": groups})
    )
    assert plan.fabric is not None
    built = job_files(plan.fabric)
    assert "fabricc/model=hgx-h100 \\\n  su001-host01 su001-host02\n" in built[FOLDER + "label-nodes.sh"]
    templates = [
        entry["spec"]["nodeSelector"]
        for entry in yaml.safe_load_all(built[FOLDER + "nic-configuration.yaml"])
    ]
    models = ["hgx-h100", "dgx-h200"]
    assert templates == [{"fabricc/cluster": "test", "fabricc/model": model} for model in models]
    (pod,) = yaml.safe_load_all(built[FOLDER + "pod.yaml"])
    assert pod["spec"]["nodeSelector"] == templates[0]
    assert "fabricc/model" not in files("rails")[FOLDER + "label-nodes.sh"]


def node_labels(name: str) -> dict[str, dict[str, str]]:
    """Node -> its labels, as the script's commands state them."""
    found = {}
    for line in files(name)[FOLDER + "label-nodes.sh"].replace("\\\n", "").splitlines():
        words = line.split()
        if words[:1] == ["label"] and "=" in line:
            labels = [word for word in words[1:] if "=" in word]
            assert all(LABEL.fullmatch(label) for label in labels)
            for node in (word for word in words[1:] if "=" not in word):
                found[node] = dict(label.split("=") for label in labels)
    return found


def selected_nodes(below: dict[str, Any]) -> dict[str, dict[str, str]]:
    """HyperNodes of nodes, and the labels that they select these by."""
    return {
        name: member["selector"]["labelMatch"]["matchLabels"]
        for name, spec in below.items()
        for member in spec["members"]
        if member["type"] == "Node"
    }


def members_of(spec: dict[str, Any]) -> list[str]:
    """The HyperNodes below one."""
    return [
        member["selector"]["exactMatch"]["name"]
        for member in spec["members"]
        if member["type"] == "HyperNode"
    ]


@pytest.mark.parametrize("name", SPECS)
def test_nodes_are_labeled_with_their_racks_and_domains(name: str) -> None:
    """Those of the plan, under names of their own: `nvidia.com/gpu.clique` is what a driver found."""
    built, nodes = fabric(name), node_labels(name)
    for at in built.host_ids():
        host = built.host(at)
        found = {key: value for key, value in nodes[host.name].items() if key != "fabricc/cluster"}
        own = {"fabricc/rack": host.rack, "fabricc/nvlink-domain": host.domain}
        planned = {key: value for key, value in own.items() if value}
        assert {key: value for key, value in found.items() if key.startswith("fabricc/")} == planned
        assert not any(key.startswith("nvidia.com") for key in found)


@pytest.mark.parametrize("name", SPECS)
def test_labels_kueue_and_volcano_agree_on_the_topology(name: str) -> None:
    built, nodes = fabric(name), node_labels(name)
    assert list(nodes) == [host for unit in built.units.values() for host in unit.hosts.values()]
    (topology,) = of_kind(name, "Topology")
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert levels[-1] == "kubernetes.io/hostname"
    assert all(level in labels for labels in nodes.values() for level in levels[:-1])
    hosts = [built.host(at) for at in built.host_ids()]
    domains = [levels.pop(-2)] if all(host.domain for host in hosts) else []
    assert domains in ([], ["fabricc/nvlink-domain"])
    assert len(levels) == 1 + len(built.tiers)
    below = {h["metadata"]["name"]: h["spec"] for h in of_kind(name, "HyperNode")}
    for host in hosts:
        chosen = [
            at for at, wanted in selected_nodes(below).items() if wanted.items() <= nodes[host.name].items()
        ]
        unit = built.units[host.unit].name
        parted = len({each.domain for each in hosts if each.unit == host.unit}) > 1
        assert chosen == [f"{unit}-{host.domain}" if parted else unit]
        above = [at for at, spec in below.items() if chosen[0] in members_of(spec)]
        assert len(above) == 1
        assert below[above[0]]["tier"] > below[chosen[0]]["tier"]
        assert not parted or above == [unit]
    children = [child for spec in below.values() for child in members_of(spec)]
    assert sorted(children) == sorted(set(below) - {f"{built.cluster}-fabric"})


@pytest.mark.parametrize("name", SPECS)
def test_topograph_reads_its_labels_before_and_after_their_change(name: str) -> None:
    for labels in node_labels(name).values():
        old = [
            labels[f"network.topology.nvidia.com/{tier}"]
            for tier in ("leaf", "spine", "core")[: len(fabric(name).tiers)]
        ]
        new = [labels[key] for key in sorted(labels) if key.startswith("fabric.topograph.run/tier-")]
        assert old == new


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_takes_the_labels(tmp_path: Path) -> None:
    node, labels = next(iter(node_labels("pods").items()))
    (tmp_path / "node.yaml").write_text(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {node}}}\n")
    call = ["kubectl", "label", "--local", "-o", "json", "-f", str(tmp_path / "node.yaml"), "--overwrite"]
    done = subprocess.run(
        [*call, *(f"{k}={v}" for k, v in labels.items())], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metadata"]["labels"] == labels


def test_nic_operator_template_enables_packet_spreading() -> None:
    built = replace(fabric("rails"), load_balancing=LoadBalancing(Spreading.PACKET))
    (template,) = yaml.safe_load_all(job_files(built)["jobs/kubernetes/nic-configuration.yaml"])
    reported = {"name": "ROCE_ADAPTIVE_ROUTING_EN", "value": "1"}
    assert reported in template["spec"]["template"]["rawNvConfig"]
    hashed = of_kind("rails", "NicConfigurationTemplate")[0]["spec"]["template"]
    assert reported not in hashed["rawNvConfig"]
