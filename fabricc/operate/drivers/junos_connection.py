"""The connection of the Junos driver: requests over NETCONF, and NAPALM's getters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import napalm.junos
from jnpr.junos.exception import CommitError as EzCommitError
from jnpr.junos.exception import ConnectAuthError as EzAuthError
from jnpr.junos.exception import (
    ConnectClosedError,
    ConnectError,
    ConnectRefusedError,
    RpcError,
    RpcTimeoutError,
)
from lxml.etree import XMLSyntaxError
from napalm.base import exceptions
from napalm.junos.utils.junos_views import junos_iface_counter_table
from ncclient import NCClientError
from ncclient.transport.errors import SSHUnknownHostError

from fabricc.operate.drivers import junos_views
from fabricc.operate.drivers.answers import ROUTE_VALUES, VALUES, AnswerError, silence_libraries
from fabricc.operate.drivers.junos_views import read_version, require_kind, skip_warnings
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.netconf_session import AheadRequests, bounded_sessions
from fabricc.operate.drivers.single import clean_errors, require_braces

if TYPE_CHECKING:
    from fabricc.operate.drivers.checking import Options

_NO_TEXT = "None"
"""The text that NAPALM returns for an answer without text."""
_PORTS = junos_iface_counter_table.GET_ARGS
"""What NAPALM's own getter of counters requests."""
_COUNTERS = (
    "<get-interface-information><extensive/>"
    f"<interface-name>{_PORTS['interface_name']}</interface-name></get-interface-information>"
)
_AHEAD = {
    "get_holds": (
        "<get-commit-information/>", '<get-configuration compare="rollback" rollback="0" format="text"/>',
    ),
    "get_waiting_commit": ("<get-commit-information/>",),
    "get_config": ('<get-configuration database="committed" format="text"/>',),
    "get_identity": ("<get-system-information/>",),
    "get_bgp_neighbors": ("<get-bgp-neighbor-information/>",),
    "get_ecmp_widths": (
        f"<get-route-information><protocol>bgp</protocol><table>{junos_views.BOTH_TABLES}</table><active-path/>"
        "</get-route-information>",
    ),
    "get_router_macs": ("<get-evpn-ip-prefix-database-information/>",),
    "get_alarms": ("<get-alarm-information/>", "<get-system-alarm-information/>"),
    "get_lossless_counters": (_COUNTERS, f'<command format="text">{junos_views.QUEUES}</command>'),
    "get_interfaces_counters": (_COUNTERS,),
}  # fmt: skip
"""Getter -> the requests that it, or NAPALM's own, sends, for `read_ahead`."""


