"""Read the tree to push once into memory, and check that it matches its manifest, its spec and its lock.

Every file is read once, held to the manifest and to the text that its spec and its lock give now, and kept in memory.
A push proves, sends, resumes and rolls back these bytes, whatever becomes of the folder afterwards.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, FindingsError, Position, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.values import dataclass, replace
from fabricc.compiler.compiled import compile_ethernet
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.load.spec_location import find_spec
from fabricc.compiler.recheck import find_obstacles
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.addresses import Pool
from fabricc.fabric.design import AddressPlan, DeviceChange
from fabricc.fabric.expand_bgp import originated_prefixes
from fabricc.fabric.qos import unsent_code_points
from fabricc.operate.devices.identity import Roster
from fabricc.operate.devices.login import Device, devices_by_name
from fabricc.proof.required_files import completeness_findings
from fabricc.proof.tree import TreeError, open_tree, read_consistently
from fabricc.review.diff.unread import list_unread_text
from fabricc.tree import EmitError
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fabricc.base.foreign.files import Folder
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch
    from fabricc.fabric.shape import SwitchId
    from fabricc.tree.manifest import Manifest


class Origin(NamedTuple):
    """The inputs of a run's tree.

    Attributes:
        state: digest of all that it is built from.
        unsent: code points that nobody sends by it.
    """

    state: str = ""
    unsent: frozenset[int] = frozenset()

    @staticmethod
    def of(stated: Mapping[str, Any]) -> Origin:
        """Return the origin that a record of a run has.

        Raises:
            ValueError: it is no such thing.
        """
        state, unsent = stated.get("state", ""), stated.get("unsent", [])
        points = isinstance(unsent, list) and all(isinstance(one, int) for one in unsent)
        if not isinstance(state, str) or not points:
            raise ValueError("the record of a run about its tree has another form")
        return Origin(state, frozenset(unsent))

    def to_record(self) -> dict[str, Any]:
        """Return the values that the journal keeps."""
        return {"state": self.state, "unsent": sorted(self.unsent)}


def compute_state(inputs: Mapping[str, str]) -> str:
    """Return one digest (SHA-256, hex) of all that a tree is built from, as its manifest lists it."""
    return hashlib.sha256(json.dumps(sorted(inputs.items())).encode()).hexdigest()


_REBUILD = "Build again, review the difference, and push the new tree."
_UNASKED = ("FAB9105", "FAB9110")
_AS_IT_IS = DeviceChange(None, None, drained=False, cable_m=None, ports={})


class PushRefusedError(FindingsError):
    """The push does not start."""

    @property
    def status(self) -> int:
        """3 when a switch could not be read, else 1."""
        return 3 if any(one.code in _UNASKED for one in self.diagnostics) else 1


class UnansweredError(PushRefusedError):
    """The push does not start, because a switch stopped answering while it was read."""

    @property
    def status(self) -> int:
        """The status for switches that cannot be read."""
        return 3


class StoppedError(PushRefusedError):
    """The push does not start, because it was interrupted before every switch was read."""

    @property
    def status(self) -> int:
        """Return the exit status, which is that of every interruption."""
        return 130


@dataclass(frozen=True, slots=True)
class BuiltTree:
    """A tree as it was when it was read, and the fabric it was built from.

    Attributes:
        spec: path of the spec.
        places: switch -> coordinates, in the fabric's order.
        roster: the switches by what identifies them.
        vouched_lines: lines that the spec vouches for.
        remarks: what the proof finds; after an error no share of paths can be kept.
    """

    held: Snapshot
    spec: Path
    fabric: Fabric
    places: Mapping[str, SwitchId]
    devices: Mapping[str, Device]
    roster: Roster
    vouched_lines: frozenset[str] = frozenset()
    remarks: tuple[Diagnostic, ...] = ()

    @property
    def tree(self) -> Path:
        """Return where the tree was."""
        return self.held.tree

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the tree: of its manifest, which states every file's."""
        return self.held.digest

    @property
    def origin(self) -> Origin:
        """Return what a run keeps of it: what it is built from, and the code points that nobody sends by it."""
        switch = self.fabric.switch(next(iter(self.places.values())))
        return Origin(compute_state(self.held.manifest.inputs), unsent_code_points(switch.qos.classes))

    def files(self, name: str) -> dict[str, str]:
        """Return the files of a switch as they lay in the tree."""
        return self.held.files(name)

    def switch(self, name: str) -> Switch:
        """Return the switch as planned."""
        return self.fabric.switch(self.places[name])

    def select_switches(self, only: Sequence[str]) -> list[str]:
        """Return the switches of these names, in the fabric's order; all where none is named.

        Raises:
            PushRefusedError: FAB9127, one that the fabric does not have.
        """
        if unknown := [name for name in only if name not in self.devices]:
            raise PushRefusedError("FAB9127", f"the fabric has no switch {unknown[0]!r}")
        return [name for name in self.devices if not only or name in only]

    def leaving(self, prefixes: Iterable[str]) -> set[str]:
        """Return the prefixes in the fabric's pools that no switch announces by the plan: those of before."""
        known = self.fabric.addresses.pools().items()
        pools = [ip_network(str(pool)) for name, pool in known if name.startswith(("hosts", "loopbacks"))]
        own = {prefix for prefix in prefixes if any(_contains_prefix(pool, prefix) for pool in pools)}
        if not own:
            return own
        places = self.places.values()
        return own.difference(prefix for at in places for prefix in originated_prefixes(self.fabric, at))

    def render_states(self, name: str, versions: Collection[int]) -> tuple[dict[str, str], dict[str, str]]:
        """The switch rendered in service, and drained, with the IP versions that it runs: what drains is of each.

        Of a box that runs none, such as a new one, those that it is to have.
        """
        place, changes = self.places[name], self.fabric.changes
        own = self.fabric.addresses
        addresses = _select_pools(own, versions) if versions else own
        found = []
        for drained in (False, True):
            change = replace(changes.get(name, _AS_IT_IS), drained=drained)
            fabric = replace(self.fabric, changes={**changes, name: change}, addresses=addresses)
            found.append(render_switch(fabric.switch(place)))
        return found[0], found[1]


