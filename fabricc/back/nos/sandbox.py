"""The environment of templates of the user's own: they see the view, change nothing, and lead to no circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import TemplateAssertionError, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fabricc.back.nos.child_process import TOO_LARGE, LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Leading = nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends

_MAYBE = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock)
"""What is in these may end a template that includes itself."""


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
