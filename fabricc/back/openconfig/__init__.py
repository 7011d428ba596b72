"""Interfaces, BGP and LLDP of a switch in OpenConfig's models, as JSON of RFC 7951.

Written by the models that openconfig/public has in release/models, and read back to facts: what is not read is not
carried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fabricc.back.openconfig import bgp, interfaces, lldp, policy
from fabricc.fabric.facts import Facts, congestion_facts, setting_facts, switch_facts

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

_TOPICS = (interfaces, lldp, policy, bgp)


def render(switch: Switch) -> dict[str, Any]:
    """Return the switch's configuration, ready for JSON: top-level container -> content."""
    return {name: content for topic in _TOPICS for name, content in topic.render(switch).items()}


def read(document: dict[str, Any]) -> Facts:
    """Return the facts of a document."""
    return {path: value for topic in _TOPICS for path, value in topic.read(document).items()}


def neutral_facts(switch: Switch) -> Facts:
    """Return every vendor-neutral fact of a switch."""
    return {**switch_facts(switch), **setting_facts(switch), **congestion_facts(switch.qos)}
