"""The reading engine: rows state facts of lines in any order and syntax, and unknown lines are listed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back import nos as back_ends
from fabricc.back.reading import tree, trie
from fabricc.back.reading.reader import Reader, Topic
from fabricc.back.reading.rows import Block, Each, Entry, Fact, Keep, Silent
from fabricc.back.reading.scope import StoredValue, agreed_facts
from fabricc.back.reading.yaml_lines import block_style
from fabricc.fabric.facts import Reading
from tests.back.reading.compiled import compiled_blocks
from tests.effort import scale_examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.back.reading.rows import Row, Types
    from fabricc.back.reading.scope import Document
    from fabricc.back.reading.tree import Node
    from fabricc.back.reading.trie import State


def equal_interval(interval: int, again: int) -> dict[str, str | int] | None:
    return {"bfd/interval_ms": interval} if interval == again else None


def finish(document: Document) -> None:
    for name, scope in document.scope.each("interface").items():
        for port in name if isinstance(name, tuple) else (name,):
            for leaf, (value, line) in scope.values.items():
                document.put(f"interface[{port}]/{leaf}", value, line)
    for bgp in document.scope.each("bgp").values():
        for peer, scope in bgp.each("neighbor").items():
            for leaf, (value, line) in scope.values.items():
                document.put(f"neighbor[{peer}]/{leaf}", value, line)
    for name, scope in document.scope.each("list").items():
        for index, (value, line) in enumerate(scope.ordered_entries("rule")):
            document.put(f"list[{name}]/{index}", value, line)
    if servers := document.scope.table("ntp"):
        document.put("ntp", ",".join(sorted(map(str, servers))), max(line for _, line in servers.values()))


ROWS: Sequence[Row] = (
    Fact("hostname <word>", "hostname"),
    Fact("user <word> [role <word>] key <rest>", {"user[{0}]/key": "{2}", "user[{0}]/role": "{1}"}),
    Fact("interval <integer> min-rx <integer>", equal_interval),
    Fact("class <0-63>... to <0-7>", "classes", "{1} of {0}"),
    Entry("ntp server <word> [iburst|prefer]", "ntp"),
    Silent("(no|default) routing"),
    Block(
        "interface <ports>",
        "interface",
        (
            Keep("description <rest>", "description"),
            Keep("mtu <68-9214>", "mtu"),
            Keep("speed <speed>", {"speed_gbps": "{1}"}),
            Keep("shutdown", "enabled", "false"),
            Keep("no shutdown", "enabled", "true"),
            Keep("address <prefix>", "address"),
        ),
    ),
    Block("list <word>", "list", (Entry("seq <integer> permit <prefix>", "rule"),)),
    Block(
        "bgp <asn>",
        "bgp",
        (
            Each("neighbor <word>", "neighbor", (Keep("description <rest>", "description"), Keep("asn <asn>", "asn"))),
            Block("family (ipv4|ipv6)", "", (Each("neighbor <word>", "neighbor", (Keep("activate", "active"),)),)),
            Block("vrf <word>", "", (Fact("id <address4>", "id[{1}]"),)),
        ),
    ),
    Fact("bgp <asn>", "asn"),
)  # fmt: skip
TYPES: Mapping[str, Mapping[str, int]] = {"speed": {"40g": 40, "400g": 400}}


def reader(syntax: str = "indented") -> Reader:
    if syntax == "nested":
        return Reader((Topic(ROWS, finish),), TYPES, leave=("exit", "quit"))
    return Reader((Topic(ROWS, finish),), TYPES, None if syntax == "indented" else getattr(tree, syntax))


def read(text: str, syntax: str = "indented") -> Reading:
    return reader(syntax).read({"f": text})


TEXT = """\
hostname  a
user x role admin key ssh-ed25519  AAAA b
user y key k
class 0 1 8 to 3
interval 300 min-rx 300
ntp server b iburst
ntp server a
ntp server b
no routing
!
interface e1
   description to  the   host
   mtu 9000
   speed 400g
   !
   no shutdown
interface e2/1-2,4
   shutdown
list l
   seq 20 permit 10.1.0.0/16
   seq 10 permit 10.0.0.0/16
