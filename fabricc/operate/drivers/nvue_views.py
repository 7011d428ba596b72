"""Read NVUE's answers about lossless classes and the switch's health.

Counters are read from the tables that NVIDIA's Cumulus Linux guide prints ("Show QoS Counters", "PFC Watchdog"): of
their JSON it shows no example.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any

from fabricc.operate.drivers.bundle import unpack_bundle
from fabricc.operate.drivers.lossless import ALL, DROPPED, ECN_MARKED, PFC_RX, PFC_TX, STORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.operate.drivers.lossless import Tally

INTERFACES = ("nv", "show", "interface", "-o", "json")
HEALTH = ("nv", "show", "system", "health", "-o", "json")
_RULE = re.compile(r"\s*-+(?:\s+-+)*\s*")
_AT_ONCE = 8
_COLUMNS = (
    ("switch-priority", "rx-pause-frames", PFC_RX),
    ("switch-priority", "tx-pause-frames", PFC_TX),
    ("priority-group", "rx-buffer-discards", DROPPED),
    ("traffic-class", "tx-uc-buffer-discards", DROPPED),
    ("traffic-class", "deadlock-count", STORMS),
)
"""Column of the class, column of the count, and what it counts; discards are in bytes."""


def counters_of(ports: Iterable[str]) -> str:
    """Return the shell command that reads several ports at once, and prints each port's tables below its name."""
    words = " ".join(shlex.quote(port) for port in ports)
    show = "{ nv show interface @ counters qos; nv show interface @ qos pfc-watchdog; } > $d/@ 2> /dev/null"
    return (
        f"d=$(mktemp -d) && export d && printf '%s\\n' {words} | xargs -P {_AT_ONCE} -I @ sh -c '{show}; true' && "
        "cd $d && "
        f'for p in *; do printf "==> %s <==\\n" "$p"; cat "$p"; echo; done; cd / && rm -r "$d"'
    )


def front_panel_ports(interfaces: Mapping[str, Any]) -> list[str]:
    """Return the front-panel ports among all interfaces."""
    return sorted(name for name in interfaces if re.fullmatch(r"swp[\ds]+", name))


def read_lossless(text: str, tally: Tally) -> None:
    """Counters of lossless classes from what `counters_of` prints."""
    for port, tables in unpack_bundle(text, "").items():
        for row in _table_rows(tables):
            for traffic_class, column, kind in _COLUMNS:
                if traffic_class in row and column in row:
                    tally.add(kind, port, row[traffic_class], row[column])
            if row.get("Counter") == "ecn-marked-packets":
                tally.add(ECN_MARKED, port, ALL, row.get("Transmit"))


def _table_rows(text: str) -> Iterator[dict[str, str]]:
    """Yield rows of NVUE's tables, whose columns begin where a dash of the line below the heading does."""
    names: list[tuple[int, str]] = []
    before = ""
    for line in text.splitlines():
        if _RULE.fullmatch(line):
            starts = [match.start() for match in re.finditer(r"-+", line)]
            names = [(start, cell) for start, cell in zip(starts, _split_cells(before, starts), strict=True)]
        elif names and line.strip() and not line.strip("= "):
            names = []
        elif names and line.strip():
            cells = _split_cells(line, [start for start, _ in names])
            yield {name: cell for (_, name), cell in zip(names, cells, strict=True)}
        before = line


def _split_cells(line: str, starts: list[int]) -> list[str]:
    return [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]


def read_alarms(answer: Any) -> list[str]:
    """`nv show system health`: components that are not well.

    Raises:
        NotImplementedError: it has no status.
    """
    if not isinstance(answer, dict) or "status" not in answer:
        raise NotImplementedError("nv show system health has no status")
    if str(answer["status"]).upper() == "OK":
        return []
    issues = answer.get("issues") or {}
    found = [
        f"{name}: {one.get('issue', one) if isinstance(one, dict) else one}" for name, one in issues.items()
    ]
    return sorted(found) or [f"health: {answer['status']}"]
