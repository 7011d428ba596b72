"""YAML of an exported topology: block style, one line a device where it is short, comments on top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml


def as_yaml(document: Mapping[str, Any], head: Iterable[str]) -> str:
    """The document in the order of its keys, below comment lines."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    comments = "".join(f"# {line}\n" for line in head)
    return comments + yaml.dump(
        document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True
    )
