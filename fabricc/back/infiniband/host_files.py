"""Write the files of an InfiniBand host: addresses, device names, NCCL, limits, modules, adapters, and `apply`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fabricc.back.hosts import services
from fabricc.back.hosts.keyfile import DEVICES, connection_uuid
from fabricc.back.hosts.nccl import ALL_JOINED, as_text
from fabricc.back.hosts.nics import GPUS
from fabricc.back.hosts.qos import with_common_parts
from fabricc.back.hosts.words import check_word, fill_template, mark_path, network_path, read_template
from fabricc.back.infiniband.sm_files import default_lane
from fabricc.back.nos.templating import template_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.catalog.model import HostModel
    from fabricc.fabric import infiniband

NCCL = GPUS["nvidia"].settings
RULES = "etc/udev/rules.d/60-rdma-persistent-naming.rules"
NETPLAN = "etc/netplan/60-fabricc-ipoib.yaml"
CONNECTIONS = "etc/NetworkManager/system-connections"
NETWORKD = "etc/systemd/network"
MODULE = "etc/modprobe.d/fabricc-ipoib.conf"
PRIVATE = ("etc/netplan/", f"{CONNECTIONS}/")
"""Beginnings of paths that NetworkManager and netplan want readable by root alone."""
TENANT = 1
"""Index of the only tenant's P_Key in a host's table: opensm puts the default partition first."""


def tenants_by_host(ib: infiniband.InfinibandFabric) -> dict[str, list[infiniband.Partition]]:
    """Return host -> the partitions that it is a member of, by name; hosts without one are absent."""
    tenants: dict[str, list[infiniband.Partition]] = {}
    for partition in ib.partitions:
        for host in partition.hosts:
            tenants.setdefault(host, []).append(partition)
    return tenants


class HostFiles:
    """Renders hosts of one fabric: what is the same for all is looked up once."""

    def __init__(self, ib: infiniband.InfinibandFabric) -> None:
        self.ib = ib
        self._tenants = tenants_by_host(ib)
        self._service = rdma_class(ib.classes)
        group = {unit.group for unit in ib.wiring.units.values()}
        self._sockets = {g: ib.wiring.socket_interface(g) for g in group}
        self._joined = {g: ib.wiring.host_models[g].gpu_interconnect == ALL_JOINED for g in group}
        self._gpu = {g: GPUS[ib.wiring.host_models[g].gpu_vendor] for g in group}
        self._group = {name: unit.group for unit in ib.wiring.units.values() for name in unit.hosts.values()}

    def render(self, host: infiniband.Host) -> Iterator[tuple[str, str]]:
        """Yield path below the host's folder and text of every file."""
        tenants = self._tenants.get(host.name, [])
        gpu = self._gpu[self._group[host.name]]
        if not host.network:
            yield gpu.settings, self._nccl_text(host, tenants) + as_text(gpu.extra)
        yield network_path(RULES, host), _udev_rules(host, self.ib.ipoib is not None)
        yield from system_files(host, self.ib.ipoib, tenants)
        if self.ib.ipoib is None:
            return
        if host.os.startswith("rhel"):
            yield from _render_keyfiles(host, self.ib.ipoib, tenants, self.ib.wiring.cluster)
        elif tenants:
            yield from _render_networkd(host, self.ib.ipoib, tenants)
        else:
            view = {**_ipoib_mode(self.ib.ipoib), "host": host.name, "ports": host.ports}
            yield network_path(NETPLAN, host), _render_template("netplan.yaml.j2", view)
        if self.ib.ipoib.mode == "connected":
            yield network_path(MODULE, host), "options ib_ipoib ipoib_enhanced=0\n"

    def _nccl_text(self, host: infiniband.Host, tenants: list[infiniband.Partition]) -> str:
        shape = self.ib.wiring.shape
        shared = shape.rails_per_tor == shape.rails
        view = {
            "service": self._service,
            "sockets": self._sockets[self._group[host.name]],
            "devices": rdma_ports(host),
            "pkey_index": TENANT if has_one_tenant_per_port(host, tenants) else None,
            "cross_nic": 0 if shape.rails_apart else 1 if shared else 2,
            "gpus_joined": self._joined[self._group[host.name]],
        }
        return _render_template("nccl.conf.j2", view)


def rdma_class(classes: tuple[infiniband.ServiceClass, ...]) -> infiniband.ServiceClass:
    """Return the class of collectives: the one named `rdma`, else the default one."""
    return next((each for each in classes if each.name == "rdma"), classes[default_lane(classes)])


def has_one_tenant_per_port(host: infiniband.Host, tenants: Sequence[infiniband.Partition]) -> bool:
    """Return whether each port of a host is in exactly one of its tenants, so that its P_Key has the same index."""
    return {len(tenants_of(port, tenants)) for port in host.ports} == {1}


