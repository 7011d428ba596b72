"""Run on the switch for the SONiC driver: bring FRR in the bgp container to a configuration.

`python3 sonic_frr.py /etc/frr/frr.conf`, the path being the container's; the agent of the FRR driver lies next to it
and does the work, BFD's timers included. Stands alone as that one does: Python 3.9 or later.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricc.operate.drivers.frr_agent import Refusal, Switch, run_checked
else:
    from frr_agent import Refusal, Switch, run_checked

RELOAD = ("docker", "exec", "bgp", "python3", "/usr/lib/frr/frr-reload.py", "--stdout")


class Container(Switch):
    """FRR in SONiC's bgp container; `vtysh` of the switch itself speaks to it."""

    def reload(self, *words: str) -> str:
        """Run the container's frr-reload.py."""
        return run_checked([*RELOAD, *words], logged=True)


if __name__ == "__main__":
    try:
        Container({}).apply_config(Path(sys.argv[1]))
    except Refusal as error:
        sys.exit(str(error))
