"""A device that speaks Juniper's NETCONF over SSH: an exclusive lock, a candidate, rollbacks, confirmed commits."""

from __future__ import annotations

import contextlib
import difflib
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from lxml import etree
from netutils.password import encrypt_juniper_type9

from tests.operate.drivers.servers import junos_shows
from tests.operate.drivers.servers.counted import Counted
from tests.operate.drivers.servers.device import Device
from tests.operate.drivers.servers.faults import Faults
from tests.operate.drivers.servers.ssh import ssh_server
from tests.operate.drivers.servers.web import HOST, Drop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import paramiko

USER, PASSWORD = "admin", "junos pässword"
_END = b"]]>]]>"
_BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
_HELLO = (
    f'<hello xmlns="{_BASE}"><capabilities><capability>{_BASE.replace("ns:netconf:base", "netconf:base")}</capability>'
    f"<capability>http://xml.juniper.net/netconf/junos/1.0</capability></capabilities>"
    "<session-id>7</session-id></hello>"
)


class Refused(Exception):  # noqa: N818 - an answer of the device
    """An RPC that Junos refuses, because of an element below a path."""

    def __init__(self, text: str, path: str = "", element: str = "") -> None:
        super().__init__(text)
        self.path, self.element = path, element

    @property
    def about(self) -> str:
        """Return what of the configuration it names, as in Juniper/py-junos-eznc."""
        path = f"<error-path>{escape(self.path)}</error-path>" if self.path else ""
        if self.element:
            path += f"<error-info><bad-element>{escape(self.element)}</bad-element></error-info>"
        return path


SNMP_ENGINE = "80 00 0a 4c 04 30"
"""Of `engine-id local 0`, as `show snmp v3` prints it."""
SNMP_KEYS = {
    "password": "262aeb10bd4fcad298132dd0a46a818b85ccaafc", "12345678": "495a63bda2644ab600135d2ee0909b9f",
}  # fmt: skip
"""Password -> the key that Junos stored for it with this engine (billchaison/juniper_snmp_auth_crack)."""


def _store_key(match: re.Match[str]) -> str:
    """A password of an SNMPv3 user as Junos stores it; one that nobody published has a key of its own here."""
    key = SNMP_KEYS.get(match[2]) or match[2].encode().hex()
    return f'{match[1]}-key "{encrypt_juniper_type9(key)}";'


def _encrypt_secret(match: re.Match[str]) -> str:
    """A secret as Junos stores it, with a salt of its own at each load."""
    return f'{match[1]} "{encrypt_juniper_type9(match[2])}";'


