"""The system and its management services: accounts, hashing, NTP, DNS, syslog, LLDP, TACACS+, SNMP, gNMI, access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import qos
from fabricc.back.nos.cumulus.limits import GNMI_SERVER, has, release_of
from fabricc.back.nos.cumulus.startup import File, at, constant, entries, fixed, nearest, node, table
from fabricc.back.nos.cumulus.words import (
    ADMINISTRATOR,
    CONTROL_PLANE_LISTS,
    MANAGEMENT_VRF,
    OWN_ACCOUNT,
    ssh_key,
)
from fabricc.back.nos.departures import ROUNDED, Departure
from fabricc.back.reading import Entry, Fact, Keep, Row, Scope, Silent
from fabricc.base.values import dataclass
from fabricc.fabric.facts import setting_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.startup import Tree
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Account, Management, Snmp, Switch

KEY_NAME = "fabricc"
UNUSABLE_PASSWORD = "*"
"""A hash that no password has; what `nv config show` prints in place of any."""

HASH_FIELDS = ("destination-ip", "destination-port", "ip-protocol", "ipv6-label", "source-ip", "source-port")
"""What ECMP hashes out of the box; addresses and ports are in it both ways, which keeps the hash symmetric."""

LLDP_HOLD = 4
"""Announcements that may be lost until a neighbour forgets (IEEE 802.1AB, msgTxHold)."""

LOGIN_METHODS = ("tacacs", "local")
TACACS_PORT = 49

ACCESS, ACCESS_V6, OPEN = "FABRICC-ACCESS", "FABRICC-ACCESS-V6", "FABRICC-GNMI"
LIST_TYPES = {ACCESS: "ipv4", ACCESS_V6: "ipv6", OPEN: "ipv4"}
ITSELF = {"ipv4": "127.0.0.0/8", "ipv6": "::1/128"}
"""What a switch asks itself from; a list of the control plane filters that too (NVIDIA, Control Plane ACLs)."""

SSH, SNMP, HTTPS, API, GNMI = 22, 161, 443, 8765, 9339
"""Ports that `acl-default-whitelist` opens for SSH, SNMP, the web server, NVUE's API and gNMI."""


DEPARTURES = (Departure("user[*]/ssh_key", ROUNDED, "a key has a type and no comment"),)


