"""The lists of nodes for IMEX: one a domain, the same for each of its hosts, with the names of the hosts."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tests.back.jobs.fabrics import SPECS, fabric, files


def domain_nodes(name: str) -> dict[str, list[str]]:
    return {
        PurePath(path).stem: text.splitlines()
        for path, text in files(name).items()
        if path.startswith("jobs/imex/")
    }


@pytest.mark.parametrize("name", ["nvl72", "nvl72-racks", "nvl72-in-part"])
def test_every_domain_has_the_names_of_its_hosts(name: str) -> None:
    """Sockets without a source address have no way over rails, whose routes are in tables of their own."""
    planned = fabric(name)
    domains: dict[str, list[str]] = {}
    for unit in planned.units.values():
        for host in unit.hosts.values():
            if domain := planned.domain(unit, host):
                domains.setdefault(domain, []).append(host)
    assert domains
    assert {name: sorted(each) for name, each in domain_nodes(name).items()} == {
        name: sorted(each) for name, each in domains.items()
    }


def test_hosts_whose_nvlink_ends_with_the_host_have_no_list() -> None:
    plain = next(name for name in SPECS if not name.startswith("nvl72"))
    assert domain_nodes(plain) == {}
