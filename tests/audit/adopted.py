"""Which fabrics of fabricc's own making come back when they are adopted: `python -m tests.audit.adopted [WORD ...]`.

Each spec is compiled, its files are given to `adopt` as a folder of somebody else's, and what comes of that is held
against them. Prints a row for each: devices, how many come back the same, facts that differ, devices left out.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from fabricc import compile_spec
from fabricc.audit.adopt import run
from fabricc.base.diagnostics import Severity
from tests.audit.fabrics import INVENTORIES, collect_devices, found_of
from tests.outward import spec_text as outward
from tests.segmented import spec_text as segmented

if TYPE_CHECKING:
    from fabricc.audit.adopt.run import Adoption
    from fabricc.compiler.compiled import Compiled

DOCS = Path(__file__).parents[2] / "docs"
STARTER = Path(__file__).parents[2] / "fabricc" / "cli" / "starter" / "cluster.yaml"

PRIORITIES = {"rdma": {"dscp": 26, "lossless": True}, "cnp": {"dscp": 48, "strict": True}, "default": {}}
STORAGE_CLASS = {"storage": {"dscp": 34, "lossless": True}, **PRIORITIES}
FIBRE = {"host": {"medium": "smf", "length_m": 7}, "spine": {"medium": "smf", "length_m": 35}}
BOX = {"model": "sn5600", "nos": "sonic-202505"}
ARISTA = {"model": "7060x6-64pe", "nos": "eos"}


def small_spec(box: dict[str, Any] = ARISTA, **more: Any) -> dict[str, Any]:
    """Eight hosts of eight rails behind two spines; what is given goes before."""
    return {
        "cluster": "zone",
        "gpus": {"model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4},
        "tors": {**box, "uplinks": 8},
        "spines": {**box, "count": 2},
        "priorities": PRIORITIES,
        "cables": FIBRE,
        **more,
    }


def host_groups(*groups: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Host groups on SONiC, with uplinks by the default ratio."""
    return small_spec(gpus={"groups": list(groups)}, tors=BOX, spines=BOX, **more)


GPU = {"name": "gpu", "model": "dgx-h100", "hosts": 8, "hosts_per_unit": 4}
STORE = {"name": "store", "model": "storage-2x400", "hosts": 6, "hosts_per_unit": 4}
LOGIN = {"name": "login", "model": "cpu-2x100", "hosts": 2, "hosts_per_unit": 1, "beside": "gpu"}
NETWORK = {
    "hosts_per_unit": 8,
    "tors": {**ARISTA},
    "spines": {**ARISTA, "count": 2},
    "priorities": {"default": {}},
}

SHAPES: dict[str, dict[str, Any]] = {
    "groups, small": {
        "cluster": "zone",
        "gpus": {"groups": [
            {"name": "gpus", "model": "lab-host", "hosts": 4, "hosts_per_unit": 2},
            {"name": "login", "model": "cpu-2x100", "hosts": 2, "hosts_per_unit": 1, "beside": "gpus"},
        ]},
        "tors": {"model": "linux-16x100", "nos": "frr", "uplinks": 2},
        "spines": {"model": "linux-16x100", "nos": "frr", "count": 2},
        "priorities": PRIORITIES,
    },
    "groups in units of their own": host_groups(GPU, STORE),
    "groups of one model": host_groups(GPU, {**GPU, "name": "old", "hosts": 4}),
    "groups beside": host_groups(GPU, LOGIN),
    "groups of three kinds": host_groups(GPU, {**STORE, "class": "storage"}, LOGIN, priorities=STORAGE_CLASS),
    "a network": small_spec(networks={"storage": NETWORK}),
    "two networks": small_spec(networks={"storage": NETWORK, "frontend": {**NETWORK, "hosts_per_unit": 4}}),
    "a network of its own words": small_spec(
        networks={"nvme": {**NETWORK, "ports": "storage", "wiring": "rail", "priorities": STORAGE_CLASS}}
    ),
    "hosts of networks alone": small_spec(
        networks={
            "storage": {**NETWORK, "groups": [{"name": "store", "model": "storage-2x400", "hosts": 4}]},
            "frontend": {**NETWORK, "groups": [{"name": "store"}]},
        }
    ),
    "spines by rail": small_spec(spines={**ARISTA, "count": 2, "rails": 4}),
    "spines by rail and cores": small_spec(
        spines={**ARISTA, "count": 2, "rails": 4, "uplinks": 4, "units_per_pod": 1}, cores={**ARISTA, "count": 2}
    ),
    "out-of-band networks": small_spec(
        management={"networks": [{"network": "172.20.0.0/19", "prefix_length": 24, "units": 1},
                                 {"tier": "spine", "network": "172.21.0.0/21"}]}),
    "border leaves, RADIUS": small_spec(
        tors={**ARISTA, "uplinks": 4, "border": 2},
        management={"radius": {"servers": ["172.16.0.6", "172.16.0.5"], "key": {"secret": "radius"}}},
    ),
    "moved": small_spec(moved={"spine01a": "spine-east", "su001": "hall-a"}),
    "named hosts": small_spec(gpus={
        "model": "dgx-h100", "hosts": ["ada", "bob", "cy", "di", "eve"], "hosts_per_unit": 4,
    }),
    "services": small_spec(management={
        "access": ["172.16.9.0/24"], "ntp": ["172.16.0.2"], "banner": "Authorized use only.",
        "ntp_authentication": {"key_id": 4, "key": {"secret": "ntp"}},
        "syslog": ["172.16.0.4"], "syslog_tls": {"ca": "logs", "port": 6515},
        "tacacs": {"servers": ["172.16.0.5"], "key": {"secret": "tacacs"}},
        "snmp": {"community": {"secret": "snmp"}, "location": "hall-3", "users": [
            {"name": "monitor", "auth": {"secret": "auth"}, "privacy": {"secret": "privacy"}}],
            "traps": {"servers": ["172.16.0.6"], "user": "monitor"}},
        "lldp": {"interval_s": 20}},
        routing={"ttl_security": True}, load_balancing={"mode": "flowlet", "queue_pairs": True}),
}  # fmt: skip


