"""What the modules share: fabricc's interface for Python, its findings as plain values, and its command."""

from __future__ import annotations

import json
import sys
import traceback

from ansible.module_utils.basic import missing_required_lib

try:
    import fabricc
except ImportError:
    fabricc = None
    IMPORT_ERROR = traceback.format_exc()
else:
    IMPORT_ERROR = None


def required(module):
    """Return the package fabricc; fail the task where it is missing, or a parameter is empty or names nothing."""
    if fabricc is None:
        module.fail_json(msg=missing_required_lib("fabricc"), exception=IMPORT_ERROR)
    for name, value in module.params.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and "\0" in text:
                module.fail_json(msg=f"{name}: {text!a} holds a NUL, so nothing is called that", findings=[])
            if text == "":
                module.fail_json(msg=f"{name} is empty: set it, or leave it out", findings=[])
    return fabricc


def plain(diagnostics, renamed=None):
    """Findings as a task returns them; `renamed` has what paths in them are called -> what they stand for."""

    def said(text):
        for old, new in (renamed or {}).items():
            text = text and text.replace(old, new)
        return text

    return [
        {
            "code": one.code,
            "severity": one.severity.value,
            "message": said(one.message),
            "help": said(one.help),
            "file": said(one.position.file) if one.position else None,
            "line": one.position.line if one.position else None,
        }
        for one in diagnostics
    ]


def wrong(findings):
    """What is wrong, a line each."""
    return "\n".join(f"{one['code']}: {one['message']}" for one in findings if one["severity"] == "error")


def told(module, words, operand):
    """The exit status and the JSON of a verb with its options; the task fails where that could not begin."""
    required(module)
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
        module.fail_json(msg=wrong(findings), rc=status, findings=findings)
    return status, found
