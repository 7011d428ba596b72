"""Prepare a migration: find the intermediate specs as edits, prove and review every step, and plan the cable moves."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, FindingsError
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.foreign import files
from fabricc.base.values import dataclass, replace
from fabricc.compiler.load.input_digests import manifest_inputs
from fabricc.compiler.recheck import breaks_shares, list_proof_findings
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.planning.topology.boxes import box_of
from fabricc.front.spec.priorities import CODE_POINTS, effective_priority
from fabricc.operate.change.variant import edit_spec, prove_spec, review_variant, write_spec
from fabricc.operate.migrate import renumbering
from fabricc.operate.migrate.cables import Move, find_exchanged_switches, plan_moves
from fabricc.operate.migrate.waves import UNKNOWN, Order, order_networks
from fabricc.operate.push.built_tree import compute_state
from fabricc.operate.push.sequence import FILE, Place
from fabricc.operate.push.sequence import format_place as written_place
from fabricc.tree.file import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import SwitchModel
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.front.spec.model import ClusterSpec, Priority
    from fabricc.review.diff.model import Review

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """One prepared step.

    Attributes:
        number: from 1.
        review: what goes from the stage before to this one.
        spec: where it is written; None when it is not.
        moves: cables to move, in order.
        orders: the waves in which a push takes it, of networks where traffic would notice a switch; none where cables
            move between boxes that stay, for their rounds are its order.
    """

    number: int
    step: Step
    review: Review
    spec: Path | None
    moves: tuple[Move, ...]
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Migration:
    """A prepared migration; `at_once` is the review of the change in a single step."""

    cluster: str
    stages: tuple[Stage, ...]
    at_once: Review


def prepare_migration(
    old: Compiled, new: Compiled, keep: Fraction, write: Path | None, progress: Progress
) -> Migration:
    """Find the steps, compile and review each; with `write`, also prove each and write it to its own folder.

    Both are sound and have the same lock; `keep` is the share of its paths that every rail, plane and switch keeps.
    Once files break the plan, no share holds, and no step has waves.

    Raises:
        FindingsError: FAB9450, a step does not compile or hold its proof.
        EmitError: a file cannot be written.
    """
    text, file = old.sources[str(old.path)], str(old.path)
    way = [*find_steps(old, new, keep), Step(WANTED, "the spec that is wanted", {})]
    stages: list[Stage] = []
    with TemporaryDirectory(prefix="fabricc-migrate-") as scratch:
        top = write or Path(scratch)
        before, label, broken = old, "as it is", breaks_shares(old, list_proof_findings(old))
        for number, step in enumerate(way, 1):
            progress("steps", number - 1, len(way))
            folder = top / f"{number}-{step.name}"
            last = step.name == WANTED
            like, now = (
                (new, new.sources[str(new.path)]) if last else (old, edit_spec(text, file, step.changes))
            )
            try:
                after = write_spec(like, now, folder, step.files)
                if write is not None:
                    prove_spec(after)
            except FindingsError as error:
                raise _wrap_step_error(step, error) from error
            review = review_variant(before, after, (label, step.name))
            if write is not None:
                _write_place(after, step, before, way[number - 2] if number > 1 else None)
            spec, moved = after.path if write else None, plan_moves(before.fabric, after.fabric, keep)
            recabled = moved and not find_exchanged_switches(before.fabric, after.fabric)
            broken |= breaks_shares(after, review.proof_findings)
            if broken and review.groups:
                waves: tuple[Order, ...] = (UNKNOWN,)
            else:
                waves = () if recabled else order_networks(review, before, after, keep)
            stages.append(Stage(number, step, review, spec, moved, waves))
            before, label = after, step.name
        progress("steps", len(way), len(way))
        at_once = review_variant(old, new, ("as it is", WANTED))
    return Migration(old.fabric.cluster, tuple(stages), at_once)


def _write_place(after: Compiled, step: Step, before: Compiled, last: Step | None) -> None:
    """Write a file next to the spec that names the previous step, so that a push can check the order."""
    if last is not None:
        states = [compute_state(manifest_inputs(each)) for each in (after, before)]
        place = Place(step.name, states[0], last.name, states[1])
        write_file(after.path.with_name(FILE), written_place(place).encode())


def _wrap_step_error(step: Step, error: FindingsError) -> FindingsError:
    """Put an error that names the failed step before the errors of its spec."""
    remedy = "Make room for it, or make the change in one window: `fabricc diff` shows the effect."
    own = FindingsError(
        "FAB9450", f"the step {step.name} cannot be taken: {step.what}", f"Its errors follow. {remedy}"
    )
    return FindingsError.of([own.diagnostic, *error.diagnostics], error.sources)


DUAL = "dual"
JOBS_END = (
    "until every job that was started before it has ended: connections keep the code point that they have"
)
CANARY_RUNS = "as long as you want to observe it under traffic"
WANTED = "wanted"
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One intermediate spec.

    Attributes:
        name: of its folder; what: what it does, a sentence.
        before: what has to be done before it.
        changes: path -> value as it is written, or a mapping of such; None takes the key away.
        after: what has to be waited for after it.
        files: name -> text of tables that are written next to the spec.
    """

    name: str
    what: str
    changes: Mapping[KeyPath, object]
    after: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    before: str = ""


