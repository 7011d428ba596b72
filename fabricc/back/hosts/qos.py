"""Lossless QoS of a host's NICs: a script that gives a port its RDMA settings, the unit that runs it, and back."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back.hosts import nics, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.catalog.model import NicModel
    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host, HostPort
    from fabricc.fabric.qos import TrafficClass

SCRIPT = "usr/local/sbin/fabricc-roce"
UNIT = "etc/systemd/system/fabricc-roce@.service"
HOOK = "etc/udev/rules.d/70-fabricc-roce.rules"

_TEMPLATE = "fabricc-roce.sh.j2"
_PROCEDURE = "\n# --- the procedure, the same on every host ---\n"
_PER_LINE = 16  # code points per line of the script's table
_DEVICE = "sys-subsystem-net-devices-%i.device"

_PortRow = tuple[str, str, int, int, str]
"""Netdev of a port, RDMA device, cable length in meters, port of its NIC from 1, and words about IPv6 or ""."""


# --- what NICs make of the fabric's classes -----------------------------------------------------------


class QosView(NamedTuple):
    """The values of the script, except those of the ports.

    Attributes:
        priority_tc: traffic class of each priority.
        schedulers: of each traffic class, weight in percent, or None where it is strict.
        rdma_dscp: None without a class for RDMA, and for RDMA over TCP, which is ordinary traffic.
        cnp: code point and priority of congestion notifications; RDMA over TCP has none.
        congestion: by the names of the NIC's tools; none where no class is marked.
        firmware: settings that the NIC keeps, likewise.
    """

    qos: nics.NicQos
    priority_tc: tuple[int, ...]
    schedulers: tuple[int | None, ...]
    rdma_dscp: int | None
    cnp: tuple[int, int] | None
    congestion: tuple[tuple[str, int], ...]
    firmware: tuple[tuple[str, int], ...]


def qos_view(classes: tuple[TrafficClass, ...], nic: NicModel, spread: bool, rdma_class: str = "") -> QosView:
    """Return the fabric's classes on these NICs; `spread`: whether switches take a path for every packet."""
    qos = nics.nic_qos(classes, rdma_class)
    rdma_dscp, cnp = (None, None) if nic.transport == nics.IWARP else (qos.rdma_dscp, qos.cnp)
    congestion = nic.congestion if any(qos.ecn) else ()
    of_tcs = nics.traffic_classes(classes, nic.traffic_classes)
    return QosView(qos, *of_tcs, rdma_dscp, cnp, congestion, _firmware_settings(nic, qos, spread))


def _firmware_settings(nic: NicModel, qos: nics.NicQos, spread: bool) -> tuple[tuple[str, int], ...]:
    """Return the stored settings of a ConnectX: those of the catalog, controlled classes, notification marking.

    Where switches spray packets it supports adaptive routing of RDMA, which `mlxconfig` shows as off.
    """
    kept = dict(nic.firmware)
    if kept:
        kept["ROCE_CC_PRIO_MASK"] = sum(1 << priority for priority in nics.PRIORITIES if qos.ecn[priority])
        if qos.cnp:
            kept["CNP_DSCP"], kept["CNP_802P_PRIO"] = qos.cnp
        if spread:
            kept["ROCE_ADAPTIVE_ROUTING_EN"] = 1
    return tuple(sorted(kept.items()))


def _flagged_priorities(flags: tuple[bool, ...], separator: str) -> str:
    """Return the priorities that have a flag set."""
    return separator.join([str(priority) for priority in nics.PRIORITIES if flags[priority]])


def _port_rows(host: Host) -> tuple[_PortRow, ...]:
    return tuple(
        [(port.name, port.rdma, port.cable_m, _firmware_port(port), _source6(port)) for port in host.ports]
    )


def _source6(port: HostPort) -> str:
    """Return the IPv6 source address of a port and its table, as the script assigns them; "" without such routes."""
    if port.ipv6 is None or port.gateway6 is None:
        return ""
    return f" source6={port.ipv6.partition('/')[0]} table={port.table}"


def _firmware_port(port: HostPort) -> int:
    """Return the number that the NIC's tools give a port: function n of a card is its port n + 1."""
    return int(port.pci[-1:] or 0) + port.on_nic + 1


