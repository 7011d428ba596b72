"""Programs of a SONiC or Cumulus switch, in so far as the drivers call them; each is a copy of this file.

State lies in the folder SWITCH_ROOT: `running.json` (CONFIG_DB or NVUE's tree), `frr` (what FRR runs), checkpoints and
revisions. The file `faults` holds words: `reject`, `fail_commit`, `disk_full`.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(os.environ["SWITCH_ROOT"])


def fail(text: str, status: int = 1) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


def faulty(word: str) -> bool:
    file = ROOT / "faults"
    return file.exists() and word in file.read_text().split()


def config(words: list[str]) -> None:
    """SONiC's `config`."""
    running, points = ROOT / "running.json", ROOT / "checkpoints"
    points.mkdir(exist_ok=True)
    verb, rest = words[0], words[1:]
    if verb == "replace":
        wanted = json.loads(Path(rest[-1]).read_text())
        if faulty("reject") or any(table.startswith("BOGUS") for table in wanted):
            fail('Failed to replace config due to: Given patch is not valid: "passkey": "S3CRET"', 2)
        if "--dry-run" in rest:
            print("** DRY RUN EXECUTION **")
            return
        if faulty("fail_commit"):
            running.write_text('{"HALF": {"a": {}}}')
            fail("Failed to replace config due to: services did not restart", 2)
        running.write_text(json.dumps(wanted))
    elif verb == "reload":
        shutil.copy(rest[-1], running)
    elif verb == "checkpoint":
        if (points / rest[0]).exists() or faulty("disk_full"):
            fail("Failed to create a config checkpoint: No space left on device", 2)
        shutil.copy(running, points / rest[0])
    elif verb == "rollback":
        shutil.copy(points / rest[0], running)
    elif verb == "delete-checkpoint":
        (points / rest[0]).unlink()
    elif verb == "save":
        shutil.copy(running, ROOT / "etc/sonic/config_db.json")


def show(words: list[str]) -> None:
    """SONiC's `show`."""
    if words == ["runningconfiguration", "all"]:
        print((ROOT / "running.json").read_text())


def redis_dump(words: list[str]) -> None:
    """`redis-dump` of COUNTERS_DB, in which nothing is counted."""
    print("{}")


def docker(words: list[str]) -> None:
    """`docker exec [-i] CONTAINER PROGRAM …`; a container shares the folder of FRR."""
    rest = words[1:]
    rest = rest[2:] if rest[0] == "-i" else rest[1:]
    if rest[0] == "python3":
        reload_frr(rest[2:])
        return
    os.execvp(rest[0], rest)


def reload_frr(words: list[str]) -> None:
    """`frr-reload.py`."""
    wanted = Path(words[-1].replace("/etc/frr", str(ROOT / "etc/sonic/frr"))).read_text()
    running = ROOT / "frr"
    if "--reload" in words:
        if "refuse me" in wanted:
            fail("frr-reload.py failed due to neighbor 192.0.2.1 password S3CRET")
        running.write_text(wanted)
        return
    old, new = running.read_text().splitlines(), wanted.splitlines()
    gone, added = [one for one in old if one not in new], [one for one in new if one not in old]
    for heading, lines in (("Lines To Delete", gone), ("Lines To Add", added)):
        if lines:
            print(f"\n{heading}\n===============", *lines, sep="\n")


def vtysh(words: list[str]) -> None:
    """`vtysh -C -f FILE` and `vtysh -c COMMAND`."""
    if words[0] == "-C":
        if "bogus" in Path(words[2]).read_text():
            fail("line 1: % Unknown command: bogus", 2)
    elif words[1] == "show running-config":
        print(
            "Building configuration...\n\nCurrent configuration:\n!\nfrr version 10.0\n"
            + (ROOT / "frr").read_text()
        )
    else:
        print((ROOT / "vtysh" / words[1].replace(" ", "_")).read_text())


def nv(words: list[str]) -> None:
    """NVUE's `nv config …`."""
    verb, rest = words[1], words[2:]
    running, pending, waiting = ROOT / "running.json", ROOT / "pending", ROOT / "waiting.json"
    revisions = ROOT / "revisions"
    revisions.mkdir(exist_ok=True)
    wait = json.loads(waiting.read_text()) if waiting.exists() else None
    if wait and time.time() > wait["until"]:
        running.write_text(wait["before"])
        waiting.unlink()
        wait = None
    if verb in ("replace", "patch"):
        text = Path(rest[0]).read_text()
        if faulty("reject") or "bogus" in text:
            print("Error: invalid value for hashed-password: S3CRET")
        else:
            pending.write_text(text if verb == "replace" else running.read_text() + text)
    elif verb == "detach":
        pending.unlink(missing_ok=True)
    elif verb == "diff":
        old, new = running.read_text().splitlines(), pending.read_text().splitlines()
        print(*(f"nv set {one}" for one in new if one not in old), sep="\n")
        print(*(f"nv unset {one}" for one in old if one not in new), sep="\n")
    elif verb == "history":
        names = sorted((one.name for one in revisions.iterdir()), key=int, reverse=True)
        print(json.dumps([{"ref": name, "state": "applied"} for name in names]))
    elif verb == "show":
        revision = rest[rest.index("-r") + 1]
        print(
            {"applied": running, "startup": ROOT / "startup", "pending": pending}[revision].read_text(),
            end="",
        )
    elif verb == "save":
        shutil.copy(running, ROOT / "startup")
    elif verb == "apply":
        apply(rest, running, pending, waiting, revisions, wait)


def apply(rest, running, pending, waiting, revisions, wait):  # type: ignore[no-untyped-def]
    """`nv config apply …`."""
    if rest[0] == "--confirm-status":
        print(
            f"{wait['until'] - time.time():.0f} seconds left to confirm"
            if wait
            else "No apply waits to be confirmed"
        )
    elif rest[0] in ("--confirm-yes", "--confirm-no"):
        if rest[0] == "--confirm-no":
            running.write_text(wait["before"])
        waiting.unlink()
    elif faulty("fail_commit"):
        print("apply_fail: failed to apply: No space left on device")
    else:
        before = running.read_text()
        shutil.copy(pending if rest[0] == "-y" else revisions / rest[0], running)
        shutil.copy(running, revisions / str(len(list(revisions.iterdir())) + 1))
        if "--confirm" in rest:
            seconds = int(rest[rest.index("--confirm") + 1].rstrip("s"))
            waiting.write_text(json.dumps({"before": before, "until": time.time() + seconds}))


if __name__ == "__main__":
    globals()[Path(sys.argv[0]).stem.replace("-", "_")](sys.argv[1:])
