"""`fabricc sync` with servers that answer as NetBox and Nautobot are published to."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.cli.entry import run
from tests.integrations.source_of_truth import TOKEN, Store, cable_ends, serve_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PRODUCTS = ("netbox", "nautobot")
SPEC = """\
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2, socket_interface: eth0}
tors: {model: linux-16x100, nos: frr}
spines: {model: linux-16x100, nos: frr, count: 2}
priorities: {rdma: {dscp: 26}, default: {}}
"""
SEGMENTS = """\
networks:
  frontend:
    hosts_per_unit: 2
    groups: [{name: login, model: cpu-2x100, hosts: 2, hosts_per_unit: 2}]
    tors: {model: sn4700, nos: frr}
    spines: {model: sn4700, nos: frr, count: 2}
    priorities: {default: {}}
    evpn: {segments: {red: {vlan: 110, subnet: 10.192.0.0/22}}}
"""


_FILLED: dict[str, str] = {}
"""Product -> its objects after the first run."""


class Case:
    """A server, and the command line against it."""

    def __init__(
        self, product: str, store: Store, url: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.product, self.store, self.url, self.folder, self._capsys = product, store, url, folder, capsys

    def sync(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        status = run(["sync", self.product, str(self.folder / "cluster.yaml"), "--url", self.url, *words])
        streams = self._capsys.readouterr()
        return status, streams.out, streams.err

    def fill(self) -> None:
        """Make the objects of the first run, which takes place once."""
        if self.product not in _FILLED:
            assert self.sync("--apply")[0] == 0
            _FILLED[self.product] = json.dumps(self.store.lists)
        self.store.load(json.loads(_FILLED[self.product]))

    def changes(self, *words: str) -> dict[str, Any]:
        status, out, err = self.sync("--format", "json", *words)
        assert status == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    def count(self, path: str) -> int:
        return len(self.store.lists.get(path, {}))

    def written(self) -> list[tuple[str, str]]:
        return [each for each in self.store.requests if each[0] != "GET"]


@pytest.fixture(params=PRODUCTS)
def case(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Case]:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    monkeypatch.setenv(f"{request.param.upper()}_TOKEN", TOKEN)
    store = Store(request.param, page=40)
    with serve_store(store) as url:
        yield Case(request.param, store, url, tmp_path, capsys)


def test_a_dry_run_changes_nothing_and_a_second_run_neither(case: Case) -> None:
    status, out, _ = case.sync()
    assert (status, case.written()) == (0, [])
    assert "+ device su001-tor1a" in out
    assert "with --apply" in out
    assert case.sync("--apply")[0] == 0
    assert case.count("dcim/devices") == 4 + 2 + 4
    assert case.count("dcim/cables") == 8 + 8, "eight host links, eight between switches"
    case.store.requests.clear()
    case.store.read.clear()
    status, out, _ = case.sync("--apply")
    assert (status, out, case.written()) == (0, f"{case.product}: no changes\n", [])
    tagged = [
        each for each in case.store.read if each[0] in ("dcim/interfaces", "ipam/ip-addresses", "dcim/cables")
    ]
    assert len(tagged) == len(set(tagged)), "each object of ours is read once"


@pytest.mark.slow
def test_growth_creates_and_a_smaller_fabric_deletes_what_is_ours(case: Case) -> None:
    case.fill()
    before = {path: set(each) for path, each in case.store.lists.items()}
    spec = case.folder / "cluster.yaml"
    spec.write_text(SPEC.replace("hosts: 4", "hosts: 6"))
    grown = case.changes("--apply")["changes"]
    assert {each["action"] for each in grown if each["kind"] != "interface"} == {"create"}
    assert case.changes()["changes"] == []
    spec.write_text(SPEC)
    shrunk = case.changes("--apply")["changes"]
    assert {each["action"] for each in shrunk if each["kind"] != "interface"} == {"delete"}
    shared = ("dcim/manufacturers", "dcim/device-types", "extras/tags")
    assert all(set(case.store.lists[path]) >= before[path] for path in shared)
    assert set(case.store.lists["dcim/devices"]) == before["dcim/devices"]
    assert case.changes()["changes"] == []


def test_sync_restores_changed_values(case: Case) -> None:
    case.fill()
    port = next(each for each in case.store.lists["dcim/interfaces"].values() if each["mtu"] == 9100)
    port["mtu"], port["description"] = 1500, "kept"
    status, out, _ = case.sync()
    assert (status, "mtu 1500 → 9100" in out) == (0, True)
    assert [each["action"] for each in case.changes("--apply")["changes"]] == ["update"]
    assert (port["mtu"], port["description"]) == (9100, "kept")


def test_objects_of_others_stay_and_are_reported(case: Case) -> None:
    """A device, a cable and a stray interface that carry no tag of the cluster."""
    case.fill()
    tor = next(each for each in case.store.lists["dcim/devices"].values() if each["name"] == "su001-tor1a")
    tor["tags"], tor["platform"] = [], None
    cable_id, cable = next(iter(case.store.lists["dcim/cables"].items()))
    cable["tags"] = []
    far = cable_ends(cable)[1]
    del case.store.lists["dcim/cables"][cable_id]
    stray = {**case.store.lists["dcim/interfaces"][str(cable_ends(cable)[0])], "name": "patch1", "tags": []}
    made = case.store.add("dcim/interfaces", {name: value for name, value in stray.items() if name != "id"})
    two = [{"object_type": "dcim.interface", "object_id": each} for each in (made["id"], far)]
    body = {"a_terminations": two[:1], "b_terminations": two[1:]}
    if case.product == "nautobot":
        body = {"termination_a_id": made["id"], "termination_b_id": far, "status": {}}
    other = case.store.add("dcim/cables", body)
    before = json.dumps(case.store.lists, sort_keys=True)
    status, out, err = case.sync("--apply")
    assert (status, out) == (0, f"{case.product}: no changes, 2 conflicts\n")
    assert "device su001-tor1a belongs to somebody else and differs: platform None (plan: 'frr" in " ".join(
        err.split()
    )
    assert "another cable is in" in err
    assert json.dumps(case.store.lists, sort_keys=True) == before
    assert str(other["id"]) in case.store.lists["dcim/cables"]


def test_sync_tags_objects_created_by_server_templates(case: Case) -> None:
    case.fill()
    port = next(iter(case.store.lists["dcim/interfaces"].values()))
    port["tags"] = []
    (change,) = case.changes("--apply")["changes"]
    assert (change["action"], change["kind"]) == ("update", "interface")
    assert port["tags"]
    assert case.changes()["changes"] == []


def test_tables_of_identities_come_back(case: Case) -> None:
    case.fill()
    tor = next(each for each in case.store.lists["dcim/devices"].values() if each["name"] == "su001-tor1a")
    tor["custom_fields"] = {"asn": 4200599999}
    case.store.requests.clear()
    status, _, err = case.sync("--pull", str(case.folder))
    assert (status, case.written()) == (0, []), err
    assert "FAB21" not in err, "every device and cable has its place"
    spec = case.folder / "cluster.yaml"
    spec.write_text(SPEC + "identities: {devices: devices.csv, links: links.csv}\n")
    (change,) = [each for each in case.changes()["changes"] if each["kind"] == "device"] or [None]
    assert change is None, "the spec has the ASN of the server now"
    assert run(["validate", str(spec)]) == 0


@pytest.mark.slow
def test_segments_have_their_vrf_and_tenant(case: Case) -> None:
    (case.folder / "cluster.yaml").write_text(SPEC + SEGMENTS)
    assert case.sync("--apply", "--tenant", "research")[0] == 0
    assert {each["name"] for each in case.store.lists["tenancy/tenants"].values()} == {"research", "tenants"}
    (vrf,) = case.store.lists["ipam/vrfs"].values()
    prefix = next(
        each for each in case.store.lists["ipam/prefixes"].values() if each["prefix"] == "10.192.0.0/22"
    )
    if case.product == "netbox":
        assert prefix["vrf"] == vrf["id"]
    else:
        (made,) = case.store.lists["ipam/vrf-prefix-assignments"].values()
        assert (made["vrf"], made["prefix"]) == (vrf["id"], prefix["id"])
    assert case.changes("--tenant", "research")["changes"] == []
    status, _, err = case.sync("--pull", str(case.folder))
    assert (status, "FAB2150" in err) == (0, False), "devices of the other network are known"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "output"),
    [
        (["--token", "env:NO_SUCH_TOKEN"], 1, "FAB9102"),
        (["--url", "http://192.0.2.1"], 2, "unencrypted"),
        (["--url", "https://user:secret@host"], 2, "is not https://HOST"),
        (["--url", "http://127.0.0.1:9"], 3, "FAB7020"),
        (["--token", "nothing"], 2, "env:NAME"),
        (["--apply", "--pull", "x"], 2, "exclude each other"),
    ],
)
def test_sync_reports_failures_and_writes_nothing(
    case: Case, words: list[str], status: int, output: str
) -> None:
    found, out, err = case.sync(*words)
    assert (found, output in " ".join(err.split())) == (status, True), (out, err)
    assert case.written() == []


def test_a_token_that_is_refused_is_an_error(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "wrong")
    status, _, err = case.sync("--token", "env:OTHER")
    assert (status, "FAB2153" in err, "wrong" in err, "has not expired" in err) == (1, True, False, True)


def test_a_list_that_ends_early_is_an_error(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without `next` although `count` is larger: the rest would be taken for missing and made twice."""
    case.fill()
    found = case.store.search

    def short(path: str, words: list[tuple[str, str]]) -> list[dict[str, Any]]:
        class Short(list[dict[str, Any]]):
            def __len__(self) -> int:
                return super().__len__() + 5

        return Short(found(path, words))

    monkeypatch.setattr(case.store, "search", short)
    status, _, err = case.sync("--apply")
    assert (status, "FAB2153" in err) == (1, True), err


