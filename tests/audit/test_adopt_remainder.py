"""`adopt` of fabrics that fit no spec: nothing crashes, and what is left out is counted and listed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.adopt import report, run
from fabricc.audit.adopt.adoption import describe_growth
from fabricc.audit.adopt.choices import refused_parts
from fabricc.audit.adopt.trial import Draft
from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.compiler.compiled import compile_spec
from tests.audit import corpora
from tests.audit.fabrics import collect_devices
from tests.audit.test_adopt import SPINE

if TYPE_CHECKING:
    from pathlib import Path

NO_HOSTS = """hostname leaf{n}
interface Ethernet31/1
   no switchport
   ip address 100.64.0.{low}/31
interface Loopback0
   ip address 10.200.0.{n}/32
router bgp 6510{n}
   neighbor 100.64.0.{high} remote-as 65100
"""
BUNDLE = """hostname leaf{n}
username admin secret sha512 $6$aaaa
vlan 20
interface Port-Channel5
   switchport mode trunk
   switchport trunk allowed vlan 20
interface Ethernet1/1
   channel-group 5 mode active
interface Ethernet31/1
   description to spine1 Ethernet{n}/1
   no switchport
   ip address 100.64.0.{low}/31
interface Loopback0
   ip address 10.200.0.{n}/32
banner motd
Authorized use only.
EOF
logging buffered 10000
router bgp 6510{n}
   router-id 10.200.0.{n}
   neighbor 100.64.0.{high} remote-as 65100
   vlan 20
      rd 10.200.0.{n}:20
      route-target both 20:20
   vrf Tenant_A
      rd 10.200.0.{n}:30
interface Vxlan1
   vxlan source-interface Loopback0
   vxlan vlan 20 vni 20
   vxlan vrf Tenant_A vni 30
interface Vlan20
   vrf Tenant_A
   ip address virtual 10.20.0.1/24
