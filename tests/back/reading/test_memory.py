"""The result of a reader does not depend on what it read before: a process reads the texts of a whole fabric."""

from __future__ import annotations

import json
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back import hosts
from fabricc.back import nos as back_ends
from fabricc.back.reading import Reader, Topic
from tests.audit import corpora
from tests.back.hosts import variants as host_variants
from tests.back.reading.test_reading import ROWS, TYPES, finish
from tests.effort import scale_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fabricc.fabric.facts import Reading

    Files = Mapping[str, str]
    Change = Callable[[list[str], random.Random], list[str]]

HOSTS = "hosts"
ALL = (*back_ends.BUILT_IN, HOSTS)
LARGEST = 40_000
"""The largest published text in characters; larger ones show no more about memory, and take longer."""


def forget_readers() -> None:
    """Make all readers as they are in a new process."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("fabricc.back.reading", "fabricc.back.nos", "fabricc.back.hosts")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear") and value.__module__ not in _LASTING:
                    value.cache_clear()
                for reader in _find_readers(value):
                    vars(reader).pop("start", None)
                    vars(reader).pop("typed", None)


_LASTING = ("fabricc.back.nos", "fabricc.back.nos.templating", "fabricc.back.nos.sonic.consumers")
"""Modules whose functions remember nothing of texts that are read, and take long to begin anew."""


def _find_readers(value: object) -> Iterator[Reader]:
    if isinstance(value, Reader):
        yield value
    elif is_dataclass(value) and not isinstance(value, type):
        yield from (each for field in fields(value) if isinstance(each := getattr(value, field.name), Reader))


@cache
def built_files(system: str) -> Sequence[Files]:
    """Files of devices as fabricc writes them."""
    if system == HOSTS:
        return [hosts.render(host) for name, host in host_variants.VARIANTS.items() if name != "other-nic"]
    back_end, variants = back_ends.load(system), import_module(f"tests.back.nos.{system}.variants")
    known = variants.VARIANTS
    switches = [known[name] if isinstance(known, dict) else variants.variant(name) for name in known]
    return [back_end.render(switch) for switch in switches]


@cache
def foreign_files(system: str) -> Sequence[Files]:
    """Files of devices as others write them; what they published is not everywhere."""
    folder = Path(__file__).parents[1] / "nos" / system / "beyond"
    alone = [path for path in sorted(folder.glob("*")) if path.is_file() and path.suffix != ".facts"]
    flat = {path.name: path.read_text() for path in sorted(folder.glob("flat/*"))}
    published = [] if system == HOSTS else corpora.devices(system).values()
    return [
        *({corpora.FILES.get(system, "config_db.json"): path.read_text()} for path in alone),
        *([flat] if flat else ()),
        *(each for each in published if sum(map(len, each.values())) < LARGEST),
    ]


def _choose_part(lines: Sequence[str], chance: random.Random) -> slice:
    first = chance.randrange(len(lines) + 1)
    return slice(first, first + chance.choice((1, 3, 20)))


def _type_lines(lines: list[str], _: random.Random) -> list[str]:
    return [line.strip() for line in lines]


def _indent_part(lines: list[str], chance: random.Random) -> list[str]:
    by = chance.choice(("  ", "\t", "   "))
    return [by * ((len(line) - len(line.lstrip()) + 1) // 2) + line.lstrip() for line in lines]


def _garble_lines(lines: list[str], chance: random.Random) -> list[str]:
    return [" " * chance.randrange(8) + line.lstrip() if chance.random() < 0.1 else line for line in lines]


def _cut_part(lines: list[str], chance: random.Random) -> list[str]:
    part = _choose_part(lines, chance)
    return lines[: part.start] + lines[part.stop :]


def _move_lines(lines: list[str], chance: random.Random) -> list[str]:
    part, to = lines[_choose_part(lines, chance)], chance.randrange(len(lines) + 1)
    return lines[:to] + part + lines[to:]


def _add_carriage_returns(lines: list[str], _: random.Random) -> list[str]:
    return [line + "\r" for line in lines]


def _add_endings(lines: list[str], chance: random.Random) -> list[str]:
    """Return lines that end a block or state nothing, in the forms of people and other systems."""
    for _ in range(4):
        word = chance.choice(("exit", "!", "#", "# a remark", "! a remark", "end", "}", "{"))
        lines.insert(chance.randrange(len(lines) + 1), " " * chance.choice((0, 3, 6)) + word)
    return lines


def _reword_lines(lines: list[str], chance: random.Random) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], re.sub(r"\w+$", "x9", lines[at]), *lines[at + 1 :]]


def _other_form(lines: list[str], _: random.Random) -> list[str]:
    """Return a text in braces as `set` lines, one in JSON on a line: the equivalent other form."""
    try:
        return [json.dumps(json.loads("\n".join(lines)))]
    except ValueError:
        above: list[str] = []
        found = []
        for line in lines:
            output = line.strip()
            if output.endswith("{"):
                above.append(output[:-1].strip())
            elif output == "}":
                del above[-1:]
            elif output.endswith(";"):
                found.append(" ".join(("set", *above, output[:-1])))
        return found or lines


CHANGES: Sequence[Change] = (
    _type_lines, _indent_part, _garble_lines, _cut_part, _move_lines, _add_carriage_returns, _add_endings,
    _add_endings, _reword_lines,
    _other_form,
)  # fmt: skip


def change_files(files: Files, chance: random.Random) -> Files:
    """A copy with one or two changes to one file."""
    name = chance.choice(sorted(files))
    lines = files[name].split("\n")
    for change in chance.choices(CHANGES, k=chance.choice((1, 2))):
        lines = change(lines, chance) if lines else [""]
    return {**files, name: "\n".join(lines)}


def read_everything(system: str, files: Files) -> object:
    """All that is made of a device's files, in its order."""
    back_end: Any = hosts if system == HOSTS else back_ends.load(system)
    reading: Reading = back_end.read(files)
    return list_reading(reading), () if system == HOSTS else sorted(back_end.ignorable(files, reading))


