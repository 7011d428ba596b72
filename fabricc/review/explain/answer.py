"""Answer a question as a user words it: a code, a line of a built tree, or what a spec's fabric has.

A line is named by its file in a built tree: the tree, its spec, and the device are found from it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.hosts import network_of
from fabricc.back.nos.templating import override_digests
from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.foreign.files import Folder
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import Compiled, compile_spec
from fabricc.compiler.load.input_digests import TEMPLATES, manifest_inputs
from fabricc.compiler.load.spec_location import find_spec
from fabricc.compiler.recheck import breaks_shares, list_device_findings
from fabricc.compiler.render.switch_files import overlay_lines, render_switch
from fabricc.fabric.model import Host
from fabricc.front.spec.lock import lines_of
from fabricc.proof.required_files import completeness_findings
from fabricc.proof.tree import DeviceFiles, read_consistently, read_manifest
from fabricc.review.explain.codes import explain_code
from fabricc.review.explain.devices import OUT
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.infiniband import InfinibandExplainer
from fabricc.review.explain.lines import Place, Texts, explain_line, explain_lock_line, explain_spec_line
from fabricc.review.explain.model import Explanation, SubjectError
from fabricc.review.explain.origins import PlanSources
from fabricc.review.explain.questions import explain_name, has_name, subject_of
from fabricc.tree import EmitError
from fabricc.tree import manifest as manifests

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fabricc.review.explain.subject import Subject

_CODE = re.compile(r"FAB[0-9]{4}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """An explanation, and what was found on the way to it.

    Attributes:
        findings: those of `check` about a device; that a line's tree is of another state of the spec, or the file
            edited since.
        sources: file name -> text, of the files that findings point into.
    """

    explanation: Explanation
    findings: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


def is_complete(first: str) -> bool:
    """Return whether a word is a question without further words: a code, or FILE:LINE."""
    return _CODE.fullmatch(first) is not None or line_named(first) is not None


def answer_question(first: str, words: Sequence[str] = (), spec: Path | None = None) -> Answer:
    """Answer a question.

    Args:
        first: a spec, a built tree, a line of one, or a code.
        words: for a spec or a tree, the subject and words that choose its facts.
        spec: the spec of a line's tree; None to search for it.

    Raises:
        FindingsError: nothing has this name (SubjectError), or there is no such tree or spec.
        ValueError: `first` alone is no question.
    """
    code = words[0] if len(words) == 1 and _CODE.fullmatch(words[0]) else first if not words else ""
    if _CODE.fullmatch(code):
        return Answer(explain_code(code.upper()))
    if not words and (place := line_named(first)) is not None:
        return _answer_line(first, *place, spec)
    if not words:
        raise ValueError(f"'{first}' is neither a code nor a line of a file")
    compiled = _plan_spec(_find_spec(Path(first)))
    try:
        explanation = of_any(compiled, words[0], words[1:])
        found = list_device_findings(compiled, words[0].partition(":")[0])
    except FindingsError as error:
        raise SubjectError.of(error.diagnostics, compiled.sources) from None
    if breaks_shares(compiled, found):
        explanation = _without_shares(explanation)
    return Answer(explanation, found, compiled.sources)


def _without_shares(explanation: Explanation) -> Explanation:
    """Return an explanation without what an outage leaves, which holds for files that state the plan."""
    unknown = "not known: the files break the plan"
    details = [(label, unknown if label == OUT else text) for label, text in explanation.details]
    return replace(explanation, details=tuple(details))


def of_any(compiled: Compiled, name: str, words: Sequence[str]) -> Explanation:
    """The explanation by the network whose pool, ASNs or devices hold what is named; else by that of the rails.

    Raises:
        SubjectError: there is nothing of that name.
    """
    if (subnets := _infiniband(compiled)) is not None:
        return subnets.explain_name(name, words)
    part = next((each for each in compiled.networks.values() if has_name(each.fabric, name)), compiled)
    return explain_name(plan_sources(part), name, words)


def plan_sources(compiled: Compiled) -> PlanSources:
    """Return the sources for explanations of a network; the fabric of an InfiniBand one is its wiring."""
    fabric = compiled.fabric if compiled.infiniband is None else compiled.infiniband.wiring
    lock = lines_of(compiled.lock_text, fabric.network)
    return PlanSources(compiled.spec, fabric, compiled.sources, str(compiled.lock_path), lock)


def _infiniband(compiled: Compiled) -> InfinibandExplainer | None:
    """Return what explains a spec of InfiniBand; None for Ethernet."""
    if compiled.infiniband is None:
        return None
    return InfinibandExplainer(plan_sources(compiled), compiled.infiniband)


def _find_spec(path: Path) -> Path:
    """Return the spec itself, or that of a built tree.

    Raises:
        TreeError: a folder that is no tree.
        SubjectError: one whose spec is not found.
    """
    if not path.is_dir():
        return path
    return spec_of(path, read_manifest(path))


def _plan_spec(spec: Path) -> Compiled:
    """Return the planned spec.

    Raises:
        SubjectError: it cannot be planned.
    """
    compiled = compile_spec(spec, gaps=False)
    if not compiled.sound:
        errors = (each for each in compiled.diagnostics if each.severity is Severity.ERROR)
        raise SubjectError.of(errors, compiled.sources)
    return compiled


def _answer_line(shown: str, file: Path, number: int, spec: Path | None) -> Answer:
    above = tree_above(file.absolute())
    if above is None and file.is_file() and file.suffix in _INPUTS:
        return _answer_input_line(file, number, spec)
    return read_consistently([above] if above else [], lambda: _read_line(shown, file, number, spec))


def _answer_input_line(file: Path, number: int, spec: Path | None) -> Answer:
    """Explain a line of a spec, or of the lock next to `cluster.yaml` or the named spec."""
    locked = file.suffix == ".lock"
    spec_file = spec or file.with_name("cluster.yaml") if locked else file
    compiled = _plan_spec(spec_file)
    plan = plan_sources(compiled)
    try:
        if locked:
            return Answer(explain_lock_line(plan, spec_file, number), (), compiled.sources)
        return Answer(explain_spec_line(plan, file, number), (), compiled.sources)
    except FindingsError as error:
        raise SubjectError.of(error.diagnostics, compiled.sources) from None


def _read_line(shown: str, file: Path, number: int, spec: Path | None) -> Answer:
    line = find_line(file, number, spec)
    compiled = _plan_spec(line.spec)
    stale = tuple(report_stale(line, compiled))
    if (subnets := _infiniband(compiled)) is not None:
        return Answer(_explain_subnet_line(subnets, line, shown), stale, compiled.sources)
    name = line.folder.partition("/")[2]
    plan = plan_sources(_network_of(compiled, name, line.place.file))
    try:
        if (at := plan.fabric.find(name)) is None:
            message = f"{line.spec} as it is now has no device {name}"
            raise SubjectError("FAB9270", message, "Build again.")
        subject = subject_of(plan, at)
        explain_fact = partial(Explainer(plan).fact, subject)
        found = explain_line(subject.device.name, texts_of(line, subject), line.place, shown, explain_fact)
    except FindingsError as error:
        raise SubjectError.of((*stale, *error.diagnostics), compiled.sources) from None
    return Answer(found, stale, compiled.sources)


def _explain_subnet_line(subnets: InfinibandExplainer, line: TreeLine, shown: str) -> Explanation:
    """Explain a line of the files of a host or of a subnet manager."""
    texts = subnets.texts_of(line.folder, DeviceFiles.of(line.tree, line.manifest)(line.folder))
    explain_fact = partial(subnets.explain_fact, line.folder, texts.reader(texts.fresh).facts)
    kind, _, name = line.folder.partition("/")
    device = name if kind == "hosts" else f"subnet {name}"
    return explain_line(device, texts, line.place, shown, explain_fact)


def _network_of(compiled: Compiled, device: str, file: str) -> Compiled:
    """Return the network that contains a device's file."""
    if (network := network_of(file)) in compiled.networks:
        return compiled.networks[network]
    every = (compiled, *compiled.networks.values())
    return next((each for each in every if each.fabric.find(device) is not None), compiled)


