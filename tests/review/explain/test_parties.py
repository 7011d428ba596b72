"""Outside parties as subjects: by name, by AS number, and by the addresses of their links, in any network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.compiler.compiled import compile_spec
from fabricc.review.explain.answer import of_any, plan_sources
from fabricc.review.explain.model import SubjectError
from fabricc.review.explain.questions import explain_name
from tests.outward import compiled

if TYPE_CHECKING:
    from pathlib import Path

NETWORKS = """\
cluster: zone
gpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 4}
tors: {model: sn5600, nos: sonic}
spines: {model: sn5600, nos: sonic}
networks:
  frontend:
    tors: {model: sn4700, nos: frr}
    spines: {model: sn4700, nos: frr, reserved_ports: 2}
    priorities: {default: {}}
    external:
      dc-core:
        asn: 64999
        links:
          - {at: frontend-spine01a, port: swp32, speed_gbps: 400, peer: core-1, peer_port: e1, local: 192.0.2.0/31}
"""


def test_a_party_is_found_by_its_name() -> None:
    reported = explain_name(plan_sources(compiled("frr")), "dc-core")
    assert (reported.kind, reported.subject) == ("party", "dc-core")
    assert dict(reported.details)["routed by"] == "BGP with AS64999"
    assert dict(reported.details)["leads to it"] == "0.0.0.0/0, 203.0.113.0/24 le 28"
    assert [text for key, text in reported.details if key == "link"] == [
        "spine01a swp32 to core-1 et-0/0/1, 400G, 192.0.2.0/31",
        "spine02a swp32 to core-2 et-0/0/1, 400G, 192.0.2.2/31",
    ]
    assert reported.statements[0].origins
    assert "secret" not in repr(reported).lower()


def test_one_without_bgp_has_static_routes() -> None:
    reported = explain_name(plan_sources(compiled("frr")), "filer")
    assert dict(reported.details)["routed by"] == "static routes"
    assert dict(reported.details)["MTU"] == "9000 bytes (IP)"


def test_an_as_number_of_a_party_is_not_unknown() -> None:
    plan = plan_sources(compiled("frr"))
    assert explain_name(plan, "AS64999").title == "ASN of dc-core, outside the fabric"
    assert "not assigned" in explain_name(plan, "AS64998").title


def test_unknown_party_name_is_rejected() -> None:
    with pytest.raises(SubjectError, match="dc-cor"):
        explain_name(plan_sources(compiled("frr")), "dc-cor")


def test_a_party_and_its_links_are_found_in_the_network_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(NETWORKS)
    found = compile_spec(tmp_path / "cluster.yaml")
    assert dict(of_any(found, "192.0.2.1", ()).details)["device"] == "core-1"
    assert dict(of_any(found, "192.0.2.0", ()).details)["device"] == "frontend-spine01a"
    assert of_any(found, "dc-core", ()).kind == "party"
