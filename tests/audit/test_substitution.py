"""A configuration similar to one that was read gives the result of reading it, and any other one is read."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.device import devices_of, parts_in
from fabricc.audit.substitution import KnownTexts
from fabricc.back import nos as back_ends
from fabricc.fabric.shape import TierName
from fabricc.facts.frame import unpack_contents
from tests.audit import ours

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.audit.device import PackedDevice

SYSTEMS = ("eos", "nxos", "junos")
"""Those whose devices have one file."""


def texts_of(tmp_path: Path, system: str) -> list[str]:
    """Return the configurations of sixteen similar ToRs."""
    path = tmp_path / "cluster.yaml"
    path.write_text(ours.spec_of(system))
    tors = [each for each in ours.switches_of(path) if each.tier is TierName.TOR]
    return [text for each in tors for text in back_ends.load(each.nos).render(each).values()]


def read(key: str, text: str) -> PackedDevice:
    """The device as its reader has it."""
    (device,), _, findings = devices_of(key, parts_in([(f"{key}.cfg", text)]))
    assert not findings
    return device


def list_contents(device: PackedDevice) -> tuple[object, ...]:
    """All that is known of a device, the order of its facts too."""
    contents, placement = unpack_contents(device.held), device.placement
    return (
        device.key, device.name, device.system, device.places, list(contents.reading.facts.items()),
        list(contents.reading.lines.items()), contents.reading.unknown, contents.ignorable, placement.ports,
        placement.address_rows(), placement.port_claims(), placement.described_ends(), placement.neighbors,
        placement.routed, list(placement.used.items()), placement.facts, device.understood, device.identity,
    )  # fmt: skip


def learn_texts(texts: list[str]) -> KnownTexts:
    """Return what is known after some texts were met."""
    alike = KnownTexts()
    for number, text in enumerate(texts):
        if alike.read(f"x{number}", f"x{number}.cfg", text) is None:
            alike.learn(f"x{number}.cfg", text, read(f"x{number}", text))
    return alike


@pytest.mark.parametrize("system", SYSTEMS)
def test_substituted_facts_equal_read_facts(tmp_path: Path, system: str) -> None:
    texts = texts_of(tmp_path, system)
    alike = learn_texts(texts[:3])
    for number, text in enumerate(texts[3:]):
        key = f"y{number}"
        found = alike.read(key, f"{key}.cfg", text)
        assert found is not None
        assert list_contents(found) == list_contents(read(key, text))


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_altered_texts_are_read_or_substituted_correctly(tmp_path: Path, system: str) -> None:
    texts = texts_of(tmp_path, system)
    alike, chance = learn_texts(texts[:4]), random.Random(system)
    substituted = 0
    for number in range(120):
        text = alter_word(chance.choice(texts), chance)
        found = alike.read("y", "y.cfg", text)
        if found is not None:
            substituted += 1
            assert list_contents(found) == list_contents(read("y", text)), number
    assert 10 < substituted < 110


def alter_word(text: str, chance: random.Random) -> str:
    """A text with one word of one line in the place of another, or with odd coordinates."""
    coordinate = chance.choice(list(re.finditer(r"\b\d+\.\d+\.\d+\.\d+\b|\b\d{10}\b|[a-z]+\d+-\w+", text)))
    word = chance.choice(list(re.finditer(r"\S+", text)))
    near = coordinate, f"{coordinate[0][:-1]}{chance.randrange(10)}"
    at, other = chance.choice(
        [(word, "7"), (word, word[0][:-1]), (coordinate, chance.choice(ODD)), near, near]
    )
    return text[: at.start()] + other + text[at.end() :]


ODD = (
    "10.0.0.999", "010.0.0.1", "127.0.0.1", "0.0.0.0", "224.0.0.5", "10.200.0.1", "4242", "0", "x", "x9 y",
    "Ethernet1/1", "fe80::1", "2001:db8::1", "",
)  # fmt: skip
"""Texts that may replace a coordinate."""


def test_texts_with_other_differences_are_read(tmp_path: Path) -> None:
    texts = texts_of(tmp_path, "eos")
    alike = learn_texts(texts[:4])
    one, two, *_ = dict.fromkeys(re.findall(r"ip address (\S+)/31", texts[5]))
    assert alike.read("y", "y.cfg", texts[5])
    assert alike.read("y", "y.cfg", texts[5].replace(f"{one}/31", f"{two}/31")) is None
    assert alike.read("y", "y.txt", texts[5]) is None


def test_texts_that_differ_beyond_coordinates_are_read_each_time() -> None:
    start = "ip routing\nservice routing protocols model multi-agent\n"
    route = start + "hostname leaf{0}1\nip route 10.{0}.7.1{1} 10.9.9.9\n"
    for mask, follows in (("/32", True), (" 255.255.255.0", False)):  # a network that the reader works out
        texts = [route.format(n, mask) for n in range(1, 9)]
        alike = learn_texts(texts)
        assert {alike.read("y", "y.cfg", text) is not None for text in texts} == {follows}


def test_a_name_in_comments_and_in_the_path_is_the_devices_own(tmp_path: Path) -> None:
    texts = [
        f"! device: {re.search(r'hostname (.*)', text)[1]} (DCS-7060X6-64PE, EOS-4.32.1F)\n{text}"
        for text in texts_of(tmp_path, "eos")
    ]
    alike = learn_texts(texts[:3])
    found = alike.read("y", "y.cfg", texts[4])
    assert found is not None
    assert list_contents(found) == list_contents(read("y", texts[4]))
    bare = [re.sub(r"hostname .*\n", "", text.partition("\n")[2]) for text in texts]
    alike = learn_texts(bare[:3])
    found = alike.read("y", "y.cfg", bare[4])
    assert found is not None
    assert found.name == "y"