_INPUTS = (".yaml", ".yml", ".lock")
"""Suffixes of specs and locks, whose lines are explained without a tree."""
_LINE = re.compile(r"(.+?):([0-9]{1,9})(?::[0-9]+)?")
_NEAR = 3


class TreeLine(NamedTuple):
    """A line of a device's file.

    Attributes:
        tree: the folder with the manifest.
        spec: the tree's spec.
        folder: of the device, `switches/NAME`, `hosts/NAME` or, of a subnet manager, `subnets/NAME`.
        place: the file below that folder, and the line.
    """

    tree: Path
    manifest: manifests.Manifest
    spec: Path
    folder: str
    place: Place

    @property
    def path(self) -> str:
        """The file below the tree."""
        return f"{self.folder}/{self.place.file}"


def line_named(text: str) -> tuple[Path, int] | None:
    """File and line of `FILE:LINE`, as editors and `grep -n` write it; None for anything else."""
    found = _LINE.fullmatch(text)
    return (Path(found[1]), int(found[2])) if found else None


def find_line(file: Path, line: int, spec: Path | None = None) -> TreeLine:
    """Return the tree, the spec and the device of a line.

    Args:
        file: the file.
        line: the line in it, from 1.
        spec: the tree's spec; None to look for it.

    Raises:
        SubjectError: FAB9271, no built tree has the line; FAB9272, the file is of no device; FAB6015, no spec.
    """
    absolute = file.absolute()  # links are not followed: a file in a link's place is none of the build's
    above = tree_above(absolute)
    if above is None:
        why = "there is no such file" if not file.is_file() else "no folder above it has a manifest.json"
        raise _refuse_line(f"{file} is not in a built tree: {why}", "Name a file below build/<cluster>.")
    tree = _relative_path(above)
    manifest = read_manifest(tree)
    path = absolute.relative_to(above).as_posix()
    if path not in manifest.files:
        raise _refuse_line(f"the manifest of {tree} has no file {path}", _similar_paths(path, manifest.files))
    kind, _, rest = path.partition("/")
    name, _, inner = rest.partition("/")
    if kind not in ("switches", "hosts", "subnets") or not inner:
        help_ = "Name a device, a port, an address or an ASN of it: `fabricc explain SPEC NAME`."
        message = f"{path} belongs to no device: its lines are tables and settings of the whole"
        raise SubjectError("FAB9272", message, help_)
    try:
        with Folder(tree) as folder:
            count = len(folder.read(path).decode(errors="replace").splitlines())
    except OSError:
        raise _refuse_line(f"{file} is in the manifest and not in the tree", "Build again.") from None
    if not 1 <= line <= count:
        raise _refuse_line(f"{file} has {count:,} lines, and so no line {line:,}", "Lines count from 1.")
    return TreeLine(tree, manifest, spec or spec_of(tree, manifest), f"{kind}/{name}", Place(inner, line))


