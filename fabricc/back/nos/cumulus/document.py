"""`startup.yaml` of one switch: the header a switch writes, and one `set` with everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus.limits import release_of
from fabricc.back.nos.cumulus.ports import interfaces
from fabricc.back.nos.cumulus.qos import packet_trim, qos_tree
from fabricc.back.nos.cumulus.routing import adaptive_routing, router, vrf
from fabricc.back.nos.cumulus.services import access_lists, access_rules, login, services
from fabricc.back.nos.cumulus.words import ADMINISTRATOR, CONTROL_PLANE_LISTS, OWN_ACCOUNT, ssh_key
from fabricc.back.nos.cumulus.yaml_text import write

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.limits import Release
    from fabricc.back.nos.cumulus.yaml_text import Tree
    from fabricc.fabric.model import Account, Switch

FILE = "startup.yaml"
KEY_NAME = "fabricc"
UNUSABLE_PASSWORD = "*"
"""A hash that no password has; what `nv config show` prints in place of any."""

HASH_FIELDS = ("destination-ip", "destination-port", "ip-protocol", "ipv6-label", "source-ip", "source-port")
"""What ECMP hashes out of the box; addresses and ports are in it both ways, which keeps the hash symmetric."""


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
    service, system = services(switch.management, release)
    content: Tree = {
        "interface": interfaces(switch, release),
        "qos": qos_tree(switch),
        "router": {**router(switch, release), **adaptive_routing(switch, release)},
        "system": _system(switch, release, system),
        "vrf": vrf(switch.bgp, release),
    }
    if service:
        content["service"] = service
    if lists := access_lists(switch.management, release):
        content["acl"] = lists
    return write([{"header": header}, {"set": content}])


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


def _system(switch: Switch, release: Release, services: Tree) -> Tree:
    tree = {**factory(release), **services}
    aaa = tree["aaa"]
    if isinstance(aaa, dict):
        aaa.update(login(switch.management, release))
        aaa["user"] = _users(switch.management.users)
    lists = (*CONTROL_PLANE_LISTS, *access_rules(switch.management, release))
    tree["control-plane"] = {"acl": {name: {"inbound": {}} for name in lists}}
    tree["forwarding"] = {
        "ecmp-hash": dict.fromkeys(HASH_FIELDS, release.on),
        "hash-seed": hash_seed(switch.tier_index),
        **packet_trim(switch.qos, release),
    }
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
