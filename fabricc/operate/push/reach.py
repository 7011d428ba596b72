"""Reach a switch: connections, candidates, and its former, running and planned configuration."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics.wording import join_words
from fabricc.base.values import dataclass, replace
from fabricc.operate.devices import DeviceError, RefusedLoginError, running
from fabricc.operate.devices import identity as device_identity
from fabricc.operate.devices.connection import Connection, open_connection
from fabricc.operate.devices.login import driver_class
from fabricc.operate.devices.running import reverting_of_driver
from fabricc.operate.push.built_tree import BuiltTree, PushRefusedError
from fabricc.operate.push.drain import drain_files, list_sessions
from fabricc.operate.push.image_step import INSTALL, Hook
from fabricc.operate.push.impact import assess_effect, find_text_changes
from fabricc.review.diff.model import Impact

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fabricc.operate.change.resources import Effect
    from fabricc.operate.devices.access import Access
    from fabricc.operate.push.journal import Entry, Journal
    from fabricc.operate.push.options import Options

Files = dict[str, str]
_LARGEST_DIFF = 8 << 20
"""Characters of a device's own difference; a whole configuration has at most a few MiB. Our judgment."""
REFUSED_S = 5.0
"""Pause after the first refused login of a switch; each further one is three times as long."""
SHOWN = 3
"""Differences, alarms and the like that a message has."""