def test_a_busy_server_gets_the_request_again(case: Case) -> None:
    """429 means that nothing was done; reading again after 502 does no harm."""
    case.store.faults = [("GET", 429), ("GET", 502), ("POST", 429), ("POST", 429)]
    status, _, err = case.sync("--apply")
    assert (status, case.store.faults) == (0, []), err
    assert case.sync() == (0, f"{case.product}: no changes\n", "")


def test_a_write_whose_outcome_is_unknown_is_not_repeated(case: Case) -> None:
    case.store.faults = [("POST", 502)]
    status, _, err = case.sync("--apply")
    assert (status, len(case.written())) == (1, 1), err
    assert "Run the command again: it continues with what is missing." in " ".join(err.split())
    assert case.sync("--apply")[0] == 0
    assert case.changes()["changes"] == []


def test_parts_of_many_objects_are_written_at_the_same_time(case: Case) -> None:
    case.store.meeting = ("POST dcim/interfaces", threading.Barrier(2))
    status, _, err = case.sync("--apply", "--parallel", "2")
    assert (status, case.store.meeting is None) == (0, True), err
    assert case.sync("--parallel", "3") == (0, f"{case.product}: no changes\n", "")


def test_no_part_is_written_after_one_that_failed(case: Case) -> None:
    case.store.faults = [("POST dcim/interfaces", 502)]
    status, _, err = case.sync("--apply", "--parallel", "2")
    assert (status, "502" in err) == (1, True), err
    assert case.written().count(("POST", "dcim/interfaces")) <= 3, "what was under way ends"
    assert ("POST", "dcim/cables") not in case.written()
    assert case.sync("--apply")[0] == 0
    assert case.changes()["changes"] == []


