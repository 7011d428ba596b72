"""Switches that are silent do not occupy the places of those that answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from fabricc.operate.devices import RefusedLoginError
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.connection import open_connection
from fabricc.operate.devices.fanout import for_each
from fabricc.operate.devices.login import Device, Login
from fabricc.operate.devices.secrets import Reference
from tests.operate.drivers.servers.eos import eos_switch
from tests.operate.drivers.servers.junos import junos_switch

if TYPE_CHECKING:
    from pathlib import Path

WORKERS = 4
LIMIT_S = 60


class Bench:
    """Work that blocks for silent names until all others are done, and counts what runs at once."""

    def __init__(self, names: list[str], silent: set[str]) -> None:
        self.silent, self.left = silent, len(names) - len(silent)
        self.turn, self.others = threading.Lock(), threading.Event()
        self.now = self.most = 0

    def work(self, name: str) -> str:
        with self.turn:
            self.now += 1
            self.most = max(self.most, self.now)
        answered = name not in self.silent or self.others.wait(LIMIT_S)
        with self.turn:
            self.now -= 1
            if name not in self.silent:
                self.left -= 1
            if not self.left:
                self.others.set()
        return f"{name} {answered}"


@pytest.mark.parametrize("silent", [0, 1, WORKERS, 3 * WORKERS])
def test_silent_switches_do_not_hold_up_the_others(silent: int) -> None:
    names = [f"s{number}" for number in range(40)]
    bench = Bench(names, set(names[:silent]))
    found = for_each(names, bench.work, WORKERS, patience_s=0.05)
    assert list(found) == names
    assert all(answer.endswith("True") for answer in found.values()), "the others were done before"
    assert bench.most <= 4 * WORKERS


def test_without_patience_the_workers_are_all_that_run() -> None:
    names = [f"s{number}" for number in range(12)]
    bench = Bench(names, set())
    for_each(names, bench.work, WORKERS)
    assert bench.most <= WORKERS


def test_a_defect_is_raised_and_every_other_switch_is_worked_on() -> None:
    done: list[str] = []

    def work(name: str) -> None:
        if name == "b":
            raise ZeroDivisionError
        done.append(name)

    with pytest.raises(ZeroDivisionError):
        for_each(["a", "b", "c"], work, 2, patience_s=1.0)
    assert sorted(done) == ["a", "c"]


def test_progress_is_reported_of_every_switch() -> None:
    reported: list[tuple[int, int]] = []
    for_each(["a", "b", "c"], str.upper, 1, lambda done, of: reported.append((done, of)), patience_s=1.0)
    assert reported == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.slow
@pytest.mark.parametrize("nos", ["eos", "junos"])
def test_a_wrong_password_is_not_tried_on_every_switch(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A TACACS+ server counts the refusals of all switches, and locks the account after a few."""
    names = [f"su001-tor{n}a" for n in range(12)]
    with {"eos": eos_switch, "junos": junos_switch}[nos](tmp_path) as server:
        place = server.device
        login = Login(
            "admin", Reference("env", "LAB_PASSWORD"), address=place.host, timeout_s=20, options=place.options
        )

        def log_in(access: Access, name: str) -> str:
            try:
                with open_connection(Device(name, "tor", nos, "", place.host), access):
                    return "accepted"
            except RefusedLoginError as error:
                return "not asked" if "was not asked: 3 switches" in str(error) else "refused"

        monkeypatch.setenv("LAB_PASSWORD", "wrong")
        wrong = Access(login)
        found = for_each(names, lambda name: log_in(wrong, name), 8)
        assert sorted(found.values()) == ["not asked"] * 9 + ["refused"] * 3
        again = next(name for name, word in found.items() if word == "refused")
        assert log_in(wrong, again) == "refused", "its own pauses apply"

        monkeypatch.setenv("LAB_PASSWORD", place.password)
        right = Access(login)
        assert set(for_each(names, lambda name: log_in(right, name), 8).values()) == {"accepted"}
        server.faults.refuse_login = True
        found = for_each(names, lambda name: log_in(right, name), 8)
        assert set(found.values()) == {"refused"}, "a password that a switch has accepted is right"
