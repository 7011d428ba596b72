"""The base of drivers for switches with Linux, FRR and lldpd: an SSH shell, and getters that run programs.

FRR's JSON answers become NAPALM's dictionaries; FRR routes on SONiC and Cumulus too.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_network
from typing import Any

from napalm.base.exceptions import ConnectionException, NapalmException

from fabricc.operate.drivers import linux_views
from fabricc.operate.drivers.answers import ROUTE_VALUES, VALUES, AnswerError, parse_json, quote_words
from fabricc.operate.drivers.checking import Checking, Options
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.redact import redact_text
from fabricc.operate.drivers.shell import Shell

_LONGEST = 60
_HOSTNAME = re.compile(r"\w[\w.-]*")


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
        return [self._parse_json(text, _name_answer(words), most) for words, text in answers]

    def _parse_json(self, text: str, what: str, most: int = VALUES) -> Any:
        """Return the values of a program's JSON.

        Raises:
            ConnectionException: it is none: empty, cut off, or behind a text that a login script prints.
        """
        try:
            return parse_json(text, what, most)
        except AnswerError as error:
            raise ConnectionException(f"{self.hostname}: {redact_text(str(error), self.password)}") from None

    def _view(self, read: Callable[..., Any], *answers: Any) -> Any:
        """Return answers in NAPALM's form.

        Raises:
            ConnectionException: One is JSON of another kind.
        """
        try:
            return read(*answers)
        except AnswerError as error:
            reason = redact_text(str(error), self.password)
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:
            reason = f"an answer has another form than expected ({type(error).__name__})"
        raise ConnectionException(f"{self.hostname}: {reason}")

    def _vtysh_json(self, *commands: str) -> list[Any]:
        return self._json(*((*self.VTYSH, "-c", command) for command in commands))

    def get_identity(self) -> dict[str, str]:
        """Return hostname and, where the system has a tool for it, serial number of the switch; not part of NAPALM."""
        (hostname,) = self._outputs(HOSTNAME)
        if not _HOSTNAME.fullmatch(hostname.strip()):
            raise ConnectionException(f"{self.hostname}: no hostname: {quote_words(hostname)}")
        return {"hostname": hostname.strip(), "serial_number": self._serial()}

    def _serial(self) -> str:
        """Return the serial number of the chassis, "" where nothing reports it."""
        return ""

    def get_interfaces_counters(self) -> dict[str, Any]:
        """Return counters of the kernel."""
        found: dict[str, Any] = self._view(linux_views.read_counters, self._links())
        return found

    def _links(self) -> list[Any]:
        """Return interfaces of the kernel as iproute2 prints them."""
        found: list[Any] = self._view(linux_views.require_links, *self._json(linux_views.LINKS))
        return found

    def get_bgp_neighbors(self) -> dict[str, Any]:
        """Sessions of every VRF; an unnumbered one is named after its interface."""
        answers = self._vtysh_json(SUMMARY, NEIGHBORS)
        found: dict[str, Any] = self._view(bgp_neighbors, *answers)
        return found

    def get_lldp_neighbors_detail(self, interface: str = "") -> dict[str, Any]:
        """Return the neighbors of lldpd.

        Raises:
            CommandErrorException: lldpd is not there.
        """
        found = self._view(linux_views.lldp_detail, *self._json((*self.LLDPCLI, *linux_views.LLDP)))
        return {name: one for name, one in found.items() if not interface or name == interface}

    def get_lldp_neighbors(self) -> dict[str, Any]:
        """Return the neighbors of lldpd in short form."""
        return linux_views.lldp_brief(self.get_lldp_neighbors_detail())

    def get_route_to(self, destination: str = "", protocol: str = "", longer: bool = False) -> dict[str, Any]:
        """Routes to a destination in the default VRF, one entry for each next hop."""
        tables = self._vtysh_json(*ROUTES)
        found: dict[str, Any] = self._view(routes_to, tables, destination, protocol, longer)
        return found

    def get_ecmp_widths(self) -> dict[str, int]:
        """Return prefix -> next hops in the kernel, for BGP routes of the default VRF; not part of NAPALM."""
        found: dict[str, int] = self._view(ecmp_widths, self._vtysh_json(*ROUTES))
        return found

    def get_router_macs(self) -> dict[str, dict[str, str]]:
        """Return VNI of a VRF -> VTEP -> router MAC that zebra has of it (RFC 9135); not part of NAPALM."""
        found: dict[str, dict[str, str]] = self._view(router_macs, *self._vtysh_json(ROUTER_MACS))
        return found

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM.

        Raises:
            NotImplementedError: no port's Linux driver counts any.
        """
        tally = CounterTotals()
        linux_views.read_lossless(self._outputs(linux_views.ETHTOOL)[0], tally)
        return tally.counters()


def _name_answer(words: Sequence[str]) -> str:
    """Return how a message names the answer of a program."""
    return f"the answer to `{' '.join(words)[:_LONGEST]}`"


HOSTNAME = ("hostname",)
PROCESSES = "ps -eo args= 2> /dev/null || true"
SUMMARY = "show bgp vrf all summary json"
NEIGHBORS = "show bgp vrf all neighbors json"
ROUTES = ("show ip route json", "show ipv6 route json")
ROUTER_MACS = "show evpn rmac vni all json"
_FAMILIES = {"ipv4Unicast": "ipv4", "ipv6Unicast": "ipv6", "l2VpnEvpn": "l2vpn"}
_DEFAULT = "default"


