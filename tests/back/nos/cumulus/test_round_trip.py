"""The content of `startup.yaml`, read back, equals the switch, in every release and in any layout."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricc.back.nos.cumulus import CUMULUS
from fabricc.fabric.facts import switch_facts
from fabricc.fabric.qos import Ecn, Headroom, Watchdog
from tests import samples
from tests.back.nos.cumulus.variants import VARIANTS, tor, variant
from tests.effort import scale_examples

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

FILE = "startup.yaml"
DUAL = VARIANTS["dual"]
TEXT = CUMULUS.render(DUAL)[FILE]
PLANNED = CUMULUS.planned(DUAL)


def assert_reads_back(switch: Switch) -> None:
    reading = CUMULUS.read(CUMULUS.render(switch))
    assert reading.unknown == []
    assert reading.facts == CUMULUS.planned(switch)
    assert reading.lines.keys() >= reading.facts.keys()


@pytest.mark.parametrize("release", ["", *CUMULUS.releases])
@pytest.mark.parametrize("name", VARIANTS)
def test_variants_read_back(name: str, release: str) -> None:
    assert_reads_back(variant(name, release))


@pytest.mark.parametrize("access", [("127.0.0.0/8",), ("127.0.0.0/8", "172.16.9.0/24")])
def test_loopback_may_be_an_access_network(access: tuple[str, ...]) -> None:
    """Each list permits the switch itself as well."""
    settings = variant("settings")
    assert_reads_back(replace(settings, management=replace(settings.management, access=access)))


def test_planned_facts_leave_out_what_nvue_has_no_words_for() -> None:
    left_out = switch_facts(DUAL).keys() - PLANNED.keys()
    resumed = {f"interface[{port.name}]/headroom/xon_bytes" for port in DUAL.ports if port.profile}
    assert left_out == resumed | {
        "pool/ingress_lossless_bytes", "pool/headroom_bytes", "pool/egress_lossless_bytes", "watchdog/restore_ms",
    }  # fmt: skip


def test_planned_facts_differ_by_the_comment_of_a_key_alone() -> None:
    commented = replace(
        DUAL, management=replace(DUAL.management, users=(samples.Account("ops", "ssh-rsa AAAA me@home"),))
    )
    planned = CUMULUS.planned(commented)
    differing = {path for path, value in switch_facts(commented).items() if planned.get(path, value) != value}
    assert differing == {"user[ops]/ssh_key"}
    assert planned["user[ops]/ssh_key"] == "ssh-rsa AAAA"


HEADER = {"system/model", "system/api_version", "system/release"}
BYTES = st.integers(1, 400_000_000)


@st.composite
def draw_switches(draw: st.DrawFn) -> Switch:
    switch = tor(
        draw(st.sampled_from(CUMULUS.releases)),
        dual=draw(st.booleans()),
        unnumbered=draw(st.booleans()),
        drained=draw(st.booleans()),
    )
    lossless = draw(st.sets(st.sampled_from([0, 3, 4, 6]), min_size=1, max_size=2))
    dscps = draw(st.permutations(range(64)))
    classes = tuple(
        replace(
            c, priority=p, name=f"class-{p}", lossless=p in lossless, strict=p == 6, ecn=p in lossless and p > 0,
            dscps=tuple(sorted(dscps[16 * i : 16 * i + 16])),
            weight_percent=0 if p == 6 else draw(st.integers(1, 33)),
        )
        for i, (p, c) in enumerate(zip((0, 3, 4, 6), (*samples.CLASSES, samples.CLASSES[1]), strict=True))
    )  # fmt: skip
    profiles = tuple(
        replace(
            profile,
            headroom=Headroom(
                draw(st.integers(1, 2000)), 400_000_001, draw(BYTES), draw(BYTES), None,
                draw(st.integers(-8, 7)), "drawn",
            ),
            ecn=draw(st.none() | st.builds(Ecn, BYTES, BYTES, st.integers(0, 100))),
        )
        for profile in switch.qos.profiles
    )  # fmt: skip
    watchdog = draw(st.none() | st.builds(Watchdog, *[st.integers(1, 6000)] * 3, st.just("drop")))
    used = draw(st.sets(st.sampled_from([p.name for p in switch.ports])))
    ports = tuple(
        replace(port, mtu=draw(st.integers(552, 9216)), profile=port.profile if port.name in used else None)
        for port in switch.ports
    )
    bgp = replace(switch.bgp, bfd_interval_ms=draw(st.none() | st.integers(50, 60_000)))
    qos = replace(switch.qos, classes=classes, profiles=profiles, watchdog=watchdog)
    return replace(switch, ports=ports, qos=qos, bgp=bgp)


@settings(max_examples=scale_examples(60), deadline=None)
@given(draw_switches())
def test_any_switch_reads_back(switch: Switch) -> None:
    assert_reads_back(switch)


def load_yaml(text: str) -> Any:
    return yaml.load(text, Loader=yaml.BaseLoader)


def reversed_keys(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: reversed_keys(value) for key, value in reversed(tree.items())}
    return [reversed_keys(item) for item in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_json_is_yaml_too(indent: int | None) -> None:
    text = json.dumps(load_yaml(TEXT), indent=indent).replace('""', "{}")
    reading = CUMULUS.read({FILE: text})
    assert reading.facts == PLANNED
    assert reading.unknown == []


@pytest.mark.parametrize("options", [{}, {"indent": 4}, {"default_flow_style": True}, {"default_style": '"'}])
def test_order_and_layout_do_not_change_the_facts(options: dict[str, Any]) -> None:
    text = yaml.dump(reversed_keys(load_yaml(TEXT)), sort_keys=False, **options)
    reading = CUMULUS.read({FILE: text})
    assert reading.facts == PLANNED
    assert reading.unknown == []


def test_both_ways_to_read_yaml_give_the_same_lines() -> None:
    by_lines = CUMULUS.read({FILE: TEXT})
    composed = CUMULUS.read({FILE: TEXT.replace("hashed-password: '*'", 'hashed-password: "\\x2a"')})
    assert composed.facts == by_lines.facts
    assert composed.lines == by_lines.lines


def test_comments_blank_lines_and_bare_words_do_not_matter() -> None:
    text = "# by hand\n\n" + TEXT.replace("'on'", "on").replace("'off'", "off").replace("'3':", "3:")
    assert CUMULUS.read({FILE: text}).facts == PLANNED


def test_keys_with_ranges_are_written_out() -> None:
    tree = load_yaml(TEXT)
    content = tree[1]["set"]
    for pool in content["qos"]["traffic-pool"].values():
        priorities = pool["switch-priority"]
        pool["switch-priority"] = {"0-2,4-7" if len(priorities) > 1 else "3": {}}
    dscp = content["qos"]["mapping"]["default-global"]["dscp"]
    content["qos"]["mapping"]["default-global"]["dscp"] = {
        "0-25,27-47,49-63": dscp["0"], "26": dscp["26"], "48": dscp["48"],
    }  # fmt: skip
    interfaces = content["interface"]
    for name in ("swp1", "swp2", "swp3", "swp4"):
        del interfaces[name]
    interfaces["swp1-2,swp3,4"] = {"link": {"breakout": {"2x": {"lanes-per-port": "4"}}}, "type": "swp"}
    reading = CUMULUS.read({FILE: yaml.dump(tree)})
    assert reading.facts == PLANNED
    assert reading.unknown == []


def format_commands(tree: Any, above: str = "nv set") -> list[str]:
    """Return what `nv config show -o commands` prints for a tree."""
    if isinstance(tree, list):
        return [line for item in tree for line in format_commands(item, above)]
    if not isinstance(tree, dict):
        return [f"{above} '{tree}'" if " " in tree else f"{above} {tree}"]
    return [
        line
        for key, below in tree.items()
        for line in (format_commands(below, f"{above} {key}") if below else [f"{above} {key}"])
    ]


@pytest.mark.parametrize("name", ["dual", "settings", "parallel"])
@pytest.mark.parametrize("release", ["5.10", "5.14", "5.15"])
def test_commands_have_the_facts_of_the_file(name: str, release: str) -> None:
    switch = variant(name, release)
    lines = format_commands(load_yaml(CUMULUS.render(switch)[FILE])[1]["set"])
    reading = CUMULUS.read({FILE: "\n".join(lines) + "\n"})
    assert reading.unknown == []
    planned = CUMULUS.planned(switch)
    assert reading.facts == {path: planned[path] for path in planned if path not in HEADER}
    asn = next(number for number, line in enumerate(lines, 1) if "autonomous-system" in line)
    assert reading.lines["bgp/asn"] == (FILE, asn)


@pytest.mark.parametrize("release", CUMULUS.releases)
def test_a_file_without_header_is_read_by_its_looks(release: str) -> None:
    switch = replace(DUAL, release=release)
    text = CUMULUS.render(switch)[FILE]
    reading = CUMULUS.read({FILE: text[text.index("- set:") :]})
    missing = CUMULUS.planned(switch).keys() - reading.facts.keys()
    assert missing == HEADER
    # The only difference between 5.9 and 5.10 is one word of automatic saving.
    assert sorted(text for _, _, text in reading.unknown) == (
        ["enable: 'off'", "state: disabled is missing"] if release == "5.9" else []
    )


def test_a_later_release_reads_as_the_newest_known() -> None:
    switch = replace(DUAL, release="5.15")
    text = CUMULUS.render(switch)[FILE].replace("Linux 5.15.0", "Linux 5.17.1")
    reading = CUMULUS.read({FILE: text})
    assert reading.unknown == []
    assert reading.facts == CUMULUS.planned(switch) | {"system/release": "5.17"}
