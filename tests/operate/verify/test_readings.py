"""Next hops and counters of lossless classes through the real driver of every system, as `verify` reports them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabricc.cli import verify_run
from fabricc.operate.devices.access import Access
from fabricc.operate.devices.login import Login
from fabricc.operate.devices.secrets import Reference
from fabricc.operate.verify.model import Aspect
from fabricc.operate.verify.run import verify
from fabricc.operate.verify.widths import Widths
from tests.operate.drivers.test_readings import SERVERS
from tests.operate.push.network import build_spec
from tests.operate.verify.test_drivers import DEVICES, SPEC

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spread
@pytest.mark.parametrize("nos", SERVERS)
def test_next_hops_are_compared_and_counters_shown(
    nos: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "cluster.yaml"
    spec.write_text(SPEC.format(model=DEVICES[nos][0], nos=nos))
    source = build_spec(spec, tmp_path / "out")
    name, at = next(iter(source.places.items()))
    port = next(one.name for one in source.switch(name).ports if one.peer)
    widths = Widths.of(source.fabric)
    assert widths is not None
    planned = widths.count_next_hops(at)
    wide = next(prefix for prefix, width in planned.items() if width == 2)
    with SERVERS[nos](tmp_path) as server:
        device, counted = server.device, server.counted
        monkeypatch.setenv("LAB_PASSWORD", device.password)
        login = Login(
            device.username, Reference("env", "LAB_PASSWORD"), address=device.host, options=device.options
        )
        counted.ports = (port,)
        for hops, codes in ((2, []), (1, ["FAB9221"])):
            counted.routes = {**planned, wide: hops}
            if nos in ("sonic", "cumulus"):
                server.tell()
            reported = verify(source, Access(login), only=[name], aspects=[Aspect.ROUTES])
            assert (reported.unread, reported.unanswered) == ({}, {})
            assert reported.compared[Aspect.ROUTES] == {name: len(planned)}
            assert [one.diagnostic.code for one in reported.found] == codes
        counted.pfc_rx, counted.storms, counted.dropped = {port: {3: 7}}, {port: {3: 1}}, {port: {3: 2}}
        reported = verify(source, Access(login), only=[name], aspects=[Aspect.QOS])
        storms = nos != "junos"
        codes = [
            one.diagnostic.code for one in reported.found if one.diagnostic.code in ("FAB9242", "FAB9243")
        ]
        assert codes == (["FAB9242", "FAB9243"] if storms else ["FAB9243"])
        row = next(iter(verify_run.counter_rows(reported)))
        assert row == (name, "7", "0", "0", "1" if storms else "not stated", "2")
        gap = "not stated by junos, so not compared: PFC watchdog storms (1)"
        assert (gap in reported.remarks) == (not storms)
        assert f"| {name} | 7 | 0 |" in verify_run.as_markdown(reported)
