"""NAPALM's `cumulus`: Cumulus Linux with NVUE over SSH."""

from fabricc.drivers.cumulus import CumulusDriver

__all__ = ["CumulusDriver"]