def _contains_prefix(pool: IPv4Network | IPv6Network, prefix: str) -> bool:
    """Return whether a pool contains all of a prefix that a device reports."""
    try:
        net = ip_network(prefix)
    except ValueError:
        return False
    return net.version == pool.version and net.network_address in pool and net.prefixlen >= pool.prefixlen


def _select_pools(addresses: AddressPlan, versions: Container[int]) -> AddressPlan:
    """Return the pools of some IP versions; any will do for one that the fabric is not to have."""
    versioned = {"hosts4": 4, "links4": 4, "hosts6": 6, "links6": 6, "loopbacks6": 6}
    pools: dict[str, Any] = {
        name: (getattr(addresses, name) or Pool(0, 0, version)) if version in versions else None
        for name, version in versioned.items()
    }
    return replace(addresses, **pools)


def read_source(
    tree: Path,
    spec: Path | None = None,
    *,
    lock: Path | None = None,
    digest: str = "",
    network: str | None = None,
) -> BuiltTree:
    """Read a tree once, and prove that its bytes, its spec and its lock belong together.

    Args:
        tree: what `build` wrote, `build/<cluster>`.
        spec: its spec; None to look where the last build or the tree's parents have it.
        lock: its lock; None for the one in the folder of the spec.
        digest: what the tree's must be; "" for any.
        network: the one whose switches are meant, where there are several.

    Raises:
        PushRefusedError: FAB9120 and the findings of `check` on the manifest; FAB9154, the spec cannot be planned;
            FAB6020, a build is writing the tree.
    """
    try:
        return read_consistently(
            [tree], lambda: _read_source(tree, spec, lock, digest, network), lambda _: False
        )
    except TreeError as error:
        raise PushRefusedError.of(error.diagnostics) from None


def _read_source(
    tree: Path, spec: Path | None, lock: Path | None, digest: str, network: str | None
) -> BuiltTree:
    try:
        held = take_snapshot(tree)
    except TreeError as error:
        wrong = error.diagnostics
        if wrong[0].code in ("FAB6013", "FAB6020"):
            raise PushRefusedError.of(wrong) from None
        message = f"{tree} differs from its manifest: {plural(len(wrong), 'file')} changed or missing"
        finding = Diagnostic("FAB9120", Severity.ERROR, message, None, _REBUILD)
        raise PushRefusedError.of([*wrong[:5], finding]) from None
    if digest and digest != held.digest:
        remedy = "Push the tree that was proved."
        raise PushRefusedError("FAB9154", f"the digest of {tree} is {held.digest}, not {digest}", remedy)
    manifest = held.manifest
    path = spec or find_spec(tree, manifest)
    if path is None:
        message = f"the spec {manifest.spec} of {tree} is neither at its former path nor above the tree"
        raise PushRefusedError("FAB6015", message, "Name it with --spec.")
    compiled = compile_ethernet(path, _SUBNETS, gaps=False, lock_path=lock)
    if not compiled.sound:
        raise PushRefusedError.of(compiled.diagnostics, compiled.sources)
    if compiled.lock_before != compiled.lock_text:
        raise PushRefusedError("FAB9120", f"{compiled.lock_path} is not the lock that {path} needs", _REBUILD)
    if manifest_inputs(compiled) != dict(manifest.inputs):
        message = f"{tree} was built from another state of {path}, its lock or its catalog"
        raise PushRefusedError("FAB9120", message, _REBUILD)
    fabric = compiled.of_network(network).fabric
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    vouched_lines = frozenset(each.line for each in compiled.spec.accept if each.line)
    roster, remarks = Roster(fabric, places), (*find_obstacles(compiled), *list_unread_text(compiled))
    return BuiltTree(held, path, fabric, places, devices_by_name(fabric), roster, vouched_lines, remarks)


