"""NAPALM's Junos driver with corrections."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import napalm.junos
from jnpr.junos.exception import CommitError as EzCommitError
from jnpr.junos.exception import ConnectAuthError as EzAuthError
from jnpr.junos.exception import ConnectClosedError, ConnectError, RpcError, RpcTimeoutError
from lxml.etree import XMLSyntaxError, tostring
from napalm.base.exceptions import (
    CommandErrorException,
    CommandTimeoutException,
    CommitConfirmException,
    CommitError,
    ConnectAuthError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
    MergeConfigException,
    NapalmException,
    ReplaceConfigException,
    SessionLockedException,
    UnlockError,
)
from napalm.junos.utils.junos_views import junos_iface_counter_table
from ncclient import NCClientError

from fabricc.base.numbers import is_number
from fabricc.operate.drivers import junos_views
from fabricc.operate.drivers.answers import ROUTE_VALUES, VALUES, AnswerError, silence_libraries
from fabricc.operate.drivers.checking import Options, Refusal
from fabricc.operate.drivers.holds import Hold, HoldKind
from fabricc.operate.drivers.junos_views import (
    holds_clear_secrets,
    read_version,
    require_kind,
    skip_warnings,
    write_stored_forms,
)
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.netconf_session import bounded_sessions
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.single import CleanCommits, clean_errors, one_text, require_braces

FILE = "juniper.conf"
_MINUTE_S = 60
_NO_TEXT = "None"
"""The text that NAPALM returns for an answer without text."""
_LOST = (ConnectClosedError, NCClientError, RpcTimeoutError, OSError, EOFError)
"""Exceptions of PyEZ, ncclient and Paramiko for an answer that does not arrive."""
_POLL_S = 1.0
_SHARED = "get-interface-information"
_PORTS = junos_iface_counter_table.GET_ARGS
"""What NAPALM's own getter of counters requests."""


def _commit_number(revision: str) -> int:
    """Return the number of a commit by its name, -1 where the name has none."""
    tail = revision.rpartition("-")[2]
    return int(tail) if is_number(tail) else -1


