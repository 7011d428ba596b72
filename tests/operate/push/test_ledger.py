"""A ledger stores the lines that devices accepted, and a build reports lines that none of them ever accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fabricc.compiler import accepted_lines
from fabricc.compiler.accepted_lines import TriedLines, line_form
from fabricc.version import __version__
from tests.operate.push.network import run_here
from tests.operate.push.test_drivers import make_bench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.operate.push.test_drivers import Bench

PLATFORM = ("7060x6-64pe", "eos", "4.32")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("   neighbor 10.0.0.1 remote-as 65001", "neighbor <address> remote-as <number>"),
        (" neighbor 2001:db8::1 peer-group UPSTREAM", "neighbor <address> peer-group UPSTREAM"),
        ("interface Ethernet1/1", "interface Ethernet<number>/<number>"),
        ("   description su001-tor1a Ethernet3/1", "description <name> Ethernet<number>/<number>"),
        ("username ann ssh-key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", "username <name> ssh-key ssh-ed<number> <key>"),
        ("tacacs-server host 192.0.2.1 key FABRICC-SECRET-a", "tacacs-server host <address> key <secret>"),
        ('        "Ethernet0": {', '"Ethernet<number>": {'),
        ('"10.0.0.0/31|su001-tor1a"', '"<address>|<name>"'),
        ("seq 10 permit 10.0.0.0/8 le 32", "seq <number> permit <address> le <number>"),
        ("!", "!"),
    ],
)  # fmt: skip
def test_lines_of_one_form_become_equal(line: str, wanted: str) -> None:
    assert line_form(line, {"su001-tor1a", "ann"}) == wanted


def list_eos(switch: Bench, *options: str) -> str:
    words = ["-", "-", "-", "build", str(switch.source.spec), "-o", str(switch.folder / "out"), *options]
    ran = run_here(words)
    assert ran.returncode == 0, ran.stderr
    return " ".join((ran.stdout + ran.stderr).split())


@pytest.mark.slow
def test_a_build_warns_of_what_no_device_took_and_only_with_a_ledger(tmp_path: Path) -> None:
    with make_bench(tmp_path, "eos") as switch:
        ledger = switch.source.spec.parent / accepted_lines.NAME
        assert "FAB9046" not in list_eos(switch)
        switch.push("--try", status=0)
        assert not ledger.exists(), "--try alone keeps nothing"
        switch.push("--try", "--record", status=0)
        first = ledger.read_bytes()
        switch.push("--try", "--record", status=0)
        assert ledger.read_bytes() == first
        (entry,) = yaml.safe_load(first)["tried"]
        assert (entry["model"], entry["nos"], entry["fabricc"]) == ("7060x6-64pe", "eos", __version__)
        assert "timers bgp <number> <number>" in entry["accepted"]
        assert entry["accepted"] == sorted(set(entry["accepted"]))
        assert not {"spine01a", "su001-tor1a", "10."} & set(first.decode().split())
        reported = list_eos(switch)
        assert reported.count("FAB9046") == 1, "lines that only a ToR has"
        ledger.write_bytes(first.replace(b"- timers bgp <number> <number>\n", b""))
        more = list_eos(switch)
        assert "FAB9046" in more
        assert "such as 'timers bgp" in more or reported != more
        switch.server.faults.planted = ("timers bgp 3 12",)
        switch.push("--try", "--record", status=1)
        (entry,) = yaml.safe_load(ledger.read_bytes())["tried"]
        assert [one["form"] for one in entry["refused"]] == ["timers bgp <number> <number>"]
        assert "Invalid input" in entry["refused"][0]["words"]
        assert "which one refused: invalid command" in list_eos(switch)
        elsewhere = tmp_path / "elsewhere.yaml"
        assert "FAB9046" in list_eos(switch, "--ledger", str(elsewhere)), "a ledger that states nothing"


def test_the_later_word_on_a_form_counts() -> None:
    old = TriedLines(PLATFORM, "1", frozenset({"a", "b"}), {"c": "no"})
    new = TriedLines(PLATFORM, "1", frozenset({"c"}), {"b": "not that"})
    (both,) = accepted_lines.merge_ledgers([old], [new])
    assert (both.accepted, both.refused) == ({"a", "c"}, {"b": "not that"})
    other = TriedLines(PLATFORM, "0", frozenset(), {})
    assert [one.version for one in accepted_lines.merge_ledgers([both], [other])] == ["0", "1"]


WORD = st.text(max_size=9).map(line_form)


@given(
    st.lists(
        st.builds(
            TriedLines,
            st.tuples(WORD, WORD, WORD),
            WORD,
            st.frozensets(WORD, max_size=3),
            st.dictionaries(WORD, WORD, max_size=3),
        ),
        max_size=3,
    )
)
def test_a_ledger_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, tried: list[TriedLines]
) -> None:
    path = tmp_path_factory.mktemp("ledger") / accepted_lines.NAME
    path.write_bytes(accepted_lines.ledger_bytes(accepted_lines.merge_ledgers(tried, ())))
    assert accepted_lines.read_ledger(path) == (accepted_lines.merge_ledgers(tried, ()), ())


@pytest.mark.parametrize(
    "content",
    [b"", b"[", b"\xff", b"version: 2\ntried: []\n", b"version: 1\ntried: 7\n", b"version: 1\ntried: [{}]\n",
     b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n", b"x" * (5 << 20)],
)  # fmt: skip
def test_a_damaged_ledger_is_a_warning_with_a_place(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / accepted_lines.NAME
    path.write_bytes(content)
    tried, (wrong,) = accepted_lines.read_ledger(path)
    assert (tried, wrong.code) == ((), "FAB9047")
    assert wrong.position is not None
    path.unlink()
    path.symlink_to("/dev/zero")
    assert accepted_lines.read_ledger(path)[1][0].code == "FAB9047"
