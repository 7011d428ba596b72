"""The catalog: built-in models, lazily read, with users' files put before them.

A user's file is read to plain values with positions, within limits and without exceptions, and checked against the
published schema and what no schema can express: every breach is a diagnostic with its place.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.composer import Rules, ScalarError, resolve_1_1
from fabricc.base.documents.reader import parse_document
from fabricc.base.documents.schema import breaches
from fabricc.base.foreign import files
from fabricc.base.foreign.files import root_below
from fabricc.catalog import library as catalog_library
from fabricc.catalog.model import Catalog, HostModel, NicModel, SwitchModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabricc.base.documents.document import Document, KeyPath


Finding = tuple["KeyPath", str, str]
"""Path below the model, what is wrong, the remedy."""

_CAGE_LANES = {"qsfp-dd": 8, "osfp": 8, "qsfp": 4, "sfp": 1}
"""Start of a form factor's name -> lanes of a cage (SFF-8402, SFF-8665, QSFP-DD MSA, OSFP MSA)."""


def switch_findings(model: SwitchModel) -> Iterator[Finding]:
    """Contradictions within a switch: overlapping cages, breakouts without lanes, wrong lane maps."""
    taken = -1
    for index, group in enumerate(model.cages):
        path: KeyPath = ("cages", index)
        if group.first <= taken:
            yield path, f"cage {group.first} is numbered twice", f"The first free number is {taken + 1}."
        taken = max(taken, group.first + group.count - 1)
        for use in group.breakouts:
            need = use.children * use.lanes
            if need > group.lanes:
                text = f"{use.children}x{use.speed_gbps}/{use.lanes}"
                remedy = f"A cage of {group.lanes} lanes has {group.lanes // use.children} for each child."
                yield (*path, "breakouts"), f"breakout {text} needs {need} lanes of {group.lanes}", remedy
        twin = "infiniband" in model.nos  # a twin-port cage of InfiniBand is never one port
        if not twin and all(use.children != 1 for use in group.breakouts):
            yield (*path, "breakouts"), "no use of the whole cage is listed", "Add one such as 1x400/8."
    for nos, settings in model.nos.items():
        for key, value in settings.items():
            if not model.chassis and isinstance(value, str) and "{slot}" in value:
                yield ("nos", nos, key), "`{slot}` in the names of a switch without slots", "Leave it out."
        if "lanes" in settings:
            yield from _lane_findings(model, nos)


def host_findings(model: HostModel) -> Iterator[Finding]:
    """Contradictions within a host: a PCI list of the wrong length, a speed the NIC does not have."""
    if model.pci and len(model.pci) != model.rails:
        remedy = "List one for each rail; the second PCI functions of the same ports (Socket Direct) go to `second`."
        yield ("pci",), f"{len(model.pci)} PCI addresses for {model.rails} rails", remedy
    yield from _second_function_findings(model)
    yield from _domain_findings(model)
    if model.cages and sorted(rail for cage in model.cages for rail in cage) != list(range(model.rails)):
        yield ("cages",), "a rail is in no cage or in two", f"Name each of 0 to {model.rails - 1} once."
    yield from _shared_cage_findings(model)
    yield from _speed_findings(model.nic, model.port_gbps)
    for name, ports in model.networks.items():
        path: KeyPath = ("networks", name)
        if ports.pci and len(ports.pci) != ports.nics:
            yield (
                (*path, "pci"),
                f"{len(ports.pci)} PCI addresses for {ports.nics} NICs",
                "List one for each NIC.",
            )
        yield from _speed_findings(ports.nic, ports.port_gbps, *path)
        if ports.infiniband_gbps is not None:
            yield from _speed_findings(ports.nic, ports.infiniband_gbps, *path)


def _second_function_findings(model: HostModel) -> Iterator[Finding]:
    """Report second PCI functions that do not belong to one port each."""
    if not model.second_pci:
        return
    path: KeyPath = ("pci", "second")
    if len(model.second_pci) != model.rails:
        yield (
            path,
            f"{len(model.second_pci)} second functions for {model.rails} rails",
            "List one for each rail.",
        )
    elif model.ports_per_nic > 1:
        yield (
            path,
            "second functions of NICs with several ports",
            "Make each port a rail: `ports_per_nic: 1`.",
        )
    elif both := sorted({*model.pci} & {*model.second_pci}):
        yield path, f"{both[0]} is the first and the second function of a port", "Write the other address."


