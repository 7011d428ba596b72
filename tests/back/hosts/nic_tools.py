"""Stands in for the NIC tools, none of which runs without a NIC: stores settings, and shows them as they do.

The formats are those of mlnx-tools' mlnx_qos, iproute2's dcb and devlink, ethtool and pciutils' setpci. Its name
decides which tool it is; RECORD lists every call that changes something, STATE contains the settings. A script calls it
hundreds of times, so it imports little.
"""

import fcntl
import itertools
import marshal
import os
import sys

TOOL, ARGUMENTS = os.path.basename(sys.argv[0]), sys.argv[1:]  # noqa: PTH119  # pathlib takes longer than all else
STATE = os.environ["STATE"]
EIGHT = range(8)


def mlnx_qos(state, arguments):
    port = state.setdefault(
        arguments[1],
        {"dcbx": "fw", "trust": "pcp", "map": {str(d): d >> 3 for d in range(64)}, "pfc": [0] * 8, "cable": 7,
         "tc": list(EIGHT), "tsa": ["vendor"] * 8, "bw": [0] * 8, "limit": [0] * 8},
    )  # fmt: skip
    rest, settings = arguments[2:], []
    while rest:
        word = rest.pop(0)
        settings.append(word.split("=", 1) if word.startswith("--") else (word, rest.pop(0)))
    for key, value in settings:
        if key == "--dscp2prio":
            _, pair = value.split(",", 1)
            dscp, priority = pair.split(",")
            port["map"][dscp] = int(priority)
        elif key == "--pfc":
            port["pfc"] = [int(on) for on in value.split(",")]
        elif key == "-r":
            port["limit"] = [int(limit) for limit in value.split(",")]
        elif key == "-s":
            port["tsa"] = value.split(",")
        elif key == "-t":
            shares = [int(share) for share in value.split(",")]
            assert sum(s for s, kind in zip(shares, port["tsa"], strict=True) if kind == "ets") == 100
            port["bw"] = shares
        elif key == "-p":
            port["tc"] = [int(tc) for tc in value.split(",")]
        else:
            port[{"-d": "dcbx", "--trust": "trust", "--cable_len": "cable"}[key]] = value
    if settings:
        return ""
    lines = [f"DCBX mode: {'OS' if port['dcbx'] == 'os' else 'Firmware'} controlled"]
    lines.append(f"Priority trust state: {port['trust']}")
    if port["trust"] == "dscp":
        lines.append("dscp2prio mapping:")
        for priority in EIGHT:
            points = [f"{int(d):02d}," for d, p in port["map"].items() if p == priority]
            lines += [
                f"\tprio:{priority} dscp:{''.join(points[i : i + 8])}" for i in range(0, len(points), 8)
            ]
    lines += ["Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=1027728"]
    lines += [
        f"Cable len: {port['cable']}",
        "PFC configuration:",
        "\tpriority    0   1   2   3   4   5   6   7",
    ]
    lines += [
        "\tenabled     " + "".join(f"{on}   " for on in port["pfc"]),
        "\tbuffer      0   0   0   1   0   0   0   0   ",
    ]
    for tc in sorted(set(port["tc"])):
        kind = port["tsa"][tc] + (f", bw: {port['bw'][tc]}%" if port["tsa"][tc] == "ets" else "")
        limit = f"{port['limit'][tc]}.0 Gbps" if port["limit"][tc] else "unlimited"
        lines.append(f"tc: {tc} ratelimit: {limit}, tsa: {kind}")
        lines += [f"\t priority:  {up}" for up in EIGHT if port["tc"][up] == tc]
    return "\n".join(lines) + "\n"


