"""Read back services, accounts, and the networks that may reach them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import services, tenants
from fabricc.back.nos.cumulus.limits import GNMI_SERVER, NTP_KEYS, Release, has
from fabricc.back.nos.cumulus.startup import (
    File,
    constant_rows,
    fixed_text,
    format_scalar,
    nearest_line,
    node_part,
    parse_startup,
    scope_at,
    table_entries_at,
    table_part,
)
from fabricc.back.nos.cumulus.words import CONTROL_PLANE_LISTS, MANAGEMENT_VRF, OWN_ACCOUNT
from fabricc.back.nos.management import state_keys
from fabricc.back.reading import Entry, Fact, Keep, Row, Scope, Silent
from fabricc.back.reading.tree import find_node
from fabricc.fabric.facts import SNMP_LEVEL, join_banner
from fabricc.fabric.model import SECRET_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.back.reading import Captured
    from fabricc.fabric.facts import Value


def rows(release: Release) -> Sequence[Row]:
    """Return what is below `system`, `service` and `acl`."""
    placed: list[tuple[str, Row]] = []
    for kind, (place, settings) in services.server_settings(release).items():
        here = f"management/{kind}[{{0}}]"
        keyed = (Keep("key <integer>", "key"),) if kind == "ntp" and has(release.name, NTP_KEYS) else ()
        below: tuple[Row, ...] = (
            table_part("server", "<word>", *constant_rows(settings), *keyed, here=here, value="asked"),
        )
        if keyed:
            below = (*below, _NTP_KEY, Keep("authentication <word>", "authentication"))
        if place == "service":
            below = (node_part(MANAGEMENT_VRF, *below),)
        elif kind == "ntp":
            below = (*below, fixed_text(f"vrf: {MANAGEMENT_VRF}"))
        placed.append((place, node_part(kind, *below)))
    lldp = node_part(
        "lldp",
        *constant_rows(
            {key: value for key, value in services.lldp_settings(release).items() if key != "state"}
        ),
        Silent("state enabled"),
        Fact("state disabled", "lldp/enabled", "false"),
        Fact("tx-interval <integer>", "lldp/interval_s"),
        needed=True,
    )
    snmp = node_part(
        "snmp-server",
        fixed_text(": ".join(release.snmp_switch)),
        _listening_row("snmp", Fact("vrf <word>", "snmp/listening[{0}]/vrf")),
        table_part("readonly-community", "<word>", Fact("access <word>", "snmp/answered[{1}]", "true")),
        table_part(
            "username", "<word>", table_part("auth-sha", "<word>", table_part("encrypt-aes", "<word>"))
        ),
        Fact("system-contact <word>", "management/snmp/contact"),
        Fact("system-location <word>", "management/snmp/location"),
    )
    placed += [(release.lldp, lldp), (release.snmp, snmp)]
    own: list[Row] = [
        *constant_rows(services.factory_tree(release)),
        Fact("hostname <word>", "system/hostname"),
        node_part(
            "message", Fact("pre-login <word>", "management/banner", join_banner), Silent("post-login <word>")
        ),
        node_part(
            "forwarding",
            Fact("hash-seed <integer>", "system/hash_seed"),
            *constant_rows(services.hashing_tree(release)),
            needed=True,
        ),
        node_part(
            "control-plane",
            table_part("acl", "<word>", Keep("inbound", "inbound"), Keep("outbound", "outbound")),
            table_part(
                "policer", "<word>", Fact("<rate|burst|state> <word>", "platform/setting[policer {0} {1}]")
            ),
        ),
        node_part("aaa", _USER, *_login_rows(release)),
        tenants.SYSTEM_ROW,
    ]
    if has(release.name, GNMI_SERVER):
        port = Fact("port <integer>", "management/gnmi_port")
        own.append(node_part("gnmi-server", fixed_text("state: enabled"), port, _listening_row("gnmi")))
    system, service = ([row for place, row in placed if place == name] for name in ("system", "service"))
    more = [node_part("service", *service, needed=True)] if service else []
    return node_part("system", *own, *system, needed=True), *more, _ACL


def _listening_row(kind: str, *rows: Row) -> Row:
    return table_part("listening-address", "<word>", *rows, here=f"{kind}/listening[{{0}}]")


_NTP_KEY = table_part("key", "<integer>",
    *(Keep(f"{word} <word>", word) for word in ("trusted", "type", "value")),
)  # fmt: skip
_USER = table_part("user", "<word>",
    Fact("role <word>", "user[{0}]/role"),
    Keep("hashed-password <word>", "hash"),
    Silent("full-name <word>"),
    node_part("ssh", table_part("authorized-key", "<word>", Keep("key <word>", "key"), Keep("type <word>", "type"))),
    here="user[{0}]/configured",
)  # fmt: skip
_RULE = "acl[{0}]/rule[{1}]/"
_ACL = table_part("acl", "<word>",
    Fact("type <word>", "acl[{0}]/type"),
    table_part("rule", "<integer>",
        Fact("action <permit|deny>", _RULE + "action"),
        node_part("match", node_part("ip",
            Fact("protocol <word>", _RULE + "protocol"),
            Fact("source-ip <source>", _RULE + "source"),
            Fact("<tcp|udp> dest-port <word>", _RULE + "{2}[{3}]", "true"),
        )),
        here=_RULE + "configured",
    ),
)  # fmt: skip


def _login_rows(release: Release) -> tuple[Row, ...]:
    order = table_part("authentication-order", "<integer>", Keep("<word>", "method"))
    if release.login_list:
        order = node_part("authentication", Entry("order <word>", "methods"))
    return *(_protocol_rows(protocol, release) for protocol in services.LOGIN_PORTS), order


def _protocol_rows(protocol: str, release: Release) -> Row:
    """Return the rows about servers of one protocol that check logins."""
    server: tuple[Row, ...] = (
        fixed_text(f"port: {services.LOGIN_PORTS[protocol]}"),
        Keep("secret <word>", "secret"),
        *((Keep("prefer-ip-version 6", "version"),) if protocol == "tacacs" else ()),
    )
    if services.servers_by_address(protocol, release):
        servers = table_part("server", "<word>", Keep("priority <integer>", "priority"), *server)
    else:
        servers = table_part("server", "<integer>", Keep("host <word>", "host"), *server)
    switches = constant_rows(services.login_switches(protocol, release))
    return node_part(protocol, *switches, fixed_text(f"vrf: {MANAGEMENT_VRF}"), servers)


def finish(file: File) -> None:
    """State accounts, servers, TACACS+, RADIUS, SNMP, gNMI and who may reach them."""
    root, release = file.root, file.release
    tenants.finish_system(file)
    _finish_users(file, root)
    _finish_ntp_keys(file, root)
    for kind, (place, _) in services.server_settings(release).items():
        above = (place, kind, *((MANAGEMENT_VRF,) if place == "service" else ()))
        servers = table_entries_at(root, *above, "server")
        if servers:
            line = next(iter(servers.values())).line
            file.put(f"management/{kind}", ",".join(sorted(map(str, servers))), line)
    _finish_other_vrfs(file, release)
    _finish_logins(file, root, release)
    _finish_snmp(file, root, release)
    if gnmi := scope_at(root, "system", "gnmi-server"):
        _need_address(file, gnmi)
    _finish_access(file, root)


_IN_VRFS = ("ntp", "syslog")


def _finish_other_vrfs(file: File, release: Release) -> None:
    """State the servers of other VRFs than that of management, at the line of the VRF."""
    nodes = parse_startup(file.document.text).nodes
    for kind in _IN_VRFS:
        place = services.server_settings(release)[kind][0]
        section = find_node(nodes, "set", place, kind)
        for each in (section.children if section else None) or ():
            servers = each if each.key == ("server",) else find_node(each.children, "server")
            for server in (servers.children if servers else None) or ():
                vrf = find_node(server.children, "vrf") if servers is each else each
                while vrf is not None and vrf.key == ("vrf",):  # its name is a word of its own in a command
                    vrf = next(iter(vrf.children or ()), None)
                if vrf is not None and vrf.key[-1] != MANAGEMENT_VRF:
                    file.put(f"management/server_vrf[{kind} {server.key[0]}]", vrf.key[-1], vrf.line)


def _finish_users(file: File, root: Scope) -> None:
    users = table_entries_at(root, "system", "aaa", "user")
    if scope_at(root, "system") and OWN_ACCOUNT not in users:
        file.missing(nearest_line(root, "system", "aaa"), f"user {OWN_ACCOUNT} is missing")
    for name, user in users.items():
        prefix = f"user[{name}]/"
        for given in table_entries_at(user, "ssh", "authorized-key").values():
            if {"key", "type"} <= given.values.keys() and prefix + "ssh_key" not in file.facts:
                material, line = given.values["key"]
                file.put(prefix + "ssh_key", f"{given.values['type'][0]} {material}", line)
                file.state_stored(prefix + "ssh_key_type", given, "type")
            else:
                file.missing(given.line, "a key without its other half, or a second one")
        _put_hash(file, user, prefix)


def _put_hash(file: File, user: Scope, prefix: str) -> None:
    """State whether an account has a password; NVUE prints `*` in place of any hash, so that none is known."""
    if "hash" not in user.values:
        return
    text, line = str(user.values["hash"][0]), user.values["hash"][1]
    file.put(prefix + "password", "stated" if text else "none", line)
    if prefix + "ssh_key" in file.facts and text.startswith((SECRET_PREFIX, "$")):
        file.put(prefix + "secret", text if text.startswith(SECRET_PREFIX) else "set", line)


def _finish_ntp_keys(file: File, root: Scope) -> None:
    ntp = scope_at(root, "system", "ntp")
    if ntp is None:
        return
    keys = {
        str(number): (
            str(key.values.get("type", ("unstated", 0))[0]),
            str(key.values["value"][0]),
            key.values["value"][1],
        )
        for number, key in table_entries_at(ntp, "key").items()
        if "value" in key.values
    }
    trusted = {
        str(number)
        for number, key in table_entries_at(ntp, "key").items()
        if key.values.get("trusted", ("no", 0))[0] == "yes"
    }
    servers = {
        str(server): scope.values.get("key", (0, scope.line))
        for server, scope in table_entries_at(ntp, "server").items()
    }
    state, line = ntp.values.get("authentication", ("disabled", 0))
    state_keys(file.put, keys, servers, trusted, line if state == "enabled" else None)


def _finish_logins(file: File, root: Scope, release: Release) -> None:
    aaa = scope_at(root, "system", "aaa")
    place = "authentication" if release.login_list else "authentication-order"
    order = scope_at(aaa, place)
    used = []
    for protocol in services.LOGIN_PORTS:
        file.note_expected(("system", "aaa", protocol, "server"), f"management/{protocol}/servers")
        if (section := scope_at(aaa, protocol)) is not None:
            _finish_servers(file, section, protocol, release)
            used.append(protocol)
    if aaa is not None and used:
        _finish_login(file, aaa, order, used[0], release)
    elif order:
        file.reject(order.line)
        methods = {str(scope.values.get("method", ("", 0))[0]) for scope in table_entries_at(order).values()}
        if methods - {"local", ""}:
            file.put(f"unread[system/aaa/{place}]", "no server of its methods is configured", order.line)


def _finish_servers(file: File, section: Scope, protocol: str, release: Release) -> None:
    """State the servers of one protocol in the order of their priorities."""
    ranked: list[tuple[int, str, int]] = []
    by_address = services.servers_by_address(protocol, release)
    for key, server in table_entries_at(section, "server").items():
        own = (key, server.line)
        rank, line = server.values.get("priority", (0, 0)) if by_address else own
        host, host_line = own if by_address else server.values.get("host", ("", 0))
        if not (line and host_line) or not isinstance(rank, int):
            file.missing(server.line, f"a {protocol} server without its address or priority")
            continue
        file.put(f"management/{protocol}_server[{host}]/configured", "true", host_line)
        file.put(f"management/{protocol}_server[{host}]/priority", rank, line)
        ranked.append((rank, str(host), line))
        if protocol == "tacacs" and ":" in str(host) and "version" not in server.values:
            file.missing(server.line, "prefer-ip-version: 6 is missing")
        if "secret" in server.values:
            file.agree(f"management/{protocol}/secret", *server.values["secret"])
        else:
            file.missing(server.line, "secret is missing")
            file.put(f"unread[{protocol} server {host}]", "it has no secret", server.line)
    if ranked:
        servers = ",".join(host for _, host, _ in sorted(ranked))
        file.put(f"management/{protocol}/servers", servers, ranked[-1][2])


def _finish_login(file: File, aaa: Scope, order: Scope | None, protocol: str, release: Release) -> None:
    """State that the servers come first and local accounts when no server answers; any other order is unknown."""
    if order is None:
        words = "authentication order" if release.login_list else "authentication-order"
        file.missing(aaa.line, f"{words} is missing")
        return
    given = {place: (stored, stored[1]) for place, stored in enumerate(order.table("methods").values(), 1)}
    for place, scope in table_entries_at(order).items():
        given[int(str(place))] = (scope.values.get("method", ("", scope.line)), scope.line)
    for place, method in enumerate((protocol, "local"), 1):
        (stored, line), _ = given.pop(place, (("", order.line), 0))
        if not stored:
            file.missing(line, f"{method} is missing")
        elif stored != method:
            file.reject(line)
    for _, line in given.values():
        file.reject(line)


def _finish_snmp(file: File, root: Scope, release: Release) -> None:
    place = (release.snmp, "snmp-server")
    file.note_expected((*place, "readonly-community"), "management/snmp/secret")
    snmp = scope_at(root, *place)
    if snmp is None:
        return
    _need_address(file, snmp)
    for community, scope in table_entries_at(snmp, "readonly-community").items():
        file.agree("management/snmp/secret", str(community), scope.line)
    for name, user in table_entries_at(snmp, "username").items():
        prefix = f"management/snmp/user[{name}]/"
        for auth, password in table_entries_at(user, "auth-sha").items():
            file.agree(prefix + "auth/secret", str(auth), password.line)
            for privacy, key in table_entries_at(password, "encrypt-aes").items():
                file.agree(prefix + "privacy/secret", str(privacy), key.line)
                file.agree(prefix + "level", SNMP_LEVEL, key.line)


def _need_address(file: File, service: Scope) -> None:
    """Note that a service listens nowhere, or on addresses that are not named."""
    if not table_entries_at(service, "listening-address"):
        file.missing(nearest_line(service, "listening-address"), "an address to listen on is missing")


def _finish_access(file: File, root: Scope) -> None:
    """State the rules of every access list, and the sources that the one of the control plane accepts."""
    bound = table_entries_at(root, "system", "control-plane", "acl")
    lists = table_entries_at(root, "acl")
    facts, lines = file.facts, file.lines
    for name, access_list in lists.items():
        file.note_expected(("system", "control-plane", "acl"), f"acl[{name}]/bound")
        rules = table_entries_at(access_list, "rule")
        file.put(f"acl[{name}]/rules", len(rules), access_list.line)
        networks: dict[str, int] = {}
        login, odd = False, 0  # whether a rule permits SSH, and the line by which one about sources does not
        own: set[str] = set()  # protocols in which the switch reaches itself, which every list permits
        closed, early = False, 0  # whether a rule denies SSH, and its line if it is before all that permit it
        # lines of a rule that permits all, and of one that denies other ports than SSH's
        opening = elsewhere = 0
        for number, rule in sorted(rules.items()):
            if scope_at(rule, "match", "ip") is None:
                file.missing(rule.line, "match ip is missing")
            path = _RULE.format(name, number)
            permits, source = facts.get(path + "action") == "permit", str(facts.get(path + "source", ""))
            protocol = str(facts.get(path + "protocol", ""))
            denies = not (closed or permits or source)
            if denies and protocol not in ("", "tcp"):
                elsewhere = elsewhere or lines[path + "protocol"][1]
            elif denies and _names_login(facts, path):
                closed, early = True, 0 if login else odd or lines[path + "action"][1]
            elif denies:
                elsewhere = next(lines[each][1] for each in facts if each.startswith(f"{path}tcp["))
            if permits and source == services.ITSELF["ipv4"] and protocol not in own:
                own.add(protocol)
            elif permits and source and protocol in ("", "tcp"):
                networks.setdefault(source, lines[path + "source"][1])
                login = login or _names_login(facts, path)
            if not (closed or login) and source != services.ITSELF["ipv4"]:
                odd = odd or _line_of_fault(file, path, rule, source)
            if permits and not source:
                opening = opening or lines[path + "action"][1]
        if name == services.ACCESS and networks and (login or not closed):
            unbound = _find_unbound(root, name, bound, lists)
            other = _find_family(facts, lines, name, networks)
            first = _find_opening(facts, lines, name, rules)
            shut = closed and not (unbound or other or first)
            value = ",".join(sorted(networks)) + ("" if shut else ", and everyone else")
            causes = (unbound, other, first, opening, elsewhere)
            line = next(filter(None, () if shut else causes), next(iter(networks.values())))
            file.put("management/access", *(("", early) if shut and early else (value, line)))
            if shut and not {"", "tcp"} & own:  # the rule of the loopback stands before all others
                why = f"{name} denies it before it permits {services.ITSELF['ipv4']}"
                number, earliest = sorted(rules.items())[0]
                path = _RULE.format(name, number)
                line = _line_of_fault(file, path, earliest, services.ITSELF["ipv4"])
                file.put("unread[the API on the loopback]", why, line)
        elif name != services.ACCESS and closed and name not in bound and services.ACCESS in bound:
            file.put(f"unread[acl/{name}]", "the control plane does not name it", access_list.line)
        elif name == services.ACCESS and early and not _find_unbound(root, name, bound, lists):
            file.put("management/access", "", early)
    for name, scope in bound.items():
        file.put(f"acl[{name}]/bound", "inbound" if "inbound" in scope.values else "false", scope.line)
        if name not in lists:
            file.missing(nearest_line(root, "acl"), f"acl {name} is not defined")


def _line_of_fault(file: File, path: str, rule: Scope, source: str) -> int:
    """Return the line by which a rule does not permit SSH to a source: its action, protocol, source or port."""
    right = {"action": ("permit",), "protocol": ("", "tcp"), "source": (source,)}
    wrong = [leaf for leaf, values in right.items() if str(file.facts.get(path + leaf, "")) not in values]
    if not _names_login(file.facts, path):
        wrong.append(next(each for each in file.facts if each.startswith(f"{path}tcp["))[len(path) :])
    return next((file.lines[path + leaf][1] for leaf in wrong if path + leaf in file.lines), rule.line)


def _find_opening(
    facts: Mapping[str, Value],
    lines: Mapping[str, tuple[str, int]],
    name: str,
    rules: Mapping[Captured, Scope],
) -> int:
    """Return the line by which everyone reaches a service that a list permits to some; 0 if the list denies the rest.

    That is a rule that permits all before the rest is denied, or the ports of the rule that denies the rest.
    """
    permitted: set[str] = set()
    for number, _ in sorted(rules.items()):
        path = _RULE.format(name, number)
        permits, source = facts.get(path + "action") == "permit", path + "source" in facts
        start = f"{path}tcp["
        ports = [each[len(start) : -1] for each in facts if each.startswith(start)]
        if str(facts.get(path + "protocol", "")) not in ("", "tcp"):
            continue
        if source:
            permitted |= {*ports} if permits else set()
        elif _names_login(facts, path):
            open_to_all = permits or (ports and permitted - {*ports})
            place = path + "action" if permits else f"{start}{next(iter(ports), '')}]"
            return lines[place][1] if open_to_all else 0
    return 0


def _find_unbound(
    root: Scope, name: str, bound: Mapping[Captured, Scope], lists: Mapping[Captured, Scope]
) -> int:
    """Return the line by which a list does not filter what comes in at the control plane; 0 if it does."""
    if name in bound:
        values = bound[name].values
        return 0 if "inbound" in values else values.get("outbound", ("", bound[name].line))[1]
    undefined = (
        scope.line for key, scope in bound.items() if key not in lists and key not in CONTROL_PLANE_LISTS
    )
    return next(undefined, nearest_line(root, "system", "control-plane", "acl"))


def _find_family(
    facts: Mapping[str, Value], lines: Mapping[str, tuple[str, int]], name: str, networks: Iterable[str]
) -> int:
    """Return the line of a list's family if its networks are of the other one, which it does not filter; else 0."""
    kind = facts.get(f"acl[{name}]/type")
    other = kind in _VERSIONS and all((":" in each) != (kind == "ipv6") for each in networks)
    return lines[f"acl[{name}]/type"][1] if other else 0


