"""Name systems and releases as a spec does, and find those that run on a switch, its figures and known problems."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.installation import load_package_yaml
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass, replace
from fabricc.catalog.library import explain_unlisted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabricc.catalog.model import SwitchModel


@lru_cache(maxsize=256)
def release_numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release in order: `202505`, `4.32.1F`, `10.5(2)F`, `23.4R2`."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,18}", release))


def runs_release(model: SwitchModel, nos: str, release: str) -> bool:
    """Return whether the release runs on the box; a model without a first release runs all."""
    since = model.support.get(nos)
    return since is None or release_numbers(release) >= release_numbers(since)


def oldest_release(model: SwitchModel, nos: str, releases: Sequence[str]) -> str | None:
    """Return the first of these releases, in ascending order, that runs on the box; None when none does."""
    return next((release for release in releases if runs_release(model, nos, release)), None)


_FARTHEST_MAJOR = 10
"""Allowed distance of a release's first number above the newest known one; more is a typing error."""


def nearest_release(release: str, releases: Sequence[str]) -> str | None:
    """Return the known release whose files serve for an unknown one, or None for what is no release of the system.

    It is the newest that is not newer, or the oldest.

    Args:
        release: the unknown release, as in `202611`, `4.37`, `10.5(2)F`.
        releases: the known ones, ascending.
    """
    requested = release_numbers(release)
    if not requested or not releases or not is_number(release[0]):
        return None
    newest = release_numbers(releases[-1])
    dated = len(newest) == 1
    if dated != (len(requested) == 1) or (dated and len(release) != len(releases[-1])):
        return None
    if requested[0] > newest[0] + (100 if dated else 1) * _FARTHEST_MAJOR:
        return None
    older = [known for known in releases if release_numbers(known) <= requested]
    return older[-1] if older else releases[0]


def model_at_release(model: SwitchModel, nos: str, release: str) -> SwitchModel:
    """Return the switch with the figures that it has on a release of a NOS."""
    number = release_numbers(release)
    for figures in model.releases.get(nos, ()):
        if figures.since is not None and number < release_numbers(figures.since):
            continue
        if figures.until is not None and number[: len(until := release_numbers(figures.until))] > until:
            continue
        settings = dict(model.nos[nos])
        if "sku" in settings:
            rest = {key: value for key, value in settings["sku"].items() if key != "lookup"}
            settings["sku"] = {**rest, "lookup": figures.lookup} if figures.lookup else rest
        kept = {path: source for path, source in model.sources.items() if not path.startswith("buffers.")}
        return replace(
            model,
            buffers=figures.buffers,
            nos={**model.nos, nos: settings},
            releases={},
            sources={**kept, **figures.sources},
        )
    return model


TABLE = Path(__file__).parent / "flavors.yaml"


@dataclass(frozen=True, slots=True)
class Flavor:
    """One vendor's build.

    Attributes:
        name: as a spec names it, after the system: `enterprise` in `sonic-enterprise-4.4`.
        system: the system that it is a build of.
        also: other words that people use for it.
        differences: what its vendor, or who packages it, publishes about differences.
    """

    name: str
    system: str
    title: str
    also: tuple[str, ...]
    differences: str
    source: str


@cache
def load_flavors() -> dict[str, Flavor]:
    """Return the builds by name."""
    return {
        name: Flavor(name, raw["system"], raw["title"], tuple(raw["also"]), raw["differences"], raw["source"])
        for name, raw in load_package_yaml(TABLE)["flavors"].items()
    }


def find_flavor(system: str, release: str | None) -> Flavor | None:
    """Return the build that a release such as `enterprise-4.4` names; None for a community release."""
    found = load_flavors().get((release or "").partition("-")[0])
    return found if found is not None and found.system == system else None


def find_own_build(model: SwitchModel, nos: str) -> Flavor | None:
    """Return the vendor's build that alone has a switch; None for a switch of the community image."""
    return load_flavors().get(model.nos.get(nos, {}).get("support", {}).get("build", ""))


