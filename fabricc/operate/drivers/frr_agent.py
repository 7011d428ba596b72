"""The FRR driver's agent on the switch: candidate, commit, revert and lock survive a lost connection.

The driver sends this file to the switch's Python with each request, so it stands alone (Python 3.9 or later) and
nothing is installed. A request is one JSON object on standard input, the answer one on standard output. A commit runs
in a process of its own which outlives the connection, keeps its state in `state.json`, and reverts by itself when a
step fails or when nobody confirms in time.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MAIN = "frr.conf"
RELOADS = ("/usr/lib/frr/frr-reload.py", "/usr/libexec/frr/frr-reload.py")
NOT_INTEGRATED = "no service integrated-vtysh-config"
SOCKETS = "/var/run/frr"
ANSWERED = b"\0\0\0"
"""What ends the text of a daemon's answer; a byte of status follows (FRR's lib/vty.c, the protocol of vtysh)."""
BUSY = ("committing", "pending", "reverting")
LIMIT_S = 300
SLACK_BYTES, RESERVE_BYTES, LEAST_RESERVE_BYTES = 1 << 20, 4 << 20, 1 << 18
BEGINNING = ("stage", "compare", "guard", "commit")
"""Requests that begin a change; all others end what was begun, for which the reserve is there."""
HEADINGS = {"Lines To Delete": "-", "Lines To Add": "+"}
BFD_DEFAULTS = {
    "detect-multiplier": "3",
    "receive-interval": "300",
    "transmit-interval": "300",
    "echo receive-interval": "50",
    "echo transmit-interval": "50",
}
"""BFD's timers and their defaults (FRR's user guide, BFD), which FRR before 10.2 cannot undo by `no` (its PR 16968)."""
BEGINS = "==fabricc=="
"""The line before the answer; a login script may print before it."""
TESTED = ("Loading Config object from file", "Loading Config object from vtysh show running")
"""What `frr-reload.py --test` logs once each, with and without a difference (frr-reload.py, FRR 8.4 to 10.7)."""
LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ ")
ERROR_LINE = re.compile(r"(?im)^.*(?:%\s|error|unknown command|fail|line \d+).*$")
NAMESPACES = "/run/netns"
"""Where a switch has the namespaces that are its VRFs, as iproute2 does (ip-netns(8))."""


class Refusal(Exception):  # noqa: N818 - not an error of this program
    """A request that cannot be served; the driver chooses its exception by `kind`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def run_program(words: list[str], limit_s: float = LIMIT_S) -> tuple[int, str, str]:
    """Run a program; return exit status, standard output and standard error."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False
        )
    except FileNotFoundError:
        return 127, "", f"{words[0]}: not found"
    except subprocess.TimeoutExpired:
        return 124, "", f"{words[0]}: no end within {limit_s} s"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def run_checked(words: list[str], *, logged: bool = False) -> str:
    """Return the standard output of a program that must succeed; with `logged`, standard error stands before it."""
    status, out, err = run_program(words)
    if status:
        said = ERROR_LINE.findall(f"{out}\n{err}") or (out + err).splitlines()[-3:]
        raise Refusal("failed", f"{' '.join(words[:2])} ended with {status}: {'; '.join(said[:5])}")
    return f"{err}\n{out}" if logged else out


def process_start(pid: int) -> str | None:
    """Return the start of a process in clock ticks (proc(5), field 22) with the boot ID; None for no process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return None if fields[0] == "Z" else f"{fields[19]}@{boot}"


def has_ended(process: dict[str, Any]) -> bool:
    """Return whether a process that `current_process` returned is no more."""
    return bool(process_start(process["pid"]) != process["started"])


def current_process() -> dict[str, Any]:
    """Return this process by its number and start time, which `started` returns."""
    return {"pid": os.getpid(), "started": process_start(os.getpid())}


def reason(error: OSError) -> str:
    """Return the text of a system error, with the file when it names one."""
    words = error.strerror or type(error).__name__
    return f"{words}: {error.filename}" if error.filename else words


def is_reloading() -> bool:
    """Return whether somebody's frr-reload.py changes this FRR now; it takes no lock."""
    own = Path("/proc/self/ns/net").readlink()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            words = (process / "cmdline").read_bytes().split(b"\0")
            reloads = b"--reload" in words and any(word.endswith(b"frr-reload.py") for word in words)
            if reloads and (process / "ns/net").readlink() == own:
                return True
    return False