# --- what NVUE makes of the Fabric's statements ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of an access list: what happens to packets of a protocol to some ports.

    Attributes:
        source: network the packets come from; None for any.
    """

    permit: bool
    protocol: str
    ports: tuple[int, ...]
    source: str | None


def server_settings(release: Release) -> dict[str, tuple[str, Tree]]:
    """Kind of server -> whether it stands below `service` or `system`, and what each server has."""
    listed: dict[str, tuple[str, Tree]] = {
        "ntp": (release.ntp, {"iburst": release.on}),
        "dns": (release.dns, {}),
        "syslog": (release.syslog, {"port": 514, "protocol": "udp"}),
    }
    return {
        kind: (place, {**tree, "vrf": MANAGEMENT_VRF} if place == "system" and kind != "ntp" else tree)
        for kind, (place, tree) in listed.items()
    }


def services(switch: Switch, release: Release) -> Tree:
    """What the services are below `service`, `system` and `acl`; and the rest of `system`."""
    management = switch.management
    places: dict[str, Tree] = {"service": {}, "system": system(switch, release)}
    for kind, (place, settings) in server_settings(release).items():
        servers: Tree = dict.fromkeys(getattr(management, kind), settings)
        if not servers:
            continue
        if place == "service":
            places[place][kind] = {MANAGEMENT_VRF: {"server": servers}}
        else:
            places[place][kind] = {"server": servers, **({"vrf": MANAGEMENT_VRF} if kind == "ntp" else {})}
    timers: Tree = {"tx-interval": management.lldp_interval_s}
    places[release.lldp]["lldp"] = {**lldp_settings(release), **timers}
    if management.snmp:
        places[release.snmp]["snmp-server"] = _snmp(management, management.snmp, release)
    if (port := gnmi_port(management, release)) is not None:
        places["system"]["gnmi-server"] = {
            "listening-address": {host_address(management): {}},
            "port": port,
            "state": "enabled",
        }
    tree: Tree = {**places, "acl": access_lists(management, release)}
    return {key: part for key, part in tree.items() if part}


def system(switch: Switch, release: Release) -> Tree:
    """What stands below `system` on every switch: what it has from the factory, its name, accounts and hash."""
    tree = factory(release)
    aaa = tree["aaa"]
    if isinstance(aaa, dict):
        aaa.update(login(switch.management, release))
        aaa["user"] = _users(switch.management.users)
    lists = (*CONTROL_PLANE_LISTS, *access_rules(switch.management, release))
    tree["control-plane"] = {"acl": {name: {"inbound": {}} for name in lists}}
    tree["forwarding"] = {
        **hashing(release),
        "hash-seed": hash_seed(switch.tier_index),
        **qos.packet_trim(switch),
    }
    tree["hostname"] = switch.name
    return tree


def hashing(release: Release) -> Tree:
    """What ECMP hashes, below `system forwarding`."""
    return {"ecmp-hash": dict.fromkeys(HASH_FIELDS, release.on)}


def hash_seed(tier_index: int) -> int:
    """The ECMP hash seed of a tier; they differ, so that a tier does not repeat the choices of the one before."""
    return 10 * (tier_index + 1)


def factory(release: Release) -> Tree:
    """What a new switch has below `system` beside its accounts, which `nv config replace` would drop if it were absent.

    Roles and their commands, the filters of the control plane, SSH, the API, automatic saving and drop monitoring.
    """
    everything: Tree = {"action": "allow", "command-path": {"/": {"permission": "all"}}}
    key, word = release.auto_save
    tree: Tree = {
        "aaa": {
            "class": {
                "nvapply": everything,
                "nvshow": {"action": "allow", "command-path": {"/": {"permission": "ro"}}},
                "sudo": everything,
            },
            "role": {
                "nvue-admin": {"class": {"nvapply": {}}},
                "nvue-monitor": {"class": {"nvshow": {}}},
                ADMINISTRATOR: {"class": {"nvapply": {}, "sudo": {}}},
            },
        },
        "api": {"state": "enabled"},
        "config": {"auto-save": {key: word}},
        "control-plane": {"acl": {name: {"inbound": {}} for name in CONTROL_PLANE_LISTS}},
        "ssh-server": {"state": "enabled"},
        "wjh": {
            "channel": {"forwarding": {"trigger": {"l2": {}, "l3": {}, "tunnel": {}}}},
            release.enable: release.on,
        },
    }
    if release.reboot_mode:
        tree["reboot"] = {"mode": "cold"}
    return tree


def _users(accounts: tuple[Account, ...]) -> Tree:
    users: dict[str, Tree] = {
        OWN_ACCOUNT: {"full-name": "cumulus,,,", "hashed-password": UNUSABLE_PASSWORD, "role": ADMINISTRATOR}
    }
    for account in accounts:
        user = users.setdefault(account.name, {"hashed-password": UNUSABLE_PASSWORD, "role": ADMINISTRATOR})
        kind, key = ssh_key(account)
        user["ssh"] = {"authorized-key": {KEY_NAME: {"key": key, "type": kind}}}
    return {**users}


def host_address(management: Management) -> str:
    """The management address without its prefix length."""
    return management.address.partition("/")[0]


def gnmi_port(management: Management, release: Release) -> int | None:
    """The port of the gNMI server; None where there is none."""
    return management.gnmi_port if has(release.name, GNMI_SERVER) else None


def lldp_settings(release: Release) -> Tree:
    """What LLDP has beside its interval."""
    held: Tree = {"tx-hold-multiplier": LLDP_HOLD}
    return {"state": "enabled", **held} if release.lldp_state else held


def snmp_sources(management: Management) -> tuple[str, ...]:
    """Whom the SNMP agent answers: the access networks, or `any`."""
    return management.access or ("any",)


def _snmp(management: Management, snmp: Snmp, release: Release) -> Tree:
    key, word = release.snmp_switch
    tree: Tree = {
        key: word,
        "listening-address": {host_address(management): {"vrf": MANAGEMENT_VRF}},
        "readonly-community": {
            snmp.community: {"access": {source: {} for source in snmp_sources(management)}}
        },
    }
    for name, text in (("system-contact", snmp.contact), ("system-location", snmp.location)):
        if text:
            tree[name] = text
    return tree


def login(management: Management, release: Release) -> Tree:
    """What TACACS+ adds below `system aaa`: the servers, accounting, and local accounts when none answers."""
    if management.tacacs is None:
        return {}
    servers: Tree = {}
    for rank, server in enumerate(management.tacacs.servers, 1):
        row: Tree = {"port": TACACS_PORT, "secret": management.tacacs.key}
        if ":" in server:
            row["prefer-ip-version"] = 6
        if release.tacacs_by_address:
            servers[server] = {**row, "priority": rank}
        else:
            servers[str(rank)] = {**row, "host": server}
    tree: Tree = {"server": servers, "vrf": MANAGEMENT_VRF, **login_switches(release)}
    if release.login_list:
        return {"tacacs": tree, "authentication": {"order": LOGIN_METHODS}}
    order: Tree = {str(rank): {method: {}} for rank, method in enumerate(LOGIN_METHODS, 1)}
    return {"tacacs": tree, "authentication-order": order}


def login_switches(release: Release) -> Tree:
    """What switches TACACS+ and its accounting on."""
    if release.tacacs_by_address:
        return {"accounting": {"state": "enabled"}}
    return {"accounting": {"enable": release.on}, "enable": release.on}


def access_rules(management: Management, release: Release) -> dict[str, tuple[Rule, ...]]:
    """The access lists of the control plane: name -> rules in order.

    They come before `acl-default-whitelist` (NVIDIA, Firewall Rules), which stays for everything else: a port
    that it does not open needs a list of its own.
    """
    port = gnmi_port(management, release)
    tcp = (SSH, HTTPS, API) if port is None else tuple(sorted({SSH, HTTPS, API, port}))
    if management.access:
        services_by_protocol = {"tcp": tcp} | ({"udp": (SNMP,)} if management.snmp else {})
        return {
            ACCESS: tuple(_guard((ITSELF["ipv4"], *management.access), services_by_protocol)),
            ACCESS_V6: tuple(_guard((ITSELF["ipv6"],), services_by_protocol)),
        }
    if port is not None and port != GNMI:
        return {OPEN: (Rule(True, "tcp", (port,), None),)}
    return {}


def _guard(sources: tuple[str, ...], ports: dict[str, tuple[int, ...]]) -> Iterator[Rule]:
    for source in sources:
        for protocol, numbers in ports.items():
            yield Rule(True, protocol, numbers, source)
    for protocol, numbers in ports.items():
        yield Rule(False, protocol, numbers, None)


def numbered(rules: tuple[Rule, ...]) -> Iterator[tuple[str, Rule]]:
    """Rules with their numbers, from 10 in steps of 10."""
    return ((str(10 * at), rule) for at, rule in enumerate(rules, 1))


def access_lists(management: Management, release: Release) -> Tree:
    """Everything below `acl`."""
    return {
        name: {"rule": {number: _rule(rule) for number, rule in numbered(rules)}, "type": LIST_TYPES[name]}
        for name, rules in access_rules(management, release).items()
    }


def _rule(rule: Rule) -> Tree:
    match: Tree = {
        "protocol": rule.protocol,
        rule.protocol: {"dest-port": {str(port): {} for port in rule.ports}},
    }
    if rule.source:
        match["source-ip"] = rule.source
    return {"action": {"permit" if rule.permit else "deny": {}}, "match": {"ip": match}}


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the system and its services to what NVUE holds of them, and add what it says beyond."""
    management, release = switch.management, release_of(switch.release)
    facts["system/model"] = str(switch.model.nos["cumulus"]["model"]).lower()
    facts["system/api_version"] = "nvue_v1"
    facts["system/release"] = release.name
    facts["system/hash_seed"] = hash_seed(switch.tier_index)
    for path in [path for path in facts if path.startswith("user[")]:
        del facts[path]
    keys = {account.name: " ".join(ssh_key(account)) for account in management.users}
    for name in {OWN_ACCOUNT, *keys}:
        facts[f"user[{name}]/configured"] = "true"
        facts[f"user[{name}]/role"] = ADMINISTRATOR
        facts[f"user[{name}]/password"] = "stated"
        if name in keys:
            facts[f"user[{name}]/ssh_key"] = keys[name]
            facts[f"user[{name}]/ssh_key_type"] = keys[name].partition(" ")[0]
    stated = setting_facts(switch)
    facts.update((path, value) for path, value in stated.items() if path.startswith(("management/", "lldp/")))
    if gnmi_port(management, release) is None:
        facts.pop("management/gnmi_port", None)
    else:
        facts[f"gnmi/listening[{host_address(management)}]"] = "true"
    for kind in server_settings(release):
        for server in getattr(management, kind):
            facts[f"management/{kind}[{server}]"] = "asked"
    if management.tacacs:
        for rank, server in enumerate(management.tacacs.servers, 1):
            facts[f"management/tacacs_server[{server}]/configured"] = "true"
            facts[f"management/tacacs_server[{server}]/priority"] = rank
    if management.snmp:
        facts[f"snmp/listening[{host_address(management)}]"] = "true"
        facts[f"snmp/listening[{host_address(management)}]/vrf"] = MANAGEMENT_VRF
        for network in snmp_sources(management):
            facts[f"snmp/answered[{network}]"] = "true"
    for name, rules in access_rules(management, release).items():
        facts[f"acl[{name}]/bound"] = "inbound"
        facts[f"acl[{name}]/rules"] = len(rules)
        facts[f"acl[{name}]/type"] = LIST_TYPES[name]
        for number, rule in numbered(rules):
            prefix = f"acl[{name}]/rule[{number}]/"
            facts[prefix + "configured"] = "true"
            facts[prefix + "action"] = "permit" if rule.permit else "deny"
            facts[prefix + "protocol"] = rule.protocol
            if rule.source:
                facts[prefix + "source"] = rule.source
            for port in rule.ports:
                facts[f"{prefix}{rule.protocol}[{port}]"] = "true"