TENANCY_TABLE = Path(__file__).parent / "tenancy.yaml"


class Verdict(StrEnum):
    """The result of the sources for a combination."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    CONTRADICTED = "contradicted"


class Capability(NamedTuple):
    """A row of the table.

    Attributes:
        nos: the software, as specs name it.
        models: catalog names of switches; empty for all of `families`.
        families: ASIC families; with both empty the row is for every switch.
        reason: what is not known or denied, as a message has it; "" where verified.
        source: where this is documented.
    """

    nos: str
    models: tuple[str, ...]
    families: tuple[str, ...]
    verdict: Verdict
    reason: str
    source: str

    def covers(self, nos: str, model: SwitchModel) -> bool:
        """Return whether the row is about a switch with a NOS."""
        if self.nos != nos:
            return False
        if self.models:
            return model.name in self.models
        return not self.families or model.asic_family in self.families


@cache
def load_capabilities() -> Sequence[Capability]:
    """Return the rows; the first that covers a switch counts."""
    raw = load_package_yaml(TENANCY_TABLE)
    sources = raw["sources"]
    return [
        Capability(
            row["nos"],
            tuple(row.get("models", ())),
            tuple(row.get("families", ())),
            Verdict(row["verdict"]),
            row.get("reason", ""),
            sources[row["source"]] if "source" in row else "",
        )
        for row in raw["rows"]
    ]


@cache
def list_systems_with_loopback_sessions() -> frozenset[str]:
    """Return the systems that exchange EVPN routes between loopbacks, as their source has it, and not over links."""
    return frozenset(load_package_yaml(TENANCY_TABLE)["loopbacks"])


def find_capability(nos: str, model: SwitchModel) -> Capability:
    """Return the row of a switch with a NOS; unverified where none covers it."""
    for row in load_capabilities():
        if row.covers(nos, model):
            return row
    reason = "no known source states that it terminates a routed VRF"
    return Capability(nos, (), (), Verdict.UNVERIFIED, reason, "")


FIELD_PROBLEMS_TABLE = Path(__file__).parent / "field-problems.yaml"

ONE_LOSSLESS_CLASS, MARKED_LOSSLESS_CLASSES = "one-lossless-class", "marked-lossless-classes"
LOSSLESS_CLASSES, MARKED_LOSSLESS_CLASS, WATCHDOG = "lossless-classes", "marked-lossless-class", "watchdog"
ROUTED_TUNNELS = "routed-tunnels"
ANY_FABRIC = "any-fabric"
CONDITIONS = (
    LOSSLESS_CLASSES,
    ONE_LOSSLESS_CLASS,
    MARKED_LOSSLESS_CLASS,
    MARKED_LOSSLESS_CLASSES,
    WATCHDOG,
    ROUTED_TUNNELS,
    ANY_FABRIC,
)


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A known problem.

    Attributes:
        systems: the network operating systems that have it.
        releases: system -> its releases that have it; a system without a row has it in all.
        asics: the families of ASICs that have it; empty for all.
        when: the condition in a fabric, one of `CONDITIONS`.
        problem, way_out: what happens, and what avoids it.
        source: who reports it.
    """

    name: str
    systems: tuple[str, ...]
    releases: Mapping[str, tuple[str, ...]]
    asics: tuple[str, ...]
    when: str
    problem: str
    way_out: str
    source: str

    def affects(self, nos: str, release: str, asic_family: str) -> bool:
        """Return whether a switch of this system, release and family of ASICs has the problem."""
        if nos not in self.systems or release not in self.releases.get(nos, (release,)):
            return False
        return not self.asics or asic_family in self.asics


