"""No route leads from a port of the fabric to the management network, on every system, by its files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos
from fabricc.proof.invariants import Survey
from fabricc.proof.invariants.view import make_view
from tests.back.nos.cumulus.variants import tor as cumulus_tor
from tests.back.nos.eos.variants import variant as eos_variant
from tests.back.nos.frr.variants import sample as frr_sample
from tests.back.nos.junos.variants import variant as junos_variant
from tests.back.nos.nxos.variants import variant as nxos_variant
from tests.back.nos.sonic.variants import tor as sonic_tor

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.model import Switch
    from fabricc.proof import Finding

    Edit = Callable[[str], str]

SWITCHES: dict[str, Callable[[], Switch]] = {
    "eos": lambda: eos_variant("trident-numbered"),
    "nxos": lambda: nxos_variant("cloudscale/numbered"),
    "junos": lambda: junos_variant("evo-numbered"),
    "cumulus": cumulus_tor,
    "cumulus-5.9": lambda: cumulus_tor("5.9"),
    "sonic": sonic_tor,
    "frr": frr_sample,
}
FILE = {
    "eos": "running-config.cfg",
    "nxos": "running-config.cfg",
    "junos": "juniper.conf",
    "cumulus": "startup.yaml",
    "cumulus-5.9": "startup.yaml",
    "sonic": "config_db.json",
    "frr": "interfaces",
}


def swap(old: str, new: str) -> Edit:
    """The first occurrence of a text replaced by another."""

    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return edit


def drop_line(start: str, number: int = 0) -> Edit:
    """One line that begins so, after blanks, left out: the `number`th from 0."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        at = [index for index, line in enumerate(lines) if line.strip().startswith(start)][number]
        return "".join(lines[:at] + lines[at + 1 :])

    return edit


def add_after(start: str, more: str) -> Edit:
    """A line added below the first that begins so."""

    def edit(text: str) -> str:
        lines = text.splitlines(keepends=True)
        at = next(index for index, line in enumerate(lines) if line.strip().startswith(start))
        return "".join([*lines[: at + 1], more + "\n", *lines[at + 1 :]])

    return edit


def tables_without(table: str) -> Edit:
    """A SONiC file without a table."""

    def edit(text: str) -> str:
        tables = json.loads(text)
        del tables[table]
        return json.dumps(tables, indent=4) + "\n"

    return edit


CASES: list[tuple[str, str, Edit, str]] = [
    ("eos", "management port without its VRF", drop_line("vrf MGMT", 1), "ip address 172."),
    (
        "eos",
        "a leak between VRFs",
        add_after("vrf instance MGMT", "ip route vrf default 10.9.0.0/16 egress-vrf MGMT 10.9.0.1"),
        "ip route vrf default",
    ),
    (
        "nxos",
        "management port in another VRF",
        swap("vrf member management", "vrf member fabric"),
        "vrf member fabric",
    ),
    (
        "nxos",
        "a route by way of the management VRF",
        add_after("ip load-sharing", "ip route 10.9.0.0/16 10.9.0.1 vrf management"),
        "ip route 10.9",
    ),
    ("junos", "no management instance", drop_line("management-instance;"), "address 172."),
    (
        "junos",
        "a table group",
        add_after("routing-options {", "    rib-groups { A { import-rib [ mgmt_junos.inet.0 inet.0 ]; } }"),
        "rib-groups",
    ),
    ("cumulus", "management port in the default VRF", swap("vrf: mgmt", "vrf: default"), "vrf: default"),
    ("cumulus-5.9", "management port in the default VRF", swap("vrf: mgmt", "vrf: default"), "vrf: default"),
    ("sonic", "no management VRF", tables_without("MGMT_VRF_CONFIG"), '"eth0|'),
    ("frr", "no rule before the main table", drop_line("up ip -4 rule del pref 1001"), "address 172."),
    (
        "frr",
        "fabric ports look up the main table",
        swap("iif lo lookup main", "lookup main"),
        "up ip -4 rule del pref 1000",
    ),
    (
        "frr",
        "the default route for everyone",
        swap("rule add pref 40000 iif lo lookup", "rule add pref 40000 lookup"),
        "up ip -4 rule list pref 40000",
    ),
    ("frr", "the management port forwards", swap("ip-forward off", "ip-forward on"), "ip-forward on"),
    (
        "frr",
        "a rule of somebody's own",
        add_after("ip-forward off", "    up ip rule add pref 10 lookup main"),
        "up ip rule add pref 10",
    ),
]


def find_breaches(switch: Switch, files: dict[str, str]) -> list[Finding]:
    """Return what the invariants of one device find in its files."""
    return list(Survey().add_switch(make_view(switch, nos.load(switch.nos).read(files)), "x"))


def at_home(name: str) -> tuple[Switch, dict[str, str]]:
    """The sample switch of a system and its files."""
    switch = SWITCHES[name]()
    return switch, dict(nos.load(name.partition("-")[0]).render(switch))


@pytest.mark.parametrize("name", SWITCHES)
def test_every_system_isolates_the_management_network(name: str) -> None:
    switch, files = at_home(name)
    back_end = nos.load(name.partition("-")[0])
    reading = back_end.read(files)
    assert back_end.planned(switch)["management/isolated"] == "true"
    assert reading.facts["management/isolated"] == "true"
    file, line = reading.lines["management/isolated"]
    assert file == FILE[name]
    assert line > 0


