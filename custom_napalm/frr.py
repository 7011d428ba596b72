"""NAPALM's `frr`: FRR on Linux over SSH."""

from fabricc.drivers.frr import FrrDriver

__all__ = ["FrrDriver"]
