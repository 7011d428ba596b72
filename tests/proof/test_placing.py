"""Findings stand at the line that was altered: it is found by comparing the files with freshly rendered ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos import load
from fabricc.fabric.facts import Reading
from fabricc.proof import compare
from fabricc.proof.finding_places import Change, Text, find_changes, place_findings, with_one
from tests.effort import scale_examples
from tests.samples import tor

LINES = st.lists(st.sampled_from(["", "a", " b", " c", "d", "!", "exit"]), min_size=1, max_size=30)


@settings(max_examples=scale_examples(300))
@given(LINES, LINES)
def test_the_changes_make_the_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    made, at = [], 1
    for _, expected, found in find_changes({"f": "\n".join(old)}, {"f": "\n".join(new)}):
        made += [*old[at - 1 : expected.start - 1], *new[found.start - 1 : found.stop - 1]]
        at = expected.stop
    assert "\n".join([*made, *old[at - 1 :]]) == "\n".join(new)


def test_a_long_file_with_a_change_at_each_end_has_two_changes() -> None:
    lines = [line for port in range(3000) for line in (f"interface p{port}", " mtu 9100", "!")]
    altered = ["interface q0", *lines[1:-2], " mtu 1500", "!"]
    found = find_changes({"f": "\n".join(lines)}, {"f": "\n".join(altered)})
    assert found == [Change("f", range(1, 2), range(1, 2)), Change("f", range(8999, 9000), range(8999, 9000))]


def test_missing_block_among_similar_blocks_is_one_change() -> None:
    blocks = [[f'"p{n}": {{', '    "mtu": "9100",', '    "fec": "rs"', "},"] for n in range(4)]
    old = [line for block in blocks for line in block]
    new = ['"p0": {', '    "mtu": "1500",', *old[2:8], *old[12:15], "}"]
    found = find_changes({"f.json": "\n".join(old)}, {"f.json": "\n".join(new)})
    assert found == [Change("f.json", range(2, 3), range(2, 3)), Change("f.json", range(9, 13), range(9, 9))]


def test_one_change_alone_leaves_json_that_can_be_read() -> None:
    old = {"f.json": '{\n  "a": "1",\n  "b": "2"\n}'}
    for new in ('{\n  "a": "1"\n}', '{\n  "a": "1",\n  "b": "2",\n  "c": "3"\n}'):
        (each,) = find_changes(old, {"f.json": new})
        assert with_one(each, old, {"f.json": new}) == {"f.json": new}


def find_in_altered(altered: dict[str, str], *, by_hand: bool = True) -> list[tuple[str, str, int, str]]:
    """Return the findings about an FRR switch whose files were altered."""
    switch, back_end = tor(), load("frr")
    files = back_end.render(switch)
    found = Text({**files, **altered}, back_end.read({**files, **altered}))
    mismatches = compare(back_end.planned(switch), found.reading)
    expected = Text(files, back_end.read(files))
    reader = back_end.read if by_hand else None
    findings = place_findings("tor1", mismatches, found.reading.unknown, expected, found, reader)
    return [(each.code, each.file, each.line, each.message) for each in findings]


def read_conf() -> tuple[str, dict[str, int]]:
    """An FRR switch's `frr.conf`, and where each line first stands in it."""
    text = load("frr").render(tor())["frr.conf"]
    places: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        places.setdefault(line, number)
    return text, places


def test_unchanged_files_have_no_findings() -> None:
    assert find_in_altered({}) == []


def test_a_line_left_out_is_reported_where_it_belongs_and_by_its_text() -> None:
    text, places = read_conf()
    line = " neighbor UPSTREAM-V4 bfd profile FABRIC"
    assert line in places
    ((code, file, number, message),) = find_in_altered({"frr.conf": text.replace(f"{line}\n", "", 1)})
    assert (code, file, number) == ("FAB6001", "frr.conf", places[line] - 1)
    assert message.endswith("; 'neighbor UPSTREAM-V4 bfd profile FABRIC' is missing after this line")


def test_one_altered_line_is_not_a_page_of_findings() -> None:
    text, places = read_conf()
    (line,) = (line for line in places if line.startswith("router bgp "))
    found = find_in_altered({"frr.conf": text.replace(line, "router odd")})
    assert {(file, number) for _, file, number, _ in found} == {("frr.conf", places[line])}
    assert len(found) <= 7
    assert f"the build writes '{line}' here" in found[0][3]
    assert "more at this line)" in found[0][3]


def test_two_changed_lines_give_two_findings() -> None:
    text, places = read_conf()
    first = next(line for line in places if line.startswith("ip prefix-list OWN-V4"))
    second = "  maximum-paths 64"
    altered = text.replace(first, first.replace("/", "1/")).replace(second, "  maximum-paths 32")
    found = find_in_altered({"frr.conf": altered})
    assert {number for _, _, number, _ in found} == {places[first], places[second]}


def test_a_line_that_states_no_fact_is_reported_when_files_were_altered_by_hand() -> None:
    text, places = read_conf()
    altered = {"frr.conf": text.replace("service integrated-vtysh-config\n", "")}
    ((code, file, number, message),) = find_in_altered(altered)
    assert (code, file, number) == ("FAB6006", "frr.conf", places["service integrated-vtysh-config"] - 1)
    assert "'service integrated-vtysh-config' is missing after this line" in message
    assert find_in_altered(altered, by_hand=False) == []


def test_a_line_of_no_fact_is_reported_without_its_text_which_may_be_a_secret() -> None:
    text, places = read_conf()
    found = find_in_altered(
        {"frr.conf": text.replace("service integrated-vtysh-config", "! password letmein")}
    )
    assert [(code, number) for code, _, number, _ in found] == [
        ("FAB6006", places["service integrated-vtysh-config"])
    ]
    assert "letmein" not in found[0][3]


def test_a_file_that_is_gone_is_named_for_what_it_states() -> None:
    switch, back_end = tor(), load("frr")
    files = back_end.render(switch)
    left = {name: text for name, text in files.items() if name != "sysctl.conf"}
    found = Text(left, back_end.read(left))
    mismatches = compare(back_end.planned(switch), found.reading)
    findings = list(
        place_findings("tor1", mismatches, (), Text(files, back_end.read(files)), found, back_end.read)
    )
    assert {(each.code, each.file, each.line) for each in findings} == {("FAB6001", "sysctl.conf", 0)}
    assert "; the file sysctl.conf is missing" in findings[0].message


def test_a_text_in_another_order_keeps_the_places_of_its_reader() -> None:
    def read(text: str) -> Reading:
        reading = Reading()
        for number, line in enumerate(text.split("\n"), 1):
            key, _, value = line.partition("=")
            reading.put(f"x/{key}", value, "f", number)
        return reading

    old, new = "a=1\nb=2\nc=3\nd=4\n", "d=4\nc=0\nb=2\na=1\n"
    found = Text({"f": new}, read(new))
    mismatches = compare(read(old).facts, found.reading)
    findings = list(place_findings("tor1", mismatches, (), Text({"f": old}, read(old)), found))
    assert [(each.line, each.message) for each in findings] == [
        (2, "tor1: x/c is 0 in the file and 3 in the plan")
    ]
