"""Paths of the files of an FRR switch, and the commands that activate them."""

from __future__ import annotations

MAIN = "frr.conf"
_RULES = "/etc/nftables.conf"
_INCLUDE = 'include "/etc/nftables.d/fabricc*.conf"'
_INCLUDED = (
    f"sed -n 's/^[[:space:]]*//; /^flush  *ruleset/p; \\|^{_INCLUDE.replace('*', '[*]')}|p' {_RULES} 2> /dev/null | "
    "tail -n 1 | grep -q ^include"
)
"""Whether the file of all rules includes that of the login list, and flushes nothing after it."""
_LOGIN_LIST = (
    f"if [ -e {{path}} ]; then nft -f {{path}} && {{ {_INCLUDED} || {{ "
    f"[ -s {_RULES} ] || echo 'flush ruleset' > {_RULES}; "
    f'[ -z "$(tail -c 1 {_RULES})" ] || echo >> {_RULES}; '
    f"echo '{_INCLUDE}' >> {_RULES}; }}; }}; "
    "else nft 'add table inet fabricc; delete table inet fabricc'; "
    f"! grep -qs '^table inet fabricc' {_RULES} || nft -f {_RULES}; fi"
)
"""Load the table of the login list and have the file of all rules include it, which keeps every other rule.

Without a login list, a table that the file of all rules defines itself, as of an earlier version, is loaded again: only
its owner removes it.
"""
FILES = {
    "sysctl.conf": ("/etc/sysctl.d/90-fabricc.conf", "sysctl -q -e -p {path}"),
    "hostname": ("/etc/hostname", "hostname -F {path}"),
    "resolv.conf": ("/etc/resolv.conf", ""),
    "timesyncd.conf": (
        "/etc/systemd/timesyncd.conf.d/fabricc.conf",
        "systemctl try-restart systemd-timesyncd",
    ),
    "rsyslog.conf": ("/etc/rsyslog.d/90-fabricc.conf", "systemctl try-restart rsyslog"),
    "lldpd.conf": ("/etc/lldpd.d/fabricc.conf", "systemctl try-restart lldpd"),
    "nftables.conf": (
        "/etc/nftables.d/fabricc.conf",
        f"{_LOGIN_LIST} && systemctl -q enable nftables",
    ),
    "daemons": ("/etc/frr/daemons", "/usr/lib/frr/frrinit.sh reload"),
    "interfaces": ("/etc/network/interfaces", "ifreload -a"),
    MAIN: ("/etc/frr/frr.conf", ""),
}
"""File of a candidate -> where it lies on the switch, and the shell command after which the switch obeys it."""

_LOOPBACKS = (
    "ip -o addr show dev lo scope global | while read -r _ _ _ had _; do "
    'grep -qx " *address $had" {path} || ip addr del "$had" dev lo; done; '
    """awk '/^iface/ { lo = $2 == "lo" } lo && $1 == "address" { print "addr replace " $2 " dev lo" }' {path} | """
    "ip -batch -"
)
WITHOUT_SYSTEMD = {
    "daemons": "",
    "interfaces": _LOOPBACKS,
    "nftables.conf": _LOGIN_LIST,
    "lldpd.conf": "if [ -S /run/lldpd.socket ]; then lldpcli -c {path}; fi",
    "rsyslog.conf": "",
    "timesyncd.conf": "",
}
"""The commands of a switch without systemd and ifupdown2, such as a network namespace.

What only systemd could restart is written and not activated; of the interfaces, only loopbacks follow their file.
"""
