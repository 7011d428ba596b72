"""A running lab: its nodes, their processes, the access to them, and the record of its state folder.

Which folders are state folders is recorded outside of them: a file inside can come from anybody.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.catalog.library import suggestion_remedy
from fabricc.fabric.model import SECRET_PREFIX
from fabricc.operate.drivers.frr_agent import name_namespaces, name_vrfs
from fabricc.operate.lab import kernel, state
from fabricc.operate.lab.box import CAPABILITIES, ENVIRONMENT
from fabricc.operate.lab.node import MANAGEMENT_NODE, LabError
from fabricc.operate.lab.supervisor import READY, UNSHARE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


RELOAD = "/usr/lib/frr/frr-reload.py"
_COMPARE = 'cat > /run/lab/candidate.conf && exec python3 "$@" /run/lab/candidate.conf'
_CONFINED = ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)])
"""What a command on a switch may do: what its daemons may, without the right to mount."""
SECRETS = f"{state.LOGINS}/secrets"
"""Below the state folder: a file with the value of each secret that configurations name."""
REFERENCE = re.compile(re.escape(SECRET_PREFIX) + r"([a-z0-9-]+)")


_TIMEOUT_S = 20.0
_WHOLE_S = 120.0
_LARGEST = 256 << 20  # bytes; a table of 100,000 prefixes has some 50 MB
_END = b"\0\0\0"  # then one byte of status (FRR lib/vty.c, vtysh protocol)


@dataclass(frozen=True, slots=True)
class Lab:
    """A lab by its folder and its record."""

    folder: Path
    record: state.Record

    @classmethod
    def open(cls, folder: Path) -> Lab:
        """Open the lab of a state folder.

        Raises:
            LabError: FAB8006, there is none; FAB0086, `lab up` did not make the folder.
        """
        require_own(folder)
        return cls(folder, state.load_record(folder))

    def box(self, switch: str) -> Path:
        """Return the folder of a switch's files."""
        return self.folder / state.BOXES / switch

    def files(self, switch: str) -> Path:
        """Return the files that a switch finds in its root when it boots, below this folder."""
        return self.box(switch) / "files"

    def inside(self, switch: str) -> Path:
        """Return the root of a running switch as this machine sees it.

        Raises:
            LabError: FAB8012, the switch does not run.
        """
        return Path(f"/proc/{self._alive(switch)}/root")

    def path(self, switch: str, below: str) -> Path:
        """Return a file of a running switch as this machine sees it.

        Raises:
            LabError: FAB8012, the switch does not run, or has a link in the place of a folder or of the file, which
                this machine would follow among its own files.
        """
        root, path = self.inside(switch), Path(below)
        if any((root / each).is_symlink() for each in (path, *path.parents[:-1])):
            raise LabError("FAB8012", f"{below} of {switch} is a symbolic link to another place")
        return root / path

    def fill_in(self, text: str) -> str:
        """Return a text with the lab's values in place of references to secrets; as it is where nobody logs in."""
        places = {name: self.folder / SECRETS / name for name in REFERENCE.findall(text)}
        known = {name: place.read_text() for name, place in places.items() if place.exists()}
        return REFERENCE.sub(lambda found: known.get(found[1], found[0]), text)

    def adapt(self, switch: str, configuration: str) -> str:
        """Return the `frr.conf` of a switch as the lab loads it: with secrets, and with VRFs that are namespaces."""
        return name_vrfs(self.fill_in(configuration), self.record.vrf_ports(switch))

    def process(self, switch: str) -> int | None:
        """Process 1 of a switch as this machine numbers it; None when the switch does not run."""
        try:
            holder = int((self.box(switch) / UNSHARE).read_text())
        except (OSError, ValueError):
            return None
        below = kernel.child_processes(holder)
        return below[0] if below and self._is_mine(holder) else None

    def _is_mine(self, holder: int) -> bool:
        """Return whether a process still is the one that the supervisor started: it runs this lab's boot script."""
        try:
            return str(self.folder / state.BOXES).encode() in Path(f"/proc/{holder}/cmdline").read_bytes()
        except OSError:
            return False

    def ready(self, switch: str) -> bool:
        """Return whether a switch has loaded its configuration."""
        process = self.process(switch)
        return process is not None and Path(f"/proc/{process}/root/{READY}").exists()

    def daemon(self, switch: str, name: str) -> Path:
        """Return the vty socket of a daemon.

        Raises:
            LabError: FAB8012, the switch does not run, or has put a link in its place.
        """
        return self.path(switch, f"run/frr/{name}.vty")

    def _alive(self, switch: str) -> int:
        process = self.process(switch)
        if process is None:
            raise LabError("FAB8012", f"{switch} does not run", "See `fabricc lab status`.")
        return process

    def query_daemon(self, switch: str, name: str, command: str) -> dict[str, Any]:
        """Return the JSON answer of a switch's daemon.

        Raises:
            LabError: FAB8012, it does not answer.
        """
        try:
            return query_daemon_json(self.daemon(switch, name), command)
        except (OSError, ValueError) as error:
            raise LabError("FAB8012", f"{name} of {switch} does not answer: {error}") from None

    def entry(self, node: str, *, privileged: bool = False) -> list[str]:
        """Return the words before a command that make it run on a node.

        `privileged`: it keeps all rights of root, for commands of the lab's own.

        Raises:
            LabError: FAB8011, no such node; FAB8012, it does not run.
        """
        if node in (*self.record.hosts, MANAGEMENT_NODE):
            return ["ip", "netns", "exec", self.record.namespace(node)]
        if node not in self.record.switches:
            raise LabError("FAB8011", f"no node is named {node!r}", suggestion_remedy(node, self.nodes))
        # A program of the box must not be found by the user's PATH, nor see the user's environment.
        terminal = {name: os.environ[name] for name in ("TERM", "LANG") if name in os.environ}
        words = ["env", "-i", *(f"{name}={value}" for name, value in {**terminal, **ENVIRONMENT}.items())]
        words += ["nsenter", "-t", str(self._alive(node)), "-m", "-u", "-i", "-p", "-n"]
        return words if privileged else [*words, "setpriv", "--bounding-set", _CONFINED]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of switches and hosts."""
        return self.record.switches + self.record.hosts + self.record.outside

    def run(
        self,
        node: str,
        command: Sequence[str],
        limit_s: float = 120,
        *,
        text: str = "",
        privileged: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a node, with a text as its input, and keep what it prints."""
        words = [*self.entry(node, privileged=privileged), *command]
        return subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            start_new_session=True,  # without the user's terminal
        )

    def reload(self, switch: str, configuration: str) -> None:
        """Bring a running switch to another `frr.conf` without restarting anything.

        Raises:
            LabError: FAB8013, frr-reload did not get there.
        """
        self._reload(switch, configuration, "--reload", trouble=" did not take its new configuration")

    def pending(self, switch: str, configuration: str) -> list[str]:
        """Return the changes by frr-reload from the running state to an `frr.conf`; empty when there are none.

        Raises:
            LabError: FAB8013, frr-reload does not answer.
        """
        output = self._reload(
            switch, configuration, "--test", "--stdout", trouble=": frr-reload does not compare"
        )
        return [line.rstrip() for line in output.splitlines() if line.strip(" =")]

    def _reload(self, switch: str, configuration: str, *words: str, trouble: str) -> str:
        text = name_namespaces(self.adapt(switch, configuration), self.record.box_vrfs(switch))
        text = with_overlay(text, self.record.overlay)
        ran = self.run(switch, ["sh", "-c", _COMPARE, "sh", RELOAD, *words], text=text)
        if ran.returncode:
            output = (ran.stdout + ran.stderr).strip().splitlines()[-1:]
            raise LabError("FAB8013", f"{switch}{trouble}: {''.join(output)}")
        return ran.stdout

    def memory_kib(self) -> dict[str, int]:
        """Switch -> its processes' share of memory, KiB."""
        found = {}
        for switch in self.record.switches:
            process = self.process(switch)
            found[switch] = kernel.memory_kib(kernel.process_tree(process)) if process else 0
        return found


