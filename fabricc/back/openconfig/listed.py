"""How OpenConfig lays out a list: each entry has its keys, and a `config` that says them again."""

from __future__ import annotations

from typing import Any


def entry(keys: tuple[str, ...], config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An entry of a list.

    Args:
        keys: names of its keys.
        config: its configuration, keys included; what is None is left out.
        more: containers beside it, their underscores being dashes; what is empty is left out.
    """
    said = {name: value for name, value in config.items() if value is not None}
    beside = {name.replace("_", "-"): content for name, content in more.items() if content}
    return {**{key: said[key] for key in keys}, "config": said, **beside}
