"""Fabrics that netlab generates are adopted to zero difference: names, numbers, addresses and ports stay."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fabricc.audit.adopt import run
from fabricc.base.diagnostics import Severity
from fabricc.fabric.model import Direction
from tests.audit.fabrics import device, found_of

pytestmark = pytest.mark.slow

LEAVES, SPINES, HOSTS = (1, 2, 3, 4), (1, 2), (1, 2)
SYSTEMS = {
    "eos": ("eos", "running-config.cfg"),
    "nxos": ("nxos", "running-config.cfg"),
    "cumulus_nvue": ("cumulus", "startup.yaml"),
    "frr": ("frr", "frr.conf"),
    "vjunos-switch": ("junos", "juniper.conf"),
}


def make_topology(platform, plain):
    """Return an eBGP fabric of four leaves with a host on each of two ports, below two spines, for netlab.

    `plain`: as short as possible, so with netlab's pools, /30 between switches, a LAN for each host, and uplinks on the
    first ports; otherwise with /31 links and hosts first.
    """
    nodes = [f"  s{s}: {{bgp.as: 65000}}" for s in SPINES]
    nodes += [f"  l{n}: {{bgp.as: {65000 + n}}}" for n in LEAVES]
    nodes += [f"  h{n}{k}: {{device: linux, module: []}}" for n in LEAVES for k in HOSTS]
    if plain:
        links = [f"- l{n}-s{s}" for n in LEAVES for s in SPINES] + [
            f"- l{n}-h{n}{k}" for n in LEAVES for k in HOSTS
        ]
        return "\n".join([
            "provider: clab", f"defaults.device: {platform}", "module: [bgp]", "bgp.sessions.ipv4: [ebgp]",
            "nodes:", *nodes, "links:", *links, "",
        ])  # fmt: skip
    links = [f"- {{l{n}: , h{n}{k}: , type: p2p, pool: hosts}}" for n in LEAVES for k in HOSTS]
    links += [f"- {{l{n}: , s{s}: , type: p2p}}" for n in LEAVES for s in SPINES]
    return "\n".join([
        "provider: clab", f"defaults.device: {platform}", "module: [bgp]", "bgp.sessions.ipv4: [ebgp]",
        "addressing:", "  p2p: {ipv4: 10.1.0.0/16, prefix: 31}", "  hosts: {ipv4: 10.2.0.0/16, prefix: 31}",
        "nodes:", *nodes, "links:", *links, "",
    ])  # fmt: skip


def generate_configurations(platform, folder, plain):
    """Switch -> its configuration, as netlab renders it."""
    beside = Path(sys.executable).with_name("netlab")
    netlab = str(beside) if beside.exists() else shutil.which("netlab")
    if netlab is None:
        pytest.skip("netlab is not installed: pip install -e '.[judges]'")
    (folder / "topology.yml").write_text(make_topology(platform, plain))
    made = subprocess.run(
        [netlab, "create"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert made.returncode == 0, made.stderr
    names = [f"s{s}" for s in SPINES] + [f"l{n}" for n in LEAVES]
    found = {}
    for name in names:
        initial, bgp = ((folder / "node_files" / name / part).read_text() for part in ("initial", "bgp"))
        if platform == "frr":  # scripts that hand lines to vtysh
            initial = initial.partition("<<CONFIG\n")[2].partition("\nCONFIG\n")[0]
            bgp = bgp.partition("\n")[2]
        text = f"{initial}\n{bgp}".replace("\ndo write", "\n")
        found[name] = format_braces(text) if platform == "vjunos-switch" else print_configuration(text)
    return found


def format_braces(text):
    """As Junos prints what it merged: each block once, units below their ports, no `delete:`."""
    tokens = iter(re.findall(r'"[^"]*"|[{};]|[^\s{};]+', text))
    tree = parse_block(tokens)
    ports = {}
    for name, below in tree["interfaces"].items():
        port, _, unit = name.partition(".")
        merge(ports.setdefault(port, {}), {f"unit {unit}": below} if unit else below)
    return "".join(f"{line}\n" for line in format_tree(tree | {"interfaces": ports}))


def parse_block(tokens):
    tree, words = {}, []
    for token in tokens:
        if token not in "{};":
            words.append(token)
            continue
        below = parse_block(tokens) if token == "{" else {}
        if words and words[0] != "delete:":
            merge(tree.setdefault(" ".join(words), {}), below)
        words = []
        if token == "}":
            break
    return tree


def merge(tree, more):
    for key, below in more.items():
        merge(tree.setdefault(key, {}), below)


def format_tree(tree, depth=0):
    for key, below in tree.items():
        yield f"{'    ' * depth}{key}" + (" {" if below else ";")
        yield from format_tree(below, depth + 1)
        if below:
            yield f"{'    ' * depth}}}"


def print_configuration(text):
    """As a device prints it: without comments inside a block."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    kept = []
    for at, line in enumerate(lines):
        after = next((each for each in lines[at + 1 :] if not each.lstrip().startswith("!")), "")
        if not (line.lstrip().startswith("!") and after.startswith(" ")):
            kept.append(line)
    return "\n".join(kept) + "\n"


@pytest.fixture(scope="module", params=[False, True], ids=["links of two", "plain"])
def plain(request):
    return request.param


@pytest.fixture(scope="module", params=SYSTEMS)
def adoption(request, plain, tmp_path_factory):
    system, file = SYSTEMS[request.param]
    texts = generate_configurations(request.param, tmp_path_factory.mktemp(request.param), plain)
    found = found_of({name: device(name, system, {file: text}) for name, text in texts.items()})
    return run.adopted_of(found, Path("theirs"), "theirs")


def test_a_build_states_what_every_device_states(adoption):
    assert adoption.adopted.compiled.sound, [found.message for found in adoption.findings]
    assert adoption.adopted.left == adoption.adopted.moved == ()
    assert {name: [each.path for each in some] for name, some in adoption.adopted.differences.items()} == {
        name: [] for name in adoption.found.devices
    }
    assert not [f for f in adoption.adopted.compiled.proof(jobs=1) if f.severity is Severity.ERROR]


def test_adopt_reports_the_values_that_it_infers(adoption, plain):
    reported = "".join(found.message for found in adoption.findings)
    assert ("do not take the hosts' files" in reported) == plain
    words = adoption.adopted.draft.words
    assert words["tors"].get("uplinks_first", False) == plain
    assert words["addressing"].get("link_prefix_length", 31) == (30 if plain else 31)


def test_the_plan_itself_has_their_names_numbers_addresses_and_ports(adoption, plain):
    for switch in adoption.adopted.compiled.switches():
        facts = adoption.found.devices[switch.name].reading.facts
        assert (facts["bgp/asn"], facts["bgp/router_id"]) == (switch.bgp.asn, switch.bgp.router_id)
        ports = {
            p.name: p.ipv4 for p in switch.ports if p.ipv4 and not (plain and p.direction is Direction.HOST)
        }
        assert ports
        assert all(address.endswith("/30") is plain for address in ports.values())
        assert ports == {name: facts.get(f"interface[{name}]/ipv4") for name in ports}
        sessions = {session.remote: session.remote_asn for session in switch.bgp.sessions}
        assert sessions == {remote: facts[f"bgp/neighbor[{remote}]/remote_asn"] for remote in sessions}
