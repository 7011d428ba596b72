"""The MCP server, called by the client of the protocol's own SDK over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tracemalloc
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabricc import build
from fabricc.base.foreign import files
from fabricc.base.foreign.git import Repository
from fabricc.base.foreign.git_process import GitError
from tests.operate.push.network import PASSWORD, SIMULATED, Network

anyio = pytest.importorskip("anyio", reason="the Python package mcp is not installed")

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import ModuleType

    from fabricc.integrations.mcp import ReadableFolder

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="the Python package mcp is not installed")

ROOT = Path(__file__).parents[2]
SPEC = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: 7060x6-64pe, nos: eos}
spines: {model: 7060x6-64pe, nos: eos, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  default: {}
management: {network: 172.16.0.0/12, snmp: {community: {secret: snmp-read}}}
"""


@pytest.fixture(scope="module")
def server() -> ModuleType:
    """Return the module of the server; each worker collects these tests, and its SDK takes a second to import."""
    return import_module("fabricc.integrations.mcp")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a spec, a changed one and a tree, next to files that no client may read."""
    top = tmp_path_factory.mktemp("mcp") / "root"
    top.mkdir()
    (top / "cluster.yaml").write_text(SPEC)
    (top / "changed.yaml").write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")
    assert build(top / "cluster.yaml", top / "build", jobs=1).exit_status == 0
    (top.parent / "outside.yaml").write_text(SPEC)
    (top / "link.yaml").symlink_to(top.parent / "outside.yaml")
    return top


@asynccontextmanager
async def open_client(folder: Path, *options: str, **environment: str) -> AsyncIterator[Any]:
    """A client of a server that may read a folder."""
    import mcp

    paths = os.pathsep.join([str(ROOT), environment.pop("PYTHONPATH", "")]).rstrip(os.pathsep)
    started = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "fabricc", "mcp", "--root", str(folder), *options],
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )
    async with mcp.Client(mcp.stdio_client(started)) as client:
        yield client


def tree_contents(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


def run_for_programs(*words: str, cwd: Path) -> Any:
    """Return the output of the verb for programs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "fabricc", *words, "--format", "json"],
        cwd=cwd, env=environment, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    return json.loads(ran.stdout)


async def few(root: Path) -> None:
    async with open_client(root) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["plan", "explain", "diff", "audit"], "no `verify` without --access"
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        assert tools["diff"].input_schema["required"] == ["before"]
        assert all(output["description"] for output in tools["diff"].input_schema["properties"].values())

        code = await result(client, "explain", subject="FAB0071")
        assert code["document"]["explanation"]["subject"] == "FAB0071"
        for path in ("../outside.yaml", str(root.parent / "outside.yaml"), "link.yaml", "/etc/passwd"):
            for tool, argument in (("plan", "spec"), ("diff", "before"), ("audit", "folder")):
                assert "FAB0071" in await refused(client, tool, **{argument: path}), (tool, path)
            assert "FAB0071" in await refused(client, "explain", subject=path, about="spine01a")
        assert "FAB0071" in await refused(client, "explain", subject="/etc/passwd:1")
        assert "FAB0071" in await refused(client, "plan", spec="cluster\0.yaml")
        assert "FAB0071" in await refused(client, "explain", subject="a" * 5000, about="spine01a")
        assert "FAB0072" in await refused(client, "diff", before="cluster.yaml", base="main\0")
        assert "FAB0071" in await refused(client, "diff", before="cluster.yaml", after="link.yaml")
        assert "spec" in await refused(client, "plan", spec=["cluster.yaml"])