def run_dcb(state, arguments):
    arguments = [word for word in arguments if word != "-N"]
    kind, verb, _, name, *rest = arguments
    port = state.setdefault(
        name,
        {"tc-tsa": {str(i): "strict" for i in EIGHT}, "tc-bw": {str(i): "0" for i in EIGHT},
         "prio-tc": {str(i): "0" for i in EIGHT}, "prio-pfc": {str(i): "off" for i in EIGHT}, "dscp-prio": {},
         "dgram-port-prio": {}, "delay": "0"},
    )  # fmt: skip
    if kind == "dcbx":
        return os.environ.get("DCBX", "host ieee") + "\n" if verb == "show" else ""
    if verb == "show":
        if rest[0] in ("ets-cap", "pfc-cap"):
            return f"{rest[0]} {os.environ.get(rest[0].upper().replace('-', '_'), '8')} \n"
        if rest[0] == "delay":
            return f"delay {port['delay']} \n"
        return f"{rest[0]} {' '.join(f'{k}:{v}' for k, v in port[rest[0]].items())}\n"
    if verb == "flush":
        port[rest[0]] = {}
        return ""
    if kind == "ets" and os.environ.get("CLASSES") == "8" and "7:strict" not in rest:
        sys.exit("Attribute write: Invalid argument")
    key = ""
    for word in rest:
        if key == "delay":
            port["delay"], key = word, ""
        elif ":" in word:
            number, value = word.split(":")
            assert kind != "app" or number not in port[key]
            port[key][number] = value
        else:
            key = word
    return ""


def run_devlink(state, arguments):
    verb, _, _, name = arguments[2:6]
    values = state.setdefault("devlink", {"enable_roce": "true", "enable_iwarp": "false"})
    if verb == "show":
        return f"pci/x:\n  name {name} type generic\n    values:\n      cmode runtime value {values[name]}\n"
    values[name] = arguments[7]
    assert list(values.values()).count("true") <= 1  # the driver refuses both at once
    return ""


def run_ethtool(state, arguments):
    flag, name, *rest = arguments
    driver = os.environ.get("DRIVER", "")
    port = state.setdefault(f"ethtool {name}", {"pause": "on", "fw-lldp-agent": "on"})
    lossless = driver == "ice" and "on" in state.get(name, {}).get("prio-pfc", {}).values()
    if driver == "ionic":  # a port has one kind of pause (ionic_get_pauseparam, ionic_set_pauseparam)
        kind = next((key for key in state if key.startswith("pause ")), "pause 04908170-1")
        port["pause"] = "on" if state.get(kind) == "pfc" else "off"
    if flag == "--show-priv-flags":
        return f"Private flags for {name}:\nlink-down-on-close : off\nfw-lldp-agent      : {port['fw-lldp-agent']}\n"
    if flag == "--set-priv-flags":
        port[rest[0]] = rest[1]
    if flag == "-g":
        rings = "".join(f"{name}:\t\t8192\n" for name in ("RX", "RX Mini", "RX Jumbo", "TX"))
        return f"Ring parameters for {name}:\nPre-set maximums:\n{rings}Current hardware settings:\n{rings}"
    if flag == "-a":
        on, autoneg = "off" if lossless else port["pause"], "on" if driver == "ice" else "off"
        return f"Pause parameters for {name}:\nAutonegotiate:\t{autoneg}\nRX:\t\t{on}\nTX:\t\t{on}\n"
    if flag == "-A":
        if driver == "ice" and (lossless or "autoneg" in rest):  # ice_set_pauseparam
            sys.exit("netlink error: Operation not supported")
        if driver == "ionic":
            state[kind] = "link"
        port["pause"] = "off"
    return ""


def run_setpci(state, arguments):
    _, device, register = arguments
    registers = state.setdefault(f"setpci {device}", {"CAP_EXP+08.w": "2910", "ECAP_ACS+6.w": "001d"})
    if "=" not in register:
        return registers[register] + "\n"
    name, value = register.split("=")
    value, _, mask = value.partition(":")
    keep = ~int(mask or "ffff", 16) & int(registers[name], 16)
    registers[name] = f"{keep | int(value, 16):04x}"
    return ""


MLXCONFIG = {"LINK_TYPE_P1": "1", "INTERNAL_CPU_OFFLOAD_ENGINE": "1", "CNP_DSCP_P1": "0", "CNP_802P_PRIO_P1": "0",
    "ROCE_CC_PRIO_MASK_P1": "255", "ROCE_ADAPTIVE_ROUTING_EN": "0"}  # fmt: skip