bgp 1.1
   neighbor p asn 65001
   neighbor p description a  peer
   family ipv4
      neighbor p activate
   vrf red
      id 10.0.0.1
"""
FACTS = {
    "hostname": "a",
    "user[x]/key": "ssh-ed25519  AAAA b",
    "user[x]/role": "admin",
    "user[y]/key": "k",
    "classes": "3 of (0, 1, 8)",
    "bfd/interval_ms": 300,
    "ntp": "a,b",
    "interface[e1]/description": "to  the   host",
    "interface[e1]/mtu": 9000,
    "interface[e1]/speed_gbps": 400,
    "interface[e1]/enabled": "true",
    "interface[e2/1]/enabled": "false",
    "interface[e2/2]/enabled": "false",
    "interface[e2/4]/enabled": "false",
    "list[l]/0": "10.0.0.0/16",
    "list[l]/1": "10.1.0.0/16",
    "asn": 65537,
    "neighbor[p]/asn": 65001,
    "neighbor[p]/description": "a  peer",
    "neighbor[p]/active": "true",
    "id[red]": "10.0.0.1",
}


def test_rows_turn_lines_into_facts() -> None:
    reading = read(TEXT)
    assert reading.facts == FACTS
    assert reading.unknown == []


def test_every_fact_has_its_line() -> None:
    lines = TEXT.split("\n")
    reading = read(TEXT)
    assert reading.lines.keys() == FACTS.keys()
    at = {path: lines[line - 1].strip() for path, (_, line) in reading.lines.items()}
    assert at["user[x]/role"].startswith("user x")
    assert at["list[l]/0"] == "seq 10 permit 10.0.0.0/16"
    assert at["neighbor[p]/active"] == "neighbor p activate"
    assert at["ntp"] == "ntp server b"


def top_blocks(text: str) -> list[list[str]]:
    """The text as its top lines, each with the lines below."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line[0] == " ":
            found[-1].append(line)
        else:
            found.append([line])
    return found


@settings(max_examples=scale_examples(100), deadline=None)
@given(st.permutations(top_blocks(TEXT)), st.randoms(use_true_random=False))
def test_line_order_does_not_change_facts(order: list[list[str]], random: object) -> None:
    shuffled = []
    for block in order:
        own = block[1:]
        if not any(line.startswith("      ") for line in own):
            random.shuffle(own)  # type: ignore[attr-defined]
        shuffled += [block[0], *own]
    reading = read("\n".join(shuffled))
    assert reading.facts == FACTS
    assert reading.unknown == []


@pytest.mark.parametrize(
    "line",
    [
        "hostname", "hostname a b", "interval 300 min-rx 301", "interval x min-rx x", "class 64 to 3", "class to 3",
        "interface e1\n   mtu 67", "interface e1\n   mtu ٩٩", "interface e1\n   speed 50g", "interface e1 mtu 9000",
        "interface e1\n   address 10.0.0.0/33", "interface e1\n   address fd00::/129", "bgp 1.x",
        "interface e9-1\n   mtu 9000", "bgp 1\n   neighbor p", "bgp 1\n   family ipv4\n      neighbor p asn 1",
        "routing\n   mtu 9000",
        "nothing\n   hostname b",
        "interface e1\n   nothing\n      mtu 9000", "mtu 9000", "ntp server a prefer iburst", "hostname a\n   mtu 9000",
        "bgp " + "9" * 100_000, "hostname " + "a" * 100_000,
    ],
)  # fmt: skip
def test_unmatched_lines_are_listed(line: str) -> None:
    reading = read("hostname z\n" + line)
    before = read("hostname z\n" + "\n".join(line.split("\n")[:-1]))
    assert reading.unknown[-1][1:] == (line.count("\n") + 2, line.rpartition("\n")[2].strip())
    assert reading.facts == before.facts or line.startswith("interface e9-1")


