"""The page in Chromium: nothing is fetched, nothing overflows, everything contrasts, also in the dark and in print."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from fabricc.review.report.page import render_report
from tests.browser import without_axe, without_browser
from tests.review.report.conftest import ROOT
from tests.review.report.specs import MIXED, front_of
from tests.review.report.test_page import bench_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser import Chromium

pytestmark = without_browser

PAGES = ("lab-smallest", "hpn-dual-plane-pod", "quantum2-512", "mixed", "largest")
LARGE = ("hpn-dual-plane-pod", "largest")
CONTRAST = """
const parse = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color[3] === 1) return color;
  }
  return [255, 255, 255, 1];
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const owner = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !owner.checkVisibility()) continue;
  if (/^(script|style|title|desc)$/i.test(owner.tagName)) continue;
  const style = getComputedStyle(owner);
  const ink = parse(owner instanceof SVGElement ? style.fill : style.color);
  const [high, low] = [light(ink), light(behind(owner))].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  if (ratio < 4.5) poor.push([walker.currentNode.data.trim().slice(0, 40), ratio.toFixed(2), style.color]);
}
return poor;
"""
"""Texts of less than 4.5:1 against what lies behind them (WCAG 2.2, success criterion 1.4.3)."""


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in PAGES]
)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    texts = {"mixed": MIXED, "largest": bench_spec(131_072)}
    text = texts.get(request.param) or (ROOT / "inventories" / request.param / "cluster.yaml").read_text()
    written = folder / "report.html"
    written.write_text(render_report(front_of(folder, text)), "utf-8")
    return written


def test_nothing_is_fetched_and_nothing_complained_of(chromium: Chromium, page: Path) -> None:
    chromium.log("browser"), chromium.log("performance")
    chromium.show(page)
    assert chromium.log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in chromium.log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    requested = {each["request"]["url"] for each in sent if each["documentURL"] == page.as_uri()}
    assert requested - {"data:,"} == {page.as_uri()}
    assert not [each for each in sent if not each["request"]["url"].startswith(("file:", "data:", "chrome:"))]
    assert chromium.ask("return getComputedStyle(document.querySelector('.figures')).display") == "grid"


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_overflows(chromium: Chromium, page: Path, width: int) -> None:
    chromium.show(page, width)
    chromium.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    shown = chromium.ask(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert shown[0] <= shown[1] <= width


def picture_edge(chromium: Chromium, side: str) -> str:
    """A strip of the first table that is wider than the screen, at one of its edges, as a picture."""
    box = chromium.ask(
        "const box = window.wide.getBoundingClientRect(); return [box.x, box.y, box.right, box.height]"
    )
    x = box[0] if side == "left" else box[2] - 8
    y = box[1] + chromium.ask("return window.scrollY")
    clip = {"x": x, "y": y, "width": 8, "height": min(box[3], 400), "scale": 1}
    picture: str = chromium.command("Page.captureScreenshot", format="png", clip=clip)["data"]
    return picture


def test_scrollable_table_shows_an_edge_shadow(chromium: Chromium, page: Path) -> None:
    chromium.show(page, 390)
    chromium.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    wide = (
        "window.wide = [...document.querySelectorAll('.scroll:has(> table)')]"
        ".find((each) => each.scrollWidth > each.clientWidth + 40)"
    )
    assert chromium.ask(f"{wide}; return Boolean(window.wide)")
    chromium.ask("window.wide.scrollIntoView()")
    empty = "window.wide.style.background = '%s'"
    for position, hinted, other in (("0", "right", "left"), ("window.wide.scrollWidth", "left", "right")):
        chromium.ask(f"window.wide.scrollLeft = {position}")
        with_hint = {side: picture_edge(chromium, side) for side in ("left", "right")}
        chromium.ask(empty % "none")
        without = {side: picture_edge(chromium, side) for side in ("left", "right")}
        chromium.ask(empty % "")
        assert with_hint[hinted] != without[hinted]
        assert with_hint[other] == without[other]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_contrasts_with_what_is_behind_it(chromium: Chromium, page: Path, scheme: str) -> None:
    chromium.show(page, scheme=scheme)
    chromium.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    paper = chromium.ask("return getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert chromium.ask(CONTRAST) == []


@pytest.mark.slow
@without_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_convicts_nothing(chromium: Chromium, page: Path, scheme: str) -> None:
    assert chromium.violations(page, scheme) == []


@pytest.mark.slow
def test_print_shows_everything_that_is_folded_and_fits_the_sheet(chromium: Chromium, page: Path) -> None:
    chromium.show(page, width=703, scheme="dark", media="print")  # A4 less its margins, at 96 dots an inch
    unseen = "(each) => !each.checkVisibility({contentVisibilityAuto: true})"
    hidden = f"[...document.querySelectorAll('main td')].filter({unseen})"
    assert chromium.ask(f"return {hidden}.length") == 0
    assert chromium.ask("return getComputedStyle(document.querySelector('nav')).display") == "none"
    wide = "[...document.querySelectorAll('table, svg')].filter((each) => each.getBoundingClientRect().right > 704)"
    assert chromium.ask(f"return {wide}.map((each) => each.id || each.className.baseVal)") == []
    for width, height in ((8.27, 11.69), (8.5, 11)):
        printed = chromium.command(
            "Page.printToPDF", paperWidth=width, paperHeight=height, printBackground=True
        )
        document = base64.b64decode(printed["data"])
        assert document.startswith(b"%PDF-")
        assert 3 <= document.count(b"/Type /Page\n") + document.count(b"/Type /Page ") <= 60


def test_without_scripts_everything_is_there(chromium: Chromium, page: Path) -> None:
    chromium.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.show(page)
        wanted = page.read_text().count("<tr>")
        assert chromium.ask("return document.querySelectorAll('tr').length") == wanted
        assert chromium.ask("return document.querySelectorAll('.filter').length") == 0
    finally:
        chromium.command("Emulation.setScriptExecutionDisabled", value=False)


def test_rows_are_filtered_by_what_is_typed(chromium: Chromium, page: Path) -> None:
    chromium.show(page)
    fields = chromium.driver.find_elements("css selector", ".filter input")
    if not fields:
        assert 'id="worksheet1-table"' not in page.read_text()
        return
    table = "document.querySelector('.filter + .scroll table')"
    before = chromium.ask(f"return {table}.tBodies[0].rows.length")
    field = chromium.driver.find_element("css selector", ".filter:has(+ .scroll #assumed-table) input")
    field.send_keys("cables.")
    shown = chromium.ask(
        "return [...document.querySelector('#assumed-table').tBodies[0].rows].filter((row) => !row.hidden)"
        ".map((row) => row.cells[0].textContent)"
    )
    assert shown
    assert len(shown) < before
    assert all("cables." in key for key in shown)


@pytest.mark.spread
def test_no_foreign_script_or_style_runs(chromium: Chromium, page: Path, tmp_path: Path) -> None:
    """The content policy stops a script that the escaping misses."""
    planted = "<script>document.title = 'owned'</script><img src='x' onerror=\"document.title = 'owned'\">"
    other = tmp_path / "planted.html"
    other.write_text(page.read_text().replace("<footer>", f"{planted}<footer>"))
    chromium.show(other)
    assert chromium.ask("return document.title") != "owned"
    assert "Content Security Policy" in " ".join(entry["message"] for entry in chromium.log("browser"))


@pytest.mark.slow
def test_the_keyboard_reaches_first_the_way_past_the_head(chromium: Chromium, page: Path) -> None:
    chromium.show(page)
    chromium.driver.switch_to.active_element.send_keys("\ue004")
    focused = chromium.ask(
        "const a = document.activeElement; return [a.className, a.getBoundingClientRect().left >= 0]"
    )
    assert focused == ["skip", True]
    outline = chromium.ask("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
