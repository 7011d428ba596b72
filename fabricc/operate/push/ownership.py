"""Let one push at a time hold a cluster's journal, and undo nothing that others hold on a switch."""

from __future__ import annotations

import fcntl
import getpass
import hashlib
import os
import re
import socket
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.devices import DeviceError
from fabricc.operate.drivers import Hold, HoldKind
from fabricc.operate.push.built_tree import PushRefusedError
from fabricc.operate.push.reach import RunConnections

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.operate.devices.connection import Connection


_LONGEST = 20
"""Letters of an account and of a machine in the name of a session: EOS shows that name in tables."""


def new_session() -> str:
    """Return a name that no other run has, and that shows operators whose run it is: `7f3a2b1c-netops-jump1`."""
    account = ""
    with suppress(OSError, KeyError):
        account = getpass.getuser()
    words = (
        re.sub(r"[^A-Za-z0-9]+", "-", word)[:_LONGEST].strip("-") for word in (account, socket.gethostname())
    )
    return "-".join([token_hex(4), *filter(None, words)])


@dataclass(slots=True)
class Ownership(RunConnections):
    """The switches that a run may change.

    Attributes:
        stopping: switch -> the guard of a dead run, which is stopped before the first change.
        suspects: switches on which somebody else may have been at work since this run changed them.
        edited: switches that somebody else has changed since.
        foreign: switches on which the device reported that another session made the commit that waits.
        unsent: switches to which this run has sent no commit yet.
        beside: remarks on sessions that do not block the push, a line each.
    """

    stopping: dict[str, Hold] = field(default_factory=dict)
    suspects: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    unsent: set[str] = field(default_factory=set)
    beside: list[str] = field(default_factory=list)

    def require_free(self, name: str, switch: Connection, *, asking: bool = False) -> None:
        """Refuse a switch that another session holds; candidates that dead runs left behind are dropped.

        With `asking`, a guard of a dead run is allowed; it is stopped before the first change.

        Raises:
            DeviceError: FAB9111, a commit waits for its confirmation; FAB9136, a guard, a candidate or an update is in
                the way.
        """
        for hold in switch.holds():
            if hold.own:
                continue
            ended = hold.owner in self.dead or hold.owner in self.taken
            if hold.kind is HoldKind.CANDIDATE and ended:
                switch.end_hold(hold)
            elif not hold.blocks:
                self.beside.append(
                    f"{name}: {hold.owner} has a session that is not committed; it is left alone"
                )
            elif asking and hold.kind is HoldKind.GUARD and self._may_stop(hold):
                self.stopping[name] = hold
            else:
                raise self.make_hold_error(name, hold)

    def _may_stop(self, hold: Hold) -> bool:
        """Return whether the options allow stopping a guard: its run is dead, or the operator declares it dead."""
        return hold.owner in self.taken or (self.options.adopt and hold.owner in self.dead)

    def make_hold_error(self, name: str, hold: Hold) -> DeviceError:
        """Return the finding about a claim that is in the way: what it is, whose, and how long it stands."""
        owner, left = hold.owner or "somebody else", ""
        if hold.left_s is not None:
            left = f", {max(0.0, hold.left_s):.0f} s more"
        if hold.kind is HoldKind.COMMIT:
            message = f"{name}: a commit of {owner} waits for its confirmation{left}"
            return DeviceError("FAB9111", message, "Confirm or undo it first.")
        if hold.kind is HoldKind.UPDATE:
            message = f"{name}: {owner} is changing the configuration"
            return DeviceError(
                "FAB9136", message, "Wait until it has ended, then run the same command again."
            )
        remedy = "Commit or discard it first."
        if hold.kind is HoldKind.CANDIDATE:
            message = f"{name}: {owner} has a candidate that is not committed{left}"
            if hold.left_s is not None:
                remedy = f"Wait until its lock expires. If its run is dead, --take-over {owner} drops it."
            return DeviceError("FAB9136", message, remedy)
        message = f"{name}: a guard of {owner} restores the configuration before it{left}"
        remedy = f"Wait, or end that run where it began. If it is dead, --take-over {owner} stops its guard."
        if hold.owner in self.dead:
            remedy = "Wait, or use --adopt, which stops it: its run is in this journal, and is over."
        return DeviceError("FAB9136", message, remedy)

    def stop_guard(self, name: str) -> None:
        """Stop the guard of a dead run; what runs now stays.

        Raises:
            DeviceError: FAB9136, it has restored the switch meanwhile, so what was read before is out of date.
        """
        hold = self.stopping[name]
        with self._connect_switch(name) as switch:
            if not switch.end_hold(hold):
                message = f"{name}: the guard of {hold.owner} has restored the switch meanwhile"
                raise DeviceError("FAB9136", message, "Run the same command again.")

    def drop_candidate(self, name: str) -> None:
        """Drop the candidate, and its lock, of this run on a switch that it has not changed.

        Raises:
            DeviceError: the switch does not answer; the lock expires by itself.
        """
        with self._connect_switch(name) as switch:
            drop_own_candidate(switch)

    # Commits that wait for their confirmation.

    def require_own_commit(self, name: str, switch: Connection, hold: Hold) -> None:
        """Refuse to confirm or to undo a commit that this run did not make.

        Where a device does not report who made it, what it runs decides: a commit of this run brings what is planned.

        Raises:
            DeviceError: FAB9111.
        """
        own = hold.own
        if own is None:
            wanted = self._files_until_confirmed(name)
            own = not self._describe_difference(name, self._files(switch, wanted), wanted)
        if not own:
            self.suspects.add(name)
            if hold.own is False:
                self.foreign.add(name)
            raise self.make_hold_error(name, hold)

    def undo(self, name: str, switch: Connection) -> None:
        """Undo a commit of this run that waits for its confirmation; its own time may run out meanwhile.

        Raises:
            DeviceError: FAB9117, it still waits; FAB9111, another session made it.
        """
        if (hold := switch.find_pending_commit()) is None:
            return
        self.require_own_commit(name, switch, hold)
        try:
            switch.call("FAB9117", "the rollback", "rollback")
        except DeviceError:
            if switch.pending():
                raise


