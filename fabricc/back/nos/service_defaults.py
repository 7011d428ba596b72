"""What systems do with LLDP, logins, servers and secrets where a configuration states nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Reading, Value


def is_log_sender(system: str) -> bool:
    """Return whether the file with a log server is that of the agent itself, as `rsyslog.conf` of FRR on Linux."""
    return system == "frr"


def is_part_of_switch(facts: Mapping[str, Value]) -> bool:
    """Return whether a file is of one ASIC of several: another file has the services of the switch (SONiC)."""
    return "system/setting[asic_name]" in facts


_OFF = {
    "platform/setting[no lldp run]": "true", "system/feature[lldp]": "off", "lldp/enabled": "false",
    "daemon[lldpd]/enabled": "no",
}  # fmt: skip


def fact_without_lldp(facts: Mapping[str, Value]) -> str:
    """Return the fact that switches LLDP off on a whole switch, "" for none."""
    return next((path for path, off in _OFF.items() if str(facts.get(path)) == off), "")


_NO_LLDP = {
    "setting[no lldp transmit]": "true", "setting[no lldp receive]": "true", "setting[lldp transmit]": "off",
    "setting[lldp receive]": "off",
}  # fmt: skip


_NO_LLDP_LINE = re.compile(
    r"protocols lldp interface (\S+?)(?:\.0)? disable|configure ports (\S+) lldp status (?:disabled|rx-only)"
)


def port_fact_without_lldp(values: Mapping[str, Value]) -> str:
    """Return the fact of a port that switches LLDP off there, "" for none."""
    return next((leaf for leaf in _NO_LLDP.keys() & values.keys() if str(values[leaf]) == _NO_LLDP[leaf]), "")


def port_without_lldp(text: str) -> str:
    """Return the port on which a line that no row reads switches LLDP off; "" for none."""
    match = _NO_LLDP_LINE.fullmatch(text.strip())
    return match[1] or match[2] if match else ""


_LLDP_ONLY_IF_STATED = ("nxos", "junos")
"""Systems that run LLDP only where the configuration enables it (`feature lldp`, `protocols lldp interface all`)."""


def lacks_lldp(nos: str, reading: Reading) -> bool:
    """Return whether a switch runs no LLDP since no line enables it."""
    if nos not in _LLDP_ONLY_IF_STATED or any("lldp" in path for path in reading.facts):
        return False
    return not any("lldp" in text for _, _, text in reading.unknown)


_SERVER_LINES = (
    re.compile(r"(?P<service>ntp server|logging|ip name-server) vrf (?P<vrf>\S+) .*"),
    re.compile(r"(?P<service>ntp server|logging server|ip name-server) .*\buse-vrf (?P<vrf>\S+).*"),
    re.compile(r"(?:system )?(?P<service>ntp|syslog)?\b.*\brouting-instance (?P<vrf>[^\s;]+);?"),
)


def built_in_instances(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the routing instances that a switch with these facts has without a definition."""
    of_management = ("mgmt_junos",) if "platform/management_instance" in facts else ()
    return ("default", "management", *of_management)


def server_instance(text: str) -> tuple[str, str] | None:
    """Return the service and the routing instance that a line about a server names."""
    for pattern in _SERVER_LINES:
        if match := pattern.fullmatch(text.strip()):
            return match["service"] or "a server", match["vrf"]
    return None


_STRAY_SERVER = re.compile(
    r"(?:system )?(?P<service>ntp server|(?:logging|syslog)(?: vrf default)? host|logging server)(?: vrf default)?"
    r" (?P<server>[0-9a-f.:]+)(?!.*\b(?:use-vrf|vrf|routing-instance)\b(?! default\b)).*"
)


_STRAY_ROW = re.compile(r"SYSLOG_SERVER\|(\S+) without vrf mgmt")
"""A row of SONiC, whose servers are in the default VRF unless their rows name another (rsyslog.conf.j2)."""


def row_of_fabric(text: str) -> tuple[str, str] | None:
    """Return the path of a service and the server of a row that names no routing instance."""
    match = _STRAY_ROW.fullmatch(text)
    return match and ("management/syslog", match[1])


def server_of_fabric(text: str) -> tuple[str, str] | None:
    """Return the path of a service and the server of a line that names no routing instance, or that of the fabric."""
    match = _STRAY_SERVER.fullmatch(text.strip())
    return match and (
        f"management/{'ntp' if match['service'].startswith('ntp') else 'syslog'}",
        match["server"],
    )


def may_use_management(text: str) -> bool:
    """Return whether a server whose line names no routing instance may be looked for in that of management.

    Published NX-OS switches have `logging server` so next to other servers in the VRF `management`.
    """
    return text.strip().startswith("logging server ") and "use-vrf" not in text