def run_mlxconfig(state, arguments):
    settings = state.setdefault("mlxconfig", dict(MLXCONFIG))
    lacks = os.environ.get("LACKS", "").split()
    if "ALL" in lacks:
        sys.exit("-E- Failed to open the device")
    if "set" in arguments:
        wanted = dict(pair.split("=") for pair in arguments[arguments.index("set") + 1 :])
        if set(wanted) & set(lacks):
            sys.exit("-E- The Device doesn't support this parameter")
        settings.update(wanted)
        return ""
    lines = ["Configurations:        Default   Current   Next Boot"]
    for key, value in settings.items():
        if key not in lacks:
            shown = {"1": "IB(1)", "2": "ETH(2)"}.get(value, value) if key == "LINK_TYPE_P1" else value
            lines.append(
                f"*  {key}   0   {shown}   {shown}" if value != "0" else f"   {key}   0   {shown}   {shown}"
            )
    return "\n".join(lines) + "\n"


def run_mlxreg(state, arguments):
    register = state.setdefault("mlxreg", {"adaptive_routing_forced_en": "0x0"})
    if "--set" in arguments:
        register.update([arguments[arguments.index("--set") + 1].split("=")])
        return ""
    rows = "".join(f"{key:<47}| 0x{int(value, 16):08x}\n" for key, value in register.items())
    return "Sending access register...\nField Name | Data\n=====\n" + rows + "=====\n"


CARDS = {"42424650-1": ("0000:17:00.0", "04908170-1"), "42424650-2": ("0000:40:00.0", "04908170-2")}
DCQCN = {
    "ai-rate": "Rate increase in AI phase", "rate-increase-byte-count": "Rate increase byte count",
    "alpha-update-g": "Alpha update G value", "alpha-update-interval": "Alpha update interval",
    "hai-rate": "Rate increase in HAI phase", "initial-alpha-value": "Initial alpha value",
    "rate-reduce-monitor-period": "Rate reduce monitor period", "rate-increase-threshold": "Rate increase threshold",
    "rate-increase-interval": "Rate increase interval", "token-bucket-size": "Token bucket size",
    "cnp-dscp": "DSCP value used for CNP",
}  # fmt: skip


def format_ranges(points):
    """Show code points as `0-23, 25-45`."""
    text, points = [], sorted(points)
    while points:
        last = points[0]
        while last + 1 in points:
            last += 1
        text.append(f"{points[0]}-{last}" if last > points[0] else str(last))
        points = [point for point in points if point > last]
    return ", ".join(text)


def nicctl_show(state, arguments):
    what = arguments[1]
    if what == "card":
        cards = [f"{card}  {bus}  salina  A  FPL" for card, (bus, _) in CARDS.items()]
        return "\n".join(["Id  PCIe BDF  ASIC  F/W partition  Serial number", *cards, ""])
    if what == "port":
        port = CARDS[arguments[-1]][1]
        pause = state.get(f"pause {port}", "none")
        on = "enabled" if pause == "pfc" else "disabled"
        lines = [f"Port : {port} (eth1/1)", "  Spec:", f"    Pause type                 : {pause.upper()}",
            "    MTU                        : 9216", f"    TX pause                   : {on}",
            f"    RX pause                   : {on}", "  Status:", "    Operational status         : UP"]  # fmt: skip
        return "\n" + "\n".join(lines) + "\n"
    if os.environ.get("OLD_NICCTL"):
        return ""
    lines = []
    if what == "dcqcn":
        for device, options in state.get("dcqcn", {}).items():
            lines += ["NIC : 42424650-1 (0000:f6:00.0)", "-" * 30, f"ROCE device             : {device}",
                "DCQCN profile id        : 1", "Status                  : Enabled"]  # fmt: skip
            lines += [f"{DCQCN[key]:<40} : {value}" for key, value in options.items()]
        return "\n".join(lines) + "\n"
    for card, (bus, port) in CARDS.items():
        kept = state.get(f"qos {port}", {})
        points = kept.get("map", dict.fromkeys(range(64), "0"))
        lines += [f"NIC  : {card}  ({bus})", "", f"Port : {port}", ""]
        lines += [
            f"  Classification type         : {state.get('class', 'pcp').upper()}",
            "",
            "  DSCP-to-priority :",
        ]
        for priority in sorted(set(points.values())):
            own = [point for point, value in points.items() if value == priority]
            bits = sum(1 << point for point in own)
            lines.append(f"    DSCP bitmap               : 0x{bits:016x} ==> priority : {priority}")
        for priority in sorted(set(points.values())):
            own = [point for point, value in points.items() if value == priority]
            lines.append(f"    DSCP                      : {format_ranges(own)} ==> priority : {priority}")
        drops = kept.get("drops", [])
        lines += [
            "",
            "  PFC :",
            "    PFC priority bitmap       : 0x8",
            f"    PFC no-drop priorities    : {','.join(drops)}",
        ]
        lines += ["", "  Scheduling :", "    " + "-" * 44, "    Priority  Scheduling  Bandwidth Rate-limit"]
        lines += ["              Type        (in %age) (in Gbps)", "    " + "-" * 44]
        for priority, weight, limit in kept.get("share", [("0", "0", "0")]):
            row = f"strict      N/A       {limit}" if limit != "0" else f"DWRR        {weight:<10}N/A"
            lines.append(f"    {priority:<10}{row}")
    return "\n".join(lines) + "\n"


