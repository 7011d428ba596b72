"""Find hops on which traffic that is meant to be lossless drops, from what one switch states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.audit.frame import PORT
from fabricc.audit.model import Tier
from fabricc.audit.rules.ends import queue_of
from fabricc.audit.rules.lossless import classes_of, priority_group
from fabricc.audit.rules.sheet import told
from fabricc.back.nos.defaults import classifies_unstated
from fabricc.base.diagnostics import Severity
from fabricc.base.diagnostics.wording import join_words
from fabricc.proof.invariants.view import as_int, priorities

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.audit.rules.sheet import Sheet
    from fabricc.fabric.facts import Value
    from fabricc.proof.compare import Finding

HOP, UNCLASSIFIED, BUFFER, SHORT = "FAB9666", "FAB9667", "FAB9668", "FAB9669"
ROCE_4096 = 4096 + 20 + 8 + 12 + 16 + 4 + 4
"""IP packet of an RDMA write of 4,096 bytes: payload, IPv4, UDP, BTH, RETH, immediate data, ICRC (annex A17)."""
_INTENT = "watchdog/detect_ms"
_COMPUTED = "NULL"
"""In the place of a buffer that the switch computes from speed and cable."""
_IN_USE = ("ipv4", "ipv6", "unnumbered", "switchport")
_SWITCHES = (Tier.TOR, Tier.SPINE, Tier.CORE)


def protection_findings(sheet: Sheet) -> Iterator[Finding]:
    """Report ports without PFC next to lossless ones, ports that do not classify, and buffers that drop."""
    if sheet.once(protection_findings, lambda: any(True for _ in _protection_findings(sheet))):
        yield from _protection_findings(sheet)


def _protection_findings(sheet: Sheet) -> Iterator[Finding]:
    lossless = {port: found for port, says in sheet.ports.items() if (found := priorities(says.get("pfc")))}
    if not lossless:
        yield from _without_effect(sheet)
        return
    yield from _bare(sheet, lossless)
    yield from _unclassified(sheet, lossless)
    yield from _buffers(sheet, lossless)
    yield from _small_packets(sheet, lossless)


def _without_effect(sheet: Sheet) -> Iterator[Finding]:
    """Report that a switch states parts of PFC, and no port has it in effect."""
    ports = [port for port, says in sheet.ports.items() if _prepared(says)]
    used = sheet.fars or any(_used(says) for says in sheet.ports.values())
    if not used or (_INTENT not in sheet.rest and not ports):
        return
    paths = (
        [f"{PORT}{ports[0]}]/{leaf}" for leaf in ("pfc", "headroom/xoff_bytes", "watchdog")] if ports else []
    )
    message = f"{sheet.name} states parts of PFC, and it takes effect on no port: RDMA drops here"
    remedy = "Enable PFC for the class of RDMA on every port, or remove what is left of it."
    yield told(HOP, sheet.device, (*paths, _INTENT), message, "PFC without effect", Severity.WARNING, remedy)


def _prepared(says: Mapping[str, Value]) -> bool:
    asked = says.get("pfc") == "" or says.get("qos_setting[priority-flow-control]") == "on"
    return asked or "headroom/xoff_bytes" in says or says.get("watchdog") == "true"


def _used(says: Mapping[str, Value]) -> bool:
    """Return whether a port has an address or bridges."""
    return any(leaf in says for leaf in _IN_USE)


def _bare(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report links to switches, or all ports to hosts, that have no PFC where other ports of the switch have it."""
    covered = {each for port in lossless for each in sheet.chain(port)}
    links = [port for port, far in sheet.fars.items() if far.known and far.tier in _SWITCHES]
    links = [port for port in links if sheet.of(port, "enabled") != "false"]
    bare = [port for port in links if not covered.intersection(sheet.chain(port))]
    if bare:
        message = (
            f"{sheet.name} {join_words(bare, 2)}: a link to a switch without PFC, which other "
            f"ports have: RDMA drops"
        )
        remedy = "Enable PFC for the same priorities on both ends of every link between switches."
        paths = [f"{PORT}{bare[0]}]/{leaf}" for leaf in ("pfc", "qos_setting[priority-flow-control]", "mtu")]
        yield told(HOP, sheet.device, paths, message, "link without PFC", Severity.WARNING, remedy)
    hosts = [port for port, far in sheet.fars.items() if far.tier is Tier.HOST] + [
        port for port in sheet.open_ports() if _used(sheet.ports[port])
    ]
    if sheet.place.tier is Tier.TOR and hosts and len(bare) < len(links) and not covered.intersection(hosts):
        message = (
            f"{sheet.name} {join_words(hosts, 2)}: no port to hosts has PFC, which links to switches have"
        )
        remedy = "Enable PFC on the ports to hosts that run RDMA."
        paths = [f"{PORT}{hosts[0]}]/{leaf}" for leaf in ("pfc", "mtu", "ipv4", "description")]
        yield told(HOP, sheet.device, paths, message, "hosts without PFC", Severity.WARNING, remedy)


