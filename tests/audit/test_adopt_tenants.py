"""Tenants of a fabric come back as the section `tenants` of its spec, with their numbers, and no overlay has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from fabricc.audit.adopt.order import order_of
from fabricc.audit.adopt.tenants import FoundTenants, find_tenants
from fabricc.base.values import replace
from fabricc.compiler.compiled import compile_spec
from fabricc.fabric.facts import Reading
from fabricc.facts.frame import Contents
from tests import tenanted
from tests.audit.adopted import adopt_compiled
from tests.audit.fabrics import collect_devices, found_of, make_disguise
from tests.audit.test_adopted import assert_the_same, slow_but

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.audit.adopt.run import Adoption
    from fabricc.facts.statement import Device

TENANTS = """\
  acme: {hosts: [rack001-host01, rack002-host01..02], gpus: {rack002-host02: [0-3]}, vni: 5010, distinguisher: 2001}
  globex-1: {hosts: [rack001-host02], vrf: GLOBEX_1, route_target: "20001:1"}
  initech: {hosts: [rack002-host02], gpus: [4, 5]}
  shared: {hosts: [rack002-host02], gpus: [6, 7], vni: 20077}
"""
SECTION = {
    "acme": {"hosts": ["rack001-host01", "rack002-host01", "rack002-host02"], "gpus": {"rack002-host02": ["0-3"]},
             "vni": 5010, "distinguisher": 2001},
    "globex-1": {"hosts": ["rack001-host02"], "vrf": "GLOBEX_1", "route_target": "20001:1"},
    "initech": {"hosts": ["rack002-host02"], "gpus": [4, 5]},
}  # fmt: skip


def assert_without_overlays(adoption: Adoption) -> None:
    """The spec alone builds what was found."""
    assert_the_same(adoption)
    assert [name for name in adoption.files if name.startswith("overlays")] == []


@pytest.mark.parametrize("nos", slow_but([*tenanted.EXPRESSED], ("frr",)))
def test_tenants_return_with_their_numbers(nos: str) -> None:
    adoption = adopt_compiled(tenanted.compiled(nos, tenants=TENANTS))
    assert_without_overlays(adoption)
    section = yaml.safe_load(adoption.files["cluster.yaml"])["tenants"]
    shared = section.pop("shared")
    assert section == SECTION
    assert (shared["hosts"], shared["gpus"]) == (["rack002-host02"], [6, 7])
    lock = adoption.files["fabricc.lock"].splitlines()
    assert {"tenant globex-1 2", "tenant initech 3"} <= {*lock}


@pytest.mark.slow
@pytest.mark.parametrize("nos", tenanted.EXPRESSED)
def test_tenants_return_with_other_names_of_devices(nos: str) -> None:
    compiled = tenanted.compiled(nos, tenants=TENANTS)
    names = make_disguise(compiled)
    adoption = adopt_compiled(compiled, renamed=names)
    assert_without_overlays(adoption)
    section = yaml.safe_load(adoption.files["cluster.yaml"])["tenants"]
    assert section["globex-1"]["hosts"] == [names["rack001-host02"]]


@pytest.mark.slow
@pytest.mark.parametrize("spines", [True, False])
@pytest.mark.parametrize("nos", tenanted.EXPRESSED)
def test_exits_of_tenants_return(nos: str, spines: bool) -> None:
    adoption = adopt_compiled(tenanted.compiled_exits(nos, dual=True, spines=spines))
    assert_without_overlays(adoption)
    words = yaml.safe_load(adoption.files["cluster.yaml"])
    reached = {name: len(tenant["reach"]) for name, tenant in words["tenants"].items()}
    assert reached == {"acme": 2, "globex": 1}


CHANGES = {
    "a long name": ("VRF A234567890123456 has no name that one of a", "evpn/vrf[acme]/", "evpn/vrf[A234567890123456]/",
                    None),
    "a reserved name": ("VRF Mgmt has no name that one of a tenant can", "evpn/vrf[acme]/", "evpn/vrf[Mgmt]/", None),
    "case alone": ("names of VRFs differ in case alone", "evpn/vrf[acme]/", "evpn/vrf[Globex]/", None),
    "a wide target": ("VRF acme has the route target 70000:1, which no", "evpn/vrf[acme]/route_target", "", "70000:1"),
    "another VNI": ("VRF acme has another vni on another ToR", "evpn/vrf[acme]/vni", "", 77),
    "two targets": ("VRF acme has no route target that all ToRs share", "evpn/vrf[acme]/route_target", "", "1:1,1:2"),
    "no VRF": ("1 port to hosts (rack001-tor1a", "interface[", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_vrfs_that_no_tenant_describes_are_named(change: str) -> None:
    words, path, renamed, value = CHANGES[change]
    devices = collect_devices(tenanted.compiled("frr"))
    tors = [name for name in devices if "tor" in name]
    for name in tors if renamed or path.endswith("target") else tors[:1]:
        devices[name] = _with_change(devices[name], path, renamed, value)
    found = found_of(devices)
    tenants = find_tenants(found, order_of(found), ())
    assert tenants.problem.startswith(words)
    assert not tenants.numbers


@pytest.mark.slow
def test_log_servers_over_tls_return_without_the_name_of_their_ca(tmp_path: Path) -> None:
    """NX-OS has no line for it: the spec has a name to replace, and no overlay writes each server a second time."""
    text = tenanted.spec_text("nxos").replace(
        "management:\n", "management:\n  syslog: [192.0.2.7]\n  syslog_tls: {ca: logs, port: 6515}\n"
    )
    (spec := tmp_path / "cluster.yaml").write_text(text)
    adoption = adopt_compiled(compile_spec(spec, gaps=False))
    section = yaml.safe_load(adoption.files["cluster.yaml"])["management"]
    assert section["syslog_tls"] == {"ca": "syslog-ca", "port": 6515}
    assert any("`syslog-ca`" in each for each in adoption.adopted.assumed)
    assert_without_overlays(adoption)


def test_each_vrf_has_a_tenant_of_its_own() -> None:
    """The name of one that no tenant can have must not become that of another VRF."""
    devices = collect_devices(tenanted.compiled("frr"))
    facts = {"acme": "Prod_Network_A1", "globex": "tenant-1"}
    for name in [name for name in devices if "tor" in name]:
        reading = devices[name].reading
        renamed = {
            path.replace("vrf[acme]", f"vrf[{facts['acme']}]").replace("vrf[globex]", f"vrf[{facts['globex']}]"):
            facts.get(str(value), value) for path, value in reading.facts.items()
        }  # fmt: skip
        devices[name] = replace(
            devices[name], held=Contents(Reading(renamed, reading.lines, reading.unknown))
        )
    found = found_of(devices)
    tenants = find_tenants(found, order_of(found), ())
    assert tenants.problem == ""
    assert {*facts.values()} <= tenants.names.keys()
    assert len({*tenants.names.values()}) == len(tenants.names)
    assert tenants.names["tenant-1"] == "tenant-1"


@pytest.mark.parametrize(("gpus", "words"), [(8, ""), (4, "no whole GPU"), (0, "no whole GPU")])
def test_a_host_is_divided_by_whole_gpus_alone(gpus: int, words: str) -> None:
    found = FoundTenants(rails={"host": ("acme", *["globex"] * 6, "")})
    assert words in (problem := found.find_divided({"host": gpus}))
    assert bool(problem) == bool(words)


def _with_change(device: Device, path: str, renamed: str, value: object) -> Device:
    """Return a device with another VRF's name, with another value, or with a port in no VRF."""
    facts = dict(device.reading.facts)
    if renamed:
        facts = {each.replace(path, renamed): held for each, held in facts.items()}
        name = renamed.removeprefix("evpn/vrf[").removesuffix("]/")
        facts = {each: name if held == "acme" else held for each, held in facts.items()}
    elif value == "":
        port = next(each for each in facts if each.startswith(path) and each.endswith("/vrf"))
        del facts[port]
    else:
        facts[path] = value  # type: ignore[assignment]
    reading = device.reading
    return replace(device, held=Contents(Reading(facts, reading.lines, reading.unknown)))
