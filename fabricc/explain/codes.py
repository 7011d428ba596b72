"""A diagnostic code: what it means, what causes it and what to do about it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.diagnostics import Diagnostic, Severity
from fabricc.diagnostics.codes import TITLES
from fabricc.explain.model import Explanation, SubjectError

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).with_name("codes.yaml")
_NEAR = 3

_ABOUT = {
    "FAB003": ("the lock", "docs/lock.md"),
    "FAB004": ("layout", "docs/fmt.md"),
    "FAB0": ("reading the spec", "docs/validate.md"),
    "FAB1": ("the shape of the spec", "docs/validate.md"),
    "FAB2070": ("the lock", "docs/lock.md"),
    "FAB210": ("the catalog", "docs/catalog.md"),
    "FAB211": ("overlays", "docs/overlays.md"),
    "FAB2": ("what the spec says", "docs/validate.md"),
    "FAB39": ("the lock", "docs/lock.md"),
    "FAB3": ("planning", "docs/plan.md"),
    "FAB4": ("lossless arithmetic", "docs/lossless.md"),
    "FAB50": ("settings", "docs/settings.md"),
    "FAB51": ("a back end", "docs/nos-eos.md"),
    "FAB52": ("a back end", "docs/nos-frr.md"),
    "FAB53": ("a back end", "docs/nos-sonic.md"),
    "FAB54": ("a back end", "docs/nos-nxos.md"),
    "FAB55": ("a back end", "docs/nos-junos.md"),
    "FAB56": ("hosts", "docs/hosts.md"),
    "FAB57": ("a back end", "docs/nos-cumulus.md"),
    "FAB58": ("InfiniBand", "docs/infiniband.md"),
    "FAB59": ("a back end of a third party", "docs/add-a-nos.md"),
    "FAB62": ("the invariants", "docs/invariants.md"),
    "FAB63": ("InfiniBand", "docs/infiniband.md"),
    "FAB6": ("checking a tree", "docs/check.md"),
    "FAB7": ("building", "docs/build.md"),
    "FAB8": ("the lab", "docs/lab.md"),
    "FAB901": ("review policy", "docs/policy.md"),
    "FAB90": ("reviewing a change", "docs/diff.md"),
    "FAB91": ("pushing", "docs/push.md"),
    "FAB927": ("explaining", "docs/explain.md"),
    "FAB92": ("live switches", "docs/verify.md"),
    "FAB93": ("the report", "docs/report.md"),
}
"""Beginning of a code -> what it is about, and the page; the longest that fits counts."""


def explain_code(code: str) -> Explanation:
    """A code such as `FAB4003`.

    Raises:
        SubjectError: FAB9270, there is no such code.
    """
    title = TITLES.get(code)
    if title is None:
        numbers = sorted(TITLES, key=lambda known: (abs(int(known[3:]) - int(code[3:])), known))[:_NEAR]
        near = ", ".join(f"{known} ({TITLES[known]})" for known in sorted(numbers))
        message = f"no diagnostic has the code {code}"
        raise SubjectError(Diagnostic("FAB9270", Severity.ERROR, message, None, f"Nearest: {near}."))
    about, page = about_code(code)
    told = zip(("cause", "remedy"), causes().get(code, ()), strict=False)
    details = (("about", about), *told, ("see", page))
    return Explanation("code", code, title, details)


def about_code(code: str) -> tuple[str, str]:
    """What a code is about, and the page of the documentation."""
    beginnings = (code[:length] for length in range(len(code), 3, -1))
    return next(_ABOUT[start] for start in beginnings if start in _ABOUT)


@cache
def causes() -> Mapping[str, tuple[str, str]]:
    """Code -> cause and remedy."""
    import yaml

    table: dict[str, list[str]] = yaml.safe_load(TABLE.read_text("utf-8"))
    return {code: (cause, remedy) for code, (cause, remedy) in table.items()}