# --- and back --------------------------------------------------------------------------------------------


def rows(release: Release) -> Sequence[Row]:
    """What is below `system`, `service` and `acl`."""
    servers = [
        (
            place,
            node(kind, node(MANAGEMENT_VRF, servers))
            if place == "service"
            else node(kind, servers, *([fixed(f"vrf: {MANAGEMENT_VRF}")] if kind == "ntp" else ())),
        )
        for kind, (place, settings) in server_settings(release).items()
        for here in (f"management/{kind}[{{0}}]",)
        for servers in (table("server", "<word>", *constant(settings), here=here, value="asked"),)
    ]
    lldp = node(
        "lldp",
        *constant(lldp_settings(release)),
        Fact("tx-interval <integer>", "lldp/interval_s"),
        needed=True,
    )
    snmp = node(
        "snmp-server",
        fixed(": ".join(release.snmp_switch)),
        _listening("snmp", Fact("vrf <word>", "snmp/listening[{0}]/vrf")),
        table("readonly-community", "<word>", Fact("access <word>", "snmp/answered[{1}]", "true")),
        Fact("system-contact <word>", "management/snmp/contact"),
        Fact("system-location <word>", "management/snmp/location"),
    )
    placed = [*servers, (release.lldp, lldp), (release.snmp, snmp)]
    own: list[Row] = [
        *constant(factory(release)),
        Fact("hostname <word>", "system/hostname"),
        node(
            "forwarding",
            Fact("hash-seed <integer>", "system/hash_seed"),
            *constant(hashing(release)),
            needed=True,
        ),
        node("control-plane", table("acl", "<word>", Keep("inbound", "inbound"))),
        node("aaa", _USER, *_login_rows(release)),
    ]
    if has(release.name, GNMI_SERVER):
        port = Fact("port <integer>", "management/gnmi_port")
        own.append(node("gnmi-server", fixed("state: enabled"), port, _listening("gnmi")))
    below = {name: [row for place, row in placed if place == name] for name in ("system", "service")}
    service = [node("service", *below["service"], needed=True)] if below["service"] else []
    return node("system", *own, *below["system"], needed=True), *service, _ACL