class JunosConnection(napalm.junos.JunOSDriver):  # type: ignore[misc]
    """A connection to Juniper Junos, with the getters.

    What differs from NAPALM's own driver:

    * Host keys are verified against the SSH client's known hosts, or against `alt_key_file` instead: `ssh_strict`
      (True), False being an explicit opt-out.
    * Only a key that is given is tried: `use_keys` (False), `allow_agent` (False).
    * An answer of another kind than its request has is an error (`junos_views.py`).
    * An answer with errors of severity `warning` alone is a success: Junos has loaded or committed then, such as
      without a license for BGP. `ignore_warning` (True) of False makes failures of them, as NAPALM does.
    * Lost connections and refused logins are NAPALM's exceptions; texts are without secrets.
    """

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
        self._seen: list[junos_views.Commit] | None = None
        self._ahead: AheadRequests | None = None
        self._known_hosts = options.get("alt_key_file")

    def _clean(self, failure: type[exceptions.NapalmException]) -> Any:
        foreign: dict[type[BaseException], type[exceptions.NapalmException]] = {
            EzAuthError: exceptions.ConnectAuthError,
            ConnectClosedError: exceptions.ConnectionClosedException,
            ConnectError: exceptions.ConnectionException,
            RpcTimeoutError: exceptions.CommandTimeoutException,
            EzCommitError: exceptions.CommitError,
            RpcError: failure,
            NCClientError: exceptions.ConnectionClosedException,
            # Paramiko's words, when it meets the closed socket first.
            OSError: exceptions.ConnectionClosedException,
            EOFError: exceptions.ConnectionClosedException,
            XMLSyntaxError: failure,
            AnswerError: exceptions.ConnectionException,
        }
        return clean_errors(self.hostname, foreign, self.password)

    def open(self) -> None:
        """Connect and log in."""
        self._forget()
        self._marks = self._version = None
        silence_libraries()
        with self._clean(exceptions.ConnectionException), ExitStack() as files, bounded_sessions():
            if self._known_hosts:
                # By copies: the name of a folder must not become part of the client's configuration.
                known = files.enter_context(NamedTemporaryFile("wb", suffix=".known_hosts"))
                known.write(Path(self._known_hosts).read_bytes())
                client = files.enter_context(NamedTemporaryFile("w", suffix=".conf"))
                client.write(f'Host *\n    UserKnownHostsFile "{known.name}"\n')
                known.flush()
                client.flush()
                self.device._ssh_config = client.name
            try:
                super().open()
            except EzAuthError:
                raise exceptions.ConnectAuthError(f"refuses the login of {self.username}") from None
            except ConnectError as error:
                if isinstance(error.__context__, SSHUnknownHostError):
                    text = "its host key is unknown, or not the known one"
                    raise exceptions.ConnectionException(text) from error
                if isinstance(error, ConnectRefusedError):
                    raise exceptions.ConnectionException("refuses connections for NETCONF") from None
                raise
            self._ahead = AheadRequests(self.device._conn)

    def _forget(self) -> None:
        """Drop what was read, because the switch may have changed since."""
        self._identity = self._seen = None
        self.drop_ahead()

    def discard_config(self) -> None:
        """Drop the candidate: Junos drops the changes of a session that gives its lock back before a commit.

        Source: Juniper, Junos XML management protocol, `<lock-configuration/>`.
        """
        exclusive = bool(self.locked) and not (
            self.lock_disable or self.session_config_lock or self.config_private
        )
        if exclusive:
            self._unlock()
        if self.locked or not exclusive:
            super().discard_config()

    def close(self) -> None:
        """Disconnect, which drops the candidate and the lock; nothing is raised when the connection is lost."""
        with suppress(Exception):
            super().close()
        self.locked = False

    def abandon(self) -> None:
        """Disconnect from a switch that does not answer, without a further request; not part of NAPALM."""
        with suppress(Exception):
            self.device._conn._session.close()

    def _connect_again(self, lost: Exception) -> None:
        """Connect anew after a lost answer, or raise that; the old session takes its lock and candidate with it."""
        self.abandon()
        self.device.connected = self.locked = False
        try:
            self.open()
        except exceptions.NapalmException:
            raise lost from None

    def _execute(self, request: Any, ignore_warning: Any = False, **named: Any) -> Any:
        """Send a request as PyEZ does; warnings are ignored in each answer, and its kind is checked.

        For its tables PyEZ sets a function that cleans answers. With it, it cannot skip warnings, and after an error
        it keeps the function: the driver calls it itself.
        """
        clean = self.device.transform()
        if callable(clean):
            self.device.transform = self.device._nc_transform
        try:
            reply = self._request(request, ignore_warning=ignore_warning or self.ignore_warning, **named)
        except RpcError as error:
            self._errors.append(error)
            raise
        reply = skip_warnings(reply)
        if callable(clean) and hasattr(reply, "iter"):
            reply = clean(reply)
        if hasattr(request, "tag"):
            require_kind(request, reply)
        return reply

    @staticmethod
    def _try_request(ask: Callable[[], Any]) -> Any:
        """Return an answer; None when this device refuses the request."""
        try:
            return ask()
        except RpcTimeoutError:
            raise
        except RpcError:
            return None

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Send the requests of several getters before the first answer is needed. Not part of NAPALM.

        Answers that an earlier call has requested and no getter has used are dropped.

        Args:
            getters: names of getters; those without an entry in `_AHEAD` send their own requests later.
        """
        if self._ahead is None:
            return
        names = [name for name in getters if name != "get_identity" or self._identity is None]
        most = ROUTE_VALUES if "get_ecmp_widths" in names else VALUES
        with self._clean(exceptions.CommandErrorException):
            self._ahead.send([request for name in names for request in _AHEAD.get(name, ())], most)

    def drop_ahead(self) -> None:
        """Drop answers that no getter has used. Not part of NAPALM."""
        if self._ahead is not None:
            self._ahead.drop()

    def _running(self) -> str:
        answer = self.device.rpc.get_config(options={"format": "text", "database": "committed"})
        running = str(answer.text or "")
        self._version = read_version(running)
        return running

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Configurations as Junos prints them; one that is cut off is an error."""
        with self._clean(exceptions.CommandErrorException):
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
        with self._clean(exceptions.CommandErrorException):
            answer = self.device.rpc.get_bgp_neighbor_information()
            found = junos_views.read_sessions(answer, self._get_address_family)
            return dict(super().get_bgp_neighbors()) if found is None else found

    def get_interfaces_counters(self) -> dict[str, Any]:
        """Counters of ports, as NAPALM reads them."""
        with self._clean(exceptions.CommandErrorException):
            return dict(super().get_interfaces_counters())

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        """Neighbors by port. A refused request is an error: NAPALM returns none, or those of another port."""
        with self._clean(exceptions.CommandErrorException):
            self._errors.clear()
            found: dict[str, Any] = super().get_lldp_neighbors_detail(interface)
            # NAPALM itself sends another form of the request after a syntax error.
            errors = [one for one in self._errors if "lldp" in str(getattr(one.cmd, "tag", ""))]
            if wrong := [one for one in errors if not found or "syntax error" not in str(one)]:
                raise wrong[0]
            return found

    def get_ecmp_widths(self) -> dict[str, int]:
        """Prefix -> next hops of the active route, for BGP routes of the default instance; not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
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
        with self._clean(exceptions.CommandErrorException):
            return junos_views.router_macs(self.device.rpc.get_evpn_ip_prefix_database_information())

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the chassis, empty where not reported. Not part of NAPALM.

        The values are those of the first call over this connection, until the next commit.
        """
        with self._clean(exceptions.CommandErrorException):
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
        with self._clean(exceptions.CommandErrorException):
            junos_views.read_pfc(self._try_request(lambda: rpc.get_interface_information(**_PORTS)), tally)
            queues = self._try_request(lambda: self.cli([junos_views.QUEUES])[junos_views.QUEUES])
            junos_views.read_queues(str(queues), tally)
            return tally.counters()

    def get_alarms(self) -> list[str]:
        """Alarms of chassis and system; not part of NAPALM."""
        with self._clean(exceptions.CommandErrorException):
            answers = (
                self.device.rpc.get_alarm_information(),
                self.device.rpc.get_system_alarm_information(),
            )
            return list(
                dict.fromkeys(alarm for answer in answers for alarm in junos_views.read_alarms(answer))
            )