@pytest.mark.parametrize(("name", "fault", "edit", "at"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_line_that_joins_management_and_fabric_is_reported(
    name: str, fault: str, edit: Edit, at: str
) -> None:
    switch, files = at_home(name)
    before = find_breaches(switch, files)
    files[FILE[name]] = edit(files[FILE[name]])
    (breach,) = [
        each for each in find_breaches(switch, files) if each not in before and each.code == "FAB6206"
    ]
    assert "management network" in breach.message
    assert breach.file == f"x/{FILE[name]}"
    assert files[FILE[name]].splitlines()[breach.line - 1].strip().startswith(at)
    others = {each.code for each in find_breaches(switch, files) if each not in before}
    assert others == {"FAB6206"}


def test_files_without_a_management_address_state_no_isolation() -> None:
    assert "management/isolated" not in nos.load("frr").read({"frr.conf": "hostname x\n"}).facts
    assert "management/isolated" not in nos.load("sonic").read({"config_db.json": "{}"}).facts
    assert "management/isolated" not in nos.load("junos").read({"juniper.conf": ""}).facts


APART: list[tuple[str, str, Edit]] = [
    (
        "eos",
        "a leak between tenants",
        lambda text: (
            f"{text}router general\n   vrf RED\n      leak routes source-vrf BLUE subscribe-policy X\n"
        ),
    ),
    (
        "eos",
        "a static route from tenant to tenant",
        add_after("vrf instance MGMT", "ip route vrf RED 10.9.0.0/16 egress-vrf BLUE 10.9.0.1"),
    ),
    (
        "nxos",
        "a tenant that imports from the default VRF",
        lambda text: (
            f"{text}vrf context RED\n  address-family ipv4 unicast\n    import vrf default map FROM-DEFAULT\n"
        ),
    ),
    (
        "junos",
        "a tenant that imports from another one",
        lambda text: (
            f"{text}routing-instances {{ RED {{ routing-options {{ instance-import FROM-BLUE; }} }} }}\n"
        ),
    ),
]


def _with_import(vrf: str, source: str) -> Edit:
    """Let a VRF of Cumulus import the routes of another one."""
    leak = f"route-import: {{from-vrf: {{enable: 'on', list: {{{source}: {{}}}}}}}}"
    family = f"address-family: {{ipv4-unicast: {{{leak}}}}}"
    entry = f"      {vrf}: {{router: {{bgp: {{enable: 'on', {family}}}}}}}\n"
    return lambda text: text.replace("\n    vrf:\n", f"\n    vrf:\n{entry}")


APART.append(("cumulus", "a tenant that imports from another one", _with_import("RED", "BLUE")))


@pytest.mark.parametrize(("vrf", "source"), [("RED", "mgmt"), ("mgmt", "RED")])
def test_an_import_of_cumulus_joins_management(vrf: str, source: str) -> None:
    _, files = at_home("cumulus")
    files[FILE["cumulus"]] = _with_import(vrf, source)(files[FILE["cumulus"]])
    reading = nos.load("cumulus").read(files)
    assert reading.facts["management/isolated"] == "false"
    _, line = reading.lines["management/isolated"]
    assert "from-vrf" in files[FILE["cumulus"]].splitlines()[line - 1]


@pytest.mark.parametrize(("name", "design", "edit"), APART, ids=[f"{c[0]}: {c[1]}" for c in APART])
def test_tenants_may_exchange_routes(name: str, design: str, edit: Edit) -> None:
    _, files = at_home(name)
    files[FILE[name]] = edit(files[FILE[name]])
    assert nos.load(name).read(files).facts["management/isolated"] == "true"


def test_a_leak_into_management_is_found_among_others() -> None:
    leaks = "router general\n   vrf RED\n      leak routes source-vrf MGMT subscribe-policy X\n"
    more = "      leak routes source-vrf BLUE subscribe-policy X\n"
    for text in (leaks, leaks + more, leaks.replace("vrf RED", "vrf MGMT").replace("-vrf MGMT", "-vrf RED")):
        _, files = at_home("eos")
        files["running-config.cfg"] += text
        reading = nos.load("eos").read(files)
        assert reading.facts["management/isolated"] == "false"
        _, line = reading.lines["management/isolated"]
        assert "leak routes" in files["running-config.cfg"].splitlines()[line - 1]


JOINED: list[tuple[str, str, Edit]] = [
    (
        "nxos",
        "a tenant that imports from management",
        lambda text: (
            f"{text}vrf context RED\n  address-family ipv4 unicast\n    import vrf management map ALL\n"
        ),
    ),
    (
        "junos",
        "a policy that takes routes from management",
        lambda text: (
            f"{text}routing-options {{ instance-import ALL; }}\n"
            "policy-options { policy-statement ALL { from instance mgmt_junos; then accept; } }\n"
        ),
    ),
    (
        "junos",
        "a static route into management",
        lambda text: (
            f"{text}routing-options {{ static {{ route 10.9.0.0/16 next-table mgmt_junos.inet.0; }} }}\n"
        ),
    ),
]


@pytest.mark.parametrize(("name", "fault", "edit"), JOINED, ids=[f"{c[0]}: {c[1]}" for c in JOINED])
def test_routes_of_management_in_another_instance_join_it(name: str, fault: str, edit: Edit) -> None:
    _, files = at_home(name)
    files[FILE[name]] = edit(files[FILE[name]])
    reading = nos.load(name).read(files)
    assert reading.facts["management/isolated"] == "false"
    _, line = reading.lines["management/isolated"]
    assert line > files[FILE[name]].count("\n") - 4