def _shared_cage_findings(model: HostModel) -> Iterator[Finding]:
    """Report rails of one cage that need more lanes than the cage has, as two functions of one port would."""
    lanes = min([use.lanes for use in model.nic.port_splits if use.speed_gbps == model.port_gbps], default=0)
    room = next((lanes for form, lanes in _CAGE_LANES.items() if model.form_factor.startswith(form)), 0)
    for rails in model.cages:
        needed = len(rails) * model.ports_per_nic * lanes
        if room and needed > room:
            message = f"rails {', '.join(map(str, rails))} need {needed} lanes of a cage with {room}"
            remedy = "Two PCI functions of one port are one rail: write `rails` without the second, and `pci.second`."
            yield ("cages",), message, remedy
            return


def _domain_findings(model: HostModel) -> Iterator[Finding]:
    if model.nvlink_domain and (not model.gpus or model.nvlink_domain % model.gpus):
        yield (
            ("nvlink_domain",),
            f"{model.nvlink_domain} GPUs of an NVLink domain are not whole hosts of {model.gpus}",
            "Give a multiple of `gpus`.",
        )


def _speed_findings(nic: NicModel, port_gbps: int, *path: str | int) -> Iterator[Finding]:
    speeds = {use.speed_gbps for use in nic.port_splits}
    if port_gbps not in speeds:
        known = ", ".join(f"{speed}G" for speed in sorted(speeds))
        yield (*path, "port_gbps"), f"{nic.title} has no port of {port_gbps}G", f"It has {known}."


def _lane_findings(model: SwitchModel, nos: str) -> Iterator[Finding]:
    """The lane map has one list for each fabric cage, each as wide as the cage, and no lane twice."""
    settings, path = model.nos[nos], ("nos", nos)
    widths = [group.lanes for group in model.cages if group.fabric for _ in range(group.count)]
    lanes = settings["lanes"]
    if len(lanes) != len(widths):
        yield (
            (*path, "lanes"),
            f"{len(lanes)} lane lists for {len(widths)} fabric cages",
            "List one for each cage.",
        )
        return
    for number, (cage, width) in enumerate(zip(lanes, widths, strict=True), start=1):
        if len(cage) != width:
            yield (*path, "lanes"), f"lane list {number} has {len(cage)} lanes, its cage {width}", ""
            return
    ports = settings.get("service_ports", ())
    used = [lane for cage in lanes for lane in cage] + [lane for port in ports for lane in port["lanes"]]
    twice = len(used) - len(set(used))
    if twice:
        yield (*path, "lanes"), f"{twice} lanes are given twice", "Every lane belongs to one port."


MAX_FILES = 256


def load_catalog(
    extra: Sequence[Path] = (), named_at: Sequence[Position] = (), folder: Path | None = None
) -> tuple[Catalog, tuple[Diagnostic, ...]]:
    """Return the catalog with users' files on top; a model of theirs hides the built-in one of the same name.

    Built-in models are read when first looked up. Users' files are checked here and now: a file with a
    breach of the schema is left out whole, a model that contradicts itself is left out alone. Never raises
    for what stands in a user's file.

    Args:
        extra: users' catalog files; later ones override earlier ones.
        named_at: where each of them is named; a file that cannot be opened is reported there.
        folder: that of the spec which names them, out of which no link may lead; None where a user names them.

    Returns:
        The catalog, and one diagnostic for each problem: FAB2101 unreadable, FAB2102 not such YAML, FAB2103
        against the schema, FAB2104 unknown source, FAB2105 reference to nothing, FAB2106 contradiction.
    """
    if not extra:
        return _load_builtin(), ()
    library = catalog_library.Library()
    found: list[Diagnostic] = []
    origins: dict[tuple[str, str], Document] = {}
    for path, at in zip_longest(extra[:MAX_FILES], named_at[:MAX_FILES]):
        document = read_document(path, at, folder and root_below(folder, path))
        if isinstance(document, Diagnostic):
            found.append(document)
        elif problems := tuple(_file_problems(document)):
            found += problems
        else:
            for section in catalog_library.SECTIONS:
                for name, raw in document.value.get(section, {}).items():
                    library.add(
                        section, name, catalog_library.replace_sources(raw, document.value.get("sources", {}))
                    )
                    origins[section, name] = document
    found += _drop_contradictions(library, origins)
    return _build_catalog(library), tuple(found)


@cache
def _load_builtin() -> Catalog:
    """Return the built-in models alone, each read once in a process."""
    return _build_catalog(catalog_library.Library())


def _build_catalog(library: catalog_library.Library) -> Catalog:
    return Catalog(
        switches=catalog_library.Models(library.names("switches"), library.switch),
        hosts=catalog_library.Models(library.names("hosts"), library.host),
        nics=catalog_library.Models(library.names("nics"), library.nic),
    )


