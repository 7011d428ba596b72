"""State facts of management from several lines: isolation from the fabric, keys of time servers, transports."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Facts, Reading, Value, format_boolean
from fabricc.fabric.model import SECRET_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    PlacedValue = tuple[Value, int]


ISOLATED = "management/isolated"
_SETTING = "setting["
_WORD = re.compile(r"[\w-]+")


def state_isolation(
    reading: Reading,
    isolated: bool,
    place: tuple[str, int],
    joins: re.Pattern[str] | None = None,
    instance: str = "",
) -> None:
    """State the fact, at the line that joins the two or else at `place`.

    Args:
        reading: the reading of all files, with its unknown lines.
        isolated: whether the files have the statements that separate the two on this system.
        place: file and line of these statements, or of their place.
        joins: text of a line that leaks routes between the two; no plan has one, so it is unknown, or a setting that is
            reported by its words.
        instance: name of the routing instance of the management port; settings that lead from one other instance to
            another do not count. "" to count all.
    """
    found: list[tuple[str, int]] = []
    if joins is not None:
        found += [(file, line) for file, line, text in reading.unknown if joins.search(text)]
        settings = (path for path in reading.facts if _SETTING in path and joins.search(path))
        found += [reading.lines[path] for path in settings if _concerns(reading, path, instance)]
    file, line = found[0] if found else place
    reading.put(ISOLATED, format_boolean(isolated and not found), file, line)


def leads_to_management(hop: Value) -> bool:
    """Return whether a static route looks its packets up in the table of the management instance (Junos)."""
    return str(hop).startswith("table mgmt_junos.")


def _concerns(reading: Reading, path: str, instance: str) -> bool:
    """Return whether a setting, or a policy that it names, names a routing instance."""
    words = _WORD.findall(f"{path} {reading.facts[path]}")
    if not instance or instance in words:
        return True
    maps = tuple(f"route_map[{word}]/" for word in words)
    return any(
        known.startswith(maps) and instance in _WORD.findall(str(value))
        for known, value in reading.facts.items()
    )


def state_keys(
    put: Callable[[str, Value, int], None],
    keys: Mapping[str, tuple[str, str, int]],
    servers: Mapping[str, PlacedValue],
    trusted: Collection[str],
    enforced: int | None,
) -> None:
    """State the keys, and which of them all servers must answer with, or what is missing for that.

    A fact holds the reference to a key, and of a key itself only that there is one.

    Args:
        put: states a fact: path, value and line.
        keys: number -> hash, secret and line.
        servers: server -> number of its key, 0 without one, and line.
        trusted: numbers of trusted keys.
        enforced: line that requires authentication; None without one.
    """
    for number, (kind, secret, line) in keys.items():
        put(f"management/ntp_key[{number}]/type", kind, line)
        shown = secret if secret.startswith(SECRET_PREFIX) else "set"
        put(f"management/ntp_key[{number}]/secret", shown, line)
    requested = Counter(str(key) for key, _ in servers.values() if key)
    if not keys and not requested and enforced is None:
        return
    used = max(requested, key=lambda each: requested[each]) if requested else next(iter(keys), "")
    without = sorted(server for server, (key, _) in servers.items() if str(key) != used)
    missing = [
        *(["not defined"] if used not in keys else []),
        *(["not trusted"] if used not in trusted else []),
        *(["not required"] if enforced is None else []),
        *([f"not for {', '.join(without)}"] if without or not servers else []),
    ]
    lines = [enforced or 0, *(line for _, line in servers.values()), *(line for *_, line in keys.values())]
    text = f"{used} {', '.join(missing)}".strip() if missing else f"{used} for all servers"
    odd = [line for key, line in servers.values() if (str(key) == used) is (used not in keys)]
    put("management/ntp_key/use", text, odd[0] if odd else max(lines))


_SERVED: Mapping[str, Mapping[str, str]] = {
    "eos": {"https": "platform/http_api", "ssh": "management/ssh"},
    "junos": {"netconf": "platform/netconf"},
    "nxos": {"https": ""},
}
"""Operating system -> transport -> the fact that states it, "" where every configuration serves it.

