"""Plan an upgrade: the spec of the new release, the differences, the switches, their waves and the way back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.back.nos.limits import Feature, ImageStep, changed_features, image_step, one_way
from fabricc.base.diagnostics import Diagnostic, FindingsError, Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass
from fabricc.catalog.support import oldest_release, runs_release
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.change.variant import edit_spec, prove_spec, review_variant, write_spec
from fabricc.operate.push.image_step import ImageKey, Images, read_images
from fabricc.operate.push.plan_waves import plan_waves
from fabricc.review.diff.model import Impact, Review

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabricc.base.documents.document import KeyPath
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Switch
    from fabricc.fabric.vocabulary import Gap
    from fabricc.operate.change.order import Wave


BEFORE, AFTER = "before", "after"


class Release(NamedTuple):
    """A system and its release."""

    nos: str
    release: str

    @staticmethod
    def of(text: str) -> Release:
        """`sonic-202511`: the name goes to the last hyphen.

        Raises:
            FindingsError: FAB9420, there is no such system, or it has no such release.
        """
        nos, _, release = text.rpartition("-")
        if nos not in back_ends.list_names():
            known = ", ".join(back_ends.list_names())
            raise FindingsError("FAB9420", f"{text!r} names no system and release", f"Systems: {known}.")
        if release not in (known_releases := back_ends.load(nos).releases):
            remedy = f"Known: {', '.join(known_releases)}."
            raise FindingsError("FAB9420", f"{nos} has no release {release!r}", remedy)
        return Release(nos, release)

    def __str__(self) -> str:
        return f"{self.nos}-{self.release}"


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """The requested upgrade.

    Attributes:
        to: the release to go to; `since` the one to leave, None for any other of that system.
        only: the switches; empty for all that run another release.
        images: the table of image files.
        keep, most: as of a push.
        write: folder for the spec of before and of after.
    """

    to: Release
    since: Release | None = None
    only: tuple[str, ...] = ()
    images: Path | None = None
    keep: Fraction = Fraction(3, 4)
    most: int | None = None
    write: Path | None = None


class UpgradeTarget(NamedTuple):
    """A switch that goes to the new release."""

    name: str
    network: str
    tier: str
    model: str
    release: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A planned upgrade.

    Attributes:
        targets: the switches, in the fabric's order.
        features: what the releases have and lack; `gaps`: those of the new one only, and `closed` those of the old.
        review: of the configurations.
        waves: network -> the order of its switches.
        image_steps: how the system takes the image and goes back, from each release that is left.
        returns: what the way back does not bring back.
        words: keys of the spec and their values.
        written: the specs of before and after.
    """

    cluster: str
    request: UpgradeRequest
    targets: tuple[UpgradeTarget, ...]
    features: tuple[Feature, ...]
    gaps: tuple[Gap, ...]
    closed: tuple[Gap, ...]
    review: Review
    waves: Mapping[str, Sequence[Wave]]
    images: Images
    image_steps: tuple[ImageStep, ...]
    returns: tuple[str, ...]
    words: Mapping[KeyPath, str]
    written: tuple[Path, ...]
    findings: tuple[Diagnostic, ...]


def prepare_upgrade(
    compiled: Compiled, request: UpgradeRequest, progress: Callable[[str, int, int], None]
) -> Upgrade:
    """Plan an upgrade; with `write`, prove the new spec and write it and the old one to the folder.

    Raises:
        FindingsError: a switch cannot take the release, the order cannot keep the share, or the spec does not take it.
        EmitError: a file cannot be written.
    """
    parts = {"": compiled, **compiled.networks}
    takers = tuple(_find_targets(parts, request))
    _require_support(parts, takers, request)
    words = dict(_list_spec_keys(parts, takers, request))
    text, file = compiled.sources[str(compiled.path)], str(compiled.path)
    with TemporaryDirectory(prefix="fabricc-upgrade-") as scratch:
        top = request.write or Path(scratch)
        after = write_spec(compiled, edit_spec(text, file, words), top / AFTER)
        ways = {"": after, **after.networks}
        names = {taker.name for taker in takers}
        wrong = [
            t.name
            for t in takers
            if _find_switch(ways[t.network].fabric, t.name).release != request.to.release
        ]
        if wrong:
            settings = ", ".join(f"{'.'.join(map(str, path))}: {value}" for path, value in words.items())
            message = f"the release cannot be written into this spec: {join_words(wrong, 4)}"
            raise FindingsError("FAB9423", message, f"Write it by hand: {settings}.")
        found = review_variant(compiled, after, (BEFORE, AFTER))
        files: tuple[Path, ...] = ()
        if request.write is not None:
            progress("proving", 0, 1)
            prove_spec(after)
            progress("proving", 1, 1)
            files = (write_spec(compiled, text, top / BEFORE).path, after.path)
    old, new = _collect_gaps(parts, names), _collect_gaps(ways, names)
    used = {ImageKey(request.to.nos, request.to.release, taker.model) for taker in takers}
    images = read_images(request.images, used) if request.images else Images({}, ())
    nos, to, left = request.to.nos, request.to.release, sorted({taker.release for taker in takers})
    features = tuple(dict.fromkeys(_compare_features(parts, ways, takers)))
    gaps = tuple(gap for key, gap in new.items() if key not in old)
    closed = tuple(gap for key, gap in old.items() if key not in new)
    going = {name: [each.name for each in takers if each.network == name] for name in ways}
    waves = {name: _plan_waves(part.fabric, going[name], request) for name, part in ways.items()}
    image_steps = dict.fromkeys(filter(None, (image_step(nos, release, to) for release in left)))
    returns = tuple(filter(None, (one_way(nos, release, to) for release in left)))
    return Upgrade(
        compiled.fabric.cluster, request, takers, features, gaps, closed, found, waves, images, tuple(image_steps),
        returns, words, files, images.findings,
    )  # fmt: skip


