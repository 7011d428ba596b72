"""Read the neighbors of each switch's lldpd: the present cabling, from both ends of every cable between switches."""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from fabricc.operate.lab.node import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabricc.operate.lab.predict import End
    from fabricc.operate.lab.running import Lab

DAEMON = "lldpd"
_PARALLEL, _POLL_S = 4, 0.25

Neighbors = dict[str, dict[str, "End"]]
"""Switch -> its port -> the system name and port that announce themselves there."""


def is_installed() -> bool:
    """Return whether this machine has lldpd."""
    return all(shutil.which(name) for name in (DAEMON, "lldpcli"))


def read_neighbors(lab: Lab, switches: Iterable[str] | None = None) -> Neighbors:
    """Return the present neighbors of switches; a port without a neighbor is absent.

    Raises:
        LabError: FAB8012, a switch does not run, or its lldpd does not answer.
    """
    requested = list(lab.record.switches if switches is None else switches)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        return dict(
            zip(
                requested,
                pool.map(lambda switch: _read_switch_neighbors(lab, switch), requested),
                strict=True,
            )
        )


def _read_switch_neighbors(lab: Lab, switch: str) -> dict[str, End]:
    ran = lab.run(switch, ["lldpcli", "-f", "json0", "show", "neighbors"])
    try:
        return parse_neighbors(json.loads(ran.stdout))
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        reason = (ran.stderr or ran.stdout).strip()[:200]
        raise LabError("FAB8012", f"{DAEMON} of {switch} does not answer: {reason}") from None


def parse_neighbors(answer: Mapping[str, Any]) -> dict[str, End]:
    """Port -> neighbor, of lldpcli's `json0` form, in which everything is a list (lldpcli(8)).

    Raises:
        KeyError, IndexError, TypeError: not such an answer.
    """
    return {
        found["name"]: (found["chassis"][0]["name"][0]["value"], found["port"][0]["id"][0]["value"])
        for part in answer["lldp"]
        for found in part.get("interface", ())
    }


def wait_for_neighbors(lab: Lab, wanted: Neighbors, limit_s: float) -> Neighbors:
    """Wait until every port has its wanted neighbor, or until the limit, and return the neighbors."""
    until = time.monotonic() + limit_s
    seen: Neighbors = {}
    waiting = list(wanted)
    while True:
        seen |= read_neighbors(lab, waiting)
        waiting = [switch for switch in waiting if wanted[switch].items() - seen[switch].items()]
        if not waiting or time.monotonic() > until:
            return seen
        time.sleep(_POLL_S)