def find_steps(old: Compiled, new: Compiled, keep: Fraction) -> Iterator[Step]:
    """Yield the steps before the last, which is the wanted spec itself; none where one step is as good.

    Every switch keeps the share `keep` of its paths.
    """
    pairs: list[tuple[KeyPath, Compiled, Compiled]] = [((), old, new)]
    pairs += [
        (("networks", name), part, new.networks[name])
        for name, part in old.networks.items()
        if name in new.networks
    ]
    settled: dict[KeyPath, object] = {}
    beside: dict[str, str] = {}
    for root, before, after in pairs:
        for kind in (_find_family_steps, _find_class_steps, _find_model_steps, _find_system_steps):
            found = list(kind(root, before, after, keep))
            for step in found:
                yield replace(step, changes={**settled, **step.changes}, files={**beside, **step.files})
            settled |= found[-1].changes if found else {}
            beside |= found[-1].files if found else {}
    for step in _find_renumbering_steps(old, new, keep):
        yield replace(step, changes={**settled, **step.changes}, files={**beside, **step.files})


def _find_family_steps(root: KeyPath, old: Compiled, new: Compiled, _: Fraction) -> Iterator[Step]:
    families = {old.spec.addressing.family, new.spec.addressing.family}
    if len(families) > 1 and DUAL not in families:
        yield Step(
            "both-families",
            f"{old.spec.addressing.family} and {new.spec.addressing.family} side by side",
            {(*root, "addressing", "family"): DUAL},
            f"until nothing is sent in {old.spec.addressing.family} any more",
        )


def _find_class_steps(root: KeyPath, before: Compiled, after: Compiled, _: Fraction) -> Iterator[Step]:
    old, new = before.spec, after.spec
    wanted = {each.name: each for each in new.priorities}
    for each in old.priorities:
        goal = wanted.get(each.name)
        if goal is None or not (each.lossless and goal.lossless):
            continue
        if effective_priority(each) != effective_priority(goal):
            yield from () if root else _find_priority_steps(root, old, new, each, goal)
        elif _get_sent_code_point(each) != _get_sent_code_point(goal) and _is_free(each, goal, old, new):
            yield from _find_code_point_steps((*root, "priorities", each.name), each, goal)


def _get_sent_code_point(each: Priority) -> int:
    return each.dscps[0] if each.sends is None else each.sends


def _is_free(each: Priority, goal: Priority, old: ClusterSpec, new: ClusterSpec) -> bool:
    """Return whether no other class has the new code points before, or the old ones afterwards."""
    others = {p for c in old.priorities if c.name != each.name for p in c.dscps}
    later = {p for c in new.priorities if c.name != goal.name for p in c.dscps}
    return not (others & {*goal.dscps} or later & {*each.dscps})


def _find_code_point_steps(path: KeyPath, each: Priority, goal: Priority) -> Iterator[Step]:
    both = sorted({*each.dscps, *goal.dscps})
    first, then = _get_sent_code_point(each), _get_sent_code_point(goal)
    shared: dict[KeyPath, object] = {
        (*path, "dscp"): both,
        (*path, "priority"): str(effective_priority(each)),
    }
    name = path[-1]
    yield Step(
        f"{name}-both-code-points",
        f"DSCP {first} and {then} in class {name} on every switch and NIC; {first} is sent",
        {**shared, (*path, "sends"): str(first)},
    )
    yield Step(
        f"{name}-senders",
        f"senders of {name} go to DSCP {then}",
        {**shared, (*path, "sends"): str(then)},
        JOBS_END,
    )


