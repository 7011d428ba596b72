"""The inputs of a build as digests, to detect that nothing changed and to record them in the manifest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.templating import override_digests
from fabricc.base.foreign import files
from fabricc.base.values import attribute_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from fabricc.compiler.planned_spec import PlannedSpec
    from fabricc.front.spec.model import ClusterSpec

LATER = frozenset({"network", "networks", "identities", "given_devices", "given_links"})
"""Parts of a spec that count only where it has them, so that the digest of one without is as it was before them."""
TEMPLATES = "templates:"
"""The prefix of the input name of a user's own template; no file name of a spec has a colon."""


def file_digests(paths: Iterable[Path]) -> dict[str, str]:
    """Absolute path -> SHA-256 of the bytes; "" for a file that is not there."""
    table = {}
    for path in paths:
        try:
            table[str(path.resolve())] = files.digest_of_file(path)
        except OSError:
            table[str(path.resolve())] = ""
    return table


def manifest_inputs(plan: PlannedSpec) -> dict[str, str]:
    """The manifest's inputs: the spec's meaning, the lock, the user's catalog files, overlays and templates by name."""
    spec = plan.spec
    folder = str(plan.path.resolve().parent) + "/"
    overlays = (entry.file for entry in spec.overlays)
    named = {*spec.catalog_files, *overlays, *spec.identity_files, spec.infiniband and spec.infiniband.guids}
    files = {
        path.removeprefix(folder): digest
        for path, digest in plan.inputs.items()
        if path.removeprefix(folder) in named
    }
    lock = hashlib.sha256(plan.lock_text.encode()).hexdigest()
    templates = {TEMPLATES + name: digest for name, digest in override_digests().items()}
    return {**files, **templates, plan.lock_path.name: lock, "spec": spec_digest(spec)}


def spec_digest(spec: ClusterSpec) -> str:
    """SHA-256 of the spec's typed values: comments, positions and the order of keys do not count."""
    return hashlib.sha256(repr(_plain_value(spec)).encode()).hexdigest()


def _plain_value(value: Any) -> Any:
    if names := attribute_names(type(value)):
        hidden = ("positions", "assumptions", "file", "path")
        pairs = [
            (name, _plain_value(getattr(value, name)))
            for name in names
            if name not in hidden and (name not in LATER or getattr(value, name))
        ]
        # Services of the management count as keys of it, as the spec writes them.
        return [one for name, part in pairs for one in (part if name == "services" else [(name, part)])]
    if hasattr(value, "items"):
        table: Mapping[Any, Any] = value
        return sorted((str(key), _plain_value(item)) for key, item in table.items())
    if isinstance(value, tuple | list):
        return [_plain_value(item) for item in value]
    return value if isinstance(value, bool | int | float | None) else str(value)