def with_overlay(configuration: str, overlay: Sequence[str]) -> str:
    """Return the configuration with the lab's own lines after its head, where `show running-config` has them."""
    missing = [line for line in overlay if line not in configuration.splitlines()]
    head, mark, rest = configuration.partition("!\n")
    return head + "".join(f"{line}\n" for line in missing) + mark + rest


def query_daemon(path: Path, command: str) -> str:
    """Return the answer of a daemon to one command.

    Raises:
        OSError: the daemon does not listen, or closed the connection.
        ValueError: the daemon does not know the command.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.settimeout(_TIMEOUT_S)
        channel.connect(str(path))
        _exchange_command(channel, "enable")
        status, text = _exchange_command(channel, command)
    if status:
        raise ValueError(f"{path.stem}: status {status} for {command!r}: {text.strip()[:200]}")
    return text


def query_daemon_json(path: Path, command: str) -> dict[str, Any]:
    """Return the same for a command that answers in JSON; an empty answer is an empty object."""
    try:
        found: dict[str, Any] = json.loads(query_daemon(path, command).strip() or "{}")
    except RecursionError:
        raise ValueError(f"{path.stem}: the answer is nested too deeply") from None
    return found


def _exchange_command(channel: socket.socket, command: str) -> tuple[int, str]:
    channel.sendall(command.encode() + b"\0")
    answer, until = bytearray(), time.monotonic() + _WHOLE_S
    while not (len(answer) >= 4 and answer[-4:-1] == _END):
        block = channel.recv(65536)
        if not block:
            raise ConnectionError("the daemon closed its socket")
        answer += block
        if len(answer) > _LARGEST or time.monotonic() > until:
            raise ConnectionError("the answer does not end")
    return answer[-1], answer[:-4].decode("utf-8", "replace")


_OWNED = ".owned"
"""Below the default folder: a file for each state folder that `lab up` took, gone after a reboot like the labs."""
_FORMAT = 1
_OTHERS_MAY_WRITE = 0o022
_FRESH = "Name a folder that does not exist yet: `fabricc lab up` creates it."


def claim(folder: Path) -> None:
    """Take a new or an empty folder as the state folder of a lab, and record that.

    Raises:
        LabError: FAB0086, the folder is a link, holds other files, or another user can write in it.
    """
    if is_own(folder) and os.path.lexists(folder / state.RECORD):
        return
    made = not os.path.lexists(folder)
    if made:
        folder.mkdir(mode=0o755, parents=True)
    else:
        _require_empty(folder)
    found = folder.lstat()
    record = _record(folder)
    record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    state.write_json(record, {"format": _FORMAT, "folder": [found.st_dev, found.st_ino], "made": made})


def _require_empty(folder: Path) -> None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise LabError("FAB0086", f"the state folder {folder} is a link or a file", _FRESH)
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
        raise LabError("FAB0086", f"another user can write in the state folder {folder}", _FRESH)
    if names := sorted({path.name for path in folder.iterdir()} - {state.LOCK}):
        message = f"the state folder {folder} is not empty: it holds {', '.join(names[:3])}"
        raise LabError("FAB0086", message, _FRESH)


def is_own(folder: Path) -> bool:
    """Return whether `lab up` recorded this very folder."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and _read(folder).get("folder") == [found.st_dev, found.st_ino]


