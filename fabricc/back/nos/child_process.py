"""Rendering with templates of the user's own: in a child process, bounded in CPU time, memory and output.

A sandbox keeps a template from objects and files, and not from `9 ** 9 ** 9` or `'x' * 10 ** 10`, which may run already
while the template is compiled. Nothing inside a process bounds a call of C code, so a child does the work, and the
kernel bounds the child.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import re
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from jinja2 import nodes

    Leading = nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends


CPU_S = 5
"""CPU time for the files of one device; the largest take less than half a second."""


_GRACE_S = 2
"""Additional time for C code, which signals do not interrupt."""


MEMORY_MIB = 256


OUTPUT_MIB = 16


_PIECE = 1 << 16


_UNREPORTED = 9
"""Exit status of a child that has too little memory to report anything."""


_FRAME = re.compile(rb'File "([^"\n]+)", line \d+ in ')


_TOO_LONG = f"it takes more than {CPU_S} s of CPU time"


TOO_LARGE = f"it needs more than {MEMORY_MIB} MiB of memory"


_TOO_MUCH = f"it prints more than {OUTPUT_MIB} MiB"


_children: list[int] = []
"""This process, where it is such a child."""


def is_child() -> bool:
    """Return whether this process renders for another one, under limits."""
    return os.getpid() in _children


class LimitError(Exception):
    """A template reached a limit, which the text names.

    Attributes:
        files: files of the code that was at work, the innermost first, where no line is known.
    """

    def __init__(self, message: str, files: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.files = files


def run_bounded(work: Callable[[], Any], describe: Callable[[Exception], Any]) -> tuple[Any, Any]:
    """Do some work in a child process with limits.

    Args:
        work: returns what JSON can express.
        describe: what an exception of the work becomes; it must be what JSON can express.

    Returns:
        The result and None, or None and the description.

    Raises:
        LimitError: the child was ended, or its result is too large.
    """
    (out, into), (hint, into_hint) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _work_in_child(into, into_hint, work, describe)
    os.close(into)
    os.close(into_hint)
    try:
        result = _read_limited(out, (OUTPUT_MIB << 20) * 2)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        files = tuple(os.fsdecode(each) for each in _FRAME.findall(_read_limited(hint, _PIECE)))
        os.close(out)
        os.close(hint)
    if result[-1:] == b"\n":
        value, description = json.loads(result)
        return value, description
    if len(result) > (OUTPUT_MIB << 20):
        raise LimitError(_TOO_MUCH)
    if status in (_UNREPORTED, -signal.SIGSEGV, -signal.SIGABRT):
        raise LimitError(TOO_LARGE, files)
    raise LimitError(_TOO_LONG, files)


def _read_limited(handle: int, most: int) -> bytes:
    """Read to the end, or until there are more bytes than a limit."""
    found = bytearray()
    while len(found) <= most and (part := os.read(handle, _PIECE)):
        found += part
    return bytes(found)


def _work_in_child(
    out: int, hint: int, work: Callable[[], Any], describe: Callable[[Exception], Any]
) -> NoReturn:
    """Do the work under limits, write the result and a line feed, and end."""
    status = _UNREPORTED
    try:
        gc.freeze()
        _children.append(os.getpid())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _set_limits(hint)
        try:
            text = json.dumps((work(), None))
            if len(text) > OUTPUT_MIB << 20:
                raise LimitError(_TOO_MUCH)
        except MemoryError as error:
            text = json.dumps((None, describe(LimitError(TOO_LARGE).with_traceback(error.__traceback__))))
        except Exception as error:
            text = json.dumps((None, describe(error)))
        with os.fdopen(out, "wb") as file:
            file.write(text.encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _set_limits(hint: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    used = pages * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + (MEMORY_MIB << 20)
    wanted = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, _too_long)
    # The kernel's own handler of the signal prints where C code is at work.
    faulthandler.register(signal.SIGXCPU, file=hint, all_threads=False, chain=True)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + _GRACE_S))


def _too_long(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)  # the exception is reported; the kernel ends what goes on
    raise LimitError(_TOO_LONG)
