"""NX-OS in a virtual machine: kind `cisco_n9kv`, whose data ports `eth1`, `eth2`, … are Ethernet1/1, Ethernet1/2, ….

By containerlab's documentation (docs/manual/kinds/vr-n9kv.md); netlab's device `nxos` uses the same kind and numbers
(netsim/devices/nxos.yml).
"""

from fabricc.back.nos.emulation import Emulation, by_place
from fabricc.back.nos.nxos import FILE

EMULATION = Emulation(kind="cisco_n9kv", image="vrnetlab/cisco_n9kv:{release}", device="nxos",
    endpoint=by_place(1), first_ifindex=1, startup=FILE,
    unverified=(
        "ports are numbered in panel order; the virtual machine has no split ports, so a child's name does not come up",
        "the virtual machine has no queues: it may refuse lines of queuing and PFC",
    ),
)  # fmt: skip