def require_own(folder: Path) -> None:
    """Reject a state folder that `lab up` did not record since this machine started.

    Raises:
        LabError: FAB0086, somebody else wrote the folder; FAB8006, there is none.
    """
    if not os.path.lexists(folder / state.RECORD):
        raise LabError("FAB8006", f"no lab in {folder}", "Boot one with `fabricc lab up SPEC`.")
    if not is_own(folder):
        message = f"`lab up` of this machine did not make the lab in {folder}, or the machine has restarted"
        raise LabError("FAB0086", message, "Remove the folder yourself, and boot the lab again.")


def release(folder: Path) -> None:
    """Remove what the lab wrote to its folder, and the folder if `lab up` made it and nothing else is in it."""
    made = _read(folder).get("made") is True
    for path in _entries(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    if made:
        with suppress(OSError):
            folder.rmdir()
    _record(folder).unlink(missing_ok=True)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield the entries of a state folder that a lab writes; its record and its lock are last."""
    for name in (*state.FOLDERS, state.FAULTS, state.SUPERVISOR, state.SUPERVISOR_LOG, state.RECORD):
        yield state.draft(folder / name)
        yield folder / name
    yield folder / state.LOCK


def _record(folder: Path) -> Path:
    name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:32]
    return state.DEFAULT / _OWNED / f"{name}.json"


def _read(folder: Path) -> dict[str, object]:
    try:
        found = json.loads(_record(folder).read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