def test_a_server_that_stays_busy_is_an_error(case: Case) -> None:
    case.store.faults = [("GET", 429)] * 6
    status, _, err = case.sync()
    assert (status, "429" in err, case.store.faults) == (1, True, []), err


def test_shared_objects_of_a_company_are_used(case: Case) -> None:
    """NetBox has unique slugs, so a role `Spine` is the role `spine`; a custom field has a key under any label."""
    case.store.add(
        "extras/custom-fields", {"name": "asn", "key": "asn", "label": "BGP ASN", "object_types": []}
    )
    if case.product == "netbox":
        case.store.add("dcim/device-roles", {"name": "Spine", "slug": "spine"})
        case.store.add("dcim/sites", {"name": "LAB", "slug": "lab"})
    assert case.sync("--apply")[0] == 0
    assert case.count("extras/custom-fields") == 1
    if case.product == "netbox":
        assert [each["name"] for each in case.store.lists["dcim/sites"].values()] == ["LAB"]
        assert len(case.store.lists["dcim/device-roles"]) == 3
    assert case.changes()["changes"] == []


@pytest.mark.slow
def test_two_clusters_with_devices_of_one_name_have_their_own(case: Case) -> None:
    """Names of devices are unique in a location, not on the server."""
    case.fill()
    first = json.dumps(case.store.lists["dcim/devices"], sort_keys=True)
    pools = "addressing: {hosts: 10.200.0.0/16, links: 10.201.0.0/16, loopbacks: 10.202.0.0/20}\n"
    spec = case.folder / "cluster.yaml"
    spec.write_text(
        SPEC.replace("cluster: lab", "cluster: other") + pools + "management: {network: 172.30.0.0/16}\n"
    )
    assert all(each["action"] == "create" for each in case.changes("--apply")["changes"])
    assert case.changes()["changes"] == []
    assert case.count("dcim/devices") == 2 * (4 + 2 + 4)
    devices = case.store.lists["dcim/devices"]
    assert json.dumps(dict(list(devices.items())[:10]), sort_keys=True) == first
    owners = [each["device"] for each in case.store.lists["dcim/interfaces"].values()]
    assert {owners.count(each["id"]) for each in devices.values()} == {2, 18}


