"""`fabricc sync`: synchronize NetBox or Nautobot with the plan, in either direction."""

from __future__ import annotations

import re
import time
from collections import Counter
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign.formats import json_document
from fabricc.base.foreign.text import Table
from fabricc.cli import options, output
from fabricc.compiler.compiled import Compiled, compile_ethernet
from fabricc.compiler.result import exit_status
from fabricc.integrations.sync.client import Client
from fabricc.integrations.sync.comparison import Change, compare
from fabricc.integrations.sync.products import PRODUCTS, Product
from fabricc.integrations.sync.records import Scope, planned_records
from fabricc.integrations.sync.server import Server, pull_export
from fabricc.operate.devices.secrets import KINDS, Reference
from fabricc.paperwork.netbox import tables_of
from fabricc.paperwork.racks import device_titles
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric

_SHOWN = 10
_TABLES = "`plan/` of the built tree has cabling, LIDs and partitions as tables."
_PROGRESS_S = 10
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::[0-9]{1,5})?")
_SIGNS = {"create": "+", "update": "~", "delete": "-"}


@click.command("sync")
@click.argument("product", type=click.Choice(tuple(PRODUCTS)))
@options.spec_argument
@click.option("--url", required=True, help="Address of the server, such as https://netbox.example.net.")
@click.option("--token", metavar="KIND:PLACE",
              help="Place of the API token: env:NAME, file:PATH or keyring:SERVICE. [default: env:NETBOX_TOKEN or "
              "env:NAUTOBOT_TOKEN]")  # fmt: skip
