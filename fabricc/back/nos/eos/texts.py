"""Texts within a configuration of EOS that are kept as they were typed: banners, comments, scripts."""

from __future__ import annotations

import re

END = "EOF"
_COMMENT = "comment"
BEGINS = re.compile(r"\s*(?:banner (?:motd|login|exec)|comment|action bash|code(?: unit \S+)?)\s*")


def blank_texts(text: str) -> str:
    """Return the text with such lines as comments, up to the word that ends them; their numbers stay."""
    if END not in text:
        return text
    lines = text.split("\n")
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    after = 0
    for end in ends:
        begins = next((at for at in range(after, end) if BEGINS.fullmatch(lines[at])), end)
        begins += (
            lines[begins].strip() != _COMMENT
        )  # comments state nothing; the existence of a banner is reported
        lines[begins : end + 1] = ["!"] * (end + 1 - begins)
        after = end + 1
    return "\n".join(lines)
