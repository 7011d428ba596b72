"""The system and its management services: accounts, hashing, NTP, DNS, syslog, LLDP, logins, SNMP, gNMI, access."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import LEFT_OUT, ROUNDED, Departure
from fabricc.back.nos.cumulus import qos, words
from fabricc.back.nos.cumulus.limits import GNMI_SERVER, NTP_KEYS, RADIUS_ACCOUNTING, Release, has, release_of
from fabricc.back.nos.cumulus.tenants import reserved_vlans
from fabricc.base.values import dataclass
from fabricc.fabric.facts import Facts, setting_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.back.nos.cumulus.startup import Tree
    from fabricc.fabric.model import Account, Management, NtpKey, Snmp, Switch

KEY_NAME = "fabricc"
UNUSABLE_PASSWORD = "*"
"""A hash that no password has; what `nv config show` prints in place of any."""

HASH_FIELDS = ("destination-ip", "destination-port", "ip-protocol", "ipv6-label", "source-ip", "source-port")
"""Default fields of the ECMP hash; addresses and ports count in both directions, so the hash is symmetric."""

LLDP_HOLD = 4
"""Announcements that may be lost until a neighbor forgets (IEEE 802.1AB, msgTxHold)."""

LOGIN_PORTS = {"tacacs": 49, "radius": 1812}

ACCESS, ACCESS_V6, OPEN = "FABRICC-ACCESS", "FABRICC-ACCESS-V6", "FABRICC-GNMI"
LIST_TYPES = {ACCESS: "ipv4", ACCESS_V6: "ipv6", OPEN: "ipv4"}
ITSELF = {"ipv4": "127.0.0.0/8", "ipv6": "::1/128"}
"""Services that a switch contacts itself; a list of the control plane filters these too (NVIDIA, Control Plane
ACLs).
"""

SSH, SNMP, HTTPS, API, GNMI = 22, 161, 443, 8765, 9339
"""Ports that `acl-default-whitelist` opens for SSH, SNMP, the web server, NVUE's API and gNMI."""


DEPARTURES = (
    Departure("user[*]/ssh_key", ROUNDED, "a key has a type and no comment"),
    Departure("management/ntp_key*", LEFT_OUT, "keys of time servers begin with 5.15 (FAB5841)"),
    Departure("management/syslog_*", LEFT_OUT, "log servers are reached over UDP or TCP (FAB5841)"),
    Departure("management/snmp_trap[*]/user", LEFT_OUT, "users of traps need engine IDs (FAB5841)"),
)


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
        kind: (place, {**tree, "vrf": words.MANAGEMENT_VRF} if place == "system" and kind != "ntp" else tree)
        for kind, (place, tree) in listed.items()
    }


def service_trees(switch: Switch, release: Release) -> Tree:
    """Return what the services are below `service`, `system` and `acl`; and the rest of `system`."""
    management = switch.management
    places: dict[str, Tree] = {"service": {}, "system": system_tree(switch, release)}
    for kind, (place, settings) in server_settings(release).items():
        servers: Tree = dict.fromkeys(getattr(management, kind), settings)
        if not servers:
            continue
        if place == "service":
            places[place][kind] = {words.MANAGEMENT_VRF: {"server": servers}}
        else:
            places[place][kind] = {
                "server": servers,
                **({"vrf": words.MANAGEMENT_VRF} if kind == "ntp" else {}),
            }
    if (key := ntp_key(management, release)) is not None:
        places[release.ntp]["ntp"] = _keyed_servers(management.ntp, key, server_settings(release)["ntp"][1])
    timers: Tree = {"tx-interval": management.lldp_interval_s}
    places[release.lldp]["lldp"] = {**lldp_settings(release), **timers}
    if management.snmp:
        places[release.snmp]["snmp-server"] = _snmp_tree(management, management.snmp, release)
    if (port := gnmi_port(management, release)) is not None:
        places["system"]["gnmi-server"] = {
            "listening-address": {host_address(management): {}},
            "port": port,
            "state": "enabled",
        }
    tree: Tree = {**places, "acl": access_lists(management, release)}
    return {key: part for key, part in tree.items() if part}