def run_nicctl(state, arguments):
    if arguments[0] == "show":
        return nicctl_show(state, arguments)
    if os.environ.get("OFF_ALREADY") and arguments[-2:] == ["--no-drop", "disable"]:
        sys.exit("Error: PFC is not enabled")
    options = {word: value for word, value in itertools.pairwise(arguments) if word.startswith("-")}
    kept = state.setdefault(f"qos {options.get('-p')}", {"map": dict.fromkeys(range(64), "0"), "drops": []})
    if arguments[1] == "port":
        state[f"pause {options['-p']}"] = options["--pause-type"]
    elif arguments[1] == "dcqcn":
        device = state.setdefault("dcqcn", {}).setdefault(options["-r"], {})
        device.update({key[2:]: value for key, value in options.items() if key[2:] in DCQCN})
    elif "--classification-type" in options:
        state["class"] = options["--classification-type"]
    elif arguments[2] == "dscp-to-priority":
        for part in options["--dscp"].split(","):
            first, _, last = part.partition("-")
            kept["map"].update(
                dict.fromkeys(range(int(first), int(last or first) + 1), options["--priority"])
            )
    elif arguments[2] == "pfc":
        kept["drops"] = [drop for drop in kept["drops"] if drop != options["--priority"]]
        kept["drops"] += [options["--priority"]] * (options["--no-drop"] == "enable")
    elif arguments[2] == "scheduling":
        lists = [options[key].split(",") for key in ("--priority", "--dwrr", "--rate-limit")]
        kept["share"] = list(zip(*lists, strict=True))
    return ""


LOCK = open(STATE + ".lock", "w")  # noqa: PTH123, SIM115  # units of several ports start together
fcntl.flock(LOCK, fcntl.LOCK_EX)
QUESTIONS = ("show", "query", "-a", "-g", "--get", "--show-priv-flags")
try:
    with open(STATE, "rb") as stored:  # noqa: PTH123
        state = marshal.load(stored)
except FileNotFoundError:
    state = {}
tools = {
    "mlnx_qos": mlnx_qos, "dcb": run_dcb, "devlink": run_devlink, "ethtool": run_ethtool, "setpci": run_setpci,
    "mlxconfig": run_mlxconfig, "mstconfig": run_mlxconfig, "mlxreg": run_mlxreg, "nicctl": run_nicctl,
}  # fmt: skip
text = tools[TOOL](state, ARGUMENTS)
with open(STATE, "wb") as stored:  # noqa: PTH123
    marshal.dump(state, stored)
requested = any(word in QUESTIONS for word in ARGUMENTS) or (TOOL == "mlnx_qos" and len(ARGUMENTS) == 2)
if not requested and not (TOOL == "setpci" and "=" not in ARGUMENTS[-1]):
    with open(os.environ["RECORD"], "a") as record:  # noqa: PTH123
        record.write(" ".join([TOOL, *ARGUMENTS]) + "\n")
sys.stdout.write(text)