@click.option("--ca", type=options.FilePath(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Certificate authorities of the server. [default: those of the system]")  # fmt: skip
@click.option("--location", metavar="NAME", help="Site or location of the devices. [default: the cluster]")
@click.option("--tenant", metavar="NAME", help="Tenant of the devices. [default: none]")
@click.option("--parallel", type=click.IntRange(1, 32), default=4, show_default=True,
              help="Requests that the server gets at the same time; at most its number of workers.")  # fmt: skip
@click.option("--apply", is_flag=True, help="Make the changes; without it they are only shown.")
@click.option("--pull", "folder", type=options.FilePath(path_type=Path), metavar="FOLDER",
              help="Write identity tables from the server into FOLDER instead; the server stays as it is.")  # fmt: skip
@options.data_option("The changes for people, or one JSON object.")
def command(
    product: str,
    spec: Path,
    url: str,
    token: str | None,
    ca: Path | None,
    location: str | None,
    tenant: str | None,
    parallel: int,
    apply: bool,
    folder: Path | None,
    format_: str,
) -> int:
    """Compare a NetBox or Nautobot with SPEC, and make the changes with --apply.

    Devices, interfaces, cables, prefixes, addresses, ASNs, VRFs and tenants follow the plan. Objects that sync creates
    have the tag fabricc-CLUSTER; it changes and deletes only these objects. Exit status: 0 done or shown, 1 the spec or
    an answer is wrong, 3 the server cannot be reached.
    """
    if apply and folder is not None:
        raise click.UsageError(
            "--apply and --pull exclude each other: one writes to the server, one reads from it."
        )
    which = PRODUCTS[product]
    client = _connect(which, url, token, ca, parallel)
    compiled = compile_ethernet(spec, _TABLES, gaps=False)
    if compiled.planned is None:
        output.print_findings(compiled.diagnostics, format_, compiled.sources)
        return exit_status(compiled.diagnostics)
    scope = Scope(location or compiled.planned.cluster, tenant or "", f"fabricc-{compiled.planned.cluster}")
    if folder is not None:
        return _write_tables(client, which, compiled.planned, scope.location, folder)
    return _update_product(client, which, compiled, scope, format_, apply=apply)


def _update_product(
    client: Client, product: Product, compiled: Compiled, scope: Scope, format_: str, *, apply: bool
) -> int:
    """Show the changes of the server, and make them."""
    fabric = compiled.fabric
    server = Server(client, product, scope.tag, scope.location)
    records = server.select_supported(planned_records((fabric, *fabric.networks), scope))
    changes, conflicts = compare(records, server.find(records))
    if apply:
        server.apply(changes, _Progress())
    if format_ == "json":
        output.print_document(json_document(_build_document(product, changes, conflicts, applied=apply)))
    else:
        output.print_findings(conflicts, "text", {})
        output.out(_format_headline(product, changes, len(conflicts), applied=apply))
        if changes:
            output.print_parts(_list_tables(changes))
            output.out(*_format_lines(changes))
            if not apply:
                output.out("", "Nothing was changed. Next: the same command with --apply.")
    return exit_status(conflicts)


class _Progress:
    """Prints how many objects of a kind are done, at the end of each kind and every ten seconds."""

    def __init__(self) -> None:
        self._printed = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Print a line if it is time."""
        if done < total and time.monotonic() - self._printed < _PROGRESS_S:
            return
        self._printed = time.monotonic()
        output.err(f"{what}: {done:,}" + (f" of {total:,}" if done < total else ""))


def _write_tables(client: Client, product: Product, fabric: Fabric, location: str, folder: Path) -> int:
    """Write the identity tables that the server gives."""
    export = pull_export(client, product, location, [str(pool) for pool in fabric.addresses.pools().values()])
    if not export.devices:
        raise click.UsageError(
            f"{product.name} has no devices at {location!a}: name their location with --location."
        )
    elsewhere = {name for other in fabric.networks for name in device_titles(other)} - device_titles(
        fabric
    ).keys()
    export = export._replace(devices=tuple(each for each in export.devices if each.name not in elsewhere))
    tables = tables_of(export, fabric, {})
    output.print_findings(tables.findings, "text", {})
    if exit_status(tables.findings):
        return 1
    make_folder(folder)
    for key in ("devices", "links"):
        if text := getattr(tables, key):
            write_file(folder / f"{key}.csv", text.encode())
            output.err(f"{folder / f'{key}.csv'}: written; name it in the spec under `identities`")
    return 0


def _connect(product: Product, url: str, token: str | None, ca: Path | None, parallel: int) -> Client:
    """Return the connection to a server.

    Raises:
        click.UsageError: the address would send the token unencrypted, or the place of the token is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.netloc):
        raise click.BadParameter(f"{url!a} is not https://HOST", param_hint="--url")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise click.BadParameter("http would send the token unencrypted: use https", param_hint="--url")
    kind, _, place = (token or f"env:{product.name.upper()}_TOKEN").partition(":")
    if kind not in KINDS or not place:
        raise click.BadParameter("it is not env:NAME, file:PATH or keyring:SERVICE", param_hint="--token")
    secret = Reference(kind, place).resolve(parts.netloc)
    return Client(url, secret.reveal(), str(ca) if ca else None, parallel)


def _is_this_machine(host: str) -> bool:
    """Return whether a host is this machine, without trusting a name server."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _format_headline(product: Product, changes: Sequence[Change], conflicts: int, *, applied: bool) -> str:
    counts = Counter(each.action for each in changes)
    if not changes:
        rest = f", {plural(conflicts, 'conflict')}" if conflicts else ""
        return f"{product.name}: no changes{rest}"
    parts = ", ".join(f"{counts[action]:,} to {action}" for action in _SIGNS if action in counts)
    return f"{product.name}: {parts}{'; done' if applied else ''}"


def _list_tables(changes: Sequence[Change]) -> Iterator[Table]:
    counts = Counter((each.kind, each.action) for each in changes)
    kinds = dict.fromkeys(each.kind for each in changes)
    rows = [[kind.replace("_", " "), *(f"{counts[kind, action]:,}" for action in _SIGNS)] for kind in kinds]
    yield Table("", ("kind", *_SIGNS), rows)


def _format_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a line for each change, at most ten of a kind and action."""
    seen: Counter[tuple[str, str]] = Counter()
    for change in changes:
        at = (change.action, change.kind)
        seen[at] += 1
        if seen[at] <= _SHOWN:
            subject = " ".join(filter(None, (change.kind.replace("_", " "), *change.key)))
            yield f"{_SIGNS[change.action]} {subject}{_format_values(change)}"
    for (action, kind), count in seen.items():
        if count > _SHOWN:
            yield f"{_SIGNS[action]} {kind.replace('_', ' ')}: {count - _SHOWN:,} more"


def _format_values(change: Change) -> str:
    if change.record is None or change.found is None:
        return ""
    shown = ", ".join(
        f"{name} {before} → {change.record.fields[name]}" for name, before in change.before.items()
    )
    return f": {shown or 'add the tag'}"


def _build_document(
    product: Product, changes: Sequence[Change], conflicts: Sequence[object], *, applied: bool
) -> object:
    return {
        "product": product.name,
        "applied": applied,
        "changes": [
            {
                "action": each.action, "kind": each.kind, "key": list(each.key), "before": dict(each.before),
                "after": {} if each.record is None else dict(each.record.fields),
            }
            for each in changes
        ],
        "conflicts": [{"code": each.code, "message": each.message} for each in conflicts],  # type: ignore[attr-defined]
    }  # fmt: skip
