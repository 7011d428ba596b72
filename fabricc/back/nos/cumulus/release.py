"""How NVUE spells things from release to release: the words and places that were renamed between 5.9 and 5.15."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.back.nos.cumulus.yaml_text import Tree


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Cumulus Linux (source: NVIDIA's NVUE OpenAPI documents, as PyPI `nvueschema` 0.1.0 has them).

    Attributes:
        on, off: the words of most switches; `enable`: the key of most of them.
        auto_save: key and word below `system config auto-save`.
        dns, syslog, ntp: whether the servers are below `service <name> <vrf>` or `system <name>`.
        lldp, snmp: whether they are below `service` or `system`.
        lldp_state: LLDP can be switched on and off.
        snmp_switch: key and word that switch the SNMP agent on.
        tacacs_by_address: TACACS+ servers are named by their addresses and have a priority; before, they are
            named by it and have a host, and TACACS+ has a switch of its own.
        login_list: the order of login methods is a list, not a mapping by number.
        gnmi: there is a gNMI server of the system; before, it belongs to NetQ's agent.
        trimming: there is `system forwarding packet-trim`.
        family_addresses: interfaces have `ipv4` and `ipv6` and a `vrf` beside them, not one `ip` around all three.
        bfd_profiles: BFD timers are in a profile of `router bfd`, not in the peer group.
        ebgp_paths: largest number of equal-cost paths.
        reboot_mode: whether the factory configuration has `system reboot mode`.
        key_types: SSH public keys that an account may have.
    """

    name: str
    on: str = "on"
    off: str = "off"
    enable: str = "enable"
    auto_save: tuple[str, str] = ("state", "enabled")
    dns: str = "service"
    syslog: str = "service"
    ntp: str = "service"
    lldp: str = "service"
    lldp_state: bool = False
    snmp: str = "service"
    snmp_switch: tuple[str, str] = ("enable", "on")
    tacacs_by_address: bool = False
    login_list: bool = False
    gnmi: bool = False
    trimming: bool = False
    family_addresses: bool = False
    bfd_profiles: bool = False
    ebgp_paths: int = 128
    reboot_mode: bool = True
    key_types: frozenset[str] = frozenset(
        {
            "ecdsa-sha2-nistp256",
            "ecdsa-sha2-nistp384",
            "ecdsa-sha2-nistp521",
            "ssh-ed25519",
            "ssh-rsa",
        }
    )

    @property
    def version(self) -> str:
        """What the header of a switch of this release says."""
        return f"Cumulus Linux {self.name}.0"


_5_10 = Release("5.10")
_5_11 = replace(
    _5_10, name="5.11", dns="system", lldp_state=True, snmp="system", snmp_switch=("state", "enabled")
)
_5_12 = replace(_5_11, name="5.12", tacacs_by_address=True)
_5_13 = replace(_5_12, name="5.13", syslog="system", gnmi=True)
_5_14 = replace(_5_13, name="5.14", trimming=True)
_5_15 = replace(
    _5_14,
    name="5.15",
    on="enabled",
    off="disabled",
    enable="state",
    ntp="system",
    lldp="system",
    login_list=True,
    family_addresses=True,
    bfd_profiles=True,
    ebgp_paths=256,
    reboot_mode=False,
)
RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        replace(_5_10, name="5.9", auto_save=("enable", "on")),
        _5_10,
        _5_11,
        _5_12,
        _5_13,
        _5_14,
        _5_15,
    )
}
DEFAULT = "5.14"
OWN_ACCOUNT = "cumulus"
"""The account every switch has; a configuration that replaces all others and lacks it deletes it."""

ADMINISTRATOR = "system-admin"
CONTROL_PLANE_LISTS = ("acl-default-dos", "acl-default-whitelist")
"""The filters of the control plane since 5.9: they shape and drop what attacks it, and open the usual ports."""


def release_of(name: str) -> Release:
    """The release of that name, the default one when there is none of it."""
    return RELEASES.get(name or DEFAULT, RELEASES[DEFAULT])


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
