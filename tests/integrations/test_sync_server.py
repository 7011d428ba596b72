"""`fabricc sync` with a real NetBox or Nautobot, where the environment names one that tests may write to.

Set NETBOX_TEST_URL and NETBOX_TEST_TOKEN, or NAUTOBOT_TEST_URL and NAUTOBOT_TEST_TOKEN. The server must
have no devices of the names `su001-*` and `spine*`. Objects of the test have the tag of a cluster of their own and are
deleted at the end; types, roles, makers and platforms stay.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.cli.entry import run
from fabricc.integrations.sync.client import Client
from fabricc.integrations.sync.products import PRODUCTS
from tests.integrations.test_sync import SEGMENTS, SPEC

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.integrations.sync.products import Product

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("product", ["netbox", "nautobot"])
def test_a_real_server_has_the_plan_and_a_second_run_changes_nothing(
    product: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = product.upper()
    url, token = os.environ.get(f"{name}_TEST_URL"), os.environ.get(f"{name}_TEST_TOKEN")
    if not url or not token:
        pytest.skip(f"{name}_TEST_URL and {name}_TEST_TOKEN name no server that tests may write to")
    monkeypatch.setenv(f"{name}_TOKEN", token)
    cluster = f"t{uuid.uuid4().hex[:8]}"
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.replace("cluster: lab", f"cluster: {cluster}") + SEGMENTS)

    def sync(*words: str) -> dict[str, Any]:
        capsys.readouterr()
        status = run(["sync", product, str(spec), "--url", url, "--format", "json", *words])
        streams = capsys.readouterr()
        assert status == 0, streams.err
        found: dict[str, Any] = json.loads(streams.out)
        return found

    try:
        planned = sync()["changes"]
        assert {each["action"] for each in planned} == {"create"}
        assert sync("--apply")["changes"] == planned
        assert sync()["changes"] == []
        assert run(["sync", product, str(spec), "--url", url, "--pull", str(tmp_path)]) == 0
        assert "su001-tor1a," in (tmp_path / "devices.csv").read_text()
    finally:
        _remove_objects(Client(url, token), PRODUCTS[product], f"fabricc-{cluster}")


def _remove_objects(client: Client, product: Product, tag: str) -> None:
    """Delete all objects with a tag, those that refer to others first."""
    name, form = product.tag_query
    for kind in ("cable", "device", "address", "prefix", "vrf"):
        path = product.paths[kind]
        ids = [each["id"] for each in client.objects(path, ((name, form(tag)),))]
        assert sum(client.delete(path, ids)) == len(ids)
