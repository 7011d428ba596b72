"""The meaning of FRR's profile `traditional` depends on the release that wrote the file."""

from __future__ import annotations

import pytest

from fabricc.back import nos as back_ends

TEXT = "{head}frr defaults {profile}\nrouter bgp 65100\n neighbor 10.0.0.1 remote-as 65101\n"


@pytest.mark.parametrize(
    ("head", "profile", "required"),
    [
        ("frr version 7.2-sonic\n", "traditional", None),
        ("frr version 7.3.1\n", "traditional", None),
        ("frr version 7.4\n", "traditional", "true"),
        ("frr version 10.3\n", "traditional", "true"),
        ("", "traditional", "true"),
        ("frr version 10.3\n", "datacenter", None),
    ],
)
def test_policies_are_required_by_default_since_7_4(head: str, profile: str, required: str | None) -> None:
    files = {"frr.conf": TEXT.format(head=head, profile=profile)}
    reading = back_ends.load("frr").read(files)
    assert reading.facts.get("bgp/requires_policy") == required
    if required:  # at the line of the profile
        assert reading.lines["bgp/requires_policy"] == ("frr.conf", 2 if head else 1)


def test_a_session_without_a_family_is_at_the_line_that_takes_it() -> None:
    lines = [" no bgp default ipv4-unicast", " address-family ipv4", "  neighbor 10.0.0.1 activate"]
    text = TEXT.format(head="", profile="datacenter") + lines[0]
    read = back_ends.load("frr").read
    assert read({"frr.conf": text}).lines["bgp/neighbor[10.0.0.1]/families"] == ("frr.conf", 4)
    active = "\n".join([text, *lines[1:]])
    assert read({"frr.conf": active}).lines["bgp/neighbor[10.0.0.1]/families"] == ("frr.conf", 6)
