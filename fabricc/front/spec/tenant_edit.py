"""Assign hosts to a tenant in the text of a spec; comments and everything else stay."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import clip
from fabricc.base.documents.reader import parse_yaml
from fabricc.front.spec.canonical import edit_text, quote_text
from fabricc.front.spec.document import join_words
from fabricc.front.spec.tenants import SECTION, list_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.base.documents.document import KeyPath

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:[.][.][0-9]{1,5})?")
"""A name of a spec, or names with ascending numbers."""


class AssignmentError(Exception):
    """The hosts cannot be assigned; carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


def assign_hosts(text: str, file: str, hosts: Sequence[str], tenant: str) -> str:
    """Return the text with whole hosts in a tenant, and in no other one.

    A tenant that loses its last host leaves the spec; its number stays in the lock. Names in `racks` stay as they are,
    so a host that another tenant has by its rack is a finding of `validate`.

    Raises:
        AssignmentError: the text has no such tenant, the tenant has single GPUs, or a name is none.
    """
    document = parse_yaml(text.encode(), file)
    tenants: Any = document.value.get(SECTION) if isinstance(document.value, dict) else None
    if (
        not document.usable
        or not isinstance(tenants, dict)
        or not all(isinstance(e, dict) for e in tenants.values())
    ):
        raise _refuse(
            "the spec cannot be read, or has no `tenants`", file, 1, "Run `fabricc validate` first."
        )
    if tenant not in tenants:
        line = document.key_position((SECTION,)).line
        names = join_words(sorted(map(str, tenants)))
        raise _refuse(f"no tenant is named {tenant}", file, line, f"Tenants: {names}. Add a new one by hand.")
    line = document.key_position((SECTION, tenant)).line
    if "gpus" in tenants[tenant]:
        message = f"{tenant} has GPUs {tenants[tenant]['gpus']} of each of its hosts, and no whole host"
        raise _refuse(message, file, line, "Name a tenant of whole hosts, or edit the spec by hand.")
    wrong = next((host for host in hosts if not _NAME.fullmatch(host)), None)
    expanded = None if wrong is not None else list_names(hosts)
    if expanded is None:
        message = (
            "a range of hosts does not ascend"
            if wrong is None
            else f"{clip(repr(wrong))} is no name of a host"
        )
        raise _refuse(message, file, line, "Write names such as su001-host01, or su001-host01..16.")
    wanted = dict.fromkeys(expanded)
    changes: dict[KeyPath, object] = {}
    for name, each in tenants.items():
        listed = each.get("hosts", [])
        own = list_names(listed) if isinstance(listed, list) else None
        if own is None:
            line = document.key_position((SECTION, name)).line
            raise _refuse(
                f"a range of hosts of {name} does not ascend"
                if isinstance(listed, list)
                else f"the hosts of {name} are no list",
                file,
                line,
                "Run `fabricc validate` first.",
            )
        left = [host for host in own if host not in wanted]
        kept = [*left, *(host for host in wanted if host not in left)] if name == tenant else left
        if set(kept) != set(own):
            changes |= _tenant_changes(name, each, kept)
    return edit_text(text, file, changes) if changes else text


def _tenant_changes(name: str, tenant: Mapping[str, object], hosts: Sequence[str]) -> dict[KeyPath, object]:
    """Return the changes that give a tenant these hosts; without hosts and racks it leaves."""
    if hosts:
        return {(SECTION, name, "hosts"): [quote_text(each) for each in fold_names(hosts)]}
    return {(SECTION, name, "hosts"): None} if "racks" in tenant else {(SECTION, name): None}


def fold_names(names: Sequence[str]) -> list[str]:
    """Return names with ranges in place of three and more that ascend by one: `host01..16`."""
    runs: list[list[str]] = []
    for name in sorted(set(names), key=_order):
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    found: list[str] = []
    for run in runs:
        match = _NUMBERED.fullmatch(run[-1])
        found += [f"{run[0]}..{match[2]}"] if len(run) > 2 and match else run
    return found


def _order(name: str) -> tuple[str, int, str]:
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2]), name) if match else (name, -1, name)


def _follows(one: str, other: str) -> bool:
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if not first or not second or first[1] != second[1] or len(first[2]) != len(second[2]):
        return False
    return int(second[2]) == int(first[2]) + 1


def _refuse(message: str, file: str, line: int, help_: str) -> AssignmentError:
    return AssignmentError(Diagnostic("FAB3313", Severity.ERROR, message, Position(file, line), help_))
