"""Cumulus Linux in a virtual machine: kind `nvidia_cumulusvx`, with ports `swp1`, `swp2`, ….

By containerlab's documentation (docs/manual/kinds/nvidia_cumulusvx.md), which describes no start-up configuration and
marks the older kind `cvx` as unmaintained; netlab's device `cumulus_nvue` still uses that one.
"""

from fabricc.back.nos.emulation import Emulation, by_place

EMULATION = Emulation(kind="nvidia_cumulusvx", image="vrnetlab/nvidia_cumulusvx:{release}",
    device="cumulus_nvue", endpoint=by_place(1, "swp"), first_ifindex=1,
    unverified=(
        "the kind takes no start-up file: `nv config replace` the exported startup.yaml on each node",
        "ports are numbered in panel order; the virtual machine has no split ports",
    ),
)  # fmt: skip
