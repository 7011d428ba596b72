"""A stand-in of NVUE's `nv`, which answers as published answers do.

Forms: `nv config history` as NVIDIA's public tests parse it (`apply-meta.rev_id`, `ref` as `apply/.../done`), states of
`nv config revision` as NVIDIA's "Config Commands" and published clients have them, with `transition.issue`. Secrets are
encrypted when they are loaded (`$nvsec$`, 32 digits), and `*` is printed for any hash of a password, as transcripts
of `nv config show` and `nv config diff` have them.

State is in the folder SWITCH_ROOT: `running.json` is applied, `startup` is saved, `revisions` has the text of each
revision, `nvue.json` the rest. The file `faults` holds words: `reject`, `fail_commit` (exit status 1), `apply_fail`
(exit status 0), `saves_early` (an apply is saved before its confirmation), `not_json`, `late` (a revision stays in the
state `confirm_apply` for two looks after its confirmation).
"""

import hashlib
import json
import os
import re
import time
from collections import Counter
from pathlib import Path

from linux_tools import ROOT, fail_with, has_fault, read_counted, refused_lines

RUNNING, STARTUP, REVISIONS, STATE = (
    ROOT / "running.json",
    ROOT / "startup",
    ROOT / "revisions",
    ROOT / "nvue.json",
)
USER = os.environ.get("NVUE_USER", "admin")
"""Each account has a pending revision of its own."""
OLD_MESSAGE = "fix invalid MTU after failed link"


def read_state() -> dict:  # type: ignore[type-arg]
    """The state of NVUE; a switch starts with one applied revision."""
    if STATE.exists():
        state = json.loads(STATE.read_text())
    else:
        state = {
            "revisions": {"1": {"state": "applied_and_saved"}},
            "history": [],
            "pending": {},
            "waiting": {},
        }
        add_history(state, "1", OLD_MESSAGE)
    waiting = state["waiting"]
    if waiting and time.time() > waiting["until"]:
        go_back(state)
    return state


def add_history(state: dict, revision: str, message: str) -> None:  # type: ignore[type-arg]
    """Put an apply before the older ones."""
    number = len(state["history"]) + 1
    details = {
        "method": "CLI",
        "reason": "Config update",
        "rev_id": revision,
        "state_controls": {},
        "user": "admin",
    }
    entry = {
        "apply-id": f"rev_{revision}_apply_{number}",
        "apply-meta": details,
        "date": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        "message": message,
        "ref": f"apply/2022-08-01_07.51.45_HN1{number}/done",
    }
    state["history"].insert(0, entry)
    state["revisions"][revision]["last-apply"] = {"apply-id": entry["apply-id"]}


def go_back(state: dict) -> None:  # type: ignore[type-arg]
    """Undo the apply that waits."""
    waiting, state["waiting"] = state["waiting"], {}
    RUNNING.write_text(waiting["before"])
    state["revisions"][waiting["revision"]]["state"] = "confirm_fail"


def confirm_apply(state: dict) -> None:  # type: ignore[type-arg]
    """End the wait of an apply."""
    waiting, state["waiting"] = state["waiting"], {}
    complete_apply(state, waiting["revision"])


def save_revision(state: dict, revision: str) -> None:  # type: ignore[type-arg]
    """Write the startup configuration."""
    STARTUP.write_text(RUNNING.read_text())
    if state["revisions"][revision]["state"] == "applied":
        state["revisions"][revision]["state"] = "applied_and_saved"


def complete_apply(state: dict, revision: str) -> None:  # type: ignore[type-arg]
    """End an apply; it is saved at once unless the configuration turns automatic saving off."""
    state["revisions"][revision]["state"] = "applied"
    if "state: disabled" not in RUNNING.read_text().partition("auto-save:")[2][:40]:
        save_revision(state, revision)


_SECRET = re.compile(
    r"(?m)^( +(?:secret|password): )(?!\$nvsec\$)(\S.*)$|(?<=readonly-community:\n)( +)([^$\s]\S*?)(?=:)"
)
_HASH = re.compile(r"(?m)( hashed-password: ).*$")


def encrypt_secrets(text: str) -> str:
    """Return a configuration as NVUE stores it, with secrets encrypted by a key of the switch."""

    def hide(match: re.Match[str]) -> str:
        before, secret = match[1] or match[3], match[2] or match[4]
        return f"{before}$nvsec${hashlib.md5(secret.encode()).hexdigest()}"

    return _SECRET.sub(hide, text)


def hide_hashes(text: str) -> str:
    """Return a configuration as NVUE prints it."""
    return _HASH.sub(r"\1'*'", text)


def load(state: dict, verb: str, text: str) -> None:  # type: ignore[type-arg]
    """`nv config replace` and `nv config patch`; a refused file leaves an invalid revision."""
    revision = str(max(map(int, state["revisions"])) + 1)
    refusal = ""
    if bad := refused_lines(text):
        name, _, value = bad[0][1].strip().partition(": ")
        refusal = f"Error: Invalid config: '{value}' is not valid for '{name}'"
    elif has_fault("reject") or "bogus" in text:
        refusal = "Error: invalid value for hashed-password: S3CRET"
    state["revisions"][revision] = {"state": "invalid" if refusal else "pending"}
    if refusal:
        print(refusal)
        return
    text = encrypt_secrets(text)
    (REVISIONS / revision).write_text(text if verb == "replace" else RUNNING.read_text() + text)
    state["pending"][USER] = revision