def _find_targets(parts: Mapping[str, Compiled], request: UpgradeRequest) -> Iterator[UpgradeTarget]:
    """Yield the switches of the system that run another release, or the one to leave."""
    known: set[str] = set()
    count = 0
    for network, part in parts.items():
        for at in part.fabric.switch_ids():
            name = part.fabric.name(at)
            known.add(name)
            if request.only and name not in request.only:
                continue
            plan, change = part.fabric.tiers[at.tier], part.fabric.changes.get(name)
            nos = change.nos if change and change.nos else plan.nos
            release = change.release if change and change.release else plan.release
            leaves = request.since in (None, Release(nos, release))
            if nos == request.to.nos and release != request.to.release and leaves:
                count += 1
                yield UpgradeTarget(name, network, at.tier.value, part.fabric.model(at).name, release)
    if unknown := [name for name in request.only if name not in known]:
        message = f"the fabric has no switch {unknown[0]!r}"
        raise FindingsError("FAB9421", message, "`fabricc plan` has them all.")
    if not count:
        what = (
            f"runs {request.since}"
            if request.since
            else f"runs another release of {request.to.nos} than {request.to.release}"
        )
        remedy = "See which releases `fabricc plan` shows."
        raise FindingsError("FAB9421", f"no selected switch {what}", remedy)


def _require_support(
    parts: Mapping[str, Compiled], takers: Iterable[UpgradeTarget], request: UpgradeRequest
) -> None:
    """Refuse models that the catalog does not know to run the release.

    Raises:
        FindingsError: FAB9422, for each such model.
    """
    found = group_pairs((taker.model, taker.name) for taker in takers)
    models = {tier.model.name: tier.model for part in parts.values() for tier in part.fabric.tiers.values()}
    wrong = []
    for name, names in found.items():
        model = models[name]
        if not runs_release(model, request.to.nos, request.to.release):
            first = oldest_release(model, request.to.nos, back_ends.load(request.to.nos).releases)
            source = model.sources.get(f"nos.{request.to.nos}.support", "catalog")
            message = (
                f"{request.to} is not known to run on {model.title}: it does since {model.support[request.to.nos]} "
                f"({source}): {join_words(names, 4)}"
            )
            others = " or name the others with --only" if len(found) > 1 else ""
            remedy = f"Take {request.to.nos}-{first} or later{others}." if first else ""
            wrong.append(Diagnostic("FAB9422", Severity.ERROR, message, None, remedy))
    if wrong:
        raise FindingsError.of(wrong)


def _list_spec_keys(
    parts: Mapping[str, Compiled], takers: Sequence[UpgradeTarget], request: UpgradeRequest
) -> Iterator[tuple[KeyPath, str]]:
    """Keys of the spec: a tier's where all its switches go, else those of single switches."""
    for network, part in parts.items():
        root: tuple[str, ...] = ("networks", network) if network else ()
        going = {taker.name for taker in takers if taker.network == network}
        overridden = {name for name, change in part.fabric.changes.items() if change.nos}
        tiers = group_pairs((at.tier.value, part.fabric.name(at)) for at in part.fabric.switch_ids())
        for tier, names in tiers.items():
            plain = [name for name in names if name not in overridden]
            if plain and going.issuperset(plain):
                yield (*root, f"{tier}s", "nos"), str(request.to)
                plain = []
            for name in (each for each in names if each in going and (each in plain or each in overridden)):
                yield (*root, "overrides", name, "nos"), str(request.to)


def _find_switch(fabric: Fabric, name: str) -> Switch:
    at = next(at for at in fabric.switch_ids() if fabric.name(at) == name)
    return fabric.switch(at)


def _compare_features(
    parts: Mapping[str, Compiled], ways: Mapping[str, Compiled], takers: Sequence[UpgradeTarget]
) -> Iterator[Feature]:
    kinds: dict[tuple[str, str, str, str], UpgradeTarget] = {}
    for taker in takers:
        kinds.setdefault((taker.network, taker.tier, taker.model, taker.release), taker)
    for taker in kinds.values():
        yield from changed_features(
            *(_find_switch(side[taker.network].fabric, taker.name) for side in (parts, ways))
        )


def _collect_gaps(parts: Mapping[str, Compiled], names: set[str]) -> dict[tuple[str, str], Gap]:
    """Code and feature -> gap, of one switch of every kind among these."""
    found: dict[tuple[str, str], Gap] = {}
    for part in parts.values():
        seen: set[tuple[str, str]] = set()
        for at in part.fabric.switch_ids():
            key = at.tier.value, part.fabric.model(at).name
            if part.fabric.name(at) in names and key not in seen:
                seen.add(key)
                switch = part.fabric.switch(at)
                for gap in back_ends.load(switch.nos).gaps(switch):
                    found.setdefault((gap.code, gap.feature), gap)
    return found


def _plan_waves(fabric: Fabric, names: Sequence[str], request: UpgradeRequest) -> Sequence[Wave]:
    """Return the waves of a push: each switch is out while its image is installed."""
    places = {fabric.name(at): at for at in fabric.switch_ids()}
    effect = Effect(str(request.to), Impact.RELOAD, "another release is installed")
    return plan_waves(
        build_capacity_model(fabric, places, dict.fromkeys(names, effect)), request.keep, request.most
    )
