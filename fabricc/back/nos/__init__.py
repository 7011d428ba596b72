"""Network operating system back ends, found by name through the entry-point group `fabricc.nos`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import EntryPoint

    from fabricc.back.nos.base import Application, Nos
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.model import Switch
    from fabricc.fabric.vocabulary import Vocabulary

BUILT_IN = {
    "cumulus": "fabricc.back.nos.cumulus:CUMULUS",
    "eos": "fabricc.back.nos.eos:EOS",
    "frr": "fabricc.back.nos.frr:FRR",
    "junos": "fabricc.back.nos.junos:JUNOS",
    "nxos": "fabricc.back.nos.nxos:NXOS",
    "sonic": "fabricc.back.nos.sonic:SONIC",
}


@cache
def list_names() -> tuple[str, ...]:
    """Every NOS that can be loaded, sorted."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in _entry_points())}))


@cache
def load(name: str) -> Nos:
    """Return the back end of that name.

    Raises:
        KeyError: no such NOS.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return cast("Nos", getattr(import_module(module), attribute))
    for point in _entry_points():
        if point.name == name:
            return cast("Nos", point.load())
    raise KeyError(name)


def port_name_at_speed(
    back_end: Nos, model: SwitchModel, cage: int, child: int, children: int, speed_gbps: int
) -> str:
    """Return the name of child `child` (from 1) of `children` of a cage, used at a speed.

    Raises:
        KeyError: the catalog has no settings of the system for the model.
        ValueError: the model has no such cage, or it has fewer lanes than requested children.
    """
    name = back_end.port_name(model, cage, child, children)
    change = getattr(back_end, "name_at_speed", None)
    return str(change(model, name, speed_gbps)) if change else name


def package_of(name: str) -> str | None:
    """Return the module that the back end of that name is in; None for no such NOS."""
    modules = [BUILT_IN[name]] if name in BUILT_IN else [p.value for p in _entry_points() if p.name == name]
    return modules[0].partition(":")[0] if modules else None


@cache
def load_vocabulary(name: str) -> Vocabulary:
    """The facts of a NOS's switches: those of the waist, and those of `facts.yaml` in the package of its back end."""
    from fabricc.fabric.vocabulary import neutral_vocabulary  # a build that finds nothing to do needs none

    module = package_of(name)
    found = find_spec(module) if module else None
    folders = found.submodule_search_locations if found else None
    own = Path(folders[0], "facts.yaml") if folders else None
    return neutral_vocabulary().with_file(own) if own and own.is_file() else neutral_vocabulary()


def plan_application(name: str, before: Mapping[str, str], after: Mapping[str, str]) -> Application | None:
    """Return how a system applies a change from some files of a switch to others.

    None where the back end knows of nothing besides the facts, or the files cannot be read.
    """
    method = getattr(load(name), "application", None)
    try:
        found: Application | None = method(before, after) if method else None
    except ValueError:
        return None
    return found if found and found.way else None


def restore_unprinted(name: str, running: Mapping[str, str], planned: Mapping[str, str]) -> Mapping[str, str]:
    """Return the printed files of a switch, with planned secrets where its system prints a sign in place of any.

    Such files can be loaded again: the sign itself is another secret.
    """
    method = getattr(load(name), "restore_unprinted", None)
    found: Mapping[str, str] = method(running, planned) if method else running
    return found


def skipped_lines(name: str, files: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return file, line and text of what the reader of a system passes over without a finding."""
    back_end: Any = load(name)
    return list(back_end.ignored(files)) if hasattr(back_end, "ignored") else []


def typical_applications(switch: Switch) -> Iterable[tuple[str, Application]]:
    """Return what is often done to a switch, and how its system applies it; nothing where the facts alone decide."""
    method = getattr(load(switch.nos), "typical_applications", None)
    found: Iterable[tuple[str, Application]] = method(switch) if method else ()
    return found


def _entry_points() -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points

    return entry_points(group="fabricc.nos")
