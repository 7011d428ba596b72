"""The Jinja2 environments of the back ends: one per NOS and process, the user's own templates searched first."""

from __future__ import annotations

import os
import re
import sys
import traceback
import zlib
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fabricc.back.nos import child_process
from fabricc.base import installation
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from jinja2 import BaseLoader, BytecodeCache, Environment

    from fabricc.back.nos.sandbox import Sandbox

_Result = TypeVar("_Result")
_FIXED = ("hosts", "jobs", "report")
"""Folders of the built-in templates that other modules fill in; a user's are not looked for."""
_LARGEST = 1 << 20
"""Bytes of a template of the user's own."""
_FORMER = {
    "eos/management.j2": "eos/management-apis.j2, eos/snmp.j2 and eos/running-config.j2",
    "eos/routing.j2": "eos/access-lists.j2, eos/prefix-lists.j2 and eos/running-config.j2",
    "nxos/lines.j2": "nxos/vty-and-apis.j2",
    "nxos/policies.j2": "nxos/routing-policy.j2, nxos/load-balancing.j2 and nxos/running-config.j2",
    "nxos/qos.j2": "nxos/queuing.j2",
}
"""Names that built-in templates had -> those that print it now."""
_INCLUDED = re.compile(r"""^\{% include "([\w.-]+)" %\}\n""", re.MULTILINE)
_overrides: tuple[Path, ...] = ()
_sandboxes: dict[tuple[tuple[Path, ...], str, bool], Sandbox] = {}
"""Environments with templates of the user's own."""


def set_template_path(folders: Iterable[str | Path]) -> None:
    """Search these folders before the built-in templates, in the order given.

    Each holds a folder per NOS, such as `eos/bgp.j2`; a file there replaces the built-in one of that name. What was
    read from folders set before is read again.
    """
    global _overrides
    chosen = tuple(Path(folder) for folder in folders)
    if chosen or _overrides:
        _make_environment.cache_clear()
        _sandboxes.clear()
    _overrides = chosen


def template_path() -> tuple[Path, ...]:
    """Return the folders with templates of the user's own that are searched; none where only the built-in ones are."""
    return _overrides


@contextmanager
def use_template_path(folders: tuple[Path, ...]) -> Iterator[None]:
    """Search other folders meanwhile; their files must not change, since each is read once."""
    global _overrides
    before, _overrides = _overrides, folders
    try:
        yield
    finally:
        _overrides = before


def list_replaceable() -> tuple[str, ...]:
    """Return the folders of built-in templates that a user's own templates may replace."""
    builtin = installation.data_folder("templates")
    hidden = (*_FIXED, "__pycache__")
    return tuple(sorted(each.name for each in builtin.iterdir() if each.is_dir() and each.name not in hidden))


class TemplateFaultError(Exception):
    """A template of the user's own failed in the process that rendered it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Fault:
    """The place and the reason of a template's failure."""

    file: str
    line: int
    message: str


def override_digests() -> dict[str, str]:
    """Return the user's templates, `eos/bgp.j2` for instance -> SHA-256; of two of one name the one that is used.

    Raises:
        OSError: a folder or file cannot be read.
    """
    found: dict[str, str] = {}
    for folder in _overrides:
        for nos in sorted(each for each in folder.iterdir() if each.name in list_replaceable()):
            for file in sorted(nos.glob("*.j2")):
                name = f"{nos.name}/{file.name}"
                found.setdefault(name, files.digest_of_file(file, root=folder))
    return found


def idle_overrides() -> Iterator[tuple[str, str]]:
    """Yield the user's templates that nothing prints, and what to do: none is built in by that name or includes them.

    Raises:
        OSError: a folder or file cannot be read.
    """
    builtin = installation.data_folder("templates")
    for name in override_digests():
        nos, _, file = name.partition("/")
        beside = (each for each in _template_files() if each.parent.name == nos and each.name != file)
        if (builtin / name).is_file() or any(_mentions_template(each, file) for each in beside):
            continue
        if now := _FORMER.get(name):
            yield name, f"what it printed is now in {now}"
        else:
            yield name, f"{nos} has {', '.join(sorted(each.name for each in (builtin / nos).glob('*.j2')))}"