_CLEAR = tuple(f"system/feature[{name}-server]" for name in ("http", "ftp", "tftp"))
_NO_AUTHENTICATION = re.compile(r"management/aaa(?:\[|/)authentication login (?:default|console)\]?")


def opens_logins(path: str, value: object) -> str:
    """Return what a fact about logins opens; "" for nothing.

    EOS and NX-OS let people in without a check by the method `none`.
    """
    if path.startswith("management/snmp_group[") and "noauth" in str(value).split()[:1]:
        return "answers SNMPv3 without a check of who asks"
    if path in _CLEAR and value == "on":
        return "accepts HTTP or FTP, which send passwords in the clear"
    none = _NO_AUTHENTICATION.fullmatch(path) and "none" in str(value).split()
    return "lets people log in without a password where no server answers" if none else ""


_REPORTED = {
    "unread[routing-instance mgmt_junos]": "platform/management_instance",
    "unread[protocols lldp]": "lldp/interval_s",
}


def reported_part(path: str) -> str:
    """Return the fact that is missing where lines without effect are reported, "" for none."""
    return _REPORTED.get(path, "")


class UnsafeLine(NamedTuple):
    """A line that no row reads, and by which people reach a switch who should not: what it does, and its kind."""

    words: str
    kind: str


_UNSAFE_LINES = (
    (re.compile(r"snmp\S*\b.*\bcommunity \"?(public|private)\b.*"), "answers SNMP with the community {0}",
     "SNMP community"),
    (re.compile(r"SNMP_COMMUNITY\|.* TYPE: RW|snmp community \S+ authorization read-write"
                r"|snmp-server community \S+ rw.*"),
     "lets whoever has an SNMP community change settings", "SNMP community"),
    (re.compile(r"protocol http(?: port \d+)?|nxapi http(?: port \d+)?|ip http server|.*\bweb-management http(?: .*)?"
                r"|system services (?:rest http|xnm-clear-text)(?: .*)?"),
     "accepts HTTP, which sends passwords in the clear", "HTTP"),
    (re.compile(r"snmp (?:community \S+ clients|client-list \S+) (?:0\.0\.0\.0/0|::/0)"),
     "answers SNMP of every address", "SNMP clients"),
    (re.compile(r"system (?:root-authentication|login user \S+ authentication) plain-text-password-value \S+"),
     "has a password in the clear", "password"),
    (re.compile(r"system services extension-service request-response grpc skip-authentication"),
     "accepts gRPC without a check of who asks", "gRPC"),
    (re.compile(r"(?:system services )?(?:ftp|rlogin|rsh)(?: .*)?|feature (?:ftp|tftp)-server|ip ftp server.*"
                r"|system services (?:tftp-server|finger|telnet)(?: .*)?"),
     "accepts FTP, Telnet, remote shells or the like, which send passwords in the clear", "FTP"),
    (re.compile(r"ssh key rsa (\d{1,3}|1[0-9]{3})(?: .*)?"), "has a key of {0} bits for SSH, which are too few",
     "SSH"),
    (re.compile(r"system services ssh protocol-version v1"), "accepts version 1 of SSH, which is broken", "SSH"),
    (re.compile(r"system services extension-service request-response grpc clear-text(?: .*)?"),
     "accepts gRPC without encryption, which sends passwords in the clear", "gRPC"),
    (re.compile(r"system login user (\S+) authentication encrypted-password"), "has the account {0} without a password",
     "password"),
    (re.compile(r"username (\S+) .*\b(?:secret|password) (?:0 )?(?:\1|admin|password|cisco|arista|juniper)\b.*"),
     "has the account {0} with a password that everyone tries first", "password"),
    (re.compile(r"(?:nv set system ssh-server )?permit-root-login:? '?(?:enabled|yes|on)'?"),
     "lets root log in over SSH", "root"),
    (re.compile(r"auth-none:.*"), "answers SNMPv3 without authentication", "SNMP user"),
    (re.compile(r"(?:aaa )?root (?:secret|password) (?:0 .*|\"?(?:admin|root|arista|password)\"?)"),
     "has root with a password in the clear", "root"),
    (re.compile(r"aaa authentication policy local allow-nopassword-remote-login"),
     "lets accounts without a password log in over the network", "no password"),
    (re.compile(r"authentication empty-passwords permit"), "lets accounts without a password log in over SSH",
     "no password"),
    (re.compile(r"access-class (\S+) out"), "limits with {0} where its users go, and not who logs in", "logins"),
    (re.compile(r"(?:aaa )?root nopassword"), "lets people log in as root without a password", "root"),
)  # fmt: skip


def unsafe_line(text: str) -> UnsafeLine | None:
    """Return what a line without a meaning for the fabric opens, None for one that opens nothing."""
    for pattern, words, kind in _UNSAFE_LINES:
        if match := pattern.fullmatch(text.strip()):
            return UnsafeLine(words.format(*match.groups()), kind)
    return None
