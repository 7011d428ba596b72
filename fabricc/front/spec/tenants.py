"""Tenants as typed values, and what a fabric with tenants cannot be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fabricc.fabric.tenants import port_mtu
from fabricc.front.spec.document import format_path
from fabricc.front.spec.model import TenantWish

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.front.spec.document import Findings

SECTION = "tenants"
_MOST_NAMES = 65536
_RANGE = re.compile(r"(.*?)([0-9]{1,18})\.\.([0-9]{1,18})")


def build_tenants(
    raw: Mapping[str, Any], spec: Mapping[str, Any], findings: Findings
) -> tuple[TenantWish, ...]:
    """Return the tenants in spec order, and report what they cannot be.

    `spec` is the whole spec with its defaults, as far as it fits the schema.
    """
    if spec.get("fabric") != "infiniband":
        _check_fabric(spec, findings)
    tenants = []
    for name, each in raw.items():
        path = (SECTION, name)
        if "hosts" not in each and "racks" not in each:
            message = f"{format_path(path)} has neither hosts nor racks"
            findings.error("FAB3313", message, *path, help="Write `hosts: […]` or `racks: […]`.")
        hosts, racks = (
            _expand_names(each.get(key, ()), (*path, key), findings) for key in ("hosts", "racks")
        )
        gpus = _expand_gpus(each["gpus"], (*path, "gpus"), findings) if "gpus" in each else None
        if gpus is not None and not hosts:
            message = f"{format_path(path)} names GPUs of no host"
            findings.error(
                "FAB3316", message, *path, "gpus", help="Name the hosts that have them, as `hosts`."
            )
        tenants.append(TenantWish(name, hosts, racks, gpus, tuple(each.get("reach", ()))))
    return tuple(tenants)


def _check_fabric(spec: Mapping[str, Any], findings: Findings) -> None:
    """Report sections that tenants do not go with."""
    if "evpn" in spec:
        message = "hosts are in segments already, and a port is in one VRF"
        help_ = "Keep `evpn` for a front end, in `networks`, or remove one of the two sections."
        findings.error("FAB3320", message, SECTION, help=help_)
    if "external" in spec:
        message = "`external` leads out of the fabric's own routing table, where no tenant is"
        findings.error(
            "FAB3302", message, SECTION, help="Remove `external`: ways out of a VRF are not planned."
        )
    if "spines" not in spec:
        return
    if spec.get("addressing", {}).get("family") == "ipv6":
        message = "VTEPs send VXLAN over IPv4, and the fabric carries IPv6 alone"
        findings.error("FAB3301", message, SECTION, help="Write `addressing: {family: dual}`, or ipv4.")
    if "mtu" in spec and (most := port_mtu(spec["mtu"]["switch"], tunnels=True)) < spec["mtu"]["host"]:
        more = spec["mtu"]["switch"] - most
        message = (
            f"hosts send packets of {spec['mtu']['host']} bytes, and with {more} of VXLAN around them links between "
            f"switches hold {most}"
        )
        help_ = f"Write `mtu: {{host: {most}}}` or less."
        if (switch := spec["mtu"]["host"] + more) <= 9416:
            help_ = f"Write `mtu: {{switch: {switch}}}`, or `host: {most}` or less."
        findings.error("FAB3304", message, "mtu", help=help_)


def _expand_names(names: Sequence[str], path: tuple[str, ...], findings: Findings) -> tuple[str, ...]:
    """Return the names, with `host01..16` in place of `host01` to `host16`; duplicates count once."""
    found: dict[str, None] = {}
    for at, text in enumerate(names):
        expanded = _expand_range(text)
        if expanded is None:
            message = f"{format_path((*path, at))}: {text} does not ascend from a number"
            findings.error("FAB3313", message, *path, at, help="Write for example `su001-host01..16`.")
        found |= dict.fromkeys(expanded or ())
    return tuple(found)


def list_names(names: Sequence[str]) -> list[str] | None:
    """Return the names that a list of names and ranges stands for; None where a range does not ascend."""
    ranges = [_expand_range(str(text)) for text in names]
    return None if None in ranges else [name for each in ranges for name in each or ()]


def _expand_range(text: str) -> list[str] | None:
    """Return the names of a range, or a name; None for what does not ascend from a number."""
    if ".." not in text:
        return [text]
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    stem, digits, last = found.groups()
    if not int(digits) < int(last) or int(last) - int(digits) >= _MOST_NAMES:
        return None
    return [f"{stem}{number:0{len(digits)}}" for number in range(int(digits), int(last) + 1)]


def _expand_gpus(gpus: Sequence[int | str], path: tuple[str, ...], findings: Findings) -> tuple[int, ...]:
    """Return the numbers of GPUs, ascending."""
    return tuple(
        sorted({number for at, each in enumerate(gpus) for number in _gpu_range(each, (*path, at), findings)})
    )


def _gpu_range(gpu: int | str, path: tuple[str | int, ...], findings: Findings) -> Iterator[int]:
    first, _, last = str(gpu).partition("-")
    if last and int(first) >= int(last):
        message = f"{format_path(path)}: {gpu} does not ascend"
        findings.error("FAB3316", message, *path, help="Write for example `0-3`.")
        return
    yield from range(int(first), int(last or first) + 1)