def render_bounded(work: Callable[[], _Result]) -> _Result:
    """Return what some work renders; with templates of the user's own in a child process with limits.

    Args:
        work: renders templates; its result is what JSON can express.

    Raises:
        TemplateFaultError: a template failed, or reached a limit of `run_bounded`.
    """
    if not _overrides or child_process.is_child():
        return work()
    try:
        result, failed = child_process.run_bounded(lambda: (work(), _compiled_templates()), _describe_error)
    except child_process.LimitError as error:
        own = (file for file in error.files if any(Path(file).is_relative_to(each) for each in _overrides))
        file = next(own, str(_overrides[0]))
        raise TemplateFaultError(Fault(file, 1, str(error))) from None
    if isinstance(failed, str):
        raise RuntimeError(failed)
    if failed:
        raise TemplateFaultError(Fault(*failed))
    found, loaded = result
    for nos, objects, names in loaded:
        made = template_environment(nos, objects=objects)
        for name in names:
            made.get_template(name)  # the child compiled it within its limits, and the next one inherits it
    return found  # type: ignore[no-any-return]


def _compiled_templates() -> list[tuple[str, bool, list[str]]]:
    """Return the templates that this process has compiled, by NOS and kind of view."""
    return [
        (nos, objects, [name for _, name in made.cache or ()])
        for (folders, nos, objects), made in _sandboxes.items()
        if folders == _overrides
    ]


def _first_used() -> str:
    """Return the file of the first template of the user's own that this process compiled, else their folder."""
    used = (made for (folders, *_), made in _sandboxes.items() if folders == _overrides)
    files = (str(each.filename) for made in used for each in (made.cache or {}).values())
    own = (file for file in files if any(Path(file).is_relative_to(each) for each in _overrides))
    return next(own, str(_overrides[0]))


def _describe_error(error: Exception) -> list[Any] | str:
    """Return file, line and message of an error in a template; of any other its traceback."""
    fault = fault_of(error)
    if fault is None and isinstance(error, child_process.LimitError):
        return [_first_used(), 1, str(error)]
    return [fault.file, fault.line, fault.message] if fault else "".join(traceback.format_exception(error))


def fault_of(error: Exception) -> Fault | None:
    """Return the place of an error in the user's templates; None if there is none, or the error is elsewhere."""
    from jinja2 import TemplateAssertionError, TemplateSyntaxError

    if isinstance(error, TemplateFaultError):
        return error.fault
    if not _overrides:
        return None
    if isinstance(error, TemplateSyntaxError) and (file := error.filename or error.name):
        # Jinja's lexer gives the file as the name.
        kind = "" if isinstance(error, TemplateAssertionError) else "syntax: "
        return Fault(file, error.lineno, f"{kind}{error.message}")
    if isinstance(error, UnicodeDecodeError):
        return next(
            (Fault(str(file), 1, "not UTF-8 text") for file in _template_files() if not _is_text(file)), None
        )
    place = _innermost_template(error.__traceback__)
    return Fault(*place, _error_reason(error)) if place else None


def _error_reason(error: Exception) -> str:
    from jinja2 import TemplateNotFound

    if isinstance(error, TemplateNotFound):
        return f"there is no template {error.name}"
    if isinstance(error, RecursionError):
        return "it includes or calls itself without end"
    return str(error) or "it cannot be rendered"


def _innermost_template(at: TracebackType | None) -> tuple[str, int] | None:
    """File and line of the template that was at work: the user's if one was, else any."""
    found: tuple[str, int] | None = None
    own = False
    while at is not None:
        file = Path(at.tb_frame.f_code.co_filename)
        theirs = any(file.is_relative_to(folder) for folder in _overrides)
        if theirs or (not own and file.is_relative_to(installation.data_folder("templates"))):
            found, own = (str(file), at.tb_lineno), theirs
        at = at.tb_next
    return found


