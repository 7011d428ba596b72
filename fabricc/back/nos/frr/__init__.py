"""Plain FRR on a Debian switch: `frr.conf` and the files that boot the box into the fabric, written and read back.

Platforms that route with FRR use what `__all__` names.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect import static_lines
from fabricc.back.nos.exec_commands import ExecLine, Reversal, matching_lines, negating_lines
from fabricc.back.nos.frr import bgp, daemons, evpn, interfaces, qos, recognition, services, words
from fabricc.back.nos.frr.bgp import GracefulRestart, ttl_security_facts
from fabricc.back.nos.frr.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.frr.words import BFD_PROFILE, DISCARD, MULTIPATH_LIMIT, port_name
from fabricc.back.nos.lost_lines import state_lost_lines, state_refused_lines
from fabricc.back.nos.secret_values import hide_values
from fabricc.back.nos.templating import template_environment
from fabricc.back.nos.unread_lines import find_misspellings, is_known_word, is_read_in
from fabricc.back.reading import Reader
from fabricc.back.reading.reader import recognized_lines
from fabricc.back.reading.tree import assignments
from fabricc.fabric.facts import Facts, Reading, setting_facts, switch_facts
from fabricc.fabric.vocabulary import compile_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch

__all__ = [
    "COMMANDS", "FRR", "IGNORABLE", "FrrLinux", "GracefulRestart", "exec_lines", "read_frr_conf", "render_frr_conf",
    "routing_facts", "ttl_security_facts",
]  # fmt: skip

FILE = "frr.conf"
DEPARTURES = (*interfaces.DEPARTURES, *qos.DEPARTURES, *services.DEPARTURES)
"""Facts of the Fabric that FRR on Linux omits, on every switch."""
_LEFT_OUT = compile_patterns(departure.path for departure in DEPARTURES)
_LEAVE = ("exit", "exit-vrf", "quit")


def render_frr_conf(
    switch: Switch,
    *,
    router_interfaces: bool = True,
    hostname: bool = True,
    extra_head: Sequence[str] = (),
    multipath_limit: int = MULTIPATH_LIMIT,
    log_facility: str = "",
    bfd_profile: str | None = BFD_PROFILE,
    route_maps_of_source: Mapping[str, str] | None = None,
    graceful_restart: GracefulRestart | None = None,
) -> str:
    """Return the text of `frr.conf` for one switch, as `show running-config` prints it.

    frr-reload then finds nothing to change: defaults that FRR leaves out are left out here too.

    Args:
        switch: what to render; only `name`, `ports`, `bgp` and the loopbacks are used.
        router_interfaces: True states the description and addresses of every port in `interface` blocks; False if
            another file contains them. Router advertisements of unnumbered ports are stated either way.
        hostname: False leaves the `hostname` line out. It must equal the kernel's hostname, else frr-reload
            never finds the running configuration equal.
        extra_head: global lines to add after `service integrated-vtysh-config`, such as
            `no zebra nexthop kernel enable`.
        multipath_limit: next hops that the FRR build was compiled for (`--enable-multipath`); FRR does not print
            `maximum-paths` when it equals this. The reader needs the same number.
        log_facility: of syslog; empty for FRR's own, which it does not print.
        bfd_profile: holds the timers of BFD; None leaves them to FRR, whatever the plan contains.
        route_maps_of_source: `ip` or `ipv6` -> route map by which BGP's routes have the loopback as source address.
        graceful_restart: None states nothing, so that the router only helps its neighbors.

    Returns:
        The file, ending in a newline. `read_frr_conf` reads it.
    """
    view = {
        "hostname": switch.name if hostname else None,
        "extra_head": extra_head,
        "log_level": services.LOG_LEVEL,
        "log_facility": log_facility,
        "interfaces": interfaces.router_ports(switch, router_interfaces),
        "source_maps": [
            {"family": family, "name": name, "address": address}
            for family, name in (route_maps_of_source or {}).items()
            if (address := switch.loopback6 if family == "ipv6" else switch.loopback4)
        ],
        "static_routes": static_lines(switch.static_routes, DISCARD),
        "graceful_restart": graceful_restart,
        **bgp.bgp_view(switch.bgp, multipath_limit, bfd_profile),
        **evpn.routes_view(switch),
    }
    return template_environment("frr").get_template("frr.conf.j2").render(view)


def routing_facts(switch: Switch, head: Sequence[str], bfd_profile: str | None = BFD_PROFILE) -> Facts:
    """Return what `read_frr_conf` states beyond the vocabulary.

    `head` is the `extra_head` of `render_frr_conf`, `bfd_profile` what it is there.
    """
    facts: Facts = {}
    services.state_router(facts, switch, head)
    bgp.state(facts, switch, bfd_profile)
    evpn.state_routes(facts, switch)
    return facts


@cache
def _router_reader(multipath_limit: int) -> Reader:
    """Return the reader of frr.conf; it is made when there is something to read."""
    return Reader(
        (services.ROUTER, interfaces.ROUTER, bgp.bgp_topic(multipath_limit)), bgp.TYPES, leave=_LEAVE
    )


@cache
def _file_readers() -> Mapping[str, Reader]:
    """Return the readers of the files by name."""
    lines = {"interfaces": interfaces.TOPIC, **services.LINES}
    found = {name: Reader((topic,), services.TYPES, leave=()) for name, topic in lines.items()}
    for name, topic in services.ASSIGNMENTS.items():
        tree = daemons.read_assignments if name == daemons.FILE else assignments
        found[name] = Reader((topic,), services.TYPES, tree)
    return {**found, FILE: _router_reader(MULTIPATH_LIMIT)}


def read_daemons(text: str, reading: Reading) -> None:
    """Add to a reading which daemons its switch starts, and what none of them reads."""
    _file_readers()[daemons.FILE].read_file(daemons.FILE, text, reading)
    _state_stopped(reading, text)


def _state_stopped(reading: Reading, text: str) -> None:
    """State what nothing reads because its daemon is not started; `text` of the file `daemons`."""
    facts, lines, foreign = reading.facts, reading.lines, dict(daemons.foreign_lines(text))
    detected = (path for path in facts if path.endswith("]/bfd") and facts[path] == "true")
    unstated = (
        "no" if any(path.startswith("daemon[") for path in facts) else ""
    )  # FRR's own file has every one
    other = dict(_read_others(reading, foreign))
    attempts = {
        name: (daemons.FILE, line)
        for line, word in daemons.idle_names(text)
        for name in get_close_matches(word, ("bgpd", "bfdd"), 1, _LIKENESS)
    }
    for daemon, path in (("bgpd", "bgp/asn"), ("bfdd", next(detected, ""))):
        if daemon in other and daemons.is_started(other[daemon]):
            continue
        if facts.get(f"daemon[{daemon}]", unstated) == "no" and path in facts:
            place = lines.get(f"daemon[{daemon}]", attempts.get(daemon, lines[path]))
            reading.put(f"unread[{FILE} for {daemon}]", f"{daemons.FILE} does not start {daemon}", *place)


_LIKENESS = 0.7
"""Of a misspelled name of a daemon and the right one."""


def _read_others(reading: Reading, foreign: Mapping[int, str]) -> Iterator[tuple[str, str]]:
    """Yield daemons whose line has another word than `yes` and `no`, and that word."""
    for file, line, text in reading.unknown:
        name, equals, word = text.partition(" = ")  # as the reader prints an assignment of shell
        if file == daemons.FILE and equals and line not in foreign:
            yield name, word


COMMANDS = services.COMMANDS[FILE]
IGNORABLE = Reader((words.TOPIC,), {}, leave=_LEAVE)
"""Readers of lines of frr.conf without effect on forwarding or losslessness."""
exec_lines = words.EXEC_LINES


def read_frr_conf(text: str, file: str, reading: Reading, *, multipath_limit: int = MULTIPATH_LIMIT) -> None:
    """Add the facts of one `frr.conf` to `reading`, and its unknown lines.

    A host name or an interface address that differs from one in `reading` is a separate fact.

    Args:
        text: the file, or the output of `show running-config`.
        file: its name, for the lines of the facts.
        reading: what has been read so far.
        multipath_limit: the default of `maximum-paths`, see `render_frr_conf`.
    """
    _router_reader(multipath_limit).read_file(file, text, reading)
    _state_misspelled(reading, file, _router_reader(multipath_limit), _BLOCKS)
    _state_misplaced(reading, file, text)


_BLOCKS = (
    "", "router bgp 1", "router bgp 1\naddress-family ipv4 unicast", "router bgp 1\naddress-family ipv6 unicast",
    "router bgp 1\naddress-family l2vpn evpn", "interface swp1", "route-map NAME permit 10", "bfd\nprofile NAME",
    "vrf NAME", "router ospf",
)  # fmt: skip
"""Lines that open each kind of block of frr.conf."""
_PORT_BLOCKS = ("", "iface lo inet loopback", "iface eth0", "iface swp1")


def _state_misspelled(reading: Reading, file: str, reader: Reader, blocks: tuple[str, ...]) -> None:
    """State lines that the daemon of a file refuses for a word that it does not know."""
    for line, word, meant in find_misspellings(reader, blocks, file, reading.unknown):
        reading.put(f"unread[line {line}]", f"the word {word} is not known, {meant} is", file, line)
    for name, line, text in reading.unknown:
        match = _CONDITION.fullmatch(text) if name == file else None
        if match and not is_known_word(reader, match[1]):
            reading.put(f"unread[line {line}]", f"no condition is called {match[1]}", file, line)
    state_refused_lines(reading, words.REFUSED, file)


_CONDITION = re.compile(r"match ([a-z][a-z-]+)(?: .*)?")
"""A condition of a route map, without which its clause is about every route."""


_HEADED = re.compile(r"bgp router-id .*|neighbor \S+ (?:remote-as|peer-group|interface)\b.*")
_COMMENTED = re.compile(r"[!#]\s*router bgp ")
_OF_BGP = re.compile(r"neighbor \S+ .*|address-family (?:ipv4|ipv6|l2vpn) .*")


def _state_misplaced(reading: Reading, file: str, text: str) -> None:
    """State a line that ends the block of BGP before other lines of it, and a line outside of its block."""
    unknown = {line: unread for name, line, unread in reading.unknown if name == file}
    lines = text.split("\n") if unknown else []
    for line, unread in islice(unknown.items(), _MOST):
        above = range(line - 1, max(line - _FEW, 0), -1)
        heads = (each for each in reversed(lines[: line - 1]) if each[:1].isalpha() and each not in _ENDS)
        if _HEADED.fullmatch(unread) and lines[line - 1][:1] == " ":
            at = next((at for at in above if _COMMENTED.match(lines[at - 1])), 0)
            if at or not next(heads, "router bgp").startswith("router bgp"):
                why = "no `router bgp` opens the block of the lines below"
                reading.put(f"unread[line {at or line}]", why, file, at or line)
                return
        end = next((at for at in above if lines[at - 1].strip() in _ENDS), 0)
        left = next((each for each in reversed(lines[:end]) if each[:1].isalpha() and each not in _ENDS), "")
        if end and left.startswith("router bgp") and _OF_BGP.fullmatch(unread):
            if is_read_in(_router_reader(MULTIPATH_LIMIT), "router bgp 1", unread):
                why = f"it ends `router bgp`, of which line {line} is"
                reading.put(f"unread[line {end}]", why, file, end)
            return
        before = next((at for at in above if lines[at - 1].strip(" !")), 0)
        indented = before and lines[before - 1][:1] == " "  # it does not open a block
        if lines[line - 1][:1].isalpha() and before and (indented or before not in unknown):
            blocks = (
                each for each in _BLOCKS[1:] if is_read_in(_router_reader(MULTIPATH_LIMIT), each, unread)
            )
            if block := next(blocks, ""):
                kind = _OWN_NAME.sub("", block.rpartition("\n")[2])
                why = f"it stands outside of the block `{kind}` that has such lines"
                reading.put(f"unread[line {line}]", why, file, line)


_OWN_NAME = re.compile(r" (?:NAME.*|1|swp1)$")
_ENDS, _FEW, _MOST = ("exit", "quit", "end"), 6, 20


class FrrLinux:
    """The back end; see `fabricc.back.nos.base.Nos`."""

    name = "frr"
    releases = RELEASES
    default_release = DEFAULT_RELEASE
    sets_pfc = False
    port_name = staticmethod(port_name)
    gaps = staticmethod(gaps)
    found = recognition

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of the files that every switch has."""
        return tuple(name for name in _file_readers() if name not in services.OPTIONAL)

    optional_files = services.OPTIONAL

    def supports(self, model: SwitchModel) -> bool:
        """Return whether the catalog has the model's port names under Linux."""
        return self.name in model.nos

    def render(self, switch: Switch) -> dict[str, str]:
        """`frr.conf` and the box's own files by name; those of services without a server are left out."""
        view = services.services_view(switch) | interfaces.ports_view(switch)
        optional, templates = services.optional_files(switch), template_environment("frr")
        names = [name for name in _file_readers() if name != FILE and optional.get(name, True)]
        return {
            FILE: render_frr_conf(switch, extra_head=services.next_hop_lines(switch)),
            **{name: templates.get_template(f"{name}.j2").render(view) for name in names},
        }

    def read(self, files: Mapping[str, str]) -> Reading:
        """Facts of the box's files; a file of another name is unknown as a whole."""
        reading, readers = Reading(), _file_readers()
        for name, reader in readers.items():
            if name in files:
                reader.read_file(name, files[name], reading)
        apart = [name for name in recognition.DAEMON_FILES if name in files]
        for name in apart:
            read_frr_conf(files[name], name, reading)
        for name, blocks in ((FILE, _BLOCKS), ("interfaces", _PORT_BLOCKS)):
            _state_misspelled(reading, name, readers[name], blocks)
        _state_misplaced(reading, FILE, files.get(FILE, ""))
        _state_stopped(reading, files.get(daemons.FILE, ""))
        unknown = "an unknown file for this system"
        reading.unknown += [
            (name, 1, unknown) for name in sorted(files.keys() - {*readers, *apart, "vtysh.conf"})
        ]
        return hide_values(state_lost_lines(reading, files), files)

    def ignorable(self, files: Mapping[str, str], reading: Reading) -> frozenset[tuple[str, int]]:
        """File and line of each unknown line of a reading that is known to be irrelevant."""
        return recognized_lines(reading, files, {FILE: IGNORABLE})

    def exec_lines(self, file: str, text: str) -> Iterator[ExecLine]:
        """Yield the lines of `frr.conf` that are exec commands."""
        if file == FILE:
            yield from exec_lines(text)

    def reversals(self, file: str, text: str) -> Iterator[Reversal]:
        """Yield the lines of `frr.conf` that remove what other lines of it set."""
        if file == FILE:
            yield from negating_lines(text)

    def command_lines(self, files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
        """Yield file and line of what makes the switch run a command, or read another file."""
        yield from ((file, line) for file, line, _ in self.commands_at_boot(files))
        for file, shape in services.COMMANDS.items():
            yield from matching_lines(file, files.get(file, ""), shape)
        yield from interfaces.command_lines(files.get("interfaces", ""))

    def commands_at_boot(self, files: Mapping[str, str]) -> list[tuple[str, int, str]]:
        """Return file, line and text of what the switch would run when it reads a file that holds settings alone."""
        text = files.get(daemons.FILE, "")
        return [(daemons.FILE, line, foreign) for line, foreign in daemons.foreign_lines(text)]

    def derived_texts(self, switch: Switch) -> tuple[str, ...]:
        """Return the MAC address that other VTEPs send to."""
        vtep = evpn.local_vtep(switch)
        return (evpn.router_mac(vtep.source),) if vtep else ()

    def planned(self, switch: Switch) -> Facts:
        """Return the Fabric's facts except `DEPARTURES`, with daemons, kernel settings and frr.conf's own settings."""
        neutral = switch_facts(switch) | setting_facts(switch)
        facts = {path: value for path, value in neutral.items() if not _LEFT_OUT.fullmatch(path)}
        services.state(facts, switch)
        interfaces.state(facts, switch)
        return facts | ttl_security_facts(switch) | routing_facts(switch, services.next_hop_lines(switch))


FRR = FrrLinux()
