"""Find names that a device uses and does not define: route maps, prefix lists, community lists and profiles."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from fabricc.back.nos.defaults import names_communities
from fabricc.back.nos.route_blocks import installing_map, maps_of_condition
from fabricc.back.nos.unread_lines import find_references
from fabricc.base.diagnostics import Severity
from fabricc.base.numbers import is_number
from fabricc.fabric.facts import Unplanned
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Statement, session_path
from fabricc.proof.compare import Finding
from fabricc.rules.access import UNDEFINED
from fabricc.rules.findings import finding_at
from fabricc.rules.rule import OTHER, POLICY, SwitchRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fabricc.rules.sessions import Sessions

UNREAD = "FAB9060"
DEFINED = path_pattern("(?:vrf[_]/)?(route_map|prefix_list|community_list|as_path_list|access_list)[*]")


_KINDS = {
    "route_map": "route map", "prefix_list": "prefix list", "community_list": "community list",
    "as_path_list": "list of AS paths", "access_list": "access list", "group": "peer group", "filter": "filter",
    "bfd_profile": "BFD profile", "policy": "traffic policy", "function": "function",
}  # fmt: skip


_SESSION = {
    "import": "route_map", "export": "route_map", "prefix_list_in": "prefix_list", "prefix_list_out": "prefix_list",
    "group": "group",
}  # fmt: skip


_FILTERS = ("filter_in", "filter_out")
"""Leaves of sessions that name the kind of a list and the list: `as_path_list NAME`."""


_PORTS = {
    "access_list_in": "access_list", "access_list_out": "access_list", "setting[ip policy route-map]": "route_map",
    "service_policy[traffic-policy input]": "policy", "service_policy[traffic-policy output]": "policy",
}  # fmt: skip


FUNCTION = re.compile(r"setting\[rcf (?:in|out) (\w+)\(.*\)\]")


_CLASS = "qos/setting[class "


_CLAUSE = {"prefix_list": "prefix_list", "community_list": "community_list", "as_path_list": "as_path_list"}


_MATCHED = {
    "large-community": "community_list", "extcommunity": "community_list", "as-path": "as_path_list",
    "policy": "route_map",
}  # fmt: skip
"""Words of a condition before the name of a list, and its kind."""


_OTHERS = (
    (
        "filter",
        path_pattern("(?:platform|structure)/filter[*]/.*"),
        re.compile(r"platform/filter_input\[.*"),
    ),
    (
        "bfd_profile",
        path_pattern("structure/bfd_profile[*]"),
        re.compile(r"structure/bgp_group.*/bfd_profile"),
    ),
)
"""Kind of a name, the paths that define it, and those that use it."""


_PROCESS = path_pattern(r"(?:vrf[_]/)?bgp/(?:redistribute_\w+|redistribute[_]|network[_])")
_RANGE = path_pattern(r"(?:vrf[_]/)?bgp/listen[_]/setting\[(?:import|export)\]")


_AGGREGATE, _AGGREGATE_MAPS = "bgp/aggregate[", ("route-map", "suppress-map")


_EVPN_POLICY = path_pattern("evpn/neighbor[_]/(?:import|export)")


_INSTANCE_POLICY = path_pattern(r"vrf[_]/(?:(?:im|ex)port|evpn/setting\[ip-prefix-routes (?:im|ex)port\])")


_BY_LIST = ["access-group", "name"]


_ALL = (
    "all", "unfiltered", "none", "true", "false", "ipv4", "ipv6", "not", "internal", "external", "nssa-external",
)  # fmt: skip
"""Words in the place of a name."""


_WORDS = re.compile(r"\w[^\s,\[\]()]*")


_RUN = re.compile(r"[\w.-]+")


def _undefined_names(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report each undefined name once, at its first use; a name that occurs elsewhere too may be defined there."""
    if not statement.once(_undefined_names, lambda: any(_find_undefined(statement))):
        return
    found, misspelled = _find_undefined(statement)
    for kind, name, other in misspelled:
        paths = [path for path in statement.rest if f"{kind}[" in path and f"{other}]" in path]
        message = f"{statement.name}: nothing uses the {_KINDS[kind]} {other}, which is nearly {name}"
        group, remedy = f"misnamed {kind}", "Give both one name."
        yield finding_at(
            UNREAD, statement.device, paths, message, group, Severity.WARNING, remedy, word=other
        )
    having = [
        _lines_with(text, {name for _, name, _ in found}, file)
        for file, text in statement.device.files.items()
    ]
    for kind, name, paths in found:
        elsewhere = any(
            _occurs_elsewhere(statement, lines.get(name, ()), paths, file) for file, lines in having
        )
        if not elsewhere or _is_of_another_kind(statement, name, paths):
            message = f"{statement.name} uses the {_KINDS[kind]} {name}, which is nowhere defined"
            remedy = "Define it, or remove the reference."
            yield finding_at(
                UNDEFINED, statement.device, paths[0], message, f"undefined {kind}", remedy=remedy, word=name
            )
            if len(found) <= _FEW:
                yield from misnamed_definitions(statement, _KINDS[kind], name)


