"""The kinds of input: where seeds come from, how they are changed, and which verbs open them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.fuzz.arena import Arena

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("FABRICC_CORPORA") or ROOT.parent / "shared" / "corpora")
"""Configurations that others published, where there are any."""
_MOST = 64
_LARGEST = 60_000


@dataclass(frozen=True)
class Target:
    """One kind of input.

    Attributes:
        shape: how it is changed, see `mutate`.
        seeds: where changes begin.
        open: hands an input to fabricc as a user would, by its verbs.
        cost: rough milliseconds of one input; inputs are spread so that every kind gets the same time.
    """

    name: str
    shape: str
    seeds: Callable[[Arena], Sequence[bytes]]
    open: Callable[[Arena, bytes], None]
    cost: int


def _pick_some(files: Iterable[Path]) -> list[bytes]:
    """Files that are not large, spread evenly when there are many."""
    known = sorted(path for path in files if path.is_file() and path.stat().st_size < _LARGEST)
    return [path.read_bytes() for path in known[:: max(1, len(known) // _MOST)]]


def _choose_option(data: bytes, *options: Any) -> Any:
    """One of some options, the same one whenever the input is the same."""
    return options[crc32(data) % len(options)]


FORMATS = ("text", "json", "sarif", "github", "junit", "gitlab")


# What a user writes.


def _spec_seeds(arena: Arena) -> list[bytes]:
    found = [(lab / "cluster.yaml").read_bytes() for lab in arena.labs.values()]
    return [
        *found,
        *_pick_some(ROOT.glob("inventories/*/cluster.yaml")),
        *map(str.encode, _page_examples("cluster")),
    ]


@cache
def _page_examples(kind: str) -> tuple[str, ...]:
    """The YAML blocks of the documentation that belong to a kind of file."""
    word = {"cluster": "cluster:", "policy": "forbid_", "access": "username:"}[kind]
    blocks = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        parts = page.read_text("utf-8").split("```")[1::2]
        blocks += [part.partition("\n")[2] for part in parts if part.startswith("yaml") and word in part]
    return tuple(blocks)


def _open_spec(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    arena.put(lab / "cluster.yaml", data)
    if crc32(data) % 4:
        arena.put(lab / "fabricc.lock", None)
    spec = lab / "cluster.yaml"
    with arena.unchanged():
        sound = arena.fabricc("validate", spec, "--format", _choose_option(data, *FORMATS))[0] == 0
        words = _choose_option(
            data,
            ("plan", spec),
            ("plan", spec, "--qos"),
            ("fmt", "--check", spec),
            ("lock", "--check", spec),
            ("explain", spec, "su001-tor1a"),
            ("explain", spec, "10.0.0.0"),
            ("diff", spec, arena.labs["sonic"] / "cluster.yaml", "-j", "1"),
            ("report", spec, "-o", arena.folder / "report.html"),
        )
        if sound or words[0] == "fmt":
            arena.fabricc(*words)


def _open_built_spec(arena: Arena, data: bytes) -> None:
    """As far as a build, of fabrics that stay small."""
    spec = arena.labs["frr"] / "cluster.yaml"
    arena.put(spec, data)
    arena.put(spec.with_name("fabricc.lock"), spec.with_name("fabricc.lock").read_bytes())
    if arena.fabricc("validate", spec)[0] == 0 and _is_small(spec):
        _build_spec(arena, spec)


def _is_small(spec: Path) -> bool:
    from fabricc.compiler.compiled import compile_spec

    front = compile_spec(spec)
    fabric = front.planned or front.infiniband
    counts: dict[str, int] = fabric.counts() if fabric is not None and hasattr(fabric, "counts") else {}
    return sum(counts.get(name, 0) for name in ("tors", "spines", "cores", "hosts")) < 40


def _build_spec(arena: Arena, spec: Path, *words: str | Path) -> None:
    """Build it; what was built has to be proved by `check`, too."""
    status, reported = arena.fabricc("build", spec, "-o", arena.out, "-j", "1", *words)
    if status == 0:
        for tree in arena.out.iterdir():
            if not tree.name.startswith("."):
                checked, why = arena.fabricc("check", tree, "--spec", spec, "-j", "1", *words)
                assert checked == 0, f"a fresh build is not proved: {reported} {why}"


def _lock_seeds(arena: Arena) -> list[bytes]:
    return [*_pick_some(arena.top.glob("*/fabricc.lock")), *_pick_some(ROOT.glob("inventories/*/*.lock"))]


def _open_lock(arena: Arena, data: bytes) -> None:
    spec = arena.labs[_choose_option(data, "frr", "sonic", "infiniband")] / "cluster.yaml"
    arena.put(spec.with_name("fabricc.lock"), data)
    with arena.unchanged():
        arena.fabricc("validate", spec, "--format", _choose_option(data, *FORMATS))
        arena.fabricc(
            *_choose_option(data, ("plan", spec), ("lock", "--check", spec), ("diff", spec, spec, "-j", "1"))
        )
        if crc32(data) % 5 == 0:
            arena.fabricc("build", spec, "--frozen", "-o", arena.out, "-j", "1")


def _catalog_seeds(_: Arena) -> list[bytes]:
    return _pick_some((ROOT / "fabricc/catalog/models").rglob("*.yaml"))


def _open_catalog(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    models = [word for word in ("7060dx5-64s", "sn5600", "linux-16x100", "dgx-b200") if word.encode() in data]
    switch = next((one for one in models if not one.startswith("dgx")), "linux-16x100")
    nos = {"7060dx5-64s": "eos", "sn5600": "sonic"}.get(switch, "frr")
    text = (lab / "cluster.yaml").read_text()
    text = text.replace("model: linux-16x100, nos: frr, uplinks: 2", f"model: {switch}, nos: {nos}", 1)
    arena.put(lab / "cluster.yaml", f"{text}catalog: [mine.yaml]\n".encode())
    arena.put(lab / "fabricc.lock", None)
    arena.put(lab / "mine.yaml", data)
    spec = lab / "cluster.yaml"
    with arena.unchanged():
        arena.fabricc("validate", spec, "--format", _choose_option(data, *FORMATS))
        arena.fabricc("plan", spec, *_choose_option(data, (), ("--qos",)))
    if crc32(data) % 3 == 0 and _is_small(spec):
        _build_spec(arena, spec)


_OVERLAID = {
    "frr": ("frr", "frr.conf"),
    "frr-linux": ("frr", "interfaces"),
    "eos": ("eos", ""),
    "nxos": ("eos", ""),
    "junos": ("sonic", ""),
    "cumulus": ("sonic", ""),
    "sonic": ("sonic", "config_db.json"),
}


def _overlay_target(name: str) -> Target:
    lab_name, into = _OVERLAID[name]
    nos = name.partition("-")[0]

    def seeds(arena: Arena) -> list[bytes]:
        return [
            *_OVERLAYS[name],
            *(part for text in _configuration_seeds(arena, nos) for part in _cut_parts(text)),
        ]

    def open_overlay(arena: Arena, data: bytes) -> None:
        lab = arena.labs[lab_name]
        entry = f"overlays: [{{file: over.txt, nos: {nos}{f', into: {into}' if into else ''}}}]\n"
        arena.put(lab / "cluster.yaml", (lab / "cluster.yaml").read_bytes() + entry.encode())
        arena.put(lab / "over.txt", data)
        with arena.unchanged():
            status, _ = arena.fabricc("validate", lab / "cluster.yaml")
        if status == 0:
            _prove_build(arena, lab / "cluster.yaml")

    shape = {"sonic": "json", "cumulus": "yaml"}.get(name, "text")
    return Target(f"overlay:{name}", shape, seeds, open_overlay, 90)


def _prove_build(arena: Arena, spec: Path) -> None:
    """A build ends with a tree that `check` proves, or with findings."""
    if arena.fabricc("build", spec, "-o", arena.out, "-j", "1")[0] == 0:
        status, reported = arena.fabricc("check", arena.out / "lab", "--spec", spec, "-j", "1")
        assert status == 0, f"a fresh build is not proved: {reported}"


_OVERLAYS: dict[str, tuple[bytes, ...]] = {
    "frr": (b"router bgp *\n address-family ipv4 unicast\n  maximum-paths 8\n", b"log syslog\n"),
    "frr-linux": (b"auto eth9\niface eth9\n    address 10.1.1.1/24\n    address 10.1.1.2/24\n",),
    "eos": (
        b"interface Ethernet*\n   load-interval 30\n",
        b"interface Ethernet1/1\n   ip address 10.9.9.9/24\n",
    ),
    "nxos": (b"interface Ethernet1/1\n  ip address 10.9.9.9/24 secondary\n", b"feature nxapi\n"),
    "junos": (b"system {\n    location {\n        building b1;\n    }\n}\n",),
    "cumulus": (b"- set:\n    system:\n      timezone: Etc/UTC\n",),
    "sonic": (b'{"PORT": {"*": {"description": "x"}}}', b'{"VLAN": {"Vlan7": {"vlanid": "7"}}}'),
}


def _cut_parts(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return [b"\n".join(lines[at : at + 12]) for at in range(0, min(len(lines), 240), 40)]


def _open_template(arena: Arena, data: bytes) -> None:
    lab_name, name = _choose_option(
        data, ("frr", "frr/frr.conf.j2"), ("eos", "eos/bgp.j2"), ("frr", "frr/interfaces.j2")
    )
    folder = arena.labs[lab_name] / "own"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    arena.put(folder / name, data)
    spec = arena.labs[lab_name] / "cluster.yaml"
    try:
        with arena.unchanged():
            arena.fabricc("build", spec, "-o", arena.out, "-j", "1", "--templates", folder)
    finally:
        from fabricc.back.nos.templating import set_template_path

        set_template_path(())


def _open_policy(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    arena.put(lab / "fabricc-policy.yaml", data)
    other = lab / "other.yaml"
    arena.put(other, (lab / "cluster.yaml").read_bytes().replace(b"dscp: 26", b"dscp: 24"))
    with arena.unchanged():
        format_ = _choose_option(data, "text", "md", "json", "sarif", "github", "junit")
        words = ("--policy", lab / "fabricc-policy.yaml") if crc32(data) % 2 else ()
        arena.fabricc("diff", other, lab / "cluster.yaml", "-j", "1", "--format", format_, *words)


def _open_identities(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    arena.put(lab / "given.csv", data)
    named = "".join(
        f"identities: {{{key}: given.csv}}\n" for key in [_choose_option(data, "devices", "links")]
    )
    arena.put(lab / "named.yaml", (lab / "cluster.yaml").read_bytes() + named.encode())
    with arena.unchanged():
        arena.fabricc("validate", lab / "named.yaml", "--format", _choose_option(data, *FORMATS))
        arena.fabricc("plan", lab / "named.yaml", "--places", lab / "given.csv")


def _identity_seeds(arena: Arena) -> list[bytes]:
    cables = (arena.labs["frr"] / "build/lab/plan/cabling.csv").read_text().split("\n")
    ends = [",".join(row.split(",")[1:5]) for row in cables if row.startswith("spine,")]
    return [
        b"device,name,asn,loopback4,management,rack,unit\n"
        b"spine01a,east,4210000001,10.128.7.7,172.16.9.9,r1,3\nsu001-tor1a,,65001,,172.16.9.8/16,r1,4\n",
        f"a_device,a_port,b_device,b_port,a_ipv4,b_ipv4\n{ends[0]},192.0.2.0,192.0.2.1\n".encode(),
    ]


def _open_netbox(arena: Arena, data: bytes) -> None:
    _import_netbox(arena, "netbox.json", data)


def _open_netbox_csv(arena: Arena, data: bytes) -> None:
    _import_netbox(
        arena,
        f"netbox_{_choose_option(data, 'devices', 'IP addresses', 'cables', 'interfaces', 'racks')}.csv",
        data,
    )


def _import_netbox(arena: Arena, name: str, data: bytes) -> None:
    """A single file, and the same in a folder of sound devices."""
    lab = arena.labs["frr"]
    (lab / "netbox").mkdir(exist_ok=True)
    arena.put(lab / "netbox" / "netbox_devices.csv", _netbox_csv(arena)[0])
    arena.put(lab / "netbox" / name, data)
    for path in (lab / "netbox" / name, lab / "netbox"):
        arena.fabricc("import", "netbox", path, "--spec", lab / "cluster.yaml", "-o", arena.out)


def _netbox_csv(_arena: Arena) -> list[bytes]:
    return [
        b"Name,Role,Rack,Position,U Height,IPv4 Address,asn\nleaf-1,Leaf,r1 (F1),4,1,172.16.9.9/16,65001\n",
        b"IP Address,Role,Interface,Parent\n10.128.7.7/32,Loopback,lo0,leaf-1\n",
        b"Device A,Termination A,Device B,Termination B\nleaf-1,swp1 (up),spine01a (asset),swp1\n",
        b'Device,Name,IP Addresses,Link Peers\nleaf-1,swp1,"192.0.2.1/31,2001:db8::1/127",spine01a > swp1\n',
        b"Name;Facility ID\nr1;F1\n",
    ]


def _netbox_seeds(_arena: Arena) -> list[bytes]:
    return [
        b'{"devices": {"results": [{"name": "leaf-1", "role": {"slug": "leaf"}, "rack": {"name": "r1"},'
        b'"position": 4.0, "primary_ip4": {"address": "172.16.9.9/16"}, "custom_fields": {"asn": 65001}}]},'
        b'"ip-addresses": [{"address": "10.128.7.7/32", "role": {"value": "loopback"}, "assigned_object":'
        b'{"name": "lo0", "device": {"name": "leaf-1"}}}], "cables": [{"a_terminations": [{"object":'
        b'{"name": "swp1", "device": {"name": "leaf-1"}}}], "b_terminations": [{"object":'
        b'{"name": "swp1", "device": {"name": "spine01a"}}}]}]}'
    ]


def _open_access(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    file = lab / "fabricc-access.yaml"
    arena.put(file, data)
    words = ("push", lab / "build" / "lab", "--spec", lab / "cluster.yaml", "--access", file)
    with arena.unchanged():
        arena.fabricc(*words, "--plan")
    arena.fabricc(*words, "--inventory-out", arena.out)


def _access_seeds(arena: Arena) -> list[bytes]:
    whole = (
        "username: a\npassword: {env: X}\nssh_key: k\nknown_hosts: h\nca_file: c\nverify: true\n"
        "timeout_s: 9\nport: 22\ndriver: eos\noptions: {a: 1}\n"
        "secrets: {tacacs: {file: x}}\nnos: {frr: {username: b}}\n"
        "devices: {su001-tor1a: {address: 10.0.0.1, password: {keyring: fabricc}}}\n"
    )
    return [whole.encode(), *map(str.encode, _page_examples("access"))]


def _open_guids(arena: Arena, data: bytes) -> None:
    lab = arena.labs["infiniband"]
    arena.put(lab / "guids.yaml", data)
    with arena.unchanged():
        arena.fabricc("validate", lab / "cluster.yaml", "--format", _choose_option(data, *FORMATS))
        arena.fabricc("plan", lab / "cluster.yaml")
        arena.fabricc("check", lab / "build" / "lab", "-j", "1")


def _guid_seeds(arena: Arena) -> list[bytes]:
    rows = (arena.labs["infiniband"] / "build/lab/plan/lids.csv").read_text().split("\n")[1:]
    names = [row.split(",")[0] for row in rows if row]
    texts = ["\n".join(f"{name}: '0x0002c90300{at:06x}'" for at, name in enumerate(names)) for _ in (0,)]
    return [text.encode() for text in (*texts, f"{names[0]}: 0002:c903:0000:0001\n", f"{names[0]}: 1\n")]


def _open_found(arena: Arena, data: bytes) -> None:
    lab = arena.labs["infiniband"]
    arena.put(lab / "found.txt", data)
    with arena.unchanged():
        arena.fabricc("check", lab / "build" / "lab", "--found", lab / "found.txt", "-j", "1")


def _topology_seeds(arena: Arena) -> list[bytes]:
    return _pick_some((arena.labs["infiniband"] / "build/lab/subnets").rglob("*topo*")) or [b"vendid=0x2c9\n"]


# What a build writes.


def _tree_folders(arena: Arena) -> list[Path]:
    return [lab / "build" / "lab" for lab in arena.labs.values()]


def _alter_tree(arena: Arena, tree: Path, path: str, content: bytes | None, *, signed: bool) -> None:
    """A tree with one file changed: `check`, and both sides of `diff`."""
    arena.put(tree / path, content)
    if signed and content is not None and path != "manifest.json":
        arena.sign(tree, path)
    pristine = arena.labs["frr"] / "build" / "lab"
    pick = crc32(content or b"")
    with arena.unchanged():
        arena.fabricc("check", tree, "-j", "1", "--format", FORMATS[pick % 6])
        if pick % 2:
            format_ = ("text", "md", "json", "sarif", "github", "junit")[pick % 6]
            sides = (tree, tree.parents[1] / "cluster.yaml") if pick % 4 == 1 else (pristine, tree)
            arena.fabricc("diff", *sides, "-j", "1", "--format", format_)
        if pick % 5 == 0:
            arena.fabricc("push", tree, "--plan")
        if pick % 3 == 0:
            arena.fabricc("explain", f"{tree / path}:{pick % 90}")


def _configuration_seeds(arena: Arena, nos: str) -> list[bytes]:
    """Files of a NOS: built ones, those of the tests, published ones."""
    found = [
        path.read_bytes()
        for path, system in _find_devices(arena).items()
        if system == nos and path.stat().st_size < 10 * _LARGEST
    ]
    golden = [path for path in (ROOT / "tests/back/nos" / nos / "golden").rglob("*") if path.is_file()]
    return [*found[:6], *_pick_some(golden), *_pick_some((CORPORA / nos).rglob("*"))]


@cache
def _find_devices(arena: Arena) -> dict[Path, str]:
    """File of a switch's main configuration -> its NOS."""
    marks = {
        "frr.conf": "frr", "config_db.json": "sonic", "juniper.conf": "junos", "startup.yaml": "cumulus",
    }  # fmt: skip
    found = {}
    for tree in _tree_folders(arena):
        for path in sorted(tree.glob("switches/*/*")):
            if path.name in marks and not (
                path.name == "frr.conf" and (path.parent / "config_db.json").exists()
            ):
                found[path] = marks[path.name]
            elif path.name == "running-config.cfg":
                found[path] = "nxos" if "feature bgp" in path.read_text() else "eos"
    return found