def _find_priority_steps(
    root: KeyPath, old: ClusterSpec, new: ClusterSpec, each: Priority, goal: Priority
) -> Iterator[Step]:
    """Another class at the wanted priority, its own lossless one, takes the senders over."""
    taken = {effective_priority(c) for c in old.priorities}
    used = {p for spec in (old, new) for c in spec.priorities for p in c.dscps}
    point = _get_sent_code_point(goal)
    if point in used - {*goal.dscps} or point in each.dscps:
        free = [p for p in range(CODE_POINTS) if p not in used]
        if not free:
            return
        point = min(free, key=lambda p: abs(p - _get_sent_code_point(goal)))
    if effective_priority(goal) in taken:
        return
    here, there = (*root, "priorities", each.name), (*root, "priorities", f"{each.name}-next")
    now: dict[KeyPath, object] = {
        (*here, "priority"): str(effective_priority(each)),
        **_find_class_users(root, old, each.name, each.name),
    }
    other: dict[str, object] = {
        "dscp": str(point),
        "lossless": "true",
        "priority": str(effective_priority(goal)),
    }
    if goal.ecn is not None:
        other["ecn"] = str(goal.ecn).lower()
    yield Step(
        f"{each.name}-both-priorities",
        f"priority {effective_priority(each)} and {other['priority']} lossless on every hop; class {each.name} is sent",
        {**now, there: other},
    )
    users = _find_class_users(root, old, each.name, f"{each.name}-next")
    yield Step(
        f"{each.name}-senders",
        f"senders go to priority {other['priority']}, with DSCP {point}",
        {**now, **users, there: other, (*here, "sends"): "false"},
        JOBS_END,
    )
    if point == _get_sent_code_point(goal):
        return
    points = sorted({point, *goal.dscps})
    moved = {**other, "dscp": points, "sends": str(point)}
    gone = {here: None, **users}
    yield Step(
        f"{each.name}-code-points",
        f"DSCP {', '.join(map(str, goal.dscps))} at priority {other['priority']} too; {point} is sent",
        {**gone, there: moved},
    )
    yield Step(
        f"{each.name}-code-point-senders",
        f"senders go to DSCP {_get_sent_code_point(goal)}",
        {**gone, there: {**moved, "sends": str(_get_sent_code_point(goal))}},
        JOBS_END,
    )


def _find_class_users(root: KeyPath, spec: ClusterSpec, name: str, other: str) -> dict[KeyPath, object]:
    """Return the keys that assign hosts from the class `name` to another class, where the spec sets them."""
    first = min((c for c in spec.priorities if c.lossless), key=effective_priority).name
    classes = {group.path: group.rdma_class for group in spec.gpus.groups}
    if any(of is not None for of in classes.values()):
        return {(*path, "class"): other for path, of in classes.items() if (of or first) == name}
    return {("gpus", "class"): other} if first == name and not root else {}


def _find_renumbering_steps(old: Compiled, new: Compiled, keep: Fraction) -> Iterator[Step]:
    """Numbers of links, spines and ToRs: both ends of a few links at a time, which no traffic needs meanwhile."""
    for part in renumbering.plan_renumbering(old, new, keep):
        changes: dict[KeyPath, object] = {
            ("addressing", key): value for key, value in part.addressing.items()
        }
        changes |= {("identities", key): file for key, (file, _) in part.tables.items()}
        changes |= {("overrides", name, "fabric_links"): "unnumbered" for name in part.bare}
        changes |= {("overrides", name, "drain"): "true" for name in part.drained}
        yield Step(part.name, part.what, changes, files=dict(part.tables.values()), before=part.before)