def _find_undefined(
    statement: Statement,
) -> tuple[list[tuple[str, str, list[str]]], list[tuple[str, str, str]]]:
    """Return kind and name of used names without facts, with the paths that use them, and unused names like used ones.

    The latter are of clauses whose name is misspelled: kind, used name, and unused one.
    """
    defined: dict[str, set[str]] = {kind: set() for kind in _KINDS}
    uses: dict[tuple[str, str], list[str]] = {}

    def use(kind: str, value: object, path: str) -> None:
        for name in _WORDS.findall(str(value)):
            if name not in _ALL and not is_number(name):
                uses.setdefault((kind, name), []).append(path)

    for path, value in statement.rest.items():
        if match := DEFINED.match(path):
            kind, name = match.groups()
            defined[kind].add(name.rpartition(" ")[2])
            if kind == "route_map" and is_number(path[match.end() + 1 :]):
                for word, of in _names_in(str(value), statement.device.system):
                    use(of, word, path)
        elif path[0] == "b" and path.startswith(_AGGREGATE):
            for word, name in pairwise(str(value).split()):
                if word in _AGGREGATE_MAPS:
                    use("route_map", name, path)
        elif path[0] == "q" and path.startswith(_CLASS) and (listed := str(value).split())[:2] == _BY_LIST:
            use("access_list", listed[-1], path)
        elif path[0] == "e" and _EVPN_POLICY.fullmatch(path):
            use("route_map", value, path)
        elif path[0] in "ps":
            for kind, definition, usage in _OTHERS:
                if match := definition.fullmatch(path):
                    defined[kind].add(match[1])
                elif usage.fullmatch(path):
                    use(kind, value, path)
        elif (
            (path[0] == "b" and installing_map(path))
            or (
                path[0] in "bv"
                and (_PROCESS.fullmatch(path) or (_RANGE.fullmatch(path) and _is_written(statement, value)))
            )
            or (
                path[0] == "v"
                and _INSTANCE_POLICY.fullmatch(path)
                and ":" not in str(value)
                and value != "auto"
            )
        ):
            use("route_map", value, path)
    for key, values in statement.sessions.items():
        for leaf, kind in _SESSION.items():
            if (named := values.get(leaf)) is not None:
                use(kind, named, session_path(key, leaf))
        for leaf in _FILTERS:
            for first, second in pairwise(str(values.get(leaf, "")).split()):
                if first in _KINDS:
                    use(first, second.rstrip(","), session_path(key, leaf))
        for leaf, named in values.items():
            if leaf.startswith("setting[rcf ") and statement.fars and (match := FUNCTION.fullmatch(leaf)):
                use("function", match[1], session_path(key, leaf))
            for name in maps_of_condition(leaf, named):
                use("route_map", name, session_path(key, leaf))
    for port, values in statement.ports.items():
        for leaf, kind in _PORTS.items():
            if (named := values.get(leaf)) is not None:
                use(kind, named, f"interface[{port}]/{leaf}")
    defined["access_list"] |= defined["filter"]  # those of Junos in front of the CPU
    missing = [(kind, name, paths) for (kind, name), paths in uses.items() if name not in defined[kind]]
    unused = {kind: [each for each in names if (kind, each) not in uses] for kind, names in defined.items()}
    known = [each for each in uses if each[1] in defined[each[0]]]
    few = sum(map(len, unused.values())) <= _FEW
    return missing, [
        (kind, name, other)
        for kind, name in (known if few else ())
        for other in unused[kind]
        if _is_misspelled(other, name)
    ]