def _listening(kind: str, *rows: Row) -> Row:
    return table("listening-address", "<word>", *rows, here=f"{kind}/listening[{{0}}]")


_USER = table("user", "<word>",
    Fact("role <word>", "user[{0}]/role"),
    Fact("hashed-password <word>", "user[{0}]/password", "stated"),
    Silent("full-name <word>"),
    node("ssh", table("authorized-key", "<word>", Keep("key <word>", "key"), Keep("type <word>", "type"))),
    here="user[{0}]/configured",
)  # fmt: skip
_RULE = "acl[{0}]/rule[{1}]/"
_ACL = table("acl", "<word>",
    Fact("type <word>", "acl[{0}]/type"),
    table("rule", "<integer>",
        Fact("action <permit|deny>", _RULE + "action"),
        node("match", node("ip",
            Fact("protocol <word>", _RULE + "protocol"),
            Fact("source-ip <word>", _RULE + "source"),
            Fact("<tcp|udp> dest-port <word>", _RULE + "{2}[{3}]", "true"),
        )),
        here=_RULE + "configured",
    ),
)  # fmt: skip


def _login_rows(release: Release) -> tuple[Row, ...]:
    server: tuple[Row, ...] = (
        fixed(f"port: {TACACS_PORT}"),
        Keep("secret <word>", "secret"),
        Keep("prefer-ip-version 6", "version"),
    )
    if release.tacacs_by_address:
        servers = table("server", "<word>", Keep("priority <integer>", "priority"), *server)
    else:
        servers = table("server", "<integer>", Keep("host <word>", "host"), *server)
    order = table("authentication-order", "<integer>", Keep("<word>", "method"))
    if release.login_list:
        order = node("authentication", Entry("order <word>", "methods"))
    return node("tacacs", *constant(login_switches(release)), fixed(f"vrf: {MANAGEMENT_VRF}"), servers), order


