"""Every diagnostic code is explained by cause, remedy and page."""

from __future__ import annotations

import pytest

from fabricc.base.diagnostics import TITLES
from fabricc.review.explain.codes import about_code, code_causes, explain_code
from fabricc.review.explain.model import SubjectError
from tests.review.explain.support import is_page


def test_every_code_has_a_cause_and_a_remedy() -> None:
    assert code_causes().keys() == TITLES.keys()
    assert all(cause.endswith(".") and remedy.endswith(".") for cause, remedy in code_causes().values())


def test_every_code_has_a_page() -> None:
    pages = {about_code(code)[1] for code in TITLES}
    assert [page for page in sorted(pages) if not is_page(page)] == []


def test_a_code_is_explained() -> None:
    explanation = explain_code("FAB4003")
    assert explanation.title == "Buffer over budget"
    assert dict(explanation.details)["see"] == "fabricc docs lossless"


def test_a_code_that_there_is_not_names_the_nearest() -> None:
    with pytest.raises(SubjectError) as refused:
        explain_code("FAB4099")
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "FAB9270"
    assert "FAB4016" in diagnostic.help
