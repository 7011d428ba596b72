"""The page of an audit, with findings, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabricc.audit import audit_fabric
from fabricc.cli.audit_page import render_audit
from tests.browser import without_axe, without_browser

if TYPE_CHECKING:
    from tests.browser import Chromium

FOREIGN = Path(__file__).parents[1] / "back/nos/eos/beyond"


@without_browser
@without_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.slow
def test_an_accessibility_checker_convicts_nothing(chromium: Chromium, tmp_path: Path, scheme: str) -> None:
    found = audit_fabric(FOREIGN, jobs=1)
    assert found.findings
    page = tmp_path / "audit.html"
    page.write_text(render_audit(found), "utf-8")
    assert chromium.violations(page, scheme) == []
