"""The base of drivers for switches with Linux, FRR and lldpd: an SSH shell, and getters that run programs."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from napalm.base.exceptions import ConnectionException, NapalmException

from fabricc.operate.drivers import linux_views, vtysh_views
from fabricc.operate.drivers.answers import ROUTE_VALUES, VALUES, AnswerError, parse_json
from fabricc.operate.drivers.checking import Checking, Options
from fabricc.operate.drivers.lossless import Counters, Tally
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.shell import Shell

_LONGEST = 60


class LinuxDriver(Checking):
    """NAPALM's getters that run programs on the switch; a driver defines how they run and their arguments.

    Attributes:
        VTYSH: the words before `-c`.
        LLDPCLI: the words before lldpcli.
    """

    CONFIRM_STEP = 1
    ANNOUNCES_AFTER_S = 5
    """Seconds that FRR waits before it announces routes by changed route maps (its `bgp route-map delay-timer`)."""
    VTYSH: tuple[str, ...] = ("vtysh",)
    LLDPCLI: tuple[str, ...] = ()

    def __init__(
        self, hostname: str, username: str, password: str, timeout: int = 60, optional_args: Options = None
    ) -> None:
        self.hostname, self.username, self.password, self.timeout = hostname, username, password, timeout
        self.optional_args = dict(optional_args or {})
        self._shell = Shell(hostname, username, password, timeout, self.optional_args)
        self._session = str(self.optional_args.get("session") or uuid.uuid4())
        self._patience = float(self.optional_args.get("commit_timeout", 300))
        self._loaded = False

    def open(self) -> None:
        """Connect and log in."""
        self._shell.open()

    def close(self) -> None:
        """Drop a candidate that was not committed, and disconnect."""
        if self._loaded and self._shell.alive:
            with suppress(NapalmException):
                self.discard_config()
        self._shell.close()

    def abandon(self) -> None:
        """Disconnect from a switch that does not answer, without a further request; not part of NAPALM."""
        self._shell.close()

    def is_alive(self) -> dict[str, bool]:
        """Return whether the SSH connection stands."""
        return {"is_alive": self._shell.alive}

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        """Running, saved and candidate configuration, several files of one as a bundle; `full` with defaults.

        Raises:
            NotImplementedError: another format than text.
        """
        if format != "text":
            raise NotImplementedError("only text")
        kinds = ("running", "startup", "candidate")
        wanted = [kind for kind in kinds if retrieve in ("all", kind)]
        texts = dict.fromkeys(kinds, "") | self._configurations(wanted, full)
        return {kind: redact_text(text) for kind, text in texts.items()} if sanitized else texts

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:
        """Return the texts of these kinds of configuration."""
        raise NotImplementedError

    def _outputs(self, *commands: Sequence[str]) -> list[str]:
        """Standard outputs of programs; raises CommandErrorException when one fails."""
        raise NotImplementedError

    def _json(self, *commands: Sequence[str]) -> list[Any]:
        answers = zip(commands, self._outputs(*commands), strict=True)
        most = ROUTE_VALUES if any("route" in " ".join(words) for words in commands) else VALUES
        return [self._parse_json(text.strip() or "{}", _name_answer(words), most) for words, text in answers]

    def _parse_json(self, text: str, what: str, most: int = VALUES) -> Any:
        """Return the values of a program's JSON.

        Raises:
            ConnectionException: it is none: empty, cut off, or behind a text that a login script prints.
        """
        try:
            return parse_json(text, what, most)
        except AnswerError as error:
            raise ConnectionException(f"{self.hostname}: {redact_text(str(error), self.password)}") from None

    def _vtysh_json(self, *commands: str) -> list[Any]:
        return self._json(*((*self.VTYSH, "-c", command) for command in commands))

    def get_identity(self) -> dict[str, str]:
        """Return hostname and, where the system has a tool for it, serial number of the switch; not part of NAPALM."""
        (hostname,) = self._outputs(("hostname",))
        return {"hostname": hostname.strip(), "serial_number": self._serial()}

    def _serial(self) -> str:
        """Return the serial number of the chassis, "" where nothing reports it."""
        return ""

    def get_interfaces_counters(self) -> dict[str, Any]:
        """Return counters of the kernel."""
        return linux_views.read_counters(self._links())

    def _links(self) -> list[Any]:
        """Return the interfaces of the kernel with their counters."""
        return list(self._json(linux_views.LINKS)[0])

    def get_bgp_neighbors(self) -> dict[str, Any]:
        """Sessions of every VRF; an unnumbered one is named after its interface."""
        return vtysh_views.bgp_neighbors(*self._vtysh_json(vtysh_views.SUMMARY, vtysh_views.NEIGHBORS))

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        """Return the neighbors of lldpd.

        Raises:
            CommandErrorException: lldpd is not there.
        """
        found = linux_views.lldp_detail(self._json((*self.LLDPCLI, *linux_views.LLDP))[0])
        return {name: one for name, one in found.items() if not interface or name == interface}

    def get_lldp_neighbors(self) -> dict[str, Any]:
        """Return the neighbors of lldpd in short form."""
        return linux_views.lldp_brief(self.get_lldp_neighbors_detail())

    def get_route_to(self, destination: str = "", protocol: str = "", longer: bool = False) -> dict[str, Any]:
        """Routes to a destination in the default VRF, one entry for each next hop."""
        return vtysh_views.routes_to(self._vtysh_json(*vtysh_views.ROUTES), destination, protocol, longer)

    def get_ecmp_widths(self) -> dict[str, int]:
        """Return prefix -> next hops in the kernel, for BGP routes of the default VRF; not part of NAPALM."""
        return vtysh_views.ecmp_widths(self._vtysh_json(*vtysh_views.ROUTES))

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of a VRF -> VTEP -> router MAC that zebra has of it (RFC 9135); not part of NAPALM."""
        return vtysh_views.router_macs(self._vtysh_json(vtysh_views.ROUTER_MACS)[0])

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: no port's Linux driver counts any.
        """
        tally = Tally()
        linux_views.read_lossless(self._outputs(linux_views.ETHTOOL)[0], tally)
        return tally.counters()


def _name_answer(words: Sequence[str]) -> str:
    """Return how a message names the answer of a program."""
    return f"the answer to `{' '.join(words)[:_LONGEST]}`"