def finish(file: File) -> None:
    """State accounts, servers, TACACS+, SNMP, gNMI and who may reach them."""
    root, release = file.root, file.release
    _finish_users(file, root)
    for kind, (place, _) in server_settings(release).items():
        above = (place, kind, *((MANAGEMENT_VRF,) if place == "service" else ()))
        servers = entries(root, *above, "server")
        if servers:
            line = next(iter(servers.values())).line
            file.put(f"management/{kind}", ",".join(sorted(map(str, servers))), line)
    _finish_tacacs(file, root, release)
    _finish_snmp(file, root, release)
    if gnmi := at(root, "system", "gnmi-server"):
        _need_address(file, gnmi)
    _finish_access(file, root)


def _finish_users(file: File, root: Scope) -> None:
    users = entries(root, "system", "aaa", "user")
    if at(root, "system") and OWN_ACCOUNT not in users:
        file.missing(nearest(root, "system", "aaa"), f"user {OWN_ACCOUNT} is missing")
    for name, user in users.items():
        prefix = f"user[{name}]/"
        for given in entries(user, "ssh", "authorized-key").values():
            if {"key", "type"} <= given.values.keys() and prefix + "ssh_key" not in file.facts:
                material, line = given.values["key"]
                file.put(prefix + "ssh_key", f"{given.values['type'][0]} {material}", line)
                file.tell(prefix + "ssh_key_type", given, "type")
            else:
                file.missing(given.line, "a key without its other half, or a second one")


