"""Everything that is written for Cumulus is in NVUE's object model of that release, and what it needs is there."""

from __future__ import annotations

import importlib
import importlib.util
import re
import types
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Union, get_args, get_origin

import pytest
import yaml

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.back.nos.cumulus.consumers import ANY, NEEDS
from fabricc.proof import compare
from tests.back.nos.cumulus.variants import VARIANTS, variant

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASES = CUMULUS.releases
EACH = [(name, release) for name in VARIANTS for release in RELEASES]


class Written(NamedTuple):
    """One path of NVUE, `*` for each key of one's own, and the releases whose object model has it.

    `until` is empty for the newest release; `page` is of the Cumulus Linux documentation.
    """

    keys: tuple[str, ...]
    since: str
    until: str
    page: str


PATHS = [
    Written(tuple(path.split("/")), releases.partition("-")[0], releases.partition("-")[2], group["page"])
    for group in yaml.safe_load(Path(__file__).with_name("nvue_paths.yaml").read_text("utf-8"))
    for path, releases in group["paths"].items()
]


LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def row_of(keys: tuple[str, ...]) -> Written | None:
    """The row of a path as it is written."""
    same = (row for row in PATHS if len(row.keys) == len(keys))
    return next(
        (row for row in same if all(a in (ANY, b) for a, b in zip(row.keys, keys, strict=True))), None
    )


def leaf_paths(tree: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of a tree down to its value, or to the key that has nothing below it."""
    if isinstance(tree, dict) and tree:
        for key, below in tree.items():
            yield from leaf_paths(below, (*above, str(key)))
    else:
        yield above


@cache
def written_paths(name: str, release: str) -> frozenset[tuple[str, ...]]:
    """The paths that a variant writes in a release."""
    _, content = yaml.load(CUMULUS.render(variant(name, release))["startup.yaml"], LOADER)
    return frozenset(leaf_paths(content["set"]))


def field_types(annotation: Any) -> list[Any]:
    """Return what a field may be: models, dictionaries and scalars, without `None`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return field_types(get_args(annotation)[0])
    if origin is Union or origin is types.UnionType:
        return [found for arm in get_args(annotation) if arm is not type(None) for found in field_types(arm)]
    return [annotation]


def has_model_path(annotation: Any, keys: tuple[str, ...]) -> bool:
    """Return whether an object model has a path, keys of one's own where that has `*`."""
    if not keys:
        return True
    found: list[Any] = []
    for arm in field_types(annotation):
        if keys[0] == ANY and get_origin(arm) is dict:
            found.append(get_args(arm)[1])
        elif keys[0] != ANY and hasattr(arm, "model_fields"):
            fields = {field.alias or name: field.annotation for name, field in arm.model_fields.items()}
            found += [fields[keys[0]]] if keys[0] in fields else []
        elif arm is Any:
            return True
    return any(has_model_path(each, keys[1:]) for each in found)


def release_index(release: str) -> int:
    return RELEASES.index(release)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "release"), EACH)
def test_every_path_that_is_written_is_in_the_model_of_its_release(name: str, release: str) -> None:
    for keys in written_paths(name, release):
        row = row_of(keys)
        assert row is not None, "/".join(keys)
        assert release_index(row.since) <= release_index(release), row
        assert not row.until or release_index(release) <= release_index(row.until), row


def test_every_row_is_of_something_that_is_written_and_has_its_documentation() -> None:
    used = {row_of(keys) for name, release in EACH for keys in written_paths(name, release)}
    assert [row for row in PATHS if row not in used] == []
    assert len({row.keys for row in PATHS}) == len(PATHS)
    assert all(row.page for row in PATHS)


def test_every_need_has_a_page_and_is_of_something_written() -> None:
    for need in NEEDS:
        top = tuple(need.top.split("/"))
        assert need.page
        assert need.at or need.unless
        assert any(row.keys[: len(top)] == top for row in PATHS), need


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("nvueschema") is None, reason="nvueschema is not installed")
def test_the_releases_of_every_path_are_those_of_nvidia_s_object_models() -> None:
    roots = {
        release: importlib.import_module(f"nvueschema.models.v{release.replace('.', '_')}").NvueConfig
        for release in RELEASES
        if importlib.util.find_spec(f"nvueschema.models.v{release.replace('.', '_')}")  # 5.19 has none yet
    }
    for row in PATHS:
        has = [release for release in roots if has_model_path(roots[release], row.keys)]
        last = row.until or RELEASES[-1]
        expected = RELEASES[release_index(row.since) : release_index(last) + 1]
        assert has == [release for release in expected if release in roots], row.keys


