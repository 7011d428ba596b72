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
    assert back_ends.load("frr").read(files).facts.get("bgp/requires_policy") == required
