"""Lines that are settings by their first words, of which little follows for a fabric: kept as they stand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fabricc.back.reading import Document, Keep, Row, Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


SET = "set"
"""The value of a setting that is a secret, which is not read."""


def setting_rows(*beginnings: str, under: str = "setting", before: str = "") -> tuple[Row, ...]:
    """Return rows of lines that begin with these words: what follows is kept as `setting[words]`, `false` after `no`.

    `before` stands before all of the words, and not in the name.
    """
    return tuple(
        row
        for words in beginnings
        for row in (
            Keep(f"{before}{words} [<rest>]", f"{under}[{words}]", lambda rest: rest or "true"),
            Keep(f"no {before}{words} [<rest>]", f"{under}[{words}]", lambda _: "false"),
        )
    )


def repeated_rows(*beginnings: str) -> tuple[Row, ...]:
    """Return rows of lines of which there may be many, each about the thing that its next word names."""
    return tuple(Keep(f"{words} <word> [<rest>]", partial(_about_thing, words)) for words in beginnings)


def _about_thing(words: str, thing: str, rest: str | None) -> dict[str, str]:
    return {f"setting[{words} {thing}]": rest or "true"}


def secret_rows(*beginnings: str, under: str = "setting") -> tuple[Row, ...]:
    """Return rows of lines that end in a secret."""
    return tuple(Keep(f"{words} <rest>", f"{under}[{words}]", lambda _: SET) for words in beginnings)


def put_settings(document: Document, prefix: str, values: Mapping[str, Said], under: str = "setting") -> None:
    """State what `settings` and `secrets` kept; the last word of `under` is the name of the facts."""
    leaf = under.rpartition(" ")[2]
    document.put_all(
        (f"{prefix}{leaf}{name[len(under) :]}", *said) for name, said in settings_in(values, under)
    )


def settings_in(values: Mapping[str, Said], under: str = "setting") -> Iterator[tuple[str, Said]]:
    """Yield what `settings` and `secrets` kept among other values."""
    return ((name, said) for name, said in values.items() if name.startswith(under + "["))
