"""Keep libraries from printing or logging what a device sends: none of it is escaped, and it may hold secrets."""

from __future__ import annotations

import logging
import warnings

_RAW = ("ncclient", "jnpr")
"""Their warnings and log records quote answers of a device as they came."""
_LIBRARIES = (*_RAW, "netmiko", "paramiko", "pyeapi", "napalm")


def silence_libraries() -> None:
    """Let libraries print nothing by themselves, and let those that quote raw answers log nothing.

    Who wants their records sets a level of their loggers, such as `logging.getLogger("ncclient").setLevel("DEBUG")`.
    """
    for name in _LIBRARIES:
        logger = logging.getLogger(name)
        if not logger.handlers:  # without any handler, Python prints warnings and errors itself
            logger.addHandler(logging.NullHandler())
        if name in _RAW and logger.level == logging.NOTSET:
            logger.setLevel(logging.CRITICAL + 1)
    for name in _RAW:
        # Each time a driver connects: PyEZ resets all filters of warnings.
        warnings.filterwarnings("ignore", module=rf"{name}\.")