"""


def folder_of(where: Path, leaf: str) -> Path:
    """Two leaves and a spine."""
    where.mkdir()
    for n in (1, 2):
        (where / f"leaf{n}.cfg").write_text(leaf.format(n=n, low=2 * n + 1, high=2 * n))
    port = "interface Ethernet{n}/1\n   no switchport\n   ip address 100.64.0.{low}/31\n"
    ports = "".join(port.format(n=n, low=2 * n) for n in (1, 2))
    sessions = "".join(f"   neighbor 100.64.0.{2 * n + 1} remote-as 6510{n}\n" for n in (1, 2))
    (where / "spine1.cfg").write_text(SPINE.format(s=1, ports=ports, sessions=sessions))
    return where


def test_tors_without_a_port_for_hosts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FindingsError) as refused:
        run.adopt(folder_of(tmp_path / "in", NO_HOSTS), jobs=1)
    assert refused.value.diagnostics[0].code == "FAB9700"
    assert "leaf1 and 1 other ToR" in refused.value.diagnostics[0].message


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> run.Adoption:
    return run.adopt(folder_of(tmp_path_factory.mktemp("adopt") / "in", BUNDLE), jobs=1)


@pytest.mark.slow
def test_members_of_bundles_are_ports_of_hosts(bundled: run.Adoption) -> None:
    assert any("2 are taken from the open ports of ToRs" in words for words in bundled.adopted.assumed)


@pytest.mark.slow
def test_names_that_no_spec_takes_are_left_out_of_it_and_the_rest_is_adopted(
    bundled: run.Adoption, tmp_path: Path
) -> None:
    assert bundled.adopted.usable
    assert any(words.startswith("`evpn` cannot be") for words in bundled.adopted.assumed)
    run.write_adoption(bundled, tmp_path / "out", {})
    assert compile_spec(tmp_path / "out" / "cluster.yaml").sound


@pytest.mark.slow
def test_each_line_that_a_build_does_not_write_is_listed(bundled: run.Adoption) -> None:
    lost = {each.text for each in bundled.adopted.lost["leaf1"]}
    assert {"Authorized use only.", "logging buffered 10000"} <= lost
    text, document = report.as_text(bundled), json.loads(str(report.as_json(bundled)))
    assert "`logging buffered 10000` (leaf1:" in text
    assert {"file", "line", "text"} == document["lost"]["leaf2"][0].keys()
    assert "lines without a fact" in report.summary_line(bundled)
    assert {"FAB9706"} <= {each.code for each in bundled.findings}


@pytest.mark.slow
def test_lines_with_secrets_are_counted_and_not_shown(bundled: run.Adoption) -> None:
    assert "(a line with a secret)" in [each.text for each in bundled.adopted.lost["leaf1"]]
    assert "sha512" not in report.as_text(bundled)
    assert "sha512" not in str(report.as_json(bundled))


@pytest.mark.slow
def test_a_device_whose_name_no_spec_takes_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", BUNDLE)
    text = (folder / "leaf2.cfg").read_text().replace("hostname leaf2", "hostname Leaf_2")
    (folder / "leaf2.cfg").write_text(text)
    adoption = run.adopt(folder, jobs=1)
    assert adoption.adopted.left == ("Leaf_2",)
    assert "leaves out 1 device" in report.summary_line(adoption)


def test_a_spec_that_cannot_be_built_is_a_draft_and_adopts_nothing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", BUNDLE)
    (folder / "spine1.cfg").unlink()
    adoption = run.adopt(folder, jobs=1)
    assert not adoption.adopted.usable
    assert {*adoption.adopted.left} == {"leaf1", "leaf2"}
    assert "cluster.yaml" not in adoption.files
    assert "cluster.draft.yaml" in adoption.files
    assert "2 devices not adopted" in report.summary_line(adoption)


def test_refused_parts_are_found_in_flow_and_block_style() -> None:
    text = (
        "cluster: a\naddressing: {hosts: 10.0.0.0/8, links: 0.0.0.0/0}\nevpn:\n  vrfs:\n    A: {vlan: -1}\n"
        "gpus: {hosts: 2}\n"
    )
    places = [(2, 42), (5, 8), (6, 14)]
    found = [Diagnostic("FAB1005", Severity.ERROR, "", Position("cluster.yaml", *each)) for each in places]
    assert refused_parts(text, "", found) == {("addressing", "links"): "FAB1005", ("evpn",): "FAB1005"}
    nested = "networks:\n  storage:\n    management: {network: 0.0.0.0/0}\n"
    at = [Diagnostic("FAB2034", Severity.ERROR, "", Position("cluster.yaml", 3, 18))]
    assert refused_parts(nested, "storage", at) == {("management", "network"): "FAB2034"}


FOLDERS = sorted(
    f"{nos.name}/{source.name}/{fabric.name}"
    for nos in (corpora.ROOT.iterdir() if corpora.ROOT.is_dir() else ())
    if nos.is_dir() and nos.name not in ("licences",)
    for source in nos.iterdir()
    for fabric in source.iterdir()
    if fabric.is_dir()
)
QUICK = {
    "frr/frr-topotests/bgp_gr_restart_time_reload", "nxos/batfish-lab-validation/nxos_n9kv_ebgp",
    "frr/ddutt-cndcn/dual-attach-ospf-numbered", "junos/batfish-networks/grammar-juniper-testrigs-isis-redist",
    "sonic/metal-stack-mini-lab/mini-lab",
}  # fmt: skip


@pytest.mark.skipif(not FOLDERS, reason="the shared corpora are not here")
@pytest.mark.parametrize(
    "folder", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in FOLDERS]
)
def test_no_folder_of_others_is_adopted_by_halves(folder: str, tmp_path: Path) -> None:
    """Nothing crashes, a written spec compiles, and every device is in the spec or named as left out."""
    try:
        adoption = run.adopt(corpora.ROOT / folder, jobs=1)
    except FindingsError as refused:
        if {each.code for each in refused.diagnostics} <= {"FAB9700", "FAB9500"}:
            return
        raise
    adopted, found = adoption.adopted, adoption.found
    assert {*adopted.left} | adopted.differences.keys() == found.devices.keys()
    assert adopted.usable == ("cluster.yaml" in adoption.files)
    if adopted.left:
        assert f"{len(adopted.left):,} device" in report.summary_line(adoption)
    if adopted.usable:
        run.write_adoption(adoption, tmp_path / "out", {})
        assert compile_spec(tmp_path / "out" / "cluster.yaml").sound


@pytest.mark.parametrize(
    ("devices", "line", "listed"),
    [
        (["spine1"], "neighbor 10.0.0.1 peer group UNDERLAY", True),
        (["spine1"], "banner motd", False),
        (None, "neighbor * send-community", False),
    ],
)
def test_overlays_with_sessions_of_single_devices_are_listed_for_growth(
    devices: list[str] | None, line: str, listed: bool
) -> None:
    """A new neighbor of such a device gets none of these lines."""
    entry = {"file": "overlays/eos-spine1/running-config.cfg", "nos": "eos"}
    entry |= {"devices": devices} if devices else {}
    draft = Draft({"overlays": [entry]}, more={entry["file"]: f"router bgp *\n   {line}\n"})
    assert [entry["file"] in words for words in describe_growth(draft)] == [True] * listed


JUNOS = """
cluster: zone
gpus: {model: grand-teton, racks: 2, hosts_per_rack: 2, wiring: rack}
tors: {model: qfx5240-64od, nos: junos, uplinks: 2}
spines: {model: qfx5240-64od, nos: junos, count: 2}
priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}, default: {}}
cables: {host: {medium: smf, length_m: 7}, spine: {medium: smf, length_m: 35}}
accept: [{code: FAB5510, reason: the fabric runs so}, {code: FAB5513, reason: the fabric runs so}]
"""
POLICY = """\
policy-options {
    policy-statement OURS {
        term OURS-10 {
            from {
                protocol bgp;
                community FROM_SPINES;
            }
            then reject;
        }
    }
    community FROM_SPINES members 0:14;
"""
SERVICE = """\
    services {
        extension-service {
            request-response {
                grpc {
                    ssl {
                        local-certificate aos;
                    }
                }
            }
        }
"""
STANZA = re.compile(
    r"(?ms)^(class-of-service \{.*?^    interfaces \{\n)        et-\S+ (\{.*?^            unit) \d+ "
    r"(\{.*?^        \}\n).*?^    \}\n"
)


@pytest.mark.slow
def test_stanzas_with_stars_and_names_in_upper_case_are_kept(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(JUNOS)
    for name, device in collect_devices(compile_spec(spec), hosts=False).items():
        (text,) = device.files.values()
        text, stanzas = STANZA.subn(r"\1        et-* \2 * \3    }\n", text)
        assert stanzas == 1
        text = text.replace(f"host-name {name};", f"host-name {name.upper()};")
        text = text.replace("policy-options {\n", POLICY).replace("    services {\n", SERVICE)
        (tmp_path / "running").mkdir(exist_ok=True)
        (tmp_path / "running" / f"{name}.conf").write_text(text)
    adoption = run.adopt(tmp_path / "running", jobs=1)
    assert adoption.adopted.left == ()
    assert {name: wrong for name, wrong in adoption.adopted.differences.items() if wrong} == {}
    overlays = "".join(text for name, text in adoption.files.items() if name.startswith("overlays/"))
    assert "et-\\* {" in overlays
    assert "host-name RACK001-TOR1A;" in overlays
    assert "community FROM_SPINES;" in overlays