BRACES = """\
bgp 1.1 {
    neighbor p {
        asn 65001;
        description "a  peer";
    }
    vrf red {
        id 10.0.0.1;
    }
}
interface e1 {
    mtu 9000;
    inactive: speed 40g;
    nothing {
        known here;
    }
}
interface {
    e2 {
        mtu 1500;
    }
}
ntp {
    server [ a b ];
}
"""
SET = """\
set bgp 1.1 neighbor p asn 65001
set bgp 1.1 neighbor p description "a  peer"
set bgp 1.1 vrf red id 10.0.0.1
set interface e1 mtu 9000
set interface e1 speed 40g
set interface e1 nothing known here
set interface e2 mtu 1500
set ntp server [ a b ]
deactivate interface e1 speed
"""
YAML = """\
bgp:
  "1.1":
    neighbor:
      p:
        asn: 65001
        description: a  peer
    vrf:
      red:
        id: 10.0.0.1
interface:
  e1:
    mtu: 9000
    nothing:
      known: here
  e2:
    mtu: 1500
ntp:
  server:
  - a
  - b
"""
JSON = """\
{
  "bgp": {"1.1": {"neighbor": {"p": {"asn": 65001, "description": "a  peer"}},
                  "vrf": {"red": {"id": "10.0.0.1"}}}},
  "interface": {
    "e1": {"mtu": "9000",
      "nothing": {"known": "here"}},
    "e2": {"mtu": 1500}
  },
  "ntp": {"server": ["a", "b"]}
}
"""
STATED = {
    "neighbor[p]/asn": 65001,
    "neighbor[p]/description": "a  peer",
    "id[red]": "10.0.0.1",
    "interface[e1]/mtu": 9000,
    "interface[e2]/mtu": 1500,
    "ntp": "a,b",
}


@pytest.mark.parametrize(
    ("syntax", "text", "unknown"),
    [
        (
            "braces",
            BRACES,
            [(12, "inactive: interface e1 speed 40g"), (14, "interface e1 nothing known here")],
        ),
        (
            "commands",
            SET,
            [
                (5, "inactive: interface e1 speed 40g"),
                (6, "interface e1 nothing known here"),
                (9, "deactivate interface e1 speed"),
            ],
        ),
        ("parse_structured_text", YAML, [(14, "interface e1 nothing known here")]),
        ("parse_structured_text", JSON, [(6, "interface e1 nothing known here")]),
    ],
)
def test_the_same_rows_read_every_syntax(syntax: str, text: str, unknown: list[tuple[int, str]]) -> None:
    reading = read(text, syntax)
    assert reading.facts == STATED
    assert [(line, words) for _, line, words in reading.unknown] == unknown
    mtu = next(number for number, line in enumerate(text.split("\n"), 1) if "1500" in line)
    assert reading.lines["interface[e2]/mtu"] == ("f", mtu)


def test_repeated_single_values_are_listed() -> None:
    rows = (
        Block("list <word>", "list", (Keep("mtu <integer>", {"mtu": "{1}", "size": "{1}"}),), once=True),
        Each("peer <word>", "peer", (Keep("asn <asn>", "asn"), Keep("name <rest>", "name")), once=True),
    )
    text = "list a\n  mtu 1\nlist b\n  mtu 1\n  mtu  1\npeer p asn 1\npeer p name x\npeer p asn 2\npeer q asn 2\n"
    reading = Reader((Topic(rows),), {}).read({"f": text})
    assert reading.unknown == [("f", 5, "mtu 1"), ("f", 8, "peer p asn 2")]


NESTED = """\
# a comment
bgp 1.1
neighbor p asn 65001
family ipv4
  ! another
  neighbor p description a  peer
    vrf red
 id 10.0.0.1
 exit
exit
exit
exit
neighbor p activate
interface e1
mtu 9000
nothing   known here
interface e2
 mtu 1500
ntp server b
 ntp server a
mtu 9000
"""


def test_a_line_goes_on_in_the_innermost_block_that_knows_it() -> None:
    reading = read(NESTED, "nested")
    assert reading.facts == {**STATED, "asn": 65537}
    assert reading.unknown == [
        ("f", 13, "neighbor p activate"),
        ("f", 16, "nothing known here"),
        ("f", 21, "mtu 9000"),
    ]


