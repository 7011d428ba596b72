"""Run on the switch for the SONiC driver: check a candidate, apply it, and revert it.

    python3 sonic_agent.py check|apply|guard|revert|saved FOLDER [CHECKPOINT]

FOLDER is the driver's private folder, in which sonic_tables.py, sonic_frr.py and frr_agent.py lie next to this file.
Standard library only, Python 3.9 or later; SONiC's own updater is used through its package and its commands.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fabricc.base import sonic_tables
    from fabricc.base.sonic_tables import Tables
else:
    import sonic_tables

FRR_PATH = Path("/etc/sonic/frr/frr.conf")
CHECKPOINTS = Path("/etc/sonic/checkpoints")
SAVED = Path("/etc/sonic/config_db.json")
CANDIDATE, TARGET = "config_db.json", "target.json"
REPLACE, RELOAD, NONE = "replace", "reload", "none"
BUFFERMGRD_S = 3
"""How long buffermgrd is given to edit rows after ports went down; a step that meets it is tried once more."""
BGP_STARTS_S = 600
"""How long the bgp container may take to answer after its start: `config reload` returns long before (sonic.target)."""
ENDS_S = 900
"""How long a `config reload` that is under way is awaited before the way back."""
_LAST = 400


class SwitchError(Exception):
    """The switch is not the expected one; the text has the reason."""


def run(*words: str, given: str | None = None) -> str:
    """Run a program and return its output; `given` is its standard input.

    Raises:
        SwitchError: it fails; the end of what it printed.
    """
    done = subprocess.run(words, capture_output=True, text=True, check=False, input=given or "")
    if done.returncode:
        printed = (done.stderr.strip() or done.stdout.strip())[-_LAST:]
        raise SwitchError(f"{' '.join(words[:3])}: exit status {done.returncode}: {printed}")
    return done.stdout


def read_running() -> Tables:
    """Return CONFIG_DB as the updater reads it (get_config_db_as_json of gu_common.py).

    Raises:
        SwitchError: it cannot be read, or is not JSON.
    """
    try:
        return sonic_tables.require_tables(json.loads(run("sonic-cfggen", "-d", "--print-data")))
    except ValueError as error:
        raise SwitchError(f"CONFIG_DB as sonic-cfggen prints it: {error}") from None


def read_json(path: Path) -> Any:
    """Return what a file of ours holds."""
    return json.loads(path.read_text("utf-8"))


def write(path: Path, text: str) -> None:
    """Write a file of ours whole, or not at all.

    Raises:
        OSError: it cannot be written; the error names the file, which a full disk alone does not.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    new.replace(path)