async def many(root: Path) -> None:
    async with open_client(root) as client:
        plan = await result(client, "plan", spec="cluster.yaml", most=1000)
        assert (plan["status"], plan["left_out"]) == (0, {})
        assert plan["document"] == run_for_programs("plan", "./cluster.yaml", cwd=root)
        why = await result(client, "explain", subject="build/zone", about="su001-tor1a", facts=["asn"])
        assert why["document"]["explanation"]["statements"]
        line = await result(client, "explain", subject="build/zone/switches/su001-tor1a/running-config.cfg:1")
        assert line["document"]["explanation"]["kind"] == "line"
        change = await result(client, "diff", before="cluster.yaml", after="changed.yaml", most=1)
        assert (change["document"]["devices_changed"], change["document"]["renumbered"]["asns"]) == (1, 0)
        found = await result(client, "audit", folder="build/zone", most=3)
        assert len(found["document"]["devices"]) == 18 + 8
        assert len(found["document"]["links"]) == 3 < found["left_out"]["links"]
        assert "FAB9270" in str(
            await result(client, "explain", subject="cluster.yaml", about="--spec=/etc/passwd")
        )
        assert "FAB9020" in str(
            await result(client, "diff", before="cluster.yaml", base="--output=changed.yaml")
        )
        assert "neither a code nor a line" in await refused(client, "explain", subject="cluster.yaml")


