"""Files are opened by `base/foreign/files.py`: any other opening in the product is listed here with its reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import fabricc

TOP = Path(fabricc.__file__).parent
OPENING = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "fdopen", "copyfile", "copy", "copy2",
           "copytree", "file_digest", "readlines"}  # fmt: skip
NAMED = re.compile(rf"\b(?:{'|'.join(OPENING)})\b")
PACKAGED = "a file of the product itself"
STATE = "the user's own state, whose folder nobody else may write in"
QUESTION = "a folder made anew for one signature"
LAB = "a folder that the lab made and owns"
SIMULATION = "a folder that the simulation made and owns"
KERNEL = "a file of /proc or /sys, or a namespace"
FACTORY = "opens no file: a constructor of that name"
SESSION = "opens no file: a session with a device"

ALLOWED = {
    ("base/foreign/files.py", "open"): "the door",
    ("base/foreign/files.py", "fdopen"): "the door",
    (
        "base/foreign/git_index.py",
        "open",
    ): "Git's index, from which the door's root follows; regular and bounded",
    ("base/foreign/git_index.py", "fdopen"): "the same",
    ("base/foreign/signers.py", "read_bytes"): QUESTION,
    ("base/foreign/signers.py", "write_bytes"): QUESTION,
    ("tree/exclusive.py", "open"): "the lock file of a tree, O_NOFOLLOW",
    ("tree/file.py", "open"): "a draft made anew, O_EXCL and O_NOFOLLOW; and the door",
    ("tree/file.py", "fdopen"): "that draft",
    ("tree/patch.py", "open"): "a staged file made anew, O_EXCL and O_NOFOLLOW",
    ("tree/patch.py", "fdopen"): "that file",
    ("tree/patch.py", "read_text"): STATE,
    ("tree/patch.py", "write_text"): STATE,
    ("tree/stage.py", "open"): "a staged file made anew, O_EXCL and O_NOFOLLOW",
    ("tree/stage.py", "fdopen"): "that file",
    ("tree/stage.py", "copy2"): "a file of the present tree where it cannot be linked; follows no link",
    ("tree/state.py", "read_bytes"): STATE,
    ("tree/state.py", "write_bytes"): STATE,
    ("compiler/load/spec_location.py", "open"): STATE,
    ("compiler/incremental/record.py", "open"): "the user's own state; folders of the tree only by O_PATH",
    ("compiler/incremental/record.py", "read_bytes"): STATE,
    ("compiler/incremental/ledger.py", "read_bytes"): STATE,
    ("compiler/incremental/ledger.py", "write_bytes"): STATE,
    ("compiler/write/whole_tree.py", "open"): FACTORY,
    ("compiler/incremental/partial.py", "open"): FACTORY + "; and the door",
    ("operate/lab/export.py", "open"): FACTORY,
    ("cli/lab.py", "open"): FACTORY,
    ("cli/report.py", "open"): "the door",
    ("operate/devices/secrets.py", "open"): "the door",
    ("cli/entry.py", "open"): "/dev/null",
    ("cli/__init__.py", "open"): "/dev/null",
    ("operate/drivers/junos_connection.py", "read_bytes"): "the known hosts that a trusted access file names",
    ("cli/docs.py", "read_text"): PACKAGED,
    ("cli/docs.py", "read_bytes"): PACKAGED,
    ("cli/reference/__init__.py", "read_text"): PACKAGED,
    ("cli/init.py", "read_bytes"): PACKAGED,
    ("cli/init.py", "read_text"): PACKAGED,
    ("cli/first_spec.py", "write_text"): "a folder made for one question",
    ("operate/drivers/frr.py", "read_bytes"): PACKAGED,
    ("operate/drivers/sonic.py", "read_text"): PACKAGED,
    ("base/installation.py", "read_text"): PACKAGED + ", or of the package of a back end",
    ("base/diagnostics/__init__.py", "read_text"): PACKAGED,
    ("back/hosts/words.py", "read_text"): PACKAGED,
    ("back/jobs/roster.py", "read_text"): PACKAGED,
    ("back/nos/child_process.py", "fdopen"): "a pipe to the process that waits for this one",
    ("back/nos/child_process.py", "read_text"): KERNEL,
    ("operate/push/gates.py", "read_text"): KERNEL,
    ("back/nos/sonic/updater.py", "read_text"): PACKAGED,
    ("back/nos/templating.py", "read_bytes"): PACKAGED,
    ("back/nos/templating.py", "read_text"): PACKAGED,
    ("back/nos/overlay_text.py", "read_text"): PACKAGED,
    ("review/report/page.py", "read_text"): PACKAGED,
    ("base/documents/schema.py", "read_text"): PACKAGED,
    (
        "base/foreign/git_objects.py",
        "write_bytes",
    ): "objects in a folder made for one merge, named after their content",
    ("base/foreign/git_history.py", "write_bytes"): "a folder made for one merge, its names below it",
    ("base/foreign/git_history.py", "write_text"): "the same",
    ("compiler/load/revision.py", "write_bytes"): "a folder made for one comparison, its names below it",
    (
        "compiler/load/revision_templates.py",
        "write_bytes",
    ): "a folder made for one comparison, its names below it",
    ("compiler/committed_tree.py", "open"): "files that this very process built, in a folder of its own",
    ("compiler/committed_tree.py", "file_digest"): "the same",
    ("rules/answers.py", "open"): "opens no file: devices of which something is not known",
    ("back/nos/limits.py", "read_text"): PACKAGED,
    ("compiler/selected_devices.py", "open"): "a file made anew, O_EXCL and O_NOFOLLOW",
    ("cli/starter/", ""): "runs in a job of CI, on files that this job wrote",
    ("operate/lab/", ""): LAB,
    ("proof/infiniband/sim/", ""): SIMULATION,
    ("operate/push/", ""): "the journal and what is pushed, see the tests of push",
    ("integrations/sync/client.py", "open"): "opens no file: a request to a server",
    ("operate/devices/connection.py", ""): SESSION,
    ("operate/drivers/frr_agent.py", ""): "runs on a switch, on files of the switch",
    ("operate/drivers/frr_namespaces.py", ""): "runs on a switch, on files of the switch",
    ("operate/drivers/sonic_agent.py", ""): "runs on a switch, on files of the switch",
    ("operate/drivers/cumulus_connection.py", "open"): SESSION,
    ("operate/drivers/eos_connection.py", "open"): SESSION,
    ("operate/drivers/frr.py", "open"): SESSION,
    ("operate/drivers/junos_connection.py", "open"): SESSION,
    ("operate/drivers/linux.py", "open"): SESSION,
    ("operate/drivers/sonic.py", "open"): SESSION,
    ("proof/finding_places.py", "open"): "opens no file: ports that are still free",
}
COPYING = {"copy", "copytree", "copy2", "copyfile"}


def find_openings(source: str) -> set[str]:
    """The names of calls that open files, with `open` handed on as a value too."""
    found: set[str] = set()
    if not NAMED.search(source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in OPENING:
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if node.attr not in COPYING or owner == "shutil":
                found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id == "open" and isinstance(node.ctx, ast.Load):
            found.add("open")
    return found


def opening_reason(module: str, name: str) -> str:
    """Why a module may open files by a call of this name; "" when it may not."""
    for (where, call), why in ALLOWED.items():
        if (where == module or (where.endswith("/") and module.startswith(where))) and call in ("", name):
            return why
    return ""


MODULES = sorted(path.relative_to(TOP).as_posix() for path in TOP.rglob("*.py"))


@cache
def present_openings() -> set[tuple[str, str]]:
    """Every module and call that opens in it."""
    return {(module, name) for module in MODULES for name in find_openings((TOP / module).read_text())}


def test_every_opening_of_the_product_is_the_door_or_has_a_reason() -> None:
    assert sorted(pair for pair in present_openings() if not opening_reason(*pair)) == []


def test_no_reason_has_outlived_its_opening() -> None:
    found = present_openings()
    unused = [
        (where, call)
        for where, call in ALLOWED
        if not any(
            (module == where or module.startswith(where)) and call in ("", name) for module, name in found
        )
    ]
    assert unused == []


@pytest.mark.parametrize(
    "source",
    [
        "open('x')",
        "with open(x) as f: pass",
        "Path(x).read_text()",
        "p.read_bytes()",
        "p.open('rb')",
        "os.open(p, 0)",
        "io.open(p)",
        "shutil.copyfile(a, b)",
        "list(map(open, names))",
        "hashlib.file_digest(f, 'sha256')",
        "f = Path.read_bytes",
    ],
)
def test_an_opening_is_seen(source: str) -> None:
    assert find_openings(source)
