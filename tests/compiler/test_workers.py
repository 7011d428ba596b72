"""Work spread over processes: everything once, failures reported, no process left behind."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabricc.compiler.write.workers import WorkerError, run_in_background, spread_work
from fabricc.tree import EmitError

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("pieces", [0, 1, 7, 500])
def test_every_piece_is_done_once(jobs: int, pieces: int) -> None:
    assert sorted(spread_work(jobs, pieces, lambda n: n * n)) == [(n, n * n) for n in range(pieces)]


def test_large_results_come_back_whole() -> None:
    results = dict(spread_work(2, 6, lambda n: bytes([n]) * 3_000_000))
    assert all(results[n] == bytes([n]) * 3_000_000 for n in range(6))


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_full_disk_in_a_worker_is_a_diagnostic(jobs: int) -> None:
    def work(number: int) -> int:
        if number == 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "switches/x")
        return number

    with pytest.raises(EmitError) as failed:
        list(spread_work(jobs, 50, work))
    assert failed.value.diagnostic.code == "FAB7001"
    assert "switches/x" in failed.value.diagnostic.message


def test_a_defect_in_a_worker_arrives_with_its_traceback() -> None:
    def work(number: int) -> float:
        return 1 / (number - 4)

    with pytest.raises(WorkerError, match="ZeroDivisionError"):
        list(spread_work(2, 9, work))


def test_a_killed_worker_is_reported() -> None:
    def work(number: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(EmitError) as failed:
        list(spread_work(2, 9, work))
    assert failed.value.diagnostic.code == "FAB7008"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(how: int) -> None:
    script = (
        "import os, time\n"
        "from fabricc.compiler.write.workers import spread_work\n"
        "def work(n):\n    os.write(1, f'{os.getpid()}\\n'.encode()); time.sleep(60)\n"
        "list(spread_work(2, 4, work))\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background, and inherited
    )  # fmt: skip
    assert parent.stdout is not None
    pids = [int(parent.stdout.readline()) for _ in range(2)]
    parent.send_signal(how)
    parent.wait(timeout=10)
    deadline = time.monotonic() + 5
    while any(_is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(_is_alive(pid) for pid in pids)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_background_work_returns_its_result_or_raises() -> None:
    with run_in_background(lambda: sum(range(1000))) as result:
        assert result() == 499_500
    with pytest.raises(WorkerError, match="ZeroDivisionError"), run_in_background(lambda: 1 // 0) as failure:
        failure()


def test_background_work_ends_with_its_parent() -> None:
    def forever() -> None:
        Path(f"/proc/{os.getpid()}/comm").write_text("beside-for-ever")
        time.sleep(600)

    with pytest.raises(KeyboardInterrupt), run_in_background(forever):
        raise KeyboardInterrupt
    names = [path.read_text().strip() for path in Path("/proc").glob(f"{os.getpid()}/task/*/children")]
    children = [child for line in names for child in line.split()]
    assert all(Path(f"/proc/{child}/comm").read_text().strip() != "beside-for-ever" for child in children)
