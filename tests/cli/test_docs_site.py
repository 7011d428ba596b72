"""The documentation as a site: built by the generator that people would use, every link and every anchor followed."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

from fabricc.base.diagnostics import TITLES
from tests.browser import without_axe, without_browser

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.browser import Chromium
    from tests.cli.conftest import Ran

    Fabricc = Callable[..., Ran]

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """The anchors of a page, and what it leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        output = dict(attrs)
        self.anchors |= {output["id"]} if output.get("id") else set()
        self.links |= {link for name in ("href", "src") if (link := output.get(name))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    if find_spec("zensical") is None:
        pytest.skip("zensical is not installed")
    place = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "fabricc", "docs", "--site", str(place)], cwd=ROOT, check=True, timeout=60
    )
    subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "-f", "mkdocs.yml"],
        cwd=place,
        check=True,
        timeout=120,
    )
    return place / "site"


@pytest.mark.slow
def test_every_link_leads_somewhere(built: Path) -> None:
    pages = {
        path.resolve(): Page(path.read_text("utf-8"))
        for path in built.rglob("*.html")
        if path.name != "404.html"
    }
    assert len(pages) > len(list((ROOT / "docs").glob("*.md")))
    broken = []
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            followed += 1
            if not target.is_file() or (
                parts.fragment and target in pages and parts.fragment not in pages[target].anchors
            ):
                broken.append(f"{path.relative_to(built.resolve())}: {link}")
    assert followed > 1000
    assert broken == []


@pytest.mark.slow
def test_every_code_has_its_anchor(built: Path) -> None:
    anchors = Page((built / "codes" / "index.html").read_text("utf-8")).anchors
    assert {code.lower() for code in TITLES} <= anchors


def test_programs_find_every_page(built: Path) -> None:
    text = (built / "llms.txt").read_text("utf-8")
    assert text.startswith("# fabricc\n\n> ")
    assert all(f"({path.stem}.md)" in text for path in (ROOT / "docs").glob("*.md") if path.stem != "README")


def test_a_second_run_writes_nothing(tmp_path: Path, fabricc: Fabricc) -> None:
    place = tmp_path / "site"
    first, second = (fabricc("docs", "--site", str(place)) for _ in range(2))
    assert (first.status, second.status) == (0, 0)
    assert ": 0 files written" in second.out
    assert fabricc("docs", "push", "--site", str(place)).status == 2


@pytest.mark.slow
@without_browser
@without_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "page",
    [
        "index.html",
        "tutorial/index.html",
        "codes/index.html",
        "nos-eos/index.html",
    ],
)
def test_an_accessibility_checker_convicts_nothing(
    chromium: Chromium, built: Path, page: str, scheme: str
) -> None:
    assert chromium.violations(built / page, scheme) == []