_SUBNETS = (
    "Copy `subnets/` to the subnet managers and run `apply` of each host: switches need no configuration."
)
SWITCHES = "switches/"
_LARGEST = 16 << 20
"""Bytes of one file of a switch; the largest of the published fabrics have less than a tenth of it."""
_QUICK = 1
"""Of zlib: configurations shrink to a tenth, so that those of 5,000 switches take some 15 MB."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a tree, of which those of switches can be read.

    Attributes:
        tree: where they were.
        digest: SHA-256 (hex) of the manifest, which states that of every other file: one digest of the whole tree.
        packed: switch -> file -> compressed bytes.
    """

    tree: Path
    manifest: Manifest
    digest: str
    packed: Mapping[str, Mapping[str, bytes]]

    def files(self, name: str) -> dict[str, str]:
        """Return the files of a switch, empty for one that the tree does not have."""
        return {file: zlib.decompress(held).decode() for file, held in self.packed.get(name, {}).items()}


def take_snapshot(tree: Path) -> Snapshot:
    """Read a tree once.

    Raises:
        TreeError: findings of `proof.tree.open_tree`; FAB6010 and FAB6011, files differ from the manifest,
            or the tree lacks files that its plan requires.
    """
    folder, stated, manifest = open_tree(tree)
    with folder:
        packed, wrong = _read_switch_files(folder, manifest)
        wrong += completeness_findings(folder, manifest)
    if wrong:
        raise TreeError.of(wrong)
    return Snapshot(tree, manifest, hashlib.sha256(stated).hexdigest(), packed)


def _read_switch_files(
    folder: Folder, manifest: Manifest
) -> tuple[dict[str, dict[str, bytes]], list[Diagnostic]]:
    """Switch -> file -> compressed bytes, and what is wrong with any file of the manifest."""
    packed: dict[str, dict[str, bytes]] = {}
    wrong: list[Diagnostic] = []
    for path, digest in sorted(manifest.files.items()):
        at = Position(str(folder.path / path), 1)
        name, _, file = path.removeprefix(SWITCHES).partition("/")
        ours = path.startswith(SWITCHES) and bool(file)
        try:
            content = folder.read(path, limit=_LARGEST) if ours else b""
            found = hashlib.sha256(content).hexdigest() if ours else folder.digest(path)
            if ours:
                content.decode()
        except (OSError, UnicodeDecodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "not UTF-8 text"
            message = f"{path} is in the manifest and cannot be read: {reason}"
            wrong.append(Diagnostic("FAB6011", Severity.ERROR, message, at))
            continue
        if found != digest:
            message = f"{path} was changed after the build wrote it"
            wrong.append(Diagnostic("FAB6010", Severity.ERROR, message, at))
        elif ours:
            packed.setdefault(name, {})[file] = zlib.compress(content, _QUICK)
    return packed, wrong


_SHOWN = 5
_LONGEST = 80


def prove_files(source: BuiltTree, names: Iterable[str]) -> None:
    """Render switches anew and compare every byte: a manifest can be forged together with the files that it states.

    Raises:
        PushRefusedError: FAB9150 for files that differ, with the first such line; FAB7012, a template has an error.
    """
    wrong: list[Diagnostic] = []
    for name in names:
        try:
            wanted = render_switch(source.switch(name))
        except EmitError as error:
            raise PushRefusedError.of([error.diagnostic]) from None
        if (held := source.files(name)) != wanted:
            wrong += _compare_files(source, name, held, wanted)
    if not wrong:
        return
    if len(wrong) > _SHOWN:
        more = f"and {len(wrong) - _SHOWN} more files"
        wrong = [*wrong[:_SHOWN], Diagnostic("FAB9150", Severity.ERROR, more)]
    raise PushRefusedError.of(wrong)


def _compare_files(
    source: BuiltTree, name: str, stored: dict[str, str], rendered: dict[str, str]
) -> Iterator[Diagnostic]:
    """Yield a finding for each file of a switch that is not as rendered, at its first line."""
    by = source.held.manifest.version
    remedy = "Build again, review the difference, and push the new tree."
    if by != __version__:
        remedy = (
            f"Build again with this version ({__version__}; the tree is of {by}), or name the digest of the tree that "
            "was proved: --tree-digest."
        )
    for file in sorted(stored.keys() | rendered.keys()):
        text, plan = stored.get(file), rendered.get(file)
        if text == plan:
            continue
        path = f"{SWITCHES}{name}/{file}"
        line = 1
        if text is None:
            message = f"{path} is in the plan and not in the tree"
        elif plan is None:
            message = f"{path} is in the tree and not in the plan"
        else:
            line, values, planned = _find_first_difference(text, plan)
            message = f"{path} has {values}, and the plan has {planned}"
        yield Diagnostic("FAB9150", Severity.ERROR, message, Position(str(source.tree / path), line), remedy)


def _find_first_difference(text: str, plan: str) -> tuple[int, str, str]:
    """Return the number of the first line that differs, from 1, and that line in each text."""
    lines, planned = text.splitlines(keepends=True), plan.splitlines(keepends=True)
    shared = min(len(lines), len(planned))
    at = next((at for at in range(shared) if lines[at] != planned[at]), shared)
    return at + 1, _quote_line(lines, at), _quote_line(planned, at)


def _quote_line(lines: list[str], at: int) -> str:
    if at >= len(lines):
        return "nothing"
    return repr(lines[at].strip()[:_LONGEST])
