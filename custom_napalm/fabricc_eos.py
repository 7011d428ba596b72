"""NAPALM's `fabricc_eos`: Arista EOS over eAPI, without the traps of NAPALM's `eos`."""

from fabricc.operate.drivers.eos import EosDriver

__all__ = ["EosDriver"]