@dataclass(slots=True)
class RunConnections:
    """The connections and candidates of one run.

    Attributes:
        target: the files that a switch is to run.
        rounds: how often `parallel` switches are drained in a wave, for the time that one may stay so.
        stop: set when the push is to come to an end: nothing new begins.
        hook: installs a release on each switch while it is drained; `action` is what for, or back.
        action: see `hook`.
        answers: switch -> the device that answered at its address when the push read it.
        silent: switch -> code points that nobody sends, neither by the tree that it runs nor by this one.
        session: what makes the sessions of this run on switches unlike those of any other; "" in older journals.
        dead: sessions of the other runs of this journal, of which none is alive.
        taken: sessions of other runs that the operator declared dead.
    """

    source: BuiltTree
    access: Access
    journal: Journal
    run: int
    options: Options
    target: Callable[[str], Files]
    stop: threading.Event
    rounds: int = 1
    hook: Hook | None = None
    action: str = INSTALL
    silent: Mapping[str, frozenset[int]] = field(default_factory=dict)
    answers: dict[str, device_identity.Answering] = field(default_factory=dict)
    session: str = ""
    dead: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    _refused: dict[str, int] = field(default_factory=dict)

    @property
    def roster(self) -> device_identity.Roster:
        """The switches of the plan by what identifies them."""
        return self.source.roster

    def _files(self, switch: Connection, planned: Files) -> Files:
        """Return what a switch runs, with references in place of secrets: no value leaves the connection."""
        found = read_files(self.source.devices[switch.name].nos, switch, planned)
        return {file: self.access.hide_secrets(text) for file, text in found.items()}

    @contextmanager
    def _connect_switch(self, name: str, *, ending: bool = False) -> Iterator[Connection]:
        session = session_name(self.run, self.session or name)
        try:
            with open_connection(self.source.devices[name], self.access, session, ending=ending) as switch:
                self._refused.pop(name, None)
                yield switch
        except RefusedLoginError:
            self._refused[name] = self._refused.get(name, 0) + 1
            raise

    def pause_s(self, name: str, error: DeviceError, usual: float, most: int) -> float | None:
        """Return how long to wait before the next login after a failure; None when there must be none.

        A switch that does not answer is retried after the usual pause. One that refuses the login is retried only a few
        times in a row, with growing pauses: accounts are locked after a few refusals.
        """
        if not isinstance(error, RefusedLoginError):
            return usual
        refused = self._refused[name]
        return REFUSED_S * 3 ** (refused - 1) if refused < most else None

    def get_revert_time(self, name: str) -> int:
        """Seconds after which the switch goes back by itself; 0 where its driver cannot."""
        device = self.source.devices[name]
        return reverting_of_driver(device.nos, self.access.login(device)).time(self.options.confirm_s)

    def has_guard(self, name: str) -> bool:
        """Return whether a switch that is left drained goes back in service by itself."""
        device = self.source.devices[name]
        return hasattr(driver_class(device.nos, self.access.login(device)), "arm_guard")

    def leaving_s(self, names: Iterable[str]) -> float:
        """Return the seconds until traffic has left drained switches, from the announcement of the last of them."""
        return self._announcing_s(names) + self.options.drain_s

    def settling_s(self, names: Iterable[str]) -> float:
        """Return the seconds until changed policies are in effect on all of some switches, from their commits.

        A commit that waits for its confirmation is not delayed by more than a quarter of its time.
        """
        return min(self._announcing_s(names), self.options.confirm_s / 4)

    def _announcing_s(self, names: Iterable[str]) -> float:
        devices = [self.source.devices[name] for name in names]
        classes = {driver_class(device.nos, self.access.login(device)) for device in devices}
        return max((getattr(each, "ANNOUNCES_AFTER_S", 0) for each in classes), default=0)

    @property
    def guard_s(self) -> int:
        """Seconds after which it does, unless the push has come further: twice what a step may take."""
        options = self.options
        hook_s = self.hook.timeout_s if self.hook else 0
        return self.rounds * round(options.drain_s + hook_s + 2 * (options.confirm_s + options.settle_s))

    def effect(self, name: str, before: Files, after: Files) -> Effect:
        """Return what going from one set of files to another does to a switch, the image step included."""
        device, silent = self.source.devices[name], self.silent.get(name, frozenset())
        last = (
            self.journal.deployed_files(device)
            if after == self.source.files(name)
            else running.pack_files(before)
        )
        known = self._unpack(name, last, after) if last else None
        text = find_text_changes(device.nos, before, after, known, self.source.vouched_lines)
        found = assess_effect(device, self.source.switch(name), before, after, silent, text)
        return replace(found, impact=Impact.RELOAD, why="another release") if self.hook else found

    def require_identity(self, switch: Connection, files: Mapping[str, str]) -> None:
        """Refuse a device that is another one than the switch of the plan.

        Args:
            switch: the connection to the switch's address.
            files: what it runs; empty to judge by what it reports without its configuration.

        Raises:
            DeviceError: FAB9106.
        """
        found = device_identity.identify_device(
            self.roster, switch.name, switch, files, self.target(switch.name)
        )
        if found.wrong:
            raise DeviceError(
                "FAB9106",
                f"{switch.name}: another switch answers at its address: {found.wrong}",
                device_identity.LOOK,
            )
        if files:
            reject_namesake(self.source, self.journal, switch.name, found.identity, self.target(switch.name))
            self.answers[switch.name] = found

    def require_endpoints(self, names: Iterable[str]) -> None:
        """Refuse two switches that the plan and the access file give one address.

        Raises:
            PushRefusedError: FAB9107.
        """
        for first, second in device_identity.shared_endpoints(
            self.access, (self.source.devices[name] for name in names)
        ):
            raise PushRefusedError(
                "FAB9107", f"{first} and {second} have the same address and port", device_identity.LOOK
            )

    def require_distinct(self) -> None:
        """Refuse two names that lead to one device.

        Raises:
            PushRefusedError: FAB9107.
        """
        for first, second in device_identity.shared_devices(self.answers):
            words = self.answers[second].identity.words
            raise PushRefusedError(
                "FAB9107",
                f"the addresses of {first} and {second} lead to one device ({words})",
                device_identity.LOOK,
            )

    def _candidate(self, switch: Connection, files: Mapping[str, str]) -> str:
        self.require_identity(switch, {})
        text = self.access.fill_in(running.pack_files(files))
        switch.call("FAB9114", "loading the candidate", "load_replace_candidate", config=text)
        diff = str(switch.call("FAB9114", "comparing the candidate", "compare_config"))
        if len(diff) > _LARGEST_DIFF:
            message = (
                f"{switch.name}: its own difference has {len(diff):,} characters, more than a change can have"
            )
            raise DeviceError("FAB9108", message, "Check the device: its state may be inconsistent.")
        return self.access.hide_secrets(switch.without_secrets(diff))

    def _load(self, switch: Connection, files: Files, code: str, what: str) -> None:
        """Commit what differs from some files for good; `code` and `what` for the error."""
        if self._candidate(switch, files):
            switch.call(code, what, "commit_config")
        else:
            switch.call(code, "discarding the candidate", "discard_config")

    def _drain_switch_files(self, name: str, files: Files) -> Files:
        nos = self.source.devices[name].nos
        plain, shut = self.source.render_states(name, running.address_versions(nos, files))
        return drain_files(name, nos, files, plain, shut)

    def _drain_running_files(self, name: str, files: Files, measured: Mapping[str, Any]) -> Files:
        """Return what a switch runs, drained; unchanged where that is impossible and no session of it is up.

        A new switch may run its maker's configuration, with sessions to neighbors that do not exist.

        Raises:
            DeviceError: FAB9122.
        """
        try:
            return self._drain_switch_files(name, files)
        except DeviceError:
            if "sessions" not in measured or any(up for up, _ in measured["sessions"].values()):
                raise
            return files

    def _drain_target_files(self, name: str) -> Files:
        """Return what a switch is to run, drained; unchanged where that is impossible and no planned session is in it.

        The rollback of a first push returns to the maker's configuration.

        Raises:
            DeviceError: FAB9122.
        """
        wanted, nos = self.target(name), self.source.devices[name].nos
        try:
            return self._drain_switch_files(name, wanted)
        except DeviceError:
            if list_sessions(nos, wanted) & list_sessions(nos, self.source.files(name)):
                raise
            return wanted

    def _drain_old_files(self, name: str) -> Files:
        """Return what a switch ran before the run, drained."""
        return self._drain_running_files(name, self.old_files(name), self._read_entry(name).baseline)

    def _read_entry(self, name: str) -> Entry:
        return self.journal.entry(self.run, name)

    def _describe_difference(self, name: str, files: Files, target: Files) -> str:
        """Return how a switch with some files differs from one with others, in words; "" where it does not."""
        wrong = running.find_differences(self.source.devices[name].nos, files, target)
        return join_words([running.format_mismatch(one) for one in wrong], SHOWN, "; ")

    def _describe_edits(self, name: str, files: Files, earlier_lines: Counter[str], target: Files) -> str:
        """Describe how a switch differs from what it ran when this run last looked; "" where nobody touched it.

        `earlier_lines`: the lines without a fact that it had then, which somebody may have changed as well.
        """
        if wrong := self._describe_difference(name, files, target):
            return wrong
        now = running.count_unread_lines(self.source.devices[name].nos, files)
        lines = [f"+ {line.strip()}" for line in now - earlier_lines]
        lines += [f"- {line.strip()}" for line in earlier_lines - now]
        return join_words(lines, SHOWN, "; ")

    def old_files(self, name: str) -> Files:
        """Return what the switch ran before."""
        return self._unpack(name, self._read_entry(name).before, self.target(name))

    def _unpack(self, name: str, text: str, planned: Files) -> Files:
        return running.unpack_files(self.source.devices[name].nos, text, planned)

    def needs_drain(self, name: str) -> bool:
        """Return whether the switch is drained for its change."""
        return self._read_entry(name).disruptive and self.options.drain

    def _files_until_confirmed(self, name: str) -> Files:
        """Return what the switch runs from its change until the confirmation."""
        return self._drain_target_files(name) if self.needs_drain(name) else self.target(name)


