"""Addresses, rules and routes of a rail stay when its carrier goes, with the real networkd and NetworkManager."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabricc.back.hosts import render
from tests.back.hosts.test_apply import (
    NETWORKMANAGER,
    RHEL,
    WORLD,
    needs_networkd,
    needs_networkmanager,
    run_stages,
    storage_part,
)
from tests.back.hosts.test_peers import can_isolate
from tests.back.hosts.variants import VARIANTS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

FLAP = """
state() {
    ip -br address show rail0
    ip rule show priority 1000
    ip -6 rule show priority 1000
    ip route show table 100
    ip -6 route show table 100
    ip -br address show storage0 2>/dev/null || true
}
sleep 1
stage up state
ip link set prail0 down
[ ! -d /sys/class/net/pstorage0 ] || ip link set pstorage0 down
sleep "$seconds"
stage down state
ip link set prail0 up
[ ! -d /sys/class/net/pstorage0 ] || ip link set pstorage0 up
sleep 2
stage again state
"""
NETWORKD = (
    WORLD
    + """
seconds=2
stage apply sh "$folder/tree/apply"
timeout -k 1 120 /lib/systemd/systemd-networkd > /run/log 2>&1 & networkd=$!
trap 'kill "$networkd"' EXIT
await
stage check sh "$folder/tree/apply" --check
"""
    + FLAP
)
MANAGED = (
    NETWORKMANAGER.partition("stage before")[0]
    + """
seconds=8
stage apply sh "$folder/tree/apply"
await
stage check sh "$folder/tree/apply" --check
"""
    + FLAP
)
RETURNED = """
ip netns add pod
ip link set rail0 netns pod
sleep 1
stage away sh "$folder/tree/apply" --check
ip -n pod link set rail0 down
ip -n pod link set rail0 netns $$
sleep "$seconds"
await
stage back sh "$folder/tree/apply" --check
ip netns del pod
"""
UBUNTU = 'ID=ubuntu\nVERSION_ID="24.04"'


def plain_lines(state: str) -> list[str]:
    """Return the lines of a state without words about the link itself."""
    words = r"\b(UP|DOWN|LOWERLAYERDOWN|linkdown|tentative|dead)\b"
    return [" ".join(re.sub(words, "", line).split()) for line in state.splitlines()]


on_both_managers = pytest.mark.parametrize(
    ("script", "variant", "release"),
    [
        pytest.param(NETWORKD, "dual-stack", UBUNTU, marks=needs_networkd),
        pytest.param(MANAGED, "rhel-9-dual-stack", RHEL, marks=needs_networkmanager),
    ],
)


@pytest.mark.slow
@on_both_managers
def test_a_rail_keeps_its_addresses_rules_and_routes_without_a_carrier(
    tmp_path: Path, script: str, variant: str, release: str
) -> None:
    seen = run_stages(script, tmp_path, variant, release)
    assert seen["check"].endswith("as planned\n"), seen["check"]
    assert "10.0.0.1/31" in seen["up"]
    assert "fd00::1/127" in seen["up"]
    assert seen["up"].count("lookup 100") == 2
    assert "10.0.0.0/10 via 10.0.0.0" in seen["up"]
    assert "LOWERLAYERDOWN" in seen["down"]
    assert plain_lines(seen["down"]) == plain_lines(seen["up"])
    assert plain_lines(seen["again"]) == plain_lines(seen["up"])


@pytest.mark.slow
@on_both_managers
def test_a_port_that_a_pod_returned_is_configured_again(
    tmp_path: Path, script: str, variant: str, release: str
) -> None:
    """As the CNI plugin host-device does: a port goes to a pod, and comes back down and without its addresses."""
    seen = run_stages(script.removesuffix(FLAP) + RETURNED, tmp_path, variant, release)
    assert "differs: there is no port rail0" in seen["away"]
    assert seen["back"].rstrip().endswith("as planned"), seen["back"]


@pytest.mark.slow
@needs_networkd
def test_a_port_with_routes_in_the_main_table_gives_them_up(tmp_path: Path) -> None:
    seen = run_stages(NETWORKD, tmp_path, "dual-stack", UBUNTU, storage=True)
    assert "10.208.0.1/31" in seen["up"]
    assert "10.208.0.1/31" not in seen["down"]
    assert "10.0.0.1/31" in seen["down"]
    assert "10.208.0.1/31" in seen["again"]


def test_only_rails_ignore_their_carrier() -> None:
    host = VARIANTS["rhel-9-dual-stack"]
    rails = render(host)["etc/NetworkManager/conf.d/90-fabricc.conf"]
    assert (
        "match-device=interface-name:=rail0,interface-name:=rail1\nmanaged=1\nignore-carrier=yes\n" in rails
    )
    storage = render(storage_part(host))["etc/NetworkManager/conf.d/90-fabricc-storage.conf"]
    assert storage.endswith("interface-name:=storage1\nmanaged=1\n")
