"""Facts of hosts that no source settles are findings that name a key, and `plan` lists them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import planned, read, render
from fabricc.back.jobs.files import job_files
from fabricc.back.jobs.kubernetes import has_nic_template
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import CARD_MODE
from fabricc.cli.entry import run
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.plan.host_facts import host_facts
from fabricc.paperwork.materials import list_materials

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled

TIERS = "tors: {model: sn5600, nos: sonic}\nspines: {model: sn5600, nos: sonic, count: 2}\n"
CLASSES = "priorities: {rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}}\n"
FRONT_END = (
    "networks:\n  frontend: {hosts_per_unit: 4, tors: {model: sn5600, nos: sonic},"
    " spines: {model: sn5600, nos: sonic, count: 2}}\n"
)


def compiled(tmp_path: Path, gpus: str, rest: str = CLASSES, tiers: str = TIERS) -> Compiled:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"cluster: test\ngpus: {{hosts: 4, hosts_per_unit: 4, {gpus}}}\n{tiers}{rest}")
    return compile_spec(path)


def found(spec: Compiled, code: str) -> list[str]:
    return [each.message for each in spec.diagnostics if each.code == code]


def socket_line(spec: Compiled) -> str:
    lines = job_files(spec.fabric)["jobs/nccl.conf"].splitlines()
    return next(line for line in lines if line.startswith("NCCL_SOCKET_IFNAME="))


@pytest.mark.parametrize("model", ["hgx-8gpu", "dgx-h100", "mi355x-pollara", "gb200-nvl72"])
def test_an_interface_that_no_source_confirms_is_a_finding(tmp_path: Path, model: str) -> None:
    spec = compiled(tmp_path, f"model: {model}")
    (message,) = found(spec, "FAB5620")
    assert socket_line(spec).removeprefix("NCCL_SOCKET_IFNAME==") in message
    (remedy,) = [each.help for each in spec.diagnostics if each.code == "FAB5620"]
    assert "`socket_interface`" in remedy
    assert [fact.key for fact in host_facts(spec.fabric, spec.spec) if fact.fact == "socket_interface"] == [
        "gpus.socket_interface"
    ]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (("hgx-8gpu", "hgx-8gpu"), "sockets on eno1, a name"),
        (("hgx-8gpu", "hgx-h200"), "(and 1 more): jobs open their sockets on eno1, a name"),
        (("hgx-8gpu", "dgx-h100"), "(and 1 more): jobs open their sockets on eno1, eno3, which no source"),
    ],
)
def test_one_finding_is_enough_for_a_spec(tmp_path: Path, models: tuple[str, ...], words: str) -> None:
    groups = ", ".join(
        f"{{name: g{n}, model: {m}, hosts: 4, hosts_per_unit: 4}}" for n, m in enumerate(models)
    )
    path = tmp_path / "cluster.yaml"
    path.write_text(f"cluster: test\ngpus: {{groups: [{groups}]}}\n{TIERS}{CLASSES}")
    (message,) = found(compile_spec(path), "FAB5620")
    assert words in message
    path.write_text(path.read_text().replace("gpus: {", "gpus: {socket_interface: bond0, "))
    assert not found(compile_spec(path), "FAB5620")


def test_hosts_without_jobs_open_no_sockets(tmp_path: Path) -> None:
    """Hosts without GPUs have no files for jobs, so their interface is no question."""
    groups = "{name: store, model: storage-2x400, hosts: 4, hosts_per_unit: 4}"
    path = tmp_path / "cluster.yaml"
    path.write_text(f"cluster: test\ngpus: {{groups: [{groups}]}}\n{TIERS}{CLASSES}")
    compiled = compile_spec(path)
    assert compiled.planned is not None
    assert not job_files(compiled.fabric)
    assert not found(compiled, "FAB5620")


def test_the_spec_names_the_interface(tmp_path: Path) -> None:
    spec = compiled(tmp_path, "model: dgx-h100, socket_interface: bond0")
    assert (socket_line(spec), found(spec, "FAB5620")) == ("NCCL_SOCKET_IFNAME==bond0", [])
    assert "socket_interface" not in {fact.fact for fact in host_facts(spec.fabric, spec.spec)}


def test_sockets_on_a_rail_are_reported(tmp_path: Path) -> None:
    """Sockets that bind no source address find no route by a rail; a port of the front end has routes."""
    (message,) = found(compiled(tmp_path, "model: dgx-h100, socket_interface: rail3"), "FAB5629")
    assert "on rail3, a rail" in message
    for rest in (CLASSES, CLASSES + FRONT_END):
        assert not found(compiled(tmp_path, "model: dgx-h100, socket_interface: bond0", rest), "FAB5629")
    assert not found(compiled(tmp_path, "model: dgx-h100", CLASSES + FRONT_END), "FAB5629")


def test_a_group_names_its_own_interface(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    group = "{name: %s, model: dgx-h100, hosts: 4, hosts_per_unit: 4%s}"
    groups = ", ".join([group % ("a", ""), group % ("b", ", socket_interface: ens1")])
    path.write_text(f"cluster: test\ngpus: {{socket_interface: bond0, groups: [{groups}]}}\n{TIERS}{CLASSES}")
    hosts = {host.unit: host.socket_interface for host in compile_spec(path).hosts()}
    assert hosts == {0: "bond0", 1: "ens1"}


def test_sockets_use_the_front_end_that_the_spec_has(tmp_path: Path) -> None:
    spec = compiled(tmp_path, "model: dgx-h100", CLASSES + FRONT_END)
    (front_end,) = spec.fabric.networks
    host = next(spec.hosts())
    port = front_end.host(front_end.guests[host.name]).ports[0].name
    assert (socket_line(spec), found(spec, "FAB5620")) == (f"NCCL_SOCKET_IFNAME=={port}", [])


def test_the_key_of_the_spec_goes_before_the_front_end(tmp_path: Path) -> None:
    spec = compiled(tmp_path, "model: dgx-h100, socket_interface: bond0", CLASSES + FRONT_END)
    assert socket_line(spec) == "NCCL_SOCKET_IFNAME==bond0"


def test_infiniband_hosts_name_their_interface_too(tmp_path: Path) -> None:
    tiers = "fabric: infiniband\ntors: {model: qm9700}\nspines: {model: qm9700, count: 2}\n"
    assert found(compiled(tmp_path, "model: dgx-h100", "", tiers), "FAB5620")
    assert not found(compiled(tmp_path, "model: dgx-h100, socket_interface: bond0", "", tiers), "FAB5620")


@pytest.mark.parametrize("key", ["", ", os: rhel-9"])
def test_plan_lists_what_is_assumed_about_hosts(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = compiled(tmp_path, f"model: hgx-8gpu{key}")
    run(["plan", str(spec.path), "--format", "json"])
    facts = {each["fact"]: each for each in json.loads(capsys.readouterr().out)["host_facts"]}
    assert facts["socket_interface"]["value"] == "eno1"
    assert facts["nic"]["key"] == "hosts.hgx-8gpu.nic"
    run(["plan", str(spec.path)])
    assert "gpus.socket_interface" in capsys.readouterr().out


@pytest.mark.parametrize("model", ["rtx-pro-8gpu", "rtx-pro-8gpu-cx8"])
def test_rail_only_wiring_needs_gpu_links(tmp_path: Path, model: str) -> None:
    spec = compiled(
        tmp_path, f"model: {model}, wiring: rail-only", CLASSES, "tors: {model: sn5600, nos: sonic}\n"
    )
    assert "no path" in found(spec, "FAB5621")[0]
    lines = job_files(spec.fabric)["jobs/nccl.conf"].splitlines()
    assert "NCCL_NET_DISABLE_INTRA=1" in lines
    assert "NCCL_PXN_DISABLE=0" not in lines
    assert not found(compiled(tmp_path, f"model: {model}"), "FAB5621")


@pytest.mark.parametrize("model", ["dgx-h100", "gb200-nvl72", "hgx-b300"])
def test_rail_only_wiring_with_gpu_links_has_no_finding(tmp_path: Path, model: str) -> None:
    spec = compiled(
        tmp_path, f"model: {model}, wiring: rail-only", CLASSES, "tors: {model: sn5600, nos: sonic}\n"
    )
    assert found(spec, "FAB5621") == []


def test_user_host_model_must_state_its_gpu_interconnect(tmp_path: Path) -> None:
    own = (
        "sources: {}\nhosts:\n  own:\n    title: Own\n    vendor: own\n"
        + "".join(
            f"    {key}: {{value: {value}, source: own sheet}}\n"
            for key, value in (
                ("gpus", 8), ("rails", 8), ("nic", "connectx-7"), ("ports_per_nic", 1), ("port_gbps", 400),
                ("management_interface", "eno1"),
            )
        )
    )  # fmt: skip
    (tmp_path / "own.yaml").write_text(own)
    tiers = "catalog: [own.yaml]\ntors: {model: sn5600, nos: sonic}\n"
    spec = compiled(tmp_path, "model: own, wiring: rail-only", CLASSES, tiers)
    assert "assumed" in found(spec, "FAB5621")[0]
    (tmp_path / "own.yaml").write_text(own + "    gpu_interconnect: {value: all, source: own sheet}\n")
    assert found(compiled(tmp_path, "model: own, wiring: rail-only", CLASSES, tiers), "FAB5621") == []


def test_every_host_model_states_its_gpu_interconnect() -> None:
    catalog, _ = load_catalog([], [], None)
    output = {name: model.gpu_interconnect for name, model in catalog.hosts.items() if model.gpus}
    assert {name for name, value in output.items() if value != "all"} == {"rtx-pro-8gpu", "rtx-pro-8gpu-cx8"}


@pytest.mark.parametrize(
    ("classes", "wrong"),
    [
        ("rdma: {dscp: 26, lossless: true}, cnp: {dscp: 48, strict: true}", ""),
        ("rdma: {dscp: 59, priority: 3, lossless: true}, cnp: {dscp: 48, strict: true}", "rdma"),
        ("rdma: {dscp: 26, lossless: true}, cnp: {dscp: 46, priority: 6, strict: true}", "cnp"),
        ("rdma: {dscp: 26, lossless: true}, storage: {dscp: 34, priority: 5}", "storage"),
    ],
)
def test_the_nic_operator_gets_no_file_that_it_cannot_honor(tmp_path: Path, classes: str, wrong: str) -> None:
    spec = compiled(tmp_path, "model: dgx-h100", f"priorities: {{{classes}}}\n")
    assert ("jobs/kubernetes/nic-configuration.yaml" in job_files(spec.fabric)) == (not wrong)
    assert [wrong in message for message in found(spec, "FAB5622")] == [True] * bool(wrong)


@pytest.mark.parametrize(
    ("model", "tors", "generation"),
    [("dgx-a100", "qm8700", ""), ("dgx-h100", "qm9700", "NDR"), ("dgx-b300", "q3400", "XDR")],
    ids=["hdr", "ndr", "xdr"],
)
def test_the_subnet_manager_of_fast_switches_is_a_finding(
    tmp_path: Path, model: str, tors: str, generation: str
) -> None:
    tiers = f"fabric: infiniband\ntors: {{model: {tors}}}\nspines: {{model: {tors}, count: 2}}\n"
    spec = compiled(tmp_path, f"model: {model}", "", tiers)
    assert [f"runs {generation} links" in each for each in found(spec, "FAB5623")] == [True] * bool(
        generation
    )
    assert spec.infiniband is not None


def test_rejected_routing_engine_adds_no_finding_about_code_points(tmp_path: Path) -> None:
    tiers = "fabric: infiniband\ntors: {model: qm9700}\nspines: {model: qm9700, count: 2}\n"
    spec = compiled(
        tmp_path, "model: dgx-h100", "infiniband: {routing: ar_updn}\npriorities: {rdma: {}}\n", tiers
    )
    assert {each.code for each in spec.diagnostics} == {"FAB1004"}


@pytest.mark.parametrize(
    "model", ["dgx-h100", "dgx-h200", "dgx-b200", "dgx-b300-2x400", "hgx-8gpu", "hgx-2x200", "gb200-nvl72"]
)
@pytest.mark.parametrize("tor", ["sn5600", "sn5400", "7060x6-64pe"])
def test_default_host_cables_can_be_bought(tmp_path: Path, model: str, tor: str) -> None:
    nos = "sonic" if tor != "7060x6-64pe" else "eos"
    tiers = f"tors: {{model: {tor}, nos: {nos}}}\nspines: {{model: {tor}, nos: {nos}, count: 2}}\n"
    spec = compiled(tmp_path, f"model: {model}", CLASSES, tiers)
    if not spec.sound:
        pytest.skip(f"{model} does not fit {tor}")
    lacking = [lack.kind for lack in list_materials(spec.fabric).lacking]
    assert "host" not in lacking
    assert spec.spec.assumptions["cables.host.medium"] == spec.fabric.cable_kinds["host"].medium


def test_the_medium_that_the_spec_names_is_kept(tmp_path: Path) -> None:
    spec = compiled(tmp_path, "model: dgx-h100", CLASSES + "cables: {host: {medium: aec, length_m: 5}}\n")
    assert spec.fabric.cable_kinds["host"].medium == "aec"


def test_infiniband_host_cables_can_be_bought(tmp_path: Path) -> None:
    tiers = "fabric: infiniband\ntors: {model: qm9700}\nspines: {model: qm9700, count: 2}\n"
    spec = compiled(tmp_path, "model: dgx-h100", "", tiers)
    assert spec.infiniband is not None
    assert "host" not in [lack.kind for lack in list_materials(spec.infiniband.wiring, "infiniband").lacking]


@pytest.mark.parametrize("model", ["ucs-c885a-m8", "rtx-pro-8gpu"])
def test_the_mode_of_a_bluefield_is_stated_or_reported(tmp_path: Path, model: str) -> None:
    spec = compiled(tmp_path, f"model: {model}, nic: bluefield-3")
    (message,) = found(spec, "FAB5624")
    assert "assumed to be in NIC mode" in message
    assert "nic_mode" in {fact.fact for fact in host_facts(spec.fabric, spec.spec)}
    spec = compiled(tmp_path, f"model: {model}, nic: bluefield-3, nic_mode: nic")
    assert not found(spec, "FAB5624")
    assert "nic_mode" not in {fact.fact for fact in host_facts(spec.fabric, spec.spec)}
    spec = compiled(tmp_path, f"model: {model}, nic: bluefield-3, nic_mode: dpu")
    assert dict(next(spec.hosts()).nic.firmware)[CARD_MODE] == 0
    (message,) = found(spec, "FAB5624")
    assert "DPU mode" in message
    assert "PFC" in message
    assert "jobs/kubernetes/nic-configuration.yaml" not in job_files(spec.fabric)
    assert not has_nic_template(render(next(spec.hosts()))["usr/local/sbin/fabricc-roce"])
    assert not found(compiled(tmp_path, "model: dgx-h100, nic_mode: dpu"), "FAB5624")


def test_the_mode_of_cards_of_a_further_network_is_stated_or_reported(tmp_path: Path) -> None:
    storage = CLASSES + FRONT_END.replace("frontend:", "storage:")
    spec = compiled(tmp_path, "model: dgx-b200", storage)
    (message,) = found(spec, "FAB5624")
    assert "(storage) are assumed to be in NIC mode" in message
    network = spec.networks["storage"]
    assert {fact.fact for fact in host_facts(network.fabric, network.spec)} == {"ports", "nic_mode"}
    spec = compiled(tmp_path, "model: dgx-b200, nic_mode: nic", storage)
    network = spec.networks["storage"]
    assert not found(spec, "FAB5624")
    assert {fact.fact for fact in host_facts(network.fabric, network.spec)} == {"ports"}
    spec = compiled(tmp_path, "model: dgx-b200, nic_mode: dpu, leave_out: [access-control]", storage)
    script = render(next(spec.networks["storage"].hosts()))["usr/local/sbin/fabricc-roce-storage"]
    assert "\nINTERNAL_CPU_OFFLOAD_ENGINE=0\n" in script
    assert "\nLEAVES_OUT='access-control'\n" in script


@pytest.mark.parametrize(
    ("nic", "listed"),
    [("connectx-8", True), ("bluefield-3", True), ("thor2", False), ("pollara", False)],
)
def test_nics_that_the_sriov_operator_refuses_are_reported(tmp_path: Path, nic: str, listed: bool) -> None:
    spec = compiled(tmp_path, f"model: hgx-8gpu, nic: {nic}")
    assert bool(found(spec, "FAB5611")) is not listed


def test_facts_of_hosts_without_gpus_are_reported(tmp_path: Path) -> None:
    groups = (
        "groups: [{name: a, model: dgx-h100, hosts: 4, hosts_per_unit: 4},"
        " {name: b, model: storage-2x400, hosts: 2, hosts_per_unit: 2, nic: bluefield-3, beside: a}]"
    )
    path = tmp_path / "cluster.yaml"
    path.write_text(f"cluster: test\ngpus: {{{groups}}}\n{TIERS}{CLASSES}")
    spec = compile_spec(path)
    (message,) = found(spec, "FAB5624")
    assert message.startswith("Storage node")
    of_storage = {fact.fact for fact in host_facts(spec.fabric, spec.spec) if fact.model == "storage-2x400"}
    assert {"access-control", "nic_mode"} < of_storage
    assert "nic" not in of_storage  # the spec names it


def test_findings_about_hosts_on_infiniband_have_no_words_of_ethernet(tmp_path: Path) -> None:
    tiers = "fabric: infiniband\ntors: {model: qm9700}\nspines: {model: qm9700, count: 2}\n"
    (unfit,) = compiled(tmp_path, "model: hgx-8gpu, nic: e810", "", tiers).diagnostics
    assert unfit.code == "FAB3041"
    assert unfit.help is not None
    assert "connectx-7" in unfit.help
    assert "thor2" not in unfit.help
    (sockets_help,) = [
        each.help
        for each in compiled(tmp_path, "model: hgx-8gpu", "", tiers).diagnostics
        if each.code == "FAB5620"
    ]
    assert "frontend" not in sockets_help  # FAB2114
    spec = compiled(tmp_path, "model: ucs-c885a-m8, nic: bluefield-3, nic_mode: dpu", "", tiers)
    (message,) = found(spec, "FAB5624")
    assert "opensm" in message
    assert "PFC" not in message


@pytest.mark.parametrize(
    ("nic", "key", "warned"),
    [
        ("e810", "ecn: true", True),
        ("e810", "lossless: true", False),
        ("e830", "ecn: true", True),
        ("e810-iwarp", "ecn: true", False),
        ("connectx-7", "ecn: true", False),
    ],
)
def test_intel_nics_use_several_queue_pairs_and_need_pfc(
    tmp_path: Path, nic: str, key: str, warned: bool
) -> None:
    classes = f"priorities: {{rdma: {{dscp: 34, priority: 5, {key}}}}}\nload_balancing: {{mode: packet}}\n"
    tiers = "tors: {model: sn5600, nos: cumulus, uplink_gbps: 400}\nspines: {model: sn5600, nos: cumulus}\n"
    spec = compiled(tmp_path, f"model: lab-host, class: rdma, nic: {nic}", classes, tiers)
    assert bool(found(spec, "FAB3355")) is warned
    assert next(spec.hosts()).recommended_qps == (1 if nic == "connectx-7" else 3)


def test_a_lossy_network_without_a_class_of_rdma_needs_no_pfc(tmp_path: Path) -> None:
    box = "model: sn4700, nos: cumulus"
    network = (
        f"networks: {{frontend: {{hosts_per_unit: 4, tors: {{{box}}}, spines: {{{box}}}, "
        "priorities: {default: {}}, "
        "groups: [{name: login, model: cpu-2x100, nic: e810, hosts: 2, hosts_per_unit: 1}]}}\n"
    )
    assert not found(compiled(tmp_path, "model: dgx-h100", network), "FAB3355")


def test_plan_lists_what_host_files_assume_until_the_spec_leaves_it_out(tmp_path: Path) -> None:
    def assumed(key: str) -> set[str]:
        spec = compiled(tmp_path, f"model: dgx-h100{key}")
        return {fact.fact for fact in host_facts(spec.fabric, spec.spec) if fact.key == "gpus.leave_out"}

    assert assumed("") == {"nvidia_peermem", "access-control"}
    assert assumed(", leave_out: [nvidia_peermem]") == {"access-control"}
    assert assumed(", leave_out: [access-control, nvidia_peermem]") == set()


def test_leave_out_removes_host_settings(tmp_path: Path) -> None:
    words = "[access-control, ib_umad, locked-memory, nvidia_peermem]"
    host = next(compiled(tmp_path, f"model: dgx-h100, leave_out: {words}").hosts())
    files = render(host)
    assert read(files).facts == planned(host)
    assert not [path for path in files if "limits" in path or "system.conf.d" in path]
    modules = files["etc/modules-load.d/fabricc.conf"].splitlines()[1:]
    assert modules == ["rdma_cm", "rdma_ucm"]
    assert (
        "LEAVES_OUT='access-control ib_umad locked-memory nvidia_peermem'"
        in files["usr/local/sbin/fabricc-roce"]
    )


def test_a_group_leaves_out_its_own(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    group = "{name: %s, model: dgx-h100, hosts: 4, hosts_per_unit: 4%s}"
    groups = ", ".join([group % ("a", ""), group % ("b", ", leave_out: []")])
    path.write_text(
        f"cluster: test\ngpus: {{leave_out: [nvidia_peermem], groups: [{groups}]}}\n{TIERS}{CLASSES}"
    )
    assert {host.unit: host.leave_out for host in compile_spec(path).hosts()} == {
        0: ("nvidia_peermem",),
        1: (),
    }


def test_hosts_without_a_partition_are_reported(tmp_path: Path) -> None:
    tiers = "fabric: infiniband\ntors: {model: qm9700}\nspines: {model: qm9700, count: 2}\n"
    some = "infiniband: {partitions: {a: {pkey: 16, hosts: [su001-host01, su001-host02]}}}\n"
    (message,) = found(compiled(tmp_path, "model: dgx-h100", some, tiers), "FAB5625")
    assert message.startswith("su001-host03 and 1 more: in no partition")
    every = some.replace("hosts: [su001-host01, su001-host02]", "units: [su001]")
    assert not found(compiled(tmp_path, "model: dgx-h100", every, tiers), "FAB5625")


@pytest.mark.parametrize(("names", "first"), [("[spine, su001, n3]", "spine and 1 more"), ("[n1, n2]", "")])
def test_hosts_with_the_name_of_a_place_are_reported(tmp_path: Path, names: str, first: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        f"cluster: test\ngpus: {{model: dgx-h100, hosts: {names}, hosts_per_unit: 4}}\n{TIERS}{CLASSES}"
    )
    messages = found(compile_spec(path), "FAB5626")
    assert [message.partition(":")[0] for message in messages] == ([first] if first else [])


@pytest.mark.parametrize(("racks", "size"), [("r1: 18, r2: 17, r3: 9", "9"), ("r1: 18, r2: 18", "")])
def test_a_small_rack_that_divides_the_blocks_of_slurm_is_reported(
    tmp_path: Path, racks: str, size: str
) -> None:
    path = tmp_path / "cluster.yaml"
    gpus = f"{{model: gb200-nvl72, racks: {{{racks}}}, hosts_per_unit: 64}}"
    path.write_text(f"cluster: test\ngpus: {gpus}\n{TIERS}{CLASSES}")
    spec = compile_spec(path)
    messages = found(spec, "FAB5627")
    assert bool(messages) == bool(size)
    if size:
        assert f"BlockSizes is {size}, that of r3" in messages[0]
        assert f"BlockSizes={size}\n" in job_files(spec.fabric)["jobs/slurm/topology-block.conf"]


def test_assumed_figures_of_a_nic_are_listed_under_its_name(tmp_path: Path) -> None:
    """Every figure that the catalog assumes of a host or its NICs is in the list of `plan`."""
    for model in ("mi355x-pollara", "dgx-h100", "mi355x-thor2"):
        spec = compiled(tmp_path, f"model: {model}")
        listed = {(fact.model, fact.fact): fact for fact in host_facts(spec.fabric, spec.spec)}
        host = load_catalog()[0].hosts[model]
        for part in (host, host.nic):
            for key, source in part.sources.items():
                if source.startswith("assumed") and key != "management_interface":
                    assert (part.name, key) in listed
    assert listed["thor2", "read_request"].value == "4096"
    assert listed["thor2", "read_request"].key == "nics.thor2.read_request"


OWN = (
    "sources: {sheet: own sheet}\nhosts:\n  own:\n    title: Own\n    vendor: own\n"
    + "".join(
        f"    {key}: {{value: {value}, source: sheet}}\n"
        for key, value in (
            ("gpus", 8), ("rails", 8), ("nic", "mine"), ("ports_per_nic", 1), ("port_gbps", 400),
            ("management_interface", "eno1"),
        )
    )
    + "nics:\n  mine:\n    title: Mine\n    vendor: own\n    ports: {splits: [1x400/4], source: sheet}\n"
    + "    driver: {value: mlx5_core, source: sheet}\n    rdma_prefix: {value: mlx5, source: sheet}\n"
)  # fmt: skip


def test_figures_that_a_file_does_not_state_are_listed(tmp_path: Path) -> None:
    """A default is a figure without a source, and `plan` lists it with the key that settles it."""
    (tmp_path / "own.yaml").write_text(OWN)
    tiers = "catalog: [own.yaml]\ntors: {model: sn5600, nos: sonic}\nspines: {model: sn5600, nos: sonic, count: 2}\n"
    spec = compiled(tmp_path, "model: own", CLASSES, tiers)
    listed = {fact.key: fact.value for fact in host_facts(spec.fabric, spec.spec)}
    assert listed["hosts.own.gpu_vendor"] == "nvidia"
    figures = {"traffic_classes": "8", "lossless_classes": "8", "rings": "8192 8192", "read_request": "4096"}
    assert {key: listed[f"nics.mine.{key}"] for key in figures} == figures


FIGURES = {
    "nics": (
        "driver",
        "rdma_prefix",
        "ports",
        "traffic_classes",
        "lossless_classes",
        "rings",
        "read_request",
    ),
    "hosts": ("gpus", "rails", "nic", "ports_per_nic", "port_gbps", "management_interface", "management"),
}
"""Figures that host files contain or depend on."""


@pytest.mark.parametrize("section", FIGURES)
def test_every_figure_of_host_files_has_a_source_or_is_assumed(section: str) -> None:
    catalog, _ = load_catalog()
    models = catalog.nics if section == "nics" else catalog.hosts
    lacking = [
        f"{name}.{key}"
        for name, model in models.items()
        for key in FIGURES[section]
        if not model.sources.get(key)
    ]
    assert lacking == []
    assert not [name for name, model in catalog.hosts.items() if "gpu_vendor" in model.sources]


@pytest.mark.parametrize(
    ("name", "help_"), [("lo", "bond0"), ("eth0:1", "'eth0'"), ("bond0.100", ""), ("lom1", "")]
)
def test_sockets_need_an_interface_that_other_hosts_reach(name: str, help_: str, tmp_path: Path) -> None:
    """A label such as `eth0:1` is no interface (Linux, `dev_valid_name`), and NCCL reads a port after its colon."""
    found = compiled(tmp_path, f"model: dgx-h100, socket_interface: '{name}'").diagnostics
    refused = [each for each in found if each.code == "FAB1006"]
    assert bool(refused) is bool(help_)
    assert all(help_ in each.help for each in refused)


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (
            "dgx-b300-2x400",
            {"management": "bmc=1", "networks.storage": "2x200G bluefield-3", "firmware": "LINK_TYPE=2"},
        ),
        ("gb300-nvl72", {"management": "bmc=1 dpus=2", "networks.frontend": "1x200G bluefield-3"}),
    ],
)
def test_every_assumed_fact_has_a_value_that_people_can_read(
    tmp_path: Path, model: str, values: dict[str, str]
) -> None:
    spec = compiled(tmp_path, f"model: {model}")
    stated = {fact.fact: fact.value for fact in host_facts(spec.fabric, spec.spec)}
    assert values.items() <= stated.items()
    assert [fact for fact, value in stated.items() if not value or "(" in value] == []
