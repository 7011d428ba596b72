"""Numbered pieces of work that processes share, and a second process that takes some of them.

A build without changes uses this; `workers` has processes that return results.
"""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager, suppress
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NUMBER = Struct("<I")
_MOST = 16_000  # numbers of four bytes that fit a pipe's default buffer of 64 KiB
_YES, _NO = b"y", b"n"
_KILLED = 9
"""SIGKILL, for which alone the module `signal` would be read before there is anything to do."""


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    return len(os.sched_getaffinity(0))


def queue_pieces(pieces: int) -> int:
    """Return a pipe with the numbers of so many pieces, 16,000 at most, to be closed by the caller.

    Raises:
        ValueError: there are more.
    """
    if pieces > _MOST:
        raise ValueError(f"{pieces} pieces, {_MOST} at most")
    queue, fill = os.pipe()
    os.write(fill, b"".join(map(_NUMBER.pack, range(pieces))))
    os.close(fill)
    return queue


def take_pieces(queue: int) -> Iterator[int]:
    """Yield the numbers that this process takes from the pipe, until no more are in it."""
    while len(number := os.read(queue, _NUMBER.size)) == _NUMBER.size:
        yield _NUMBER.unpack(number)[0]


@contextmanager
def share_pieces(pieces: int) -> Iterator[Iterator[int]]:
    """Share numbers of pieces between this process and those it starts: each goes to the first one that is free.

    Raises:
        ValueError: as `queued`.
    """
    queue = queue_pieces(pieces)
    try:
        yield take_pieces(queue)
    finally:
        os.close(queue)


@contextmanager
def run_checks_in_process(*questions: Callable[[], bool]) -> Iterator[Callable[[int], bool]]:
    """Run checks in a second process, in turn; the yielded function waits for the answer of a number.

    A check that raises, or whose process is killed, counts as no, and so do those after it.
    """
    answers, told = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            gc.disable()
            for question in questions:
                os.write(told, _YES if question() else _NO)
        finally:
            os._exit(0)
    os.close(told)
    known: list[bool] = []

    def answer(number: int) -> bool:
        while len(known) <= number:
            known.append(os.read(answers, 1) == _YES)
        return known[number]

    try:
        yield answer
    finally:
        os.close(answers)
        with suppress(ProcessLookupError, ChildProcessError):  # gone already where the caller ignores SIGCHLD
            os.kill(pid, _KILLED)
            os.waitpid(pid, 0)
