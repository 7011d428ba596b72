"""Sessions with other AS numbers, and the policies on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.facts.device import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.fabric.facts import Value
    from fabricc.facts.statement import Statement
    from fabricc.rules.sessions import Key

UPPER = (Tier.SPINE, Tier.CORE)
_POLICIES = {
    "import": ("import", "prefix_list_in", "filter_in", "distribute_in"),
    "export": ("export", "prefix_list_out", "filter_out", "distribute_out"),
}
"""Direction -> what of a session counts as a policy (RFC 8212 section 2)."""


def external_sessions(statement: Statement) -> Iterator[tuple[Key, Mapping[str, Value]]]:
    """Yield the sessions of the default routing instance with another AS, but for those that are shut."""
    asn = statement.rest.get("bgp/asn")
    for key, says in statement.sessions.items():
        remote = says.get("local_asn", asn), says.get("remote_asn", says.get("remote_kind"))
        if key[0] or says.get("enabled") == "false" or remote[1] in (None, "internal", remote[0]):
            continue
        yield key, says


def has_policy(says: Mapping[str, Value], direction: str) -> bool:
    """Whether a session has a policy in a direction."""
    return any(leaf in says for leaf in _POLICIES[direction])
