"""Load vendor builds of network operating systems, and their published differences."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fabricc.base.documents.package_yaml import load_package_yaml
from fabricc.base.numbers import is_number
from fabricc.base.values import dataclass

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


def spell_flavor(name: str, release: str | None) -> str:
    """Return how a spec names the build that people call `enterprise-sonic-4.4` or `dell-sonic`, or ""."""
    words = [name, *(release or "").split("-")]
    for flavor in load_flavors().values():
        called = {flavor.name, *flavor.also}
        if called & set(words[:2]) and (flavor.system in words or words[0] == flavor.name):
            version = [word for word in words if is_number(word[:1])]
            return "-".join([flavor.system, flavor.name, *version[:1]])
    return ""
