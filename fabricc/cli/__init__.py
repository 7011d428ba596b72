"""The command line: a module per verb, each loaded when it is called."""

from __future__ import annotations


def main() -> int:
    """Run `fabricc`; the process's exit status (see `fabricc docs build`)."""
    try:
        from fabricc.cli.entry import run  # inside, so that Ctrl-C while it loads is an exit status too
    except KeyboardInterrupt:
        return 128 + 2
    return run()