def _unit_name(host: Host) -> str:
    """Return the name of the script and of its unit; NICs of each network have their own."""
    return words.network_path("fabricc-roce", host)


# --- the files ----------------------------------------------------------------------------------------


def render(host: Host) -> dict[str, str]:
    """Return the files; none for NICs of an unsupported driver (FAB5603)."""
    if not nics.family_of(host) or not host.ports:
        return {}
    unit = _unit_name(host)
    return {
        words.network_path(SCRIPT, host): _render_script(
            host.classes, host.nic, host.spreads_packets, host.rdma_class, _port_rows(host), host.leave_out
        ),
        words.network_path(UNIT, host): words.fill_template(
            words.read_template("fabricc-roce@.service.j2"), unit=unit
        ),
        words.network_path(HOOK, host): _udev_rule(tuple([port.name for port in host.ports]), unit),
    }


_PROPERTY, _, _VALUE = words.REPRESENTOR.partition("=")
_REPRESENTOR_RULES = {
    f'ACTION!="remove", SUBSYSTEM=="net", {match}, ENV{{{_PROPERTY}}}="{_VALUE}"': f"roce/representor[{name}]"
    for name, match in (
        # Linux 5.8 and later, net/core/devlink.c: `pf0vf1` and `pf0sf2`, but `p0` for the port itself.
        ("eswitch port", 'ATTR{phys_port_name}=="*pf[0-9]*"'),
        ("subfunction", 'KERNELS=="*.sf.[0-9]*"'),  # mlx5_core.sf.2 below the card
    )
}
"""Rule of udev -> path of the fact that it states."""


@lru_cache(maxsize=256)
def _udev_rule(names: tuple[str, ...], unit: str) -> str:
    """Return the udev rules that start the unit for each new port, and mark representors."""
    return words.fill_template(
        words.read_template("roce-hook.rules.j2"),
        names="|".join(map(words.check_word, names)),
        unit=unit,
        representors="\n".join(_REPRESENTOR_RULES),
    )


@lru_cache(maxsize=256)
def _render_script(
    classes: tuple[TrafficClass, ...],
    nic: NicModel,
    spread: bool,
    rdma_class: str,
    ports: tuple[_PortRow, ...],
    leave_out: tuple[str, ...],
) -> str:
    view = qos_view(classes, nic, spread, rdma_class)
    pairs = [f"{dscp},{priority}" for dscp, priority in enumerate(view.qos.dscp_priority)]
    rows = [
        f"{words.check_word(name)}) rdma={words.check_word(rdma)} cable_m={cable_m} port={port}{source6} ;;"
        for name, rdma, cable_m, port, source6 in ports
    ]
    cnp_dscp, cnp_priority = view.cnp or ("", "")
    head, _, body = words.read_template(_TEMPLATE).partition(_PROCEDURE)
    filled = words.fill_template(
        head,
        title=words.check_word(nic.name),
        transport=nic.transport,
        trust="dscp",
        dscp_to_priority="\n".join(" ".join(pairs[i : i + _PER_LINE]) for i in range(0, 64, _PER_LINE)),
        priority_to_tc=",".join(map(str, view.priority_tc)),
        tc_scheduler=",".join("strict" if weight is None else "ets" for weight in view.schedulers),
        tc_weight=",".join(str(weight or 0) for weight in view.schedulers),
        strict_rate_limit=nic.strict_rate_limit,
        pfc=",".join("1" if on else "0" for on in view.qos.pfc),
        ecn_priorities=_flagged_priorities(view.qos.ecn, " "),
        cnp_dscp=cnp_dscp,
        cnp_priority=cnp_priority,
        roce_tos="" if view.rdma_dscp is None else view.rdma_dscp << 2 | nics.FAMILIES[nic.driver].ecn_bits,
        read_request_bytes=nic.read_request_bytes,
        leaves_out=" ".join(leave_out),
        congestion="".join(f"{key}={value}\n" for key, value in view.congestion),
        firmware="".join(f"{key}={value}\n" for key, value in view.firmware),
        ports="\n".join(rows),
        names=" ".join(name for name, *_ in ports),
    )
    return filled + _PROCEDURE + _with_parts(body, nic.driver)


