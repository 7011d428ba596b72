"""Job files of a fabric with tenants: each tenant has its own, with its own hosts alone."""

from __future__ import annotations

from dataclasses import replace

from fabricc.back.jobs import kubernetes_topology
from fabricc.back.jobs.files import job_files
from tests.tenanted import fabric

OTHERS = {"acme": ("rack001-host02", "rack002-host02"), "globex": ("rack001-host01", "rack002")}
"""Tenant -> what its files must not contain."""


def test_the_files_of_a_tenant_have_its_hosts_alone() -> None:
    files = job_files(fabric("frr"))
    for tenant, others in OTHERS.items():
        own = {path: text for path, text in files.items() if f"/tenants/{tenant}/" in path}
        assert "rack001-host0" in own[f"jobs/tenants/{tenant}/hostfile"]
        for path, text in own.items():
            assert not [name for name in others if name in text], path


def test_a_tenant_has_the_files_that_a_fabric_of_its_hosts_has() -> None:
    files, alone = job_files(fabric("frr")), job_files(replace(fabric("frr"), tenancy=None))
    own = {path.replace("/tenants/acme/", "/") for path in files if "/tenants/acme/" in path}
    assert own == set(alone)
    assert files["jobs/hosts.csv"] == alone["jobs/hosts.csv"]


def test_a_host_of_two_tenants_is_in_the_files_of_neither() -> None:
    files = job_files(fabric("frr"))
    assert {path.split("/")[2] for path in files if "/tenants/" in path} == {"acme", "globex"}


def test_objects_that_tenants_share_are_written_as_yaml_once() -> None:
    cached = kubernetes_topology._render_json
    cached.cache_clear()
    job_files(fabric("frr"))
    assert 0 < cached.cache_info().misses < 2 * cached.cache_info().hits