class JunosDriver(CleanCommits, napalm.junos.JunOSDriver):  # type: ignore[misc]
    """Juniper Junos over NETCONF; a candidate is `juniper.conf`, the whole device.

    What differs from NAPALM's own driver:

    * Host keys are verified against the SSH client's known hosts, or against `alt_key_file` instead: `ssh_strict`
      (True), False being an explicit opt-out.
    * Only a key that is given is tried: `use_keys` (False), `allow_agent` (False).
    * `revert_in` is rounded up to whole minutes, which is what Junos counts in.
    * An answer of another kind than its request has is an error (`junos_replies.py`).
    * An answer with errors of severity `warning` alone is a success: Junos has loaded or committed then, such as
      without a license for BGP. `ignore_warning` (True) of False makes failures of them, as NAPALM does.
    * A load is refused while a commit waits, because Junos takes the next commit as its confirmation.
    * A commit or a confirmation whose answer is lost is not sent again blindly: the driver connects again and reads
      the revision of the newest commit, and whether a commit waits.
    * Whether a commit waits is read from Junos's own mark on the newest commit (`junos_commits.py`).
    * With the option `session`, the log of a commit begins with it, so that `get_holds` detects commits of others.
    * A confirmation is a `commit check`, which commits nothing: the plain commit of NAPALM's driver also commits what
      another session has in the shared candidate. `rollback()` takes the lock, and drops nothing of others.
    * A lock that another session holds is a SessionLockedException; a commit that fails gives the lock back.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

    CONFIRM_STEP = _MINUTE_S
    CONFIRM_LIMITS = (_MINUTE_S, 65535 * _MINUTE_S)

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        options = {"port": 830, "ignore_warning": True, **(optional_args or {})}
        super().__init__(hostname, username, password, timeout, options)
        self.device._hostkey_verify = bool(options.get("ssh_strict", True))
        self.device._look_for_keys = bool(options.get("use_keys", False))
        self.device._allow_agent = bool(options.get("allow_agent", False))
        self.device._conn_open_timeout = timeout
        self._errors: list[RpcError] = []
        self._request = self.device.execute
        self.device.execute = self._execute
        self._identity: dict[str, str] | None = None
        self._marks: bool | None = None
        self._version: str | None = None
        self._shared: dict[bytes, Any] | None = None
        self._known_hosts = options.get("alt_key_file")
        self._session = str(options.get("session") or "")

    def _execute(self, request: Any, ignore_warning: Any = False, **named: Any) -> Any:
        """Send a request as PyEZ does; warnings are ignored in each answer, and its kind is checked.

        For its tables PyEZ sets a function that cleans answers. With it, it cannot skip warnings, and after an error
        it keeps the function: the driver calls it itself.
        """
        clean = self.device.transform()
        if callable(clean):
            self.device.transform = self.device._nc_transform
        try:
            reply = self._request_once(request, ignore_warning=ignore_warning or self.ignore_warning, **named)
        except RpcError as error:
            self._errors.append(error)
            raise
        reply = skip_warnings(reply)
        if callable(clean) and hasattr(reply, "iter"):
            reply = clean(reply)
        if hasattr(request, "tag"):
            require_kind(request, reply)
        return reply

    def _request_once(self, request: Any, **named: Any) -> Any:
        """Send a request, or return the answer that another getter has received for the same one; see `read_ahead`."""
        if self._shared is None or getattr(request, "tag", "") != _SHARED:
            return self._request(request, **named)
        key = tostring(request)
        if key not in self._shared:
            self._shared[key] = self._request(request, **named)
            return self._shared[key]
        return self._shared.pop(key)

    def read_ahead(self, getters: Sequence[str]) -> None:  # noqa: ARG002
        """Let getters share the answer to a request that several of them send. Not part of NAPALM.

        Counters of ports and of lossless classes come in one answer. Nothing is sent before a getter needs it.

        Args:
            getters: names of the getters.
        """
        self._shared = {}

    def drop_ahead(self) -> None:
        """End the sharing, and drop answers that no other getter has used. Not part of NAPALM."""
        self._shared = None

    def _clean(self, failure: type[NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[NapalmException]] = {
            EzAuthError: ConnectAuthError,
            ConnectClosedError: ConnectionClosedException,
            ConnectError: ConnectionException,
            RpcTimeoutError: CommandTimeoutException,
            EzCommitError: CommitError,
            RpcError: failure,
            NCClientError: ConnectionClosedException,
            # Paramiko's words, when it meets the closed socket first.
            OSError: ConnectionClosedException,
            EOFError: ConnectionClosedException,
            XMLSyntaxError: failure,
            AnswerError: ConnectionException,
        }
        return clean_errors(self.hostname, foreign, self.password)

    def open(self) -> None:
        """Connect and log in."""
        self._forget()
        self._marks = self._version = None
        silence_libraries()
        with self._clean(ConnectionException), ExitStack() as files, bounded_sessions():
            if self._known_hosts:
                # By copies: the name of a folder must not become part of the client's configuration.
                known = files.enter_context(NamedTemporaryFile("wb", suffix=".known_hosts"))
                known.write(Path(self._known_hosts).read_bytes())
                client = files.enter_context(NamedTemporaryFile("w", suffix=".conf"))
                client.write(f'Host *\n    UserKnownHostsFile "{known.name}"\n')
                known.flush()
                client.flush()
                self.device._ssh_config = client.name
            super().open()

    def _forget(self) -> None:
        """Drop what was read, because the switch may have changed since."""
        self._identity = self._shared = None

    def close(self) -> None:
        """Disconnect, which drops the candidate and the lock; nothing is raised when the connection is lost."""
        with suppress(Exception):
            super().close()
        self.locked = False

    def abandon(self) -> None:
        """Disconnect from a switch that does not answer, without a further request; not part of NAPALM."""
        with suppress(Exception):
            self.device._conn._session.close()

    def _load(
        self, filename: str | None, config: str | None, failure: type[NapalmException], *, replace: bool
    ) -> None:
        text = one_text(filename, config, FILE, failure)
        with self._clean(failure):
            self._load_alone(text, replace=replace)

    def _load_alone(self, text: str, *, replace: bool) -> None:
        if self._find_waiting_commit():
            raise CommitConfirmException("a commit waits for confirmation")
        self.config_replace = replace
        if holds_clear_secrets(text):
            text = write_stored_forms(text, self._running())
        if replace:
            text = self._state_release(text)
        try:
            self._load_candidate(None, text, replace)
        except LockError as error:
            raise SessionLockedException(str(error)) from None

    def _state_release(self, text: str) -> str:
        """Return a configuration with the running release in it, which Junos writes itself above each.

        Without it, or with that of an earlier image, it may be a difference of an unchanged switch.
        """
        if self._version is None:
            self._running()
        if not self._version:
            return text
        stated = read_version(text)
        return text.replace(stated, self._version, 1) if stated else f"{self._version}\n{text}"

    def _unlock(self) -> None:
        """Give the lock back; one that Junos does not take back ends with the session, and is no failed commit."""
        with suppress(UnlockError):
            super()._unlock()

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole device's configuration (`load override`) under an exclusive lock."""
        self._load(filename, config, ReplaceConfigException, replace=True)

    def check_candidate(self, config: str) -> list[Refusal]:
        """Load a whole configuration, let Junos check its commit, and drop it; not part of NAPALM.

        Raises:
            NapalmException: it was not checked.
        """
        text = one_text(None, config, FILE, ReplaceConfigException)
        wrong: list[dict[str, Any]] = []
        with self._clean(ReplaceConfigException):
            try:
                self._load_alone(text, replace=True)
                self.device.cu.commit_check()
            except ReplaceConfigException as error:
                wrong = list(error.args[0])
            except RpcTimeoutError:
                raise
            except (EzCommitError, RpcError) as error:
                wrong = list(error.errs or [{"message": str(error)}])
            finally:
                with suppress(Exception):
                    super().discard_config()
        return [self._refusal(one, text) for one in wrong if one.get("severity") != "warning"]

    def _refusal(self, error: dict[str, Any], text: str) -> Refusal:
        path, element = (" ".join(str(error.get(key) or "").split()) for key in ("edit_path", "bad_element"))
        words = [path, element, " ".join(str(error.get("message") or "refused").split())]
        line = junos_views.line_of(text, path, element)
        told = redact_text(": ".join(word for word in words if word), self.password)
        return Refusal(told, FILE if line else "", line)

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load statements that are added, under an exclusive lock."""
        self._load(filename, config, MergeConfigException, replace=False)

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Commit; with `revert_in` (seconds, rounded up to minutes) Junos goes back unless confirmed."""
        minutes = None if revert_in is None else -(-revert_in // _MINUTE_S) * _MINUTE_S
        if minutes is not None and minutes < _MINUTE_S:
            raise CommitConfirmException(f"{self.hostname}: revert_in must be at least one second")
        self._forget()
        with self._clean(CommitError):
            before = self._revision()
            try:
                super().commit_config(self._log_message(message), minutes)
            except _LOST as lost:
                self._connect_again(lost)
                if not self._is_committed(before):
                    raise
                if minutes is not None and not self._find_waiting_commit():
                    raise CommitError("the switch does not report the commit as waiting") from None
            except (EzCommitError, RpcError):
                with suppress(Exception):
                    super().discard_config()
                raise

    def _log_message(self, message: str) -> str:
        mark = f"{junos_views.SESSION_MARK}{self._session}" if self._session else ""
        return ": ".join(filter(None, (mark, message)))

    def confirm_commit(self) -> None:
        """Keep a commit that waits, without committing what other sessions have in the candidate."""
        with self._clean(CommitError):
            if (commit := self._find_waiting_commit()) is None:
                raise CommitError("no commit waits for confirmation")
            running = self._running()
            try:
                self._confirm(commit)
            except _LOST as lost:
                self._connect_again(lost)
                if (commit := self._find_waiting_commit()) is not None:
                    self._confirm(commit)
                elif self._running() != running:
                    raise CommitError("the confirmation was lost and the switch went back") from None

    def _confirm(self, commit: junos_views.Commit) -> None:
        """Confirm by a check where Junos reports the effect of one, else by a commit under the lock.

        Raises:
            CommitError: it still waits, or another session holds the candidate that a commit would take.
        """
        if commit.marked:
            try:
                self.device.cu.commit_check()
            except RpcTimeoutError:
                raise
            except (EzCommitError, RpcError):
                pass  # the mark decides, and a commit reports what is wrong
            if self._find_waiting_commit() is None:
                return
        self._require_lock()
        super().commit_config()
        if (after := self._find_waiting_commit()) is not None and after.marked:
            raise CommitError("the commit still waits after its confirmation")

    def _require_lock(self) -> None:
        """Take the lock, which Junos refuses while another session has the lock or uncommitted changes.

        Raises:
            SessionLockedException: another session has.
        """
        try:
            self._lock()
        except LockError as error:
            raise SessionLockedException(str(error)) from None

    def rollback(self) -> None:
        """Go back to what ran before the last commit that changed something, whether it waits or not.

        Raises:
            SessionLockedException: another session has the lock or uncommitted changes, which would be lost.
        """
        self._forget()
        with self._clean(CommitError):
            self._require_lock()
            try:
                for number in (1, 2):  # a commit that only confirmed the one before has no difference
                    self.device.cu.rollback(rb_id=number)
                    if self.device.cu.diff(rb_id=0):
                        break
                super().commit_config()
            except (EzCommitError, RpcError):
                with suppress(Exception):
                    super().discard_config()
                raise

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation."""
        with self._clean(CommitError):
            return self._find_waiting_commit() is not None

    def _find_waiting_commit(self) -> junos_views.Commit | None:
        """Return the commit that waits for its confirmation.

        An entry without the mark decides nothing on a release that is not known to set it: the commit counts as
        waiting until its time is over, and a confirmation is then no commit of others.
        """
        commit = junos_views.read_newest_commit(self.device.rpc.get_commit_information())
        if commit is None or commit.marked or commit.until_s is None:
            return commit if commit and commit.marked else None
        if self._marks is None:
            software = self._try_request(lambda: self.device.rpc.get_software_information())
            self._marks = junos_views.marks_commits(software)
        if self._marks:
            return None
        return None if self._left_s(commit) == 0 else commit

    def _left_s(self, commit: junos_views.Commit) -> float | None:
        """Return the seconds that a commit still waits; 0 when its time is over, None where they are not reported."""
        clock = junos_views.read_clock(
            self._try_request(lambda: self.device.rpc.get_system_uptime_information())
        )
        return None if commit.until_s is None or clock is None else float(max(0, commit.until_s - clock))

    def _revision(self) -> str:
        """Return the name of the newest commit, such as `re0-1616554286-559`; "" where Junos reports none.

        annet's driver also detects commits of others by this name.
        """
        answer = self._try_request(lambda: self.device.rpc.get_commit_revision_information(detail=True))
        return "" if answer is None else " ".join((answer.findtext("./revision") or "").split())

    def _running(self) -> str:
        answer = self.device.rpc.get_config(options={"format": "text", "database": "committed"})
        running = str(answer.text or "")
        self._version = read_version(running)
        return running

    def _connect_again(self, lost: Exception) -> None:
        """Connect anew after a lost answer, or raise that; the old session takes its lock and candidate with it."""
        self.abandon()
        self.device.connected = self.locked = False
        try:
            self.open()
        except NapalmException:
            raise lost from None

    def _is_committed(self, before: str) -> bool:
        """Return whether the next commit after the one named `before` took effect; wait for one that still runs."""
        until = time.monotonic() + self.timeout
        while (now := self._revision()) == before and self._is_locked() and time.monotonic() < until:
            time.sleep(_POLL_S)
        return now != before and _commit_number(now) == _commit_number(before) + 1

    def _is_locked(self) -> bool:
        """Return whether another session holds the lock, as one whose commit still runs does."""
        try:
            self._lock()
        except LockError:
            return True
        self._unlock()
        return False

    def get_holds(self) -> list[Hold]:
        """Return a commit that waits for confirmation, and uncommitted changes in the shared candidate.

        Junos reports the account that made a commit, and its log, which begins with the session. Not part of NAPALM.
        """
        with self._clean(CommandErrorException):
            found = []
            if commit := self._find_waiting_commit():
                own = commit.session == self._session if commit.session else None
                left_s = None if own else self._left_s(commit)
                found.append(Hold(HoldKind.COMMIT, commit.session or commit.user, left_s, own))
            if not self.locked and self.device.cu.diff(rb_id=0):
                found.append(Hold(HoldKind.CANDIDATE))
            return found

    # Getters.

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Configurations as Junos prints them; one that is cut off is an error."""
        with self._clean(CommandErrorException):
            found: dict[str, str] = super().get_config(retrieve, full, sanitized, format)
            for kind, text in found.items():
                found[kind] = "" if text == _NO_TEXT else text
                if format == "text":
                    require_braces(found[kind], f"the {kind} configuration")
            if found["running"] and format == "text":
                self._version = read_version(found["running"])
            return found

    def get_bgp_neighbors(self) -> dict[str, Any]:
        """Sessions of all instances by one request, without uptimes; NAPALM sends two for each instance and one more.

        Where the release does not print the instance of a peer, NAPALM's requests are sent.
        """
        with self._clean(CommandErrorException):
            answer = self.device.rpc.get_bgp_neighbor_information()
            found = junos_views.read_sessions(answer, self._get_address_family)
            return dict(super().get_bgp_neighbors()) if found is None else found

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        """Neighbors by port. A refused request is an error: NAPALM returns none, or those of another port."""
        with self._clean(CommandErrorException):
            self._errors.clear()
            found: dict[str, Any] = super().get_lldp_neighbors_detail(interface)
            # NAPALM itself asks in other words after a syntax error.
            errors = [one for one in self._errors if "lldp" in str(getattr(one.cmd, "tag", ""))]
            if wrong := [one for one in errors if not found or "syntax error" not in str(one)]:
                raise wrong[0]
            return found

    def get_ecmp_widths(self) -> dict[str, int]:
        """Prefix -> next hops of the active route, for BGP routes of the default instance; not part of NAPALM."""
        with self._clean(CommandErrorException):
            session = self.device._conn._session
            session.most_values = ROUTE_VALUES
            try:
                answer = self.device.rpc.get_route_information(
                    protocol="bgp", table=junos_views.BOTH_TABLES, active_path=True
                )
                return junos_views.ecmp_widths(answer)
            finally:
                session.most_values = VALUES

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of an instance -> VTEP -> router MAC of its routes (RFC 9135); not part of NAPALM."""
        with self._clean(CommandErrorException):
            return junos_views.router_macs(self.device.rpc.get_evpn_ip_prefix_database_information())

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the chassis, empty where not reported. Not part of NAPALM.

        The values are those of the first call over this connection, until the next commit.
        """
        with self._clean(CommandErrorException):
            if self._identity is None:
                answer = self._try_request(lambda: self.device.rpc.get_system_information())
                self._identity = junos_views.read_identity(answer)
            return dict(self._identity)

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Storms are not among them: Juniper does not publish the form of the PFC watchdog's counters.

        Raises:
            NotImplementedError: the platform states none.
        """
        tally = CounterTotals()
        rpc = self.device.rpc
        with self._clean(CommandErrorException):
            junos_views.read_pfc(self._try_request(lambda: rpc.get_interface_information(**_PORTS)), tally)
            queues = self._try_request(lambda: self.cli([junos_views.QUEUES])[junos_views.QUEUES])
            junos_views.read_queues(str(queues), tally)
            return tally.counters()

    @staticmethod
    def _try_request(ask: Callable[[], Any]) -> Any:
        """Return an answer; None when this device refuses the request."""
        try:
            return ask()
        except RpcTimeoutError:
            raise
        except RpcError:
            return None

    def get_alarms(self) -> list[str]:
        """Alarms of chassis and system; not part of NAPALM."""
        with self._clean(CommandErrorException):
            answers = (
                self.device.rpc.get_alarm_information(),
                self.device.rpc.get_system_alarm_information(),
            )
            return list(
                dict.fromkeys(alarm for answer in answers for alarm in junos_views.read_alarms(answer))
            )