def _file_problems(document: Document) -> Iterator[Diagnostic]:
    if not isinstance(document.value, dict):
        remedy = f"Begin with one of: {', '.join(catalog_library.SECTIONS)}."
        yield catalog_error("FAB2103", "a catalog file is a mapping", document.key_position(()), remedy)
        return

    breaches = schema_breaches(document)
    yield from breaches
    if not breaches:
        for section in (name for name in catalog_library.SECTIONS if name in document.value):
            yield from _unknown_sources(document, document.value[section], (section,))


def _unknown_sources(document: Document, value: Any, path: KeyPath) -> Iterator[Diagnostic]:
    """FAB2104 where a source is one word, hence meant as an id, and the file's `sources` has no such id."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_sources(document, item, (*path, index))
    if not isinstance(value, dict):
        return
    known = document.value.get("sources", {})
    for key, item in value.items():
        if key == "source" and " " not in item and item not in known:
            remedy = (
                catalog_library.did_you_mean(item, known) or "Add it to `sources`, or write the citation out."
            )
            at = document.key_position((*path, key))
            yield catalog_error("FAB2104", f"unknown source {item[:60]!r}", at, remedy)
        else:
            yield from _unknown_sources(document, item, (*path, key))


def _drop_contradictions(
    library: catalog_library.Library, origins: dict[tuple[str, str], Document]
) -> Iterator[Diagnostic]:
    """Assemble every model of the users' files once, and leave out those that fail, and those built on them."""
    pending = [
        key for section in ("tables", "nics", "switches", "hosts") for key in origins if key[0] == section
    ]
    while pending:
        failed = []
        for section, name in pending:
            problems = tuple(_model_problems(library, section, name, origins[section, name]))
            yield from problems
            if problems:
                library.remove(section, name)
                failed.append((section, name))
        pending = [key for key in pending if key not in failed] if failed else []


def _model_problems(
    library: catalog_library.Library, section: str, name: str, document: Document
) -> Iterator[Diagnostic]:
    path: KeyPath = (section, name)
    try:
        if lacking := _missing_base(library, section, name, document):
            yield from lacking
            return
        findings = tuple(_model_findings(library, section, name))
    except catalog_library.UnknownModelError as unknown:
        kind = {"switches": "switch", "hosts": "host", "nics": "NIC", "tables": "table"}[unknown.section]
        referred = {"tables": ("buffers", "headroom"), "nics": ("nic",)}
        key = ("extends",) if unknown.section == section else referred.get(unknown.section, ("extends",))
        remedy = catalog_library.did_you_mean(unknown.name, library.names(unknown.section))
        where = document.key_position((*path, *key))
        yield catalog_error("FAB2105", f"{name}: no {kind} `{unknown.name}`", where, remedy)
    except catalog_library.ExtendsTooDeepError:
        where = document.key_position((*path, "extends"))
        text = f"{name} extends itself, or a base more than {catalog_library.MAX_EXTENDS} steps away"
        yield catalog_error("FAB2105", text, where, "Extend a built-in model.")
    except (KeyError, ValueError) as failure:
        reason = f"{failure.args[0]!s}"[:60] if failure.args else ""
        yield catalog_error(
            "FAB2106", f"{name}: incomplete or malformed at {reason!r}", document.key_position(path)
        )
    else:
        for below, message, remedy in findings:
            yield catalog_error(
                "FAB2106", f"{name}: {message}", document.key_position((*path, *below)), remedy
            )


def _missing_base(
    library: catalog_library.Library, section: str, name: str, document: Document
) -> list[Diagnostic]:
    if "extends" not in document.value[section][name]:
        return []

    return completeness_breaches(section, name, library.raw(section, name), document)


def _model_findings(
    library: catalog_library.Library, section: str, name: str
) -> Iterator[tuple[KeyPath, str, str]]:
    if section == "switches":
        yield from switch_findings(library.switch(name))
    elif section == "hosts":
        yield from host_findings(library.host(name))
    elif section == "nics":
        library.nic(name)


MAX_BREACHES = 50


def schema_breaches(document: Document) -> list[Diagnostic]:
    """FAB2103 for everything in which the file differs from `schemas/catalog.schema.json`, 50 at most."""
    return _schema_diagnostics(document.value, document)


def completeness_breaches(section: str, name: str, raw: Any, document: Document) -> list[Diagnostic]:
    """FAB2103 for what a model still lacks after the merge with what it extends."""
    return _schema_diagnostics({section: {name: raw}}, document)


