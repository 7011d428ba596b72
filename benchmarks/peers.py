"""Peers compile the same leaf-spine fabric, each installed in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Figures, repeated
from benchmarks.specs import KEY, Fabric

if TYPE_CHECKING:
    from pathlib import Path

PEERS = {"pyavd": "pyavd==6.4.0", "netlab": "networklab==26.10"}
GPUS, TORS, SPINES = 4096, 64, 32
NETLAB_TORS, NETLAB_SPINES = 16, 8  # netlab takes time with the square of the number of links
HOST_PORTS = 64
PROFILE = "ROCE"
QUEUES = {26: 3, 48: 6}  # DSCP -> traffic class

# The documented programmatic use (avd.arista.com, "pyavd"), at its best: the whole fabric is validated and loaded once.
AVD = """
import json, sys, time
import pyavd
from pyavd.api.schemas import AVDDesign
begin = time.process_time()
fabric = {}
for name, stated in json.load(open(sys.argv[1])).items():
    checked = pyavd.validate_inputs(stated)
    if checked.validated_data is None:
        sys.exit(f"{name}: {[v.message for v in checked.validation_result.violations]}")
    fabric[name] = AVDDesign._from_dict(checked.validated_data)
facts = pyavd.get_avd_facts(fabric)
for name, design in fabric.items():
    structured = pyavd.get_device_structured_config(name, design, facts)
    with open(f"{sys.argv[2]}/{name}.cfg", "w") as file:
        file.write(pyavd.get_device_config(structured))
print(time.process_time() - begin)
"""

# The same of fabricc: a spec read, validated and planned, its switches rendered and written; no hosts, no tables.
OURS = """
import pathlib, sys, time
import jinja2
import fabricc.build.accept, fabricc.catalog.load, fabricc.hosts.back_end, fabricc.nos.eos
import fabricc.planning, fabricc.spec.load
from fabricc import nos
from fabricc.build.front import run_front
begin = time.process_time()
fabric = run_front(pathlib.Path(sys.argv[1])).fabric
for place in fabric.switch_ids():
    switch = fabric.switch(place)
    for text in nos.load(switch.nos).render(switch).values():
        pathlib.Path(sys.argv[2], switch.name + ".cfg").write_text(text)
