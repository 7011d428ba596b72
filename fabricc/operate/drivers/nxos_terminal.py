"""The terminal and the SCP connections of NX-OS, whose packets are bounded from the first one on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from netmiko.cisco import CiscoNxosSSH

from fabricc.operate.drivers.ssh_limits import BoundedTransport

if TYPE_CHECKING:
    import paramiko


class BoundedTerminal(CiscoNxosSSH):
    """A terminal of netmiko, which makes its connections for SCP in the same way."""

    def _build_ssh_client(self) -> paramiko.SSHClient:
        client: paramiko.SSHClient = super()._build_ssh_client()
        client.connect = partial(client.connect, transport_factory=BoundedTransport)  # type: ignore[method-assign]
        return client
