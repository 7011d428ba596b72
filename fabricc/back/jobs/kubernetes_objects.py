"""Kubernetes objects as values, and the YAML that they are written as."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Object = dict[str, Any]

CLUSTER_LABEL = "fabricc/cluster"
"""Label of every node of the fabric; its value is the cluster's name."""


def render_documents(objects: Iterable[Object]) -> str:
    """Return the objects as YAML documents, in the given order."""
    return _make_dumper()(list(objects))


@cache
def _make_dumper() -> Callable[[list[Object]], str]:
    """Return a function from objects to YAML documents, with text of several lines as a block."""

    class Blocks(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes text of several lines as it reads."""

    def write(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Blocks.add_representer(str, write)
    return lambda objects: yaml.dump_all(
        objects, Dumper=Blocks, sort_keys=False, explicit_start=True, width=110
    )


def make_object(api: str, kind: str, name: str, spec: Object, namespace: str | None = None) -> Object:
    """Return an object of that kind and name."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