def text_of(path: str | Path) -> str | None:
    """Return the text of a file; None when there is no such file."""
    try:
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def write(path: str | Path, text: str) -> None:
    """Write a file whole or not at all, with owner and mode of the one it replaces; through a link.

    A file that is a mount of its own (as in containers) cannot be replaced, and is overwritten.
    """
    place = Path(os.path.realpath(path))
    fresh = place.with_name(f".{place.name}.napalm")
    content = text.encode("utf-8", "surrogateescape")
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        like = place if place.exists() else place.parent
        shutil.chown(fresh, like.stat().st_uid, like.stat().st_gid)
        fresh.chmod(
            place.stat().st_mode & 0o7777 if place.exists() else 0o640 if place.name == MAIN else 0o644
        )
        fresh.replace(place)
    except OSError as error:
        if error.errno != errno.EBUSY:
            # A failed write or fsync does not name its file.
            raise OSError(error.errno, error.strerror, str(place)) from None
        place.write_bytes(content)
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()


def take(path: Path, size: int) -> bool:
    """Reserve space in a file, which grows to that size; return whether there was enough."""
    with path.open("ab") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            return False
    return True


def put_back(path: str | Path, text: str | None) -> None:
    """Restore a file; None removes it."""
    if text is not None:
        write(path, text)
        return
    with contextlib.suppress(FileNotFoundError):
        Path(path).unlink()


def bfd_defaults(left: list[str]) -> list[str]:
    """Return commands that set BFD timers, among lines that could not be deleted, to their defaults."""
    commands: list[str] = []
    path: list[str] = []
    for line in left:
        text = line[2:].rstrip()
        path = [*path[: len(text) - len(text.lstrip())], text.strip()]
        timer = path[-1][3:].rpartition(" ")[0]
        if line[0] == "-" and len(path) == 3 and path[0] == "bfd" and timer in BFD_DEFAULTS:
            commands += [*path[:2], f"{timer} {BFD_DEFAULTS[timer]}", "end", "configure terminal"]
    return commands


