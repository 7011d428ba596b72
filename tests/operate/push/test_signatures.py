"""A push that wants a signature sends nothing else: neither an unsigned tree nor one that changed since."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fabricc.cli.entry import run
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.access import read_access
from tests.operate.push.network import HITLESS, Network

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    found = Network.start(tmp_path)
    found.direct = True
    yield found
    found.stop()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Return a key, with the file of allowed signers next to it."""
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True, timeout=60)
    (tmp_path / "allowed").write_text(f"ci@example.org {path.with_suffix('.pub').read_text()}")
    return path


@pytest.mark.slow
def test_only_a_signed_tree_is_pushed(network: Network, key: Path) -> None:
    required = ("--adopt", "--require-signature", str(key.with_name("allowed")))
    network.edit(HITLESS)
    for mode in ((), ("--dry-run",), ("--plan",)):
        assert "FAB0050" in network.push(*required, *mode, status=1).stderr
    assert run(["sign", str(network.source.tree), "--key", str(key)]) == 0
    signature = network.source.tree.with_name(f"{network.source.tree.name}.sig")
    network.edit("routing: {bfd: {interval_ms: 900}}")
    assert signature.exists()
    assert "FAB0051" in network.push(*required, status=1).stderr
    assert set(map(network.interval, network.source.devices)) == {"first"}
    assert not network.journal.exists()
    network.edit(HITLESS)
    aside = signature.rename(network.folder / "elsewhere")
    assert "FAB0050" in network.push(*required, status=1).stderr
    output = network.push(*required, "--only", "spine01a", "--signature", str(aside), status=0)
    assert "signed by ci@example.org" in output.stderr
    assert network.states() == {"spine01a": "confirmed"}


@pytest.mark.slow
def test_the_operator_s_own_file_requires_it_of_every_push(network: Network, key: Path) -> None:
    access = network.spec.parent / "fabricc-access.yaml"
    access.write_text(access.read_text() + f"require_signature: {key.with_name('allowed')}\n")
    network.edit(HITLESS)
    assert "FAB0050" in network.push("--adopt", "--plan", status=1).stderr
    assert "FAB0050" in network.push("--adopt", status=1).stderr
    assert run(["sign", str(network.source.tree), "--key", str(key)]) == 0
    network.push("--adopt", "--only", "spine01a", status=0)
    network.source.tree.with_name(f"{network.source.tree.name}.sig").unlink()
    network.push("--status", status=0)
    assert "FAB0050" in network.push("--rollback", "1", status=1).stderr


def test_the_file_of_keys_is_named_from_the_access_file(tmp_path: Path) -> None:
    file = tmp_path / "access.yaml"
    file.write_text("username: a\nrequire_signature: keys/allowed\n")
    assert read_access(file).allowed == tmp_path / "keys/allowed"
    file.write_text("username: a\n")
    assert read_access(file).allowed is None
    file.write_text("require_signature: [allowed]\n")
    with pytest.raises(DeviceError, match="require_signature"):
        read_access(file)
