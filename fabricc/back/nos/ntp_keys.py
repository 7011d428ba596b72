"""State how a configuration authenticates time servers, from the lines that together do so."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.fabric.model import SECRET_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fabricc.fabric.facts import Value

    PlacedValue = tuple[Value, int]


def state_keys(
    put: Callable[[str, Value, int], None],
    keys: Mapping[str, tuple[str, str, int]],
    servers: Mapping[str, PlacedValue],
    trusted: Collection[str],
    enforced: int | None,
) -> None:
    """State the keys, and which of them all servers must answer with, or what is missing for that.

    A fact holds the reference to a key, and of a key itself only that there is one.

    Args:
        put: states a fact: path, value and line.
        keys: number -> hash, secret and line.
        servers: server -> number of its key, 0 without one, and line.
        trusted: numbers of trusted keys.
        enforced: line that requires authentication; None without one.
    """
    for number, (kind, secret, line) in keys.items():
        put(f"management/ntp_key[{number}]/type", kind, line)
        shown = secret if secret.startswith(SECRET_PREFIX) else "set"
        put(f"management/ntp_key[{number}]/secret", shown, line)
    requested = Counter(str(key) for key, _ in servers.values() if key)
    if not keys and not requested and enforced is None:
        return
    used = max(requested, key=lambda each: requested[each]) if requested else next(iter(keys), "")
    without = sorted(server for server, (key, _) in servers.items() if str(key) != used)
    missing = [
        *(["not defined"] if used not in keys else []),
        *(["not trusted"] if used not in trusted else []),
        *(["not required"] if enforced is None else []),
        *([f"not for {', '.join(without)}"] if without or not servers else []),
    ]
    lines = [enforced or 0, *(line for _, line in servers.values()), *(line for *_, line in keys.values())]
    text = f"{used} {', '.join(missing)}".strip() if missing else f"{used} for all servers"
    put("management/ntp_key/use", text, max(lines))
