"""Tables of the out-of-band network: addresses, including those of the fabric's switches, and cabling."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.base.foreign.formats import csv_text
from fabricc.fabric.management import address_owners
from fabricc.fabric.out_of_band import MANAGEMENT_PORT, management_cables
from fabricc.paperwork.plan_tables import CABLING, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric

ADDRESSES = ("device", "port", "address", "gateway", "origin")
ADDRESS_FILE = "out-of-band-addresses.csv"
CABLING_FILE = "out-of-band-cabling.csv"


def address_rows(fabric: Fabric) -> Iterator[Row]:
    """Management switches, then the hosts' BMCs, DPUs and own ports; `given` is by a table, `computed` by place."""
    for device, endpoint, place, given in address_owners(fabric):
        network = place.network
        origin = "given" if given else "computed"
        yield (
            device, endpoint, f"{place.address}/{network.length}", network.gateway_of(place.offset), origin,
        )  # fmt: skip


def cabling_rows(fabric: Fabric) -> Iterator[Row]:
    """Return every cable, with the columns of the cabling plan."""
    for c, _, _ in management_cables(fabric):
        yield c.kind, c.a_device, c.a_port, c.b_device, c.b_port, c.speed_gbps, c.medium, c.length_m


def summary_rows(fabric: Fabric) -> list[tuple[object, ...]]:
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


def address_text(fabric: Fabric) -> str:
    """Return the table of addresses; "" where there are none."""
    return csv_text([ADDRESSES, *rows]) if (rows := list(address_rows(fabric))) else ""


def table_texts(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """File and text of the tables that have rows."""
    if text := address_text(fabric):
        yield ADDRESS_FILE, text
    if rows := list(cabling_rows(fabric)):
        yield CABLING_FILE, csv_text([CABLING, *rows])