_VERSIONS = ("ipv4", "ipv6")


def _names_login(facts: Mapping[str, Value], rule: str) -> bool:
    """Return whether a rule is about every port of TCP, or about that of SSH among others."""
    ports = [path for path in facts if path.startswith(f"{rule}tcp[")]
    return not ports or f"{rule}tcp[{services.SSH}]" in ports


_PRINTED_HASH = re.compile(r"(hashed-password['\"]?: *)(['\"])\*\2")


def restore_hashes(running: str, planned: str) -> str:
    """Return what a switch prints, with the planned hash of each account for which it prints a star.

    `nv config show` prints `*` in place of any hash. Loaded again, it is a hash that no password has.
    """
    hashes = {name: value for name, value, _ in _list_hashes(planned)}
    lines = running.split("\n")
    for name, value, line in _list_hashes(running):
        stated = hashes.get(name, services.UNUSABLE_PASSWORD)
        if value == services.UNUSABLE_PASSWORD != stated and lines[line - 1].count("hashed-password") == 1:
            word = format_scalar(stated).replace("\\", r"\\")
            lines[line - 1] = _PRINTED_HASH.sub(rf"\g<1>{word}", lines[line - 1])
    return "\n".join(lines)


def _list_hashes(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each account that has a hash, the hash and its line."""
    users = find_node(parse_startup(text).nodes, "set", "system", "aaa", "user")
    for user in users.children or () if users else ():
        if found := find_node(user.children, "hashed-password"):
            yield user.key[0], found.key[-1], found.line