def drop_own_candidate(switch: Connection) -> None:
    """Drop the candidate of this session, and its lock."""
    for hold in switch.holds():
        if hold.own and hold.kind is HoldKind.CANDIDATE:
            switch.end_hold(hold)


_LONGEST_PATH = 4096


def _get_state_folder() -> Path:
    """Return the folder of journals, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "fabricc" / "push"


def get_default_path(cluster: str) -> Path:
    """Return the default path of the journal of a cluster."""
    return _get_state_folder() / f"{cluster}.sqlite"


@contextmanager
def hold_switches(path: Path, cluster: str, address: str) -> Iterator[None]:
    """Hold a cluster's switches alone, with their one journal; the kernel releases them with the process.

    With a second journal, one of the two would be wrong, and two pushes could change one switch. So this account's
    state folder records which journal a cluster has, until that file is removed.

    `address` is that of one of them: clusters of one name elsewhere are others.

    Raises:
        PushRefusedError: FAB9123, another push runs; FAB9152, they have another journal; FAB9124, no lock can be made.
    """
    with _open_lock(path.with_name(path.name + ".lock"), path) as (_, ours):
        if not ours:
            remedy = "Wait for it; `fabricc push TREE --status` shows it."
            raise PushRefusedError("FAB9123", f"another push holds {path}", remedy)
        key = hashlib.sha256(f"{cluster} {address}".encode()).hexdigest()[:12]
        with _open_lock(_get_state_folder() / f"{cluster}-{key}.journal", path) as (handle, free):
            known = os.pread(handle, _LONGEST_PATH, 0).decode("utf-8", "surrogateescape")
            own = os.path.realpath(path)
            if not free:
                message = f"another push holds the switches of {cluster}"
                raise PushRefusedError("FAB9123", message, f"Its journal is {known}.")
            if known and known != own and Path(known).exists():
                message = f"the switches of {cluster} have the journal {known}, and a second one would leave it untrue"
                remedy = f"Use --journal {known}; or remove that file, and push with --adopt."
                raise PushRefusedError("FAB9152", message, remedy)
            os.ftruncate(handle, 0)
            os.pwrite(handle, own.encode("utf-8", "surrogateescape"), 0)
            yield


@contextmanager
def _open_lock(lock: Path, journal: Path) -> Iterator[tuple[int, bool]]:
    """An open file, and whether nobody else holds it.

    Raises:
        PushRefusedError: FAB9124, it cannot be made.
    """
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        remedy = "Name another with --journal." if lock.parent == journal.parent else "Set XDG_STATE_HOME."
        raise PushRefusedError("FAB9124", f"cannot use {lock}: {error.strerror}", remedy) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield handle, free
    finally:
        os.close(handle)