def _unclassified(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report lossless ports that do not put packets into classes by their code points."""
    unsaid = classifies_unstated(sheet.device.system)
    if unsaid and not classes_of(sheet):
        return
    found: dict[str, list[str]] = {}
    for port in lossless:
        trust = sheet.of(port, "trust")
        if trust in ("dscp", "l3") or (trust is None and unsaid) or _tagged(sheet, port):
            continue
        found.setdefault("" if trust is None else str(trust), []).append(port)
    for trust, ports in found.items():
        how = f"classify by {trust}, not by DSCP" if trust else "have no classification by DSCP"
        message = f"{sheet.name} {join_words(ports, 2)} {how}: RDMA does not reach its lossless class"
        remedy = "Bind the map of code points to every port, or trust DSCP there."
        paths = [f"{PORT}{ports[0]}]/{leaf}" for leaf in ("trust", "pfc")]
        yield told(UNCLASSIFIED, sheet.device, paths, message, "no classification", remedy=remedy)


def _tagged(sheet: Sheet, port: str) -> bool:
    """Return whether frames of a port carry a priority in their VLAN tag."""
    return sheet.of(port, "switchport") == "trunk" or "." in port


def _buffers(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report priorities with PFC whose buffer is a lossy one, has no headroom, or drops at the egress."""
    lossy: dict[str, list[str]] = {}
    dropping: dict[str, list[str]] = {}
    bare: list[str] = []
    for port, found in lossless.items():
        says = sheet.ports[port]
        for priority in found:
            leaf = f"priority_group[{priority_group(sheet, priority)}]/buffer_profile"
            if says.get(leaf, _COMPUTED) != _COMPUTED and "headroom/xoff_bytes" not in says:
                lossy.setdefault(leaf, []).append(port)
            if (leaf := f"queue[{queue_of(sheet, priority)}]/lossy_buffer") in says:
                dropping.setdefault(leaf, []).append(port)
        stated = "pool/ingress_lossless_bytes" in sheet.rest
        in_use = port in sheet.fars or _used(says)
        if stated and in_use and not any(each.startswith(("headroom/", "priority_group[")) for each in says):
            bare.append(port)
    remedy = (
        "Give the priority of PFC a lossless buffer with headroom at the ingress, and no limit at the egress."
    )
    for leaf, ports in lossy.items():
        profile = sheet.ports[ports[0]][leaf]
        message = (
            f"{sheet.name} {join_words(ports, 2)}: PFC, and the buffer {profile}, which has no "
            f"headroom: RDMA drops"
        )
        yield told(BUFFER, sheet.device, f"{PORT}{ports[0]}]/{leaf}", message, "lossy buffer", remedy=remedy)
    for leaf, ports in dropping.items():
        profile = sheet.ports[ports[0]][leaf]
        message = f"{sheet.name} {join_words(ports, 2)}: PFC, and the lossy buffer {profile} at the egress: RDMA drops"
        yield told(BUFFER, sheet.device, f"{PORT}{ports[0]}]/{leaf}", message, "lossy egress", remedy=remedy)
    if bare:
        message = (
            f"{sheet.name} {join_words(bare, 2)}: PFC without a buffer and without the length of a "
            f"cable: no headroom"
        )
        yield told(BUFFER, sheet.device, f"{PORT}{bare[0]}]/pfc", message, "no headroom", remedy=remedy)
    yield from _pools(sheet, lossless, remedy)


def _pools(sheet: Sheet, lossless: dict[str, tuple[int, ...]], remedy: str) -> Iterator[Finding]:
    """Report shares of the buffer that leave a priority with PFC without headroom or in the lossy pool."""
    share = "pool/ingress_lossless_headroom_percent"
    if sheet.rest.get(share) == 0:
        message = (
            f"{sheet.name} gives headroom 0 % of the buffer, and {len(lossless):,} ports have PFC: RDMA drops"
        )
        yield told(BUFFER, sheet.device, share, message, "no headroom", remedy=remedy)
    mine = set(priorities(sheet.rest.get("pool/lossy_priorities")))
    if wrong := sorted({each for found in lossless.values() for each in found} & mine):
        message = f"{sheet.name}: priority {wrong[0]} has PFC and belongs to the lossy part of the buffer: RDMA drops"
        paths = (f"pool[lossy]/priority[{wrong[0]}]", "pool/lossy_priorities")
        yield told(BUFFER, sheet.device, paths, message, "lossy pool", remedy=remedy)


def _small_packets(sheet: Sheet, lossless: dict[str, tuple[int, ...]]) -> Iterator[Finding]:
    """Report lossless ports whose MTU is too small for RDMA with packets of 4,096 bytes."""
    found: dict[int, list[str]] = {}
    for port in lossless:
        mtu = as_int(sheet.of(port, "mtu"))
        if mtu is not None and mtu < ROCE_4096:
            found.setdefault(mtu, []).append(port)
    for mtu, ports in found.items():
        message = (
            f"{sheet.name} {join_words(ports, 2)}: an MTU of {mtu:,} bytes, and an RDMA packet of 4,096 bytes needs "
            f"{ROCE_4096:,}: RDMA falls back to smaller packets, or drops"
        )
        remedy = f"Set an MTU of {ROCE_4096:,} bytes or more on every lossless port, alike on both ends."
        yield told(
            SHORT, sheet.device, f"{PORT}{ports[0]}]/mtu", message, "small MTU", Severity.WARNING, remedy
        )
