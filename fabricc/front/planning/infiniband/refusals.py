"""Report what an InfiniBand fabric cannot have: hardware, LIDs, lanes and pools, each with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.catalog.rates import load_generations
from fabricc.fabric.infiniband import MOST_LIDS, PLACEHOLDER, LidPlan, Partition, guid_text
from fabricc.fabric.naming import host_port_name
from fabricc.front.planning.topology.models import Models, UnfitError
from fabricc.front.spec.identities import kinds_of, path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.shape import Shape
    from fabricc.front.spec.model import ClusterSpec, Infiniband


_LONGEST_INTERFACE = 15
"""Characters of the name of a network interface (IFNAMSIZ of Linux, with the final zero, is 16)."""
OLDER_NETWORKD = ("ubuntu-22.04", "dgx-os")
"""Systems of Ubuntu 22.04, whose systemd is 249; which release a DGX OS is based on is assumed."""


def check_hardware(spec: ClusterSpec, models: Models, key: str) -> None:
    """Switches and adapters are of InfiniBand, and an adapter has the speed of its port.

    Raises:
        UnfitError: FAB5811 for a switch, FAB5812 for an adapter, FAB3075 for hosts without GPUs.
    """
    wrong = []
    for tier, switch in (("tors", models.tor), ("spines", models.spine), ("cores", models.core)):
        if switch is not None and key not in switch.nos:
            help_ = "InfiniBand switches of the catalog: qm8700 (HDR), qm9700 (NDR), q3400 (XDR)."
            message = f"{switch.title} is not an InfiniBand switch"
            wrong.append(spec.error("FAB5811", message, tier, "model", help=help_))
    for group, host in zip(spec.gpus.groups, models.hosts, strict=True):
        nic = host.nic
        if group.beside is not None:
            message = f"hosts of {group.name} are `beside` another group, which only Ethernet supports"
            help_ = "Remove `beside`: the group then has its own ToRs."
            wrong.append(spec.error("FAB3075", message, *group.path, help=help_))
        elif not host.gpus and spec.network is None:
            message = f"hosts of {group.name} have no GPUs, and InfiniBand rails are for hosts with GPUs"
            help_ = (
                "Describe their network in a spec of its own, with another `cluster` name, `network: {name: storage}` "
                "and the hosts of the rails, with or without `fabric: infiniband`."
            )
            wrong.append(spec.error("FAB3075", message, *group.path, help=help_))
        elif not nic.infiniband:
            message = f"{nic.title} of {host.title} has no InfiniBand"
            help_ = "Name an adapter that has it with `nic`, such as connectx-7, or use `fabric: roce`."
            wrong.append(spec.error("FAB5812", message, *group.path, "model", help=help_))
        elif host.port_gbps > (most := load_generations()[nic.infiniband].product_4x_gbps):
            message = f"a port of {host.title} is of {host.port_gbps} Gb/s; {nic.title} does {most} ({nic.infiniband})"
            help_ = "Name a faster adapter with `nic`, or a host model with slower ports."
            wrong.append(spec.error("FAB5812", message, *group.path, "model", help=help_))
    if wrong:
        raise UnfitError(*wrong)


def check_lids(
    spec: ClusterSpec, models: Models, shape: Shape, lids: LidPlan, units: int, key: str
) -> Iterator[Diagnostic]:
    """FAB5807 beyond 49,151 LIDs in a subnet, FAB5808 beyond the forwarding table of a switch."""
    top = lids.top(shape, units)
    largest = max(0, (MOST_LIDS + 1 - lids.unit) // lids.unit_size(shape))
    if top > MOST_LIDS:
        ports = "splitting the NIC ports into `planes`, each a subnet, or " if shape.sides > 1 else ""
        yield spec.error(
            "FAB5807",
            f"{units} units need LIDs up to {top:,}; a subnet has {MOST_LIDS:,}",
            "gpus",
            help=f"The largest that fits is {largest} units ({largest * shape.hosts_per_unit:,} hosts). "
            f"Beyond: {ports}clusters joined by InfiniBand routers.",
        )
        return
    for tier, switch in (("tors", models.tor), ("spines", models.spine), ("cores", models.core)):
        if switch is not None and top >= (has := int(switch.nos[key]["linear_fdb"])):
            message = (
                f"LIDs go up to {top:,}; the linear forwarding table of {switch.title} has {has:,} entries"
            )
            yield spec.error("FAB5808", message, tier, "model")


def check_classes(spec: ClusterSpec, section: Infiniband, models: Models, key: str) -> Iterator[Diagnostic]:
    """Report FAB5816: every class needs its own virtual lane."""
    switches = [switch for switch in (models.tor, models.spine, models.core) if switch is not None]
    lanes = min(int(switch.nos[key]["data_vls"]) for switch in switches)
    if len(section.classes) > lanes:
        message = f"{len(section.classes)} classes need as many virtual lanes; the switches have {lanes}"
        yield spec.error("FAB5816", message, "priorities")
    if not any(not each.strict for each in section.classes):
        message = "every class is strict: one could starve the others"
        yield spec.error("FAB5816", message, "priorities", help="Leave at least one class without `strict`.")


def ipoib_too_small(spec: ClusterSpec, pool: str, subnets: int, bits: int) -> Diagnostic:
    """FAB5810: the pool does not hold every host on every rail."""
    message = f"the IPoIB pool {pool} is too small: {subnets} subnets of 2^{bits} addresses are needed"
    help_ = f"Use a /{32 - bits - (subnets - 1).bit_length()} or larger."
    return spec.error("FAB5810", message, *("infiniband", "ipoib", "pool"), help=help_)


def connected_mode(spec: ClusterSpec) -> Diagnostic:
    """FAB5806: connected mode on adapters that do datagrams in hardware."""
    return spec.error(
        "FAB5806",
        "connected mode: ConnectX-4 and later run enhanced IPoIB, which sends datagrams only",
        *("infiniband", "ipoib", "mode"),
        help="Remove `mode`: datagrams of 4092 bytes use the adapter's offloads. Or accept FAB5806: "
        "hosts then load ib_ipoib with ipoib_enhanced=0.",
    )


def partition_interfaces(spec: ClusterSpec) -> Iterator[Diagnostic]:
    """FAB5818: hosts whose systemd (249) is older than interfaces of partitions (250)."""
    for group in spec.gpus.groups:
        if group.os in OLDER_NETWORKD:
            message = f"IPoIB of tenants: networkd of {group.os} knows no interface of a partition"
            help_ = "Use ubuntu-24.04 or rhel-9, or write `infiniband.ipoib: false` and set it up by hand."
            yield spec.warning("FAB5818", message, *group.path, help=help_)


def check_interface_names(
    spec: ClusterSpec, wiring: Fabric, partitions: tuple[Partition, ...]
) -> Iterator[Diagnostic]:
    """FAB5819: interfaces of partitions have the port's name and the P_Key, in the 15 characters of the kernel."""
    if not partitions or not wiring.network:
        return
    longest = max(
        len(host_port_name(each.nic_ports, each.rails - 1, each.nic_ports - 1, wiring.network))
        for each in wiring.attachments
    )
    excess = longest + len(".8001") - _LONGEST_INTERFACE
    if excess > 0:
        message = f"network '{wiring.network}': interfaces of partitions have {_LONGEST_INTERFACE + excess} characters"
        help_ = f"Shorten the name of the network by {plural(excess, 'letter')}, or write `infiniband.ipoib: false`."
        yield spec.error("FAB5819", message, "network", "name", help=help_)