def test_words_that_a_row_names_go_before_the_thing_that_lines_are_about() -> None:
    rows = (
        Each("peer <word>", "peer", (Keep("as <asn>", "asn"), Keep("text <rest>", "text"))),
        Each("peer any <word>", "any", (Keep("as <asn>", "asn"),)),
        Each("group <word>", "peer", (Keep("as <asn>", "asn"), Block("inner", "inner", (Keep("x", "x"),)))),
    )

    def stated(document: Document) -> None:
        for kind in ("peer", "any"):
            for name, scope in document.scope.each(kind).items():
                output = {leaf: value for leaf, (value, _) in scope.values.items()}
                document.put(f"{kind}[{name}]", str(output | dict.fromkeys(scope.scopes)), scope.line)

    reading = Reader((Topic(rows, stated),), {}, leave=("exit",)).read(
        {
            "f": "peer a as 1\npeer b as 1\npeer any as 2\npeer any c as 3\npeer a text  d  e \n"
            "group g as 1\ngroup g inner\nx\nexit\npeer a as one\npeer any text f\n"
        }
    )
    assert reading.facts == {
        "peer[a]": "{'asn': 1, 'text': 'd  e'}",
        "peer[b]": "{'asn': 1}",
        "peer[any]": "{'asn': 2, 'text': 'f'}",
        "any[c]": "{'asn': 3}",
        "peer[g]": "{'asn': 1, 'inner': None}",
    }
    assert reading.unknown == [("f", 10, "peer a as one")]


ASSIGNED = """\
# a comment
bgpd=yes
 net.ipv4.ip_forward = 1
net.ipv4.neigh.gc = many
bgpd_options="  -A 127.0.0.1   -s 9 "
no assignment
[Time]
; another
NTP=b a
[Other]
NTP=c
"""


def test_assignments_are_read_section_by_section() -> None:
    rows = (
        Fact("bgpd = <yes|no>", "bgpd"),
        Fact("bgpd_options = -A <address4> [-s <integer>]", {"address": "{0}", "bytes": "{1}"}),
        Block("Time", "", (Fact("NTP = <word>...", "ntp", lambda servers: ",".join(servers)),)),
        Fact("<word> = <integer>", "kernel[{0}]"),
    )
    reading = Reader((Topic(rows),), {}, tree.assignments).read({"f": ASSIGNED})
    assert reading.facts == {
        "bgpd": "yes",
        "kernel[net.ipv4.ip_forward]": 1,
        "address": "127.0.0.1",
        "bytes": 9,
        "ntp": "b,a",
    }
    assert reading.unknown == [
        ("f", 4, "net.ipv4.neigh.gc = many"),
        ("f", 6, "no assignment"),
        ("f", 11, "Other NTP = c"),
    ]


def test_added_values_are_joined_with_existing_values() -> None:
    def stated(document: Document) -> None:
        for at, address in enumerate(("a", "b", "a"), 1):
            document.put_also("ipv4", address, at)

    reading = Reader((Topic((Silent("x"),), stated),), {}).read({"f": "x\n"})
    assert reading.facts == {"ipv4": "a", "ipv4/also[b]": "true"}
    assert reading.lines == {"ipv4": ("f", 3), "ipv4/also[b]": ("f", 2)}


def test_duplicate_rows_are_rejected() -> None:
    rows = (Fact("mtu <integer>", "a"), Fact("mtu <integer>", "b"))
    with pytest.raises(ValueError, match="two rows"):
        Reader((Topic(rows),), {}).read({"f": "mtu 9\n"})
    with pytest.raises(ValueError, match="no type <number>"):
        Reader((Topic((Fact("mtu <number>", "a"),)),), {}).read({"f": "mtu 9\n"})
    reader = Reader((Topic((Block("port <word>", "port", rows),)),), {})
    assert reader.read({"f": "mtu 9\n"}).unknown == [("f", 1, "mtu 9")]
    with pytest.raises(ValueError, match="two rows"):
        reader.read({"f": "port a\n mtu 9\n"})


@pytest.mark.parametrize("nos", ["eos", "nxos", "junos"])
def test_the_rows_of_all_blocks_compile(nos: str) -> None:
    assert compiled_blocks(back_ends.load(nos).reader.start) > 10  # type: ignore[attr-defined]


