"""Answer one command of a request of the Linux drivers otherwise; a request may have several."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PART = re.compile(r"(?ms)^\(\n(.*?)\n\)(?= < /dev/null$|$)")


def replace_parts(request: str, other: Callable[[str], str | None]) -> str:
    """Return a request in which a command is another one, where `other` returns one for it."""
    *words, script = shlex.split(request)

    def change(match: re.Match[str]) -> str:
        found = other(match[1])
        return match[0] if found is None else f"(\n{found}\n)"

    return shlex.join([*words, _PART.sub(change, script)])


def list_parts(request: str) -> list[str]:
    """Return the commands of a request."""
    return _PART.findall(shlex.split(request)[-1])


def frame_answers(request: str, text: str) -> str:
    """Return the answer to a request of which every command prints a text and succeeds."""
    count = len(list_parts(request))
    if count == 1:
        return f"==fabricc==\n{text}\n==fabricc ends==\n"
    parts = (
        f"==fabricc {number} begins==\n{text}\n==fabricc {number} ends with 0==\n" for number in range(count)
    )
    return f"\n{''.join(parts)}==fabricc ends==\n"