def set_hostname(folder: str, name: str) -> None:
    """Set the hostname in FRR's daemons, because vtysh does not pass it on.

    Raises:
        OSError: one does not answer.
    """
    for place in sorted(Path(folder).glob("*.vty")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.settimeout(LIMIT_S)
            channel.connect(str(place))
            for command in ("enable", "configure terminal", f"hostname {name}"):
                channel.sendall(command.encode() + b"\0")
                answer = b""
                while answer[-4:-1] != ANSWERED:
                    answer += (block := channel.recv(4096))
                    if not block:
                        raise ConnectionError(f"{place.stem} closed its socket")


def differences(log: str) -> list[str]:
    """Return the changes that `frr-reload.py --test` reports: lines that begin with `-` or `+`.

    Args:
        log: its log, which goes to standard error, and its output.

    Raises:
        Refusal: it is the output of something else, or of two runs.
    """
    if any(log.count(mark) != 1 for mark in TESTED):
        shown = " ".join(log.split())[:200] or "nothing"
        raise Refusal(
            "failed", f"frr-reload.py --test did not compare the configurations, it printed: {shown}"
        )
    lines, sign = [], ""
    for line in log.splitlines():
        if line.strip() in HEADINGS:
            sign = HEADINGS[line.strip()]
        elif sign and line.strip() and not line.startswith("===") and not LOGGED.match(line):
            lines.append(f"{sign} {line}")
    return lines


def find_defect(text: str) -> str:
    """Return what shows that a text is not one whole `show running-config` of vtysh; "" for a whole one."""
    if len(re.findall(r"(?m)^frr version ", text)) != 1:
        return "has not one line `frr version`"
    return "" if text.rstrip().endswith("\nend") else "is cut off: it does not end with `end`"


def name_vrfs(text: str, vrf_of: Mapping[str, str]) -> str:
    """Return an `frr.conf` for VRFs that are namespaces: lines of ports name their VRF."""

    def name_vrf(found: re.Match[str]) -> str:
        vrf = vrf_of.get(found[1])
        return f"{found[0]} vrf {vrf}" if vrf else found[0]

    return re.sub(r"(?m)^interface (\S+)$", name_vrf, text)


def name_namespaces(text: str, vrfs: Iterable[str]) -> str:
    """Return an `frr.conf` as FRR prints it: each VRF of the switch names its namespace, also one without lines.

    FRR finds these namespaces by itself, and does not accept their names when it starts.
    """
    configured = set(re.findall(r"(?m)^vrf (\S+)$", text))
    text = re.sub(r"(?m)^vrf (\S+)$(?!\n netns )", rf"\g<0>\n netns {NAMESPACES}/\1", text)
    idle = (vrf for vrf in vrfs if vrf not in configured)
    return text + "".join(f"vrf {vrf}\n netns {NAMESPACES}/{vrf}\nexit-vrf\n!\n" for vrf in idle)


def hold_new_vnis(running: str, wanted: str) -> str:
    """Return the wanted `frr.conf` without the VNIs of VRFs whose BGP process does not run yet.

    FRR 8.4 and 8.5 have no router MACs of a VRF whose VNI comes before its BGP process (FRRouting issue 12391).
    """
    process = r"(?m)^router bgp \d+ vrf (\S+)$"
    new = set(re.findall(process, wanted)) - set(re.findall(process, running))
    lines, vrf = [], ""
    for line in wanted.splitlines(keepends=True):
        if not line.startswith(" "):
            vrf = line.split()[1] if re.match(r"vrf \S+$", line) else ""
        if not (vrf in new and re.match(r" vni \d+$", line)):
            lines.append(line)
    return "".join(lines)


def opened_ports(running: str, wanted: str) -> list[str]:
    """Return the lines `interface NAME` of ports that are shut in the running configuration, and not in another."""
    shut = [
        set(re.findall(r"(?m)^(interface .+)\n(?: .*\n)*? shutdown$", text)) for text in (running, wanted)
    ]
    return sorted(shut[0] - shut[1])


def drop_namespaces(text: str) -> str:
    """Return an `frr.conf` without what `name_vrfs` and `name_namespaces` add."""
    text = re.sub(r"(?m)^(interface \S+) vrf \S+$", r"\1", text)
    text = re.sub(r"(?m)^vrf \S+\n netns \S+\nexit-vrf\n(?:!\n)?", "", text)
    return re.sub(rf"(?m)^ netns {NAMESPACES}/\S+\n", "", text)


def port_vrfs(interfaces: str) -> dict[str, str]:
    """Return the VRF of each interface of an `interfaces` file of ifupdown2."""
    found: dict[str, str] = {}
    name = ""
    for words in map(str.split, interfaces.splitlines()):
        if len(words) > 1 and words[0] == "iface":
            name = words[1]
        elif len(words) == 2 and words[0] == "vrf":
            found[name] = words[1]
    return found


class Switch:
    """FRR and the files of this machine; `namespaces`: its VRFs are network namespaces."""

    def __init__(self, table: dict[str, dict[str, str]], *, namespaces: bool = False) -> None:
        self.table, self.namespaces = table, namespaces

    def adapt_config(self, text: str, files: dict[str, str]) -> str:
        """Return the `frr.conf` of a candidate as this FRR prints it."""
        if not self.namespaces:
            return text
        interfaces = files.get("interfaces") or text_of(self.path("interfaces")) or ""
        vrfs = sorted(place.name for place in Path(NAMESPACES).glob("*"))
        return name_namespaces(name_vrfs(text, port_vrfs(interfaces)), vrfs)

    def plain(self, text: str) -> str:
        """Return an `frr.conf` of this FRR in the form of a candidate."""
        return drop_namespaces(text) if self.namespaces else text

    def running(self) -> str:
        """Return the running configuration of FRR's daemons."""
        text = run_checked(["vtysh", "-c", "show running-config"])
        if wrong := find_defect(text):
            raise Refusal("failed", f"the running configuration {wrong}")
        return text[text.find("frr version") :]

    def reload(self, *words: str) -> str:
        """Run frr-reload.py, which FRR's own `reload` runs."""
        program = next((one for one in RELOADS if Path(one).exists()), RELOADS[0])
        return run_checked(["python3", program, "--stdout", *words], logged=True)

    def differences(self, wanted: Path) -> list[str]:
        """Return the changes that a configuration would make in the running FRR."""
        return differences(self.reload("--test", str(wanted)))

    def apply_config(self, wanted: Path) -> None:
        """Make the running FRR equal a configuration, keeping the sessions it does not touch.

        A second run deletes lines that the first one created again: it enters the section `bfd` after `no bfd`.
        Ports that are no longer shut are opened before: zebra refuses to delete addresses of one that is down.
        """
        text, running = wanted.read_text(), self.running()
        for port in opened_ports(running, text):
            run_checked(["vtysh", "-c", "configure terminal", "-c", port, "-c", "no shutdown"])
        if (first := hold_new_vnis(running, text)) != text:
            before = wanted.with_name(f"{wanted.name}.before-vnis")
            before.write_text(first)
            self.reload("--reload", str(before))
            before.unlink()
        self.reload("--reload", str(wanted))
        left = self.differences(wanted)
        if left:
            if commands := bfd_defaults(left):
                words = [word for one in commands for word in ("-c", one)]
                run_checked(["vtysh", "-c", "configure terminal", *words])
            name = re.search(r"(?m)^hostname (\S+)$", wanted.read_text())
            if name and any(line[2:].startswith(("hostname ", "no hostname ")) for line in left):
                set_hostname(SOCKETS, name[1])
            self.reload("--reload", str(wanted))
            left = self.differences(wanted)
        if left:
            raise Refusal("failed", f"FRR did not take everything: {'; '.join(left[:5])}")

    def path(self, name: str) -> str:
        """Return the path of a file of the candidate on this machine."""
        return self.table[name]["path"]

    def activate(self, name: str, step: str = "activate") -> None:
        """Activate a file that was replaced; the step `after` is for when FRR has its new configuration."""
        command = self.table[name].get(step, "").replace("{path}", self.path(name))
        if command:
            run_checked(["sh", "-c", command])


class Box:
    """The driver's folder on the switch: candidate, backup, lock and the state of the last commit.

    A reserve of space stays there between commits, so that a change can be ended even when the disk is full by then.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.session = request["session"]
        self.switch = Switch(request["table"], namespaces=bool(request.get("vrf_namespaces")))
        self.folder = Path(request["folder"])
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self.main = self.folder / MAIN
        self.reserve = self.folder / "reserve"
        self.ending = request["do"] not in BEGINNING or bool(request.get("use_reserve"))

    # What is kept.

    def load_object(self, name: str) -> Any:
        """Return a kept object; None when there is none."""
        return json.loads(text_of(self.folder / f"{name}.json") or "null")

    def store_object(self, name: str, value: Any) -> None:
        """Keep an object, or remove it when it is None."""
        self.put(self.folder / f"{name}.json", None if value is None else json.dumps(value))

    def put(self, path: Path, text: str | None) -> None:
        """Write or remove a file; use the reserve when the disk is full and the request ends a change."""
        try:
            put_back(path, text)
        except OSError as error:
            if error.errno != errno.ENOSPC or not self.ending or not self.reserve.exists():
                raise
            self.reserve.unlink()
            put_back(path, text)

    def set_aside(self) -> bool:
        """Keep a reserve, or as much of it as there is space for; return whether it is complete."""
        space = os.statvfs(self.folder)
        has = self.reserve.stat().st_size if self.reserve.exists() else 0
        size = min(RESERVE_BYTES, has + space.f_bavail * space.f_frsize - LEAST_RESERVE_BYTES)
        return has >= RESERVE_BYTES or (size > has and take(self.reserve, size) and size == RESERVE_BYTES)

    def state(self) -> dict[str, Any]:
        """Return the state of the last commit."""
        return self.load_object("state") or {"phase": "idle", "why": ""}

    def enter(self, phase: str, why: str = "", **more: Any) -> None:
        """Set the phase of a commit."""
        self.store_object("state", {**self.state(), "phase": phase, "why": why, **more})

    @contextlib.contextmanager
    def run_exclusively(self) -> Iterator[None]:
        """Run one request at a time on the switch."""
        with (self.folder / "guard").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def refuse_others(self) -> None:
        """Take or renew the lock for the session.

        Raises:
            Refusal: another session holds it.
        """
        held, now = self.lock(), time.time()
        if held and held["session"] != self.session:
            left = f"{held['until'] - now:.0f} s more"
            raise Refusal("locked", f"session {held['session']} holds the candidate for {left}")
        self.store_object("lock", {"session": self.session, "until": now + self.request["lock_s"]})

    def lock(self) -> Any:
        """Return the lock of the candidate; None when there is none or it has expired."""
        held, now = self.load_object("lock"), time.time()
        return held if held and now < held["until"] < now + 86400 else None

    def refuse_guarded(self) -> None:
        """Refuse a change that the guard of another session would undo later.

        Raises:
            Refusal: such a guard stands.
        """
        guard = self.load_object("guard")
        if guard and guard["session"] != self.session:
            left = max(0.0, guard["deadline"] - time.monotonic())
            raise Refusal(
                "locked",
                f"session {guard['session']} has set a guard that restores the switch in {left:.0f} s",
            )

    def refuse_foreign_commit(self) -> None:
        """Refuse to confirm or to undo the pending commit of another session.

        Raises:
            Refusal: another session made it.
        """
        maker = self.state().get("by", self.session)
        if maker != self.session:
            raise Refusal("locked", f"session {maker} made the commit that waits")

    def mine(self) -> bool:
        """Return whether the session holds the lock."""
        held: dict[str, Any] = self.load_object("lock") or {}
        return bool(held.get("session") == self.session)

    def discard_candidate(self) -> None:
        """Drop the candidate and the lock; after a commit, a switch keeps a reserve."""
        for name in ("candidate", "lock", "compared"):
            self.store_object(name, None)
        put_back(self.main, None)
        if self.load_object("state"):
            self.set_aside()

    def recover(self) -> None:
        """Revert a commit whose process died: power loss, or a kill.

        A process that ended by itself between both reads has left another state, or no guard.
        """
        state = self.state()
        if state["phase"] in BUSY and has_ended(state["worker"]) and self.state() == state:
            self.detach("reverting", "the process of the commit died", self.revert)
        guard = self.load_object("guard")
        if guard and has_ended(guard["worker"]) and self.load_object("guard") == guard:
            self.start_guard(guard)

    # Requests.

    def do_stage(self) -> dict[str, Any]:
        """Keep a candidate that FRR's own grammar accepts."""
        if self.state()["phase"] in BUSY:
            raise Refusal("pending", f"a commit is {self.state()['phase']}")
        files = dict(self.request["files"])
        if MAIN in files:
            self.require_integrated_config()
        self.refuse_others()
        if MAIN in files and self.request["merge"]:
            base = re.sub(r"(?m)^end\s*$", "", self.switch.running())
            files[MAIN] = f"{base}\n{files[MAIN]}"
        try:
            self.store_object("candidate", files)
            self.store_object("compared", None)
            if MAIN in files:
                self.put(self.main, self.switch.adapt_config(files[MAIN], files))
                status, out, err = run_program(["vtysh", "-C", "-f", str(self.main)])
                said = [line for line in (out + err).splitlines() if line.strip()]
                if status or any("% " in line for line in said):
                    raise Refusal("rejected", "; ".join(said[:10]) or f"vtysh -C ended with {status}")
        except (Refusal, OSError):
            self.discard_candidate()
            raise
        return {}

    def require_integrated_config(self) -> None:
        """Refuse an FRR with a file for each daemon: `frr-reload.py` compares it, and ends when it is to change it.

        Raises:
            Refusal: vtysh.conf sets that.
        """
        settings = text_of(Path(self.switch.path(MAIN)).with_name("vtysh.conf")) or ""
        if NOT_INTEGRATED in map(str.strip, settings.splitlines()):
            raise Refusal(
                "rejected",
                f"vtysh.conf has `{NOT_INTEGRATED}`, with which frr-reload.py changes nothing; remove that line",
            )

    def changed(self) -> dict[str, str]:
        """Return the files of the candidate, other than `frr.conf`, that differ on the machine, in table order."""
        files = self.load_object("candidate") or {}
        rest = [name for name in self.switch.table if name in files and name != MAIN]
        return {name: files[name] for name in rest if text_of(self.switch.path(name)) != files[name]}

    def do_compare(self) -> dict[str, Any]:
        """Return the device's own difference for FRR, and a unified diff of each other file."""
        if not self.mine() or self.load_object("candidate") is None:
            raise Refusal("lost", "the candidate is gone: another session took over, or it was discarded")
        self.refuse_others()
        parts: list[str] = []
        for name, text in self.changed().items():
            path = self.switch.path(name)
            old = (text_of(path) or "").splitlines()
            parts += difflib.unified_diff(old, text.splitlines(), path, f"{path} (candidate)", "", "", 1, "")
        if self.main.exists():
            lines = self.switch.differences(self.main)
            parts += ["--- FRR, running", "+++ FRR, candidate", *lines] if lines else []
        self.store_object("compared", self.backup(self.load_object("candidate")))
        return {"diff": "\n".join(parts)}

    def do_commit(self) -> dict[str, Any]:
        """Start a commit; `do_status` returns its progress."""
        if self.state()["phase"] in BUSY:
            raise Refusal("pending", f"a commit is {self.state()['phase']}")
        if not self.mine() or self.load_object("candidate") is None:
            raise Refusal("locked", "the candidate is gone: another session took over, or it was discarded")
        self.refuse_others()
        self.refuse_guarded()
        files = self.load_object("candidate")
        self.require_space(files)
        backup = self.backup(files)
        if self.load_object("compared") not in (None, backup):
            raise Refusal("locked", "the switch has changed since it was compared; nothing was changed")
        self.store_object("compared", None)
        self.store_object("backup", backup)
        self.detach("committing", "", self.commit)
        return {}

    def backup(self, files: dict[str, str]) -> dict[str, Any]:
        """Return the present content of some files, to restore it later."""
        texts = {name: text_of(self.switch.path(name)) for name in files}
        running = self.switch.running() if MAIN in files else None
        more = {"table": self.switch.table, "namespaces": self.switch.namespaces}
        return {"files": texts, "running": running, **more}

    def require_space(self, files: dict[str, str]) -> None:
        """Require space to commit, and to go back even if others fill the disk meanwhile.

        Raises:
            Refusal: there is none; a request that may not use the reserve leaves it as it is.
        """
        folders = {self.folder, *(Path(self.switch.path(name)).parent for name in files)}
        whole = self.set_aside()
        full = self.without_space(folders, files)
        if self.ending and (full or not whole):
            put_back(self.reserve, None)
            full, whole = self.without_space(folders, files), True
            take(self.reserve, LEAST_RESERVE_BYTES)
        if full or not whole:
            raise Refusal(
                "failed", f"{full or self.folder}: no space left for a safe commit; nothing was changed"
            )

    def without_space(self, folders: set[Path], files: dict[str, str]) -> Path | None:
        """Return the first folder without the space for a commit."""
        wanted = SLACK_BYTES + 4 * sum(len(text) for text in files.values())
        for folder in sorted(folders):
            space = os.statvfs(next(place for place in (folder, *folder.parents) if place.exists()))
            if space.f_bavail * space.f_frsize < wanted:
                return folder
        return None

    def do_guard(self) -> dict[str, Any]:
        """Go back to the present configuration after some time unless released, whatever is committed until then.

        An existing guard keeps its backup, and its time starts again.
        """
        self.refuse_guarded()
        guard = self.load_object("guard")
        if not guard:
            if self.request["armed"]:
                return {"armed": False}
            if not self.mine() or self.load_object("candidate") is None:
                raise Refusal("lost", "the candidate is gone: another session took over, or it was discarded")
            guard = {"session": self.session, "backup": self.backup(self.load_object("candidate"))}
        guard["seconds"] = self.request["seconds"]
        self.start_guard(guard)
        return {"armed": True}

    def do_release(self) -> dict[str, Any]:
        """Drop the session's guard, or that of a named owner; return whether it existed until now."""
        guard = self.load_object("guard")
        if not guard or guard["session"] != self.request.get("owner", self.session):
            return {"released": False}
        self.store_object("guard", None)
        return {"released": True}

    def do_holds(self) -> dict[str, Any]:
        """Return the claims of sessions: a guard, a commit that has not ended, the lock of a candidate, a reload."""
        found, now = [], time.monotonic()
        state, guard, held = self.state(), self.load_object("guard"), self.lock()
        if guard:
            found.append({"claim": "guard", "owner": guard["session"], "left_s": guard["deadline"] - now})
        if state["phase"] in BUSY:
            left = state["deadline"] - now if state["phase"] == "pending" else None
            found.append({"claim": "commit", "owner": state.get("by", ""), "left_s": left})
        elif is_reloading():
            found.append({"claim": "update", "owner": "`frr-reload.py`", "left_s": None})
        if held:
            left = held["until"] - time.time()
            found.append({"claim": "candidate", "owner": held["session"], "left_s": left})
        return {"holds": found}

    def do_confirm(self) -> dict[str, Any]:
        """Let the process of a pending commit keep it."""
        if self.state()["phase"] != "pending":
            raise Refusal("failed", f"no commit waits for confirmation (state: {self.state()['phase']})")
        self.refuse_foreign_commit()
        self.store_object("wish", "confirm")
        return {}

    def do_rollback(self) -> dict[str, Any]:
        """Go back to before the last commit."""
        if self.state()["phase"] == "pending" and self.load_object("wish") != "revert":
            self.refuse_foreign_commit()
            self.store_object("wish", "revert")
        elif self.state()["phase"] == "pending" or self.state()["phase"] == "reverting":
            return {}
        elif self.state()["phase"] in BUSY:
            raise Refusal("pending", f"a commit is {self.state()['phase']}")
        elif self.load_object("backup") is None:
            raise Refusal("failed", "nothing to roll back to")
        else:
            self.refuse_others()
            self.detach("reverting", "asked for", self.revert)
        return {}

    def do_discard(self) -> dict[str, Any]:
        """Drop the candidate of the session, or of a named owner; another session's stays."""
        held = self.load_object("lock")
        if held and held["session"] == self.request.get("owner", self.session):
            self.discard_candidate()
        return {}

    def do_status(self) -> dict[str, Any]:
        """Return the state of the last commit, with the seconds left to confirm it."""
        state = self.state()
        left = state.get("deadline", 0) - time.monotonic() if state["phase"] == "pending" else -1
        guard = self.load_object("guard")
        guarded = guard["deadline"] - time.monotonic() if guard else -1
        told = {
            "phase": state["phase"],
            "why": state["why"],
            "left_s": left,
            "wish": self.load_object("wish"),
        }
        return {**told, "guarded_s": guarded}

    def do_read(self) -> dict[str, Any]:
        """Return the files of the table, the candidate, and FRR's running configuration.

        While a commit waits, the files on disk are those for a reboot; the active files, other than FRR's, are its own.
        """
        table, candidate = self.switch.table, self.load_object("candidate") or {}
        saved = {name: text for name in table if (text := text_of(table[name]["path"])) is not None}
        if self.state()["phase"] == "pending":
            saved |= {name: text for name, text in candidate.items() if name != MAIN}
        if MAIN in saved:
            saved[MAIN] = self.switch.plain(saved[MAIN])
        return {"running": self.switch.plain(self.switch.running()), "saved": saved, "candidate": candidate}

    def do_run(self) -> dict[str, Any]:
        """Run programs, one after the other."""
        return {"ran": [run_program(words, self.request["limit_s"]) for words in self.request["commands"]]}

    # The process of a commit.

    def detach(self, phase: str, why: str, body: Any) -> None:
        """Run the rest of a commit in a process of its own."""
        self.store_object("wish", None)

        def begin() -> None:
            self.enter(
                phase, why, worker=current_process(), by=self.session, message=self.request.get("message", "")
            )

        self.run_detached(begin, body)

    def run_detached(self, begin: Any, body: Any) -> None:
        """Run something in a process that outlives the connection; return when it has begun."""
        reading, writing = os.pipe()
        if os.fork():
            os.close(writing)
            os.read(reading, 1)
            os.close(reading)
            return
        os.setsid()
        if os.fork():
            os._exit(0)
        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            self.ending = True
            begin()
            os.write(writing, b".")
            os.closerange(3, 256)
            body()
        except Exception as error:  # the last resort: otherwise the failure would go unnoticed
            self.enter("failed", f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)

    def start_guard(self, guard: dict[str, Any]) -> None:
        """Start a process that goes back when the guard's time is over; an earlier such process ends."""

        def begin() -> None:
            until = time.monotonic() + guard["seconds"]
            self.store_object("guard", {**guard, "deadline": until, "worker": current_process()})

        self.run_detached(begin, self.stand_guard)

    def stand_guard(self) -> None:
        """Wait for the release or the deadline; a commit that is under way at the deadline ends first."""
        while True:
            time.sleep(0.5)
            with self.run_exclusively():
                guard = self.load_object("guard")
                if guard is None or guard["worker"] != current_process():
                    return
                if time.monotonic() < guard["deadline"] or self.state()["phase"] in BUSY:
                    continue
                self.store_object("backup", guard["backup"])
                self.store_object("wish", None)
                why = f"not released within {guard['seconds']} s"
                self.enter("reverting", why, worker=current_process(), by=guard["session"])
                self.store_object("guard", None)
            self.revert()
            return

    def commit(self) -> None:
        """Apply the candidate; restore the backup when a step fails."""
        files, seconds = self.load_object("candidate"), self.request["revert_s"]
        try:
            changed = self.changed()
            for name, text in changed.items():
                write(self.switch.path(name), text)
                self.switch.activate(name)
            if MAIN in files:
                self.switch.apply_config(self.main)
                write(self.switch.path(MAIN), files[MAIN])
            for name in changed:
                self.switch.activate(name, "after")
        except (Refusal, OSError) as error:
            self.enter("reverting", str(error))
            self.revert()
            return
        if seconds:
            self.save(self.load_object("backup")["files"])
            until = time.monotonic() + seconds
            self.enter("pending", deadline=until)
            wish = self.pending_request(until)
            if wish != "confirm":
                self.enter("reverting", "asked for" if wish else f"not confirmed within {seconds} s")
                self.revert()
                return
            put_back(self.reserve, None)
            self.save(files)
        self.discard_candidate()
        self.enter("confirmed")

    def save(self, texts: dict[str, str | None]) -> None:
        """Write the boot files without activating them: until confirmed, a reboot reverts."""
        for name, text in texts.items():
            put_back(self.switch.path(name), text)

    def pending_request(self, until: float) -> str | None:
        """Return the request before the deadline: `confirm` or `revert`; None when there is none."""
        while True:
            late = time.monotonic() >= until
            wish: str | None = self.load_object("wish")
            if wish or late:
                return wish
            time.sleep(0.1)

    def revert(self) -> None:
        """Restore the backup in up to three attempts; the last state records the reason and the outcome."""
        put_back(self.reserve, None)
        backup, why = self.load_object("backup"), self.state()["why"]
        self.switch = Switch(backup["table"], namespaces=backup.get("namespaces", False))
        for attempt in range(3):
            try:
                time.sleep(2 * attempt)
                self.restore(backup)
            except (Refusal, OSError) as error:
                self.enter("reverting", f"{why}; going back failed: {error}")
                continue
            self.store_object("backup", None)
            self.discard_candidate()
            self.enter("reverted", why)
            return
        self.discard_candidate()
        self.enter("failed", self.state()["why"])

    def restore(self, backup: dict[str, Any]) -> None:
        """Restore and activate every file, and restore FRR; a failed step does not stop the others."""
        failures = []

        def attempt(step: Callable[[], None]) -> None:
            try:
                step()
            except (Refusal, OSError) as error:
                failures.append(str(error))

        names = [name for name in reversed(self.switch.table) if name in backup["files"]]
        for name in names:
            attempt(lambda name=name: put_back(self.switch.path(name), backup["files"][name]))  # type: ignore[misc]
            if name != MAIN:
                attempt(lambda name=name: self.switch.activate(name))  # type: ignore[misc]
        if backup["running"] is not None:
            attempt(lambda: write(self.main, backup["running"]))
            attempt(lambda: self.switch.apply_config(self.main))
            attempt(lambda: put_back(self.switch.path(MAIN), backup["files"][MAIN]))
        for name in names:
            attempt(lambda name=name: self.switch.activate(name, "after"))  # type: ignore[misc]
        if failures:
            raise Refusal("failed", "; ".join(failures))


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request; `did` repeats it."""
    did = {"did": request["do"]}
    try:
        box = Box(request)
        if request["do"] == "run":
            return {**did, **box.do_run()}
        with box.run_exclusively():
            box.recover()
            answer: dict[str, Any] = getattr(box, f"do_{request['do']}")()
            return {**did, **answer}
    except Refusal as error:
        return {**did, "refused": error.kind, "text": str(error)}
    except OSError as error:
        return {**did, "refused": "failed", "text": reason(error)}


if __name__ == "__main__":
    print(BEGINS, json.dumps(serve(json.loads(sys.stdin.buffer.read()))), sep="\n")