MARKS = ["{", "}", ";", "[", "]", '"', "-", ":", "inactive:", "set", "deactivate", "#", "/*"]
WORDS = [*sorted(set(TEXT.split())), *MARKS]
LINES = st.builds(
    lambda indent, words: indent + " ".join(words),
    st.sampled_from(["", " ", "   ", "      ", "\t"]),
    st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=7),
)


@pytest.mark.spread
@pytest.mark.parametrize(
    "syntax", ["indented", "nested", "assignments", "braces", "commands", "parse_structured_text"]
)
def test_no_text_makes_a_reader_fail(syntax: str) -> None:
    made = reader(syntax)

    @settings(max_examples=scale_examples(150), deadline=None)
    @given(st.lists(LINES, max_size=30) | st.text(max_size=200).map(lambda text: [text]))
    def tried(lines: list[str]) -> None:
        text = "\n".join(lines)
        reading = made.read({"f": text})
        assert all(1 <= line <= text.count("\n") + 1 for _, line, _ in reading.unknown)
        assert all(1 <= line <= text.count("\n") + 1 for _, line in reading.lines.values())

    tried()


@settings(max_examples=scale_examples(100), deadline=None)
@given(st.lists(LINES, max_size=30))
def test_a_line_of_a_command_line_is_known_or_listed_once(lines: list[str]) -> None:
    text = "\n".join(lines)
    listed = [line for _, line, _ in read(text).unknown]
    output = [
        number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.strip()[0] != "!"
    ]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(output)


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("indented", "\n".join(" " * depth + "a" for depth in range(3000))),
        ("nested", "interface e1\n" * 3000),
        ("assignments", "[a]\n" * 3000),
        ("braces", "a {" * 30_000),
        ("braces", "}" * 30_000),
        ("commands", "set " + "a " * 30_000),
        ("parse_structured_text", "{a: " * 30_000),
        ("indented", "class " + "1 " * 2_000),
        ("commands", "set class " + "1 " * 2_000),
    ],
)
def test_depth_costs_no_stack(syntax: str, text: str) -> None:
    assert read(text, syntax).facts == {}


def test_cached_line_applies_to_each_block() -> None:
    made = reader()
    text = "bgp 1\n   vrf {}\n      id 10.0.0.1\n"
    assert made.read({"f": text.format("a")}).facts == {"asn": 1, "id[a]": "10.0.0.1"}
    assert made.read({"f": text.format("b")}).facts == {"asn": 1, "id[b]": "10.0.0.1"}


ONCE = """\
host { name a; }
host {
    name b;
}
group x {
    use [ one two ];
    kind new;
}
group y {
    use one;
    kind old;
}
"""


def relate_lines(document: Document) -> None:
    groups = document.scope.each("group")
    document.put_all(agreed_facts("kind", dict(group.values["kind"] for group in groups.values())))
    for word, (_, line) in groups["x"].table("use").items():
        if word != "one":
            document.reject(line, word)
    document.reject_all(groups["y"])
    document.reject_all(groups["y"])


def test_of_a_tree_statements_are_rejected_with_the_words_above_them_each_once() -> None:
    rows = (
        Fact("host name <word>", "name"),
        Block("group <word>", "group", (Entry("use <word>", "use"), Keep("kind <word>", "kind"))),
    )
    reading = Reader((Topic(rows, relate_lines),), {}, tree.braces, once=True).read({"f": ONCE})
    assert reading.facts == {"name": "b", "kind": "new,old", "kind[new]": "new", "kind[old]": "old"}
    assert reading.lines["kind"] == reading.lines["kind[old]"] == ("f", 11)
    assert [(line, words) for _, line, words in reading.unknown] == [
        (1, "host name a"), (6, "group x use two"), (10, "group y use one"), (11, "group y kind old"),
    ]  # fmt: skip
    several = Reader((Topic(rows),), {}, tree.braces).read({"f": ONCE})
    assert several.facts == {"name": "b"}
    assert several.unknown == []


