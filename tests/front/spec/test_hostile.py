"""No input makes the front end raise, hang or stay silent: each hostile spec ends in an error with a place."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.formats import FORMATS
from fabricc.front.spec.load import Loaded, load_spec, read_spec
from tests.base.diagnostics.samples import render
from tests.effort import scale_examples
from tests.front.spec.samples import FULL, SHORT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOT_NAMES = [
    "../../etc/passwd", "/etc/passwd", "..", "a/../b", "$(reboot)", "`id`", "a;b", "a|b", "a&b", "${HOME}", "a'b",
    'a"b', "a!b", "a\\b", "-rf", "a b", "UPPER", "\u0430dmin", "\uff41", "é", "a\u200db", "{{ x }}", "{% x %}",
    "a" * 65, "", "%0a",
    "a\n", "\na", "a\nusername root", "a\r\nb", "a\tb", "a\x00b", "a\x1b[31m", "a\u2028b", "a\x85b", "\u202ea",
]  # fmt: skip
WRONG = [
    None, -1, 10**15, 1e300, 0.05, [], [[[]]], [None], {"x": 1}, {"": {}}, {"a\nb": {}}, float("nan"), float("inf"),
    10**40, "a\nno shutdown", "../x", "$(x)", "\u0430dmin", "a" * 5000,
]  # fmt: skip


def each_path(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, part in entries:
        yield (*path, key)
        yield from each_path(part, (*path, key))


def replace_value(whole: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[path[0]] = replace_value(whole[path[0]], path[1:], value)
    return copy


def rename_key(whole: Any, path: tuple[str | int, ...], key: str) -> Any:
    if len(path) == 1:
        return {key if name == path[0] else name: part for name, part in whole.items()}
    copy = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[path[0]] = rename_key(whole[path[0]], path[1:], key)
    return copy


def dump_value(value: Any) -> bytes:
    """As JSON, which is YAML too, but for the numbers that are none."""
    return json.dumps(value, indent=1).replace("NaN", ".nan").replace("Infinity", ".inf").encode()


def wrong_values() -> Iterator[bytes]:
    whole = yaml.safe_load(FULL)
    for path in each_path(whole):
        for value in WRONG:
            if not (
                value == [] and path[-1] in ("catalog", "ntp", "dns", "syslog", "access", "users", "accept")
            ):
                yield dump_value(replace_value(whole, path, value))


def wrong_keys() -> Iterator[bytes]:
    whole = yaml.safe_load(FULL)
    # A class, rack, device or port may well be called `unknown`.
    named_by_users = (
        ("priorities",),
        ("overrides",),
        ("gpus", "groups", 0, "racks"),
        ("overrides", "tor-a01", "ports"),
    )
    for path in each_path(whole):
        keys = ["../x", "a\nb", "$(x)", "\u00dcnder"]
        keys += [] if path[:-1] in named_by_users else ["unknown"]
        for key in keys if isinstance(path[-1], str) else ():
            yield dump_value(rename_key(whole, path, key))


def bad_names() -> Iterator[bytes]:
    whole = yaml.safe_load(FULL)
    user = ("management", "users", 0)
    texts = [
        ("cluster",), ("catalog", 0), ("gpus", "groups", 0, "name"), ("gpus", "groups", 1, "model"),
        ("gpus", "groups", 1, "hosts", 0), ("tors", "nos"), ("management", "ntp", 0), (*user, "name"),
        (*user, "ssh_key"),
        ("accept", 0, "code"), ("addressing", "hosts"), ("management", "gateway"),
        ("management", "access", 0), ("management", "tacacs", "servers", 0),
        ("management", "tacacs", "key", "secret"), ("management", "snmp", "location"),
    ]  # fmt: skip
    for path in texts:
        for name in NOT_NAMES:
            if not (path[-1] == "location" and name == "UPPER"):
                yield dump_value(replace_value(whole, path, name))
    for path in [
        ("priorities", "rdma"),
        ("overrides", "tor-a01"),
        ("overrides", "tor-a01", "ports", "Ethernet8"),
    ]:
        for name in NOT_NAMES:
            if not (path[-1] == "Ethernet8" and name == "UPPER"):
                yield dump_value(rename_key(whole, path, name))


def each_bomb() -> Iterator[bytes]:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    yield "\n".join(laughs).encode()
    yield b"a: &a [*a]"
    yield b"a: &a {b: *a}"
    yield b"? &a {*a : 1}\n: 2"
    yield b"a: *missing"
    chain = ["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200))]
    yield "\n".join(chain).encode()
    yield b"[" + b"&a ," * 510_000 + b"]"
    for opener in (b"[", b"{", b"- ", b"{a: ", b"[[{", b"? ", b"? - ", b"a: [{b: ["):
        yield opener * 100_000
    yield b"".join(b" " * depth + b"a:\n" for depth in range(3000))
    yield b"a: " * 100_000
    yield b'"' * 1_000_000
    yield b"a: '" + b"x" * 10_000_000
    yield b"a: " + b"9" * 5_000_000
    yield b"a: 1e" + b"9" * 5_000_000
    yield b"#" * 17_000_000
    yield b"\n" * 16_000_000
    yield b"[" + b"a," * 510_000 + b"]"
    yield "".join(f"k{i}: {{}}\n" for i in range(30_000)).encode()
    yield b"a: 1\n" * 100_000
    yield SHORT.replace("hosts: 128", "hosts: [" + "1," * 50_000 + "]").encode()
    yield SHORT.replace("hosts: 128", "hosts: [" + "a," * 50_000 + "]").encode()
    yield SHORT.replace("zone-a", "a-" * 2000 + "!").encode()


FRAGMENTS = [
    b"", b" ", b"\n", b"#", b"---", b"...", b"--- ---", b"---\n---\n", b"%YAML 9.9\n---\na: 1", b"%", b"null",
    b"true", b"1", b".nan", b"[]", b"{}", b"a", b"- a", b"'", b'"\\', b"!!python/object:os.system x", b"&", b"*",
    b"a: !!binary x", b"a: !x y", b"<<: {a: b}", b"a: {<<: *b}", b"? {a: b}\n: c", b"1: a", b"true: a", b": a",
    b"a: >\n\tb", b"a: |9\n b", b"a: b: c", b"a: [b", b"a: {b", b"a: @b", b"a: `b", b"a: %b", b"- a\nb: c",
    b"\xef\xbb\xbf", b"\xef\xbb\xbf\xef\xbb\xbfa", b"\xff" * 100, b"\x00" * 100, b"\x80", b"a: \xed\xa0\x80",
    b"a: \xc0\xaf", b"a: \xf4\x90\x80\x80", b"PK\x03\x04", b'a: "\\ud800"', b'a: "\\U99999999"', b'a: "\\x1b[2J"',
    b'a: "\\0"', b"a: \x1b[2J", b"\x7fELF\x02\x01\x01",
]  # fmt: skip
NUMBERS = [
    b".inf", b"-.Inf", b".NaN", b"1e999", b"-1e999", b"9" * 19, b"-" + b"9" * 400, b"0x80", b"0o17", b"012", b"1_000",
    b"12:30", b"128.5", b"-0", b"+-1", b"~", b"2024-01-01",
]  # fmt: skip


def broken_text() -> Iterator[bytes]:
    whole = SHORT.encode()
    yield from FRAGMENTS
    yield from (whole.replace(b"\n", b"\n\t", 3), whole + b"---\n" + whole, whole + whole)
    yield from (SHORT.encode("utf-16"), SHORT.encode("utf-16-le"), SHORT.encode("utf-32"))
    for at in range(0, len(whole), 7):
        yield whole[:at] + b"\xe9" + whole[at:]
        yield whole[:at] + b"\x00" + whole[at:]
    for number in NUMBERS:
        yield whole.replace(b"hosts: 128", b"hosts: " + number)


FAMILIES = {
    "wrong value at every path": wrong_values,
    "wrong key at every path": wrong_keys,
    "names that could leave their line or folder": bad_names,
    "bombs": each_bomb,
    "broken text": broken_text,
}
STEPS = {
    "wrong value at every path": 15,
    "wrong key at every path": 9,
    "names that could leave their line or folder": 15,
    "bombs": 2,
}
"""Of which families the ordinary run takes but every so many-th: at other paths other ones, bombs of other kinds."""


def check_told(loaded: Loaded, source: bytes) -> None:
    shown = source[:200]
    errors = [each for each in loaded.diagnostics if each.severity is Severity.ERROR]
    assert errors, shown
    assert loaded.spec is None, shown
    assert all(each.position and each.position.line > 0 and each.position.column > 0 for each in errors), (
        shown
    )
    assert len(loaded.diagnostics) <= 201, shown
    for each in loaded.diagnostics:
        assert (each.message + each.help).isprintable(), shown
        assert len(each.message) < 400, shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "step"),
    [*((name, STEPS.get(name, 1)) for name in FAMILIES),
     *((name, 1) for name in STEPS)],
)  # fmt: skip
def test_each_ends_in_an_error_with_a_place(family: str, step: int) -> None:
    for source in islice(FAMILIES[family](), 0, None, step):
        loaded = read_spec(source, "cluster.yaml")
        check_told(loaded, source)
        for form in FORMATS if len(source) < 100_000 else ("json",):
            assert render(loaded.diagnostics, form, {"cluster.yaml": loaded.text})


@pytest.mark.parametrize("size", [16 * 1024 * 1024 + 1, 100_000_000, 1 << 40])
def test_a_file_too_large_is_not_read_to_its_end(tmp_path: Path, size: int) -> None:
    path = tmp_path / "cluster.yaml"
    with path.open("wb") as stream:
        stream.truncate(size)
    loaded = load_spec(path)
    assert [each.code for each in loaded.diagnostics] == ["FAB0003"]


@pytest.mark.slow
def test_the_corpus_is_large_and_its_inputs_differ() -> None:
    inputs = [hash(source) for family in FAMILIES.values() for source in family()]
    assert len(inputs) > 2000
    assert len(set(inputs)) > 0.9 * len(inputs)


EDITS = st.lists(
    st.tuples(st.integers(0, len(FULL)), st.integers(0, 12), st.one_of(st.binary(max_size=6), st.sampled_from(
        [b"\n", b"\t", b": ", b"- ", b"{", b"}", b"[", b"]", b"&a ", b"*a", b"!!x ", b"'", b'"', b"#",
         b"\r", b"? ", b"|", b">"]
    ))),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=scale_examples(600), deadline=None)
@given(st.sampled_from([SHORT.encode(), FULL.encode()]), EDITS)
def test_no_edit_of_a_valid_spec_makes_it_raise(source: bytes, edits: list[tuple[int, int, bytes]]) -> None:
    for at, cut, new in edits:
        source = source[:at] + new + source[at + cut :]
    loaded = read_spec(source, "cluster.yaml")
    assert (loaded.spec is None) == any(each.severity is Severity.ERROR for each in loaded.diagnostics)
    render(loaded.diagnostics, "text", {"cluster.yaml": loaded.text})


@settings(max_examples=scale_examples(200), deadline=None)
@given(st.binary(max_size=200))
@example("\u00a0".encode())
def test_no_bytes_make_it_raise(source: bytes) -> None:
    check_told(read_spec(source, "cluster.yaml"), source)
