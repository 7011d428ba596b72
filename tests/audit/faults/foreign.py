# ruff: noqa: E501  (a fault is one line)
"""Plant faults into fabrics of others and of ours: `python -m tests.audit.faults.foreign [FOLDER] [KIND] [SCOPES]`."""

from __future__ import annotations

import re
import sys
from ipaddress import ip_interface
from typing import TYPE_CHECKING

from fabricc.base.diagnostics import Severity
from tests.audit.faults import designs, fabric
from tests.audit.faults.planting import (
    FaultKind,
    always_fault,
    at_fact,
    in_port,
    inner_sessions,
    is_at_line,
    new_findings,
    number,
    of_links,
    of_sessions,
    on_top,
    plant_fault,
    to_session,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device
    from fabricc.proof.compare import Finding
    from tests.audit.faults.planting import Fault, Texts

FABRICS = (
    "eos/rbmacd-frey/frey-configs", "eos/raufarshad-ai-rocev2-lab/day7-evpn-overlay", "eos/aristanetworks-avd/dual-dc-l3ls",
    "eos/aristanetworks-avd/evpn_underlay_rfc5549_overlay_ebgp", "frr/ddutt-cndcn/dual-attach-bgp-numbered",
    "frr/ddutt-cndcn/single-attach-bgp-docker", "junos/kmazur-evpn-lab/phase2-fabric",
    "junos/juniper-jvd/aidc-aiml_inference_frontend", "junos/juniper-jvd/adc-3stage_dc_connected_security",
    "nxos/batfish-lab-validation/nxos_redistribution",
    "nxos/microsoft-sdn/nexus3132-redundant-tor", "sonic/batfish-lab-validation/sonic_bgp_lab",
    "sonic/segmentrouting-srv6-ai-fabric/4p-8x16", "eos/aristanetworks-avd/evpn_underlay_ospf_overlay_ebgp",
    "eos/aristanetworks-avd/evpn_underlay_isis_overlay_ibgp", "junos/juniper-jvd/adc-5stage_evpn_vxlan",
    "frr/ddutt-cndcn/dual-attach-ospf-numbered", "sonic/missoso-clab-sonic/l2-evpn",
    "frr/ddutt-cndcn/dual-attach-evpn-distributed", "nxos/batfish-lab-validation/nxos_evpn_l2vni",
)  # fmt: skip
"""Whole fabrics with links or sessions between their switches."""
OWN_FABRICS = tuple(f"own/{system}/{form}" for system in fabric.SYSTEMS for form in fabric.FORMS)
_CLI = ("eos", "nxos", "frr", "sonic")


def _other_loopback(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    own = str(device.reading.facts.get("loopback/ipv4", "")).partition("/")[0]
    others = [
        str(each.reading.facts.get("loopback/ipv4", "")).partition("/")[0]
        for name, each in found.devices.items()
        if name != device.name
    ]
    other = next((each for each in sorted(others) if each and each != own), "")
    if not own or not other:
        return None
    return at_fact(lambda _, __: ["loopback/ipv4"], lambda line, _: line.replace(own, other))(
        found, device, every
    )


def _change_address(line: str, value: str) -> str:
    return line.replace(value.partition("/")[0], "192.0.2.77")


def _change_mask(line: str, value: str) -> str:
    old = value.partition("/")[2]
    return line.replace(f"/{old}", "/28") if old in ("30", "31") else line


def _covering_mask(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give a port between switches a /24 that covers the subnet of another port of the folder."""

    def covered(found: FoundFabric, device: Device) -> list[str]:
        others = [
            ip_interface(str(value)).network
            for each in found.devices.values()
            for path, value in each.reading.facts.items()
            if path.startswith("interface[") and path.endswith("/ipv4") and "/" in str(value)
        ]
        paths = []
        for path in of_links("ipv4")(found, device):
            mine = ip_interface(str(device.reading.facts.get(path, "0.0.0.0/0")))
            wide = ip_interface(f"{mine.ip}/24").network
            if mine.network.prefixlen > 24 and any(
                24 < net.prefixlen < 32 and net != mine.network and net.subnet_of(wide) for net in others
            ):
                paths.append(path)
        return paths

    return at_fact(covered, lambda line, value: line.replace(value, f"{value.partition('/')[0]}/24"))(
        found, device, every
    )


def _static_routes(_: FoundFabric, device: Device) -> list[str]:
    """Return the static routes of a device with an address as their next hop."""
    return [
        path
        for path, value in device.reading.facts.items()
        if path.startswith("static_route[") and re.fullmatch(r"\d+\.\d+\.\d+\.\d+", str(value))
    ]


_FAULTS: dict[str, Fault] = {
    "a mask that covers another link": _covering_mask,
    "another next hop of a static route": at_fact(_static_routes, lambda line, value: re.sub(rf"(?<![\d./]){re.escape(value)}(?![\d./])", "192.0.2.77", line)),
    "a static route to nowhere": on_top("ip route 198.51.100.0/24 192.0.2.77\n", _CLI),
    "another MTU on a link": at_fact(of_links("mtu"), number("1400")),
    "another address on a link": at_fact(of_links("ipv4"), _change_address),
    "another mask on a link": at_fact(of_links("ipv4"), _change_mask),
    "a link is shut": in_port("shutdown", ("eos", "frr")),
    "wrong AS of a peer": at_fact(of_sessions("remote_asn"), number("64999")),
    "another AS of its own": at_fact(lambda _, __: ["bgp/asn"], number("64998")),
    "the loopback of another switch": _other_loopback,
    "a session is shut": to_session({"eos": "neighbor {0} shutdown", "frr": "neighbor {0} shutdown", "nxos": "  shutdown", "sonic": "neighbor {0} shutdown"}),
    "a password on one side": to_session({"eos": "neighbor {0} password 0 lab", "frr": "neighbor {0} password lab", "nxos": "  password 0 lab", "sonic": "neighbor {0} password lab"}),
    "hops on one side": to_session({"eos": "neighbor {0} ttl maximum-hops 1", "frr": "neighbor {0} ttl-security hops 1", "nxos": "  ttl-security hops 1"}),
    "every session waits": to_session({"eos": "neighbor {0} passive", "frr": "neighbor {0} passive", "nxos": "  transport connection-mode passive"}),
    "import rejects all": to_session(
        {"eos": "neighbor {0} route-map NOTHING in", "frr": "neighbor {0} route-map NOTHING in"},
        {"eos": "route-map NOTHING deny 10\n!\n", "frr": "route-map NOTHING deny 10\n!\n"}),
    "discard of a loopback": on_top("ip route {other}/32 Null0\n", _CLI),
    "one equal path": at_fact(lambda _, __: ["bgp/maximum_paths", "bgp/family[ipv4]/maximum_paths"], number("1")),
    "filter on BGP": lambda found, device, every: None if device.system not in ("eos", "nxos") or not (
        made := in_port("ip access-group F1 in", ("eos", "nxos"))(found, device, every)) else {
        name: re.sub(r"(?m)^(?=router bgp)", "ip access-list F1\n   10 deny tcp any any eq 179\n   20 permit ip any any\n!\n", text, count=1)
        for name, text in made.items()},
    "telnet": on_top("management telnet\n   no shutdown\n!\n", ("eos",)),
    "an account without a password": on_top("username evil privilege 15 nopassword\n!\n", ("eos",)),
    "SNMP community public": on_top("snmp-server community public ro\n!\n", ("eos",)),
}  # fmt: skip


WIDE = frozenset({"every session waits"})
"""No faults on one switch alone."""
ONE_SIDED = frozenset({
    "another MTU on a link", "another mask on a link", "a password on one side", "hops on one side",
})  # fmt: skip
"""No faults where both ends of every link have them."""
IN_SESSIONS = frozenset({
    "another AS of its own", "the loopback of another switch", "discard of a loopback", "one equal path",
})  # fmt: skip
"""Faults of switches that have sessions with others of the folder."""


KINDS = {
    name: FaultKind(
        fault,
        ("one", "tier") if name in ONE_SIDED else ("all",) if name in WIDE else ("one", "tier", "all"),
        (lambda found, device: bool(inner_sessions(found, device))) if name in IN_SESSIONS else always_fault,
    )
    for name, fault in _FAULTS.items()
} | designs.KINDS


def try_faults(
    folder: str, kinds: tuple[str, ...], scopes: tuple[str, ...]
) -> Iterator[tuple[str, str, bool, list[Finding]]]:
    """Plant each fault that the folder can have; yield kind, scope, whether it is found at its line, and the findings."""
    for kind in kinds:
        for scope in scopes:
            if texts := plant_fault(folder, KINDS[kind], scope):
                findings = new_findings(folder, texts)
                yield kind, scope, is_at_line(folder, texts, findings), findings


def main(folders: str = "", kinds: str = "", scopes: str = "one") -> None:
    """Print a row for each fault that was planted."""
    count = hits = 0
    for folder in (each for each in (*FABRICS, *OWN_FABRICS) if folders in each):
        chosen = tuple(kind for kind in KINDS if kinds in kind)
        for kind, scope, found, findings in try_faults(folder, chosen, tuple(scopes.split(","))):
            first = next(
                (each for each in findings if each.severity is not Severity.NOTE),
                findings[0] if findings else None,
            )
            about = (
                f"{first.severity} {first.code} {first.file}:{first.line} {first.message[:100]}"
                if first
                else ""
            )
            count, hits = count + 1, hits + found
            print(
                "+" if found else "-",
                f"own-{folder.split('/')[1]}" if folder.startswith("own/") else folder.split("/")[0],
                folder.partition("/")[2][-24:],
                scope,
                kind,
                about,
                sep="\t",
                flush=True,
            )
    print(hits, "of", count)


if __name__ == "__main__":
    main(*sys.argv[1:])