@pytest.mark.parametrize("form", ["braces", "commands"])
def test_an_unknown_statement_is_in_the_blocks_around_it_in_either_form(form: str) -> None:
    def finish(document: Document) -> None:
        document.put_all(
            (f"peer[{peer}]/{family}", "true", scope.line)
            for peer, each in document.scope.each("peer").items()
            for family, scope in each.each("family").items()
        )

    rows = (Block("peer <word>", "peer", (Block("family <word>", "family", (Silent("unicast"),)),)),)
    text = {"braces": "peer a {\n family x {\n other;\n}\n}\n", "commands": "\n\nset peer a family x other\n"}
    reading = Reader((Topic(rows, finish),), {}, getattr(tree, form)).read({"f": text[form]})
    assert reading.facts == {"peer[a]/x": "true"}
    assert reading.unknown == [("f", 3, "peer a family x other")]


def test_blocks_inherit_from_named_and_enclosing_blocks() -> None:
    def finish(document: Document) -> None:
        for group in document.scope.each("group").values():
            for name, peer in group.each("peer").items():
                output = peer.inherit_from(group)
                document.agree("timer", *output.values["timer"])
                policy = document.resolve_reference("policy", *output.values["policy"])
                if policy:
                    document.put(
                        f"peer[{name}]", ",".join([*policy.values, *map(str, output.table("use"))]), 1
                    )
        document.put_agreed()
        document.reject_unused("policy")

    own = (Keep("timer <integer>", "timer"), Keep("policy <word>", "policy"), Entry("use <word>", "use"))
    rows = (
        Block("policy <word>", "policy", (Keep("<accept|reject>", "does"),)),
        Block("group <word>", "group", (*own, Block("peer <word>", "peer", own))),
    )
    text = (
        "policy used accept\npolicy unused reject\ngroup g timer 3\ngroup g use a\ngroup g policy used\n"
        "group g peer p use b\ngroup g peer p use c\ngroup g peer q timer 4\ngroup g peer q policy none\n"
    )
    lines = "".join(f"set {line}\n" for line in text.splitlines())
    reading = Reader((Topic(rows, finish),), {}, tree.commands).read({"f": lines})
    assert reading.facts == {"peer[p]": "does,b,c", "timer": "3,4", "timer[3]": 3, "timer[4]": 4}
    assert [(line, words) for _, line, words in reading.unknown] == [
        (2, "policy unused reject"), (9, "group g peer q policy none"),
    ]  # fmt: skip


def test_unknown_nodes_of_a_tree_are_reported_as_the_syntax_spells_them() -> None:
    text = '{"interface": {"eth0": {"mtu": "9000", "color": {"of": "red", "at": ["left"]}}}}'
    for reported, wanted in (
        (" ".join, ["interface eth0 color of red", "interface eth0 color at left"]),
        ("/".join, ["interface/eth0/color/of/red", "interface/eth0/color/at/left"]),
    ):
        reading = Reading()
        reader = Reader((Topic((Block("interface <word>", "", (Fact("mtu <integer>", "mtu"),)),)),), {},
                        tree.parse_structured_text, describe=reported)  # fmt: skip
        assert reader.read_file("f", text, reading).text == text
        assert reading.facts == {"mtu": 9000}
        assert sorted(words for _, _, words in reading.unknown) == sorted(wanted)


def test_unknown_node_can_be_reported_once_by_line() -> None:
    rows = (Block("interface <word>", "", (Fact("mtu <integer>", "mtu[{0}]"),)),)
    text = (
        "interface:\n  e1:\n    mtu: 1500\n    qos:\n      trust: dscp\n      pfc: 'on'\n  e2:\n    mtu: x\n"
    )
    for whole, unknown in (
        (True, [(4, "qos:"), (8, "mtu: x")]),
        (
            False,
            [(5, "interface e1 qos trust dscp"), (6, "interface e1 qos pfc on"), (8, "interface e2 mtu x")],
        ),
    ):
        reading = Reader((Topic(rows),), {}, tree.parse_structured_text, whole=whole).read({"f": text})
        assert reading.facts == {"mtu[e1]": 1500}
        assert [(line, output) for _, line, output in reading.unknown] == unknown


