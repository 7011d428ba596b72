"""The guide has the steps of a first push, and the page of each system an access file that its driver accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabricc.operate.devices.access import read_access
from fabricc.operate.devices.login import Device
from fabricc.operate.drivers import DRIVERS

DOCS = Path(__file__).parents[3] / "docs"
STEPS = ["connect", "difference", "confirmed", "unchanged", "growth", "retired port", "rollback"]


def page_section(nos: str) -> str:
    """The part of a system's page about a first push."""
    page = (DOCS / f"nos-{nos}.md").read_text("utf-8")
    match = re.search(r"^## First push.*?(?=^## )", page, re.MULTILINE | re.DOTALL)
    assert match, nos
    return match[0]


def test_the_guide_has_every_step_and_links_every_system() -> None:
    guide = (DOCS / "deploy.md").read_text("utf-8")
    rows = [line.split(" | ") for line in guide.splitlines() if line.startswith("| ")][2:]
    assert [row[0].strip("| ") for row in rows] == STEPS
    assert all(len(row) == 3 and row[2].strip(" |") for row in rows)
    assert sorted(re.findall(r"nos-(\w+)\.md#first-push", guide)) == sorted(DRIVERS)


@pytest.mark.parametrize("nos", DRIVERS)
def test_the_page_of_a_system_leads_to_the_guide(nos: str) -> None:
    assert "(deploy.md)" in page_section(nos)


@pytest.mark.parametrize("nos", DRIVERS)
def test_the_access_file_of_the_page_is_accepted(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = re.search(r"```yaml\n(.*?)```", page_section(nos), re.DOTALL)
    assert block
    monkeypatch.setenv("SWITCH_PASSWORD", "s3cret")
    (tmp_path / "key").write_text("")
    for name in ("known_hosts", "switches.pem"):
        (tmp_path / name).write_text("")
    path = tmp_path / "fabricc-access.yaml"
    path.write_text(block[1].replace("~/.ssh/id_ed25519", str(tmp_path / "key")))
    login = read_access(path).login(Device("su001-tor1a", "tor", nos, "", "192.0.2.1"))
    assert login.username in ("admin", "fabricc", "cumulus", "root")
    if nos == "sonic":
        assert login.options["reload"] is True