def test_a_device_of_others_that_differs_gets_nothing(case: Case) -> None:
    """A device of the same name and location, and of another model, is not the plan's."""
    case.fill()
    (tor,) = [each for each in case.store.lists["dcim/devices"].values() if each["name"] == "su001-tor1a"]
    tor["tags"], tor["platform"] = [], None
    interfaces = case.store.lists["dcim/interfaces"]
    gone = [key for key, each in interfaces.items() if each["device"] == tor["id"]]
    cables = case.store.lists["dcim/cables"]
    for key in [key for key, each in cables.items() if {str(end) for end in cable_ends(each)} & {*gone}]:
        del cables[key]
    for key in gone:
        del interfaces[key]
    assert not [
        each
        for each in case.changes()["changes"]
        if "su001-tor1a" in each["key"] and each["action"] == "create"
    ]


def _find_device(case: Case, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        each for each in case.store.lists["dcim/devices"].values() if each["name"] == name
    )
    return found


def _find_interface(case: Case, device: str, name: str) -> dict[str, Any]:
    owner, interfaces = _find_device(case, device)["id"], case.store.lists["dcim/interfaces"]
    found: dict[str, Any] = next(
        each for each in interfaces.values() if (each["device"], each["name"]) == (owner, name)
    )
    return found


def _add_address(case: Case, address: str, interface: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Add an address of somebody else."""
    if case.product == "netbox":
        end = None if interface is None else interface["id"]
        return case.store.add("ipam/ip-addresses", {"address": address, "assigned_object_id": end, **more})
    more = {"namespace": {"name": "Global"}, "status": {}, **more}
    made = case.store.add("ipam/ip-addresses", {"address": address, **more})
    if interface is not None:
        body = {"ip_address": made["id"], "interface": interface["id"]}
        case.store.add("ipam/ip-address-to-interface", body)
    return made


def test_an_address_that_others_have_is_a_conflict(case: Case) -> None:
    """Whatever its length; in another VRF or namespace it is another address."""
    planned = case.changes()["changes"]
    first, second = [each["key"][0] for each in planned if each["kind"] == "address"][:2]
    case.store.requests.clear()
    number = first.partition("/")[0]
    _add_address(case, f"{number}/20", None)
    if case.product == "netbox":
        vrf = case.store.add("ipam/vrfs", {"name": "elsewhere"})
        other = _add_address(case, second, None, vrf=vrf["id"])
    else:
        other = _add_address(case, second, None, namespace={"name": "elsewhere"})
    before = json.dumps(other)
    status, out, err = case.sync("--apply")
    assert (status, out.count("conflict")) == (0, 0), (out, err)
    words = " ".join(err.split())
    assert f"address {first} is not there: {number}/20 belongs to somebody else" in words
    assert words.count("FAB2152") == 1
    assert json.dumps(other) == before
    assert [each["address"] for each in case.store.lists["ipam/ip-addresses"].values()].count(second) == 2
    assert case.changes()["changes"] == []


@pytest.mark.slow
def test_an_address_of_others_on_another_interface_is_not_taken(case: Case) -> None:
    address = next(each["key"][0] for each in case.changes()["changes"] if each["kind"] == "address")
    other = _add_address(case, address, None)
    before = json.dumps(case.store.shown("ipam/ip-addresses", other, nested=False))
    status, _, err = case.sync("--apply")
    assert (status, err.count("FAB2152")) == (0, 1), err
    assert json.dumps(case.store.shown("ipam/ip-addresses", other, nested=False)) == before
    assert _find_device(case, "su001-tor1a").get("primary_ip4") is None
    assert case.changes()["changes"] == []


def test_interfaces_that_a_server_creates_with_devices_are_used(case: Case) -> None:
    """Types of a company have templates; the first run finds their interfaces there."""
    ports = {each["key"][1] for each in case.changes()["changes"] if each["kind"] == "interface"}
    case.store.templates = [sorted(ports)[0], "management", "console"]
    status, _, err = case.sync("--apply")
    assert status == 0, err
    assert _find_interface(case, "su001-tor1a", "management")["mgmt_only"] is True
    assert _find_interface(case, "su001-tor1a", "console")["tags"] == []
    assert case.changes()["changes"] == []


def test_devices_and_interfaces_renamed_or_deleted_by_hand_come_back(case: Case) -> None:
    case.fill()
    before = sorted(each["address"] for each in case.store.lists["ipam/ip-addresses"].values())
    _find_device(case, "spine01a")["name"] = "old-spine"
    _find_interface(case, "spine02a", "management")["name"] = "mgmt0"
    case.store.remove("dcim/devices", _find_device(case, "su002-tor1a")["id"])
    status, _, err = case.sync("--apply")
    assert status == 0, err
    assert case.changes()["changes"] == []
    assert sorted(each["address"] for each in case.store.lists["ipam/ip-addresses"].values()) == before
    assert _find_device(case, "spine01a")["primary_ip4"] is not None
    assert _find_device(case, "spine02a")["primary_ip4"] is not None


def test_two_devices_swap_their_main_addresses(case: Case) -> None:
    case.fill()
    first, second = (_find_device(case, name)["primary_ip4"] for name in ("spine01a", "spine02a"))
    addresses = case.store.lists["ipam/ip-addresses"]
    texts = [addresses[str(each)]["address"].partition("/")[0] for each in (second, first)]
    lines = "".join(f"spine0{number}a,{text}\n" for number, text in enumerate(texts, 1))
    (case.folder / "devices.csv").write_text(f"device,management\n{lines}")
    (case.folder / "cluster.yaml").write_text(SPEC + "identities: {devices: devices.csv}\n")
    status, _, err = case.sync("--apply")
    assert status == 0, err
    assert case.changes()["changes"] == []


@pytest.mark.slow
@pytest.mark.parametrize("what", ["a cable", "an address"])
def test_a_device_that_others_use_is_not_deleted(case: Case, what: str) -> None:
    spec = case.folder / "cluster.yaml"
    spec.write_text(SPEC.replace("hosts: 4", "hosts: 6"))
    assert case.sync("--apply")[0] == 0
    port = _find_interface(case, "su003-tor1a", "loopback")
    if what == "an address":
        _add_address(case, "192.0.2.1/32", port)
    else:
        body: dict[str, Any] = {f"{side}_terminations": [] for side in "ab"}
        body["a_terminations"] = [{"object_type": "dcim.interface", "object_id": port["id"]}]
        if case.product == "nautobot":
            body = {"termination_a_id": port["id"], "termination_b_id": "circuit", "status": {}}
        case.store.add("dcim/cables", body)
    spec.write_text(SPEC)
    status, _, err = case.sync("--apply")
    keeps = what == "a cable" or case.product == "netbox"  # Nautobot deletes no addresses with an interface
    assert (status, err.count("FAB2152")) == (0, 1 if keeps else 0), err
    names = {each["name"] for each in case.store.lists["dcim/devices"].values()}
    assert ("su003-tor1a" in names) is keeps
    assert "su003-h01" not in names
    if what == "an address":
        assert "192.0.2.1/32" in {each["address"] for each in case.store.lists["ipam/ip-addresses"].values()}
