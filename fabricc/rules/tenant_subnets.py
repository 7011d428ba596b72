"""Find subnets of the default VRF that hold links of tenants, and are announced outside of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from fabricc.rules.findings import finding_at
from fabricc.rules.overlaps import Subnet, subnets_of
from fabricc.rules.rule import ADDRESSES, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.facts.statement import Statement
    from fabricc.proof.compare import Finding
    from fabricc.rules.sessions import Sessions

LEFTOVER = "FAB9688"
_TENANT = re.compile(r"(?:evpn|vxlan)/vrf\[([^\]]+)\]/vni")
_ANNOUNCES = ("bgp/redistribute[connected]", "bgp/redistribute_connected")
_REMEDY = "Remove the subnet from the default VRF, or put the port into the VRF of the tenant."


def _find_leftovers(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report a subnet of the default VRF that covers a link of a VRF with a VNI, where connected routes enter BGP."""
    tenants = {match[1] for path in statement.rest if (match := _TENANT.fullmatch(path))}
    if not tenants or not any(path in statement.rest for path in _ANNOUNCES):
        return
    subnets = list(subnets_of(statement).of(statement.name))
    inside = [each for each in subnets if each.vrf in tenants]
    found: list[tuple[Subnet, Subnet]] = []
    for outer in subnets:
        if outer.vrf == "":
            found += [(outer, inner) for inner in inside if outer.block.covers(inner.block)][:1]
    if not found:
        return
    outer, inner = found[0]
    more = f" (and {len(found) - 1} subnets more)" if len(found) > 1 else ""
    message = (
        f"{statement.name} {outer.port} has {outer.text} in the default VRF, which holds {inner.port} of VRF "
        f"{inner.vrf} ({inner.text}): others reach the tenant's prefix{more}"
    )
    yield finding_at(
        LEFTOVER, statement.device, (outer.path,), message, "leftover", Severity.WARNING, _REMEDY
    )


RULES = (SwitchRule(LEFTOVER, ADDRESSES, (), _find_leftovers),)