def _find_model_steps(root: KeyPath, old: Compiled, new: Compiled, keep: Fraction) -> Iterator[Step]:
    """Spines and cores of another model: as many as may be out are drained, exchanged and cabled at a time.

    None where a single switch of that model cannot stand among those of the other.
    """
    beside = _find_changed_catalog_files(old, new)
    known = [*dict.fromkeys([*old.spec.catalog_files, *beside])]
    done: dict[KeyPath, object] = {("catalog",): known} if beside else {}
    for tier in (TierName.CORE, TierName.SPINE):
        before, after = old.fabric.tiers.get(tier), new.fabric.tiers.get(tier)
        if before is None or after is None or before.model == after.model:
            continue
        plain = [
            each
            for batch in renumbering.batch_upper_switches(old.fabric, keep)
            if (
                each := [
                    at for at in batch if at.tier is tier and not _has_own_box(old.spec, old.fabric.name(at))
                ]
            )
        ]
        if any(not _can_take_model(old, at, after.model) for batch in plain for at in batch):
            return
        kind, system = f"{tier.value}-box", f"{after.nos}-{after.release}"
        for number, batch in enumerate(plain, 1):
            names = [old.fabric.name(at) for at in batch]
            message = join_words(names, _NAMED)
            drains: dict[KeyPath, object] = {(*root, "overrides", name, "drain"): "true" for name in names}
            yield Step(
                f"{kind}-{number}-drain",
                f"{message} drained",
                {**done, **drains},
                f"until no traffic crosses them; then exchange each for {after.model.title} with the cables of the "
                "next step",
                files=beside,
            )
            done |= {(*root, "overrides", name, "model"): after.model.name for name in names}
            done |= {(*root, "overrides", name, "nos"): system for name in names}
            yield Step(
                f"{kind}-{number}", f"{message}: {after.model.title} with {system}", dict(done), files=beside
            )


def _find_changed_catalog_files(old: Compiled, new: Compiled) -> dict[str, str]:
    """Return the wanted spec's own catalog files that the deployed one has not, or not as they are: name -> text."""
    texts = [
        {name: files.read(each.path.parent / name).decode() for name in each.spec.catalog_files}
        for each in (old, new)
    ]
    return {name: text for name, text in texts[1].items() if texts[0].get(name) != text}


def _has_own_box(spec: ClusterSpec, name: str) -> bool:
    """Return whether an override sets the model or the system of a switch."""
    return _has_own_system(spec, name) or (name in spec.overrides and spec.overrides[name].model is not None)


def _can_take_model(old: Compiled, at: SwitchId, model: SwitchModel) -> bool:
    """Return whether a switch can change to another model in its position."""
    findings: list[Diagnostic] = []
    return box_of(old.spec, old.fabric, at, model, findings) is not None


def _find_system_steps(root: KeyPath, old: Compiled, new: Compiled, _: Fraction) -> Iterator[Step]:
    """Another system or release in a tier: its first switch, a half, then all, from the top down."""
    done: dict[KeyPath, object] = {}
    for tier in (TierName.CORE, TierName.SPINE, TierName.TOR):
        before, after = old.fabric.tiers.get(tier), new.fabric.tiers.get(tier)
        if before is None or after is None or before.model != after.model:
            continue
        if (before.nos, before.release) == (after.nos, after.release):
            continue
        names = [name for name in _order_for_canary(old.fabric, tier) if not _has_own_system(old.spec, name)]
        system = f"{after.nos}-{after.release}"
        for count, label in ((1, "first"), ((len(names) + 1) // 2, "half")):
            if (label == "first" or count > 1) and count < len(names):
                yield Step(
                    f"{tier.value}-{label}",
                    f"{system} on {names[0] if count == 1 else f'{count:,} of {len(names):,} {tier.value}s'}",
                    {**done, **{(*root, "overrides", name, "nos"): system for name in names[:count]}},
                    CANARY_RUNS,
                )
        done[*root, f"{tier.value}s", "nos"] = system
        yield Step(f"{tier.value}s", f"{system} on all {tier.value}s", dict(done))


def _order_for_canary(fabric: Fabric, tier: TierName) -> list[str]:
    """Return its switches, every second one first, so that a half of them has all units and one ToR of each pair."""
    names = [fabric.name(at) for at in fabric.switch_ids() if at.tier is tier]
    return names[::2] + names[1::2]


def _has_own_system(spec: ClusterSpec, name: str) -> bool:
    return name in spec.overrides and spec.overrides[name].nos is not None
