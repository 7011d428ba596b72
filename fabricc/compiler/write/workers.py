"""Spread numbered pieces of work over forked processes that take the next piece when they are done with one.

A pipe filled with the numbers is the queue. Workers send back one pickled result per piece and write files themselves.
They die with their parent, so an interrupted build leaves none behind. A build without changes needs no results: there
a second process takes some of the pieces.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import selectors
import signal
import traceback
from contextlib import contextmanager, suppress
from struct import Struct
from typing import TYPE_CHECKING, Any, TypeVar

from fabricc.tree import EmitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Result = TypeVar("Result")
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LENGTH = Struct("<Q")
_COLLECT_AFTER = 5000
"""Objects; the default of 700 looks seven times for cycles, which hardly anything here makes."""


class WorkerError(Exception):
    """A worker raised something unforeseen; the text is its traceback."""


def spread_work(jobs: int, pieces: int, work: Callable[[int], Result]) -> Iterator[tuple[int, Result]]:
    """`(number, work(number))` for every piece, in order of completion.

    Args:
        jobs: processes; with 1, or a single piece, everything runs in this one.
        pieces: how many pieces, 16,000 at most.
        work: called in a worker with the piece's number; its result must pickle.

    Raises:
        EmitError: a worker's EmitError, its OSError as FAB7001, or FAB7008 when a worker died.
        WorkerError: any other exception of a worker.
    """
    if jobs <= 1 or pieces <= 1:
        for number in range(pieces):
            try:
                yield number, work(number)
            except OSError as error:
                raise EmitError.from_os(error) from None
        return
    queue = queue_pieces(pieces)
    crew = [_start_worker(queue, work) for _ in range(min(jobs, pieces))]
    os.close(queue)
    try:
        yield from _collect_results(dict(crew), pieces)
    finally:
        _stop_workers(dict(crew))


@contextmanager
def run_in_background(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Run `work` in its own process at the same time; the yielded function waits for its result, once.

    Raises:
        EmitError, WorkerError: as `spread_work` does, on waiting.
    """
    queue = queue_pieces(1)
    crew = dict([_start_worker(queue, lambda _: work())])
    os.close(queue)

    def result() -> Result:
        ((_, value),) = _collect_results(crew, 1)
        found: Result = value
        return found

    try:
        yield result
    finally:
        _stop_workers(crew)


def _start_worker(queue: int, work: Callable[[int], Any]) -> tuple[int, int]:
    """Fork a worker, and return its result pipe and its process id."""
    results, out = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(out)
        return results, pid
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        gc.freeze()  # what the parent made is looked through by no worker, nor copied for it
        gc.set_threshold(_COLLECT_AFTER)
        if os.getppid() == parent:
            _work_off(queue, out, work)
            status = 0
    finally:
        os._exit(status)


def _work_off(queue: int, out: int, work: Callable[[int], Any]) -> None:
    for piece in take_pieces(queue):
        try:
            outcome: tuple[str, Any] = ("result", work(piece))
        except EmitError as error:
            outcome = ("emit", error.diagnostic)
        except OSError as error:
            outcome = ("emit", EmitError.from_os(error).diagnostic)
        except BaseException:
            outcome = ("crash", traceback.format_exc())
        content = pickle.dumps((piece, *outcome), pickle.HIGHEST_PROTOCOL)
        view = memoryview(_LENGTH.pack(len(content)) + content)
        while view:
            view = view[os.write(out, view) :]
        if outcome[0] != "result":
            return


def _collect_results(crew: dict[int, int], pieces: int) -> Iterator[tuple[int, Any]]:
    done = 0
    buffers = {results: bytearray() for results in crew}
    with selectors.DefaultSelector() as selector:
        for results in crew:
            selector.register(results, selectors.EVENT_READ)
        while done < pieces:
            if not selector.get_map():
                raise EmitError(
                    "FAB7008", "a worker process was killed", "Memory may be short: try `--jobs 1`."
                )
            for key, _ in selector.select():
                content = os.read(key.fd, 1 << 20)
                if not content:
                    selector.unregister(key.fd)
                    continue
                buffers[key.fd] += content
                for message in _parse_messages(buffers[key.fd]):
                    done += 1
                    yield _piece_outcome(*pickle.loads(message))


def _parse_messages(buffer: bytearray) -> Iterator[bytes]:
    while len(buffer) >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(buffer)
        end = _LENGTH.size + length
        if len(buffer) < end:
            return
        message = bytes(buffer[_LENGTH.size : end])
        del buffer[:end]
        yield message


def _piece_outcome(piece: int, kind: str, value: Any) -> tuple[int, Any]:
    if kind == "result":
        return piece, value
    if kind == "emit":
        raise EmitError(value.code, value.message, value.help, value.position)
    raise WorkerError(value)


def _stop_workers(crew: dict[int, int]) -> None:
    """Stop what still runs, without waiting for its piece, and reap it."""
    for results, pid in crew.items():
        os.close(results)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


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
        ValueError: there are more than 16,000.
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
    answers, write_end = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            for question in questions:
                os.write(write_end, _YES if question() else _NO)
        finally:
            os._exit(0)
    os.close(write_end)
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
