"""Find settings of one switch by which people log in who should not, and services that it lacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.audit.rules.sheet import told
from fabricc.base.diagnostics import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.proof.compare import Finding

OPEN, UNSAFE, ISOLATED = "FAB9671", "FAB9672", "FAB6206"
ACCESS = "management/access"
SERVICES = {
    "management/ntp": "NTP server", "management/syslog": "log server", ACCESS: "limit on who reaches its management",
}  # fmt: skip
"""Path -> what a switch lacks without it."""
_ACCESS = re.compile(r"management/access(\[.*\])?|access\[.*\]")
_EVERYONE = re.compile(r"\b(?:any|everyone else)\b|(?<![\d.:a-f])(?:0\.0\.0\.0|::)/0")
_TELNET = ("management/telnet", "system/feature[telnet]")
_COMMUNITIES = ("public", "private")
_SNMP = re.compile(r"management/snmp/(secret|community\[.*\])|snmp/.*community.*")
_VTY = re.compile(r"daemon\[.*\]/vty_address")
_LOCAL = ("127.0.0.1", "::1")


def access_findings(sheet: Sheet) -> Iterator[Finding]:
    """Report access for everyone, logins without a password or encryption, and management that is not separated."""
    yield from _open_access(sheet)
    yield from _unsafe_logins(sheet)
    yield from _not_isolated(sheet)


def _open_access(sheet: Sheet) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for path, value in sheet.rest.items():
        if not _ACCESS.fullmatch(path) or not _EVERYONE.search(str(value)):
            continue
        place = sheet.lines.get(path, ("", 0))
        if place not in seen:
            seen.add(place)
            message = f"{sheet.name} lets everyone reach its management services ({str(value).strip(' ,')})"
            remedy = "Permit the networks of the administrators only."
            yield told(OPEN, sheet.device, path, message, "open access", Severity.WARNING, remedy)


def _unsafe_logins(sheet: Sheet) -> Iterator[Finding]:
    for path, value in sheet.rest.items():
        if path in _TELNET and value not in ("off", "false"):
            message = f"{sheet.name} accepts Telnet, which sends passwords in the clear"
            yield _unsafe(sheet, path, message, "Telnet", "Disable Telnet and use SSH.")
        elif path.startswith("user[") and path.endswith("]/password") and value == "none":
            user = path[len("user[") : -len("]/password")]
            message = f"{sheet.name}: the account {user} has no password"
            yield _unsafe(
                sheet, path, message, "no password", "Give the account a key or a password, or remove it."
            )
        elif value in _COMMUNITIES and _SNMP.fullmatch(path):
            message = f"{sheet.name} answers SNMP with the community {value}, which everyone tries first"
            yield _unsafe(
                sheet, path, message, "SNMP community", "Use SNMPv3, or a community that cannot be guessed."
            )
        elif _VTY.fullmatch(path) and value not in _LOCAL:
            message = f"{sheet.name}: a daemon listens for Telnet at {value}, not on the loopback alone"
            yield _unsafe(sheet, path, message, "Telnet", "Let the daemons listen at 127.0.0.1.")


def _unsafe(sheet: Sheet, path: str, message: str, group: str, remedy: str) -> Finding:
    return told(UNSAFE, sheet.device, path, message, group, Severity.WARNING, remedy)


def _not_isolated(sheet: Sheet) -> Iterator[Finding]:
    """Report that routes lead from the fabric's ports to the management network (invariant 6)."""
    path = "management/isolated"
    if sheet.rest.get(path) == "false" and "management/address" in sheet.rest and sheet.fars:
        message = f"{sheet.name}: routes lead from the fabric's ports to the management network: any host reaches it"
        remedy = "Put the management port into a routing instance of its own."
        yield told(ISOLATED, sheet.device, path, message, "management isolation", Severity.WARNING, remedy)
