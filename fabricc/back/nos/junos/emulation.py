"""Junos Evolved in a container: kind `juniper_cjunosevolved`, whose first of up to 36 data ports is `eth4`.

By containerlab's documentation (docs/manual/kinds/cjunosevolved.md): `eth1` to `eth3` are reserved, ports cannot be
channelized, `CPTX_COSIM=BX` is the model of 36 ports. netlab's device `vptx` is vJunosEvolved, whose first data port is
`eth1` (netsim/devices/vptx.yml).
"""

from fabricc.back.nos.emulation import Emulation, by_place
from fabricc.back.nos.junos import FILE

EMULATION = Emulation(kind="juniper_cjunosevolved", image="cjunosevolved:{release}", device="vptx",
    endpoint=by_place(4), first_ifindex=0, startup=FILE, env={"CPTX_COSIM": "BX"},
    unverified=(
        "the container is a PTX, not a QFX: class of service may be refused, and children of split ports do not exist",
        "the management address comes from the configuration, for it has no FXP0ADDRESS token",
    ),
)  # fmt: skip
