"""The values of one device that rules about the whole fabric need: a few hundred bytes of each."""

from __future__ import annotations

from typing import NamedTuple

from fabricc.base.values import dataclass


class Load(NamedTuple):
    """Gb/s of a switch's links, `cabled` and of those the enabled ones."""

    down: int
    up: int
    enabled_down: int
    enabled_up: int


class SwitchDigest(NamedTuple):
    """One switch in the census.

    Attributes:
        above, below: neighboring switch -> links to it; `peers`: the same for switches of its own tier.
        widest: the switch above with the most bandwidth, and this in Gb/s.
        host_links: links to hosts.
        mtus: MTUs of links between switches; `host_mtu`: the least of links to hosts, 0 when not stated.
        outer_asns: AS numbers of its neighbors outside the fabric.
        policy: key of its class of policies.
        contracts: function of invariant 12 -> line.
        blocks: packed blocks of addresses, see `prefixes`; `segments`: its statements about each, see there.
        file: its routing file below the tree; `line`: of its AS number.
    """

    name: str
    tier: int
    plane: int
    pod: int
    unit: int
    asn: int
    above: tuple[tuple[str, int], ...]
    below: tuple[tuple[str, int], ...]
    widest: tuple[str, int]
    host_links: int
    load: Load
    mtus: tuple[tuple[int, int], ...]
    host_mtu: int
    detect_ms: int
    outer_asns: tuple[int, ...]
    policy: bytes
    contracts: tuple[tuple[bytes, str, int], ...]
    blocks: bytes
    segments: tuple[tuple[str, bytes], ...]
    file: str
    line: int
    peers: tuple[tuple[str, int], ...] = ()


class NicAttachment(NamedTuple):
    """The far end of one port of a host's NIC."""

    unit: int
    rail: int
    nic_port: int
    tor: str


@dataclass(frozen=True, slots=True)
class HostDigest:
    """One host in the census; `timeout_ms` is how long its NICs wait for an acknowledgement, 0 when not stated."""

    name: str
    attachments: tuple[NicAttachment, ...]
    mtu: int
    timeout_ms: int
    contracts: tuple[tuple[bytes, str, int], ...]
    file: str
    line: int