@cache
def load_field_problems() -> tuple[FieldProblem, ...]:
    """Return the known problems."""
    return tuple(
        FieldProblem(
            name,
            tuple(raw["systems"]),
            {nos: tuple(releases) for nos, releases in raw.get("releases", {}).items()},
            tuple(raw["asics"]),
            raw["when"],
            raw["problem"],
            raw["way_out"],
            raw["source"],
        )
        for name, raw in load_package_yaml(FIELD_PROBLEMS_TABLE)["problems"].items()
    )


PRINTED_SYSTEMS_TABLE = Path(__file__).parent / "printed-systems.yaml"
_LONGEST = 200
"""Most characters of a text that are searched."""


class Form(NamedTuple):
    """A way to print a release, and the words of a spec for it."""

    pattern: re.Pattern[str]
    words: tuple[str, ...]


@cache
def load_forms() -> tuple[Form, ...]:
    """Return the forms in which makers print releases, in the order in which they count."""
    return tuple(
        Form(re.compile(row["form"]), tuple(row["words"]))
        for row in load_package_yaml(PRINTED_SYSTEMS_TABLE)["forms"]
    )


@cache
def load_words() -> dict[str, tuple[str, ...]]:
    """Return the words of a spec for names of makers and products."""
    return {word: tuple(names) for word, names in load_package_yaml(PRINTED_SYSTEMS_TABLE)["words"].items()}


@cache
def _list_systems() -> frozenset[str]:
    return frozenset(name.partition("-")[0] for names in load_words().values() for name in names)


def name_releases(printed: str) -> tuple[str, ...]:
    """Return the words of a spec for a printed release, such as `sonic-enterprise-4.5`; none for another text."""
    text = printed.lower()[:_LONGEST]
    first, *others = load_forms()
    flavor, form = _name_flavor(text), _fill_first(tuple(others), text)
    if form and flavor and flavor[0].partition("-")[0] not in text:  # `nvidia-5.18` is no SONiC
        flavor = ()
    return _fill_form(first, text) or flavor or form


def name_systems(printed: str) -> tuple[str, ...]:
    """Return the words of a spec for a printed system, with or without a release; none for another text."""
    text = printed.lower()[:_LONGEST]
    words = load_words()
    if found := words.get(text) or name_releases(text):
        return found
    tokens = _split_words(text)
    if own := [token for token in tokens if token in _list_systems()]:
        return (own[0],)
    return next((words[token] for token in tokens if token in words), ())


def explain_system(printed: str) -> str:
    """Return the remedy for a text that stands in the place of a system: the words of a spec, or ""."""
    return explain_unlisted(printed) or _propose(name_systems(printed))


def explain_release(system: str, release: str) -> str:
    """Return the remedy for a release that a system does not have: the words of a spec, or ""."""
    if named := explain_unlisted(release) or _propose(name_releases(f"{system}-{release}")):
        return named
    return _propose((system,)) if release.lower() in load_words() else ""


def _propose(names: tuple[str, ...]) -> str:
    return f"Write {' or '.join(f'`{name}`' for name in names)}." if names else ""


def _fill_first(forms: tuple[Form, ...], text: str) -> tuple[str, ...]:
    return next((words for form in forms if (words := _fill_form(form, text))), ())


def _fill_form(form: Form, text: str) -> tuple[str, ...]:
    found = form.pattern.search(text)
    return tuple(word.format(*found.groups()) for word in form.words) if found else ()


def _name_flavor(text: str) -> tuple[str, ...]:
    """Return how a spec names the build that people call `enterprise-sonic-4.4` or `dell-sonic`."""
    words = _split_words(text)
    for flavor in load_flavors().values():
        alone = words[:1] == [flavor.name] and not _list_systems() & set(words)
        if {flavor.name, *flavor.also} & set(words) and (flavor.system in text or alone):
            version = [word for word in words if is_number(word[:1])]
            return ("-".join([flavor.system, flavor.name, *version[:1]]),)
    return ()


def _split_words(text: str) -> list[str]:
    return [word for word in re.split("[^a-z0-9.]+", text) if word]
