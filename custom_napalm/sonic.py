"""NAPALM's `sonic`: community SONiC over SSH."""

from fabricc.operate.drivers.sonic import SonicDriver

__all__ = ["SonicDriver"]
