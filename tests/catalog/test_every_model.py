"""Every switch of the catalog works on every system it names: a small fabric of it plans, is written and proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Severity
from fabricc.catalog.library import Library
from fabricc.catalog.support import release_numbers
from fabricc.compiler.compiled import compile_spec

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.catalog.model import SwitchModel

LIBRARY = Library()
MODELS = {name: LIBRARY.switch(name) for name in LIBRARY.names("switches")}
CASES = [(name, nos) for name, model in MODELS.items() for nos in model.nos if nos != "infiniband"]

HOST = """\
nics:
  any:
    extends: connectx-8
    ports: {splits: [1x1/1, 1x10/1, 1x25/1, 1x50/1, 1x100/4, 1x200/4, 1x400/4, 1x800/8], source: a test}
hosts:
  any: {extends: lab-host, nic: {value: any, source: a test}, port_gbps: {value: SPEED, source: a test}}
"""
SPEC = """\
cluster: every
catalog: [host.yaml]
gpus: {{hosts: 4, model: any, wiring: rail, hosts_per_unit: 4}}
tors: {{model: {model}, nos: {nos}, oversubscription: 4.0, uplink_gbps: {up}}}
spines: {{model: {model}, nos: {nos}, count: 2}}
priorities:
  rdma: {{dscp: 26{lossless}}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
management: {{users: [{{name: netops, ssh_key: "{key}"}}]}}
accept: [{accept}]
"""


KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJQ2zVZ1Yx8p0s6N9Y4vEw1H1uH0v0D1x2y3z4w5v6u7 n"


def fastest_ports(model: SwitchModel) -> tuple[int, int]:
    """The fastest ports for hosts and for spines: of the first and of the last run of cages, 800G at most."""
    fabric = [group for group in model.cages if group.fabric]
    down, up = (
        max(use.speed_gbps for use in group.breakouts if use.speed_gbps <= 800)
        for group in (fabric[0], fabric[-1])
    )
    return down, up


def known_exceptions(name: str, nos: str) -> set[str]:
    """Return the known exceptions of a model: too new for any release here, ports beyond its SKU's own table."""
    model, codes = MODELS[name], set()
    if release_numbers(model.support[nos]) > release_numbers(back_ends.load(nos).releases[-1]):
        codes.add("FAB5653")
    if nos == "sonic":
        if max(use.speed_gbps for group in model.cages for use in group.breakouts) > MOST_GBPS:
            codes.add("FAB5302")
        own = model.nos[nos].get("sku", {}).get("lookup")
        tables = {row.table for row in model.buffers.rows if row.speed_gbps in fastest_ports(model)}
        if own and tables != {own}:
            codes.add("FAB5655")
    return codes


MOST_GBPS = 800
"""Of a port in the models of SONiC 202505."""
FIRST = {(MODELS[name].asic_family, nos): (name, nos) for name, nos in reversed(CASES)}.values()
"""The first model of each family of ASICs on each system; in the long run all of them."""


@pytest.mark.spread
@pytest.mark.parametrize(
    ("name", "nos"), [pytest.param(*case, marks=[pytest.mark.slow] * (case not in FIRST)) for case in CASES]
)
def test_a_small_fabric_of_it_is_written_and_proved(tmp_path: Path, name: str, nos: str) -> None:
    down, up = fastest_ports(MODELS[name])
    rows = {row.speed_gbps for row in MODELS[name].buffers.rows}
    spec = tmp_path / "cluster.yaml"
    (tmp_path / "host.yaml").write_text(HOST.replace("SPEED", str(down)))
    accept = ", ".join(
        f"{{code: {code}, reason: a fact of the model}}" for code in known_exceptions(name, nos)
    )
    lossless = ", lossless: true" if {down, up} <= rows and nos != "frr" else ""
    assert lossless or nos == "frr" or down < 100
    spec.write_text(SPEC.format(model=name, nos=nos, up=up, lossless=lossless, key=KEY, accept=accept))
    compiled = compile_spec(spec)
    assert [f"{d.code} {d.message}" for d in compiled.diagnostics if d.severity is Severity.ERROR] == []
    files = [text for device in compiled.switches() for text in compiled.files(device).values()]
    assert len(files) >= 4
    assert [f"{d.code} {d.message}" for d in compiled.proof(jobs=1) if d.severity is Severity.ERROR] == []


LISTED = [
    name
    for name, model in MODELS.items()
    if not model.nos and model.asic_family != "quantum" and fastest_ports(model)[0] > 1
]
"""Those with ports of 1G are management switches, which no ToR of EOS is."""


def test_switch_without_a_system_states_a_reason() -> None:
    without = [name for name, model in MODELS.items() if not model.nos and not model.listed]
    assert without == []


def test_an_infiniband_switch_with_an_ethernet_system_names_the_fabric(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    (tmp_path / "host.yaml").write_text(HOST.replace("SPEED", "400"))
    spec.write_text(SPEC.format(model="qm9700", nos="eos", up=400, lossless="", key=KEY, accept=""))
    refused = [d for d in compile_spec(spec).diagnostics if d.code == "FAB3016"]
    assert refused
    assert all("`fabric: infiniband`" in d.help for d in refused)


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.spread
def test_a_box_without_a_system_is_refused_until_a_catalog_file_gives_it_one(
    tmp_path: Path, name: str
) -> None:
    down, up = fastest_ports(MODELS[name])
    spec = tmp_path / "cluster.yaml"
    text = SPEC.format(model=name, nos="eos", up=up, lossless="", key=KEY, accept="")
    (tmp_path / "host.yaml").write_text(HOST.replace("SPEED", str(down)))
    spec.write_text(text)
    assert {d.code for d in compile_spec(spec).diagnostics if d.severity is Severity.ERROR} == {"FAB3016"}
    eos = "{source: a test, family: trident, port: 'Ethernet{cage}/{lane}', support: {since: '4.30', source: a test}}"
    own = f"switches:\n  own: {{extends: {name}, nos: {{eos: {eos}}}}}\n"
    (tmp_path / "host.yaml").write_text(HOST.replace("SPEED", str(down)) + own)
    spec.write_text(text.replace(f"model: {name}", "model: own"))
    compiled = compile_spec(spec)
    assert [f"{d.code} {d.message}" for d in compiled.diagnostics if d.severity is Severity.ERROR] == []
    assert [f"{d.code} {d.message}" for d in compiled.proof(jobs=1) if d.severity is Severity.ERROR] == []


def test_the_catalog_counts_what_people_order() -> None:
    infiniband = {name for name, model in MODELS.items() if "infiniband" in model.nos}
    ethernet = MODELS.keys() - infiniband - {name for name in MODELS if name.startswith("linux-")}
    assert len(ethernet) >= 60
    generations = {MODELS[name].nos["infiniband"]["generation"] for name in infiniband}
    assert generations == {"EDR", "HDR", "NDR", "XDR"}


INFINIBAND = [name for name, model in MODELS.items() if "infiniband" in model.nos]


@pytest.mark.parametrize("name", INFINIBAND)
@pytest.mark.spread
def test_a_small_subnet_of_it_is_written_and_proved(tmp_path: Path, name: str) -> None:
    speed = max(use.speed_gbps for use in MODELS[name].cages[0].breakouts)
    (tmp_path / "host.yaml").write_text(
        "nics:\n  any: {extends: connectx-8, ports: {splits: [1x100/4, 1x200/4, 1x400/4, 1x800/4], source: a test}}\n"
        "hosts:\n  any: {extends: dgx-h100, nic: {value: any, source: a test}, "
        f"port_gbps: {{value: {speed}, source: a test}}}}\n"
    )
    spec = tmp_path / "cluster.yaml"
    spec.write_text(
        "cluster: every\nfabric: infiniband\ncatalog: [host.yaml]\ngpus: {model: any, hosts: 8, hosts_per_unit: 4}\n"
        f"tors: {{model: {name}}}\nspines: {{model: {name}, count: 2}}\n"
    )
    result = compile_spec(spec).write(tmp_path / "build")
    assert [f"{d.code} {d.message}" for d in result.diagnostics if d.severity is Severity.ERROR] == []
    assert result.written > 4