def tree_above(path: Path) -> Path | None:
    """Return the nearest folder above a file that has a manifest; the path is an absolute one."""
    return next((folder for folder in path.parents if (folder / manifests.NAME).is_file()), None)


def _relative_path(path: Path) -> Path:
    """Return the path as seen from the working folder, where it is below it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def spec_of(tree: Path, manifest: manifests.Manifest) -> Path:
    """Return the spec that a tree was built from.

    Raises:
        SubjectError: FAB6015, it is neither where it was nor above the tree.
    """
    spec = find_spec(tree, manifest)
    if spec is None:
        message = f"the spec {manifest.spec} of {tree} is neither at its former path nor above the tree"
        raise SubjectError("FAB6015", message, "Name it: `--spec PATH`.")
    return _relative_path(spec)


def report_stale(line: TreeLine, compiled: Compiled) -> list[Diagnostic]:
    """Report FAB6014 if the tree is of another state of the spec, FAB6010 if the file was changed, FAB6011 for others.

    FAB6011 is of files that the tree lacks by its own plan.
    """
    found = []
    now = manifest_inputs(compiled)
    then = line.manifest.inputs
    if now.items() - _template_inputs(now).items() != then.items() - _template_inputs(then).items():
        message = f"{line.tree} was built from another state of {line.spec}, its lock or its catalog"
        help_ = "The following explanation uses the present spec; build again."
        found.append(Diagnostic("FAB6014", Severity.WARNING, message, None, help_))
    file = line.tree / line.path
    with Folder(line.tree) as folder:
        changed = folder.digest(line.path) != line.manifest.files[line.path]
        absent = [*completeness_findings(folder, line.manifest)]
    if changed:
        message = f"{line.path} was changed after the build wrote it"
        at, help_ = Position(str(file), line.place.line), "Build again; edits belong in the spec."
        found.append(Diagnostic("FAB6010", Severity.WARNING, message, at, help_))
    return [*found, *(replace(each, severity=Severity.WARNING) for each in absent)]


def texts_of(line: TreeLine, subject: Subject) -> Texts:
    """Return the files of the line's device, as they are and as a build now writes them."""
    found = DeviceFiles.of(line.tree, line.manifest)(line.folder)
    if isinstance(subject.device, Host):
        part = host_files.of_part(found, subject.device)
        return Texts(part, host_files.render(subject.device), host_files.read)
    fresh: Mapping[str, str] = {}
    overlaid: Collection[tuple[str, int]] = ()
    overlays = tuple(each.name for each in subject.device.overlays)
    if _template_inputs(line.manifest.inputs) == _own_templates():
        with suppress(EmitError):  # a template or an overlay that no longer fits: then it is unknown
            fresh = render_switch(subject.device)
    if subject.device.overlays:
        overlaid = overlay_lines(subject.device, found)[1]
    return Texts(found, fresh, back_ends.load(subject.device.nos).read, overlaid, overlays)


def _own_templates() -> dict[str, str]:
    """Return the templates of the user's own that are in use, as a manifest has them."""
    return {TEMPLATES + name: digest for name, digest in override_digests().items()}


def _template_inputs(inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in inputs.items() if name.startswith(TEMPLATES)}


def _refuse_line(message: str, help: str) -> SubjectError:
    return SubjectError("FAB9271", message, help)


def _similar_paths(path: str, files: Mapping[str, str]) -> str:
    folder = path.rpartition("/")[0]
    same = [name for name in files if name.startswith(f"{folder}/")]
    near = get_close_matches(path, same or list(files)[:5000], _NEAR, 0.5)
    return f"It has, for example: {', '.join(near)}." if near else "Name a file below switches/ or hosts/."
