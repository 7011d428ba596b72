"""The access file that verbs which speak to switches share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fabricc.cli import output
from fabricc.operate.devices.access import NAME, Access, access_of

if TYPE_CHECKING:
    from pathlib import Path


def access(spec: Path, stated: Path | None) -> Access:
    """Return the named access file, or the one of the spec; warn if it turns verification off.

    From here on, libraries log output of switches only to a handler that someone set up, because it is not escaped.

    Raises:
        DeviceError: as `access_of`.
    """
    logging.getLogger().addHandler(logging.NullHandler())
    found = access_of(spec, stated)
    if found.unverified:
        output.err(
            f"warning: {stated or spec.parent / NAME} turns off the verification of host keys or certificates"
        )
    return found
