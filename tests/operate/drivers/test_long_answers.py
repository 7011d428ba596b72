"""Answers of devices cost time in proportion to their length. A test that does not end has found one that does not."""

from __future__ import annotations

import pytest

from fabricc.back.reading import scope
from fabricc.fabric.facts import Reading
from fabricc.operate.drivers import linux_views, nxos_replace, redact, single
from fabricc.operate.drivers.answers import AnswerError
from fabricc.review.diff import view

MANY = 100_000


@pytest.mark.parametrize(
    "text", ['password"' + " " * MANY + '"', "key md5" + "\t" * MANY + '"', 'secret:"' * MANY]
)
def test_secrets_are_hidden_in_one_pass(text: str) -> None:
    assert redact._AFTER_WORD.sub("", text) is not None
    assert view._LINE.sub("", text) is not None


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password: 'x'", "x"), ('secret  "x"', "x"), ("community=x", "x"), ("key : x", "x"), ("key 7 x", "x"),
        ('passphrase":"x"', "x"), ("md5 sha512 x", "x"),
    ],
)  # fmt: skip
def test_secrets_are_found_in_every_form(text: str, hidden: str) -> None:
    found = redact._AFTER_WORD.search(text)
    assert found is not None
    assert found[4].strip("'") == hidden


@pytest.mark.parametrize("text", ["a { /*" + "/*" * MANY, 'a { "' + '\\"' * MANY])
def test_braces_are_counted_in_one_pass(text: str) -> None:
    with pytest.raises(AnswerError):
        single.require_braces(text, "the configuration")


def test_counters_and_logs_are_read_in_one_pass() -> None:
    assert not linux_views._PAUSE.findall("\n" * MANY)
    log = f"A{' ' * MANY}b\nStart Time   :  Mon{' ' * MANY}Jan 1\nEnd Time: x\nRollback Status : Success  \n"
    operation = nxos_replace.read_log(log)
    assert operation is not None
    assert operation.status == "Success"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["- a\n" * 20_000, "- set: {" + ",".join(f"a{at}: {{}}" for at in range(5_000)) + "}"]
)
def test_statements_that_nobody_knows_are_listed_in_one_pass(text: str) -> None:
    document = scope.Document("startup.yaml", text, Reading())
    for line in range(1, 20_001):
        document.reject(min(line, text.count("\n") + 1))
    assert len(document.reading.unknown) == (text.count("\n") or 1)