def session_name(run: int, session: str) -> str:
    """Return the name by which a run owns its locks, guards and commits on a switch."""
    return f"fabricc-{run}-{session}"


def read_files(nos: str, switch: Connection, planned: Mapping[str, str]) -> Files:
    """Return the running files of a switch: its printed configuration, and further files that its driver reports."""
    # What was saved has further files; one file is what the switch runs.
    found = switch.configurations("all" if len(planned) > 1 else "running")
    saved = running.unpack_files(nos, found.get("startup", ""), planned)
    shown = running.unpack_files(nos, found["running"], planned)
    beside = {name: text for name, text in saved.items() if name in planned} if len(planned) > 1 else {}
    return {**beside, **shown}


def reject_namesake(
    source: BuiltTree,
    journal: Journal,
    name: str,
    identity: device_identity.Identity,
    target: Mapping[str, str],
) -> None:
    """Refuse a switch of another cluster that has the same name, unless a push of this journal left it so.

    Args:
        source: the tree of the push.
        journal: where earlier runs left what they pushed.
        name: the switch.
        identity: what it reports, its configuration included.
        target: its files in the tree.

    Raises:
        DeviceError: FAB9106.
    """
    if not (reason := source.roster.namesake(name, identity)):
        return
    if known := journal.read_last_tree(source.devices[name]):
        nos = source.roster.nos(name)
        left = running.read_facts(nos, running.unpack_files(nos, known, target))
        if device_identity.identity_of({}, left.facts).addresses & identity.addresses:
            return
    raise DeviceError(
        "FAB9106", f"{name}: another switch answers at its address: {reason}", device_identity.LOOK_OR_STATE
    )
