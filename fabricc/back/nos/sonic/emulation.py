"""SONiC in a virtual machine: kind `sonic-vm`, which boots from a config_db.json.

`eth1` is Ethernet0, `eth2` Ethernet4 and so on (containerlab docs/manual/kinds/sonic-vm.md): panel order. netlab knows
the container only (`sonic-vs`, netsim/devices/sonic.yml), whose interfaces have the same numbers.
"""

from fabricc.back.nos.emulation import Emulation, by_place

EMULATION = Emulation(kind="sonic-vm", image="vrnetlab/sonic_sonic-vs:{release}", device="sonic",
    endpoint=by_place(1), first_ifindex=0, startup="config_db.json",
    unverified=(
        "the virtual switch has 32 ports of the platform it was built for: names and lanes of another platform's "
        "PORT table may not come up",
        "frr.conf is not handed over: SONiC in split mode needs it copied to /etc/sonic/frr on the node",
    ),
)  # fmt: skip
