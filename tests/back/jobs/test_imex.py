"""The lists of nodes for IMEX: one a domain, the same for each of its hosts, with addresses that the hosts have."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tests.back.jobs.fabrics import SPECS, fabric, files


def listed(name: str) -> dict[str, list[str]]:
    return {
        PurePath(path).stem: text.splitlines()
        for path, text in files(name).items()
        if path.startswith("jobs/imex/")
    }


@pytest.mark.parametrize("name", ["nvl72", "nvl72-racks", "nvl72-in-part"])
def test_every_domain_has_the_rail_0_addresses_of_its_hosts(name: str) -> None:
    planned = fabric(name)
    domains: dict[str, list[str]] = {}
    for unit in planned.units.values():
        for slot, host in unit.hosts.items():
            if domain := planned.domain(unit, host):
                device = planned.host(next(at for at in planned.host_ids() if at == (unit.coordinate, slot)))
                domains.setdefault(domain, []).append(str(device.ports[0].ipv4).partition("/")[0])
    assert domains
    assert {name: sorted(each) for name, each in listed(name).items()} == {
        name: sorted(each) for name, each in domains.items()
    }


def test_hosts_whose_nvlink_ends_with_the_host_have_no_list() -> None:
    plain = next(name for name in SPECS if not name.startswith("nvl72"))
    assert listed(plain) == {}