def _finish_tacacs(file: File, root: Scope, release: Release) -> None:
    aaa = at(root, "system", "aaa")
    file.expect(("system", "aaa", "tacacs", "server"), "management/tacacs/servers")
    tacacs = at(aaa, "tacacs")
    place = "authentication" if release.login_list else "authentication-order"
    order = at(aaa, place)
    if aaa is None or tacacs is None:
        if order:
            file.reject(order.line)
        return
    ranked: list[tuple[int, str, int]] = []
    for key, server in entries(tacacs, "server").items():
        rank, line = (
            server.values.get("priority", (0, 0)) if release.tacacs_by_address else (key, server.line)
        )
        host, host_line = (
            (key, server.line) if release.tacacs_by_address else server.values.get("host", ("", 0))
        )
        if not (line and host_line) or not isinstance(rank, int):
            file.missing(server.line, "a TACACS+ server without its address or priority")
            continue
        file.put(f"management/tacacs_server[{host}]/configured", "true", host_line)
        file.put(f"management/tacacs_server[{host}]/priority", rank, line)
        ranked.append((rank, str(host), line))
        if ":" in str(host) and "version" not in server.values:
            file.missing(server.line, "prefer-ip-version: 6 is missing")
        if "secret" in server.values:
            file.agree("management/tacacs/secret", *server.values["secret"])
        else:
            file.missing(server.line, "secret is missing")
    if ranked:
        servers = ",".join(host for _, host, _ in sorted(ranked))
        file.put("management/tacacs/servers", servers, ranked[-1][2])
    _finish_login(file, aaa, order, release)


def _finish_login(file: File, aaa: Scope, order: Scope | None, release: Release) -> None:
    """TACACS+ is asked first and local accounts when no server answers; another order is not known."""
    if order is None:
        words = "authentication order" if release.login_list else "authentication-order"
        file.missing(aaa.line, f"{words} is missing")
        return
    given = {place: (said, said[1]) for place, said in enumerate(order.table("methods").values(), 1)}
    for place, scope in entries(order).items():
        given[int(str(place))] = (scope.values.get("method", ("", scope.line)), scope.line)
    for place, method in enumerate(LOGIN_METHODS, 1):
        (said, line), _ = given.pop(place, (("", order.line), 0))
        if not said:
            file.missing(line, f"{method} is missing")
        elif said != method:
            file.reject(line)
    for _, line in given.values():
        file.reject(line)


def _finish_snmp(file: File, root: Scope, release: Release) -> None:
    place = (release.snmp, "snmp-server")
    file.expect((*place, "readonly-community"), "management/snmp/secret")
    snmp = at(root, *place)
    if snmp is None:
        return
    _need_address(file, snmp)
    for community, scope in entries(snmp, "readonly-community").items():
        file.agree("management/snmp/secret", str(community), scope.line)


def _need_address(file: File, service: Scope) -> None:
    """Note that a service listens nowhere, or on addresses that are not named."""
    if not entries(service, "listening-address"):
        file.missing(nearest(service, "listening-address"), "an address to listen on is missing")


def _finish_access(file: File, root: Scope) -> None:
    """The rules of every access list, and whom the one of the control plane lets in."""
    bound = entries(root, "system", "control-plane", "acl")
    lists = entries(root, "acl")
    facts, lines = file.facts, file.lines
    for name, access_list in lists.items():
        file.expect(("system", "control-plane", "acl"), f"acl[{name}]/bound")
        rules = entries(access_list, "rule")
        file.put(f"acl[{name}]/rules", len(rules), access_list.line)
        networks: dict[str, int] = {}
        closed = False
        for number, rule in sorted(rules.items()):
            if at(rule, "match", "ip") is None:
                file.missing(rule.line, "match ip is missing")
            path = _RULE.format(name, number)
            permits, source = facts.get(path + "action") == "permit", str(facts.get(path + "source", ""))
            closed = closed or not (permits or source)
            if permits and source and source != ITSELF["ipv4"]:
                networks.setdefault(source, lines[path + "source"][1])
        if name == ACCESS and networks:
            shut = closed and name in bound and "inbound" in bound[name].values
            value = ",".join(sorted(networks)) + ("" if shut else ", and everyone else")
            file.put("management/access", value, next(iter(networks.values())))
    for name, scope in bound.items():
        file.put(f"acl[{name}]/bound", "inbound" if "inbound" in scope.values else "false", scope.line)
        if name not in lists:
            file.missing(nearest(root, "acl"), f"acl {name} is not defined")
