from __future__ import annotations

import pytest

from fabricc.review.diff.fact_impact import row_of
from fabricc.review.diff.run import file_diffs
from fabricc.review.diff.view import is_secret, mask_secrets

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        (f"username netops ssh-key ssh-ed25519 {KEY} someone", KEY),
        ("neighbor TOR password 7 08351F1B1D431516475E", "08351F1B1D431516475E"),
        ('    "secret": "hunter2",', "hunter2"),
        ("snmp-server community s3cr3t ro", "s3cr3t"),
        ("key: vault://fabric/bgp#md5", "vault://fabric/bgp#md5"),
        ("auth: env:BGP_SECRET", "BGP_SECRET"),
    ],
)
def test_secrets_and_references_are_masked(line: str, hidden: str) -> None:
    assert hidden not in mask_secrets(line)


def test_ordinary_lines_are_left_alone() -> None:
    for line in (
        "neighbor 10.64.0.0 remote-as 4200065536",
        "set community 65535:0 additive",
        '"profile": "[x|400g]"',
    ):
        assert mask_secrets(line) == line


def test_a_changed_secret_shows_that_it_changed_and_nothing_else() -> None:
    (diff,) = file_diffs({"f": "a\npassword old1\n"}, {"f": "a\npassword new2\n"})
    assert (diff.added, diff.removed) == (1, 1)
    assert "old1" not in diff.text
    assert "new2" not in diff.text


def test_account_facts_are_secret() -> None:
    assert is_secret("user[netops]/ssh_key")
    assert not is_secret("bgp/asn")


def test_a_figure_of_a_nic_is_no_secret_for_its_name() -> None:
    tags = row_of("congestion/token-bucket-size", "host").tags
    assert tags.isdisjoint(("secret", "private"))
