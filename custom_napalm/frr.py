"""NAPALM's `frr`: FRR on Linux over SSH."""

from fabricc.operate.drivers.frr import FrrDriver

__all__ = ["FrrDriver"]