EOS listens for SSH in the default VRF alone unless `management ssh` names another; `feature nxapi` opens HTTPS alone.
"""


def serves_transport(nos: str, facts: Facts, transport: str) -> bool:
    """Return whether a switch that runs a configuration can be spoken to over a transport."""
    known = _SERVED.get(nos)
    if known is None:
        return True
    return transport in known and (not known[transport] or known[transport] in facts)


_NETCONF, _LOGINS = "platform/netconf", ("platform/ssh", "platform/root_login", "management/telnet")
_SSH_LINE = "system services ssh"


def path_without_login(facts: Facts, unread: Iterable[str]) -> str:
    """Return the path of NETCONF on a switch of Junos on which nobody logs in: SSH is off without a statement."""
    stated = any(path.startswith(_LOGINS) for path in facts) or any(_SSH_LINE in text for text in unread)
    return _NETCONF if _NETCONF in facts and not stated else ""


_OPEN = re.compile(
    r"management/(?:open\[(?P<eos>\w+)\] default|(?P<served>gnmi) default"
    r"|(?P<nxos>grpc)_vrf\[default\] on|(?P<api>nxapi)_vrf default)"
)
_SSH = "management/ssh"


def services_of_fabric(facts: Facts) -> dict[str, str]:
    """Return the paths of facts by which a service of management answers in the VRF of the fabric, and the services."""
    found = {
        path: next(filter(None, match.groups()))
        for path, value in facts.items()
        if path.startswith("management/") and (match := _OPEN.fullmatch(f"{path} {value}"))
    }
    if facts.get(f"{_SSH}[default]") == "on" and _SSH in facts:
        found[f"{_SSH}[default]"] = "SSH"
    limited = any(path.startswith("management/access") for path in facts)  # others show no wish for isolation
    if limited and "management/nxapi_vrf" not in facts and facts.get("system/feature[nxapi]") == "on":
        found["system/feature[nxapi]"] = "nxapi"
    return found


_UNGUARDED = {"platform/http_api": ("http", "its API"), "management/gnmi": ("gnmi", "gNMI")}
_API_PORT = re.compile(r"(?P<action>permit|deny) (?:ip|tcp) any any(?: eq 443)?")
_LIST_OF_PORT = "structure/mgmt0/access-group"
_NXAPI = "system/feature[nxapi]"
_COMMUNITY, _SNMP, _VTY = "management/snmp/secret", "management/snmp/", "management/vty/access-class"


def services_without_list(facts: Facts) -> dict[str, str]:
    """Return the paths of facts by which a service answers everyone whereas SSH answers some, and the services.

    An access list of SSH guards nothing else: EOS has a list per service, NX-OS those of `line vty` and of the port.
    """
    if not facts.get("management/access") or any(
        path.startswith("management/control_plane/") for path in facts
    ):
        return {}
    found = {
        path: service
        for path, (listed, service) in _UNGUARDED.items()
        if path in facts and f"management/access[{listed}]" not in facts
    }
    communities = _VTY in facts and _COMMUNITY in facts
    if communities and not any(path.startswith(_SNMP) and "use-ip" in path for path in facts):
        found[_COMMUNITY] = "SNMP"
    if facts.get(_NXAPI) == "on":
        name = f"management/access_list[{facts.get(_LIST_OF_PORT)}]/"
        rules = [path for path in facts if path.startswith(name) and is_number(path[len(name) :])]
        first = next((path for path in rules if _API_PORT.fullmatch(str(facts[path]))), "")
        if _LIST_OF_PORT not in facts:
            found[_NXAPI] = "its API"
        elif str(facts.get(first)).startswith("permit"):
            found[first] = "its API"
    return found
