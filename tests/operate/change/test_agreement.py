"""One change and one outage have the same effect, drains, waves and shares in every verb."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics.wording import format_share
from fabricc.catalog.support import runs_release
from fabricc.compiler.compiled import compile_spec
from fabricc.compiler.recheck import list_proof_findings
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.capacity.wiring import Outage, Wiring
from fabricc.fabric.qos import unsent_code_points
from fabricc.interface import diff, explain
from fabricc.operate.change.resources import Effect, build_capacity_model
from fabricc.operate.change.variant import review_variant
from fabricc.operate.devices.login import devices_by_name
from fabricc.operate.devices.secrets import secret_names_in
from fabricc.operate.maintain.plan import Moment, assess_network
from fabricc.operate.migrate.waves import order_networks
from fabricc.operate.push.impact import assess_effect, find_text_changes
from fabricc.operate.push.plan_waves import plan_waves
from fabricc.operate.upgrade import Release, UpgradeRequest, prepare_upgrade
from fabricc.operate.verify.drift import compare_drift
from fabricc.operate.verify.run import ALL
from fabricc.review.diff.figures import fabric_figures
from fabricc.review.diff.model import Impact
from fabricc.review.report.failures import single_failures
from tests.operate.push.test_plant import SMALL as LARGE
from tests.review.diff.edits import HARMFUL, SYSTEMS, review_edit, spec_with_services
from tests.review.report import specs

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.fabric import Fabric

    Edit = Callable[[str], str]


def put(*edits: tuple[str, str]) -> Edit:
    """Replace what expressions match; each has to match."""

    def edit(text: str) -> str:
        for pattern, new in edits:
            text, count = re.subn(pattern, new, text, flags=re.MULTILINE)
            assert count, pattern
        return text

    return edit


def edit_routing(words: str) -> Edit:
    return put((r"^routing: \{", f"routing: {{{words}, "))


def edit_addressing(words: str) -> Edit:
    return put((r"^addressing: \{family: ipv4", f"addressing: {{{words}"))


def append_text(text: str) -> Edit:
    return lambda spec: f"{spec}{text}\n"


CHANGES: dict[str, Edit] = {
    "another MTU": append_text("mtu: {host: 4000, switch: 4200}"),
    "another hold time": edit_routing("hold_s: 30"),
    "TTL security": edit_routing("ttl_security: true"),
    "no BFD": edit_routing("bfd: false"),
    "other BFD timers": edit_routing("bfd: {interval_ms: 500}"),
    "an ASN for each spine": put((r"spine_asn: shared", "spine_asn: unique")),
    "other ASNs": edit_routing("asn_base: 4210000000"),
    "links without addresses": edit_addressing("family: ipv4, fabric_links: unnumbered"),
    "other addresses of links": edit_addressing("family: ipv4, links: 100.64.0.0/10"),
    "other loopbacks": edit_addressing("family: ipv4, loopbacks: 10.192.0.0/12"),
    "a drained spine": append_text("overrides: {spine01a: {drain: true}}"),
    "a drained ToR": append_text("overrides: {rack001-tor1a: {drain: true}}"),
    "another code point": put((r"dscp: 26", "dscp: 24")),
    "no lossless class": put((r"dscp: 26, lossless: true", "dscp: 26, lossless: false")),
    "a class without strict priority": put((r"dscp: 48, strict: true", "dscp: 48")),
    "a rack more": put((r"racks: 2", "racks: 3")),
    "a rack less": put((r"racks: 2", "racks: 1")),
    "a log server less": put((r"192\.0\.2\.104, ", "")),
    "a time server less": put((r"192\.0\.2\.101, ", "")),
    "another TACACS+ server": put((r"192\.0\.2\.106", "192.0.2.206")),
    "other operators": put((r"10\.250\.0\.0/24", "10.251.0.0/24")),
    "more accepted from outside": put((r"203\.0\.113\.0/24 le 28", "203.0.112.0/23 le 28")),
    "a way out less": put((r"^      - \{at: spine02a.*\n", "")),
    "another password of a way out": put((r"secret: dc-core", "secret: dc-other")),
    "another MTU outside": put((r"mtu: 9000", "mtu: 1500")),
    "other descriptions": append_text("descriptions: {fabric: 'to {peer}'}"),
    "another key": put((r"AAAAIGcN", "AAAAIBcN")),
}


@cache
def compile_text(text: str) -> Compiled:
    path = Path(mkdtemp(prefix="fabricc-agreement-")) / "cluster.yaml"
    path.write_text(text)
    return compile_spec(path, gaps=False)


def pushed_effects(old: Fabric, new: Fabric) -> dict[str, Effect]:
    """The effect that a push finds on each switch of both sides whose text changes."""
    before, devices, found = {old.name(at): at for at in old.switch_ids()}, devices_by_name(new), {}
    for at in new.switch_ids():
        name = new.name(at)
        if name not in before:
            continue
        was, now = old.switch(before[name]), new.switch(at)
        texts = render_switch(was), render_switch(now)
        if texts[0] != texts[1]:
            silent = unsent_code_points(was.qos.classes) & unsent_code_points(now.qos.classes)
            lines = find_text_changes(now.nos, *texts, texts[0])
            found[name] = assess_effect(devices[name], now, *texts, silent, lines)
    return found


@pytest.mark.spread
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("nos", SYSTEMS)
def test_diff_push_and_migrate_give_a_change_the_same_impact(nos: str, change: str) -> None:
    text = spec_with_services(nos)
    old, new = compile_text(text), compile_text(CHANGES[change](text))
    assert new.sound, new.diagnostics
    review = review_variant(old, new, ("old", "new"))
    effects = pushed_effects(old.fabric, new.fabric)
    rated = {name: group.impact for group in review.groups for name in group.devices if group.kind != "host"}
    quiet = {Impact.NONE, Impact.HITLESS}
    assert {name: each.impact for name, each in effects.items() if each.impact not in quiet} == {
        name: impact for name, impact in rated.items() if impact not in quiet
    }
    assert effects.keys() == rated.keys()
    reached = {concern for concern, devices in review.access_changes.items() if devices}
    assert {each for effect in effects.values() for each in effect.access} == reached
    assert {each for effect in effects.values() for each in effect.weakened} == {*review.safeguards_lost}
    requested = diff(old.path, new.path, jobs=1)
    assert (requested.impact, requested.risk, requested.access_changes) == (
        review.impact, review.risk, review.access_changes,
    )  # fmt: skip
    assert [(each.code, each.message) for each in requested.proof_findings] == [
        (each.code, each.message) for each in review.proof_findings
    ]
    assert (review.impact is Impact.SESSION_RESET) <= bool(review.sessions)
    assert bool(review.sessions) <= (review.impact >= Impact.SESSION_RESET)
    places = {new.fabric.name(at): at for at in new.fabric.switch_ids()}
    if any(each.disruptive for each in effects.values()):
        (order,) = order_networks(review, old, new, Fraction(0))
        assert list(order.waves) == plan_waves(
            build_capacity_model(new.fabric, places, effects), Fraction(0), None
        )
    else:
        assert order_networks(review, old, new, Fraction(0)) == ()


@pytest.mark.parametrize("edit", ["asn: 64997", "local: 192.0.2.6/31", "accept: [198.19.0.0/16]"])
def test_both_verbs_count_the_external_ports_that_change(edit: str) -> None:
    """A party beside the one that changes keeps its links, and no switch is drained for it."""
    text = spec_with_services("eos").replace(
        "  filer:\n",
        """  wan:
    asn: 64998
    accept: [198.18.0.0/15]
    links:
      - {at: spine01a, port: "Ethernet63/1", speed_gbps: 400, peer: wan-1, peer_port: "1", local: 192.0.2.4/31}

  filer:
