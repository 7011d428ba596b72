"""Configurations that others wrote: how much of them is understood, and that nothing in them ends the reader."""

from __future__ import annotations

import random

import pytest

from fabricc.back.nos.junos import FILE, JUNOS
from tests.audit import corpora

MOST_UNKNOWN = {
    "batfish-lab-validation": 0.5,
    "batfish-networks": 2,
    "batfish-parser": 2,
    "ilush-clos03vjunos": 0.5,
    "juniper-jvd": 0.5,
    "kmazur-evpn-lab": 0.5,
}
"""Per cent of what is not aside; `batfish-parser` holds odd syntax on purpose."""

pytestmark = pytest.mark.skipif(
    not (corpora.ROOT / "junos").is_dir(), reason="the configurations of others are not beside the checkout"
)


@pytest.mark.parametrize("source", MOST_UNKNOWN)
@pytest.mark.spread
def test_most_statements_of_others_are_understood(source: str) -> None:
    whole = corpora.Share()
    for files in corpora.devices("junos", source).values():
        whole = whole.plus(corpora.measure_share("junos", files)[0])
    assert whole.devices
    assert whole.percent <= MOST_UNKNOWN[source]


@pytest.mark.slow
@pytest.mark.parametrize("often", [4, 20])
def test_no_file_of_others_cut_or_garbled_ends_the_reader(often: int) -> None:
    chance = random.Random(19)
    for path, files in corpora.devices("junos").items():
        text = files[FILE]
        cuts = often if len(text) < 4_000 else often // 4
        for _ in range(cuts):
            at = chance.randrange(len(text) + 1)
            garbled = text[:at] + chance.choice(
                ["", "}", "{", '"', "[ ", "inactive: ", "9" * 30, "apply-groups x;"]
            )
            rest = text[chance.randrange(at, len(text) + 1) :]
            reading = JUNOS.read({FILE: garbled + rest})
            assert all(line >= 0 for _, line, _ in reading.unknown), path
            JUNOS.ignorable({FILE: garbled + rest}, reading)