def report_unnamed_ports(
    spec: ClusterSpec, models: Models, guid_names: Collection[str]
) -> Iterator[Diagnostic]:
    """Report FAB5601: ports without a PCI address and without a GUID, which the hosts' files cannot name.

    Args:
        spec: the spec.
        models: its models.
        guid_names: the devices and ports that have GUIDs.
    """
    if any("/" in name for name in guid_names):
        return
    for group, host in zip(spec.gpus.groups, models.hosts, strict=True):
        if not host.pci:
            message = f"{host.title}: no PCI addresses in the catalog, so its ports keep the kernel's names"
            help_ = (
                "Name a file of GUIDs in `infiniband.guids`, or add `pci` to the host model, in rail order."
            )
            yield spec.warning("FAB5601", message, *group.path, help=help_)


def report_placeholders(spec: ClusterSpec, missing: int, total: int) -> Iterator[Diagnostic]:
    """FAB5814: GUIDs that are not known yet."""
    if missing:
        first = PLACEHOLDER + (spec.network.number if spec.network else 0) << 44
        shown = guid_text(first)[:7]
        message = f"{missing:,} of {total:,} GUIDs are placeholders ({shown}…): no device answers to them"
        help_ = (
            "Collect the real ones (`ibnetdiscover`, or the labels) into a file `name: GUID` and name it in "
            "`infiniband.guids`; LIDs, names and cables stay as planned."
        )
        at = spec.position("infiniband", "guids") if spec.infiniband else None
        yield Diagnostic("FAB5814", Severity.WARNING, message, at, help_)


def refuse_single(spec: ClusterSpec, models: Models) -> None:
    """Reject settings that single devices of a subnet cannot have: another model or name.

    Raises:
        UnfitError: FAB3414.
    """
    help_ = "Racks, hosts and groups that `gpus` lists may move, be replaced and retire."
    wrong = [
        spec.error(
            "FAB3414",
            f"{name} is to be of another model than its tier",
            "overrides",
            name,
            "model",
            help=help_,
        )
        for name in models.boxes
    ]
    wrong += [
        spec.error(
            "FAB3414",
            f"'{old}' is not a rack, host or group of the spec",
            *path_of(spec, old),
            help=help_,
        )
        for old in kinds_of(spec).devices
    ]
    if wrong:
        raise UnfitError(*wrong)