def _template_files() -> Iterable[Path]:
    return (file for folder in _overrides for file in sorted(folder.glob("*/*.j2")))


def _mentions_template(file: Path, name: str) -> bool:
    try:
        return name.encode() in files.read(file, root=file.parent.parent, limit=_LARGEST)
    except OSError:  # reported when it is rendered
        return False


def _is_text(file: Path) -> bool:
    try:
        files.read(file, root=file.parent.parent, limit=_LARGEST).decode()
    except UnicodeDecodeError:
        return False
    return True


def template_environment(nos: str, *, objects: bool = False) -> Environment:
    """Return the environment that renders the templates of one NOS; the same object at every call.

    Names that a template uses and its view lacks are errors (`jinja2.UndefinedError`), never empty text. With
    templates of the user's own it is a sandbox: they see the view and change nothing (`jinja2.sandbox`).

    Args:
        nos: folder of the templates.
        objects: the view consists of objects with attributes, without keys. `view.name` then follows Python's rules,
            except in the sandbox.
    """
    return _make_environment(nos, _overrides, objects)


@cache
def _make_environment(nos: str, overrides: tuple[Path, ...], objects: bool) -> Environment:
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, FunctionLoader, StrictUndefined

    from fabricc.back.nos import sandbox

    builtin = installation.data_folder("templates") / nos
    common: dict[str, Any] = {
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "keep_trailing_newline": True,
        "auto_reload": False,
        "autoescape": False,
    }
    if overrides:
        from fabricc.back.nos.sandbox import Sandbox

        loaders = [*(_user_loader(folder, nos) for folder in overrides), FileSystemLoader(builtin)]
        own = Sandbox(loader=ChoiceLoader(loaders), **common)
        _sandboxes[overrides, nos, objects] = own
        own.reject_cycles(file.name for file in _template_files() if file.parent.name == nos)
        return own
    made = Environment(
        loader=FunctionLoader(lambda name: (_inline_includes(builtin / name), str(builtin / name), None)),
        bytecode_cache=_bytecode_cache(),
        **common,
    )
    made.code_generator_class = sandbox.AttributeTemplates if objects else sandbox.JoinedTemplates
    return made


def _inline_includes(file: Path) -> str:
    """Return a built-in template with those that it includes in their places, to be compiled as one."""
    text = file.read_text(encoding="utf-8")
    return _INCLUDED.sub(lambda line: _inline_includes(file.with_name(line[1])), text)


def _user_loader(folder: Path, nos: str) -> BaseLoader:
    """Load templates of the user's own: files below the folder that the user names, through no link out of it."""
    from jinja2 import FunctionLoader, TemplateAssertionError

    def load(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        file = folder / nos / name
        if "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/")) or not file.is_file():
            return None  # an absolute name has an empty part
        try:
            text = files.read(file, root=folder, limit=_LARGEST).decode()
        except OSError as error:
            raise TemplateAssertionError(str(error.strerror), 1, name, str(file)) from None
        if (conflict := conflict_in(text, str(file))) is not None and conflict.position is not None:
            raise TemplateAssertionError(conflict.message, conflict.position.line, name, str(file))
        return text, str(file), lambda: True

    return FunctionLoader(load)


def _bytecode_cache() -> BytecodeCache | None:
    """Store compiled templates next to the built-in ones, as Python does; compiling those of a NOS takes 50 ms."""
    from jinja2 import FileSystemBytecodeCache

    folder = installation.data_folder("templates") / "__pycache__"
    if sys.dont_write_bytecode:
        return None
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    compiler = zlib.crc32(Path(__file__).with_name("sandbox.py").read_bytes())
    return (
        FileSystemBytecodeCache(str(folder), f"%s.{compiler:08x}.j2c") if os.access(folder, os.W_OK) else None
    )