@dataclass(slots=True)
class JunosSwitch:
    """Committed configurations, the newest first, and the candidate that all sessions share.

    Attributes:
        minute: how long a minute of `confirm-timeout` lasts here, in seconds.
        waiting: when the time of a confirmed commit is over.
        comment: of the newest commit, as Junos writes it; it stays after the confirmation.
        log: of the newest commit, as its author wrote it.
        client: which made it: `other` where Junos went back by itself.
        older: the entries of the commits before it.
        marks: whether the list of commits marks the one that waits; `release` is what the software reports.
        release: see `marks`.
        checks_confirm: whether a check of the candidate confirms the commit that waits.
        checks_commit: whether such a check is a commit in the list, as somebody saw it on a device.
        checked: how often a commit was only checked.
        warns_getters: whether the warning of `faults` stands in answers to other requests too.
        unsound: path and element that such a check refuses, as in Juniper/ansible-junos-stdlib pull 73.
        holder: the session that holds the lock.
        neighbors: returns the established sessions, neighbor -> received prefixes.
        counted: its counters and alarms.
        requests: how many RPCs it has answered.
        engine: the ID of its SNMP engine, empty if it refuses to print it.
        silence: where it is set, no session begins until the event.
    """

    device: Device
    history: list[str] = field(default_factory=lambda: ["system { host-name old; }\n"])
    candidate: str = "system { host-name old; }\n"
    comment: str = ""
    log: str = ""
    client: str = "netconf"
    older: list[str] = field(default_factory=list)
    marks: bool = True
    release: str = "24.4R2.21"
    checks_confirm: bool = True
    checks_commit: bool = False
    committed: float = field(default_factory=time.time)
    waiting: float | None = None
    minute: float = 60.0
    holder: object = None
    checked: int = 0
    warns_getters: bool = False
    unsound: tuple[str, str] | None = None
    faults: Faults = field(default_factory=Faults)
    neighbors: Callable[[], dict[str, int]] = dict
    counted: Counted = field(default_factory=Counted)
    requests: int = 0
    engine: str = SNMP_ENGINE
    silence: threading.Event | None = None
    _turn: threading.RLock = field(default_factory=threading.RLock)

    @property
    def running(self) -> str:
        """Return what is committed, after a confirmation that did not come."""
        with self._turn:
            if self.waiting is not None and time.monotonic() > self.waiting:
                self.waiting = None
                self._become(self.history[1], "", "", "other")
                self.candidate = self.history[0]
            return self.history[0]

    def _become(self, text: str, comment: str, log: str, client: str = "netconf") -> None:
        self.history.insert(0, text)
        self.older.insert(0, self._entry())
        self.comment, self.log, self.client, self.committed = comment, log, client, time.time()

    def serve(self, channel: paramiko.Channel, name: str) -> None:
        """One NETCONF session."""
        me = object()
        if self.silence:
            self.silence.wait()
            raise Drop
        channel.sendall(_HELLO.encode() + _END)
        waiting, greeted = b"", False
        try:
            while part := channel.recv(65536):
                waiting += part
                while _END in waiting:
                    message, _, waiting = waiting.partition(_END)
                    if greeted:
                        channel.sendall(self._reply(me, message).encode() + _END)
                    greeted = True
        finally:
            with self._turn:
                if self.holder is me:
                    self.holder, self.candidate = None, self.running

    def _reply(self, me: object, message: bytes) -> str:
        rpc = etree.fromstring(message.strip())
        requested = rpc[0]
        verb = etree.QName(requested).localname.replace("-", "_")
        with self._turn:
            self.requests += 1
            assert self.running
            try:
                content = getattr(self, f"_{verb}", self._unknown)(me, requested)
                if verb.startswith("get_") and self.warns_getters:
                    content = self._warning() + content
            except Refused as error:
                content = (
                    "<rpc-error><error-type>protocol</error-type><error-tag>operation-failed</error-tag>"
                    f"<error-severity>error</error-severity>{error.about}<error-message>{error}</error-message></rpc-error>"
                )
        return f'<rpc-reply xmlns="{_BASE}" message-id="{rpc.get("message-id")}">{content}</rpc-reply>'

    def _unknown(self, me: object, requested: Any) -> str:
        raise Refused("syntax error")

    def _close_session(self, me: object, requested: Any) -> str:
        return "<ok/>"

    def _lock_configuration(self, me: object, requested: Any) -> str:
        if self.holder not in (None, me):
            raise Refused("configuration database locked by: somebody terminal p0 (pid 7) on since now")
        if self.holder is None and self.candidate != self.running:
            raise Refused("configuration database modified")
        self.holder = me
        return "<ok/>"

    def _unlock_configuration(self, me: object, requested: Any) -> str:
        if self.holder is me:  # as Juniper's page of `<lock-configuration/>` describes it
            self.holder, self.candidate = None, self.running
        return "<ok/>"

    def _load_configuration(self, me: object, requested: Any) -> str:
        if requested.get("rollback") is not None:
            self.candidate = self.history[int(requested.get("rollback"))]
            return "<load-configuration-results><ok/></load-configuration-results>"
        warning = self._warning()
        text = "".join(requested.itertext())
        if "bogus" in text or self.faults.reject:
            raise Refused("syntax error: bogus; authentication-key S3CRET")
        for line in text.splitlines():
            if (word := line.strip().rstrip("{;").split(" ")[0]) and line.strip() in self.faults.planted:
                # The words of Juniper/healthbot-rules pull 258.
                raise Refused("syntax error", element=word)
        text = re.sub(r"\b(secret|authentication-key) (?!\"\$9\$)(\S+);", _encrypt_secret, text)
        text = re.sub(r"\b(authentication|privacy)-password (\S+);", _store_key, text)
        self.candidate = text if requested.get("action") == "override" else self.candidate + text
        return f"<load-configuration-results>{warning}<ok/></load-configuration-results>"

    def _warning(self) -> str:
        """Return what stands before `<ok/>` in an answer, as in clicon/clixon-controller issue 71."""
        if not self.faults.warning:
            return ""
        return (
            "<rpc-error><error-type>protocol</error-type><error-tag>operation-failed</error-tag>"
            f"<error-severity>warning</error-severity><error-message>{self.faults.warning}</error-message></rpc-error>"
        )

    def _get_configuration(self, me: object, requested: Any) -> str:
        if requested.get("compare") is None:
            text = self.candidate if requested.get("database") == "candidate" else self.history[0]
            shown = re.sub(r'("\$9\$[^"]*";)', r"\1 ## SECRET-DATA", text)
            return f"<configuration-text>{escape(shown)}</configuration-text>"
        old, new = self.history[0].splitlines(), self.candidate.splitlines()
        lines = "\n".join(
            line for line in difflib.unified_diff(old, new, lineterm="", n=0) if line[0] in "+-"
        )
        output = f"\n{lines}\n" if lines else "\n"
        return (
            f"<configuration-information><configuration-output>{output}</configuration-output>"
            "</configuration-information>"
        )

    def _commit_configuration(self, me: object, requested: Any) -> str:
        names = {etree.QName(one).localname: one.text for one in requested}
        if "check" in names:
            self.checked += 1
            if self.unsound:
                raise Refused("mgd: Security zone must be defined", *self.unsound)
            lost = self._lose("before")
            if self.checks_confirm and self.waiting is not None:
                self.waiting = None
                if self.checks_commit:
                    self._become(self.running, "", "")
            self._lose("after", lost)
            checked = "<routing-engine><commit-check-success/></routing-engine>"
            return f"{self._warning()}<commit-results>{checked}</commit-results>"
        if self.faults.fail_commit or self.faults.disk_full:
            output = (
                "No space left on device" if self.faults.disk_full else "neighbor 192.0.2.1: secret S3CRET"
            )
            raise Refused(f"commit failed: {output}")
        lost = self._lose("before")
        comment = ""
        self.waiting = None
        if "confirmed" in names:
            minutes = int(names.get("confirm-timeout") or 10)
            comment = f"commit confirmed, rollback in {minutes}mins"
            self.waiting = time.monotonic() + minutes * self.minute
        self._become(self.candidate, comment, names.get("log") or "")
        self._lose("after", lost)
        return f"{self._warning()}<ok/>"

    def _lose(self, when: str, fault: str | None = None) -> str:
        """Break the connection before or after a commit takes effect; return the fault, which may come once."""
        found = self.faults.drop_commit if fault is None else fault
        if fault is None and self.faults.drop_once:
            self.faults.drop_commit = ""
        if found == when:
            raise Drop
        return found

    def _get_instance_information(self, me: object, requested: Any) -> str:
        name = "<instance-core><instance-name>master</instance-name></instance-core>"
        return f"<instance-information>{name}</instance-information>"

    def _get_bgp_neighbor_information(self, me: object, requested: Any) -> str:
        peers = "".join(
            f"<bgp-peer><peer-address>{name}+179</peer-address><peer-as>65002</peer-as><local-as>65001</local-as>"
            f"<peer-cfg-rti>master</peer-cfg-rti><peer-state>Established</peer-state><local-id>192.0.2.1</local-id><peer-id>192.0.2.2</peer-id>"
            f"<bgp-rib><name>inet.0</name><received-prefix-count>{count}</received-prefix-count>"
            f"<accepted-prefix-count>{count}</accepted-prefix-count>"
            "<advertised-prefix-count>0</advertised-prefix-count></bgp-rib></bgp-peer>"
            for name, count in self.neighbors().items()
        )
        return f"<bgp-information>{peers}</bgp-information>"

    def _get_bgp_summary_information(self, me: object, requested: Any) -> str:
        peers = "".join(
            f'<bgp-peer><peer-address>{name}</peer-address><elapsed-time seconds="9">9</elapsed-time>'
            "<bgp-rib><name>inet.0</name></bgp-rib></bgp-peer>"
            for name in self.neighbors()
        )
        return f"<bgp-information>{peers}</bgp-information>"

    def _refuse_unknown(self, verb: str) -> None:
        if self.counted.refuses(verb):
            raise Refused("syntax error")

    def _get_interface_information(self, me: object, requested: Any) -> str:
        self._refuse_unknown("get-interface-information")
        return junos_shows.show_interfaces(self.counted)

    def _command(self, me: object, requested: Any) -> str:
        command = "".join(requested.itertext())
        self._refuse_unknown(command)
        if command == "show snmp v3" and self.engine:
            return f"<output>\nLocal engine ID: {self.engine}\nEngine boots:           1\n</output>"
        if command != "show interfaces queue":
            raise Refused("unknown command")
        return junos_shows.show_queues(self.counted)

    def _get_lldp_neighbors_information(self, me: object, requested: Any) -> str:
        return "<lldp-neighbors-information/>"

    def _get_alarm_information(self, me: object, requested: Any) -> str:
        return junos_shows.show_alarms(self.counted)

    def _get_system_alarm_information(self, me: object, requested: Any) -> str:
        return junos_shows.show_alarms(self.counted)

    def _get_route_information(self, me: object, requested: Any) -> str:
        names = {etree.QName(one).localname: one.text for one in requested}
        assert names["protocol"] == "bgp"
        tables = [one for one in ("inet.0", "inet6.0") if one.startswith(names["table"] or "")]
        return junos_shows.show_routes(self.counted, tables)

    def _get_commit_information(self, me: object, requested: Any) -> str:
        """The list of commits, as others recorded it on 24.4: a comment of Junos stays, the mark goes."""
        mark = "<commit-confirmed>rollback pending</commit-confirmed>"
        newest = self._entry(mark if self.marks and self.waiting is not None else "")
        return f"<commit-information>{newest}{''.join(self.older)}</commit-information>"

    def _entry(self, mark: str = "") -> str:
        reported = {"comment": self.comment, "log": self.log}
        words = "".join(f"<{name}>{text}</{name}>" for name, text in reported.items() if text)
        return (
            f"<commit-history><sequence-number>0</sequence-number><user>{USER}</user><client>{self.client}</client>"
            f'<date-time seconds="{self.committed:.0f}">now</date-time>{words}{mark}</commit-history>'
        )

    def _get_software_information(self, me: object, requested: Any) -> str:
        return f"<software-information><junos-version>{self.release}</junos-version></software-information>"

    def _get_system_uptime_information(self, me: object, requested: Any) -> str:
        return (
            f'<system-uptime-information><current-time><date-time seconds="{time.time():.0f}">now</date-time>'
            "</current-time></system-uptime-information>"
        )


@contextlib.contextmanager
def junos_switch(folder: Path) -> Iterator[JunosSwitch]:
    """Start a switch; its configuration and faults can be read and set while it runs."""
    running: list[JunosSwitch] = []

    def allowed(user: str, password: str) -> bool:
        return (user, password) == (USER, PASSWORD) and not running[0].faults.refuse_login

    with ssh_server(folder, allowed, {"netconf": lambda *rest: running[0].serve(*rest)}) as (port, known):
        options = {"port": port, "alt_key_file": str(known)}
        running.append(JunosSwitch(Device("fabricc_junos", HOST, USER, PASSWORD, options)))
        yield running[0]
