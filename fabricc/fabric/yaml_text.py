"""YAML of a device's file as nodes, composed only when its nesting is one that composing survives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yaml.nodes import Node

MAX_DEPTH = 32
"""Nesting beyond that of any configuration."""


def compose_yaml(text: str) -> Node | None:
    """Return the root node of a YAML text; None when it is empty.

    Raises:
        yaml.YAMLError: the text is not YAML, or nested deeper than `MAX_DEPTH`: libyaml composes recursively and
            without a limit of its own, so that deeper text would end the process.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f"nested deeper than {MAX_DEPTH}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    found: Node | None = yaml.compose(text, Loader=loader)
    return found
