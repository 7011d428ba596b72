"""NAPALM's `cumulus`: Cumulus Linux with NVUE over SSH."""

from fabricc.operate.drivers.cumulus import CumulusDriver

__all__ = ["CumulusDriver"]
