"""The tables under `plan/`: one row per address, session, lossless profile and cable."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import csv_text
from fabricc.base.values import dataclass
from fabricc.fabric.links import HOST, cable_rows
from fabricc.fabric.management import address_owners
from fabricc.fabric.model import CableRow, Direction, Host, Switch
from fabricc.fabric.out_of_band import MANAGEMENT_PORT
from fabricc.fabric.out_of_band_cables import management_cables
from fabricc.fabric.shape import PortLayout, SwitchId, TierName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.front.planning.quality import QosWorksheet


ADDRESSES = ("device", "interface", "family", "address", "peer", "peer_interface")
SESSIONS = (
    "device", "asn", "interface", "transport", "local", "peer", "remote", "remote_asn", "group",
)  # fmt: skip
CABLING = (
    "kind", "a_device", "a_port", "b_device", "b_port", "speed_gbps", "medium", "length_m",
)  # fmt: skip
QOS = (
    "tier", "model", "nos", "profile", "ports", "speed_gbps", "cable_m", "priorities", "size_bytes", "xon_bytes",
    "xoff_bytes", "xon_offset_bytes", "dynamic_th", "ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent", "source",
)  # fmt: skip
WORKSHEET = ("switches", "model", "profile", "quantity", "value", "unit", "source")
SIZED = (("addresses", ADDRESSES), ("cabling", CABLING), ("sessions", SESSIONS))
"""The tables that are assembled from the rows of every device, in the order of `Fragments.sizes`."""
CLASSES = ("class", "priority", "dscps", "lossless", "strict", "weight_percent", "ecn", "cnp")
_UPLINK_KINDS = {TierName.TOR: "spine", TierName.SPINE: "core"}
_CHUNK_ROWS = 4096

EXTERNAL, PEER = Direction.EXTERNAL, Direction.PEER  # as `links.HOST`

Row = tuple[object, ...]
TextRow = tuple[str, ...]


def join_rows(rows: Iterable[TextRow]) -> str:
    """Return rows as `csv_text` does; all rows have one length and consist of names, ports and addresses.

    They are joined without quoting. A field that needs quotes is detected by the number of separators.
    """
    listed = list(rows)
    text = "".join([",".join(row) + "\n" for row in listed])
    separators = sum(map(len, listed)) - len(listed)
    plain = text.count(",") == separators and text.count("\n") == len(listed)
    return text if plain and '"' not in text and "\r" not in text else csv_text(listed)


Share = tuple[tuple[Row, int], ...]
"""The rows of a switch in the table of lossless profiles, and the number of its ports for each."""


@dataclass(slots=True)
class Fragments:
    """The tables' rows of some devices.

    Attributes:
        texts: in the order of `SIZED`.
        sizes: characters of each of the three that a device has, in the order of the devices.
        shares: of each switch among them.
    """

    texts: Sequence[str] = ()
    sizes: list[tuple[int, int, int]] = field(default_factory=list)
    shares: list[Share] = field(default_factory=list)


def device_rows(devices: Iterable[tuple[Switch, PortLayout] | Host]) -> Fragments:
    """Return the rows of these devices, in their order."""
    addresses: list[str] = []
    cabling: list[str] = []
    sessions: list[str] = []
    shares: dict[Share, Share] = {}
    found = Fragments()
    for device in devices:
        if isinstance(device, Host):
            addresses.append(join_rows(host_addresses(device)))
            found.sizes.append((len(addresses[-1]), 0, 0))
            continue
        switch, layout = device
        addresses.append(join_rows(switch_addresses(switch)))
        cabling.append(join_rows(switch_cables(switch, layout)))
        sessions.append(join_rows(switch_sessions(switch)))
        found.sizes.append((len(addresses[-1]), len(cabling[-1]), len(sessions[-1])))
        share = switch_share(switch)
        found.shares.append(shares.setdefault(share, share))
    found.texts = "".join(addresses), "".join(cabling), "".join(sessions)
    return found


def switch_addresses(switch: Switch) -> Iterator[TextRow]:
    """Yield a switch's management, loopback and port addresses."""
    yield switch.name, "management", "ipv4", switch.management.address, "", ""
    if switch.loopback4:
        yield switch.name, "loopback", "ipv4", f"{switch.loopback4}/32", "", ""
    if switch.loopback6:
        yield switch.name, "loopback", "ipv6", f"{switch.loopback6}/128", "", ""
    name = switch.name
    for port in switch.ports:
        device, far = (port.peer.device, port.peer.port) if port.peer else ("", "")
        if port.ipv4:
            yield name, port.name, "ipv4", port.ipv4, device, far
        if port.ipv6:
            yield name, port.name, "ipv6", port.ipv6, device, far
        if port.unnumbered:
            yield name, port.name, "link-local", "", device, far