def digest(tables: Tables) -> str:
    """Return a number for the tables that nobody but operators and fabricc changes."""
    text = json.dumps(sonic_tables.comparable_tables(tables), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# --- check --------------------------------------------------------------------------------------------


def check(folder: Path) -> dict[str, Any]:
    """Write the target of a candidate, and find with SONiC's own code whether and how it can be applied.

    Returns:
        `way` (`none`, `replace` or `reload`), `kind` of a refusal (`models` or `limits`, "" for none) with its `text`,
        `rows` that change, the `steps`, and ports that are `shut` for a while.
    """
    require_one_asic()
    running = read_running()
    if unsupported := sonic_tables.find_unsupported(running):
        raise SwitchError(f"this switch is not supported: {unsupported}")
    target = sonic_tables.merge(running, sonic_tables.require_tables(read_json(folder / CANDIDATE)))
    here = target.get("DEVICE_METADATA", {}).get("localhost", {})
    if sonic_tables.needs_daemon_files(running, target) and not FRR_PATH.with_name("bgpd.conf").exists():
        raise SwitchError(
            "the mode split needs the operator's own bgpd.conf, which is no longer on the switch"
        )
    if here and not here.get("mac"):  # an earlier `config reload` of a release before 202405 lost it
        here["mac"] = run("sonic-cfggen", "-H", "-v", "DEVICE_METADATA.localhost.mac").strip()
    write(folder / TARGET, json.dumps(target, indent=4, sort_keys=True))
    rows = sum(1 for _ in sonic_tables.changed_rows(running, target))
    kind, text = refusal(running, target) if rows else ("", "")
    way = RELOAD if kind == "limits" else REPLACE if rows else NONE
    return {
        "way": way,
        "kind": kind,
        "text": text[:_LAST],
        "rows": rows,
        "steps": sonic_tables.steps(running, target),
        "shut": sonic_tables.shut_ports(running, target),
        "restarts_bgp": sonic_tables.restarts_bgp(running, target),
        "digest": digest(running),
        "takes_frr": sonic_tables.takes_frr(target),
    }


def require_one_asic() -> None:
    """Refuse a switch of several ASICs: each has a CONFIG_DB of its own, and only that of the host is read here.

    Raises:
        SwitchError: SONiC's own package finds several.
    """
    with contextlib.suppress(ImportError):
        if importlib.import_module("sonic_py_common.multi_asic").is_multi_asic():
            raise SwitchError(
                "this switch is not supported: it has several ASICs, each with its own CONFIG_DB"
            )


def refusal(running: Tables, target: Tables) -> tuple[str, str]:
    """Find what the updater's own package refuses: the models first, then its limits on tables and fields.

    `config replace --dry-run` would sort all changes too, which takes minutes for a rack.

    Raises:
        SwitchError: the image has no updater.
    """
    try:
        updater = importlib.import_module("generic_config_updater.gu_common")
    except ImportError as error:
        raise SwitchError(f"this image has no Generic Config Updater: {error}") from None
    with contextlib.redirect_stdout(sys.stderr):  # sonic_yang prints what it finds
        wrapper = updater.ConfigWrapper()
        valid, why = wrapper.validate_config_db_config(target)
        if not valid:
            return "models", str(why)
        with contextlib.suppress(updater.IllegalPatchOperationError):
            wrapper.validate_field_operation(running, target)
            return "", ""
        # A row that goes where an equal one comes is a move of the whole patch, which the limits refuse; not of steps.
        state = running
        for kind, ports in sonic_tables.steps(running, target):
            wanted = sonic_tables.step_target(state, target, kind, ports)
            try:
                wrapper.validate_field_operation(state, wanted)
            except updater.IllegalPatchOperationError as error:
                return "limits", str(error)
            state = wanted
    return "", ""


# --- apply --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def updating(folder: Path) -> Iterator[None]:
    """Hold the lock of whoever changes CONFIG_DB for this driver: the updater has none (ConfigLock is empty)."""
    with (folder / "updater.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def replace(folder: Path, target: Tables) -> None:
    """Bring the switch to a target by `config replace`, in steps that the updater survives.

    Raises:
        SwitchError: a step fails twice, or something is not as wanted in the end.
    """
    for kind, ports in sonic_tables.steps(read_running(), target):
        for again in (False, True):
            running = read_running()
            wanted = sonic_tables.step_target(running, target, kind, ports)
            if sonic_tables.is_reached(running, wanted):
                break
            write(folder / "step.json", json.dumps(wanted))
            try:
                run("config", "replace", str(folder / "step.json"))
                break
            except SwitchError:
                if again:
                    raise
        if kind == "down":
            time.sleep(BUFFERMGRD_S)
    running = read_running()
    if lost := sonic_tables.lost_buffers(running, target):
        # With the updater the port would be shut again, and buffermgrd would take the rows away again.
        write(folder / "step.json", json.dumps(lost))
        run("config", "load", "-y", str(folder / "step.json"))
        running = read_running()
    if sonic_tables.comparable_tables(running) != sonic_tables.comparable_tables(target):
        name, key = next(
            sonic_tables.changed_rows(
                sonic_tables.comparable_tables(running), sonic_tables.comparable_tables(target)
            )
        )
        raise SwitchError(f"CONFIG_DB is not as wanted after the replacement: {name}|{key}")


def reload(folder: Path, target: Tables, *, back: bool) -> None:
    """Bring the switch to a target by `config reload` with all its tables: nothing is generated for what is missing.

    On the way back the tables come by standard input, which SONiC loads unchecked: they ran before, also those
    without a model, at which it stops since 202505 (config_file_yang_validation of config/main.py).

    Raises:
        SwitchError: it fails, or the file would let SONiC add its stock ports.
    """
    here = target.get("DEVICE_METADATA", {}).get("localhost", {})
    if not here.get("mac") or not here.get("platform"):
        raise SwitchError("no `config reload` without mac and platform: SONiC would add the stock ports")
    text = json.dumps(target, indent=4)
    if back:
        run("config", "reload", "-y", "-f", "/dev/stdin", given=text)
        return
    write(folder / "step.json", text)
    run("config", "reload", "-y", "-f", str(folder / "step.json"))


def await_bgp() -> None:
    """Wait until FRR in the bgp container answers.

    Raises:
        SwitchError: it does not.
    """
    until = time.monotonic() + BGP_STARTS_S
    while True:
        try:
            run("docker", "exec", "bgp", "vtysh", "-c", "show version")
            return
        except SwitchError as error:
            if time.monotonic() > until:
                raise SwitchError(f"the bgp container does not answer after its start: {error}") from None
        time.sleep(1)


def bring(folder: Path, target: Tables, frr: Path | None, way: str, *, back: bool = False) -> None:
    """Bring CONFIG_DB and FRR to a configuration; FRR's file on the switch is that one afterwards.

    Raises:
        SwitchError: one of them is not as wanted.
    """
    restart = way == REPLACE and sonic_tables.restarts_bgp(read_running(), target)
    if frr is not None:
        shutil.copyfile(frr, FRR_PATH)
    if way == RELOAD:
        reload(folder, target, back=back)
    elif way == REPLACE:
        replace(folder, target)
    if restart:
        run("systemctl", "restart", "bgp")
    if way == RELOAD or restart:
        await_bgp()
    if way == RELOAD and (added := read_running().get("PORT", {}).keys() - target.get("PORT", {}).keys()):
        raise SwitchError(f"`config reload` added {len(added)} stock ports, {min(added)} for one")
    if frr is not None:
        run(sys.executable, str(folder / "sonic_frr.py"), "/etc/frr/frr.conf")


def is_saved() -> bool:
    """Return whether the switch boots with the CONFIG_DB that runs, but for what daemons edit by themselves."""
    saved = sonic_tables.require_tables(read_json(SAVED))
    return sonic_tables.comparable_tables(saved) == sonic_tables.comparable_tables(read_running())


def apply(folder: Path) -> None:
    """Apply the target, and write how that ended to `outcome`; the boot file of FRR stays the old one."""
    outcome = {"ok": True, "why": ""}
    frr = folder / "frr.conf"
    try:
        with updating(folder):
            plan = read_json(folder / "plan.json")
            try:
                if plan["way"] != NONE and digest(read_running()) != plan["digest"]:
                    raise SwitchError("another session changed CONFIG_DB after the candidate was loaded")
                target = {} if plan["way"] == NONE else read_json(folder / TARGET)
                bring(folder, target, frr if plan["frr"] else None, plan["way"])
            finally:
                if plan["frr"]:
                    shutil.copyfile(frr, folder / "confirmed-frr.conf")
                    restore_boot_file(folder)
    except (SwitchError, OSError, ValueError, KeyError) as error:
        outcome = {"ok": False, "why": clean(str(error))}
    write(folder / "outcome", json.dumps(outcome))


def restore_boot_file(folder: Path) -> None:
    """Put back the files that FRR starts from, or the absence of `frr.conf`, which only `split-unified` keeps."""
    for name in sonic_tables.DAEMON_FILES:
        if (backup := folder / f"backup-{name}").exists():
            shutil.copy2(backup, FRR_PATH.with_name(name))
    if (folder / "backup-frr.conf").exists():
        shutil.copyfile(folder / "backup-frr.conf", FRR_PATH)
    else:
        FRR_PATH.unlink(missing_ok=True)


# --- the way back -------------------------------------------------------------------------------------


def guard(folder: Path, checkpoint: str) -> None:
    """Wait for the deadline of a commit, named by its checkpoint; go back when nobody confirmed until then."""

    def ours() -> bool:
        with contextlib.suppress(OSError):
            return (folder / "pending").read_text().strip() == checkpoint
        return False

    # Seconds since the start of the switch, as the driver counts them: its clock may be set meanwhile.
    while ours() and time.clock_gettime(time.CLOCK_BOOTTIME) < float((folder / "deadline").read_text()):
        time.sleep(0.5)
    if not ours():
        return
    try:
        (folder / "pending").rename(folder / "claimed")  # this process decides, or a confirmation
    except OSError:
        return
    write(folder / "why", "not confirmed in time\n")
    revert(folder)


def end_application(folder: Path) -> None:
    """End an application that still runs: a replacement at once, a reload when it is through."""
    with (folder / "updater.lock").open("a") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        pid = int((folder / "apply.pid").read_text())
        if read_json(folder / "plan.json")["way"] == RELOAD:
            until = time.monotonic() + ENDS_S
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                time.sleep(1)
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGTERM)
        fcntl.flock(lock, fcntl.LOCK_EX)


def revert(folder: Path) -> bool:
    """Go back to what ran before, the way it came; by `config reload` where the updater refuses that or fails."""
    write(folder / "phase", "reverting\n")
    end_application(folder)
    failed = ""
    try:
        with updating(folder):
            plan = read_json(folder / "plan.json")
            before = sonic_tables.require_tables(read_json(CHECKPOINTS / f"{plan['checkpoint']}.cp.json"))
            backup = folder / "backup-frr.conf"
            started = plan["frr"] or plan["way"] == RELOAD
            old = backup if started and backup.exists() and sonic_tables.takes_frr(before) else None
            if started and old is None:
                restore_boot_file(folder)
            try:
                bring(folder, before, old, plan["way"], back=True)
            except SwitchError as error:
                if plan["way"] != REPLACE:
                    raise
                with (folder / "why").open("a") as why:
                    why.write(f"back by config reload, since: {clean(str(error))}\n")
                bring(folder, before, old, RELOAD, back=True)
    except (SwitchError, OSError, ValueError, KeyError) as error:
        failed = clean(str(error))
    for name in ("pending", "claimed"):
        (folder / name).unlink(missing_ok=True)
    if failed:
        with (folder / "why").open("a") as why:
            why.write(f"{failed}\n")
    write(folder / "phase", "failed\n" if failed else "reverted\n")
    return not failed


def clean(text: str) -> str:
    """Return the text in one line without what follows words such as `password`."""
    hidden = re.sub(
        r"(?i)\b(password|passkey|secret|community|key)(\"?(?:\s+(?::\s+)?|:\s+)\"?)[^\s\",;]+",
        r"\1\2<hidden>",
        text,
    )
    return " ".join(hidden.split())[-_LAST:]


def main(verb: str, place: str, checkpoint: str = "") -> int:
    """Run the command of the driver."""
    folder = Path(place)
    os.umask(0o077)
    if verb in ("check", "saved"):
        try:
            print(json.dumps(check(folder) if verb == "check" else {"saved": is_saved()}))
        except (SwitchError, OSError, ValueError) as error:
            print(clean(str(error)), file=sys.stderr)
            return 1
    elif verb == "apply":
        write(folder / "apply.pid", str(os.getpgrp()))
        apply(folder)
    elif verb == "guard":
        guard(folder, checkpoint)
    else:
        return 0 if revert(folder) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
