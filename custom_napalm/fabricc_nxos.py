"""NAPALM's `fabricc_nxos`: Cisco NX-OS over NX-API, with its own configuration replace."""

from fabricc.operate.drivers.nxos import NxosDriver

__all__ = ["NxosDriver"]
