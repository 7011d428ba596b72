"""The login list of an FRR switch among other firewall rules, loaded by the real nft in its own namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos
from fabricc.operate.drivers.frr_files import FILES, WITHOUT_SYSTEMD
from tests.back.nos.frr.variants import VARIANTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("nft") is None or os.geteuid() != 0, reason="needs nft (package nftables) and root"
)

NAME = "nftables.conf"
PLACE = FILES[NAME][0]
ACTIVATE = WITHOUT_SYSTEMD[NAME].replace("{path}", PLACE)
INCLUDE = 'include "/etc/nftables.d/fabricc*.conf"'
RESTART = "nft flush ruleset; nft -f /etc/nftables.conf"
FOREIGN = "#!/usr/sbin/nft -f\nflush ruleset\ntable ip guard {\n    chain input {\n    }\n}\n"
EARLIER = nos.load("frr").render(VARIANTS["settings"])[NAME]


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    place = tmp_path / "etc" / PLACE.removeprefix("/etc/")
    place.parent.mkdir(parents=True)
    place.write_text(EARLIER)
    return tmp_path / "etc"


def tables_after(etc: Path, *commands: str) -> list[str]:
    """Tables of the kernel after shell commands with this folder as /etc, in namespaces of their own."""
    script = "; ".join([f"mount --bind {etc} /etc", *commands, "nft list tables"])
    done = subprocess.run(
        ["unshare", "-mn", "sh", "-ec", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_rules_of_others_stay_and_come_back_with_a_restart(etc: Path) -> None:
    (etc / NAME).write_text(FOREIGN)
    both = ["table ip guard", "table inet fabricc"]
    assert tables_after(etc, "nft -f /etc/nftables.conf", ACTIVATE, ACTIVATE) == both
    assert (etc / NAME).read_text() == f"{FOREIGN}{INCLUDE}\n"
    assert tables_after(etc, RESTART) == both
    assert tables_after(etc, RESTART, f"rm {PLACE}", ACTIVATE) == both[:1]
    assert tables_after(etc, RESTART) == both[:1], "an include without a file is no error"


@pytest.mark.parametrize(
    "before",
    [
        FOREIGN.removesuffix("\n"),
        f"{FOREIGN}# {INCLUDE}\n",
        f"{INCLUDE}\n{FOREIGN}",
        f"{FOREIGN}define port = 22 # last",
        f'{FOREIGN}include "/etc/nftables.d/*.conf"\n',
    ],
    ids=[
        "no final line feed",
        "commented",
        "flushed afterwards",
        "comment without a line feed",
        "includes all",
    ],
)
def test_the_list_comes_back_with_rules_of_any_form(etc: Path, before: str) -> None:
    (etc / NAME).write_text(before)
    assert tables_after(etc, ACTIVATE, ACTIVATE, RESTART) == ["table ip guard", "table inet fabricc"]
    assert (etc / NAME).read_text().startswith(before)


@pytest.mark.parametrize("empty", [False, True])
def test_a_switch_without_rules_gets_a_file_that_loads_at_boot(etc: Path, empty: bool) -> None:
    if empty:
        (etc / NAME).touch()
    assert tables_after(etc, ACTIVATE) == ["table inet fabricc"]
    assert tables_after(etc, RESTART, RESTART) == ["table inet fabricc"]


def test_a_list_of_an_earlier_version_does_not_open_the_switch(etc: Path) -> None:
    """A push that brings the new place and goes back leaves the file of before in force."""
    (etc / NAME).write_text(EARLIER)
    assert tables_after(etc, "nft -f /etc/nftables.conf", ACTIVATE) == ["table inet fabricc"]
    assert tables_after(etc, RESTART, f"rm {PLACE}", ACTIVATE) == ["table inet fabricc"]


def test_a_list_that_nft_refuses_is_not_included(etc: Path) -> None:
    (etc / PLACE.removeprefix("/etc/")).write_text(EARLIER.replace("saddr", "sadr"))
    assert tables_after(etc, f"! ( {ACTIVATE} )") == []
    assert not (etc / NAME).exists()
