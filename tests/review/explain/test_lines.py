"""Lines of every back end's files: the facts that they state, and what those without facts are there for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.cli.explain import explanation_lines as text_of
from fabricc.review.explain.facts import Explainer
from fabricc.review.explain.lines import Place, Texts, explain_line
from fabricc.review.explain.questions import subject_of
from tests.back.nos.feature_table import BASE, FEATURES, MODELS
from tests.front.planning.support import make_document
from tests.review.explain.support import known_of

if TYPE_CHECKING:
    from fabricc.review.explain.model import Explanation
    from fabricc.review.explain.subject import Subject

APART, MOST = 11, 40
"""Every eleventh line is explained, lines of every kind of port, and of a long file some forty; all take too long."""


def subject_on(nos: str) -> Subject:
    """The first ToR of a fabric of that operating system, with lossless classes where it has them; or a host."""
    name, model = ("sonic", "sn5600") if nos == "host" else (nos, dict(MODELS)[nos])
    tier = {"model": model, "nos": name}
    quality = {} if nos == "frr" else FEATURES["ECN marking"]
    known = known_of({**BASE, "routing": {}, **quality, "tors": tier, "spines": tier})
    at = next(known.fabric.host_ids()) if nos == "host" else next(known.fabric.switch_ids())
    return subject_of(known, at)


def texts_of(subject: Subject, nos: str) -> Texts:
    if nos == "host":
        files = host_files.render(subject.device)  # type: ignore[arg-type]
        return Texts(files, files, host_files.read)
    back_end = back_ends.load(nos)
    files = back_end.render(subject.device)  # type: ignore[arg-type]
    return Texts(files, files, back_end.read)


def explain_at(subject: Subject, texts: Texts, file: str, number: int) -> Explanation:
    return explained_by(Explainer(subject.plan), subject, texts, Place(file, number))


def explained_by(explainer: Explainer, subject: Subject, texts: Texts, place: Place) -> Explanation:
    explain_fact = partial(explainer.fact, subject)
    return explain_line(subject.device.name, texts, place, f"{place.file}:{place.line}", explain_fact)


def explain_text(subject: Subject, texts: Texts, text: str) -> Explanation:
    """The explanation of the first line that has some text."""
    for file, content in texts.found.items():
        for number, line in enumerate(content.splitlines(), 1):
            if text in line:
                return explain_at(subject, texts, file, number)
    raise AssertionError(text)


@pytest.mark.spread
@pytest.mark.parametrize("nos", [*(name for name, _ in MODELS), "host"])
def test_explain_describes_every_line(nos: str) -> None:
    subject = subject_on(nos)
    texts = texts_of(subject, nos)
    reading = texts.reader(texts.found)
    explainer = Explainer(subject.plan)
    stated = 0
    for file, content in texts.found.items():
        last = len(content.splitlines())
        for number in range(1, last + 1, max(APART, last // MOST | 1)):
            place = Place(file, number)
            explanation = explained_by(explainer, subject, texts, place)
            here = {path for path, where in reading.lines.items() if where == place and path in reading.facts}
            reported = {path for each in explanation.statements for path in (each.name, *each.also)}
            if here:
                assert reported == here
                stated += 1
            else:
                assert reported or "meaning" in dict(explanation.details), content.splitlines()[number - 1]
            assert all(each.planned is None for each in explanation.statements)
            assert "build" not in dict(explanation.details)
            assert all(line.text.strip() or not line.text for line in text_of(explanation))
    assert stated > 10


@pytest.mark.parametrize(
    ("nos", "text", "path"),
    [
        ("eos", "ip address 10.64.0.1/31", "interface[Ethernet3/1]/ipv4"),
        ("sonic", '|10.64.0.1/31"', "interface[Ethernet16]/ipv4"),
        ("frr", "router bgp 4200524288", "bgp/asn"),
        ("junos", "address 10.64.0.1/31", "interface[et-0/0/2]/ipv4"),
        ("nxos", "router bgp 4200524288", "bgp/asn"),
        ("cumulus", "10.64.0.1/31: {}", "interface[swp3]/ipv4"),
        ("host", '"10.0.0.1/31"', "interface[rail0]/ipv4"),
    ],
)
def test_an_address_or_asn_is_traced_from_its_line(nos: str, text: str, path: str) -> None:
    subject = subject_on(nos)
    statement = explain_text(subject, texts_of(subject, nos), text).statements[0]
    assert statement.name == path
    assert statement.formulas
    assert statement.origins


def test_a_line_that_was_edited_shows_what_is_planned() -> None:
    subject = subject_on("eos")
    texts = texts_of(subject, "eos")
    file, content = next(iter(texts.found.items()))
    edited = texts._replace(found={file: content.replace("mtu 9100", "mtu 9000", 1)})
    explanation = explain_text(subject, edited, "mtu 9000")
    assert (explanation.statements[0].value, explanation.statements[0].planned) == ("9000", "9100")
    assert dict(explanation.details)["build"].startswith("a build of the spec as it is now does not write")


def test_explain_marks_unknown_lines() -> None:
    subject = subject_on("eos")
    texts = texts_of(subject, "eos")
    file, content = next(iter(texts.found.items()))
    edited = texts._replace(found={file: content + "daemon Other\n"})
    details = dict(explain_text(subject, edited, "daemon Other").details)
    assert details["meaning"] == "the line is unknown, so `check` refuses it"


def test_lines_without_facts_are_distinguished() -> None:
    eos, sonic = subject_on("eos"), subject_on("sonic")
    comment = explain_text(eos, texts_of(eos, "eos"), "!")
    assert dict(comment.details)["meaning"] == "none for the device: a comment or a separator"
    opening = explain_text(sonic, texts_of(sonic, "sonic"), '"BUFFER_PROFILE": {')
    assert "structure" in dict(opening.details)["meaning"]
    assert "pool/lossy_queue_alpha" in dict(opening.details)["its block"]
    part = explain_text(eos, texts_of(eos, "eos"), "bandwidth percent 90")
    assert dict(part.details)["within"].endswith("> uc-tx-queue 3")
    assert part.statements[0].value == "dwrr 90"


def test_a_line_of_an_overlay_is_the_users_own() -> None:
    known = known_of(make_document(overlays=[{"file": "own.conf", "nos": "frr", "into": "frr.conf"}]))
    subject = subject_of(known, next(known.fabric.switch_ids()))
    files = {"frr.conf": "hostname su001-tor1a\nlog file /var/log/frr.log\n"}
    texts = Texts(files, {}, back_ends.load("frr").read, {("frr.conf", 2)})
    assert dict(explain_at(subject, texts, "frr.conf", 2).details)["overlay"].endswith("the user's own")
    assert "overlay" not in dict(explain_at(subject, texts, "frr.conf", 1).details)
