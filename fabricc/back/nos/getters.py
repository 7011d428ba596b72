"""Read answers of NAPALM getters about a device of any system in JSON: `get_facts`, `get_lldp_neighbors_detail`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.answers import find_neighbors, leaf_text, parse_json
from fabricc.back.nos.collected import Identity, Output

if TYPE_CHECKING:
    from collections.abc import Callable


def read_getter(text: str, products: Callable[[str], tuple[str, ...]]) -> Output | None:
    """Read an answer; return None for any other text. `products`: maps the name of a box, as its system does."""
    if '"remote_system_name"' not in text and '"os_version"' not in text:
        return None
    answer = parse_json(text)
    if not isinstance(answer, dict):
        return None
    answer = answer.get("get_facts") or answer.get("get_lldp_neighbors_detail") or answer
    if isinstance(answer.get("os_version"), str):
        names = products(box) if (box := leaf_text(answer, "model")) else ()
        return Output(
            Identity(leaf_text(answer, "hostname"), box if names else "", answer["os_version"], names)
        )
    rows = [
        (
            port,
            leaf_text(far, "remote_system_name", "remote_chassis_id"),
            leaf_text(far, "remote_port", "remote_port_description"),
        )
        for port, heard in answer.items()
        for far in (heard if isinstance(heard, list) else ())
    ]
    return Output(neighbors=find_neighbors(text, rows))