def _with_parts(body: str, driver: str) -> str:
    """Return the procedure with the functions of a driver's NICs and with those that other scripts have as well."""
    family = "".join(map(words.read_template, nics.FAMILIES[driver].procedure))
    return with_common_parts(body).replace("{{ family }}\n", family)


def with_common_parts(body: str) -> str:
    """Return the procedure of a script of NICs with the functions that all of them have."""
    for place, part in (("common", "nic-common.sh"), ("pci", "nic-pci.sh")):
        body = body.replace(f"{{{{ {place} }}}}\n", words.read_template(part))
    return body


_SOURCE6 = re.compile(r" source6=(\S+) table=([0-9]+)")


# --- their facts --------------------------------------------------------------------------------------

_UNIT_FACTS = {
    "Unit.BindsTo": ("roce/unit/binds_to", _DEVICE),
    "Unit.After": ("roce/unit/after", f"{_DEVICE} systemd-modules-load.service sys-kernel-config.mount"),
    "Service.Type": ("roce/unit/type", "oneshot"),
    "Service.RemainAfterExit": ("roce/unit/remain_after_exit", "yes"),
    "Service.ExecStart": ("roce/unit/exec_start", "/usr/local/sbin/{} %i"),
}
"""Setting of the unit -> path and value of its fact."""
UNIT_NEEDS = {
    "roce/unit/binds_to": _DEVICE, "roce/unit/after": _DEVICE, "roce/unit/type": "oneshot",
    "roce/unit/remain_after_exit": "yes",
}  # fmt: skip
"""Fact of the unit -> a word without which it does not run once when its port appears."""


def state(facts: Facts, host: Host) -> None:
    """Add the settings of the NICs; none for an unsupported driver."""
    if not nics.family_of(host):
        return
    alike, of_port = _shared_facts(
        host.classes, host.nic, host.spreads_packets, host.rdma_class, _unit_name(host)
    )
    facts.update(alike)
    if host.leave_out:
        facts["roce/leaves_out"] = " ".join(host.leave_out)
    for name, rdma, cable_m, port, source6 in _port_rows(host):
        prefix = f"interface[{name}]/"
        facts[prefix + "rdma"] = rdma
        facts[prefix + "cable_m"] = cable_m
        facts[prefix + "firmware_port"] = port
        if stated := _SOURCE6.fullmatch(source6):
            facts[f"{prefix}device_rule[{stated[1]}/128]"] = f"table {stated[2]}"
        for leaf, value in of_port:
            facts[prefix + leaf] = value


@lru_cache(maxsize=64)
def _shared_facts(
    classes: tuple[TrafficClass, ...], nic: NicModel, spread: bool, rdma_class: str, unit: str
) -> tuple[Facts, tuple[tuple[str, str], ...]]:
    """Return the facts that all ports share, and leaf and value of those of each port."""
    view = qos_view(classes, nic, spread, rdma_class)
    facts: Facts = {path: value.format(unit) for path, value in _UNIT_FACTS.values()}
    facts["roce/procedure"] = _planned_procedure(nic.driver)
    facts.update(dict.fromkeys(_REPRESENTOR_RULES.values(), "marked"))
    facts["roce/transport"] = nic.transport
    facts["roce/strict_rate_limit"] = nic.strict_rate_limit
    facts["roce/read_request_bytes"] = nic.read_request_bytes
    for dscp, priority in enumerate(view.qos.dscp_priority):
        facts[f"qos/dscp[{dscp}]/priority"] = priority
    for priority, number in enumerate(view.priority_tc):
        facts[f"qos/priority[{priority}]/traffic_class"] = number
    for number, weight in enumerate(view.schedulers):
        facts[f"qos/traffic_class[{number}]/scheduler"] = "strict" if weight is None else f"dwrr {weight}"
    if view.rdma_dscp is not None:
        facts["qos/rdma_dscp"] = view.rdma_dscp
    if view.cnp:
        facts["qos/cnp_dscp"], facts["qos/cnp_priority"] = view.cnp
    facts.update([(f"congestion/{key}", value) for key, value in view.congestion])
    facts.update([(f"firmware/{key}", value) for key, value in view.firmware])
    pfc, ecn = _flagged_priorities(view.qos.pfc, ","), _flagged_priorities(view.qos.ecn, ",")
    return facts, (("trust", "dscp"), ("pfc", pfc), ("ecn", ecn), ("started_unit", unit))