def rdma_ports(host: infiniband.Host) -> str:
    """Return the host's adapters as NCCL and UCX list them: device and its only port."""
    return ",".join(f"{port.rdma}:1" for port in host.ports)


def child_interface(port: infiniband.HostPort, tenant: infiniband.Partition) -> str:
    """Return the interface of a tenant on a port, as the kernel names it."""
    return f"{port.name}.{tenant.pkey | 0x8000:04x}"


def mode_of(path: str) -> int:
    """Return the mode that a file below a host's folder is written with."""
    runs = path == services.APPLY or path.startswith(SCRIPT_FOLDER)
    return 0o755 if runs else 0o600 if path.startswith(PRIVATE) else 0o644


def keyfile_of(interface: str) -> str:
    """Return the path of NetworkManager's keyfile of an interface."""
    return f"{CONNECTIONS}/fabricc-{interface}.nmconnection"


def _render_keyfiles(
    host: infiniband.Host, ipoib: infiniband.IpoibPlan, tenants: list[infiniband.Partition], cluster: str
) -> Iterator[tuple[str, str]]:
    """Yield the keyfiles.

    A tenant's host has its address in its first tenant: limited members of the default one reach nobody.
    """
    names = list[str]()
    for port in host.ports:
        of_port = tenants_of(port, tenants)
        names.append(port.name)
        own = None if of_port else port.address
        uuid = connection_uuid(cluster, host.name, port.name)
        view = {
            **_ipoib_mode(ipoib),
            "interface": port.name,
            "uuid": uuid,
            "pkey": None,
            "parent": None,
            "address": own,
        }
        yield keyfile_of(port.name), _render_template("keyfile.j2", view)
        for index, tenant in enumerate(of_port):
            name, pkey = child_interface(port, tenant), tenant.pkey | 0x8000
            address = port.address if index == 0 else None
            uuid = connection_uuid(cluster, host.name, name)
            own_view = {
                "interface": name,
                "uuid": uuid,
                "pkey": pkey,
                "parent": port.name,
                "address": address,
            }
            names.append(name)
            yield keyfile_of(name), _render_template("keyfile.j2", {**_ipoib_mode(ipoib), **own_view})
    unit = f"fabricc-{host.network}" if host.network else "fabricc"
    yield network_path(DEVICES, host), _render_template("carrier.conf.j2", {"names": names, "unit": unit})


def _render_networkd(
    host: infiniband.Host, ipoib: infiniband.IpoibPlan, tenants: list[infiniband.Partition]
) -> Iterator[tuple[str, str]]:
    """Yield the files of networkd for partitions (netplan has no key for them; systemd 250 and later)."""
    for port in host.ports:
        of_port = tenants_of(port, tenants)
        if not of_port:
            alone = {**_ipoib_mode(ipoib), "interface": port.name, "children": [], "address": port.address}
            yield f"{NETWORKD}/60-fabricc-{port.name}.network", _render_template("parent.network.j2", alone)
            continue
        first = of_port[0]
        name = child_interface(port, first)
        base = {**_ipoib_mode(ipoib), "interface": port.name, "children": [name], "address": None}
        yield f"{NETWORKD}/60-fabricc-{port.name}.network", _render_template("parent.network.j2", base)
        view = {
            **_ipoib_mode(ipoib),
            "interface": name,
            "pkey": f"0x{first.pkey | 0x8000:04x}",
            "address": port.address,
        }
        yield f"{NETWORKD}/60-fabricc-{name}.netdev", _render_template("child.netdev.j2", view)
        yield f"{NETWORKD}/60-fabricc-{name}.network", _render_template("child.network.j2", view)


def _udev_rules(host: infiniband.Host, ipoib: bool) -> str:
    named, unnamed = [], []
    for port in host.ports:
        if port.real_guid:
            digits = f"{port.guid:016x}"
            groups = ":".join(digits[at : at + 4] for at in range(0, 16, 4))
            octets = ":".join(digits[at : at + 2] for at in range(0, 16, 2))
            device, netdev = f'ATTR{{node_guid}}=="{groups}"', f'ATTR{{address}}=="*:{octets}"'
        elif port.pci:
            device = netdev = f'KERNELS=="{port.pci}"'
        else:
            unnamed.append(port.rdma)
            continue
        named.append({"device": device, "netdev": netdev, "rdma": port.rdma, "name": port.name})
    view = {"named": named, "unnamed": unnamed, "ipoib": ipoib, "network": host.network}
    return _render_template("naming.rules.j2", view)


def _ipoib_mode(ipoib: infiniband.IpoibPlan) -> dict[str, object]:
    return {"mode": ipoib.mode, "mtu": ipoib.mtu}