def _is_written(statement: Statement, name: object) -> bool:
    """Return whether a file has a name: SONiC makes the policy of ranges by itself."""
    return any(str(name) in text for text in statement.device.files.values())


_FEW = 50
"""Names that a device lacks, or has without a use, up to which they are compared: more are those of another file."""


_SUFFIX = 4
"""Letters that one of two names may have at its end and the other may not."""


def misnamed_definitions(statement: Statement, kind: str, name: str) -> Iterator[Finding]:
    """Report names that are nearly an undefined one, and that one kind of line has: nothing uses what they define."""
    device = statement.device
    for file, text in device.files.items():
        near = {word for word in _RUN.findall(text) if _is_near(word, name)}
        for word in sorted(near):
            found = [
                (number, start)
                for number, line in enumerate(text.split("\n"), 1)
                for start, _, rest in [line.partition(word)]
                if rest != "" or line.endswith(word)
            ]
            if len({start for _, start in found}) == 1 and not _NO_DEFINITION.search(found[0][1]):
                message = f"{device.name}: nothing uses the {kind} {word}, and {name} is not defined"
                place, group = device.paths.get(file, file), f"misnamed {kind}"
                remedy = "Give both one name."
                yield Finding(UNREAD, message, place, found[0][0], group, Severity.WARNING, remedy)


_NO_DEFINITION = re.compile(
    r"^\s*[!#/]|\b(?:description|hostname|match|from|then|redistribute|inherit|import|export)\b|\S\s+route-map\s"
)
"""What stands before a name in a text of people, or where a name is used."""


_WORD_OF_NAME = re.compile(r"[A-Za-z]{4,}")


def _is_misspelled(word: str, name: str) -> bool:
    """Return whether one name is another one with a different letter inside of a word of four letters or more."""
    parts, others = re.split(r"[-_.]", word), re.split(r"[-_.]", name)
    different = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
    return (
        len(parts) == len(others)
        and len(different) == 1
        and all(map(_WORD_OF_NAME.fullmatch, different[0]))
        and different[0][0][:1] + different[0][0][-1] == different[0][1][:1] + different[0][1][-1]
        and _is_near(*different[0])
    )


def find_twin(name: str, others: list[str]) -> str:
    """Return the name that another one may be meant for, "" without one."""
    return next((each for each in sorted(others) if _is_near(each, name)), "")


def _is_near(word: str, name: str) -> bool:
    """Return whether names differ by one letter, two neighboring ones in the other order, or an ending."""
    if word == name or abs(len(word) - len(name)) > _SUFFIX:
        return False
    short, long = sorted((word, name), key=len)
    if long.startswith(short) and len(short) >= _SUFFIX:
        return True
    same = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[same:] == long[same + 1 :]
    one, other = short[same:], long[same:]
    exchanged = one[:2] == other[1::-1] and one[2:] == other[2:]
    return exchanged or (one[1:] == other[1:] and not (is_number(one[0]) and is_number(other[0])))


_AWAY = 6
"""Lines between the one that a fact is put down to and the one that has the name."""


def _lines_with(text: str, names: Collection[str], file: str) -> tuple[str, dict[str, list[int]]]:
    """Return the file, and the numbers of the lines that have each of these names as a word.

    Lines are searched for the runs of letters and digits that names consist of, once for all names, and only the lines
    with the rarest run of a name for the name itself: a device may use many names that nothing defines.
    """
    runs = {name: _RUN.findall(name) for name in names}
    wanted = {run for found in runs.values() for run in found}
    numbers: dict[str, list[int]] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines) if wanted else ():
        for run in wanted.intersection(_RUN.findall(line)):
            numbers.setdefault(run, []).append(number)
    found = {}
    for name, parts in runs.items():
        word = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])")
        rarest = min((numbers.get(run, []) for run in parts), key=len)
        found[name] = [number + 1 for number in rarest if word.search(lines[number])]
    return file, found