# --- and back -----------------------------------------------------------------------------------------

_ASSIGNMENT = re.compile(r"([A-Z_]+)=('?)([^']*)('?)")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9_/-]*)=([0-9]+)")
_PAIR = re.compile(r"([0-9]+),([0-9]+)")
_PFC_LIST = re.compile(r"[01](,[01]){7}")
_PORT_ROW = re.compile(r"(\S+)\) rdma=(\S+) cable_m=([0-9]+) port=([0-9]+)( source6=\S+ table=[0-9]+)? ;;")
_HOOK_RULE = re.compile(
    r'ACTION!="remove", SUBSYSTEM=="net", KERNEL=="([^"]+)", TAG\+="systemd", '
    r'ENV\{SYSTEMD_WANTS\}\+="([^"]+)@%k\.service"'
)
_USAGE = "echo 'usage:"
_BLOCKS = {
    "CONGESTION='": (_SETTING, "congestion/{}"),
    "FIRMWARE='": (_SETTING, "firmware/{}"),
    "DSCP_TO_PRIORITY='": (_PAIR, "qos/dscp[{}]/priority"),
    "'": None,
}
"""First line of a block -> its words and the path of the fact that each states; and the last line of any."""
_FRAME = frozenset(
    (
        "#!/bin/sh",
        "# shellcheck disable=SC2034,SC2119,SC2120  # no family of NICs uses all of these",
        "set -eu",
        "mode=apply",
        "source6=''",
        "table=''",
        "case ${1:-} in",
        "--check | --firmware)",
        "mode=${1#--}",
        "shift",
        "*)",
        "exit 2",
        ";;",
        "esac",
        *_BLOCKS,
    )
)
"""The lines above the procedure that are the same in every script."""
_PATHS = {
    "TRANSPORT": "roce/transport", "STRICT_RATE_LIMIT": "roce/strict_rate_limit",
    "READ_REQUEST_BYTES": "roce/read_request_bytes", "LEAVES_OUT": "roce/leaves_out", "CNP_DSCP": "qos/cnp_dscp",
    "CNP_PRIORITY": "qos/cnp_priority", "ROCE_TOS": "qos/rdma_dscp",
}  # fmt: skip
"""Variable -> path of its fact; an empty one states none."""
_OF_PORTS = {"TRUST": "trust", "PFC": "pfc", "ECN_PRIORITIES": "ecn"}
"""Variable -> leaf of the fact that each port states of it."""
_VARIABLES = (*_PATHS, *_OF_PORTS, "PRIORITY_TO_TC", "TC_SCHEDULER", "TC_WEIGHT")
"""A script stops (`set -u`) where it uses one that is not set."""
NOT_SET = " is not set"
"""What stands for the line of a variable that a script lacks, after its name."""
_UNSET = ("", 0)


def _procedure_digest(text: str) -> str:
    """A short digest of all that the script fixes for every host: an edited procedure does not pass as ours."""
    head, _, body = text.partition(_PROCEDURE)
    frame = [line.strip() for line in head.split("\n")]
    fixed = "\n".join([*(line for line in frame if line in _FRAME), body])
    return sha256(fixed.encode(errors="surrogatepass")).hexdigest()[:16]


@cache
def _planned_procedure(driver: str) -> str:
    """Return the digest that a script for this driver's NICs has when nobody edited it."""
    text = words.read_template(_TEMPLATE).replace("{{ congestion }}'", "'").replace("{{ firmware }}'", "'")
    return _procedure_digest(_with_parts(text, driver))


