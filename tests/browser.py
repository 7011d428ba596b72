"""A real browser for tests of pages: Chromium without a window, and without the network."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
without_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER and find_spec("selenium")),
    reason="selenium (`make lint` installs it), Chromium or its driver (Debian: chromium, chromium-driver) is missing",
)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
AXE = Path(sys.prefix) / "axe/node_modules/axe-core/axe.min.js"
without_axe = pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is not installed: `make peers` asks npm for it"
)


class Chromium:
    """A browser with the few needed commands."""

    def __init__(self, profile: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))

    def command(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def show(self, page: Path, width: int = 1280, scheme: str = "light", media: str = "") -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)
        self.driver.get(page.as_uri())

    def ask(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def violations(self, page: Path, scheme: str) -> list[tuple[str, str]]:
        """Return the violations that axe-core reports on a fully expanded page: the rule, and the first element."""
        self.show(page, scheme=scheme)
        self.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        self.ask(AXE.read_text("utf-8"))
        self.driver.set_script_timeout(300)  # a page of a thousand headings, on a busy machine
        found = self.driver.execute_async_script(
            "axe.run().then(arguments[arguments.length - 1], (error) => { throw error; })"
        )
        assert len(found["passes"]) > 20
        return [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]

    def log(self, kind: str) -> list[dict[str, Any]]:
        return list(self.driver.get_log(kind))
