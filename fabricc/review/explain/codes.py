"""A diagnostic code: what it means, what causes it and what to do about it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.base.diagnostics.codes import TITLES
from fabricc.base.documents.reader import shipped
from fabricc.review.explain.model import Explanation, SubjectError

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = Path(__file__).with_name("codes.yaml")
_NEAR = 3

_ABOUT = {
    "FAB003": ("the lock", "fabricc docs lock"),
    "FAB004": ("layout", "fabricc docs fmt"),
    "FAB005": ("signed trees", "fabricc docs sign"),
    "FAB007": ("questions of other programs", "fabricc docs mcp"),
    "FAB008": ("exports", "fabricc docs export"),
    "FAB0": ("reading the spec", "fabricc docs validate"),
    "FAB1": ("the shape of the spec", "fabricc docs validate"),
    "FAB2070": ("the lock", "fabricc docs lock"),
    "FAB210": ("the catalog", "fabricc docs catalog"),
    "FAB211": ("overlays", "fabricc docs overlays"),
    "FAB2": ("what the spec says", "fabricc docs validate"),
    "FAB330": ("segments", "fabricc docs evpn"),
    "FAB331": ("segments", "fabricc docs evpn"),
    "FAB333": ("segments", "fabricc docs evpn"),
    "FAB39": ("the lock", "fabricc docs lock"),
    "FAB3": ("planning", "fabricc docs plan"),
    "FAB4": ("lossless arithmetic", "fabricc docs lossless"),
    "FAB50": ("settings", "fabricc docs settings"),
    "FAB51": ("a back end", "fabricc docs nos-eos"),
    "FAB52": ("a back end", "fabricc docs nos-frr"),
    "FAB53": ("a back end", "fabricc docs nos-sonic"),
    "FAB54": ("a back end", "fabricc docs nos-nxos"),
    "FAB55": ("a back end", "fabricc docs nos-junos"),
    "FAB56": ("hosts", "fabricc docs hosts"),
    "FAB57": ("a back end", "fabricc docs nos-cumulus"),
    "FAB583": ("segments", "fabricc docs evpn"),
    "FAB58": ("InfiniBand", "fabricc docs infiniband"),
    "FAB59": ("a back end of a third party", "fabricc docs add-a-nos"),
    "FAB62": ("the invariants", "fabricc docs invariants"),
    "FAB634": ("the invariants", "fabricc docs invariants"),
    "FAB63": ("InfiniBand", "fabricc docs infiniband"),
    "FAB6": ("checking a tree", "fabricc docs check"),
    "FAB7": ("building", "fabricc docs build"),
    "FAB8": ("the lab", "fabricc docs lab"),
    "FAB901": ("review policy", "fabricc docs policy"),
    "FAB90": ("reviewing a change", "fabricc docs diff"),
    "FAB91": ("pushing", "fabricc docs push"),
    "FAB927": ("explaining", "fabricc docs explain"),
    "FAB92": ("live switches", "fabricc docs verify"),
    "FAB93": ("the report", "fabricc docs report"),
    "FAB94": ("maintenance", "fabricc docs maintain"),
    "FAB945": ("migrations", "fabricc docs migrate"),
    "FAB952": ("collecting", "fabricc docs collect"),
    "FAB95": ("auditing", "fabricc docs audit"),
    "FAB96": ("auditing", "fabricc docs audit"),
    "FAB97": ("adopting", "fabricc docs adopt"),
    "FAB942": ("upgrading", "fabricc docs upgrade"),
    "FAB943": ("upgrading", "fabricc docs upgrade"),
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
        raise SubjectError("FAB9270", message, f"Nearest: {near}.")
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
    table: dict[str, list[str]] = shipped(TABLE)
    return {code: (cause, remedy) for code, (cause, remedy) in table.items()}