def switch_cables(switch: Switch, layout: PortLayout) -> Iterator[TextRow]:
    """A switch's part of the cabling plan: as `Fabric.cables` has it a ToR's host links and uplinks, then ways out."""
    name, kind, slots = switch.name, _UPLINK_KINDS.get(switch.tier, ""), layout.slots
    inside = (HOST, PEER, Direction.UP)
    there = {(port.cage, port.child): port for port in switch.ports if port.peer and port.direction in inside}
    for at in (*layout.down, *layout.up) if there else ():
        port = there.get((slots[at].cage, slots[at].child))
        if port is None or port.peer is None:
            continue
        far, end = port.peer, (str(port.speed_gbps), port.medium or "", str(port.cable_m))
        if port.direction is HOST:
            yield "host", far.device, far.port, name, port.name, *end
        elif port.direction is PEER:
            if name < far.device:
                yield "peer", name, port.name, far.device, far.port, *end
        else:
            yield kind, name, port.name, far.device, far.port, *end
    for port in switch.ports:
        if port.peer and port.direction is EXTERNAL:
            ends = (name, port.name, port.peer.device, port.peer.port)
            yield "external", *ends, str(port.speed_gbps), port.medium or "", str(port.cable_m)


def host_addresses(host: Host) -> Iterator[TextRow]:
    """Yield a host's addresses on its rails."""
    for port in host.ports:
        for family, address in (("ipv4", port.ipv4), ("ipv6", port.ipv6)):
            if address:
                yield host.name, port.name, family, address, port.peer.device, port.peer.port


def switch_sessions(switch: Switch) -> Iterator[TextRow]:
    """Yield a switch's BGP sessions."""
    asn = str(switch.bgp.asn)
    for s in switch.bgp.every_session:
        yield (
            switch.name, asn, s.port, s.transport, s.local or "", s.peer, s.remote or "", str(s.remote_asn),
            s.group,
        )  # fmt: skip


def switch_share(switch: Switch) -> Share:
    """Return the switch's port profiles as rows, and how many ports use each."""
    profiles = {profile.name: profile for profile in switch.qos.profiles}
    priorities = " ".join(str(c.priority) for c in switch.qos.lossless)
    share = []
    for name, ports in sorted(Counter(port.profile for port in switch.ports if port.profile).items()):
        p, h, ecn = profiles[name], profiles[name].headroom, profiles[name].ecn
        buffers = (
            (h.size_bytes, h.xon_bytes, h.xoff_bytes, h.xon_offset_bytes, h.dynamic_th) if h else ("",) * 5
        )
        key = (
            switch.tier.value, switch.model.name, f"{switch.nos} {switch.release}".strip(), name, p.speed_gbps,
            p.cable_m, priorities, *("" if value is None else value for value in buffers),
            *((ecn.min_bytes, ecn.max_bytes, ecn.max_percent) if ecn else ("", "", "")), h.source if h else "",
        )  # fmt: skip
        share.append((key, ports))
    return tuple(share)


def total_ports(shares: Iterable[Share]) -> Counter[Row]:
    """Return ports per lossless profile, of all these switches."""
    ports: Counter[Row] = Counter()
    for share, switches in Counter(shares).items():
        for row, count in share:
            ports[row] += count * switches
    return ports


