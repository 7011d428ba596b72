"""Name the virtual lab device of each NOS: its containerlab kind, its netlab device, and their port numbers.

Sources are pages of containerlab (docs/manual/kinds/) and devices of netlab (netsim/devices/).
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos import eos, junos, nxos
from fabricc.back.nos.eos.words import management_interface
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.model import Switch

PortMap = dict[str, str]
"""Name of an interface of the container -> name of the switch's port."""


@dataclass(frozen=True, slots=True)
class Emulation:
    """The lab device of one NOS, where images of it exist.

    Attributes:
        kind: containerlab's kind; `image`: the image name in its documentation, `{release}` for the NOS's release.
        device: netlab's device type.
        endpoint: (place of a port in panel order from 1, its name) -> its interface in the container.
        first_ifindex: what netlab counts the device's first port as; None when ports keep the plan's names there.
        startup: emitted file that the kind boots from; "" when it has no such feature.
        binds: emitted file, or one of `port_map`, -> where the container expects it.
        port_map: a file with the names of the container's ports: (file name, its text from switch and port map).
        env: environment of the container.
        namespace: whether addresses and kernel settings are given from outside, as to any Linux container.
        unverified: what is assumed, a sentence each, for no such image was run here.
    """

    kind: str
    image: str
    device: str
    endpoint: Callable[[int, str], str]
    first_ifindex: int | None
    unverified: tuple[str, ...]
    startup: str = ""
    binds: Mapping[str, str] = field(default_factory=dict)
    port_map: tuple[str, Callable[[Switch, PortMap], str]] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    namespace: bool = False


def by_place(first: int, prefix: str = "eth") -> Callable[[int, str], str]:
    """Return a function for interfaces numbered in panel order, the first port being `first`."""
    return lambda place, _name: f"{prefix}{place - 1 + first}"


def by_name(_place: int, name: str) -> str:
    """Interfaces named as the switch's ports."""
    return name


_MAPPING = "EosIntfMapping.json"


def _port_mapping(switch: Switch, ports: PortMap) -> str:
    mapping = {"ManagementIntf": {"eth0": management_interface(switch)}, "EthernetIntf": ports}
    return json.dumps(mapping, indent=2) + "\n"


EMULATIONS = {
    # nvidia_cumulusvx.md describes no start-up configuration and marks the older kind `cvx` as unmaintained; netlab's
    # device `cumulus_nvue` still uses that one.
    "cumulus": Emulation(kind="nvidia_cumulusvx", image="vrnetlab/nvidia_cumulusvx:{release}",
        device="cumulus_nvue", endpoint=by_place(1, "swp"), first_ifindex=1,
        unverified=(
            "the kind takes no start-up file: `nv config replace` the exported startup.yaml on each node",
            "ports are numbered in panel order; the virtual machine has no split ports",
        ),
    ),
    # ceos.md: `startup-config`, and the mapping file (EOS 4.28 and later); eos.yml counts ports from 1.
    "eos": Emulation(kind="arista_ceos", image="ceos:{release}", device="eos", endpoint=by_place(1),
        first_ifindex=1, startup=eos.FILE, binds={_MAPPING: f"/mnt/flash/{_MAPPING}:ro"},
        port_map=(_MAPPING, _port_mapping),
        unverified=("cEOS has no ASIC: it may refuse or ignore lines of queues, buffers and PFC",),
    ),
    # Any Linux image with FRR works. Kind and mounted files as in docs/lab-examples/peering-lab.md; FRRouting publishes
    # the image.
    "frr": Emulation(kind="linux", image="quay.io/frrouting/frr:{release}.1", device="frr", endpoint=by_name,
        first_ifindex=None, binds={"frr.conf": "/etc/frr/frr.conf", "daemons": "/etc/frr/daemons"},
        namespace=True, unverified=("an image of FRR's release with the patch level .1 exists",),
    ),
    # cjunosevolved.md: `eth1` to `eth3` are reserved, ports cannot be channelized, `CPTX_COSIM=BX` is the model of 36
    # ports. netlab's device `vptx` is vJunosEvolved, whose first data port is `eth1`.
    "junos": Emulation(kind="juniper_cjunosevolved", image="cjunosevolved:{release}", device="vptx",
        endpoint=by_place(4), first_ifindex=0, startup=junos.FILE, env={"CPTX_COSIM": "BX"},
        unverified=(
            "the container is a PTX, not a QFX: class of service may be refused, and children of split ports do "
            "not exist",
            "the management address comes from the configuration, for it has no FXP0ADDRESS token",
        ),
    ),
    # vr-n9kv.md: data ports `eth1`, `eth2`, … are Ethernet1/1, Ethernet1/2, …; nxos.yml has the same kind and numbers.
    "nxos": Emulation(kind="cisco_n9kv", image="vrnetlab/cisco_n9kv:{release}", device="nxos",
        endpoint=by_place(1), first_ifindex=1, startup=nxos.FILE,
        unverified=(
            "ports are numbered in panel order; the virtual machine has no split ports, so a child's name does not "
            "come up",
            "the virtual machine has no queues: it may refuse lines of queuing and PFC",
        ),
    ),
    # sonic-vm.md: `eth1` is Ethernet0, `eth2` Ethernet4 and so on, in panel order. netlab has the container only
    # (`sonic-vs`, sonic.yml), whose interfaces have the same numbers.
    "sonic": Emulation(kind="sonic-vm", image="vrnetlab/sonic_sonic-vs:{release}", device="sonic",
        endpoint=by_place(1), first_ifindex=0, startup="config_db.json",
        unverified=(
            "the virtual switch has 32 ports of the platform it was built for: names and lanes of another platform's "
            "PORT table may not come up",
            "frr.conf is not handed over: SONiC in split mode needs it copied to /etc/sonic/frr on the node",
        ),
    ),
}  # fmt: skip
"""NOS -> its lab device; a NOS without one cannot be exported."""
