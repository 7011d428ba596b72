"""A repository with the smallest spec that builds, and the command line run in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from fabricc.cli.entry import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPEC = """\
# A lab
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2, socket_interface: eth0}
tors: {model: linux-16x100, nos: frr}
spines: {model: linux-16x100, nos: frr, count: 2}
priorities:
  rdma: {dscp: 26}
  default: {}
"""


class Ran(NamedTuple):
    """Exit status and both streams."""

    status: int
    out: str
    err: str


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "cluster.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fabricc(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        status = run(list(arguments))
        streams = capsys.readouterr()
        return Ran(status, streams.out, streams.err)

    return call