def _configuration_target(nos: str) -> Target:
    def open_configuration(arena: Arena, data: bytes) -> None:
        places = [path for path, system in _find_devices(arena).items() if system == nos]
        path = places[crc32(data) % len(places)]
        tree = path.parents[2]
        _alter_tree(arena, tree, path.relative_to(tree).as_posix(), data, signed=crc32(data) % 8 != 0)

    shape = {"sonic": "json", "cumulus": "yaml"}.get(nos, "text")
    return Target(
        f"config:{nos}", shape, lambda arena: _configuration_seeds(arena, nos), open_configuration, 120
    )


def _read(nos: str) -> Target:
    """The reader alone, many times quicker: it reads anything, and every line has a place."""

    def open_text(arena: Arena, data: bytes) -> None:
        from fabricc.back import nos as back_ends
        from fabricc.proof.compare import compare
        from fabricc.review.diff.trees import sessions_of

        path = next(path for path, system in _find_devices(arena).items() if system == nos)
        text = data.decode("utf-8", "replace")
        reading = back_ends.load(nos).read({path.name: text})
        lines = max(text.count("\n"), len(text.splitlines())) + 1
        assert all(1 <= line <= lines for _, line, _ in reading.unknown), "an unknown line has no place"
        compare(_read_facts(arena, nos), reading)
        sessions_of(reading.facts)
        for value in reading.facts.values():
            str(value)

    shape = {"sonic": "json", "cumulus": "yaml"}.get(nos, "text")
    return Target(f"read:{nos}", shape, lambda arena: _configuration_seeds(arena, nos), open_text, 2)


