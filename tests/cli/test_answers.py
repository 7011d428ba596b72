"""Output for programs when a verb fails: one document, or a documented exit status."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import click
import pytest

from fabricc.base.diagnostics.formats import FORMATS
from fabricc.cli.entry import BROKEN_PIPE, ENVIRONMENT, cli, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]
SPEC, TREE = "cluster.yaml", "build/lab"
ROWS = {
    "validate": ("validate @",),
    "fmt": ("fmt --check @",),
    "lock": ("lock @",),
    "plan": ("plan @", f"plan {SPEC} --csv @", f"plan {SPEC} --plot @.svg", f"plan {SPEC} --labels @.csv",
             f"plan --alternatives {SPEC} --write 1 @"),
    "build": ("build @", f"build {SPEC} -o @", f"build {SPEC} --only spine01a -o @"),
    "check": ("check @", f"check {TREE} --spec @"),
    "diff": ("diff @", f"diff {SPEC} @", f"diff {SPEC} {SPEC} --policy @"),
    "explain": ("explain @ spine01a", "explain @:1"),
    "push": ("push @", "push --try @", "push --status @", f"push --status {TREE} --journal @/j",
             f"push --plan {TREE} --access @"),
    "verify": ("verify @", f"verify {TREE} --access @"),
    "audit": ("audit @", f"audit {TREE}/switches -o @"),
    "migrate": ("migrate @ cluster.yaml",),
    "maintain": ("maintain spine01a @",),
    "upgrade": ("upgrade @ --to frr-10.1",),
    "lab test": ("lab test @",),
    "catalog": ("catalog @",),
    "doctor": ("doctor @", f"doctor {SPEC} --access @"),
    "tenant assign": ("tenant assign rack1-host1 acme --spec @",),
    "sync": ("sync netbox @ --url http://127.0.0.1:9 --token env:HOME",),
    "export openconfig": ("export openconfig @", f"export openconfig {SPEC} -o @"),
}  # fmt: skip
"""The arguments of each verb with `--format`; @ is a file or folder that cannot be read."""
IMPOSSIBLE = ("cluster.yaml/x", "n" * 300, "a\0b")
"""Below what is no folder, too long for a file system, and no name at all."""
_NO_ROOM = 77


def each_format(command: click.Command, name: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each verb, or verb of a verb, that has `--format`, with the formats for programs."""
    for each in command.params:
        if isinstance(each.type, click.Choice) and "json" in each.type.choices:
            yield name, tuple(one for one in each.type.choices if one in FORMATS[1:])
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            inner = command.get_command(context, verb)
            assert inner is not None
            yield from each_format(inner, f"{name} {verb}".strip())


OFFERED = dict(each_format(cli))


def error_codes(format_: str, reported: str) -> list[str]:
    """The codes of the errors in a document, which has to be the only one there."""
    match format_:
        case "json":
            output = json.loads(reported)
            if "checks" in output:  # of doctor
                return [one["subject"] for one in output["checks"] if one["state"] == "error"]
            return [
                one["code"]
                for one in output.get("diagnostics", output.get("findings", ()))
                if one["severity"] == "error"
            ]
        case "sarif":
            (run,) = json.loads(reported)["runs"]
            return [one["ruleId"] for one in run["results"] if one["level"] == "error"]
        case "junit":
            return [one.get("type", "") for one in ElementTree.fromstring(reported).iter("failure")]
        case "gitlab":
            assert all(one["location"]["path"] != "." for one in json.loads(reported))
            return [one["check_name"] for one in json.loads(reported) if one["severity"] == "major"]
        case _:
            assert all(line.startswith("::") for line in reported.splitlines())
            return [
                line.partition("title=")[2][:7]
                for line in reported.splitlines()
                if line.startswith("::error ")
            ]


@pytest.fixture
def built(repo: Path, fabricc: Fabricc) -> None:
    assert repo.is_dir()
    assert fabricc("build", SPEC, "-j", "1").status == 0


def test_every_verb_with_formats_has_a_row() -> None:
    assert ROWS.keys() == OFFERED.keys()


@pytest.mark.slow
@pytest.mark.usefixtures("built")
def test_impossible_requests_are_reported_in_the_requested_format(fabricc: Fabricc) -> None:
    wrong = []
    for verb, rows in ROWS.items():
        requested = [(rows[0], IMPOSSIBLE[0], format_) for format_ in OFFERED[verb]]
        requested += [(rows[0], place, "json") for place in IMPOSSIBLE[1:]]
        requested += [(row, IMPOSSIBLE[0], "json") for row in rows[1:]]
        for row, place, format_ in requested:
            ran = fabricc(*(word.replace("@", place) for word in row.split()), "--format", format_)
            try:
                codes = [] if ran.status == 2 and not ran.out else error_codes(format_, ran.out)
            except (ValueError, ElementTree.ParseError, AssertionError):
                codes = ["no document"]
            bad = {"FAB7999", "no document"} & {*codes} or "Traceback" in ran.err
            if bad or ran.status not in (1, 2, 3) or (ran.status != 2 and not codes):
                wrong.append((row, place[:20], format_, ran.status, codes, ran.err[-200:]))
    assert wrong == []


def open_full() -> io.TextIOWrapper:
    """A file on a full disk."""
    return io.TextIOWrapper(io.FileIO("/dev/full", "w"), "utf-8", write_through=True)


@pytest.mark.usefixtures("repo")
@pytest.mark.parametrize("words", ["validate cluster.yaml --format json", "catalog"])
def test_unwritable_output_ends_with_a_status(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_full() as disk:
        monkeypatch.setattr(sys, "stdout", disk)
        assert run(words.split()) == ENVIRONMENT
    reported = capsys.readouterr().err
    assert reported.startswith("error FAB7001: ")
    assert "No space left on device\n" in reported
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert run(words.split()) == BROKEN_PIPE
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("repo")
def test_streams_that_were_closed_or_take_no_findings_change_no_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_full() as disk:
        monkeypatch.setattr(sys, "stderr", disk)
        assert run(["validate", SPEC]) == 0
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert run(["validate", SPEC]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("repo")
def test_a_full_disk_and_one_that_must_not_be_written_are_reported_with_a_code() -> None:
    runs = [
        ["build", SPEC, "-o", "full/out"],
        ["plan", SPEC, "--labels", "full/labels.csv"],
        ["build", SPEC, "-o", "kept/out"],
        ["plan", SPEC, "--labels", "kept/labels.csv"],
    ]
    script = f"""
    mkdir full kept && mount -t tmpfs -o size=16k none full && mount -t tmpfs -o ro none kept || exit {_NO_ROOM}
    head -c 100k /dev/zero > full/all 2> /dev/null
    exec {sys.executable} -c '
import sys
from fabricc.cli.entry import run
for words in {json.dumps(runs)}:
    print("", run([*words, "--format", "json"]), end="\\0", flush=True)
'"""
    ran = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "bash", "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if ran.returncode in (1, _NO_ROOM):
        pytest.skip(f"no mount namespace here: {ran.stderr}")
    reported = [each.rpartition(" ") for each in ran.stdout.split("\0")[:-1]]
    assert [(error_codes("json", document), status) for document, _, status in reported] == [
        (["FAB7001"], str(ENVIRONMENT))
    ] * len(runs)
    assert ran.stderr == ""
