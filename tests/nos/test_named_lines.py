"""On a small real fabric, whatever word or line of an emitted file is altered, `check` has a finding with its line.

Run with `-s` for the table; the survivors and why they survive are in `docs/check.md`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fabricc import nos as back_ends
from tests.nos.feature_table import FEATURES, LOSSLESS, MODELS, fabric_of
from tests.nos.mutation import changed_words, deleted_lines, named, nearness

if TYPE_CHECKING:
    from tests.nos.mutation import Mutant

MOST = 1200
"""Mutants of one kind that are tried per NOS, spread evenly over the files."""
POLICY = {
    "priorities": {**LOSSLESS, "rdma": {"dscp": 26, "lossless": True}},
    "congestion": {"profile": "dcqcn"},
}


def asked(nos: str) -> dict[str, object]:
    """A lossless fabric with BFD and TTL security, and every setting that the NOS's default release expresses."""
    settings = ("access networks of management", "TACACS+", "SNMP", "gNMI telemetry")
    management: dict[str, object] = {}
    for name in settings:
        management |= FEATURES[name]["management"]
    return {**POLICY, "routing": {"ttl_security": True}, "management": management}


def sampled(mutants: list[Mutant]) -> list[Mutant]:
    """At most `MOST` of them, spread evenly."""
    step = max(1, -(-len(mutants) // MOST))
    return mutants[::step]


NUMBERS = "numbers and names that only order or label: the content counts"
DEFAULT = "the device's own default: without the line it does the same"
ELSEWHERE = "another line says the same"
UNCOMPARED = "nothing that a fabric depends on: paths, versions, texts, limits of a daemon"
UNUSED = "an unused port, down with or without it"
REASONS = (
    (r"\bseq N .*\[\d+\]|: N (permit|deny) .*\[\d+\]|'N': \[\d+\]|: term \S+ \{", NUMBERS),
    (r"\"PRIORITY\"|DEFAULT_RULE|profile FABRIC|fabricc: \[", NUMBERS),
    (
        r"qos map |priority strict|protocol https|no shutdown|provider eos-native|no ip routing vrf|asplain",
        DEFAULT,
    ),
    (
        r"multipath-relax|no bgp default ipv|ebgp-requires-policy|no fpm |no zebra |client_auth|\"priority\"",
        DEFAULT,
    ),
    (r"set qos-group|ip domain-lookup|service integrated|(mtu|detection|multiplier) N; \[\]", DEFAULT),
    (r"watchdog-action|up: \{\}|\"stage\"|enable: |state: ", DEFAULT),
    (r"hostname|queue profile MMU|UPSTREAM-VN bfd \[\]|link:|ipv6-unicast:", ELSEWHERE),
    (r"daemons:|policy_desc|VERSION|DATABASE|rev-id|version:|full-name|password N !", UNCOMPARED),
    (r"auto swp|: shutdown|\"admin_status\": \"down\"", UNUSED),
)
"""What a survivor looks like, its digits as N and the altered word in brackets -> why it is none."""


@pytest.mark.slow
@pytest.mark.parametrize(("nos", "model"), MODELS)
def test_check_names_the_line(nos: str, model: str) -> None:
    fabric = fabric_of(nos, model, asked(nos))
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    back_end = back_ends.load(nos)
    files, planned = back_end.render(switch), back_end.planned(switch)
    for kind, make, least in (("word", changed_words, 0.8), ("line", deleted_lines, 0.6)):
        mutants = sampled([each for file, text in sorted(files.items()) for each in make(file, text)])
        near: Counter[str] = Counter()
        survivors: Counter[str] = Counter()
        for mutant in mutants:
            places = named(back_end, files, planned, mutant)
            if places is None:
                survivors[f"{mutant.file}: {re.sub('[0-9]+', 'N', mutant.before)} [{mutant.word}]"] += 1
            else:
                near[nearness(mutant, files[mutant.file], places)] += 1
        unexplained = {text: count for text, count in survivors.items() if reason(text) is None}
        told(nos, kind, len(mutants), near, survivors)
        assert sum(unexplained.values()) <= 0.01 * len(mutants), unexplained
        assert near["line"] + near["block"] >= least * near.total()


def reason(survivor: str) -> str | None:
    """Why it is none, or None."""
    return next((why for pattern, why in REASONS if re.search(pattern, survivor)), None)


def told(nos: str, kind: str, tried: int, near: Counter[str], survivors: Counter[str]) -> None:
    """Print the figures, and each survivor with its reason."""
    meant = near.total() + sum(count for text, count in survivors.items() if reason(text) is None)
    print(
        f"{nos} {kind}: {tried} tried, {near.total()} noticed, {tried - meant} without meaning, "
        f"{100 * near.total() / meant:.1f} % killed; named {near['line']} the line, {near['block']} its block"
    )
    for text, count in survivors.most_common():
        print(f"   {count} {text}: {reason(text) or 'UNEXPLAINED'}")
