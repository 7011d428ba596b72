"""NAPALM's `sonic`: community SONiC over SSH."""

from fabricc.drivers.sonic import SonicDriver

__all__ = ["SonicDriver"]
