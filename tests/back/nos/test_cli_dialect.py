"""Common lines of the command-line dialects: each means the same to EOS's reader and to NX-OS's."""

from __future__ import annotations

import pytest

from fabricc.back.nos.eos import EOS
from fabricc.back.nos.eos import FILE as EOS_FILE
from fabricc.back.nos.nxos import FILE as NXOS_FILE
from fabricc.back.nos.nxos import NXOS

READERS = {"eos": (EOS, EOS_FILE), "nxos": (NXOS, NXOS_FILE)}
RULE = {"eos": "ip prefix-list A\n   seq 10 permit %s\n", "nxos": "ip prefix-list A seq 10 permit %s\n"}
NTP = {"eos": "ntp server vrf MGMT %s\n", "nxos": "ntp server %s use-vrf management\n"}


@pytest.mark.parametrize("nos", READERS)
@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.0.0.0/8 eq 32", "10.0.0.0/8 ge 32 le 32"),
        ("10.0.0.0/8 ge 9 le 32", "10.0.0.0/8 ge 9 le 32"),
        ("10.0.0.0/8 ge", None),
        ("10.0.0.0/8 ge 9 le", None),
        ("10.0.0.0/8 le x", None),
    ],
)
def test_lengths_of_a_prefix_list_are_whole_or_not_known(nos: str, words: str, rule: str | None) -> None:
    reader, file = READERS[nos]
    reading = reader.read({file: RULE[nos] % words})
    assert reading.facts.get("prefix_list[A]/0") == rule
    assert len(reading.unknown) == (rule is None)


@pytest.mark.parametrize("nos", READERS)
@pytest.mark.parametrize(
    ("text", "number"),
    [("4294967295", 2**32 - 1), ("64086.60904", 4200001000), ("9" * 12, None), ("1.x", None)],
)
def test_an_as_number_is_plain_or_dotted_and_no_longer_than_any(
    nos: str, text: str, number: int | None
) -> None:
    reader, file = READERS[nos]
    assert reader.read({file: f"router bgp {text}\n"}).facts.get("bgp/asn") == number


@pytest.mark.parametrize("nos", READERS)
def test_repeated_ntp_server_is_one_server(nos: str) -> None:
    reader, file = READERS[nos]
    text = "".join(NTP[nos] % server for server in ("10.0.0.2", "10.0.0.1", "10.0.0.2"))
    reading = reader.read({file: text})
    assert reading.facts["management/ntp"] == "10.0.0.1,10.0.0.2"
    assert reading.unknown == []
