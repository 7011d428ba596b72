"""Junos's XML and text of counters, health and routes.

Forms: `show interfaces extensive` in XML as Juniper's Apstra examples print it (`ethernet-mac-pfc-statistics`),
`show interfaces queue` as the Junos OS CoS guide and its users do, alarms and routes by the tags that PyEZ's and
pyATS's tables read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from tests.operate.drivers.servers.counted import Counted


def show_interfaces(counted: Counted) -> str:
    def pfc(port: str, priority: int) -> str:
        return (
            f"<ethernet-mac-pfc-statistics><mac-pfc-dot1p>{priority}</mac-pfc-dot1p>"
            f"<input-mac-pfc-frames>{counted.of('pfc_rx', port, priority)}</input-mac-pfc-frames>"
            f"<output-mac-pfc-frames>{counted.of('pfc_tx', port, priority)}</output-mac-pfc-frames>"
            "</ethernet-mac-pfc-statistics>"
        )

    ports = "".join(
        f"<physical-interface><name>{port}</name>{''.join(pfc(port, n) for n in range(8))}</physical-interface>"
        for port in counted.ports
    )
    return f"<interface-information>{ports}</interface-information>"


def show_queues(counted: Counted) -> str:
    lines = []
    for port in counted.ports:
        lines += [
            f"Physical interface: {port}, up, Physical link is Up",
            "  Interface index: 1, SNMP ifIndex: 501",
        ]
        lines += ["Forwarding classes: 16 supported, 4 in use", "Egress queues: 12 supported, 4 in use"]
        for queue in (0, 3, 6):
            dropped, marked = counted.of("dropped", port, queue), counted.of("marked", port, queue)
            lines += [
                f"Queue: {queue}, Forwarding classes: CLASS-{queue}",
                "  Queued:",
                "    Packets              :                     7                     0 pps",
                "  Transmitted:",
                "    Packets              :                     7                     0 pps",
                f"    Tail-dropped packets : {dropped:>21}                     0 pps",
                "    RED-dropped packets  :                     0                     0 pps",
                f"    ECN-CE packets       : {marked:>21}                     0 pps",
            ]
    return f"<output>{escape(chr(10).join(lines))}\n</output>"


def show_alarms(counted: Counted) -> str:
    if not counted.alarms:
        return "<alarm-information><alarm-summary><no-active-alarms/></alarm-summary></alarm-information>"
    details = "".join(
        f"<alarm-detail><alarm-class>Major</alarm-class><alarm-description>{part} {text}</alarm-description>"
        f"<alarm-type>Chassis</alarm-type></alarm-detail>"
        for part, text in counted.alarms.items()
    )
    return f"<alarm-information>{details}</alarm-information>"


def show_routes(counted: Counted, tables: list[str]) -> str:
    def entry(hops: int) -> str:
        others = "<rt-entry><protocol-name>BGP</protocol-name><nh><to>192.0.2.99</to></nh></rt-entry>"
        ways = "".join(f"<nh><to>192.0.2.{n}</to><via>et-0/0/{n}.0</via></nh>" for n in range(hops))
        return (
            f"<rt-entry><active-tag>*</active-tag><protocol-name>BGP</protocol-name>{ways}</rt-entry>{others}"
        )

    found = ""
    for table in tables:
        rows = "".join(
            f"<rt><rt-destination>{prefix}</rt-destination>{entry(hops)}</rt>"
            for prefix, hops in counted.routes.items()
            if (":" in prefix) == (table == "inet6.0")
        )
        if rows:
            found += f"<route-table><table-name>{table}</table-name>{rows}</route-table>"
    return f"<route-information>{found}</route-information>" if found else "<route-information/>"
