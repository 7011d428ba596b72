"""The system of an InfiniBand host below its addresses: limits, modules, adapters, and the script that applies all."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts.qos import with_common_parts
from fabricc.back.hosts.services import APPLY, MODULES, apply_template, limit_files, modules_text
from fabricc.back.hosts.words import check_word, fill_template, mark_path, network_path, read_template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.catalog.model import HostModel
    from fabricc.fabric.infiniband.model import Host, HostPort, IpoibPlan, Partition

SCRIPT_FOLDER = "usr/local/sbin/"
SCRIPT = f"{SCRIPT_FOLDER}fabricc-ib"
UNIT = "etc/systemd/system/fabricc-ib@.service"
HOOK = "etc/udev/rules.d/70-fabricc-ib.rules"
IPOIB_MODULE = "ib_ipoib"
LINK_TYPE = "LINK_TYPE"
INFINIBAND = 1
"""Value of LINK_TYPE in mlxconfig for an InfiniBand port; 2 is Ethernet."""

_HOST_NAME = "host_name() {\n"
_ACTIVATION = {
    "netplan": "apply-netplan.sh",
    "networkd": "apply-networkd.sh",
    "NetworkManager": "apply-networkmanager.sh",
    "": "apply-no-network.sh",
}
"""What configures the interfaces of IP over InfiniBand -> the part of the script that activates it."""


def system_files(
    host: Host, ipoib: IpoibPlan | None, tenants: Sequence[Partition]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files below the addresses, and of the script that applies all files.

    Args:
        host: whose files.
        ipoib: how IP runs over the fabric, or None.
        tenants: partitions that the host is a member of.
    """
    of_ipoib = f"{IPOIB_MODULE}\n" if ipoib else ""
    if not host.rails_elsewhere:
        yield MODULES, modules_text(host.model.gpu_vendor, host.leave_out) + of_ipoib
        yield from limit_files(host.leave_out).items()
    elif of_ipoib:
        yield network_path(MODULES, host), of_ipoib
    script = network_path(SCRIPT, host)
    name = script.removeprefix(SCRIPT_FOLDER)
    yield script, _adapter_script(host, ipoib, tenants)
    yield network_path(UNIT, host), fill_template(read_template("fabricc-ib@.service.j2"), script=name)
    names = "|".join([check_word(port.rdma) for port in host.ports])
    yield network_path(HOOK, host), fill_template(read_template("ib-hook.rules.j2"), names=names, script=name)
    yield APPLY, apply_script(host.os, network_of(host, ipoib, tenants), host.network)


def network_of(host: Host, ipoib: IpoibPlan | None, tenants: Sequence[Partition]) -> str:
    """Return what configures the interfaces of IP over InfiniBand on a host; "" where there are none."""
    if ipoib is None:
        return ""
    if host.os.startswith("rhel"):
        return "NetworkManager"
    return "networkd" if tenants else "netplan"


def firmware_of(model: HostModel) -> dict[str, int]:
    """Return the settings that an adapter keeps: those of the catalog, with ports of InfiniBand."""
    kept = dict(model.nic.firmware)
    return kept | ({LINK_TYPE: INFINIBAND} if LINK_TYPE in kept else {})


def tenants_of(port: HostPort, tenants: Sequence[Partition]) -> list[Partition]:
    """Return those of its host's tenants that have a port."""
    return [tenant for tenant in tenants if tenant.has_rail(port.host, port.rail)]


def port_row(port: HostPort, ipoib: IpoibPlan | None, tenants: Sequence[Partition]) -> str:
    """Return the line of the adapters' script that describes a port."""
    number = int(port.pci[-1:] or 0) + 1 if port.nic_port == 0 else port.nic_port + 1
    pkeys = ",".join([f"0x{tenant.pkey | 0x8000:04x}" for tenant in tenants_of(port, tenants)])
    mode = f"ipoib={check_word(port.name)} ipoib_mode={ipoib.mode}" if ipoib else "ipoib= ipoib_mode="
    return f"{check_word(port.rdma)}) port={number} gbps={port.gbps} lid={port.lid} {mode} pkeys={pkeys} ;;"


def _adapter_script(host: Host, ipoib: IpoibPlan | None, tenants: Sequence[Partition]) -> str:
    text = with_common_parts(read_template("fabricc-ib.sh.j2"))
    return fill_template(
        text.replace("{{ family }}\n", read_template("nic-mlxconfig.sh")),
        host=check_word(host.name),
        read_request_bytes=host.model.nic.read_request_bytes,
        leaves_out=" ".join(host.leave_out),
        firmware="".join(f"{key}={value}\n" for key, value in sorted(firmware_of(host.model).items())),
        ports="\n".join([port_row(port, ipoib, tenants) for port in host.ports]),
        names=" ".join([port.rdma for port in host.ports]),
    )


_CARD = """\
    [ -d "${SYSFS:-/sys}/class/infiniband/$1" ] || missing_card "$1"
"""


@lru_cache(maxsize=16)
def apply_script(system: str, network: str, home: str = "") -> str:
    """Return the script that applies the files of InfiniBand hosts.

    Args:
        system: operating system of the hosts.
        network: what configures the interfaces of IP over InfiniBand.
        home: the further network that the files are of; "" for the rails.
    """
    mark = f"-{home}" if home else ""
    netplan = mark_path("60-fabricc-ipoib.yaml", mark)
    head, _, rest = apply_template(_ACTIVATION[network], "apply-infiniband.sh").partition(_HOST_NAME)
    if network in ("netplan", "NetworkManager"):  # these name the host in the files of its addresses
        _, _, rest = rest.partition("}\n\n")
        script = head + rest
    else:
        script = head + _HOST_NAME + rest
    script = script.replace("{{ scripts }}\n", "")
    script = script.replace("{{ script }}\n", _CARD, 1).replace("{{ script }}\n", "")
    udev, networkd = "etc/udev/* | etc/modprobe.d/*", "etc/systemd/network/*"
    network_files = "etc/netplan/* | etc/NetworkManager/conf.d/*"
    return fill_template(
        script.replace("NIC_SCRIPT=usr/local/sbin/fabricc-roce", f"NIC_SCRIPT={SCRIPT}{mark}").replace(
            "fabricc-roce --check", "fabricc-ib --check"
        ),
        system=system,
        part=home or "rails",
        netplan=netplan,
        own=netplan,
        whose="",
        early_files=udev,
        network_files=f"{network_files} | {networkd}",
        naming_files="*/60-rdma-persistent-naming*.rules | etc/modprobe.d/*",
        unplaced="load ib_ipoib, and see its name and its P_Key",
        links="/etc/systemd/network/60-fabricc-*",
        devices="${SYSFS:-/sys}/class/infiniband",
        link_types="1 | 32",  # fabricc-ib looks at the link layer
        cards="cards",
        parent="${port%%.*}",
    )