def specs_to_try() -> dict[str, dict[str, Any] | Path]:
    """Everything that is tried: what -> the spec's words, or its file."""
    found: dict[str, dict[str, Any] | Path] = {**SHAPES}
    for nos in ("eos", "sonic", "frr", "cumulus", "nxos", "junos"):
        found[f"ways out, {nos}"] = yaml.safe_load(outward(nos))
    found["ways out, both families"] = yaml.safe_load(outward("eos", dual=True))
    for nos in ("eos", "frr"):
        found[f"segments, {nos}"] = yaml.safe_load(segmented(nos))
    found["segments, both families"] = yaml.safe_load(segmented("frr", dual=True))
    recipes = (DOCS / "cookbook.md").read_text("utf-8")
    for section in recipes.split("\n## ")[1:]:
        task = section.partition("\n")[0]
        if recipe := re.search(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            found[f"cookbook: {task}"] = recipe_words(recipe[1])
    for page in sorted({*DOCS.glob("*.md")} - {DOCS / "add-a-nos.md"}):  # of a system that it adds
        blocks = re.findall(
            r"^```yaml\n(cluster:.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        found |= {f"{page.stem}, {at}": yaml.safe_load(each) for at, each in enumerate(blocks, 1)}
    return found | {
        folder.name: folder / "cluster.yaml" for folder in sorted(INVENTORIES.iterdir()) if folder.is_dir()
    }


def recipe_words(recipe: str) -> dict[str, Any]:
    """A recipe of the cookbook on the spec that `fabricc init` writes."""
    return {**yaml.safe_load(STARTER.read_text("utf-8")), **yaml.safe_load(recipe)}


GAPS = ("FAB5201", "FAB5202", "FAB5510", "FAB5513", "FAB5725", "FAB5832", "FAB5418", "FAB5419")
"""The gaps of a system are no part of these specs."""


def compiled_of(words: dict[str, Any] | Path, folder: Path) -> Compiled:
    """A spec compiled, what systems cannot express accepted."""
    path = words if isinstance(words, Path) else folder / "cluster.yaml"
    if not isinstance(words, Path):
        own = words.get("accept", [])
        known = {each["code"] for each in own}
        more = [{"code": code, "reason": "no part of what is tried"} for code in GAPS if code not in known]
        text = yaml.safe_dump({**words, "accept": [*own, *more]})
        path.write_text(text)
    return compile_spec(path)


def adopt_compiled(compiled: Compiled, **kept: Any) -> Adoption:
    """Return what adopting the files of a fabric comes to."""
    return run.adopted_of(found_of(collect_devices(compiled, **kept)), Path("folder"), compiled.spec.cluster)


class Row(NamedTuple):
    """The result of adopting the configurations of a spec."""

    devices: int
    same: int
    differing: int
    left: int
    sound: bool
    seconds: float


def row_of(words: dict[str, Any] | Path) -> Row | str:
    """Return what came of adopting a spec's fabric; words where it does not build itself."""
    with TemporaryDirectory() as folder:
        compiled = compiled_of(words, Path(folder))
        if not compiled.sound or compiled.infiniband is not None:
            errors = [d.code for d in compiled.diagnostics if d.severity is Severity.ERROR]
            return f"does not build: {', '.join(errors)}" if errors else "InfiniBand"
        start = time.process_time()
        adoption = adopt_compiled(compiled)
    made = adoption.adopted
    differing = sum(map(len, made.differences.values()))
    return Row(
        len(adoption.found.devices), adoption.same, differing, len(made.left), made.compiled.sound,
        time.process_time() - start,
    )  # fmt: skip


def main(words: list[str]) -> None:
    print(f"{'spec':44} {'devices':>8} {'same':>6} {'facts':>7} {'left':>5}  {'s':>5}")
    for name, spec in specs_to_try().items():
        if words and not any(word in name for word in words):
            continue
        row = row_of(spec)
        if isinstance(row, str):
            print(f"{name:44} {row}")
            continue
        verdict = "" if row.sound else "cannot be built"
        verdict = "zero" if row.sound and row.same == row.devices else verdict
        print(f"{name:44} {row.devices:8,} {row.same:6,} {row.differing:7,} {row.left:5,} {row.seconds:6.1f} {verdict}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
