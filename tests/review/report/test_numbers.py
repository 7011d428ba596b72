"""Every number on the page is that of `plan` and `build`."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from fabricc.cli.entry import run
from fabricc.review.report.page import render_report
from fabricc.review.report.values import NONE
from tests import tenanted
from tests.fabric.capacity.test_capacity import STORAGE
from tests.review.report.conftest import ROOT, run_command
from tests.review.report.reading import Page, parse_number

if TYPE_CHECKING:
    from pathlib import Path

    from tests.review.report.conftest import Planned


def test_devices_are_counted_as_in_the_plan(both: Planned) -> None:
    counts, tables = both.plan["plan"]["counts"], both.page.tables
    tiers = {row[0]: parse_number(row[1]) for row in tables["tiers"].rows}
    wanted = {"ToR": counts["tors"], "spine": counts["spines"], "core": counts["cores"]}
    assert tiers == {name: count for name, count in wanted.items() if count}
    units = tables["units"]
    assert sum(map(parse_number, units.column("number"))) == counts["units"]
    for column, name in (("hosts of each", "hosts"), ("GPUs of each", "gpus"), ("ToRs of each", "tors")):
        total = sum(parse_number(row[1]) * parse_number(row[units.head.index(column)]) for row in units.rows)
        assert total == counts[name], name
    devices = Counter({row[0]: 0 for row in tables["devices"].rows})
    for row in tables["devices"].rows:
        devices[row[0]] += parse_number(row[2])
    assert devices == {name: count for name, count in {**wanted, "host": counts["hosts"]}.items() if count}


def test_pages_of_several_networks_count_hosts_as_the_plan(tmp_path: Path) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(STORAGE)
    assert run(["report", str(spec), "-o", str(tmp_path / "r.html")]) == 0
    whole, storage = ((tmp_path / name).read_text("utf-8") for name in ("r.html", "r-storage.html"))
    plan = run_command("plan", str(spec))[1]
    for page, words in ((whole, "48 GPUs in 6 hosts"), (storage, "48 GPUs in 6 hosts, 3 hosts without")):
        assert words in plan
        assert f"{words} (" in page
    assert "This page is of the GPU rails; storage has a page of its own." in whole
    assert "a page of its own" not in storage


def test_cables_are_those_of_the_cabling_plan(both: Planned) -> None:
    names = {"host": "host to ToR", "spine": "ToR to spine", "core": "spine to core"}
    wanted = Counter(
        (names[row["kind"]], f"{row['speed_gbps']}G", row["medium"], row["length_m"])
        for row in both.rows("cabling")
    )
    table = both.page.tables["cabling"]
    shown = {
        (row[0], row[2], row[3], row[5].replace(",", "")): (parse_number(row[1]), parse_number(row[6]))
        for row in table.rows
    }
    assert {cable: count for cable, (count, _) in shown.items()} == wanted
    assert all(together == count * int(cable[3]) for cable, (count, together) in shown.items())


def test_every_port_of_a_cable_is_in_a_cage(both: Planned) -> None:
    """Both ends of each cable once; cages are no more than the ports in them."""
    rows = both.page.tables["cages"].rows
    assert sum(parse_number(row[4]) for row in rows) == 2 * len(both.rows("cabling"))
    for _, use, _, cages, ports in rows:
        split = int(use.split()[0]) if len(use.split()) > 1 else 1
        assert parse_number(cages) <= parse_number(ports) <= split * parse_number(cages)


def test_pools_hold_the_addresses_that_devices_have(both: Planned) -> None:
    addresses = [row["address"].partition("/")[0] for row in both.rows("addresses") if row["address"]]
    held = Counter(addresses)
    assert max(held.values()) == 1
    pools = both.page.tables["pools"]
    assert {row[0]: row[1] for row in pools.rows} == both.plan["plan"]["pools"]
    counts = both.plan["plan"]["counts"]
    for name, prefix, holds, _, used, _, _ in pools.rows:
        network = ip_network(prefix)
        inside = sum(1 for address in addresses if ip_address(address) in network)
        if holds == "BGP router IDs of switches":  # of a fabric without IPv4, they are no addresses
            inside = counts["tors"] + counts["spines"] + counts["cores"]
        assert parse_number(used) == inside, name


def test_tenants_are_listed_with_their_numbers_and_links_outside() -> None:
    page = Page(render_report(tenanted.compiled_exits("frr")))
    assert page.tables["tenants"].rows == [
        ["acme", "1", "8", "filer, internet", "20001", "65000:20001", "LOOPBACK:20001"],
        ["globex", "1", "8", "vault", "20002", "65000:20002", "LOOPBACK:20002"],
    ]
    parties = [row[:3] for row in page.tables["exits"].rows]
    assert parties[1] == ["internet", "acme", "border01a"]
    plain = Page(render_report(tenanted.compiled("frr", spines=False)))
    assert plain.tables["tenants"].rows[0] == ["acme", "1", "8", NONE]


def test_as_numbers_are_those_of_the_sessions(both: Planned) -> None:
    found: dict[str, set[int]] = {}
    for row in both.rows("sessions"):
        tier = "ToR" if "-tor" in row["device"] else "core" if row["device"].startswith("core") else "spine"
        found.setdefault(tier, set()).add(int(row["asn"]))
    for tier, first, last, different, _ in both.page.tables["asns"].rows[:-1]:
        assert (int(first), int(last), parse_number(different)) == (
            min(found[tier]), max(found[tier]), len(found[tier]),
        )  # fmt: skip


def test_classes_and_profiles_are_those_of_the_plan(both: Planned) -> None:
    classes = both.page.tables["classes"]
    for row, wanted in zip(classes.rows, both.plan["plan"]["classes"], strict=True):
        shown = dict(zip(classes.head, row, strict=True))
        assert shown["class"].split()[0] == wanted["class"]
        assert shown["priority"] == shown["queue"] == str(wanted["priority"])
        assert (shown["PFC"] == "lossless", shown["ECN"] == "marked") == (wanted["lossless"], wanted["ecn"])
        points = [int(d) for part in shown["DSCP"].split(", ") for d in _both_ends(part)]
        assert points == [int(d) for d in wanted["dscps"].split()]
    profiles = both.page.tables["profiles"]
    assert profiles.head[4:7] == ["group size, B", "xon, B", "headroom (xoff), B"]
    shown_rows = [[cell.replace(",", "") for cell in row[3:]] for row in profiles.rows]
    columns = ("ports", "size_bytes", "xon_bytes", "xoff_bytes", "dynamic_th",
               "ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent")  # fmt: skip
    assert shown_rows == [[row[name] or "off" for name in columns] for row in both.rows("qos")]


def _both_ends(part: str) -> range:
    low, _, high = part.partition("-")
    return range(int(low), int(high or low) + 1)


def test_worksheets_hold_every_step_of_the_plan(both: Planned) -> None:
    shown = [table for name, table in both.page.tables.items() if name.startswith("worksheet")]
    steps = [
        [[cell.replace(",", "") if at == 1 else cell for at, cell in enumerate(row)] for row in table.rows]
        for table in shown
    ]
    for sheet in both.plan["worksheet"]:
        wanted = [[s["label"], str(s["value"]), s["unit"], s["source"]] for s in sheet["steps"]]
        assert wanted in steps, sheet["switches"]
    assert len(steps) <= len(both.plan["worksheet"])


def test_defaults_and_findings_are_those_of_the_plan(both: Planned) -> None:
    assert both.page.tables["assumed"].column("key") == list(both.plan["plan"]["assumptions"]) or sorted(
        both.page.tables["assumed"].column("key")
    ) == sorted(both.plan["plan"]["assumptions"])
    found = both.page.tables.get("found")
    shown = Counter(zip(found.column("severity"), found.column("code"), strict=True)) if found else Counter()
    assert shown == Counter((f["severity"], f["code"]) for f in both.plan["findings"])


def test_a_default_is_reported_with_the_line_it_belongs_to(tmp_path: Path) -> None:
    shutil.copy(ROOT / "inventories" / "superpod-b200-4su" / "cluster.yaml", tmp_path)
    status, html = run_command("report", str(tmp_path / "cluster.yaml"), "-o", "-")
    assert status == 0
    lines = (tmp_path / "cluster.yaml").read_text().splitlines()
    rows = {row[0]: row[2] for row in Page(html).tables["assumed"].rows}
    file, _, line = rows["tors.reserved_ports"].partition(":")
    assert file == "cluster.yaml"
    assert lines[int(line) - 1].startswith("tors:")
    assert rows["addressing.family"] == "a new section, addressing"
    assert rows["planes"] == "the top level"


def test_the_digests_are_those_of_the_manifest(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "inventories" / "lab-smallest", tmp_path / "lab")
    spec = str(tmp_path / "lab" / "cluster.yaml")
    assert run_command("build", spec, "-o", str(tmp_path / "build"))[0] == 0
    manifest = json.loads((tmp_path / "build" / "lab-smallest" / "manifest.json").read_text())
    status, html = run_command("report", spec, "-o", "-")
    assert status == 0
    text = "".join(Page(html).text)
    assert manifest["inputs"]["spec"] in text
    assert manifest["inputs"]["fabricc.lock"] in text


def test_oversubscription_is_what_is_used_down_over_what_is_used_up(both: Planned) -> None:
    down: Counter[str] = Counter()
    up: Counter[str] = Counter()
    for row in both.rows("cabling"):
        down[row["b_device"]] += int(row["speed_gbps"])
        if row["kind"] != "host":
            up[row["a_device"]] += int(row["speed_gbps"])
    worst = max(down[name] / up[name] for name in up if "-tor" in name)
    tiers = both.page.tables["tiers"]
    shown = tiers.rows[0][tiers.head.index("oversubscription")]
    assert shown == f"{round(worst, 2):g}:1"
