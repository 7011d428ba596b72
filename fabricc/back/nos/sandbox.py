"""The environment of templates of the user's own: they see the view, change nothing, and lead to no circle.

Compile templates to Python as jinja2 does, but with one text per run of output and Python's attributes.

A switch's configuration is some thousand small pieces of text. jinja2 hands on each of them by itself, again for each
template that includes another, and looks every value up through the environment, which takes twice the time of printing
them: 0.22 ms for an EOS switch of 85 ports, where this takes 0.12 (the least of several runs in turn).

Rendering with templates of the user's own: in a child process, bounded in CPU time, memory and output.

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
from itertools import groupby
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import TemplateAssertionError, TemplateError, nodes
from jinja2.compiler import CodeGenerator
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType

    from jinja2.compiler import Frame

    Leading = nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends

_MAYBE = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock)
"""Functions in which a template that includes itself may end."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox that also detects circular includes before rendering exhausts the stack."""

    def compile(self, source: Any, name: Any = None, filename: Any = None, *others: Any, **named: Any) -> Any:
        """Compile a template; what is constant in it is computed already here.

        Raises:
            TemplateAssertionError: that reaches a limit, or Python cannot compile what Jinja makes of it.
        """
        try:
            return super().compile(source, name, filename, *others, **named)
        except (TemplateError, RecursionError):
            raise
        except Exception as error:
            raise TemplateAssertionError(_compile_reason(error), 1, name, filename) from None

    def refuse_circles(self, names: Iterable[str]) -> None:
        """Follow the templates independent of the view; an unreadable one is reported when it is used.

        Raises:
            TemplateAssertionError: one of them leads to itself, or is nested too deeply.
        """
        done: set[str] = set()
        for name in names:
            self._follow_template(name, [], done)

    def _follow_template(self, name: str, way: list[str], done: set[str]) -> None:
        if name in done:
            return
        way = [*way, name]
        for line, other, file in _led_to(self, name):
            if other in way:
                circle = " > ".join([*way[way.index(other) :], other])
                raise TemplateAssertionError(f"it includes itself: {circle}", line, name, file)
            self._follow_template(other, way, done)
        done.add(name)


def _compile_reason(error: Exception) -> str:
    """Return why a template cannot be compiled; Python's own messages, such as the one on nested blocks, follow."""
    if isinstance(error, MemoryError):
        return TOO_LARGE
    if isinstance(error, LimitError):
        return str(error)
    reason = error.msg if isinstance(error, SyntaxError) else str(error).partition(";")[0]
    return f"it cannot be compiled: {reason}"


def _led_to(environment: Sandbox, name: str) -> list[tuple[int, str, str | None]]:
    """Return line, name, and the file of each template that one includes, imports or extends."""
    assert environment.loader is not None
    try:
        text, file, _ = environment.loader.get_source(environment, name)
        found = [*_find_leading(environment.parse(text, name))]
    except RecursionError:
        raise TemplateAssertionError("it is nested too deeply", 1, name, file) from None
    except (TemplateError, OSError, ValueError):
        return []
    named = ((each.lineno, each.template) for each in found)
    return [
        (line, name.value, file)
        for line, name in named
        if isinstance(name, nodes.Const) and isinstance(name.value, str)
    ]


def _find_leading(node: nodes.Node) -> Iterator[Leading]:
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends):
            yield child
        elif not isinstance(child, _MAYBE):
            yield from _find_leading(child)


__all__ = ["AttributeTemplates", "JoinedTemplates"]


def _is_text(node: nodes.Node) -> bool:
    """Return whether a node prints and does nothing else: output, or conditions of such."""
    if isinstance(node, nodes.If):
        return all(map(_is_text, (*node.body, *node.elif_, *node.else_)))
    return isinstance(node, nodes.Output)


class JoinedTemplates(CodeGenerator):
    """Hands on neighboring texts and values as one text; for environments without `finalize` and autoescape."""

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        """A body, as `yield "speed %s %s" % (speed, "no fec" if silent else "")` where it prints and does no more."""
        if frame.buffer is not None or frame.require_output_check:
            super().blockvisit(nodes, frame)
            return
        self.writeline("pass")
        for texts, run in groupby(nodes, _is_text):
            if not texts:
                super().blockvisit(run, frame)
                continue
            printed = [*run]
            self.writeline("yield ", printed[0])
            self._text(printed, frame)

    def _text(self, printed: Sequence[nodes.Node], frame: Frame) -> None:
        """The expression of what nodes print, which Python compiles to a single piece of text."""
        parts = [
            part for node in printed for part in (node.nodes if isinstance(node, nodes.Output) else [node])
        ]
        texts = [part.data if isinstance(part, nodes.TemplateData) else None for part in parts]
        if None not in texts:
            self.write(repr("".join(map(str, texts))))
            return
        pattern = "".join("%s" if text is None else text.replace("%", "%%") for text in texts)
        self.write(f"{pattern!r} % (")
        for part, text in zip(parts, texts, strict=True):
            if isinstance(part, nodes.If):
                self._choice(part, frame.soft())
            elif text is None:
                self.visit(part, frame)
            else:
                continue
            self.write(", ")
        self.write(")")

    def _choice(self, node: nodes.If, frame: Frame) -> None:
        """The expression of what a condition prints."""
        self.write("(")
        for branch in (node, *node.elif_):
            self._text(branch.body, frame)
            self.write(" if ")
            self.visit(branch.test, frame)
            self.write(" else ")
        self._text(node.else_, frame)
        self.write(")")

    def visit_Test(self, node: nodes.Test, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        """`is none` without a call."""
        if node.name != "none":
            super().visit_Test(node, frame)
            return
        self.write("(")
        self.visit(node.node, frame)
        self.write(" is None)")


class AttributeTemplates(JoinedTemplates):
    """For views made of objects: `port.name` is Python's `port.name`, keys are not tried."""

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802 - jinja2's name
        """The attribute itself, or an `AttributeError`."""
        if iskeyword(node.attr) or node.attr.startswith("__"):
            super().visit_Getattr(node, frame)
            return
        self.visit(node.node, frame)
        self.write(f".{node.attr}")


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
