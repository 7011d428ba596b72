"""The command line: a module per verb, each loaded when it is called."""

from __future__ import annotations

import gc

_COLLECT_AFTER = 1_000_000
"""Objects; by default Python looks for cycles among the last 700, and a verb that does little makes 200,000."""


def main() -> int:
    """Run `fabricc` in a process of its own; its exit status (see `fabricc docs build`)."""
    gc.set_threshold(_COLLECT_AFTER)
    try:
        from fabricc.cli.entry import run  # inside, so that Ctrl-C while it loads is an exit status too
    except KeyboardInterrupt:
        return 128 + 2
    status = run()
    gc.freeze()  # Python looks through all that there is once more before it ends
    return status