def _render_template(name: str, view: Mapping[str, object]) -> str:
    return template_environment("infiniband").get_template(name).render(view)


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
"""Tool that configures IPoIB interfaces -> the part of the script that activates it."""


def system_files(
    host: infiniband.Host, ipoib: infiniband.IpoibPlan | None, tenants: Sequence[infiniband.Partition]
) -> Iterator[tuple[str, str]]:
    """Yield path and text of the files below the addresses, and of the script that applies all files.

    Args:
        host: whose files.
        ipoib: how IP runs over the fabric, or None.
        tenants: partitions that the host is a member of.
    """
    of_ipoib = f"{IPOIB_MODULE}\n" if ipoib else ""
    if not host.rails_elsewhere:
        yield services.MODULES, services.modules_text(host.model.gpu_vendor, host.leave_out) + of_ipoib
        yield from services.limit_files(host.leave_out).items()
    elif of_ipoib:
        yield network_path(services.MODULES, host), of_ipoib
    script = network_path(SCRIPT, host)
    name = script.removeprefix(SCRIPT_FOLDER)
    yield script, _adapter_script(host, ipoib, tenants)
    yield network_path(UNIT, host), fill_template(read_template("fabricc-ib@.service.j2"), script=name)
    names = "|".join([check_word(port.rdma) for port in host.ports])
    yield network_path(HOOK, host), fill_template(read_template("ib-hook.rules.j2"), names=names, script=name)
    yield services.APPLY, apply_script(host.os, network_of(host, ipoib, tenants), host.network)


_ROW = re.compile(r"(?m)^\S+\) port=\d+ .* ipoib=(\S*) ipoib_mode=(\S*) pkeys=(\S*) ;;$")


def required_host_files(apply: str, script_text: str) -> set[str]:
    """Return the files that a host of the rails must have; empty for one whose files are of a further network.

    Args:
        apply: the script that applies its files, which differs by what configures the interfaces.
        script_text: the script with the settings of its adapters, which has a row for each port.
    """
    system = services.system_of(apply)
    network = next((one for one in _ACTIVATION if system and apply == apply_script(system, one)), None)
    if network is None:
        return set()
    found = {RULES, SCRIPT, UNIT, HOOK, services.MODULES}
    rows = [
        (name, mode, [key for key in pkeys.split(",") if key])
        for name, mode, pkeys in _ROW.findall(script_text)
    ]
    if any(mode == "connected" for _, mode, _ in rows):
        found.add(MODULE)
    children = {
        name: [f"{name}.{key.removeprefix('0x')}" for key in pkeys] for name, _, pkeys in rows if name
    }
    if network == "netplan":
        found.add(NETPLAN)
    elif network == "NetworkManager":
        found |= {
            DEVICES,
            *(keyfile_of(one) for name, several in children.items() for one in (name, *several)),
        }
    elif network == "networkd":
        names = [one for name, several in children.items() for one in (name, *several[:1])]
        found |= {f"{NETWORKD}/60-fabricc-{name}.network" for name in names}
        found |= {
            f"{NETWORKD}/60-fabricc-{name}.netdev" for several in children.values() for name in several[:1]
        }
    return found


def network_of(
    host: infiniband.Host, ipoib: infiniband.IpoibPlan | None, tenants: Sequence[infiniband.Partition]
) -> str:
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


def tenants_of(
    port: infiniband.HostPort, tenants: Sequence[infiniband.Partition]
) -> list[infiniband.Partition]:
    """Return those of its host's tenants that have a port."""
    return [tenant for tenant in tenants if tenant.has_rail(port.host, port.rail)]


def port_row(
    port: infiniband.HostPort, ipoib: infiniband.IpoibPlan | None, tenants: Sequence[infiniband.Partition]
) -> str:
    """Return the line of the adapters' script that describes a port."""
    number = int(port.pci[-1:] or 0) + 1 if port.nic_port == 0 else port.nic_port + 1
    pkeys = ",".join([f"0x{tenant.pkey | 0x8000:04x}" for tenant in tenants_of(port, tenants)])
    mode = f"ipoib={check_word(port.name)} ipoib_mode={ipoib.mode}" if ipoib else "ipoib= ipoib_mode="
    return f"{check_word(port.rdma)}) port={number} gbps={port.gbps} lid={port.lid} {mode} pkeys={pkeys} ;;"


def _adapter_script(
    host: infiniband.Host, ipoib: infiniband.IpoibPlan | None, tenants: Sequence[infiniband.Partition]
) -> str:
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
    head, _, rest = services.apply_template(_ACTIVATION[network], "apply-infiniband.sh").partition(_HOST_NAME)
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
