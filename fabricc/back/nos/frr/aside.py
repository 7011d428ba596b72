"""Lines of FRR without effect on forwarding or losslessness: logs, accounts, debugging, daemon options."""

from __future__ import annotations

from fabricc.back.reading import Silent, Topic
from fabricc.base.patterns import pattern

_BEGINNINGS = (
    "access-class", "agentx", "banner", "bgp community alias", "bgp send-extra-data", "debug", "domainname", "dump",
    "enable", "exec-timeout", "fpm", "hostname", "ip nht", "ipv6 access-class", "ipv6 nht", "line", "log", "login",
    "mgmt", "password", "service", "terminal-length", "username", "vty", "write", "zebra",
)  # fmt: skip

TOPIC = Topic([Silent(f"[no] {words} [<rest>]") for words in _BEGINNINGS])

EXEC_COMMANDS = pattern(
    r"conf(?:igure|ig)?(?: (?:t|terminal(?: .*)?))?|end|enable|disable|(?:write|wr)(?: (?:mem|memory|file|terminal))?"
    r"|commit(?: .*)?|rollback .*|(?:reload|copy|show|clear)(?: .*)?|do .*"
)
"""Lines that a person types at a prompt of vtysh."""