def ntp_key(management: Management, release: Release) -> NtpKey | None:
    """Return the key of time servers; None where there is none."""
    return management.ntp_key if management.ntp and has(release.name, NTP_KEYS) else None


def _keyed_servers(servers: tuple[str, ...], key: NtpKey, settings: Tree) -> Tree:
    """Return the section of time servers that must answer with the key."""
    return {
        "authentication": "enabled",
        "key": {str(key.number): {"trusted": "yes", "type": key.kind, "value": key.key}},
        "server": {server: {**settings, "key": key.number} for server in servers},
        "vrf": words.MANAGEMENT_VRF,
    }


def system_tree(switch: Switch, release: Release) -> Tree:
    """Return the settings below `system` on every switch: factory settings, name, accounts and hash."""
    tree = factory_tree(release)
    aaa = tree["aaa"]
    if isinstance(aaa, dict):
        aaa.update(login_tree(switch.management, release))
        aaa["user"] = _user_tree(switch.management.users)
    lists = (*words.CONTROL_PLANE_LISTS, *access_rules(switch.management, release))
    tree["control-plane"] = {"acl": {name: {"inbound": {}} for name in lists}}
    tree["forwarding"] = {
        **hashing_tree(release),
        "hash-seed": hash_seed(switch.tier_index),
        **qos.packet_trim(switch),
    }
    tree["hostname"] = switch.name
    if switch.management.banner:
        tree["message"] = {"pre-login": switch.management.banner}
    return {**tree, **reserved_vlans(switch)}


def hashing_tree(release: Release) -> Tree:
    """Return what ECMP hashes, below `system forwarding`."""
    return {"ecmp-hash": dict.fromkeys(HASH_FIELDS, release.on)}


def hash_seed(tier_index: int) -> int:
    """The ECMP hash seed of a tier; they differ, so that a tier does not repeat the choices of the one before."""
    return 10 * (tier_index + 1)


