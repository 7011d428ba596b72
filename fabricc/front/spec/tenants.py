"""Tenants as typed values, what a fabric with tenants cannot be, and the edit that assigns hosts to a tenant.

The edit keeps comments and everything else in the text of the spec.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.documents.reader import parse_yaml
from fabricc.fabric.tenants import TenantNumbers, port_mtu
from fabricc.front.spec.canonical import edit_text, quote_text
from fabricc.front.spec.document import Findings, format_path, join_words
from fabricc.front.spec.model import TenantRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


SECTION = "tenants"
_MOST_NAMES = 65536
_RANGE = re.compile(r"(.*?)([0-9]{1,18})\.\.([0-9]{1,18})")


def build_tenants(
    raw: Mapping[str, Any], spec: Mapping[str, Any], findings: Findings
) -> tuple[TenantRequest, ...]:
    """Return the tenants in spec order, and report what they cannot be.

    `spec` is the whole spec with its defaults, as far as it fits the schema.
    """
    if spec.get("fabric") != "infiniband":
        _check_fabric(spec, findings)
    tenants = []
    for name, each in raw.items():
        path = (SECTION, name)
        if "hosts" not in each and "racks" not in each:
            message = f"{format_path(path)} has neither hosts nor racks"
            findings.error("FAB3313", message, *path, help="Write `hosts: […]` or `racks: […]`.")
        hosts, racks = (
            _expand_names(each.get(key, ()), (*path, key), findings) for key in ("hosts", "racks")
        )
        stated, where = each.get("gpus"), (*path, "gpus")
        gpus = _expand_gpus(stated, where, findings) if isinstance(stated, list) else None
        parts = {
            host: _expand_gpus(some, (*where, host), findings)
            for host, some in (stated.items() if isinstance(stated, dict) else ())
        }
        for host in parts.keys() - {*hosts} if hosts else ():
            message = f"{format_path(where)}: {host} is none of the hosts of {name}"
            findings.error("FAB3316", message, *where, host, help="Name it in `hosts` too.")
        if stated is not None and not hosts:
            message = f"{format_path(path)} lists GPUs but no hosts"
            findings.error(
                "FAB3316", message, *path, "gpus", help="Name the hosts that have them, as `hosts`."
            )
        numbers = TenantNumbers(*(each.get(key) for key in TenantNumbers._fields))
        reach, vrf = tuple(each.get("reach", ())), each.get("vrf", "")
        tenants.append(TenantRequest(name, hosts, racks, gpus, parts, reach, numbers, vrf))
    return tuple(tenants)


def _check_fabric(spec: Mapping[str, Any], findings: Findings) -> None:
    """Report sections that tenants do not go with."""
    if "evpn" in spec:
        message = "hosts are in segments already, and a port can be in only one VRF"
        help_ = "Keep `evpn` for a front end, in `networks`, or remove one of the two sections."
        findings.error("FAB3320", message, SECTION, help=help_)
    if "spines" not in spec:
        return
    if spec.get("addressing", {}).get("family") == "ipv6":
        message = "VTEPs send VXLAN over IPv4, and the fabric is IPv6 only"
        findings.error("FAB3301", message, SECTION, help="Write `addressing: {family: dual}`, or ipv4.")
    if "mtu" in spec and (most := port_mtu(spec["mtu"]["switch"], tunnels=True)) < spec["mtu"]["host"]:
        more = spec["mtu"]["switch"] - most
        message = (
            f"hosts send packets of {spec['mtu']['host']} bytes, and with {more} of VXLAN around them links between "
            f"switches hold {most}"
        )
        help_ = f"Write `mtu: {{host: {most}}}` or less."
        if (switch := spec["mtu"]["host"] + more) <= 9416:
            help_ = f"Write `mtu: {{switch: {switch}}}`, or `host: {most}` or less."
        findings.error("FAB3304", message, "mtu", help=help_)


def _expand_names(names: Sequence[str], path: tuple[str, ...], findings: Findings) -> tuple[str, ...]:
    """Return the names, with `host01..16` in place of `host01` to `host16`; duplicates count once."""
    found: dict[str, None] = {}
    for at, text in enumerate(names):
        expanded = _expand_range(text)
        if expanded is None:
            message = f"{format_path((*path, at))}: {text} does not ascend from a number"
            findings.error("FAB3313", message, *path, at, help="Write for example `su001-host01..16`.")
        found |= dict.fromkeys(expanded or ())
    return tuple(found)


def list_names(names: Sequence[str]) -> list[str] | None:
    """Return the names that a list of names and ranges stands for; None where a range does not ascend."""
    ranges = [_expand_range(str(text)) for text in names]
    return None if None in ranges else [name for each in ranges for name in each or ()]


def _expand_range(text: str) -> list[str] | None:
    """Return the names of a range, or a name; None for what does not ascend from a number."""
    if ".." not in text:
        return [text]
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    stem, digits, last = found.groups()
    if not int(digits) < int(last) or int(last) - int(digits) >= _MOST_NAMES:
        return None
    return [f"{stem}{number:0{len(digits)}}" for number in range(int(digits), int(last) + 1)]


def _expand_gpus(gpus: Sequence[int | str], path: tuple[str, ...], findings: Findings) -> tuple[int, ...]:
    """Return the numbers of GPUs, ascending."""
    return tuple(
        sorted({number for at, each in enumerate(gpus) for number in _gpu_range(each, (*path, at), findings)})
    )


def _gpu_range(gpu: int | str, path: tuple[str | int, ...], findings: Findings) -> Iterator[int]:
    first, _, last = str(gpu).partition("-")
    if last and int(first) >= int(last):
        message = f"{format_path(path)}: {gpu} does not ascend"
        findings.error("FAB3316", message, *path, help="Write for example `0-3`.")
        return
    yield from range(int(first), int(last or first) + 1)


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
    if "gpus" in tenants[tenant] and not isinstance(tenants[tenant]["gpus"], dict):
        message = f"{tenant} has GPUs {tenants[tenant]['gpus']} of each of its hosts, and no whole host"
        raise _refuse(message, file, line, "Name a tenant of whole hosts, or edit the spec by hand.")
    wrong = next((host for host in hosts if not _NAME.fullmatch(host)), None)
    expanded = None if wrong is not None else list_names(hosts)
    if expanded is None:
        message = (
            "a range of hosts does not ascend"
            if wrong is None
            else f"{clip(repr(wrong))} is not a name of a host"
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
                else f"the hosts of {name} are not a list",
                file,
                line,
                "Run `fabricc validate` first.",
            )
        left = [host for host in own if host not in wanted]
        kept = [*left, *(host for host in wanted if host not in left)] if name == tenant else left
        if set(kept) != set(own):
            changes |= _tenant_changes(name, each, kept)
        changes |= _whole_hosts(name, each, wanted) if kept else {}
    return edit_text(text, file, changes) if changes else text


def removed_tenants(before: str, after: str, file: str) -> list[str]:
    """Return the tenants of a text that a changed text does not have any more; both can be read."""
    old, new = (parse_yaml(text.encode(), file).value[SECTION] for text in (before, after))
    return [str(name) for name in old if name not in new]


def _tenant_changes(name: str, tenant: Mapping[str, object], hosts: Sequence[str]) -> dict[KeyPath, object]:
    """Return the changes that give a tenant these hosts; without hosts and racks it leaves."""
    if hosts:
        return {(SECTION, name, "hosts"): [quote_text(each) for each in fold_names(hosts)]}
    if "racks" not in tenant:
        return {(SECTION, name): None}
    return {(SECTION, name, key): None for key in ("hosts", "gpus") if key in tenant}


def _whole_hosts(name: str, tenant: Mapping[str, Any], hosts: Mapping[str, object]) -> dict[KeyPath, object]:
    """Return the changes after which a tenant has no single GPUs of these hosts."""
    gpus = tenant.get("gpus")
    own = [host for host in gpus if host in hosts] if isinstance(gpus, dict) else []
    if own and len(own) == len(gpus or ()):
        return {(SECTION, name, "gpus"): None}
    return {(SECTION, name, "gpus", host): None for host in own}


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


def fold_gpus(gpus: Sequence[int]) -> list[int | str]:
    """Return ascending numbers of GPUs with ranges in place of three and more: `0-3`."""
    runs: list[list[int]] = []
    for gpu in gpus:
        if runs and runs[-1][-1] == gpu - 1:
            runs[-1].append(gpu)
        else:
            runs.append([gpu])
    found: list[int | str] = []
    for run in runs:
        found += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else run
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
