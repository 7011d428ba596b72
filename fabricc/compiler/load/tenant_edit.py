"""Assign hosts to a tenant in the file of a spec, one edit at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.documents.reader import MAX_BYTES
from fabricc.base.foreign import files
from fabricc.front.spec.tenants import assign_hosts
from fabricc.tree.exclusive import hold_folder
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def edit_tenant(spec: Path, hosts: Sequence[str], tenant: str) -> tuple[str, str]:
    """Assign hosts to a tenant of a spec; return its text before and after.

    Raises:
        OSError: the spec cannot be read.
        UnicodeDecodeError: it is not UTF-8.
        AssignmentError: the text has no such tenant, the tenant has single GPUs, or a name is none.
        EmitError: it cannot be written.
    """
    with hold_folder(spec.parent):
        text = files.read(spec, limit=MAX_BYTES).decode()
        changed = assign_hosts(text, str(spec), hosts, tenant)
        if changed != text:
            write_file(spec, changed.encode())
    return text, changed
