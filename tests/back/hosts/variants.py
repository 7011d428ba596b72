"""Hosts of every shape that the back end renders."""

from __future__ import annotations

from dataclasses import replace

from fabricc.catalog.load import load_catalog
from fabricc.fabric.model import Host, Peer
from tests import samples

LOSSY = (replace(samples.CLASSES[0], dscps=tuple(range(64)), weight_percent=100),)
TWO_LOSSLESS = (
    replace(samples.CLASSES[0], dscps=tuple(d for d in range(64) if d not in (26, 34, 48))),
    replace(samples.CLASSES[1], weight_percent=60),
    replace(samples.CLASSES[1], name="storage", priority=4, dscps=(34,), data_dscp=34, weight_percent=30),
    samples.CLASSES[2],
)


def dual_port() -> Host:
    """Two ToRs per rail: each NIC has two ports, each with an address of its own."""
    base = samples.host()
    ports = []
    for port in base.ports:
        for nic_port, plane in enumerate("ab"):
            ports.append(
                replace(
                    port, name=f"{port.name}{plane}", rdma=f"{port.rdma}{plane}",
                    nic_port=nic_port, on_nic=nic_port, plane=nic_port,
                    peer=Peer(f"su001-tor1{plane}", f"p{port.rail}"), table=100 + 2 * port.rail + nic_port,
                    ipv4=f"10.{port.rail}.{nic_port}.1/31", gateway4=f"10.{port.rail}.{nic_port}.0",
                )
            )  # fmt: skip
    return replace(base, ports=tuple(ports))


def ipv6_only() -> Host:
    base = samples.host(dual=True)
    ports = tuple(replace(port, ipv4=None, gateway4=None) for port in base.ports)
    return replace(base, ports=ports, fabric_prefixes4=())


def with_amd(host: Host) -> Host:
    """The host with GPUs of AMD."""
    return replace(host, model=replace(host.model, gpu_vendor="amd"))


def eight_rails() -> Host:
    base = samples.host()
    ports = tuple(
        replace(
            base.ports[0], name=f"rail{r}", rail=r, rdma=f"mlx5_r{r}", pci=f"0000:{16 * r + 8:02x}:00.0",
            ipv4=f"10.{r}.0.1/31", gateway4=f"10.{r}.0.0", table=100 + r,
            peer=Peer(f"su001-tor{r + 1}a", "p1"),
        )
        for r in range(8)
    )  # fmt: skip
    return replace(base, ports=ports)


def without_pci() -> Host:
    base = samples.host()
    return replace(base, ports=tuple(replace(port, pci="") for port in base.ports))


def other_nic() -> Host:
    base = samples.host()
    nic = replace(samples.CX7, name="other", title="Other", vendor="other", driver="other_en")
    return replace(base, model=replace(base.model, nic=nic))


VARIANTS: dict[str, Host] = {
    "plain": samples.host(),
    "dual-stack": samples.host(dual=True),
    "isolated": samples.host(isolated=True),
    "ipv6-only": ipv6_only(),
    "dual-port": dual_port(),
    "eight-rails": eight_rails(),
    "lossy": replace(samples.host(), classes=LOSSY),
    "two-lossless": replace(samples.host(), classes=TWO_LOSSLESS),
    "two-prefixes": replace(samples.host(), fabric_prefixes4=("10.0.0.0/16", "10.1.0.0/16")),
    "without-pci": without_pci(),
    "other-nic": other_nic(),
    "amd": with_amd(samples.host()),
}


def with_os(os: str, host: Host | None = None) -> Host:
    """The host with another operating system."""
    return replace(host or samples.host(), os=os)


def with_nic(name: str, host: Host | None = None) -> Host:
    """The host with NICs of the catalog; RDMA devices are named after their driver."""
    base = host or samples.host()
    nic = load_catalog([])[0].nics[name]
    ports = tuple(
        replace(port, rdma=f"{nic.rdma_prefix}_{port.rdma.rpartition('_')[2]}") for port in base.ports
    )
    return replace(base, model=replace(base.model, nic=nic), ports=ports)


SYSTEMS = ("ubuntu-22.04", "ubuntu-24.04", "dgx-os", "rhel-9", "rhel-10")
NICS = (
    "connectx-5", "connectx-6", "connectx-6-dx", "connectx-7", "connectx-8", "connectx-9", "bluefield-2", "bluefield-3",
    "thor", "thor2", "pollara", "e810", "e810-iwarp", "e830",
)  # fmt: skip

VARIANTS |= {
    f"rhel-9-{name}": with_os("rhel-9", VARIANTS[name]) for name in ("dual-stack", "dual-port", "ipv6-only")
}
VARIANTS |= {os: with_os(os) for os in SYSTEMS}
VARIANTS |= {name: with_nic(name) for name in NICS}
VARIANTS["spread"] = replace(
    with_nic("connectx-7", dual_port()), planes=2, spreads_packets=True, recommended_qps=1
)
