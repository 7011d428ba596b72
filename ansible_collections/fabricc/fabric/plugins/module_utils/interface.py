"""What the modules share: fabricc's interface for Python, its findings as plain values, and its command."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from ansible.module_utils.basic import missing_required_lib

try:
    import fabricc
except ImportError:
    fabricc = None
    IMPORT_ERROR = traceback.format_exc()
else:
    IMPORT_ERROR = None


PREVIEWS = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fabricc" / "check-mode"
"""Trees that builds in check mode left for the tasks after them, each in a folder with its lock and NOTE."""
NOTE = "build.json"
"""Spec and lock of such a tree."""
KEEP_S = 86_400
"""Seconds after which a build in check mode removes the trees of earlier ones."""


def make_preview_folder():
    """Return a new folder for the tree of a build in check mode; folders older than a day are removed."""
    PREVIEWS.mkdir(mode=0o700, parents=True, exist_ok=True)
    for old in PREVIEWS.iterdir():
        if not old.is_symlink() and old.is_dir() and time.time() - old.stat().st_mtime > KEEP_S:
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=PREVIEWS))


def note_preview(folder, spec, lock):
    """Record the spec and the lock of the tree in a preview folder."""
    (folder / NOTE).write_text(json.dumps({"spec": str(Path(spec).absolute()), "lock": str(lock)}))


def preview_of(module, tree):
    """Return spec and lock of a tree that a build in check mode left; an empty table for other trees."""
    folder = Path(tree).absolute().parent.parent
    if not module.check_mode or folder.parent != PREVIEWS.absolute() or not (folder / NOTE).is_file():
        return {}
    return json.loads((folder / NOTE).read_text())


def explain_check_mode(module, tree, message):
    """Return the message of a failed task; in check mode with a remedy for trees that do not exist yet."""
    if not module.check_mode or preview_of(module, tree):
        return message
    return (
        f"{message}\nIn check mode `build` writes nothing to its `dest`: use the path `tree` that it returns."
    )


def is_encodable(text):
    """Return whether a file or device can have a name; half of a surrogate pair is no character."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def require_package(module):
    """Return the package fabricc; fail the task where it is missing, or a parameter is empty or names nothing."""
    if fabricc is None:
        module.fail_json(msg=missing_required_lib("fabricc"), exception=IMPORT_ERROR)
    for name, value in module.params.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and "\0" in text:
                module.fail_json(msg=f"{name}: {text!a} holds a NUL, so nothing is called that", findings=[])
            if isinstance(text, str) and not is_encodable(text):
                module.fail_json(
                    msg=f"{name}: {text!a} has a character that no name can contain", findings=[]
                )
            if text == "":
                module.fail_json(msg=f"{name} is empty: set it, or leave it out", findings=[])
    return fabricc


def plain(diagnostics, renamed=None):
    """Findings as a task returns them; `renamed` has what paths in them are called -> what they stand for."""

    def plain_text(text):
        for old, new in (renamed or {}).items():
            text = text and text.replace(old, new)
        return text

    return [
        {
            "code": one.code,
            "severity": one.severity.value,
            "message": plain_text(one.message),
            "help": plain_text(one.help),
            "file": plain_text(one.position.file) if one.position else None,
            "line": one.position.line if one.position else None,
        }
        for one in diagnostics
    ]


def wrong(findings):
    """What is wrong, a line each."""
    return "\n".join(f"{one['code']}: {one['message']}" for one in findings if one["severity"] == "error")


def run_verb(module, words, operand):
    """Return the exit status and the JSON of a verb with its options; the task fails where that could not begin."""
    require_package(module)
    # -P: nothing is imported from the folder that the task runs in.
    command = [sys.executable, "-P", "-m", "fabricc", *words, "--format", "json", "--", operand]
    status, out, err = module.run_command(command)
    try:
        found = json.loads(out)
    except ValueError:
        module.fail_json(
            msg=err.strip() or f"fabricc {words[0]} ended with status {status}", rc=status, findings=[]
        )
    if "diagnostics" in found:
        findings = found["diagnostics"]
        module.fail_json(
            msg=explain_check_mode(module, operand, wrong(findings)), rc=status, findings=findings
        )
    return status, found
