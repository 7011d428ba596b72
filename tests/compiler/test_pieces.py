"""Pieces that processes share, and checks in a second process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from fabricc.compiler.write.workers import run_checks_in_process, share_pieces


@pytest.mark.parametrize("yes", [True, False])
def test_background_check_returns_its_result(yes: bool) -> None:
    with run_checks_in_process(lambda: yes) as answer:
        assert answer(0) is yes


def test_background_checks_return_results_by_number() -> None:
    with run_checks_in_process(lambda: True, lambda: False, lambda: True) as answer:
        assert [answer(number) for number in (2, 0, 1, 2)] == [True, True, False, True]


def test_a_question_that_fails_or_is_killed_is_answered_with_no() -> None:
    def fails() -> bool:
        raise OSError("nothing there")

    def is_killed() -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    for question in (fails, is_killed):
        with run_checks_in_process(lambda: True, question, lambda: True) as answer:
            assert [answer(number) for number in range(3)] == [True, False, False]


def test_answers_come_where_the_end_of_processes_is_ignored() -> None:
    """As a service manager may leave it to what it starts; the kernel then forgets each process at its end."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with run_checks_in_process(lambda: True) as answer:
            assert answer(0)
            time.sleep(0.1)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_background_check_ends_with_its_parent(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def for_ever() -> bool:
        begun.write_text(str(os.getpid()))
        time.sleep(600)
        return True

    def interrupted() -> None:
        while not begun.exists() or not begun.read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), run_checks_in_process(for_ever):
        interrupted()
    assert not Path(f"/proc/{begun.read_text()}").exists()


def test_each_piece_is_handed_to_one_worker() -> None:
    with share_pieces(500) as pieces, run_checks_in_process(lambda: [*pieces] == [*range(500)]) as answer:
        assert answer(0)
        assert list(pieces) == []
    with share_pieces(500) as pieces:
        assert list(pieces) == list(range(500))
    with pytest.raises(ValueError, match="at most"), share_pieces(100_000):
        pass
