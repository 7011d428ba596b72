"""Shares on the command line, such as of paths that stay."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click


class Share(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A share of paths: `75%`, or `0.75`."""

    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction:
        """Return the share, from 0 to 1."""
        text = str(value).strip()
        try:
            share = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is no share such as 75%", param, ctx)
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is not between 0% and 100%", param, ctx)
        return share