print(time.process_time() - begin)
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A peer and fabricc at the same work, each a process of its own.

    Attributes:
        switches: how many were compiled; `features`: what the peer's configurations have.
        theirs_s, ours_s: CPU seconds from reading the input to the last file, imports left out.
    """

    peer: str
    switches: int
    features: str
    theirs_s: float
    ours_s: float
    theirs: Figures
    ours: Figures

    @property
    def ratio(self) -> float:
        """How much more CPU the peer takes."""
        return self.theirs_s / self.ours_s


def installed(name: str, scratch: Path) -> Path:
    """The `bin` folder of the peer's virtual environment, made at the first call."""
    folder = scratch / f"venv-{name}"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(folder / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check", PEERS[name]]
        subprocess.run(pip, check=True)
        (folder / "ready").touch()
    return folder / "bin"


def against_pyavd(scratch: Path, runs: int) -> Comparison:
    """The switches of 4,096 GPUs: eBGP with BFD on every link between them, PFC, ECN and QoS on every port."""
    folder = scratch / "peer-pyavd"
    (folder / "theirs").mkdir(parents=True, exist_ok=True)
    (folder / "inputs.json").write_text(json.dumps(_avd_inputs()), encoding="utf-8")
    (folder / "avd.py").write_text(AVD, encoding="utf-8")
    python = installed("pyavd", scratch) / "python"
    theirs, theirs_s = _timed([str(python), "avd.py", "inputs.json", "theirs"], folder, runs)
    ours, ours_s = _ours(folder, runs, Fabric(GPUS))
    features = "eBGP, BFD, PFC, ECN, QoS on every port"
    return Comparison("pyavd 6.4.0", TORS + SPINES, features, theirs_s, ours_s, theirs, ours)


def against_netlab(scratch: Path, runs: int) -> Comparison:
    """The switches of 1,024 GPUs, netlab without QoS, which it has not, and without text: only its data model."""
    folder = scratch / "peer-netlab"
    (folder / "theirs").mkdir(parents=True, exist_ok=True)
    names = [*(f"l{n}" for n in range(1, NETLAB_TORS + 1)), *(f"s{n}" for n in range(1, NETLAB_SPINES + 1))]
    parallel = HOST_PORTS // 2 // NETLAB_SPINES
    topology: dict[str, Any] = {
        "defaults": {"device": "eos", "const": {"MAX_NODE_ID": 10_000}},
        "provider": "clab",
        "module": ["bgp"],
        "nodes": {
            name: {"bgp": {"as": 65000 + index if name[0] == "l" else 64999}}
            for index, name in enumerate(names, 1)
        },
        "links": [
            f"l{tor}-s{spine}"
            for tor in range(1, NETLAB_TORS + 1)
            for spine in range(1, NETLAB_SPINES + 1)
            for _ in range(parallel)
        ],
    }
    (folder / "topology.yml").write_text(json.dumps(topology), encoding="utf-8")
    netlab = installed("netlab", scratch) / "netlab"
    theirs = repeated([str(netlab), "create", "-o", "pickle", "topology.yml"], folder, runs)
    ours, ours_s = _ours(folder, runs, Fabric(1024))
    return Comparison("netlab 26.10", len(names), "eBGP, data model only", theirs.cpu_s, ours_s, theirs, ours)


def _ours(folder: Path, runs: int, fabric: Fabric) -> tuple[Figures, float]:
    (folder / "ours").mkdir(exist_ok=True)
    (folder / "cluster.yaml").write_text(fabric.spec(), encoding="utf-8")
    (folder / "ours.py").write_text(OURS, encoding="utf-8")
    return _timed([sys.executable, "ours.py", "cluster.yaml", "ours"], folder, runs)


def _timed(command: list[str], folder: Path, runs: int) -> tuple[Figures, float]:
    """Figures of the whole process, and the CPU seconds that the script itself printed last, the least of the runs."""
    seconds, figures = [], []
    for _ in range(runs):
        figures.append(repeated(command, folder, 1))
        seconds.append(float((folder / "out.log").read_text().split()[-1]))
    return Figures.of(figures), min(seconds)


def _avd_inputs() -> dict[str, Any]:
    """Inputs of AVD's `eos_designs` for every switch: an l3leaf or a spine each, with the fabric's QoS on each port."""
    uplinks = HOST_PORTS // 2
    per_spine = uplinks // SPINES
    switch_of = [f"s{1 + index // per_spine}" for index in range(uplinks)]

    def leaf(number: int) -> dict[str, Any]:
        first = (number - 1) * per_spine
        return {
            "name": f"l{number}",
            "id": number,
            "bgp_as": 65000 + number,
            "mgmt_ip": f"172.16.0.{number}/16",
            "uplink_switches": switch_of,
            "uplink_interfaces": [f"Ethernet{33 + index}/1" for index in range(uplinks)],
            "uplink_switch_interfaces": [
                f"Ethernet{1 + first + index % per_spine}/1" for index in range(uplinks)
            ],
        }

    ports = [
        {
            "name": f"Ethernet{1 + index // 2}/{1 + 4 * (index % 2)}",
            "description": f"gpu{index}",
            "mtu": 9100,
            "switchport": {"enabled": False},
            "service_profile": PROFILE,
            "ip_address": f"10.0.0.{2 * index}/31",
            "shutdown": False,
        }
        for index in range(HOST_PORTS)
    ]
    everywhere = {
        "fabric_name": "bench",
        "type": "l3leaf",
        "underlay_routing_protocol": "ebgp",
        "overlay_routing_protocol": "none",
        "p2p_uplinks_mtu": 9100,
        "aaa_settings": {
            "local_users": [
                {
                    "name": "netops",
                    "privilege": 15,
                    "role": "network-admin",
                    "no_password": True,
                    "ssh_key": KEY,
                }
            ]
        },
        "bgp_peer_groups": {"ipv4_underlay_peers": {"bfd": True}},
        "spine": {
            "defaults": {"platform": "7060X6", "loopback_ipv4_pool": "10.128.0.0/24", "bgp_as": "64999"},
            "nodes": [
                {"name": f"s{n}", "id": n, "mgmt_ip": f"172.16.1.{n}/16"} for n in range(1, SPINES + 1)
            ],
        },
        "l3leaf": {
            "defaults": {
                "platform": "7060X6",
                "loopback_ipv4_pool": "10.129.0.0/24",
                "vtep": False,
                "uplink_ipv4_pool": "10.64.0.0/16",
                "max_uplink_switches": SPINES,
                "max_parallel_uplinks": per_spine,
                "uplink_ethernet_structured_config": {"service_profile": PROFILE},
                "uplink_switch_ethernet_structured_config": {"service_profile": PROFILE},
            },
            "nodes": [leaf(number) for number in range(1, TORS + 1)],
        },
        "custom_structured_configuration_qos_profiles": [_qos_profile()],
        "custom_structured_configuration_qos": _qos_map(),
        "custom_structured_configuration_priority_flow_control": {
            "watchdog": {"action": "drop", "timeout": "0.20", "recovery_time": "0.40"}
        },
    }
    hosts = {"custom_structured_configuration_ethernet_interfaces": ports}
    leaves = {f"l{n}": everywhere | hosts for n in range(1, TORS + 1)}
    return leaves | {f"s{n}": everywhere | {"type": "spine"} for n in range(1, SPINES + 1)}


def _qos_map() -> dict[str, Any]:
    return {"map": {"dscp": [f"{dscp} to traffic-class {queue}" for dscp, queue in QUEUES.items()]}}


def _qos_profile() -> dict[str, Any]:
    threshold = {"units": "bytes", "min": 512_000, "max": 2_048_000, "max_probability": 20, "weight": 0}
    return {
        "name": PROFILE,
        "trust": "dscp",
        "priority_flow_control": {"enabled": True, "priorities": [{"priority": 3, "no_drop": True}]},
        "uc_tx_queues": [
            {"id": 0, "priority": "no priority", "bandwidth_percent": 10},
            {"id": 3, "priority": "no priority", "bandwidth_guaranteed_percent": 90,
             "random_detect": {"ecn": {"threshold": threshold}}},
            {"id": 6, "priority": "priority strict"},
        ],
    }  # fmt: skip