def bgp_neighbors(summary: Mapping[str, Any], neighbors: Mapping[str, Any]) -> dict[str, Any]:
    """NAPALM's `get_bgp_neighbors` from `show bgp vrf all summary json` and `… neighbors json`.

    An unnumbered neighbor is named after its interface. The uptime is in seconds, -1 when the session is down. FRR
    prints `{}` without an instance of BGP, and the VRF with nothing in it without a neighbor.

    Raises:
        AnswerError, KeyError, TypeError, AttributeError: an answer is of another kind.
    """
    tables: dict[str, Any] = {"global": {"router_id": "", "peers": {}}}
    if not isinstance(summary, dict) or not isinstance(neighbors, dict) or summary.keys() - neighbors.keys():
        raise AnswerError(f"the answers to `{SUMMARY}` and `{NEIGHBORS}` have not the same VRFs")
    for vrf, families in summary.items():
        known = neighbors[vrf]
        table = tables.setdefault("global" if vrf == _DEFAULT else vrf, {"router_id": "", "peers": {}})
        for family, found in families.items():
            if family not in _FAMILIES:
                continue
            table["router_id"] = found.get("routerId", table["router_id"])
            for name, peer in found["peers"].items():
                more = known.get(name, {})
                entry = table["peers"].setdefault(name, _peer_entry(found, peer, more))
                counts = more.get("addressFamilyInfo", {}).get(family, {})
                entry["address_family"][_FAMILIES[family]] = {
                    "received_prefixes": int(peer.get("pfxRcd", -1)),
                    "accepted_prefixes": int(counts.get("acceptedPrefixCounter", -1)),
                    "sent_prefixes": int(peer.get("pfxSnt", -1)),
                }
    return tables


def _peer_entry(found: Mapping[str, Any], peer: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    up = peer.get("state") == "Established"
    return {
        "local_as": int(peer.get("localAs", found.get("as", 0))),
        "remote_as": int(peer.get("remoteAs", 0)),
        "remote_id": str(more.get("remoteRouterId", "")),
        "is_up": up,
        "is_enabled": "Admin" not in str(peer.get("state", "")),
        "description": str(more.get("nbrDesc") or peer.get("desc") or ""),
        "uptime": int(peer.get("peerUptimeMsec", 0)) // 1000 if up else -1,
        "address_family": {},
    }


def routes_to(tables: list[Mapping[str, Any]], wanted: str, protocol: str, longer: bool) -> dict[str, Any]:
    """NAPALM's `get_route_to` from `show ip route … json` of one or more families.

    Args:
        tables: prefix -> routes, of the default VRF.
        wanted: an address or a prefix; an address, or a prefix without an exact route, finds the longest match.
        protocol: as FRR names it (`bgp`, `connected`); empty for all.
        longer: prefixes inside `wanted` too.
    """
    target = ip_network(wanted, strict=False)
    answer: dict[str, Any] = {}
    covering = -1
    for table in tables:
        for prefix, routes in table.items():
            network: Any = ip_network(prefix)
            chosen = [one for one in routes if not protocol or one.get("protocol") == protocol.lower()]
            if network.version != target.version or not chosen:
                continue
            if longer:
                if network.subnet_of(target):
                    answer[prefix] = _route_entries(chosen)
            elif target.subnet_of(network) and network.prefixlen > covering:
                covering = network.prefixlen
                answer = {prefix: _route_entries(chosen)}
    return answer


def _route_entries(routes: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "protocol": str(route.get("protocol", "")).upper(),
            "current_active": bool(route.get("selected", False)),
            "last_active": bool(route.get("selected", False)),
            "age": _parse_duration(str(route.get("uptime", ""))),
            "next_hop": str(hop.get("ip", "")),
            "outgoing_interface": str(hop.get("interfaceName", "")),
            "selected_next_hop": bool(hop.get("fib", False)),
            "preference": int(route.get("distance", 0)),
            "inactive_reason": "",
            "routing_table": str(route.get("vrfName", _DEFAULT)),
            "protocol_attributes": {"metric": int(route.get("metric", 0))},
        }
        for route in routes
        for hop in route.get("nexthops", [])
        if not hop.get("recursive")
    ]


def _parse_duration(text: str) -> int:
    """FRR's `01:02:03`, `1d02h03m` or `3w2d04h` in seconds; -1 when it is none of them."""
    if match := re.fullmatch(r"(\d+):(\d+):(\d+)", text):
        hours, minutes, seconds = (int(part) for part in match.groups())
        return 3600 * hours + 60 * minutes + seconds
    units = {"y": 31_536_000, "w": 604_800, "d": 86_400, "h": 3600, "m": 60}
    parts = re.findall(r"(\d+)([ywdhm])", text)
    return sum(int(count) * units[unit] for count, unit in parts) if parts else -1


def router_macs(answer: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return VNI -> VTEP -> router MAC from `show evpn rmac vni all json`; a count stands among the MAC addresses."""
    return {
        vni: {str(one["vtepIp"]): str(one["routerMac"]) for one in macs.values() if isinstance(one, dict)}
        for vni, macs in answer.items()
        if isinstance(macs, dict)
    }


def ecmp_widths(tables: list[Mapping[str, Any]]) -> dict[str, int]:
    """Return prefix -> number of next hops that FRR has put into the kernel, for routes learned by BGP."""
    widths = {}
    for table in tables:
        for prefix, routes in table.items():
            for route in routes:
                if route.get("selected") and route.get("protocol") == "bgp":
                    hops = route.get("nexthops", [])
                    widths[prefix] = sum(1 for hop in hops if hop.get("fib") and not hop.get("recursive"))
    return widths