def _read_script(reading: Reading, file: str, text: str) -> None:
    """The facts that the script's variables and port table state, and the digest of its procedure."""
    lines = text.partition(_PROCEDURE)[0].split("\n")
    reading.put("roce/procedure", _procedure_digest(text), file, len(lines) + 1)
    values: dict[str, tuple[str, int]] = {}
    ports: list[tuple[re.Match[str], int]] = []
    block = None
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped in _BLOCKS:
            block = _BLOCKS[stripped]
        elif block:
            for each in stripped.split():
                if match := block[0].fullmatch(each):
                    reading.put(
                        block[1].format(words.parse_decimal(match[1])),
                        words.parse_decimal(match[2]),
                        file,
                        number,
                    )
                else:
                    reading.unknown.append((file, number, stripped))
        elif stripped in _FRAME or not stripped or stripped.startswith(("# ", _USAGE)):
            continue
        elif match := _PORT_ROW.fullmatch(stripped):
            ports.append((match, number))
        elif (match := _ASSIGNMENT.fullmatch(stripped)) and match[1] in _VARIABLES:
            values[match[1]] = (match[3], number)
        else:
            reading.unknown.append((file, number, stripped))
    unset = [name for name in _VARIABLES if name not in values]
    reading.unknown += [(file, len(lines), f"{name}{NOT_SET}") for name in unset]
    _put_variables(reading, file, values)
    for row, number in ports:
        prefix = f"interface[{row[1]}]/"
        reading.put(prefix + "rdma", row[2], file, number)
        reading.put(prefix + "cable_m", words.parse_decimal(row[3]), file, number)
        reading.put(prefix + "firmware_port", words.parse_decimal(row[4]), file, number)
        if source := _SOURCE6.fullmatch(row[5] or ""):
            reading.put(f"{prefix}device_rule[{source[1]}/128]", f"table {source[2]}", file, number)
        for variable, leaf in _OF_PORTS.items():
            value, stated_at = values.get(variable, ("", number))
            reading.put(prefix + leaf, _priority_set(variable, value), file, stated_at)


def _put_variables(reading: Reading, file: str, values: Mapping[str, tuple[str, int]]) -> None:
    for variable, path in _PATHS.items():
        text, number = values.get(variable, _UNSET)
        if text:
            reading.put(
                path,
                nics.code_point(text) if variable == "ROCE_TOS" else words.parse_decimal(text),
                file,
                number,
            )
    tcs, number = values.get("PRIORITY_TO_TC", _UNSET)
    for priority, tc in enumerate(tcs.split(",")):
        reading.put(f"qos/priority[{priority}]/traffic_class", words.parse_decimal(tc), file, number)
    schedulers, chosen = values.get("TC_SCHEDULER", _UNSET)
    weights, shared = values.get("TC_WEIGHT", _UNSET)
    for tc_number, (kind, weight) in enumerate(zip(schedulers.split(","), weights.split(","), strict=False)):
        text = kind if kind != "ets" and weight == "0" else f"{'dwrr' if kind == 'ets' else kind} {weight}"
        number = chosen if kind != "ets" or weight == "0" else shared
        reading.put(f"qos/traffic_class[{tc_number}]/scheduler", text, file, number)


def _priority_set(variable: str, value: str) -> str:
    """PFC's list of eight and the list of ECN priorities as facts spell sets; other values as they are."""
    if variable == "PFC" and _PFC_LIST.fullmatch(value):
        return ",".join(str(p) for p, on in enumerate(value.split(",")) if on == "1")
    if variable == "ECN_PRIORITIES":
        return ",".join(sorted(value.split()))
    return value


def _read_unit(reading: Reading, file: str, text: str) -> None:
    """The facts of the unit that applies the NIC settings."""
    for number, key, value, line in words.setting_lines(text):
        if key in _UNIT_FACTS:
            reading.put(_UNIT_FACTS[key][0], value, file, number)
        elif key != "Unit.Description":
            reading.unknown.append((file, number, line))


def _read_hook(reading: Reading, file: str, text: str) -> None:
    """Read which devices are representors, and the name of the unit that each new port starts."""
    for number, line in words.statement_lines(text):
        if line in _REPRESENTOR_RULES:
            reading.put(_REPRESENTOR_RULES[line], "marked", file, number)
        elif match := _HOOK_RULE.fullmatch(line):
            for name in match[1].split("|"):
                reading.put(f"interface[{name}]/started_unit", match[2], file, number)
        else:
            reading.unknown.append((file, number, line))


READERS: Mapping[str, words.Reader] = {
    words.mark_path(SCRIPT, "*"): _read_script,
    words.mark_path(UNIT, "*"): _read_unit,
    words.mark_path(HOOK, "*"): _read_hook,
}
