"""`startup.yaml` of one switch: the header a switch writes, and one `set` with everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.cumulus.ports import MANAGEMENT_VRF, interfaces
from fabricc.nos.cumulus.qos import qos_tree
from fabricc.nos.cumulus.release import ADMINISTRATOR, OWN_ACCOUNT, factory, release_of
from fabricc.nos.cumulus.routing import router, vrf
from fabricc.nos.cumulus.yaml_text import write

if TYPE_CHECKING:
    from fabricc.fabric.model import Account, Management, Switch
    from fabricc.nos.cumulus.release import Release
    from fabricc.nos.cumulus.yaml_text import Tree

FILE = "startup.yaml"
KEY_NAME = "fabricc"
UNUSABLE_PASSWORD = "*"
"""A hash that no password has; what `nv config show` prints in place of any."""

SYSLOG: Tree = {"port": 514, "protocol": "udp"}


def hash_seed(tier_index: int) -> int:
    """The ECMP hash seed of a tier; they differ, so that a tier does not repeat the choices of the one before."""
    return 10 * (tier_index + 1)


def render(switch: Switch) -> str:
    """The text for `nv config replace`."""
    release = release_of(switch.release)
    header: Tree = {
        "model": str(switch.model.nos["cumulus"]["model"]),
        "nvue-api-version": "nvue_v1",
        "rev-id": 1.0,
        "version": release.version,
    }
    service, system = _services(switch.management, release)
    content: Tree = {
        "interface": interfaces(switch, release),
        "qos": qos_tree(switch),
        "router": router(switch.bgp, release),
        "system": _system(switch, release, system),
        "vrf": vrf(switch.bgp, release),
    }
    if service:
        content["service"] = service
    return write([{"header": header}, {"set": content}])


def _system(switch: Switch, release: Release, services: Tree) -> Tree:
    tree = {**factory(release), **services}
    aaa = tree["aaa"]
    if isinstance(aaa, dict):
        aaa["user"] = _users(switch.management.users)
    tree["forwarding"] = {"hash-seed": hash_seed(switch.tier_index)}
    tree["hostname"] = switch.name
    return tree


def _users(accounts: tuple[Account, ...]) -> Tree:
    users: dict[str, Tree] = {
        OWN_ACCOUNT: {
            "full-name": "cumulus,,,",
            "hashed-password": UNUSABLE_PASSWORD,
            "role": ADMINISTRATOR,
        }
    }
    for account in accounts:
        user = users.setdefault(account.name, {"hashed-password": UNUSABLE_PASSWORD, "role": ADMINISTRATOR})
        kind, key = ssh_key(account)
        user["ssh"] = {"authorized-key": {KEY_NAME: {"key": key, "type": kind}}}
    return {**users}


def ssh_key(account: Account) -> tuple[str, str]:
    """The type and the key of an account's public key, without its comment."""
    kind, _, rest = account.ssh_key.partition(" ")
    return kind, rest.partition(" ")[0]


def _services(management: Management, release: Release) -> tuple[Tree, Tree]:
    """What stands below `service` and what below `system`: NTP, DNS, syslog and LLDP."""
    places: dict[str, Tree] = {"service": {}, "system": {}}
    rows: dict[str, tuple[str, Tree]] = {
        "ntp": (release.ntp, {server: {"iburst": release.on} for server in management.ntp}),
        "dns": (release.dns, {server: {} for server in management.dns}),
        "syslog": (release.syslog, dict.fromkeys(management.syslog, SYSLOG)),
    }
    for name, (place, servers) in rows.items():
        if not servers:
            continue
        if place == "service":
            places[place][name] = {MANAGEMENT_VRF: {"server": servers}}
        elif name == "ntp":
            places[place][name] = {"server": servers, "vrf": MANAGEMENT_VRF}
        else:
            in_vrf: Tree = {
                server: {**_mapping(row), "vrf": MANAGEMENT_VRF} for server, row in servers.items()
            }
            places[place][name] = {"server": in_vrf}
    if release.lldp:
        places[release.lldp]["lldp"] = {"state": "enabled"}
    return places["service"], places["system"]


def _mapping(row: Tree | str | float) -> Tree:
    return row if isinstance(row, dict) else {}
