"""EOS in a container: cEOS, with a file that maps its interfaces to the switch's own port names.

Kind, `startup-config`, and the mapping file `/mnt/flash/EosIntfMapping.json` (EOS 4.28 and later) by containerlab's
documentation (docs/manual/kinds/ceos.md). netlab's device `eos` counts ports from 1 (netsim/devices/eos.yml).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fabricc.back.nos.emulation import Emulation, PortMap, by_place
from fabricc.back.nos.eos import FILE
from fabricc.back.nos.eos.words import management_interface

if TYPE_CHECKING:
    from fabricc.fabric.model import Switch

_MAPPING = "EosIntfMapping.json"


def _port_mapping(switch: Switch, ports: PortMap) -> str:
    mapping = {"ManagementIntf": {"eth0": management_interface(switch)}, "EthernetIntf": ports}
    return json.dumps(mapping, indent=2) + "\n"


EMULATION = Emulation(kind="arista_ceos", image="ceos:{release}", device="eos", endpoint=by_place(1),
    first_ifindex=1, startup=FILE, binds={_MAPPING: f"/mnt/flash/{_MAPPING}:ro"},
    port_map=(_MAPPING, _port_mapping),
    unverified=("cEOS has no ASIC: it may refuse or ignore lines of queues, buffers and PFC",),
)  # fmt: skip