def factory_tree(release: Release) -> Tree:
    """Return the factory settings below `system` except accounts; `nv config replace` would drop absent ones.

    Roles and their commands, the filters of the control plane, SSH, the API and drop monitoring; and, other than on a
    new switch, automatic saving is off.
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
                words.ADMINISTRATOR: {"class": {"nvapply": {}, "sudo": {}}},
            },
        },
        "api": {"state": "enabled"},
        "config": {"auto-save": {key: word}},
        "control-plane": {"acl": {name: {"inbound": {}} for name in words.CONTROL_PLANE_LISTS}},
        "ssh-server": {"state": "enabled"},
        "wjh": {
            "channel": {"forwarding": {"trigger": {"l2": {}, "l3": {}, "tunnel": {}}}},
            release.enable: release.on,
        },
    }
    if release.reboot_mode:
        tree["reboot"] = {"mode": "cold"}
    return tree


def _user_tree(accounts: tuple[Account, ...]) -> Tree:
    users: dict[str, Tree] = {
        words.OWN_ACCOUNT: {
            "full-name": "cumulus,,,",
            "hashed-password": UNUSABLE_PASSWORD,
            "role": words.ADMINISTRATOR,
        }
    }
    for account in accounts:
        user = users.setdefault(
            account.name, {"hashed-password": UNUSABLE_PASSWORD, "role": words.ADMINISTRATOR}
        )
        if account.password:
            user["hashed-password"] = account.password
        kind, key = words.ssh_key(account)
        user["ssh"] = {"authorized-key": {KEY_NAME: {"key": key, "type": kind}}}
    return {**users}


def host_address(management: Management) -> str:
    """Return the management address without its prefix length."""
    return management.address.partition("/")[0]


def gnmi_port(management: Management, release: Release) -> int | None:
    """Return the port of the gNMI server; None where there is none."""
    return management.gnmi_port if has(release.name, GNMI_SERVER) else None


def lldp_settings(release: Release) -> Tree:
    """Return the settings of LLDP other than its interval."""
    held: Tree = {"tx-hold-multiplier": LLDP_HOLD}
    return {"state": "enabled", **held} if release.lldp_state else held


def snmp_sources(management: Management) -> tuple[str, ...]:
    """Return the sources that the SNMP agent answers: the access networks, or `any`."""
    return management.access or ("any",)


def _snmp_tree(management: Management, snmp: Snmp, release: Release) -> Tree:
    key, word = release.snmp_switch
    tree: Tree = {
        key: word,
        "listening-address": {host_address(management): {"vrf": words.MANAGEMENT_VRF}},
    }
    if snmp.community:
        sources: Tree = {source: {} for source in snmp_sources(management)}
        tree["readonly-community"] = {snmp.community: {"access": sources}}
    if snmp.users:
        tree["username"] = {
            user.name: {"auth-sha": {user.auth: {"encrypt-aes": {user.privacy: {}}}}} for user in snmp.users
        }
    for name, text in (("system-contact", snmp.contact), ("system-location", snmp.location)):
        if text:
            tree[name] = text
    return tree


def login_tree(management: Management, release: Release) -> Tree:
    """Return what servers add below `system aaa`: the servers, accounting, and local accounts when none answers."""
    if management.login is None:
        return {}
    protocol, requested = management.login
    servers: Tree = {}
    for rank, server in enumerate(requested.servers, 1):
        row: Tree = {"port": LOGIN_PORTS[protocol], "secret": requested.key}
        if ":" in server and protocol == "tacacs":
            row["prefer-ip-version"] = 6
        if servers_by_address(protocol, release):
            servers[server] = {**row, "priority": rank}
        else:
            servers[str(rank)] = {**row, "host": server}
    tree: Tree = {"server": servers, "vrf": words.MANAGEMENT_VRF, **login_switches(protocol, release)}
    methods = (protocol, "local")
    if release.login_list:
        return {protocol: tree, "authentication": {"order": methods}}
    order: Tree = {str(rank): {method: {}} for rank, method in enumerate(methods, 1)}
    return {protocol: tree, "authentication-order": order}


def servers_by_address(protocol: str, release: Release) -> bool:
    """Return whether servers of a protocol are named by their addresses, and have a priority."""
    return protocol == "radius" or release.tacacs_by_address


def login_switches(protocol: str, release: Release) -> Tree:
    """Return what switches a protocol and its accounting on; PAP is what RFC 2865 defines and other systems use."""
    enabled: Tree = {} if release.tacacs_by_address else {"enable": release.on}
    if protocol == "tacacs":
        return {"accounting": {"enable": release.on} if enabled else {"state": "enabled"}, **enabled}
    accounting: Tree = {"accounting": {"state": "enabled"}} if has(release.name, RADIUS_ACCOUNTING) else {}
    return {**accounting, **({"auth-type": "pap"} if release.tacacs_by_address else {}), **enabled}


def access_rules(management: Management, release: Release) -> dict[str, tuple[Rule, ...]]:
    """Return the access lists of the control plane: name -> rules in order.

    They come before `acl-default-whitelist` (NVIDIA, Firewall Rules), which stays for everything else: a port
    that it does not open needs a list of its own.
    """
    port = gnmi_port(management, release)
    tcp = (SSH, HTTPS, API) if port is None else tuple(sorted({SSH, HTTPS, API, port}))
    if management.access:
        services_by_protocol = {"tcp": tcp} | ({"udp": (SNMP,)} if management.snmp else {})
        return {
            ACCESS: tuple(_guard_rules((ITSELF["ipv4"], *management.access), services_by_protocol)),
            ACCESS_V6: tuple(_guard_rules((ITSELF["ipv6"],), services_by_protocol)),
        }
    if port is not None and port != GNMI:
        return {OPEN: (Rule(True, "tcp", (port,), None),)}
    return {}


def _guard_rules(sources: tuple[str, ...], ports: dict[str, tuple[int, ...]]) -> Iterator[Rule]:
    for source in sources:
        for protocol, numbers in ports.items():
            yield Rule(True, protocol, numbers, source)
    for protocol, numbers in ports.items():
        yield Rule(False, protocol, numbers, None)


def number_rules(rules: tuple[Rule, ...]) -> Iterator[tuple[str, Rule]]:
    """Rules with their numbers, from 10 in steps of 10."""
    return ((str(10 * at), rule) for at, rule in enumerate(rules, 1))


def access_lists(management: Management, release: Release) -> Tree:
    """Everything below `acl`."""
    return {
        name: {
            "rule": {number: _rule_tree(rule) for number, rule in number_rules(rules)},
            "type": LIST_TYPES[name],
        }
        for name, rules in access_rules(management, release).items()
    }


def _rule_tree(rule: Rule) -> Tree:
    match: Tree = {
        "protocol": rule.protocol,
        rule.protocol: {"dest-port": {str(port): {} for port in rule.ports}},
    }
    if rule.source:
        match["source-ip"] = rule.source
    return {"action": {"permit" if rule.permit else "deny": {}}, "match": {"ip": match}}


# --- the facts of that -----------------------------------------------------------------------------------


def state(facts: Facts, switch: Switch) -> None:
    """Change the facts of the system and its services to the values of NVUE, and add its further facts."""
    management, release = switch.management, release_of(switch.release)
    facts["system/model"] = str(switch.model.nos["cumulus"]["model"]).lower()
    facts["system/api_version"] = "nvue_v1"
    facts["system/release"] = release.name
    facts["system/hash_seed"] = hash_seed(switch.tier_index)
    for path in [path for path in facts if path.startswith("user[")]:
        del facts[path]
    keys = {account.name: " ".join(words.ssh_key(account)) for account in management.users}
    hashes = {account.name: account.password for account in management.users}
    for name in {words.OWN_ACCOUNT, *keys}:
        facts[f"user[{name}]/configured"] = "true"
        facts[f"user[{name}]/role"] = words.ADMINISTRATOR
        facts[f"user[{name}]/password"] = "stated"
        if hashes.get(name):
            facts[f"user[{name}]/secret"] = hashes[name]
        if name in keys:
            facts[f"user[{name}]/ssh_key"] = keys[name]
            facts[f"user[{name}]/ssh_key_type"] = keys[name].partition(" ")[0]
    stated = setting_facts(switch)
    facts.update((path, value) for path, value in stated.items() if path.startswith(("management/", "lldp/")))
    if gnmi_port(management, release) is None:
        facts.pop("management/gnmi_port", None)
    else:
        facts[f"gnmi/listening[{host_address(management)}]"] = "true"
    unwritten = (
        "management/syslog_",
        "management/snmp_trap[",
        *(("management/ntp_key",) if ntp_key(management, release) is None else ()),
    )
    for path in [path for path in facts if path.startswith(unwritten)]:
        del facts[path]
    for kind in server_settings(release):
        for server in getattr(management, kind):
            facts[f"management/{kind}[{server}]"] = "asked"
    if management.login:
        protocol, requested = management.login
        for rank, server in enumerate(requested.servers, 1):
            facts[f"management/{protocol}_server[{server}]/configured"] = "true"
            facts[f"management/{protocol}_server[{server}]/priority"] = rank
    if management.snmp:
        facts[f"snmp/listening[{host_address(management)}]"] = "true"
        facts[f"snmp/listening[{host_address(management)}]/vrf"] = words.MANAGEMENT_VRF
        for network in snmp_sources(management) if management.snmp.community else ():
            facts[f"snmp/answered[{network}]"] = "true"
    for name, rules in access_rules(management, release).items():
        facts[f"acl[{name}]/bound"] = "inbound"
        facts[f"acl[{name}]/rules"] = len(rules)
        facts[f"acl[{name}]/type"] = LIST_TYPES[name]
        for number, rule in number_rules(rules):
            prefix = f"acl[{name}]/rule[{number}]/"
            facts[prefix + "configured"] = "true"
            facts[prefix + "action"] = "permit" if rule.permit else "deny"
            facts[prefix + "protocol"] = rule.protocol
            if rule.source:
                facts[prefix + "source"] = rule.source
            for port in rule.ports:
                facts[f"{prefix}{rule.protocol}[{port}]"] = "true"