def qos_rows(profiles: Mapping[Row, int]) -> Iterator[Row]:
    """Yield the rows of the lossless profiles, sorted, with the number of ports filled in."""
    for key in sorted(profiles, key=str):
        yield (*key[:4], profiles[key], *key[4:])


def qos_text(shares: Iterable[Share]) -> str:
    """Return the table of lossless profiles, of all switches' shares."""
    return csv_text([QOS, *qos_rows(total_ports(shares))])


def worksheet_rows(worksheets: Iterable[QosWorksheet]) -> Iterator[Row]:
    """Yield every step of the lossless arithmetic as a row."""
    for sheet in worksheets:
        for line in sheet.rows:
            yield sheet.switches, sheet.model.name, sheet.profile.name, *line


def worksheet_summary(worksheets: Iterable[QosWorksheet]) -> list[dict[str, object]]:
    """Return the same as JSON holds it: one object per profile, with its steps in order."""
    return [
        {
            "switches": sheet.switches,
            "model": sheet.model.name,
            "profile": sheet.profile.name,
            "steps": [line._asdict() for line in sheet.rows],
        }
        for sheet in worksheets
    ]


def class_rows(switch: Switch) -> Iterator[Row]:
    """Yield rows of the class table; every switch of a fabric has the same."""
    for c in switch.qos.classes:
        dscps = " ".join(str(d) for d in c.dscps)
        yield c.name, c.priority, dscps, c.lossless, c.strict, c.weight_percent, c.ecn, c.cnp


def _switch_cables(fabric: Fabric, at: SwitchId) -> Iterator[CableRow]:
    """Yield the cables of a switch, and those that leave the fabric there."""
    own = (Direction.HOST, Direction.UP, PEER)
    yield from cable_rows(fabric, at, own)
    exits = fabric.external.at(fabric.name(at)) if fabric.external.exits else {}
    for port in fabric.switch(at).ports if exits else ():
        if port.name in exits:
            yield exits[port.name].link.cable


def cabling_rows(fabric: Fabric) -> Iterator[Row]:
    """Yield the rows of the cabling plan, in the order of the switches passed to `switch_cables`."""
    for c in chain.from_iterable(_switch_cables(fabric, at) for at in fabric.switch_ids()):
        yield c.kind, c.a_device, c.a_port, c.b_device, c.b_port, c.speed_gbps, c.medium, c.length_m


def in_chunks(rows: Iterable[Row]) -> Iterator[str]:
    """CSV text of many rows, a few thousand at a time."""
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == _CHUNK_ROWS:
            yield csv_text(chunk)
            chunk.clear()
    yield csv_text(chunk)


def fabric_summary(fabric: Fabric, assumptions: Mapping[str, object]) -> dict[str, object]:
    """Return the content of `plan/fabric.json`: counts, tiers, pools, classes, services, strides and assumptions."""
    tiers = {
        tier.value: {"model": p.model.name, "nos": p.nos, "release": p.release}
        for tier, p in fabric.tiers.items()
    }
    first = fabric.switch(next(iter(fabric.switch_ids())))
    strides = fabric.strides
    systems = _overridden_systems(fabric)
    moved = fabric.moves.list_stated()
    return {
        "assumptions": {path: _encode_value(value) for path, value in assumptions.items()},
        "classes": [dict(zip(CLASSES, row, strict=True)) for row in class_rows(first)],
        "cluster": fabric.cluster,
        "counts": fabric.counts(),
        **(
            {"models": {fabric.name(at): box.model.name for at, box in fabric.boxes.items()}}
            if fabric.boxes
            else {}
        ),
        **({"moved": moved} if moved else {}),
        "pools": {name: str(pool) for name, pool in fabric.addresses.pools().items()},
        **({"own_hosts": own} if fabric.network and (own := fabric.own_hosts()) else {}),
        **({"racks": fabric.rack_hosts()} if fabric.racks else {}),
        **({"segments": segment_rows(fabric)} if fabric.evpn else {}),
        "services": [name for name in _SERVICES if getattr(first.management, name)],
        "shape": fabric.figures(),
        "strides": {name: getattr(strides, name) for name in strides.__slots__},
        **({"systems": systems} if systems else {}),
        "tiers": tiers,
    }