def find_unread(text: str) -> dict[str, tuple[str, int]]:
    """Return what has no effect by a file: path -> why and line."""
    reading = CUMULUS.read({"startup.yaml": text})
    return {
        path[len("unread[") : -1]: (str(why), reading.lines[path][1])
        for path, why in reading.facts.items()
        if path.startswith("unread[")
    }


@pytest.mark.parametrize(("name", "release"), EACH)
def test_as_rendered_everything_takes_effect(name: str, release: str) -> None:
    assert find_unread(CUMULUS.render(variant(name, release))["startup.yaml"]) == {}


def settings_text(release: str) -> str:
    return CUMULUS.render(variant("settings", release))["startup.yaml"]


def edit_text(text: str, pattern: str, into: str) -> str:
    changed = re.sub(pattern, into, text, count=1, flags=re.MULTILINE)
    assert changed != text, pattern
    return changed


ROCE = "RoCE's own profile is on"


@pytest.mark.parametrize(
    ("release", "pattern", "into", "path", "why"),
    [
        ("5.14", r"(  router:\n      adaptive-routing:\n        enable: )'on'", r"\1'off'",
         "interface/swp3s0/router/adaptive-routing", "adaptive routing of the switch is off"),
        ("5.15", r"(  router:\n      adaptive-routing:\n        state: )enabled", r"\1disabled",
         "interface/swp3s0/router/adaptive-routing", "adaptive routing of the switch is off"),
        ("5.14", r"^          pfc:\n            profile: .*\n", "",
         "interface/swp1s0/qos/pfc-watchdog", "the port has no PFC"),
        ("5.14", r"(packet-trim:\n(?: +remark:\n +dscp: .*\n)? +size: .*\n +state: )enabled", r"\1disabled",
         "interface/swp1s0/packet-trim", "trimming of the switch is off"),
        ("5.14", r"^( +)(channel:\n)( +)(forwarding:)", r"\1\2\3buffer:\n\3  trigger: {}\n\3\4",
         "system/forwarding/packet-trim", "dropped packets of buffers are monitored"),
        ("5.14", r"^    qos:\n", "    qos:\n      roce:\n        enable: on\n", "qos", ROCE),
        ("5.15", r"^    qos:\n", "    qos:\n      roce:\n        mode: lossless\n", "qos", ROCE),
    ],
)  # fmt: skip
def test_a_condition_that_does_not_hold_is_a_finding_at_its_line(
    release: str, pattern: str, into: str, path: str, why: str
) -> None:
    text = edit_text(settings_text(release), pattern, into)
    found = find_unread(text)
    assert found[path][0] == why
    assert {reported for reported, _ in found.values()} == {why}
    contrary = {ROCE: "advance-buffer-config", "dropped packets of buffers are monitored": "buffer"}
    last = contrary.get(why, path.rpartition("/")[2])
    assert text.splitlines()[found[path][1] - 1].strip() == f"{last}:"
    switch = variant("settings", release)
    mismatches = compare(CUMULUS.planned(switch), CUMULUS.read({"startup.yaml": text}))
    assert f"unread[{path}]" in {each.path for each in mismatches}


def test_disabled_settings_need_nothing_and_ranges_cover_each_port() -> None:
    off = settings_text("5.14").replace("  enable: 'on'\n", "  enable: 'off'\n")
    assert not any(path.endswith("adaptive-routing") for path in find_unread(off))
    ranged = """
- set:
    interface:
      swp1-2:
        qos:
          pfc-watchdog:
            state: enable
      swp2:
        qos:
          pfc:
            profile: x
"""
    assert set(find_unread(ranged)) == {"interface/swp1/qos/pfc-watchdog", "qos pfc profile x"}
