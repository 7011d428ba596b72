"""Words of FRR on Linux, default values that it does not print, settings kept by their first words, and silent lines.

Sources: FRR 8.4.4 as built by Debian, `show running-config` after loading each value explicitly; and the user guide's
chapters on profiles, BGP and BFD (docs.frrouting.org).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.nos.exec_commands import exec_lines, exec_pattern
from fabricc.back.reading import Document, Keep, Row, Silent, StoredValue, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.catalog.model import SwitchModel


MANAGEMENT_INTERFACE = "eth0"
DATACENTER_TIMERS = (3, 9)  # keepalive and hold, seconds, under `frr defaults datacenter`
TRADITIONAL_TIMERS = (60, 180)
BFD_INTERVAL_MS = 300  # transmit and receive
BFD_MULTIPLIER = 3
DISCARD = "blackhole"
"""The next hop of a route that drops its packets."""
BFD_PROFILE = "FABRIC"
FIRST_TABLE = 1001
"""First routing table of VRFs in ifupdown2; a VRF has that of its VLAN from here on, up to 4700 of 5000."""
MULTIPATH_LIMIT = 256  # `--enable-multipath` of the Debian and FRR project packages
RA_INTERVAL_S = 10  # the value that bgpd itself requests from zebra for an unnumbered neighbor

COMMUNITY_NAMES = {
    "65535:0": "graceful-shutdown", "65535:1": "accept-own", "65535:2": "route-filter-translated-v4",
    "65535:3": "route-filter-v4", "65535:4": "route-filter-translated-v6", "65535:5": "route-filter-v6",
    "65535:6": "llgr-stale", "65535:7": "no-llgr", "65535:8": "accept-own-nexthop", "65535:666": "blackhole",
    "65535:65281": "no-export", "65535:65282": "no-advertise", "65535:65283": "local-AS",
    "65535:65284": "no-peer",
}  # fmt: skip
COMMUNITY_OF = {name: number for number, name in COMMUNITY_NAMES.items()}
ANY = {"ip": "0.0.0.0/0 le 32", "ipv6": "::/0 le 128"}
"""Prefix that FRR prints as `any` in a prefix list of that family."""


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """`swp3` for a whole cage, `swp3s0`, `swp3s1` for its children, as switchdev drivers name them."""
    pattern = str(model.nos.get("frr", {}).get("port", "swp{cage}"))
    whole = pattern.format(cage=cage)
    return whole if children == 1 else f"{whole}s{child - 1}"


SET = "set"
"""The value of a setting that is a secret, which is not read."""


def setting_rows(*beginnings: str, under: str = "setting", before: str = "") -> tuple[Row, ...]:
    """Return rows of lines that begin with these words: what follows is kept as `setting[words]`, `false` after `no`.

    `before` stands before all of the words, and not in the name.
    """
    return tuple(
        row
        for words in beginnings
        for row in (
            Keep(f"{before}{words} [<rest>]", f"{under}[{words}]", lambda rest: rest or "true"),
            Keep(f"no {before}{words} [<rest>]", f"{under}[{words}]", lambda _: "false"),
        )
    )


def repeated_rows(*beginnings: str) -> tuple[Row, ...]:
    """Return rows of lines of which there may be many, each about the thing that its next word names."""
    return tuple(Keep(f"{words} <word> [<rest>]", partial(_about_thing, words)) for words in beginnings)


def _about_thing(words: str, thing: str, rest: str | None) -> dict[str, str]:
    return {f"setting[{words} {thing}]": rest or "true"}


def secret_rows(*beginnings: str) -> tuple[Row, ...]:
    """Return rows of lines that end in a secret."""
    return tuple(Keep(f"{words} <rest>", f"setting[{words}]", lambda _: SET) for words in beginnings)


def put_settings(
    document: Document, prefix: str, values: Mapping[str, StoredValue], under: str = "setting"
) -> None:
    """State what `settings` and `secrets` kept; the last word of `under` is the name of the facts."""
    leaf = under.rpartition(" ")[2]
    document.put_all(
        (f"{prefix}{leaf}{name[len(under) :]}", *stored) for name, stored in settings_in(values, under)
    )


def settings_in(
    values: Mapping[str, StoredValue], under: str = "setting"
) -> Iterator[tuple[str, StoredValue]]:
    """Yield what `settings` and `secrets` kept among other values."""
    return ((name, stored) for name, stored in values.items() if name.startswith(under + "["))


_BEGINNINGS = (
    "access-class", "agentx", "banner", "bgp community alias", "bgp send-extra-data", "debug", "domainname", "dump",
    "enable", "exec-timeout", "fpm", "hostname", "ip nht", "ipv6 access-class", "ipv6 nht", "line", "log", "login",
    "mgmt", "password", "service", "terminal-length", "username", "vty", "write", "zebra",
)  # fmt: skip

TOPIC = Topic([Silent(f"[no] {words} [<rest>]") for words in _BEGINNINGS])

_TYPED = exec_pattern(
    "rel~oad wr~ite cop~y sh~ow conf~igure cle~ar roll~back logo~ut do who pin~g tracer~oute find list commit",
    "en~able dis~able end comm~it",
    r"exi?t? .+|terminal (?:length|monitor|paginate|no)\b.*",
)
"""Lines that a person types at a prompt of vtysh."""
EXEC_LINES = partial(exec_lines, words=_TYPED)
REFUSED = (
    (r"address-family (?!(?:ipv4|ipv6|l2vpn)\b)\S+.*", "the families are `ipv4`, `ipv6` and `l2vpn evpn`"),
    (r"neighbor \S+ (?:as|asn|remote|peer-as|remoteas) \S+", "the number of a neighbor is its `remote-as`"),
    (r"neighbor \S+ bfd (?!profile |check-control-plane-failure|strict|multihop|singlehop|\d).+",
     "`bfd` has no such option"),
    (r"ip address \d+(?:\.\d+){3}(?: \d+(?:\.\d+){3})?", "an address needs the length of its prefix, as in `/31`"),
    (r"(?:set (?:system|interfaces|protocols|policy-options|routing-options)|nv set|feature|vrf context|vrf member"
     r"|service-policy|switchport|no switchport|channel-group|spanning-tree|ip routing|ip virtual-router)(?: .*)?",
     "it is one of another system"),
)  # fmt: skip
"""Lines that vtysh refuses, and why (user guide, "BGP", "BFD", "Zebra")."""