_SERVICES = ("access", "dns", "ntp", "syslog")
"""Settings of the management network that decide which files a switch has."""


def _overridden_systems(fabric: Fabric) -> dict[str, dict[str, str]]:
    """Return the NOS and release of each switch that has another one than its tier."""
    if not any(change.nos or change.release is not None for change in fabric.changes.values()):
        return {}
    found = {}
    for at in fabric.switch_ids():
        name, tier = fabric.name(at), fabric.tiers[at.tier]
        if (change := fabric.changes.get(name)) is None:
            continue
        release = tier.release if change.release is None else change.release
        own = {"nos": change.nos or tier.nos, "release": release}
        if own != {"nos": tier.nos, "release": tier.release}:
            found[name] = own
    return found


def segment_rows(fabric: Fabric) -> list[dict[str, object]]:
    """Each segment with its numbers and subnets."""
    return [
        {
            "name": each.name,
            "vlan": each.vlan,
            "vni": each.vni,
            "vrf": each.vrf,
            **{key: str(pool) for key, pool in (("subnet", each.subnet4), ("subnet6", each.subnet6)) if pool},
        }
        for each in (fabric.evpn.segments if fabric.evpn else ())
    ]


def format_json(value: object) -> str:
    """JSON for people and Git: indented, keys sorted."""
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _encode_value(value: object) -> object:
    """Return a value as JSON can hold it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_encode_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _encode_value(item) for key, item in value.items()}
    return str(value)


_OUT_OF_BAND_ADDRESSES = ("device", "port", "address", "gateway", "origin")
OUT_OF_BAND_ADDRESS_FILE = "out-of-band-addresses.csv"
OUT_OF_BAND_CABLING_FILE = "out-of-band-cabling.csv"


def _out_of_band_addresses(fabric: Fabric) -> Iterator[Row]:
    """Management switches, then the hosts' BMCs, DPUs and own ports; `given` is by a table, `computed` by place."""
    for device, endpoint, place, given in address_owners(fabric):
        network = place.network
        origin = "given" if given else "computed"
        yield (
            device, endpoint, f"{place.address}/{network.length}", network.gateway_of(place.offset), origin,
        )  # fmt: skip


def _out_of_band_cables(fabric: Fabric) -> Iterator[Row]:
    """Return every cable, with the columns of the cabling plan."""
    for c, _, _ in management_cables(fabric):
        yield c.kind, c.a_device, c.a_port, c.b_device, c.b_port, c.speed_gbps, c.medium, c.length_m


def out_of_band_summary(fabric: Fabric) -> list[tuple[object, ...]]:
    """Return a summary of the out-of-band network: switches, cables by kind, addresses."""
    switches, rows = fabric.out_of_band.switches, list[tuple[object, ...]]()
    if switches is not None:
        rows.append(("management switches", len(switches.numbers), switches.bank.model.title))
        if switches.aggregation is not None:
            rows.append(("aggregation", len(switches.aggregates), switches.aggregation.model.title))
        kinds = Counter(each.row.kind for each in management_cables(fabric))
        rows += [(f"cables, {kind}", number, "") for kind, number in kinds.items()]
    hosts = sum(1 for each in address_owners(fabric) if each.endpoint != MANAGEMENT_PORT)
    return [*rows, *([("addresses of hosts", hosts, "")] if hosts else [])]


def out_of_band_address_text(fabric: Fabric) -> str:
    """Return the table of addresses; "" where there are none."""
    return csv_text([_OUT_OF_BAND_ADDRESSES, *rows]) if (rows := list(_out_of_band_addresses(fabric))) else ""


def out_of_band_tables(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """File and text of the tables that have rows."""
    if text := out_of_band_address_text(fabric):
        yield OUT_OF_BAND_ADDRESS_FILE, text
    if rows := list(_out_of_band_cables(fabric)):
        yield OUT_OF_BAND_CABLING_FILE, csv_text([CABLING, *rows])
