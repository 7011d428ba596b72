"""The facts of the switch that OpenConfig states here: all except queues and the separation of management."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.fabric.facts import switch_facts

if TYPE_CHECKING:
    from fabricc.fabric.facts import Facts
    from fabricc.fabric.model import Switch

_LEFT_OUT = re.compile(
    r"management/isolated|(qos|watchdog|pool)/.*|interface\[[^\]]*\]/(trust|pfc|watchdog|headroom/.*|queue\[.*)"
)


def planned_facts(switch: Switch) -> Facts:
    """The facts of the switch that the file states."""
    return {path: value for path, value in switch_facts(switch).items() if not _LEFT_OUT.fullmatch(path)}