def list_reading(reading: Reading) -> object:
    """A reading, in its order; numbers are no text."""
    unknown = [(type(each), *each) for each in reading.unknown]
    return list(map(repr, reading.facts.items())), list(reading.lines.items()), unknown


def check_repeated_reads(system: str, pool: Sequence[Files], chance: random.Random) -> None:
    """Texts of which some are others with changes, each read several times, in any order."""
    family = chance.choices(pool, k=chance.choice((1, 2)))
    family += [change_files(chance.choice(family), chance) for _ in range(3)]
    alone = []
    for files in family:
        forget_readers()
        alone.append(read_everything(system, files))
    forget_readers()
    for at in chance.choices(range(len(family)), k=3 * len(family)):
        assert read_everything(system, family[at]) == alone[at]


@pytest.mark.parametrize("system", ALL)
@pytest.mark.spread
def test_a_device_is_read_as_in_a_new_process(system: str) -> None:
    check_repeated_reads(system, built_files(system)[:1], random.Random(system))


@pytest.mark.slow
@pytest.mark.parametrize("system", ALL)
def test_any_device_is_read_as_in_a_new_process(system: str) -> None:
    pool = [*built_files(system), *foreign_files(system)]
    for seed in range(100):
        check_repeated_reads(system, pool, random.Random(seed))


@pytest.mark.slow
@pytest.mark.parametrize("system", ALL)
def test_threads_that_share_readers_read_as_one_alone(system: str) -> None:
    """Switches are read at once where they are pushed to and verified."""
    pool, chance, before = (
        [*built_files(system), *foreign_files(system)],
        random.Random(system),
        sys.getswitchinterval(),
    )
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            for _ in range(20):
                family = chance.choices(pool, k=2)
                family += [change_files(each, chance) for each in family]
                alone = [read_everything(system, files) for files in family]
                forget_readers()
                order = chance.choices(range(len(family)), k=4 * len(family))
                found = threads.map(lambda at, family=family: read_everything(system, family[at]), order)
                assert list(found) == [alone[at] for at in order]
    finally:
        sys.setswitchinterval(before)


PIECES = (
    "bgp 1.1", "neighbor p asn 65001", "neighbor p description a", "family ipv4", "neighbor p activate", "vrf red",
    "id 10.0.0.1", "interface e1", "mtu 9000", "shutdown", "exit", "quit", "# a remark", "! a remark", "nothing",
)  # fmt: skip
printed = st.lists(st.tuples(st.sampled_from((0, 3, 3, 6)), st.sampled_from(PIECES)), max_size=8).map(
    lambda lines: "\n".join(" " * indent + line for indent, line in lines)
)
"""Lines at the columns of a system, or typed in any."""


@settings(max_examples=scale_examples(200))
@given(st.lists(printed, min_size=2, max_size=3))
def test_texts_of_lines_are_read_as_by_a_new_reader(texts: list[str]) -> None:
    leave = ("exit", "quit")
    for options in ({}, {"ragged": leave}, {"leave": leave}):
        made = partial(Reader, (Topic(ROWS, finish),), TYPES, **options)  # type: ignore[arg-type]
        one = made()
        for text in 3 * texts:
            assert list_reading(one.read({"f": text})) == list_reading(made().read({"f": text}))