def test_last_of_duplicate_keys_counts_and_both_lines_are_reported() -> None:
    rows = (Fact("mtu <integer>", "mtu"),)
    for text in ("mtu: 1\nmtu: 2\n", '{"mtu": 1,\n"mtu": 2}'):
        reading = Reader((Topic(rows),), {}, tree.parse_structured_text).read({"f": text})
        assert reading.facts == {"mtu": 2}
        assert [line for _, line, _ in reading.unknown] == [1, 2]


def show_nodes(nodes: Sequence[Node] | None) -> list[object]:
    return [(node.key, node.line, show_nodes(node.children)) for node in nodes or ()]


@pytest.mark.parametrize(
    "text",
    [
        "- a:\n    b: {}\n    'c d': \"x y\"\n- set:\n    1: null\n    e: Null\n",
        "a:\n- x\n- y z\nb:\n  c: 10.0.0.1/31\n  fd00::1/128: {}\n\n# c\n  d:\n    - q: 1\n      r: ::1\n",
        "a: 1\na:\n  b: 2\n",
    ],
)
def test_lines_of_yaml_give_the_nodes_that_a_yaml_library_gives(text: str) -> None:
    quick, slow = block_style(text), tree.parse_structured_text(text)
    assert quick is not None
    assert (show_nodes(quick.nodes), quick.faults) == (show_nodes(slow.nodes), slow.faults)


@given(st.text(st.sampled_from("ab:- \n'\"#{}[],?|>&*!%~0\t"), max_size=40) | st.text(max_size=30))
def test_lines_of_yaml_are_never_taken_for_what_a_yaml_library_does_not_see(text: str) -> None:
    quick = block_style(text)
    if quick is not None:
        slow = tree.parse_structured_text(text)
        assert (show_nodes(quick.nodes), quick.faults) == (show_nodes(slow.nodes), slow.faults)


def test_cached_typed_lines_do_not_affect_other_texts() -> None:
    one = Reader((Topic(ROWS, finish),), TYPES, ragged=("exit",))
    typed = "bgp 1.1\n      neighbor p asn 65001\n   neighbor p description a\n   shutdown\n"
    for _ in range(3):
        assert one.read({"f": typed}).unknown == [("f", 4, "shutdown")]
        reading = one.read({"f": TEXT})
        assert (reading.facts, reading.unknown) == (FACTS, [])


def test_indentation_of_a_typed_file_does_not_affect_other_files() -> None:
    rows = (Fact("hostname <word>", "hostname"), Fact("mtu <integer>", "mtu"),
            Block("interface <word>", "", (Keep("mtu <integer>", "mtu"),)))  # fmt: skip
    typed = "interface e1\nmtu 9000\n      hostname b\n   hostname b\n"
    reading = Reader((Topic(rows),), {}, ragged=("exit",)).read({"e": "hostname a\n", "f": typed})
    assert (reading.facts, reading.lines, reading.unknown) == ({"hostname": "b"}, {"hostname": ("f", 4)}, [])


def test_threads_that_meet_a_block_first_all_know_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switches are read at once, by a reader that none of them has used before."""
    both, whole = reader(), trie._add_all
    expected = reader().read({"f": TEXT})
    both.start  # noqa: B018 - compiles what is outside of blocks
    begun, done = threading.Event(), threading.Event()

    def slow(root: State, rows: Sequence[Row], types: Types, outer: int) -> None:
        if not begun.is_set():
            begun.set()
            assert done.wait(10)
        whole(root, rows, types, outer)

    monkeypatch.setattr(trie, "_add_all", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(both.read, {"f": TEXT})
        assert begun.wait(10)
        try:
            second = both.read({"f": TEXT})
        finally:
            done.set()
        assert (second.facts, second.unknown) == (expected.facts, expected.unknown)
        assert (first.result().facts, first.result().unknown) == (expected.facts, expected.unknown)


def test_former_name_of_a_stored_value_works_and_warns() -> None:
    from fabricc.back import reading

    with pytest.warns(DeprecationWarning, match="is now StoredValue"):
        assert reading.Said is StoredValue
