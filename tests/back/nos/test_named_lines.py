"""On a small real fabric, whatever word or line of an emitted file is altered, `check` names that line.

Run with `-s` for the table; the survivors and why they survive are in `docs/check.md`.
"""

from __future__ import annotations

import random

import pytest

from fabricc.back import nos as back_ends
from fabricc.proof.finding_places import Text
from tests.back.nos.feature_table import FEATURES, LOSSLESS, MODELS, fabric_of
from tests.back.nos.mutation import KINDS, TEXT_ONLY, changed_words, check_altered, deleted_lines, tried

MOST = 1200
"""Mutants of one kind that are tried per NOS, spread evenly over the files."""
AT_ONCE = 100
"""Files in which three things are altered at once, per NOS."""
POLICY = {
    "priorities": {**LOSSLESS, "rdma": {"dscp": 26, "lossless": True}},
    "congestion": {"profile": "dcqcn"},
}


def make_full_spec(nos: str) -> dict[str, object]:
    """A lossless fabric with BFD and TTL security, and every setting that the NOS's default release expresses."""
    settings = ("access networks of management", "TACACS+", "SNMPv3", "gNMI telemetry")
    management: dict[str, object] = {}
    for name in settings:
        management |= FEATURES[name]["management"]
    return {**POLICY, "routing": {"ttl_security": True}, "management": management}


NUMBERS = "numbers and names that only order or label: the content counts"
DEFAULT = "the device's own default: without the line it does the same"
UNCOMPARED = "nothing that a fabric depends on, or that devices change by themselves: versions, texts"
UNUSED = "an unused port, down with or without it"
REASONS = (
    (
        r"\bseq N .*\[\d+\]|: N (permit|deny) .*\[\d+\]|'N': \[\d+\]|\"PRIORITY\": .*\[\d+\]|DEFAULT_RULE",
        NUMBERS,
    ),
    (r"route-map RM_SET_SRC6? permit N \[\d+\]", NUMBERS),
    (r"fabricc: \[", NUMBERS),
    (r"qos map |priority strict|protocol https|no shutdown|no ip routing vrf|asplain", DEFAULT),
    (
        r"multipath-relax|no bgp default ipv|service integrated|queue profile MMU|\"priority\"|\"stage\"",
        DEFAULT,
    ),
    (r"set qos-group|ip domain-lookup|(mtu|detection|multiplier) N; \[\]|watchdog-action", DEFAULT),
    (r"up: \{\}|enable: |state: ", DEFAULT),
    (r"policy_desc|VERSION|DATABASE|rev-id|version:|full-name", UNCOMPARED),
    (r": shutdown|\"admin_status\": \"down\"", UNUSED),
)
"""An alteration without meaning, its digits as N and the altered word in brackets -> the reason."""


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "model"), MODELS)
def test_check_names_the_line(nos: str, model: str) -> None:
    fabric = fabric_of(nos, model, make_full_spec(nos))
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    back_end = back_ends.load(nos)
    files, planned = back_end.render(switch), back_end.planned(switch)
    for kind, make in KINDS:
        score = tried(back_end.read, planned, files, make, MOST)
        score.tell(f"{nos} {kind}", REASONS)
        unexplained = score.unexplained(REASONS)
        assert sum(unexplained.values()) <= 0.01 * score.tried, unexplained
        assert score.near["line"] >= 0.99 * score.near.total()


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "model"), MODELS)
def test_check_names_each_of_several_altered_lines(nos: str, model: str) -> None:
    """Two words altered and one line removed in the longest file; hardly any other line has a finding."""
    fabric = fabric_of(nos, model, make_full_spec(nos))
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    back_end = back_ends.load(nos)
    files, planned = back_end.render(switch), back_end.planned(switch)
    expected = Text(files, back_end.read(files))
    file = max(files, key=lambda name: len(files[name]))
    words, lines = list(changed_words(file, files[file])), list(deleted_lines(file, files[file]))
    chance = random.Random(1)
    altered = named_there = reported = astray = 0
    for _ in range(AT_ONCE):
        removed = chance.choice(lines)
        changed = [each for each in chance.sample(words, 12) if each.line < removed.line - 1][:2]
        rows = removed.text.split("\n")
        for each in changed:
            rows[each.line - 1] = each.text.split("\n")[each.line - 1]
        found = check_altered(back_end.read, planned, expected, {**files, file: "\n".join(rows)})
        places = {finding.line for finding in found}
        wanted = [{each.line} for each in changed] + [{removed.line, removed.line - 1}]
        altered += len(wanted)
        named_there += sum(bool(each & places) for each in wanted)
        reported += len(found)
        astray += sum(finding.line not in set().union(*wanted) for finding in found)
        assert any(finding.code != TEXT_ONLY for finding in found) or len(found) == len(wanted)
    print(
        f"{nos}: {named_there} of {altered} lines altered at once are named; {astray} of {reported} findings are astray"
    )
    assert named_there >= 0.97 * altered
    assert astray <= 0.05 * reported
