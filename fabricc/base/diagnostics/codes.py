"""Every diagnostic code with what it means in a line, as `codes.txt` has them; none is reused for another meaning."""

from __future__ import annotations

from pathlib import Path

_TABLE = Path(__file__).with_name("codes.txt")
TITLES = dict(line.split(" ", 1) for line in _TABLE.read_text("utf-8").splitlines())
"""Code -> its title, in order of the codes."""

RULE_CODES = ("FAB96", "FAB9060", "FAB9061")
"""The codes of rules that need no plan begin so; a spec may accept them with a reason, errors too."""
