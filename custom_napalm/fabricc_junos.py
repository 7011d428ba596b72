"""NAPALM's `fabricc_junos`: Juniper Junos over NETCONF, without the traps of NAPALM's `junos`."""

from fabricc.operate.drivers.junos import JunosDriver

__all__ = ["JunosDriver"]
