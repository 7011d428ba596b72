"""The connection of the Cumulus driver: who may run what, the revisions of NVUE, and NAPALM's getters."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from napalm.base import exceptions

from fabricc.operate.drivers import linux_views, nvue_views
from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.linux import HOSTNAME
from fabricc.operate.drivers.linux_session import LinuxSession
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.redact import excerpt, redact_text

if TYPE_CHECKING:
    from fabricc.operate.drivers.shell import CommandResult

FILE = "startup.yaml"
_YAML = re.compile(r"\s*(?:---\s+)?(?:- )?(?:\{\W?)?(?:header|set|unset)\b\W?:|\s*(?:\[\s*\]|\{\s*\})")
"""Beginning of NVUE's own documents: `header`, `set` or `unset`, as an entry or a key, or an empty document."""
_PARTS = re.compile(r"(?m)^(?:- )?(?:\{\W?)?(header|set|unset)\b\W?:")
SHOW = (
    's() { x=$(nv config show -r $1 -o yaml) && printf "%s\\n" "$x" || '
    '{ [ $1 = startup ] && [ ! -e /etc/nvue.d/startup.yaml ] && echo "[]"; }; }; '
)
"""A function that shows a revision; a switch without the file of its startup configuration has an empty one."""
POLL_S = 1.0
STARTUP = f"{SHOW}s startup"
_PLATFORM = ("nv", "show", "platform", "-o", "json")
_SHARED = {"vtysh": ("frrvty", "-c 'show version'", "-h"), "lldpcli": ("_lldpd", "show configuration", "-v")}
"""Programs whose sockets only root and one group may use: the group, a request, and an option that needs no daemon."""
_ACCESS = frozenset({"plain", "sudo", "none"})
_PROBE = (
    'if [ "$(id -u)" = 0 ] || id -nG | grep -qw {group} || {program} {request} > /dev/null 2>&1; then echo plain; '
    "elif {sudo} {program} {option} > /dev/null 2>&1; then echo sudo; else echo none; fi"
)