def _schema_diagnostics(root: Any, document: Document) -> list[Diagnostic]:
    found: dict[Diagnostic, None] = {}  # a missing key is a violation of its own, reported with the others
    for breach in islice(breaches(root, "catalog"), MAX_BREACHES):
        path: KeyPath = tuple(breach.absolute_path)
        for key, message, remedy in _explain_breach(breach):
            where = (*path, key) if key is not None else path
            found[
                catalog_error(
                    "FAB2103", f"{_dotted_path(path)}{message}", document.key_position(where), remedy
                )
            ] = None
    return sorted(list(found)[:MAX_BREACHES], key=lambda one: (one.position, one.message))


def _explain_breach(breach: Any) -> Iterator[tuple[str | None, str, str]]:
    """Key concerned (None: the value itself), message and remedy of one breach."""
    described = breach.schema.get("description", "") if isinstance(breach.schema, dict) else ""
    if breach.validator == "additionalProperties" and isinstance(breach.instance, dict):
        known = breach.schema.get("properties", {})
        for key in breach.instance:
            if key not in known:
                yield key, f"unknown key {_shorten_value(key)}", catalog_library.did_you_mean(key, known)
    elif breach.validator == "required":
        missing = [key for key in breach.validator_value if key not in breach.instance]
        yield (
            None,
            f"the key `{missing[0] if len(missing) == 1 else '`, `'.join(missing)}` is missing",
            described,
        )
    elif breach.validator == "oneOf" and described.startswith("exactly one of"):
        remedy = "Name where the figure comes from in `source`, or write `assumed: true`."
        yield None, described, remedy
    else:
        yield None, f"{_shorten_value(breach.instance)} does not fit ({breach.validator})", described


def _dotted_path(path: KeyPath) -> str:
    return ".".join(map(str, path)) + ": " if path else ""


def _shorten_value(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


MAX_BYTES = 4 * 1024 * 1024


def catalog_error(code: str, message: str, position: Position | None, remedy: str = "") -> Diagnostic:
    """Return an error of the catalog's code range."""
    return Diagnostic(code, Severity.ERROR, message, position, remedy)


def read_document(
    path: Path, named_at: Position | None = None, root: Path | None = None
) -> Document | Diagnostic:
    """Read a user's file; whatever is wrong with it comes back as one diagnostic, FAB2101 or FAB2102.

    Args:
        path: the file.
        named_at: where it is named, the place of what is wrong with the name.
        root: the folder out of which no link may lead; None for that of the file.
    """
    file = str(path)
    try:
        content = files.read(path, root=root, limit=MAX_BYTES)
        document = parse_document(content.decode("utf-8-sig"), file, _RULES)
    except files.TooLargeError:
        message = f"the catalog file {file} is larger than 4 MB"
        return catalog_error("FAB2101", message, named_at, "Split it, or check the path.")
    except UnicodeDecodeError as failure:
        line = content[: failure.start].count(b"\n") + 1
        return catalog_error(
            "FAB2101", "the catalog file is not UTF-8 text", Position(file, line), "Save it as UTF-8."
        )
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or "not a usable path"
        remedy = "Check the path; `catalog` of a spec names files relative to the spec."
        return catalog_error("FAB2101", f"cannot read the catalog file {file}: {reason}", named_at, remedy)
    return document.diagnostics[0] if document.diagnostics else document


def _not_yaml(failure: Exception, _: str, file: str) -> Diagnostic:
    problem = getattr(failure, "problem", None) or getattr(failure, "reason", None) or "not valid YAML"
    mark = getattr(failure, "problem_mark", None)
    place = Position(file, mark.line + 1, mark.column + 1) if mark else Position(file, 1, 1)
    return catalog_error("FAB2102", f"YAML: {problem}", place)


def _check_text(text: str) -> None:
    if not text.isprintable():
        message = "text over several lines or with control characters"
        raise ScalarError("FAB2102", message, "Write it in one line, or folded with `>-`.")


_KEY = ("FAB2102", "a key must be a short word", "Write a plain text key.")
_RULES = Rules(
    words={
        "twice": ("FAB2102", "duplicate key {text!r}", "Remove one of them."),
        "key": _KEY,
        "collection as key": _KEY,
        "too deep": ("FAB2102", "nested deeper than {most} levels", "Flatten it."),
        "too many": ("FAB2102", "more than {most} values", "Split the file."),
        "tag": ("FAB2102", "the tag {text!r:.60} is refused", "Remove the tag."),
        "second document": ("FAB2102", "more than one YAML document", "Keep one document per file."),
        "alias": ("FAB2102", "aliases are refused in catalog files", "Write the value out."),
    },
    plain=partial(resolve_1_1, code="FAB2102"),
    check=_check_text,
    syntax=_not_yaml,
    longest_key=128,
    max_depth=32,
    max_nodes=200_000,
    max_aliased_nodes=0,
    max_problems=1,
)
