"""How NVUE spells things from release to release: the words and places that were renamed between 5.9 and 5.15."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.nos.cumulus.yaml_text import Tree


@dataclass(frozen=True, slots=True)
class Release:
    """One release of Cumulus Linux (source: NVIDIA's NVUE OpenAPI documents, as PyPI `nvueschema` 0.1.0 has them).

    Attributes:
        on, off: the words of most switches; `enable`: the key of most of them.
        auto_save: key and word below `system config auto-save`.
        dns, syslog, ntp: whether the servers are below `service <name> <vrf>` or `system <name>`.
        lldp: where LLDP is switched on, None where it cannot be switched off.
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
    lldp: str | None = None
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
_5_11 = replace(_5_10, name="5.11", dns="system", lldp="service")
_5_13 = replace(_5_11, name="5.13", syslog="system")
_5_15 = replace(
    _5_13,
    name="5.15",
    on="enabled",
    off="disabled",
    enable="state",
    ntp="system",
    lldp="system",
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
        replace(_5_11, name="5.12"),
        _5_13,
        replace(_5_13, name="5.14"),
        _5_15,
    )
}
DEFAULT = "5.14"
OWN_ACCOUNT = "cumulus"
"""The account every switch has; a configuration that replaces all others and lacks it deletes it."""

ADMINISTRATOR = "system-admin"


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
        "control-plane": {
            "acl": {"acl-default-dos": {"inbound": {}}, "acl-default-whitelist": {"inbound": {}}}
        },
        "ssh-server": {"state": "enabled"},
        "wjh": {
            "channel": {"forwarding": {"trigger": {"l2": {}, "l3": {}, "tunnel": {}}}},
            release.enable: release.on,
        },
    }
    if release.reboot_mode:
        tree["reboot"] = {"mode": "cold"}
    return tree