def apply(state: dict, words: list[str]) -> None:  # type: ignore[type-arg]
    """`nv config apply [REVISION] -y [--confirm MINUTESm] [-m TEXT]`, `--confirm-yes` and `--confirm-no`."""
    waiting = state["waiting"]
    if words[-1] in ("--confirm-yes", "--confirm-no"):
        if not waiting:
            fail_with("Error: No apply is waiting for confirmation")
        if words[0] not in (words[-1], waiting["revision"]):
            fail_with(f"Error: Unknown state: '{state['revisions'][words[0]]['state']}'")
        if words[-1] == "--confirm-no":
            go_back(state)
        elif has_fault("late"):
            state["late"] = 2
        else:
            confirm_apply(state)
        return
    revision = state["pending"][USER] if words[0] == "-y" else words[0]
    if revision not in state["revisions"]:
        fail_with(f"Error: Unknown revision {revision}")
    if has_fault("fail_commit"):
        fail_with("apply_fail: failed to apply: No space left on device")
    if has_fault("apply_fail"):
        issue = {"severity": "error", "code": "client_error", "message": "switchd did not restart"}
        state["revisions"][revision] |= {"state": "apply_fail", "transition": {"issue": {"0": issue}}}
        return
    before = RUNNING.read_text()
    RUNNING.write_text((REVISIONS / revision).read_text())
    add_history(state, revision, words[words.index("-m") + 1] if "-m" in words else "Config update")
    state["pending"].pop(USER, None)
    if "--confirm" not in words:
        complete_apply(state, revision)
        return
    minutes = words[words.index("--confirm") + 1]
    state["waiting"] = {
        "before": before,
        "revision": revision,
        "until": time.time() + 60 * int(minutes.removesuffix("m")),
    }
    state["revisions"][revision]["state"] = "confirm"
    if has_fault("saves_early"):
        save_revision(state, revision)


def run_nv(words: list[str]) -> None:
    """NVUE's `nv config ...` and `nv show ...`."""
    if words[0] == "show":
        nv_show(words[1:])
        return
    verb, rest, state = words[1], words[2:], read_state()
    if verb in ("replace", "patch"):
        load(state, verb, Path(rest[0]).read_text())
    elif verb == "detach":
        if revision := state["pending"].pop(USER, ""):
            state["revisions"][revision]["state"] = "detached"
    elif verb == "delete":
        del state["revisions"][rest[0]]
    elif verb == "diff":
        old, new = (
            RUNNING.read_text().splitlines(),
            (REVISIONS / state["pending"][USER]).read_text().splitlines(),
        )
        print(*(hide_hashes(f"nv set {one}") for one in (Counter(new) - Counter(old)).elements()), sep="\n")
        print(*(hide_hashes(f"nv unset {one}") for one in (Counter(old) - Counter(new)).elements()), sep="\n")
    elif verb in ("history", "revision"):
        if "late" in state and verb == "revision":
            state["late"] -= 1
            if state["late"] < 0:
                del state["late"]
                confirm_apply(state)
        print(
            "Traceback"
            if has_fault("not_json")
            else json.dumps(state["history" if verb == "history" else "revisions"])
        )
    elif verb == "show":
        revision = rest[rest.index("-r") + 1]
        files = {
            "applied": RUNNING,
            "startup": STARTUP,
            "pending": REVISIONS / state["pending"].get(USER, ""),
        }
        print(hide_hashes(files[revision].read_text()), end="")
    elif verb == "save":
        save_revision(state, state["history"][0]["apply-meta"]["rev_id"])
    elif verb == "apply":
        apply(state, rest)
    STATE.write_text(json.dumps(state))


def nv_show(words: list[str]) -> None:
    """`nv show …` of counters and health: tables of NVIDIA's Cumulus Linux guide, and the JSON that programs read."""
    reported = read_counted()
    if words[:2] == ["system", "health"]:
        issues = {name: {"issue": text} for name, text in reported["alarms"].items()}
        print(json.dumps({"status": "Not OK" if issues else "OK", "issues": issues}))
        return
    if words in (["system", "-o", "json"], ["platform", "-o", "json"]):
        print("{}")
        return
    if words == ["interface", "-o", "json"]:
        print(json.dumps({name: {} for name in (*reported["ports"], "eth0", "lo")}))
        return

    def of(what: str, n: int) -> int:
        return int(reported[what].get(words[1], {}).get(str(n), 0))

    if words[2:] == ["qos", "pfc-watchdog"]:
        print("                 operational  applied \n---------------  -----------  ------- ")
        print("state            enabled      enabled \n\nPFC WD Status \n=========================== ")
        print("    traffic-class  status    deadlock-count \n    -------------  --------  -------------- \n")
        for n in range(8):
            print(f"    {n:<13}  {'OK':<8}  {of('storms', n):<14} ")
    elif words[2:] == ["counters", "qos", "-o", "json"]:
        groups = {
            "ingress-buffer-stats": {"rx-buffer-discards": "dropped"},
            "egress-queue-stats": {"ecn-marked-frames": "marked"},
            "pfc-stats": {"rx-pause-frames": "pfc_rx", "tx-pause-frames": "pfc_tx"},
        }
        found = {
            group: {str(n): {name: of(what, n) for name, what in names.items()} for n in range(8)}
            for group, names in groups.items()
        }
        print(json.dumps(found, indent=2))