""",
    )
    key, _, value = edit.partition(" ")
    old_value = {"asn:": "64998", "local:": "192.0.2.4/31", "accept:": "[198.18.0.0/15]"}[key]
    old, new = compile_text(text), compile_text(text.replace(f"{key} {old_value}", f"{key} {value}"))
    effects = pushed_effects(old.fabric, new.fabric)
    outside = effects["spine01a"].outside
    assert outside is not None
    assert "Ethernet63/1" in outside
    assert not any(effect.disruptive for effect in effects.values()), "nor a ToR without a way out"
    places = {new.fabric.name(at): at for at in new.fabric.switch_ids()}
    waves = plan_waves(build_capacity_model(new.fabric, places, effects), Fraction(0), None)
    (wave,) = (each for each in waves if "spine01a" in each.members)
    assert (wave.unreachable, wave.drained) == (("links to wan",), ())
    orders = order_networks(review_variant(old, new, ("old", "new")), old, new, Fraction(0))
    assert [*orders] == [] or list(orders[0].waves) == waves


FABRICS = {
    **specs.SMALL,
    "mixed": specs.MIXED,
    "mixed speeds": specs.MIXED_SPEEDS,
    "unnumbered": specs.UNNUMBERED,
    "large": LARGE,
}


@pytest.mark.spread
@pytest.mark.parametrize("name", FABRICS)
def test_every_verb_reports_the_same_share_for_one_spine_and_one_tor(name: str) -> None:
    fabric = compile_text(FABRICS[name]).fabric
    wiring = Wiring(fabric)
    places, devices = {fabric.name(at): at for at in fabric.switch_ids()}, devices_by_name(fabric)
    for switch in (
        next(each for each in wiring.switches if "spine" in each),
        next(each for each in wiring.switches if "-tor" in each),
    ):
        maintained = assess_network("", wiring, Outage(gone=frozenset({switch})), Outage())
        effects = {switch: Effect.unknown(devices[switch])}
        (wave,) = plan_waves(build_capacity_model(fabric, places, effects), Fraction(0), None)
        share, _ = maintained.least(Moment.OUT)
        if wave.at.startswith("the hosts of"):  # hosts that keep a part of their ports, or none
            assert wave.kept <= share
        else:
            assert format_share(wave.kept) == format_share(share)
        if "spine" in switch:
            figure = fabric_figures(fabric)["uplinks left when one spine fails"]
            row = next(each for each in single_failures(fabric, hashed=True) if each.part == "Spine")
            assert figure == format_share(share)
            assert row.kept >= share, "hosts may need less than all uplinks"
        answer = explain(compile_text(FABRICS[name]).path, switch).explanation
        assert answer.details[-1][1].startswith(f"{format_share(share)} of ")
        planned = prepare_upgrade(compile_text(FABRICS[name]), upgrade_of(fabric, switch), lambda *_: None)
        assert [(each.kept, each.at) for each in planned.waves[""]] == [(wave.kept, wave.at)]


def test_links_that_the_spec_shuts_are_lost_in_every_verb() -> None:
    """Waves count them as maintenance does, and verbs without a tree report the ratio as the proof does."""
    shut = 'overrides: {spine01a: {ports: {"Ethernet1/1": {shutdown: true}}}}'
    compiled = compile_text(f"{spec_with_services('eos')}{shut}\n")
    fabric, wiring = compiled.fabric, Wiring(compiled.fabric)
    places, devices = {fabric.name(at): at for at in fabric.switch_ids()}, devices_by_name(fabric)
    maintained = assess_network("", wiring, Outage(gone=frozenset({"spine02a"})), wiring.shut)
    effects = {"spine02a": Effect.unknown(devices["spine02a"])}
    (wave,) = plan_waves(build_capacity_model(fabric, places, effects), Fraction(0), None)
    assert (wave.kept, wave.at) == maintained.least(Moment.OUT) == (Fraction(3, 8), "rack001-tor1a")
    assert "FAB6204" in [each.code for each in list_proof_findings(compiled)]


def upgrade_of(fabric: Fabric, name: str) -> UpgradeRequest:
    """Return the request to upgrade one switch to a release that its model runs."""
    switch = fabric.switch(Wiring(fabric).switches[name])
    releases = [each for each in back_ends.load(switch.nos).releases if each != switch.release]
    chosen = next(each for each in reversed(releases) if runs_release(switch.model, switch.nos, each))
    return UpgradeRequest(Release(switch.nos, chosen), only=(name,), keep=Fraction(0))


TEXTS = [(kind, nos) for kind, edits in HARMFUL.items() for nos in edits]


@pytest.mark.spread
@pytest.mark.parametrize(("kind", "nos"), TEXTS)
def test_diff_and_push_give_a_changed_line_the_same_impact(kind: str, nos: str, tmp_path: Path) -> None:
    """A changed line counts in a push as in a review, also where no statement describes it."""
    review = review_edit(nos, HARMFUL[kind][nos], tmp_path)
    assert review is not None
    rated = {name: group.impact for group in review.groups for name in group.devices}
    fabric = compile_text(spec_with_services(nos)).fabric
    devices, concerns, weakened = devices_by_name(fabric), set[str](), set[str]()
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        before = render_switch(switch)
        after = dict(before)
        HARMFUL[kind][nos](after)
        if after != before:
            lines = find_text_changes(nos, before, after, before)
            effect = assess_effect(devices[switch.name], switch, before, after, text=lines)
            assert effect.impact is rated[switch.name]
            concerns |= {*effect.access}
            weakened |= {*effect.weakened}
    assert (concerns, weakened) == ({*review.access_changes}, {*review.safeguards_lost})


NOT_SEEN = {
    ("frr", "an alias"): "a variable in the file `daemons` without a statement",
    ("sonic", "telnet"): "a table that devices fill by themselves",
    ("sonic", "a scheduled reload"): "a table that devices fill by themselves",
}
"""Texts that differ from a tree in nothing that `verify` can compare."""


@pytest.mark.spread
@pytest.mark.parametrize(("kind", "nos"), TEXTS)
def test_verify_reports_a_running_text_that_diff_rates(kind: str, nos: str) -> None:
    """A change that a review rates as harmful is a finding when a switch runs it."""
    fabric = compile_text(spec_with_services(nos)).fabric
    for at in fabric.switch_ids():
        switch = fabric.switch(at)
        ours = render_switch(switch)
        runs = dict(ours)
        HARMFUL[kind][nos](runs)
        found = compare_drift(switch.name, nos, Path("tree"), ours, runs, ALL).found
        assert bool(found) is (runs != ours and (nos, kind) not in NOT_SEEN), found


SECRETS = {
    "  ntp: [192.0.2.101, 192.0.2.102]\n": "  ntp: [192.0.2.101, 192.0.2.102]\n"
    "  ntp_authentication: {key_id: 7, type: md5, key: {secret: ntp}}\n",
    "{community: {secret: snm}}": "{community: {secret: snm}, "
    "users: [{name: reader, auth: {secret: auth}, privacy: {secret: privacy}}]}",
    "name: netops, ": "name: netops, password: {secret: login}, ",
    "tacacs: {servers: [192.0.2.106], key: {secret: tac}}": "radius: {servers: [192.0.2.106], key: {secret: rad}}",
}
"""Keys that add a secret of every kind to the spec."""
READABLE = {
    "eos": {"snm", "login"},
    "nxos": {"snm", "login"},
    "junos": {"snm", "login"},
    "sonic": {"snm", "rad", "tac", "auth", "privacy", "dc-core"},
    "cumulus": set[str](),
    "frr": {"dc-core"},
}
"""The secrets that a system prints as they were entered; others may be the same in a form of the device."""


@pytest.mark.spread
@pytest.mark.parametrize("nos", SYSTEMS)
def test_push_and_verify_find_a_secret_that_is_another_one(nos: str) -> None:
    plain = spec_with_services(nos)
    full = plain
    for old, new in SECRETS.items():
        full = full.replace(old, new)
    unlike, replaced, names = set(), set(), set()
    for fabric in (compile_text(plain).fabric, compile_text(full).fabric):
        (switch,) = (fabric.switch(at) for at in fabric.switch_ids() if fabric.name(at) == "spine01a")
        device, tree = devices_by_name(fabric)[switch.name], render_switch(switch)
        here = {name for text in tree.values() for name in secret_names_in(text)}
        names |= here
        for name in here:
            words = "$6$salt$ElsePlain9" if name == "login" else "ElsePlain9"
            runs = {file: text.replace(f"FABRICC-SECRET-{name}", words) for file, text in tree.items()}
            drift = compare_drift(switch.name, nos, Path("tree"), tree, runs, ALL, here).found
            unlike |= {name} if drift else set()
            assert not any("ElsePlain9" in each.diagnostic.message for each in drift)
            pushed = assess_effect(device, switch, runs, tree)
            assert bool(pushed.access) is (name in READABLE[nos] - {"dc-core"}), name
            assert (pushed.impact is Impact.TRAFFIC_LOSS) is (name in READABLE[nos] & {"dc-core"}), name
            assert not compare_drift(switch.name, nos, Path("tree"), tree, runs, ALL).found
            back = assess_effect(device, switch, tree, runs)
            replaced |= {name} if back.access or back.impact > Impact.NONE or name == "ntp" else set()
    assert (unlike, replaced) == (READABLE[nos], names)


@pytest.mark.parametrize("known", [True, False])
def test_lines_of_the_device_itself_are_no_change(known: bool) -> None:
    """A device prints lines that no tree has; a push does not remove them by its own decision."""
    fabric = compile_text(spec_with_services("eos")).fabric
    tree = render_switch(fabric.switch(next(iter(fabric.switch_ids()))))
    name = next(iter(tree))
    runs = {name: tree[name].replace("end\n", "a line of its own\nend\n")}
    added = {name: tree[name].replace("end\n", "event-handler X\n   trigger on-boot\nend\n")}
    assert find_text_changes("eos", runs, tree, tree if known else None) == []
    (change,) = find_text_changes("eos", runs, added, tree if known else None)
    assert (change.subject, change.before) == ("text", None)
    assert change.after is not None
    assert "event-handler X" in change.after


@pytest.mark.parametrize(
    ("drained", "share"),
    [(("spine01a",), None), (("spine01a", "spine02a"), "0 %"), (("rack001-tor1a",), None)],
)
def test_drains_that_leave_less_than_one_alone_are_reported(
    drained: tuple[str, ...], share: str | None
) -> None:
    """The review of drains and the plan of the maintenance report the same share."""
    text = spec_with_services("eos")
    overrides = ", ".join(f"{name}: {{drain: true}}" for name in drained)
    old, new = compile_text(text), compile_text(f"{text}overrides: {{{overrides}}}\n")
    review = review_variant(old, new, ("old", "new"))
    found = [each.message for each in review.proof_findings if each.code == "FAB3031"]
    assert (review.impact, review.risk) == (Impact.HITLESS, "medium" if share else "low")
    wiring = Wiring(old.fabric)
    maintained = assess_network("", wiring, Outage(gone=frozenset(drained)), Outage()).least(Moment.OUT)
    if share:
        assert format_share(maintained[0]) == share
        assert found == [
            f"{', '.join(drained)} drained: {share} of {maintained[1]} is left when they are taken out"
        ]
    else:
        assert found == []