async def result(client: Any, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return answer.structured_content


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    return str(answer.content[0].text)


@pytest.mark.slow
def test_mcp_rejects_paths_outside_the_folder(root: Path) -> None:
    anyio.run(few, root)


@pytest.mark.slow
def test_mcp_answers_equal_the_verbs_and_write_nothing(root: Path) -> None:
    before = tree_contents(root)
    anyio.run(many, root)
    assert tree_contents(root) == before


@pytest.mark.slow
def test_a_spec_outside_is_not_read_for_a_tree_inside(server: ModuleType, root: Path, tmp_path: Path) -> None:
    place = server.ReadableFolder(root.resolve())
    assert place.spec_of("./build/zone") == "./cluster.yaml"
    assert (place.path("-x"), place.path("build/../cluster.yaml")) == ("./-x", "./cluster.yaml")
    for path in ("cluster\0.yaml", "\ud800", "build/../../outside.yaml"):
        with pytest.raises(server.RequestError, match="not below the folder"):
            place.path(path)
    inner = server.ReadableFolder((root / "build").resolve())
    with pytest.raises(server.RequestError, match="not below the folder"):
        inner.spec_of("./zone")


def test_mcp_shortens_long_values_and_reports_it(server: ModuleType, tmp_path: Path) -> None:
    value = {"a": [1, 2, 3], "b": {"c": "x" * 9000, "e": [[], [4, 5, 6]]}, "f": None}
    kept, left_out = server.shorten_value(value, 2)
    assert kept == {"a": [1, 2], "b": {"c": "x" * 8000, "e": [[], [4, 5]]}, "f": None}
    assert left_out == {"a": 1, "b.c": 1000, "b.e.1": 1}
    assert server.shorten_value(dict.fromkeys(range(50), 0), 2)[1] == {"": 10}
    assert server.shorten_value(value, 10_000)[0]["f"] is None


@pytest.fixture
def other(
    server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], ReadableFolder]:
    """Return a folder whose verbs run a script, its process ID written to `pid`."""

    def made(script: str) -> ReadableFolder:
        (tmp_path / "fabricc").mkdir()
        (tmp_path / "fabricc/__init__.py").touch()
        start = f"import os, sys, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
        (tmp_path / "fabricc/__main__.py").write_text(f"{start}\n{script}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        place: ReadableFolder = server.ReadableFolder(tmp_path)
        return place

    return made


def is_running(folder: Path) -> bool:
    """Return whether the process of `other` is there."""
    return Path("/proc", (folder / "pid").read_text()).exists()


def test_mcp_stops_a_verb_with_too_much_output(
    server: ModuleType,
    other: Callable[[str], ReadableFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_LARGEST", 1 << 20)
    place = other("for _ in range(640): sys.stdout.write('x' * 65536)\ntime.sleep(300)")
    tracemalloc.start()
    try:
        with pytest.raises(server.RequestError) as caught:
            asyncio.run(asyncio.wait_for(place.run_verb(["plan"], [], 50), 60))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert caught.value.code == "FAB0078"
    assert not is_running(tmp_path)


def test_a_verb_that_takes_too_long_is_ended(
    server: ModuleType,
    other: Callable[[str], ReadableFolder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "_LONGEST_S", 1)
    place = other("sys.stdout.write('x' * 1_000_000)\nsys.stdout.flush()\ntime.sleep(300)")
    with pytest.raises(server.RequestError) as caught:
        asyncio.run(asyncio.wait_for(place.run_verb(["plan"], [], 50), 60))
    assert caught.value.code == "FAB0073"
    assert not is_running(tmp_path)


def test_of_what_is_no_answer_the_end_is_reported(
    server: ModuleType, other: Callable[[str], ReadableFolder]
) -> None:
    place = other("sys.stderr.write('x' * 100_000 + 'what went wrong')\nsys.exit(3)")
    with pytest.raises(server.RequestError, match=r"ended with status 3: x+what went wrong$") as caught:
        asyncio.run(place.run_verb(["plan"], [], 50))
    assert len(caught.value.diagnostic.message) < 9000


def test_a_question_that_is_cancelled_ends_its_process(
    other: Callable[[str], ReadableFolder], tmp_path: Path
) -> None:
    place = other("time.sleep(300)")

    async def asking() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(place.run_verb, ["plan"], [], 50)
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        with anyio.move_on_after(10):
            while is_running(tmp_path):
                await anyio.sleep(0.01)

    anyio.run(asking)
    assert not is_running(tmp_path)


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    yield found
    found.stop()


async def verification(network: Network, secret: str) -> None:
    access = network.spec.parent / "fabricc-access.yaml"
    aside = network.folder.parent / f"{network.folder.name}-access.yaml"
    aside.write_text(access.read_text())
    access.unlink()
    async with open_client(network.folder, "--access", str(aside), PYTHONPATH=str(SIMULATED)) as client:
        assert "verify" in {tool.name for tool in (await client.list_tools()).tools}
        tree = f"out/{network.source.tree.name}"
        answer = await client.call_tool("verify", {"tree": tree, "devices": ["spine01a"], "aspects": ["bgp"]})
        assert not answer.is_error, answer.content
        document = answer.structured_content["document"]
        assert (answer.structured_content["status"], list(document["compared"]["bgp"])) == (0, ["spine01a"])
        assert secret not in str(answer)
        wrong = await client.call_tool("verify", {"tree": tree, "aspects": ["no-such-aspect"]})
        assert wrong.is_error


@pytest.mark.slow
def test_mcp_contacts_switches_only_with_given_logins(network: Network) -> None:
    anyio.run(partial(verification, network, PASSWORD))


def test_mcp_names_the_missing_package(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError('no', name='mcp')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    ran = subprocess.run(
        [sys.executable, "-m", "fabricc", "mcp"],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "FAB0070" in ran.stderr
    assert "fabricc[mcp]" in ran.stderr


LEADING_OUT = {
    "catalog": "catalog: [c.yaml]\n", "overlay": "overlays: [{file: c.yaml, nos: eos}]\n",
    "moves": "", "policy": "",
}  # fmt: skip


@pytest.fixture
def inner(tmp_path: Path) -> Path:
    """A folder inside a larger repository, with links to a file that is outside of it and inside the repository."""
    top = tmp_path / "repo"
    (top / "fab").mkdir(parents=True)
    (top / "secret").mkdir()
    (top / "secret/c.yaml").write_text("CANARY-KEY: CANARY-VALUE\n")
    (top / "fab/cluster.yaml").write_text(SPEC)
    for name in ("c.yaml", "fabricc-policy.yaml", "linked.lock"):
        (top / "fab" / name).symlink_to("../secret/c.yaml")
    (top / "fab/linked.yaml").write_text(SPEC)
    (top / "fab/folder").symlink_to("../secret")
    for name, text in LEADING_OUT.items():
        (top / f"fab/{name}.yaml").write_text(SPEC + text)
    (top / "fab/through.yaml").write_text(SPEC + "catalog: [folder/c.yaml]\n")
    commit(top)
    return top / "fab"


def commit(top: Path) -> None:
    own = {**os.environ, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@example.com"}  # fmt: skip
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", "-C", str(top), *words], check=True, env=own, stdin=subprocess.DEVNULL)


@pytest.mark.slow
def test_files_that_a_spec_names_are_below_the_root_too(inner: Path) -> None:
    async def ask() -> None:
        async with open_client(inner) as client:
            for name in ("catalog", "overlay", "through", "linked", "policy"):
                answer = await client.call_tool("plan", {"spec": f"{name}.yaml"})
                assert "CANARY" not in str(answer), name
            for name in ("policy", "linked", "catalog"):
                answer = await client.call_tool("diff", {"before": "cluster.yaml", "after": f"{name}.yaml"})
                assert "CANARY" not in str(answer), name
            answer = await client.call_tool("plan", {"spec": "catalog.yaml"})
            assert "outside of" in str(answer) or "leads out" in str(answer)

    anyio.run(ask)


@pytest.mark.slow
def test_git_has_no_file_of_the_repository_above_the_root(inner: Path) -> None:
    repository = Repository.of(inner)
    head = repository.commit("HEAD")
    assert repository.entry(head, "secret/c.yaml") is not None
    files.set_boundary(inner)
    try:
        assert repository.entry(head, "fab/cluster.yaml") is not None
        for path in ("secret/c.yaml", "secret", "fab2", "fa"):
            with pytest.raises(GitError, match="may be read"):
                repository.entries(head, path)
        for opened in (files.read, files.read_regular_file, files.digest_of_file, files.plain_digest):
            with pytest.raises(OSError, match="may be read"):
                opened(inner.parent / "secret/c.yaml")
            with pytest.raises(OSError, match=r"may be read|symbolic link"):
                opened(inner / "c.yaml")
            with pytest.raises(OSError, match="may be read"):
                opened(inner / "folder/c.yaml")
        with pytest.raises(OSError, match="may be read"):
            files.Folder(inner / "folder")
    finally:
        files._boundary = ()


@pytest.mark.slow
def test_a_diff_against_git_compares_revisions_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "fab").mkdir()
    spec = tmp_path / "fab/cluster.yaml"
    spec.write_text(SPEC)
    above = tmp_path / ".github/workflows/CANARY.yml"
    above.parent.mkdir(parents=True)
    above.write_text("on: push\n")
    commit(tmp_path)
    above.write_text("on: pull_request\n")
    spec.write_text(SPEC + "overrides: {su001-tor1a: {drain: true}}\n")

    async def ask() -> None:
        async with open_client(tmp_path / "fab") as client:
            for more in ({}, {"base": "HEAD"}):
                found = await result(client, "diff", before="cluster.yaml", **more)
                assert "su001-tor1a" in str(found["document"]), found
                assert "CANARY" not in str(found)
                assert found["document"].get("diagnostics") is None or found["status"] == 0

    anyio.run(ask)


@pytest.mark.slow
def test_unknown_and_empty_arguments_are_refused(root: Path) -> None:
    async def ask() -> None:
        async with open_client(root) as client:
            for tool in (await client.list_tools()).tools:
                assert tool.input_schema["additionalProperties"] is False
            assert "bsae" in await refused(client, "diff", before="cluster.yaml", bsae="HEAD")
            for more in ({"base": ""}, {"head": ""}, {"after": ""}):
                assert "at least 1 character" in await refused(client, "diff", before="cluster.yaml", **more)
            assert "at least 1 character" in await refused(client, "plan", spec="")
            assert "at least 1 character" in await refused(client, "audit", folder="")
            assert "at least 1 character" in await refused(
                client, "explain", subject="cluster.yaml", about=""
            )

    anyio.run(ask)
