"""The Cumulus Linux back end: NVUE's `startup.yaml`, releases 5.9 to 5.19."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING

from fabricc.back.nos.cumulus import (
    bgp,
    bgp_rows,
    consumers,
    flat,
    interfaces,
    qos,
    qos_rows,
    recognition,
    roce,
    services,
    services_rows,
    startup,
    tenants,
    words,
)
from fabricc.back.nos.cumulus.foreign import beyond, idle, port_qos
from fabricc.back.nos.cumulus.limits import DEFAULT_RELEASE, RELEASES, Release, gaps, release_of
from fabricc.back.nos.exec_commands import ExecLine, exec_lines, exec_pattern, matching_lines
from fabricc.back.nos.frr import IGNORABLE
from fabricc.back.nos.lost_lines import state_lost_lines
from fabricc.back.nos.secret_values import hide_values
from fabricc.back.reading import Document, Reader, Topic, Types
from fabricc.back.reading.reader import recognized_lines
from fabricc.fabric.facts import Facts, Reading, Unplanned, switch_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabricc.back.nos.cumulus.startup import File, Tree
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch

_TYPED = exec_pattern("nv sudo systemctl vtysh exit", more=r"[\s\-?{]*[\"']?unset[\"']?\s*:.*")
"""Commands of a shell, and a document that removes what another one sets."""
_COMMANDS = re.compile(r"(?:snippet|hook|ztp)s?:")
DEPARTURES = (*interfaces.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES, *services.DEPARTURES)
"""Facts of the Fabric that NVUE rounds or omits."""


def render(switch: Switch) -> str:
    """Return the text for `nv config replace`: the header a switch writes, and one `set` with everything."""
    release = release_of(switch.release)
    header: Tree = {
        "model": str(switch.model.nos["cumulus"]["model"]),
        "nvue-api-version": "nvue_v1",
        "rev-id": 1.0,
        "version": release.version,
    }
    content: Tree = {
        "interface": interfaces.interface_tree(switch, release),
        "qos": qos.qos_tree(switch),
        "router": {**bgp.router(switch, release), **bgp.adaptive_routing(switch, release)},
        "vrf": bgp.vrf(switch, release),
        **services.service_trees(switch, release),
        **tenants.tunnels(switch, release),
    }
    return startup.write([{"header": header}, {"set": content}])


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives: the Fabric's but for `DEPARTURES`, and NVUE's own."""
    facts = switch_facts(switch, partial(qos.adjust_profile, switch))
    for topic in (interfaces, qos, bgp, services):
        topic.state(facts, switch)
    return facts


@cache
def reader(release: Release) -> Reader:
    """Return the reader of a release; it is made when there is something to read."""
    topics = [Topic((startup.HEADER,))]
    for topic in (services_rows, interfaces, bgp_rows):
        finish = partial(_finish_reading, topic.finish, release)
        topics.append(Topic((startup.node_part("set", *topic.rows(release)),), finish))
    topics.append(Topic((startup.node_part("set", *qos_rows.rows(release)),)))
    types: Types = {**startup.TYPES, **interfaces.TYPES, **qos_rows.TYPES, **bgp_rows.TYPES}
    last = (startup.completeness_topic(topics, release), Topic((), consumers.finish))
    return Reader((*topics, *last), types, startup.parse_startup, whole=True)


@cache
def _known_keys(release: Release) -> frozenset[str]:
    """Return the keys of a release, and those of foreign designs, that some row knows."""
    rows = (row for topic in reader(release).topics for row in topic.rows)
    return frozenset(consumers.keys_of((*rows, *beyond.ROWS)))


def _finish_reading(finish: Callable[[File], None], release: Release, found: Document) -> None:
    finish(startup.File(found, release))


def read(files: Mapping[str, str]) -> Reading:
    """Facts of a rendered `startup.yaml`, or of what a switch prints; without it those of the files below NVUE."""
    reading = Reading()
    if (text := files.get(words.FILE)) is not None:
        release = startup.release_in(startup.parse_startup(text))
        reader(release).read_file(words.FILE, text, reading)
        for line, fault in startup.parse_startup(text).faults:
            if key := fault.partition("duplicate key: ")[2]:
                path = f"unread[{key} in line {line}]"
                reading.put(path, "the file has the key twice, and one replaces the other", words.FILE, line)
        if any(not isinstance(each, Unplanned) for each in reading.unknown):
            consumers.state_misspelled(reading, _known_keys(release))
        beyond.read_again(text, words.FILE, reading)
        port_qos.expand_profiles(text, words.FILE, reading)
        idle.state_idle(text, words.FILE, reading)
        interfaces.finish_isolation(reading)
        if reading.facts.get(words.SHUT_MANAGEMENT) == "false":
            reading.put("management/enabled", "false", *reading.lines[words.SHUT_MANAGEMENT])
        roce.expand_roce(text, words.FILE, reading)
    else:
        flat.read_files(files, reading)
    return hide_values(state_lost_lines(reading, files), files)


def ignorable(files: Mapping[str, str], reading: Reading) -> frozenset[tuple[str, int]]:
    """File and line of what is irrelevant, and of what is known and only lacks what every plan has."""
    reported = {each[:2] for each in reading.unknown if not isinstance(each, Unplanned)}
    lacking = frozenset({each[:2] for each in reading.unknown} - reported)
    return lacking | recognized_lines(reading, files, {flat.ROUTING: IGNORABLE})


class Cumulus:
    """NVIDIA Cumulus Linux; see `fabricc.back.nos.base.Nos`."""

    name = "cumulus"
    releases = tuple(RELEASES)
    default_release = DEFAULT_RELEASE
    port_name = staticmethod(words.port_name)
    gaps = staticmethod(gaps)
    read = staticmethod(read)
    ignorable = staticmethod(ignorable)
    planned = staticmethod(planned)
    vendor_policy = roce.VENDOR_POLICY
    found = recognition
    files = (words.FILE,)

    def supports(self, model: SwitchModel) -> bool:
        """Return whether the catalog has Cumulus settings for the model."""
        return self.name in model.nos

    def render(self, switch: Switch) -> dict[str, str]:
        """`startup.yaml` for `nv config replace`."""
        return {words.FILE: render(switch)}

    def restore_unprinted(self, running: Mapping[str, str], planned: Mapping[str, str]) -> dict[str, str]:
        """Return printed files with the planned hashes of accounts, which NVUE never prints."""
        text = services_rows.restore_hashes(running.get(words.FILE, ""), planned.get(words.FILE, ""))
        return {**running, words.FILE: text} if words.FILE in running else dict(running)

    def command_lines(self, files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        """Yield file and line of snippets, which write any file and restart services, and of hooks."""
        for file, text in files.items():
            yield from matching_lines(file, text, _COMMANDS)

    def exec_lines(self, _file: str, text: str) -> Iterator[ExecLine]:
        """Yield lines that a person types in a shell; an overlay is YAML."""
        yield from exec_lines(text, _TYPED)


CUMULUS = Cumulus()