_OF_ITEM = 2
"""Lines of each item of a list, of which the fact has the first one."""


def _occurs_elsewhere(statement: Statement, having: Iterable[int], paths: list[str], file: str) -> bool:
    """Return whether a name occurs in lines of a file other than those of its uses: it may be defined there.

    Each use, in their order, accounts for the first line near it that no use before it accounts for, and for all lines
    with the same words: those of another address family.
    """
    places, left = statement.device.reading.lines, {*having}
    text, used = statement.device.files.get(file, "").split("\n") if left else [], set[str]()
    facts = statement.device.reading.facts
    near_of = {places[path][1]: path for path in paths if path in places and places[path][0] == file}
    for line, path in sorted(near_of.items()):
        away = _AWAY + _OF_ITEM * str(facts.get(path, "")).count(",")
        near = (each for each in range(line - away, line + away + 1) if each in left)
        for found in [*islice(near, 1)]:
            left.discard(found)
            used.add(text[found - 1].strip())
    return any(text[each - 1].strip() not in used for each in left)


def _is_of_another_kind(statement: Statement, name: str, uses: Collection[str]) -> bool:
    """Return whether a name is defined, but not as what it is used for; lines that are not read may define anything."""
    key = f"[{name}]"
    defined = any(key in path for path in statement.rest if path not in uses)
    unread = (each for each in statement.device.unknown if not isinstance(each, Unplanned))
    return defined and not any(name in text for _, _, text in unread)


def _names_in(clause: str, system: str) -> Iterator[tuple[str, str]]:
    words = clause.split()
    for word, name in pairwise(words):
        if word in _CLAUSE:
            yield name, _CLAUSE[word]
        elif word == "add_community" and ":" not in name and names_communities(system):
            yield name, "community_list"
        elif word == "prefix-list":
            yield name, "prefix_list"
        elif word == "call":
            yield name, "route_map"
    for first, (word, name) in zip(words, pairwise(words[1:]), strict=False):
        if first == "match" and word in _MATCHED:
            yield name, _MATCHED[word]


def _undefined_references(statement: Statement, _: Sessions) -> Iterator[Finding]:
    """Report names in lines that no row reads, where no other line has the name."""
    uses: dict[tuple[str, str], dict[str, list[int]]] = {}
    for file, line, text in statement.device.unknown:
        for reference in find_references(text):
            uses.setdefault(reference, {}).setdefault(file, []).append(line)
    for unread in statement.device.unknown:
        if unread[2].startswith("class-map "):
            uses.pop(("class map", unread[2].split()[-1]), None)
    names = {name for _, name in uses}
    having = (
        [_lines_with(text, names, file) for file, text in statement.device.files.items()] if names else []
    )
    for (kind, name), files in uses.items():
        found = [(file, line) for file, lines in having for line in lines.get(name, ())]
        if found and all(
            any(0 <= use - line <= _AWAY for use in files.get(file, ())) for file, line in found
        ):
            file, line = found[0]
            message = f"{statement.name} uses the {kind} {name}, which is nowhere defined"
            place = statement.device.paths.get(file, file)
            remedy = "Define it, or remove the reference."
            yield Finding(UNDEFINED, message, place, line, f"undefined {kind}", Severity.WARNING, remedy)


def is_used(statement: Statement, name: str) -> bool:
    """Return whether a session or a port names a policy or a filter."""
    used = [values.get(leaf) for values in statement.sessions.values() for leaf in ("import", "export")]
    used += [values.get(leaf) for values in statement.ports.values() for leaf in _PORTS]
    used += statement.facts_below("platform/filter_input[").values()
    used += statement.facts_below("route_map[").values()  # a policy is a condition of another one
    return any(name in _WORDS.findall(str(each)) for each in used if each is not None)


RULES = (
    SwitchRule(UNDEFINED, OTHER, (), _undefined_references),
    SwitchRule(UNDEFINED, POLICY, (), _undefined_names),
)
