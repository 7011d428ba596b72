"""The SONiC back end: `config_db.json` and, routed by FRR in `split-unified` mode, `frr.conf`."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fabricc.back.nos.exec_commands import ExecLine, Reversal, matching_lines, negating_lines
from fabricc.back.nos.frr import COMMANDS, IGNORABLE, exec_lines
from fabricc.back.nos.frr.recognition import DAEMON_FILES
from fabricc.back.nos.lost_lines import state_lost_lines
from fabricc.back.nos.secret_values import hide_values
from fabricc.back.nos.sonic import (
    bgp,
    config_db,
    control_plane,
    frr_tables,
    interfaces,
    odd_buffers,
    qos,
    qos_rows,
    recognition,
    services,
    services_rows,
    tenants,
)
from fabricc.back.nos.sonic.consumers import (
    FRR_FILE,
    explain_misspelled,
    lost_rows,
    unknown_values,
    unread_lines,
    unread_tables,
)
from fabricc.back.nos.sonic.foreign import beyond
from fabricc.back.nos.sonic.limits import DEFAULT_RELEASE, RELEASES, gaps, release_of
from fabricc.back.nos.sonic.odd_rows import find_odd_rows
from fabricc.back.nos.sonic.updater import application, typical_applications
from fabricc.back.nos.sonic.words import parse_number, port_name
from fabricc.back.reading import Block, Document, Reader, Types
from fabricc.back.reading.reader import recognized_lines
from fabricc.fabric.facts import Facts, Reading, Unplanned, switch_facts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.base import Application
    from fabricc.back.nos.sonic.config_db import Tables
    from fabricc.back.nos.sonic.odd_rows import OddRow
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch

_SHELL = re.compile(r'"ZTP"|:\s*"(?:[^"\\]|\\.)*(?:[`$;&<>]|\\n|\|\|)')
DEPARTURES = (*services.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES)
"""Facts of the Fabric that SONiC rounds or omits."""


def _command_lines(files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield file and line of values with signs of a shell, which the switch's own templates put into scripts."""
    for at, line in enumerate(files.get(config_db.FILE, "").split("\n"), 1):
        if _SHELL.search(line):
            yield config_db.FILE, at
    yield from matching_lines(FRR_FILE, files.get(FRR_FILE, ""), COMMANDS)


class Sonic:
    """Community SONiC; see `fabricc.back.nos.base.Nos`."""

    name = "sonic"
    releases = tuple(RELEASES)
    default_release = DEFAULT_RELEASE
    sets_headroom_pool = True
    port_name = staticmethod(port_name)
    gaps = staticmethod(gaps)
    application = staticmethod(application)
    found = recognition
    files = (config_db.FILE, FRR_FILE)
    command_lines = staticmethod(_command_lines)

    def supports(self, model: SwitchModel) -> bool:
        """Return whether the catalog has SONiC settings for the model."""
        return self.name in model.nos

    def render(self, switch: Switch) -> dict[str, str]:
        """`config_db.json` for /etc/sonic and `frr.conf` for /etc/sonic/frr."""
        run = tenants.name_vrfs(bgp.effective_switch(switch))
        return {config_db.FILE: config_db.write(tables(run)), FRR_FILE: bgp.frr_conf(run)}

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of both files; one alone gives the facts it has."""
        reading = Reading()
        document = _read_tables(files[config_db.FILE], reading) if config_db.FILE in files else None
        routing = [name for name in (FRR_FILE, *DAEMON_FILES) if name in files]
        for name in routing:
            bgp.read_routing(files[name], reading, name)
        if document and not routing:
            frr_tables.state_unread(document)
        if document:
            config_db.state_lldp(document.text, reading)
            if FRR_FILE in files:
                raw, release = config_db.parse_json(document.text), config_db.schema_release(document)
                for line, consumer, why in unread_lines(files[FRR_FILE], raw, release):
                    place = config_db.find_condition(document.text, why) or (FRR_FILE, line)
                    reading.put(f"unread[{FRR_FILE} for {consumer.split()[0]}]", why, *place)
                for path, neighbor, why, keys in [*control_plane.find_dropped_bfd(raw, reading)]:
                    own = (config_db.FILE, config_db.line_of_keys(document.text, *keys)) if keys else None
                    reading.put(f"unread[BFD of {neighbor}]", why, *(own or reading.lines[path]))
            interfaces.read_isolation(document, reading)
            tenants.finish_names(document, reading)
        return hide_values(state_lost_lines(reading, files), files)

    def derived_texts(self, switch: Switch) -> tuple[str, ...]:
        """Return the networks that several links join in."""
        return control_plane.joined_networks(bgp.effective_switch(switch))

    def typical_applications(self, switch: Switch) -> Iterator[tuple[str, Application]]:
        """Yield what is often done to a switch, and how it is applied."""
        return typical_applications(switch, self.render)

    def ignorable(self, files: Mapping[str, str], reading: Reading) -> frozenset[tuple[str, int]]:
        """File and line of what is irrelevant, and of what is known and only lacks what every plan has."""
        reported = {
            each for each in reading.unknown if not isinstance(each, Unplanned) and not _is_ignorable(each)
        }
        understood = {each[:2] for each in reading.unknown} - {each[:2] for each in reported}
        return frozenset(understood) | recognized_lines(reading, files, {FRR_FILE: IGNORABLE})

    def exec_lines(self, file: str, text: str) -> Iterator[ExecLine]:
        """Yield the lines of `frr.conf` that are commands of vtysh."""
        if file == FRR_FILE:
            yield from exec_lines(text)

    def reversals(self, file: str, text: str) -> Iterator[Reversal]:
        """Yield the lines of `frr.conf` that remove what other lines of it set."""
        if file == FRR_FILE:
            yield from negating_lines(text)

    def ignored(self, files: Mapping[str, str]) -> list[tuple[str, int, str]]:
        """Return file, line and text of each field of the tables that the reader skips without a finding."""
        return config_db.ignored_fields(files.get(config_db.FILE, ""))

    def planned(self, switch: Switch) -> Facts:
        """The facts that `read` finds in the rendered files: the Fabric's but for `DEPARTURES`, and SONiC's own."""
        run = bgp.effective_switch(switch)
        facts = switch_facts(run)
        for topic in (interfaces, services, control_plane, qos, bgp, tenants):
            topic.state(facts, run)
        return facts


def _is_ignorable(unknown: tuple[str, int, str]) -> bool:
    """Return whether an unknown line of `config_db.json` is in a table without effect on forwarding."""
    file, _, text = unknown
    return file == config_db.FILE and text.removeprefix("table ").partition("|")[0] in beyond.IGNORABLE_TABLES


def tables(run: Switch) -> Tables:
    """Return every table, in the order of the file, with the fields that the release's models know."""
    absent = release_of(run).absent
    every = {
        **services.identity_tables(run),
        **interfaces.management_tables(run.management),
        **services.service_tables(run.management),
        **services.banner_tables(run.management),
        **interfaces.interface_tables(run),
        **tenants.tenant_tables(run),
        **qos.qos_tables(run),
        **services.hash_tables(),
        **qos.counter_tables(run),
        **bgp.daemon_tables(run),
    }
    for name, rows in control_plane.control_plane_tables(run).items():
        every[name] = {**every[name], **rows}
    for name, fields in absent.items():
        rows = every.get(name, {})
        every[name] = {key: {f: v for f, v in row.items() if f not in fields} for key, row in rows.items()}
    return every