class CumulusConnection(LinuxSession):
    """A session on Cumulus Linux, with the getters."""

    FOLDER = "~/.napalm-cumulus"
    platform = "cumulus"

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self._access: dict[str, str] = {}
        self._opening: dict[str, list[CommandResult]] = {}

    def open(self) -> None:
        """Connect, log in and find out how the login runs vtysh and lldpcli."""
        super().open()
        sudo = "sudo -n" if self.optional_args.get("sudo", True) else "false"
        probes = (
            _PROBE.format(group=group, request=request, option=option, program=program, sudo=sudo)
            for program, (group, request, option) in _SHARED.items()
        )
        probe = "; ".join(probes)
        identity = (self._line_of(HOSTNAME), self._line_of(_PLATFORM))
        with self._in_one_request(probe, *identity):
            words = self._run(probe).split()
            self._opening = {line: self._ahead.get(line, [])[:1] for line in identity}
        if len(words) != len(_SHARED) or not _ACCESS.issuperset(words):
            self.close()
            output = excerpt(" ".join(words), self.password, longest=100) or "nothing"
            raise exceptions.ConnectionException(
                f"{self.hostname}: the answer about vtysh and lldpcli is {output!r}"
            )
        self._access = dict(zip(_SHARED, words, strict=True))

    def _require_access(self) -> None:
        """Refuse a login that could not look at BGP after the change.

        Raises:
            ReplaceConfigException: Neither its groups nor sudo let it run vtysh.
        """
        if self._access.get("vtysh") == "none":
            raise exceptions.ReplaceConfigException(
                f"{self.hostname}: {self.username} may not run vtysh, and sudo asks for a password; "
                f"run `sudo usermod -aG frrvty,_lldpd {self.username}` on the switch"
            )

    def _sudo(self) -> str:
        """Return nothing: NVUE lets its own roles run `nv`, and accounts with keys have no password for sudo."""
        return ""

    def _line_of(self, command: Sequence[str]) -> str:
        return f"{'sudo -n ' * (self._access.get(command[0]) == 'sudo')}{shlex.join(command)}"

    def _nv(self, words: str, failure: type[exceptions.NapalmException]) -> str:
        """Return the output of `nv config ...`; only its exit status shows whether it failed."""
        return self._run(f"nv config {words}", failure, limit_s=self._patience)

    def _query_again(self, command: Sequence[str]) -> Any:
        """Return the JSON of a command that changes nothing, over a new connection where the old one breaks.

        Raises:
            ConnectionException: The switch does not answer in the time of a commit, or with something else than JSON.
        """
        text, until = "", time.monotonic() + self._patience
        while not text:
            try:
                text = self._run(shlex.join(command)) or " "
            except (exceptions.CommandTimeoutException, exceptions.ConnectionException) as error:
                if isinstance(error, exceptions.ConnectAuthError) or time.monotonic() > until:
                    raise
                self._reconnect()
        return self._parse_json(text, f"the answer to `{shlex.join(command)}`")

    def _reconnect(self) -> None:
        time.sleep(POLL_S)
        self._shell.close()
        with suppress(exceptions.CommandTimeoutException, exceptions.ConnectionException):
            try:
                self._shell.open()
            except exceptions.ConnectAuthError as error:
                raise exceptions.CommitError(str(error)) from None

    def _revisions(self) -> nvue_views.Revisions:
        """Return the revisions of the switch.

        Raises:
            ConnectionException: The answer cannot be parsed.
        """
        try:
            return nvue_views.parse_revisions(self._query_again(nvue_views.REVISIONS))
        except AnswerError as error:
            raise exceptions.ConnectionException(f"{self.hostname}: {error}") from None

    def _applied_revision(self, revisions: nvue_views.Revisions) -> str:
        """Return the revision that is applied.

        Raises:
            CommitError: NVUE names none.
        """
        try:
            return nvue_views.find_applied(self._query_again(nvue_views.HISTORY), revisions)
        except AnswerError as error:
            raise exceptions.CommitError(
                f"{self.hostname}: {redact_text(str(error), self.password)}"
            ) from None

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:
        """Return what is applied, saved and pending, as `nv config show -o yaml` prints it."""
        every = " --all" if full else ""
        revisions = {"running": "applied", "startup": "startup", "candidate": "pending"}
        commands = {
            kind: f"nv config show -r {revisions[kind]} -o yaml{every}"
            if full or kind != "startup"
            else STARTUP
            for kind in wanted
            if kind != "candidate" or self._files
        }
        with self._in_one_request(*commands.values()):
            return {
                kind: self._require_document(self._run(command), may_be_empty=kind != "running")
                for kind, command in commands.items()
            }

    def _require_document(self, text: str, *, may_be_empty: bool = True) -> str:
        """Return a text that is YAML of NVUE: a list of header and settings, or one object.

        Raises:
            ConnectionException: it is none: empty, twice, or behind a text that a login script prints.
        """
        parts = _PARTS.findall(text)
        if not _YAML.match(text) or len(parts) != len(set(parts)) or not (parts or may_be_empty):
            output = excerpt(text, self.password, longest=100) or "nothing"
            raise exceptions.ConnectionException(f"{self.hostname}: {FILE} is not YAML of NVUE: {output!r}")
        return text

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number, which came with the answer that proves the login; not part of NAPALM."""
        for line, results in self._opening.items():
            self._ahead[line] = [*results]
        return super().get_identity()

    def get_facts(self) -> dict[str, Any]:
        """Return facts of the switch as NVUE shows them."""
        system, platform = self._json(("nv", "show", "system", "-o", "json"), _PLATFORM)
        (links,) = self._json(linux_views.LINKS)
        return {
            "uptime": float(self._run("cat /proc/uptime").split()[0]),
            "vendor": "NVIDIA",
            "os_version": str(system.get("product-release") or system.get("build", "")),
            "serial_number": str(platform.get("serial-number", "")),
            "model": str(platform.get("product-name", "")),
            "hostname": str(system.get("hostname", "")),
            "fqdn": str(system.get("hostname", "")),
            "interface_list": sorted(link["ifname"] for link in links),
        }

    def _serial(self) -> str:
        try:
            (platform,) = self._json(_PLATFORM)
        except exceptions.CommandErrorException:
            return ""
        return str(platform.get("serial-number") or "") if isinstance(platform, dict) else ""

    def get_interfaces(self) -> dict[str, Any]:
        """Return interfaces of the kernel; Cumulus keeps descriptions as aliases."""
        speeds = linux_views.read_speeds(self._run("grep -s . /sys/class/net/*/speed || true"))
        found: dict[str, Any] = self._view(linux_views.read_interfaces, self._links(), speeds)
        return found

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM."""
        tally = CounterTotals()
        self._view(nvue_views.read_lossless, self._run(nvue_views.COUNTERS, limit_s=self._patience), tally)
        return tally.counters()

    def get_alarms(self) -> list[str]:
        """Return the health problems that NVUE reports; not part of NAPALM.

        Raises:
            NotImplementedError: the release does not report its health.
        """
        try:
            return nvue_views.read_alarms(self._json(nvue_views.HEALTH)[0])
        except exceptions.CommandErrorException:
            raise NotImplementedError("nv show system health is not there") from None
