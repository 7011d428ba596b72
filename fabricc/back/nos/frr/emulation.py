"""FRR in a container: any Linux image with FRR will do, under containerlab's kind `linux` and netlab's device `frr`.

Kind and mounted files as in containerlab's peering lab (docs/lab-examples/peering-lab.md); image as FRRouting
publishes it.
"""

from fabricc.back.nos.emulation import Emulation, by_name

EMULATION = Emulation(kind="linux", image="quay.io/frrouting/frr:{release}.1", device="frr", endpoint=by_name,
    first_ifindex=None, binds={"frr.conf": "/etc/frr/frr.conf", "daemons": "/etc/frr/daemons"},
    namespace=True, unverified=("an image of FRR's release with the patch level .1 exists",),
)  # fmt: skip