@cache
def reader() -> Reader:
    """Return the reader of `config_db.json`; it is made when there is something to read."""
    topics = (
        interfaces.TOPIC,
        services_rows.TOPIC,
        qos_rows.TOPIC,
        bgp.TOPIC,
        beyond.TOPIC,
        frr_tables.TOPIC,
    )
    known = {row.pattern for topic in topics for row in topic.rows}
    types: Types = {"number": parse_number, **interfaces.TYPES, **qos_rows.TYPES}
    return Reader(topics, types, partial(config_db.table_tree, known), describe=config_db.format_unknown)


@cache
def _known_fields() -> Mapping[str, frozenset[str]]:
    """Return table -> the fields that the reader knows of it, whatever daemon reads them."""
    found: dict[str, set[str]] = {}
    for table in reader().topics:
        for row in table.rows:
            for each in row.rows if isinstance(row, Block) and isinstance(row.rows, tuple) else ():
                inner = each.rows if isinstance(each, Block) and isinstance(each.rows, tuple) else ()
                words = {field.pattern.split()[0] for field in inner}
                found.setdefault(row.pattern, set()).update(filter(str.isidentifier, words))
    return {table: frozenset(fields) for table, fields in found.items()}


def rows_with_faults(tables: Mapping[str, Any]) -> Iterator[OddRow]:
    """Yield the rows that show a fault by themselves."""
    yield from find_odd_rows(tables)
    yield from services_rows.find_odd_services(tables)
    yield from control_plane.find_odd_access(tables)
    yield from odd_buffers.find_odd_buffers(tables)
    yield from odd_buffers.find_odd_pools(tables)
    yield from interfaces.find_odd_interfaces(tables)
    yield from bgp.find_odd_neighbors(tables)


def _read_tables(text: str, reading: Reading) -> Document | None:
    """Add the facts of `config_db.json`, and report fields that nothing reads; return None for another file.

    What is not understood is among the unknown lines, and text that is not JSON is one of them.
    """
    file = config_db.FILE
    try:
        raw = config_db.parse_json(text)
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        reading.unknown.append((file, line, f"not JSON: {error}"))
        return None
    if not isinstance(raw, dict):
        reading.unknown.append((file, 1, "not a JSON object of tables"))
        return None
    document = reader().read_file(file, text, reading)
    whys: dict[str, list[str]] = {}
    for name, key, why in unread_tables(raw, config_db.schema_release(document)):
        reasons = whys.setdefault(name, [])
        reasons.append(why)
        row = config_db.rows_of(document, name).get(key) or config_db.table_scope(document, name)
        place = config_db.find_condition(text, why) or (file, row.line)
        reading.put(f"unread[{name}]", ", ".join(reasons), *place)
    for unknown in [*reading.unknown]:
        name, why = explain_misspelled(unknown[2], raw, _known_fields()) if unknown[0] == file else ("", "")
        if name and f"unread[{name}]" not in reading.facts:
            reading.put(f"unread[{name}]", why, file, unknown[1])
    for name, key, why, other in lost_rows(raw, text):
        line = other or config_db.line_of_keys(text, name, key)
        reading.put(f"unread[{name}{key and f'|{key}'}]", why, file, line)
    for name, key, field, item, why in unknown_values(raw):
        line = config_db.line_of_keys(text, name, key, field, item=item)
        reading.put(f"unread[{name}|{key} {field}]", why, file, line)
    for service, line in control_plane.dropping_groups(text, raw):
        reading.put(f"platform/setting[copp {service}]", "0", file, line)
    for odd in rows_with_faults(raw):
        line = config_db.line_of_keys(text, odd.table, odd.key, odd.field, item=odd.item)
        reading.unknown.append(Unplanned(file, line, odd.text))
    return document


SONIC = Sonic()
