"""Every file that the FRR back end writes has its place on the switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back import nos
from fabricc.operate.drivers.frr import FILES
from tests.operate.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = """\
management:
  access: [172.16.9.0/24]
  ntp: [172.16.0.2]
  dns: [172.16.0.3]
  syslog: [172.16.0.4]
"""


def test_every_file_of_an_frr_switch_is_installed(tmp_path: Path) -> None:
    switch = specs.network(specs.two_tiers(tmp_path, more=SERVICES)).switches[0]
    files = nos.load("frr").render(switch)
    assert {"nftables.conf", "lldpd.conf", "rsyslog.conf"} <= files.keys() <= FILES.keys()
    for name in ("nftables.conf", "lldpd.conf"):
        assert files[name].startswith(f"# {FILES[name][0]}:"), "the file says where it belongs"
