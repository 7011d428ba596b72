"""Lines of FRR without effect on forwarding or losslessness: logs, accounts, debugging, daemon options."""

from __future__ import annotations

from functools import partial

from fabricc.back.nos.exec_commands import exec_lines, exec_pattern
from fabricc.back.reading import Silent, Topic

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
