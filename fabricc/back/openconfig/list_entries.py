"""Layout of lists in OpenConfig: each entry has its keys, and a `config` that repeats them."""

from __future__ import annotations

from typing import Any


def list_entry(keys: tuple[str, ...], config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an entry of a list.

    Args:
        keys: names of its keys.
        config: its configuration, keys included; None values are left out.
        more: sibling containers, with dashes for underscores; empty ones are left out.
    """
    said = {name: value for name, value in config.items() if value is not None}
    beside = {name.replace("_", "-"): content for name, content in more.items() if content}
    return {**{key: said[key] for key in keys}, "config": said, **beside}
