"""How YAML is read: what a plain word means, where things stand, and a diagnostic for all that a spec cannot hold."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.diagnostics import TITLES, Position
from fabricc.base.documents import reader
from fabricc.base.documents.reader import parse_yaml

REFUSED = {
    "FAB0003": (b"#" * (16 * 1024 * 1024 + 1), 1, 1),
    "FAB0004": (b"a: b\nc: \xc3\xa9\xe9", 2, 5),
    "FAB0005": (b"a: b\r\nc: \x1b[31m", 2, 4),
    "FAB0006": (b"# nothing\n", 1, 1),
    "FAB0007": (b"a: {b: 1\nc: 2\n", 1, 4),
    "FAB0008": (b"a:\n\tb: 1\n", 2, 1),
    "FAB0009": (b"a: 1\nb: 2\na: 3\n", 3, 1),
    "FAB0010": (b"a: 1\n2: b\n", 2, 1),
    "FAB0011": (b"a: " + b"[" * 100, 1, 67),
    "FAB0012": (b"[" + b"a," * 500_001 + b"]", 1, 1_000_000),
    "FAB0013": (b"a: 1234567890123456789", 1, 4),
    "FAB0014": (b"a:\n  b: .nan", 2, 6),
    "FAB0015": (b"a: !!python/name:os.system x", 1, 4),
    "FAB0016": (b"a: 1\n---\nb: 1\n", 2, 1),
    "FAB0017": (b"a: &a [1, *a]", 1, 11),
    "FAB0018": (b"a: &a [" + b"x," * 5000 + b"]\nb: [*a, *a]", 2, 9),
    "FAB0019": (b"a: &a {b: 1}\nc:\n  <<: *a\n", 3, 3),
    "FAB0020": (b"a: " + b"x" * 4097, 1, 4),
}


@pytest.mark.parametrize("opener", ["[", "{a: ", "[{a: "])
def test_deep_nesting_is_reported_by_depth_and_not_by_the_parser_that_gives_up_first(opener: str) -> None:
    (found,) = parse_yaml("b: 1\na: " + opener * 100_000, "f").diagnostics
    assert found.code == "FAB0011"
    assert found.position.line == 2


@pytest.mark.parametrize("code", REFUSED)
def test_unsupported_yaml_is_reported_at_its_position(code: str) -> None:
    source, line, column = REFUSED[code]
    (each,) = parse_yaml(source, "f").diagnostics
    assert (each.code, each.position) == (code, Position("f", line, column))


def test_every_code_of_the_reader_is_among_them() -> None:
    assert {code for code in TITLES if "FAB0003" <= code < "FAB0030"} == set(REFUSED)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-7", -7), ("+7", 7), ("0", 0), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0),
        ("true", True), ("false", False), ("null", None), ("~", None), ("", None),
        ("yes", "yes"), ("on", "on"), ("No", "No"), ("True", "True"), ("NULL", "NULL"),
        ("012", "012"), ("0x10", "0x10"), ("0o17", "0o17"), ("1_000", "1_000"), ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"), ("1.2.3.4", "1.2.3.4"), ("10.0.0.0/8", "10.0.0.0/8"), ("-", "-"),
        ("'1'", "1"), ('"true"', "true"), ("nan", "nan"), ("\u0661", "\u0661"),
    ],
)  # fmt: skip
def test_plain_scalars_have_their_yaml_types(text: str, value: object) -> None:
    document = parse_yaml(f"a: {text}" if text != "-" else "a: '-'", "f")
    assert document.diagnostics == ()
    assert document.value == {"a": value}
    assert type(document.value["a"]) is type(value)


def test_where_things_stand() -> None:
    document = parse_yaml("a:\n  - x\n  - {b: 1,\n     c: [2]}\n", "f")
    assert {path: (place.line, place.column) for path, place in document.positions.items()} == {
        (): (1, 1),
        ("a",): (1, 1),
        ("a", 0): (2, 5),
        ("a", 1): (3, 5),
        ("a", 1, "b"): (3, 6),
        ("a", 1, "c"): (4, 6),
        ("a", 1, "c", 0): (4, 10),
    }
    assert document.value_position(("a", 1, "b")) == Position("f", 3, 9)
    assert document.value_position(("a",)) == Position("f", 1, 1)
    assert document.value_position(("a", 1, "absent")) == Position("f", 3, 5)


def test_columns_count_characters() -> None:
    document = parse_yaml("{网: 1, é: 2}", "f")
    assert document.positions["é",].column == 8


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abcxyz019 .-:#{}[]'\"é", max_size=12),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text("abcxyz019", min_size=1, max_size=6), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(VALUES, st.booleans())
def test_output_of_a_yaml_library_is_read(value: object, flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True, width=200)
    document = parse_yaml(text, "f")
    # The writer's floats may need more digits than any quantity of a spec has.
    if not any(each.code == "FAB0013" for each in document.diagnostics):
        assert document.diagnostics == ()
        assert document.value == value


@pytest.mark.parametrize("code", sorted(set(REFUSED) - {"FAB0003", "FAB0012"}))
def test_the_parser_in_pure_python_refuses_the_same(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "EventLoader", yaml.Loader)
    source, line, _ = REFUSED[code]
    (each,) = parse_yaml(source, "f").diagnostics
    assert each.code == code
    assert each.position is not None
    assert each.position.line == line