@cache
def _read_facts(arena: Arena, nos: str) -> dict[str, Any]:
    from fabricc.back import nos as back_ends

    path = next(path for path, system in _find_devices(arena).items() if system == nos)
    return dict(back_ends.load(nos).read({path.name: path.read_text()}).facts)


def _tree_seeds(pattern: str) -> Callable[[Arena], list[bytes]]:
    """Inputs that name a file of a tree in their first line and have its content after it."""

    def seeds(arena: Arena) -> list[bytes]:
        found = []
        for lab in sorted(arena.labs):
            tree = arena.labs[lab] / "build" / "lab"
            paths = [
                path for path in sorted(tree.glob(pattern)) if path.is_file() and path.name != "manifest.json"
            ]
            for path in paths[:: max(1, len(paths) // 40)]:
                head = f"{lab} {path.relative_to(tree)}\n".encode()
                found += [head + path.read_bytes()] if path.stat().st_size < 10 * _LARGEST else []
        return found

    return seeds


def _open_file(arena: Arena, data: bytes) -> None:
    head, _, content = data.partition(b"\n")
    lab, _, path = head.decode("utf-8", "replace").partition(" ")
    tree = arena.labs.get(lab, arena.labs["frr"]) / "build" / "lab"
    if len(path.encode()) < 200 and "\x00" not in path and ".." not in path and (tree / path).is_file():
        gone = content == b"" and crc32(head) % 2 == 0
        _alter_tree(arena, tree, path, None if gone else content, signed=crc32(content) % 4 != 0)


def _open_manifest(arena: Arena, data: bytes) -> None:
    tree = arena.labs[_choose_option(data, *arena.labs)] / "build" / "lab"
    _alter_tree(arena, tree, "manifest.json", data, signed=False)


# What fabricc keeps for itself.


def _open_state(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    folder = next(
        path.parent
        for path in (arena.folder / "state/fabricc/trees").glob("*/out")
        if path.read_text() == str(lab / "build")
    )
    name = _choose_option(data, "lab.record", "lab.patch", "lab.record")
    arena.put(folder / name, data)
    arena.fabricc("check", lab / "build" / "lab", "-j", "1")
    arena.fabricc("build", lab / "cluster.yaml", "-o", lab / "build", "-j", "1")


def _state_seeds(arena: Arena) -> list[bytes]:
    digest = b'{"switches/su001-tor1a/frr.conf": "' + b"0" * 64 + b'"}'
    return [*_pick_some((arena.folder / "state/fabricc/trees").glob("*/lab.record")), digest]


def _open_journal(arena: Arena, data: bytes) -> None:
    """Rows as JSON, `{"table": [[value, …], …]}`, in a journal; or its very bytes."""
    lab = arena.labs["frr"]
    journal = arena.folder / "journal.sqlite"
    for path in arena.folder.glob("journal.sqlite*"):
        path.unlink()
    if data[:1] == b"{":
        write_journal(journal, data)
    else:
        journal.write_bytes(data)
    tree, spec = lab / "build" / "lab", lab / "cluster.yaml"
    shown = ("--journal", journal, "--spec", spec)
    with arena.unchanged():
        arena.fabricc("push", tree, "--status", *shown)
        arena.fabricc("push", tree, "--status", "--run", "1", *shown)
        arena.fabricc("push", tree, "--plan", *shown)
        with answering(_answer_validly(arena)):
            arena.fabricc("push", tree, "--resume", *shown)


def write_journal(path: Path, data: bytes) -> None:
    import sqlite3
    from contextlib import closing, suppress

    from fabricc.operate.push.journal import Journal

    Journal(path).close()
    with suppress(ValueError, TypeError, RecursionError):
        tables = json.loads(data)
        with closing(sqlite3.connect(path)) as base:
            for table in ("run", "device", "step"):
                for row in tables.get(table, ()) if isinstance(tables, dict) else ():
                    with suppress(sqlite3.Error, TypeError, OverflowError, UnicodeEncodeError):
                        marks = ",".join("?" * len(row))
                        base.execute(
                            f"INSERT OR REPLACE INTO {table} VALUES ({marks})", [*map(_cell_value, row)]
                        )
            base.commit()


def _cell_value(value: Any) -> Any:
    """A value of a row; `zlib:` text is packed as the journal packs configurations."""
    import zlib

    if isinstance(value, str) and value.startswith("zlib:"):
        return zlib.compress(value[5:].encode("utf-8", "surrogatepass"))
    return value if isinstance(value, (str, int, float, type(None))) else json.dumps(value)


def _journal_seeds(arena: Arena) -> list[bytes]:
    path = arena.folder / "seed.sqlite"
    write_journal(path, b"{}")
    names = ("spine01a", "su001-tor1a")
    states = ("planned", "drained", "committed-unconfirmed", "confirmed", "unknown", "rolled-back")
    seeds = []
    for state in states:
        rows = [
            [1, n, state, _choose_option(state.encode(), "", "commit", "drain"), "why", 1, 1, "zlib:hostname a",
             "zlib:hostname b", '{"a": 1}', 1.7e9]
            for n in names
        ]  # fmt: skip
        run = [1, "push", "build/lab", "0" * 64, '{"keep": "3/4"}', 1.7e9, None, None]
        seeds.append(
            json.dumps({"run": [run], "device": rows, "step": [[1, names[0], 1.7e9, state, 3.5]]}).encode()
        )
    return [*seeds, path.read_bytes()]


def _open_bundle(arena: Arena, data: bytes) -> None:
    """A text as NAPALM's calls accept it: files, or a ValueError that the drivers report."""
    from fabricc.operate.devices.running import pack_files, unpack_files
    from fabricc.operate.drivers.bundle import candidate_files, pack_bundle

    text = data.decode("utf-8", "replace")
    path = arena.folder / "candidate"
    path.write_bytes(data)
    for ways in ((None, text), (str(path), None)):
        try:
            files = candidate_files(*ways, "frr.conf")
            assert (
                unpack_files("frr", pack_bundle(files), files)
                == {k: v if v.endswith("\n") or not v else f"{v}\n" for k, v in files.items()}
                or len(files) == 1
            )
            pack_files(files)
        except ValueError:
            continue


def _bundle_seeds(arena: Arena) -> list[bytes]:
    from fabricc.operate.drivers.bundle import pack_bundle

    folders = sorted((ROOT / "tests/back/nos/frr/golden").iterdir())
    return [pack_bundle({f.name: f.read_text() for f in folder.iterdir()}).encode() for folder in folders]


# Answers of devices.


class _Driver:
    """A driver whose getters return an input."""

    CONFIRM_STEP = 1

    def __init__(self, output: dict[str, Any], *_: Any, **__: Any) -> None:
        self._said = output

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._said:
            raise AttributeError(name)
        return lambda *_, **__: self._said[name]


class answering:  # noqa: N801 - reads as a statement
    """Inside, every switch returns this."""

    def __init__(self, output: Any) -> None:
        self.said = output if isinstance(output, dict) else {}

    def __enter__(self) -> None:
        from fabricc.operate.devices import connection

        self.before = connection.driver_class
        connection.driver_class = lambda *_: lambda *_, **__: _Driver(self.said)
        os.environ["FUZZ"] = "password"

    def __exit__(self, *_: object) -> None:
        from fabricc.operate.devices import connection

        connection.driver_class = self.before


def _open_answers(arena: Arena, data: bytes) -> None:
    lab = arena.labs["frr"]
    try:
        output = json.loads(data)
    except (ValueError, RecursionError):
        output = {"get_config": {"running": data.decode("utf-8", "replace")}}
    with arena.unchanged(), answering(output):
        format_ = _choose_option(data, "table", "json", "junit", "markdown")
        arena.fabricc("verify", lab / "build" / "lab", "--parallel", "1", "--format", format_)
        if crc32(data) % 4 == 0:
            arena.fabricc(
                "push", lab / "build" / "lab", "--dry-run", "--journal", arena.folder / "answers.sqlite"
            )


@cache
def _answer_validly(arena: Arena) -> dict[str, Any]:
    """Return a valid answer of a switch."""
    found: dict[str, Any] = json.loads(_answer_seeds(arena)[0])
    return found


def _answer_seeds(arena: Arena) -> list[bytes]:
    from fabricc.operate.drivers.bundle import pack_bundle

    tree = arena.labs["frr"] / "build" / "lab"
    rows = [line.split(",") for line in (tree / "plan/cabling.csv").read_text().splitlines()[1:]]
    ports = sorted(
        {row[i] for row in rows for i in range(len(row)) if row[i].startswith(("eth", "swp", "p"))}
    )[:12]
    heard = [
        {"remote_system_name": "spine01a", "remote_port": port, "remote_port_description": "x"}
        for port in ports[:1]
    ]
    files = {p.name: p.read_text() for p in sorted((tree / "switches/su001-tor1a").iterdir())}
    output = {
        "get_lldp_neighbors_detail": dict.fromkeys(ports, heard),
        "get_bgp_neighbors": {"global": {"router_id": "1.1.1.1", "peers": {
            address: {"is_up": True, "is_enabled": True, "remote_as": 4200000000 + at}
            for at, address in enumerate(("10.64.0.0", "10.64.0.1", "fe80::1%swp1", "swp9"))}}},
        "get_ecmp_widths": {"10.0.0.0/29": 2, "10.128.0.0/32": 1, "10.128.0.1/32": 2},
        "get_interfaces": {port: {"is_up": True, "is_enabled": True, "speed": 100000.0, "mtu": 9100} for port in ports},
        "get_interfaces_counters": {port: {"rx_errors": 7, "tx_errors": 0} for port in ports},
        "get_lossless_counters": {kind: {port: {"3": 1, "all": 2} for port in ports}
                                  for kind in ("pfc_rx", "pfc_tx", "ecn_marked", "storms", "dropped")},
        "get_alarms": ["fan 1: failed"],
        "get_config": {"running": pack_bundle(files), "startup": "", "candidate": ""},
        "has_pending_commit": False,
    }  # fmt: skip
    return [json.dumps(output).encode()]


# Objects of Git, and requests.


def _open_revision(arena: Arena, data: bytes) -> None:
    """A revision whose spec, lock or policy is the input."""
    repository = arena.folder / "repository"
    lab = arena.labs["frr"]
    name = _choose_option(data, "cluster.yaml", "fabricc.lock", "fabricc-policy.yaml")
    files = {one: (lab / one).read_bytes() for one in ("cluster.yaml", "fabricc.lock")} | {name: data}
    if not repository.exists():
        _git(arena.folder, "init", "-q", "-b", "main", str(repository))
        for one in ("cluster.yaml", "fabricc.lock"):
            (repository / one).write_bytes((lab / one).read_bytes())
    stream = [b"commit refs/heads/head\ncommitter a <a@b> 1 +0000\ndata 1\nx\ndeleteall\n"]
    for path, content in files.items():
        stream.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
    _git(repository, "fast-import", "--quiet", "--force", given=b"".join(stream))
    arena.fabricc("diff", repository / "cluster.yaml", "--base", "head", "-j", "1")
    arena.fabricc(
        "check",
        repository / "build/lab",
        "--committed",
        "head",
        "--spec",
        repository / "cluster.yaml",
        "-j",
        "1",
    )


def _git(folder: Path, *words: str, given: bytes = b"") -> None:
    subprocess.run(["git", *words], cwd=folder, input=given, check=True, capture_output=True, timeout=60)


def _open_words(arena: Arena, data: bytes) -> None:
    """Arguments of `explain`, `catalog` and others: words of the command line."""
    from fabricc.cli.entry import VERBS

    text = data.decode("utf-8", "surrogateescape").replace("\x00", "")
    words = [word[:60] for word in text.split("\n") if word][:3]
    lab = arena.labs[_choose_option(data, "frr", "eos", "infiniband")]
    if words and words[0] not in VERBS:
        with arena.unchanged():
            arena.fabricc("explain", lab / "cluster.yaml", *(one for one in words if not one.startswith("-")))
            arena.fabricc("explain", words[0].lstrip("-") or "x")
            arena.fabricc("explain", f"{lab / 'build/lab/switches'}/{words[0]}")
            arena.fabricc("catalog", words[0].lstrip("-") or "x")


def _word_seeds(arena: Arena) -> list[bytes]:
    return [
        b"10.0.0.6", b"10.0.0.0/29", b"AS4200524288", b"su001-tor1a", b"su001-tor1a:Ethernet8\necn", b"fd00::1",
        b"su001-host01", b"FAB4003", b"su001-tor1a/frr.conf:12", b"sn5600", b"rack001-tor1a:Ethernet1/1\nqueue",
        b"spine01a\nbgp/asn", b"priority 3", b"xoff",
    ]  # fmt: skip


TARGETS = {
    target.name: target
    for target in (
        Target("spec", "yaml", _spec_seeds, _open_spec, 13),
        Target("spec:build", "yaml", lambda arena: _spec_seeds(arena)[:4], _open_built_spec, 20),
        Target("lock", "text", _lock_seeds, _open_lock, 14),
        Target("catalog", "yaml", _catalog_seeds, _open_catalog, 26),
        *map(_overlay_target, _OVERLAID),
        Target("template", "text", lambda _: [*_pick_some((ROOT / "templates").glob("*/*.j2"))], _open_template, 80),
        Target("policy", "yaml", lambda _: [*map(str.encode, _page_examples("policy"))], _open_policy, 19),
        Target("access", "yaml", _access_seeds, _open_access, 43),
        Target("identities", "text", _identity_seeds, _open_identities, 60),
        Target("netbox", "json", _netbox_seeds, _open_netbox, 80),
        Target("netbox-csv", "text", _netbox_csv, _open_netbox_csv, 80),
        Target("guids", "yaml", _guid_seeds, _open_guids, 25),
        Target("ibnetdiscover", "text", _topology_seeds, _open_found, 31),
        Target("manifest", "json",
            lambda arena: [(tree / "manifest.json").read_bytes() for tree in _tree_folders(arena)],
               _open_manifest, 20),
        *map(_read, ("frr", "eos", "nxos", "junos", "sonic", "cumulus")),
        *map(_configuration_target, ("frr", "eos", "nxos", "junos", "sonic", "cumulus")),
        Target("tree:switches", "text", _tree_seeds("switches/**/*"), _open_file, 70),
        Target("tree:hosts", "text", _tree_seeds("hosts/**/*"), _open_file, 70),
        Target("tree:subnets", "text", _tree_seeds("subnets/**/*"), _open_file, 40),
        Target("tree:plan", "text", _tree_seeds("[!sh]*/*"), _open_file, 40),
        Target("state", "json", _state_seeds, _open_state, 74),
        Target("journal", "json", _journal_seeds, _open_journal, 140),
        Target("bundle", "text", _bundle_seeds, _open_bundle, 1),
        Target("answers", "json", _answer_seeds, _open_answers, 60),
        Target("revision", "yaml", lambda arena: _spec_seeds(arena)[:1], _open_revision, 150),
        Target("words", "text", _word_seeds, _open_words, 16),
    )
}  # fmt: skip
"""Kind -> its seeds and the function that opens an input."""
