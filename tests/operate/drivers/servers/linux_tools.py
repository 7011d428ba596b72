"""Programs of a SONiC or Cumulus switch, in so far as the drivers call them; the tools of `nv` are elsewhere.

State lies in the folder SWITCH_ROOT: `running.json` (CONFIG_DB or NVUE's tree), `frr` (what FRR runs), `bgp_mode` (how
the bgp container started) and checkpoints. The file `faults` holds words: `reject`, `fail_commit`,
`disk_full`, and those of sonic_updater.py, which stands in for SONiC's updater.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(os.environ["SWITCH_ROOT"])


def fail_with(text: str, status: int = 1) -> None:
    print(text, file=sys.stderr)
    sys.exit(status)


def has_fault(word: str) -> bool:
    file = ROOT / "faults"
    return file.exists() and word in file.read_text().split()


def refused_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a text that this switch refuses, with their numbers."""
    file = ROOT / "planted"
    bad = file.read_text().splitlines() if file.exists() else []
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip() in bad]


INIT = {"CRM": {"Config": {"polling_interval": "300"}}, "FEATURE": {"bgp": {"state": "enabled"}}}
"""Tables that `config reload` merges from init_cfg.json."""
MAC = "1c:34:da:00:00:01"
STOCK_PORT = {"lanes": "901", "alias": "etp99", "index": "99", "speed": "10000"}
BGP_STARTS_S = 1


def run_config(words: list[str]) -> None:
    """SONiC's `run_config`."""
    running, points = ROOT / "running.json", ROOT / "etc/sonic/checkpoints"
    points.mkdir(exist_ok=True)
    verb, rest = words[0], words[1:]
    if verb == "replace":
        replace(json.loads(Path(rest[-1]).read_text()))
    elif verb == "reload":
        text = sys.stdin.read() if rest[-1] == "/dev/stdin" else Path(rest[-1]).read_text()
        reload_config(json.loads(text), checked=rest[-1] != "/dev/stdin")
    elif verb == "load":
        tables = json.loads(running.read_text())
        for table, rows in json.loads(Path(rest[-1]).read_text()).items():
            for key, row in rows.items():
                tables.setdefault(table, {}).setdefault(key, {}).update(row)
        running.write_text(json.dumps(tables))
    elif verb == "checkpoint":
        if (points / f"{rest[0]}.cp.json").exists() or has_fault("disk_full"):
            fail_with("Failed to create a config checkpoint: No space left on device", 2)
        shutil.copy(running, points / f"{rest[0]}.cp.json")
    elif verb == "delete-checkpoint":
        (points / f"{rest[0]}.cp.json").unlink()
    elif verb == "save":
        shutil.copy(running, ROOT / "etc/sonic/config_db.json")


def import_updater():  # type: ignore[no-untyped-def]
    """The stand-in of SONiC's updater."""
    sys.path.insert(0, str(ROOT / "lib"))
    from generic_config_updater import gu_common

    return gu_common


def ran_before(tables: dict) -> bool:  # type: ignore[type-arg]
    """Return whether a checkpoint has these tables."""
    points = (ROOT / "etc/sonic/checkpoints").glob("*.json")
    return any(json.loads(point.read_text()) == tables for point in points)


def replace(wanted: dict) -> None:  # type: ignore[type-arg]
    """`config replace`: its checks, then its changes one after the other."""
    ours = import_updater()
    if empty := [name for name, rows in wanted.items() if not rows]:
        fail_with(f"Failed to replace config due to: it will result in empty tables: {', '.join(empty)}", 2)
    valid, why = ours.ConfigWrapper().validate_config_db_config(wanted)
    if not valid:
        fail_with(
            f"Failed to replace config due to: Given patch will produce invalid config. Error: {why}", 2
        )
    try:
        ours.ConfigWrapper().validate_field_operation(json.loads((ROOT / "running.json").read_text()), wanted)
        if has_fault("fail_commit") and not ran_before(wanted):
            (ROOT / "running.json").write_text(json.dumps({"HALF": {"a": {}}, **wanted}))
            raise ValueError("services did not restart")
        ours.replace(wanted)
    except ValueError as error:
        fail_with(f"Failed to replace config due to: {error}", 2)


def reload_config(wanted: dict, *, checked: bool) -> None:  # type: ignore[type-arg]
    """`config reload`: what is not in the file goes, init_cfg comes, and stock ports do where there is no mac."""
    if checked:
        valid, why = import_updater().ConfigWrapper().validate_config_db_config(wanted)
        if not valid:
            fail_with(f"sonic_yang(6): config file validation failed: {why}", 1)
    if has_fault("fail_commit") and not ran_before(wanted):
        fail_with("config reload: services did not restart", 1)
    tables = {name: dict(rows) for name, rows in INIT.items()}
    for name, rows in wanted.items():
        tables.setdefault(name, {}).update(rows)
    here = tables.get("DEVICE_METADATA", {}).get("localhost", {})
    if not here.get("mac") or (has_fault("stock_ports") and not ran_before(wanted)):
        here.setdefault("mac", MAC)
        tables.setdefault("PORT", {})["Ethernet999"] = STOCK_PORT
    (ROOT / "running.json").write_text(json.dumps(tables))
    start_bgp()


def start_bgp() -> None:
    """Start the bgp container, which reads its mode then and answers some time later."""
    here = json.loads((ROOT / "running.json").read_text()).get("DEVICE_METADATA", {}).get("localhost", {})
    mode = here.get("docker_routing_config_mode", "separated")
    before, stock = ROOT / "bgp_mode", ROOT / "frr.stock"
    if before.exists() and before.read_text() != "split-unified":
        stock.write_text((ROOT / "frr").read_text())
    before.write_text(mode)
    (ROOT / "bgp_starts").write_text(str(time.time() + BGP_STARTS_S))
    boot = ROOT / "etc/sonic/frr/frr.conf"
    if mode == "split-unified":
        lines = boot.read_text().splitlines(keepends=True) if boot.exists() else []
        (ROOT / "frr").write_text("".join(one for one in lines if not passed_over(one.strip())))
        for name in ("bgpd.conf", "zebra.conf", "staticd.conf"):
            boot.with_name(name).unlink(missing_ok=True)
    elif mode == "split":
        boot.unlink(missing_ok=True)
        own = boot.with_name("bgpd.conf")
        (ROOT / "frr").write_text(own.read_text() if own.exists() else "")
    else:
        boot.unlink(missing_ok=True)
        if stock.exists():  # bgpcfgd configures FRR from the tables again
            (ROOT / "frr").write_text(stock.read_text())


def run_systemctl(words: list[str]) -> None:
    """`systemctl restart bgp`."""
    if words == ["restart", "bgp"]:
        start_bgp()


def run_sonic_cfggen(words: list[str]) -> None:
    """`sonic-cfggen -d --print-data`, and the mac of the hardware."""
    if words == ["-d", "--print-data"]:
        print((ROOT / "running.json").read_text())
    elif words == ["-H", "-v", "DEVICE_METADATA.localhost.mac"]:
        print(MAC)
    elif words == ["-d", "-v", "DEVICE_METADATA.localhost.hwsku"]:
        print(json.loads((ROOT / "running.json").read_text())["DEVICE_METADATA"]["localhost"]["hwsku"])
    else:
        fail_with(f"sonic-cfggen {words}", 2)


def run_show(words: list[str]) -> None:
    """SONiC's `run_show`, with FRR's text in it."""
    if words == ["runningconfiguration", "all"]:
        tables = json.loads((ROOT / "running.json").read_text())
        print(json.dumps({**tables, "bgpraw": (ROOT / "frr").read_text()}))


def read_counted() -> dict:  # type: ignore[type-arg]
    """Return what the device counts, in the form of `Counted`; priorities as text."""
    return json.loads((ROOT / "counted.json").read_text())


def run_redis_dump(words: list[str]) -> None:
    """`redis-dump` of COUNTERS_DB and STATE_DB.

    Forms: sonic-utilities' mock tables (counters_db.json) for the maps of names and SAI's fields, sonic-swss'
    pfcactionhandler.h for those of the watchdog, system-health-HLD.md for SYSTEM_HEALTH_INFO.
    """
    reported = read_counted()
    if words[1] == "6":
        alarms = {name: f"Not OK|{text}" for name, text in reported["alarms"].items()}
        print(
            json.dumps({"SYSTEM_HEALTH_INFO": {"value": {"summary": "Not OK" if alarms else "OK", **alarms}}})
        )
        return
    ports, queues, rows = {}, {}, {}
    for at, port in enumerate(reported["ports"]):
        ports[port] = f"oid:0x1{at:03x}"
        rows[f"COUNTERS:{ports[port]}"] = {
            f"SAI_PORT_STAT_PFC_{n}_{way.upper()}_PKTS": str(
                reported[f"pfc_{way}"].get(port, {}).get(str(n), 0)
            )
            for n in range(8)
            for way in ("rx", "tx")
        }
        for n in range(8):
            queues[f"{port}:{n}"] = oid = f"oid:0x2{at:03x}{n}"
            row = {"SAI_QUEUE_STAT_DROPPED_PACKETS": str(reported["dropped"].get(port, {}).get(str(n), 0))}
            row["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] = str(
                reported["marked"].get(port, {}).get(str(n), 0)
            )
            if n == 3:
                row["PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"] = str(
                    reported["storms"].get(port, {}).get(str(n), 0)
                )
            rows[f"COUNTERS:{oid}"] = row
    names = {"COUNTERS_PORT_NAME_MAP": ports, "COUNTERS_QUEUE_NAME_MAP": queues} if ports else {}
    print(json.dumps({key: {"type": "hash", "value": value} for key, value in {**names, **rows}.items()}))


def run_docker(words: list[str]) -> None:
    """`docker exec [-i] CONTAINER PROGRAM …`; a container shares the folder of FRR."""
    rest = words[1:]
    name = rest[1] if rest[0] == "-i" else rest[0]
    rest = rest[2:] if rest[0] == "-i" else rest[1:]
    starts = ROOT / "bgp_starts"
    if name == "bgp" and starts.exists() and time.time() < float(starts.read_text()):
        fail_with("Error response from daemon: container bgp is not running", 1)
    if rest[0] == "python3":
        reload_frr(rest[2:])
        return
    os.execvp(rest[0], rest)


def container_path(path: str) -> Path:
    """A file of the container's folder of FRR, which lies on the switch."""
    return Path(path.replace("/etc/frr", str(ROOT / "etc/sonic/frr")))


def passed_over(line: str) -> bool:
    """Return whether frr-reload.py ignores a line that `show running-config` prints around the configuration."""
    return line == "end" or line.startswith("frr version")


def reload_frr(words: list[str]) -> None:
    """`frr-reload.py`; with the fault `old_frr` of an FRR before 10.2, which leaves BFD's timers (its PR 16968)."""
    wanted = container_path(words[-1]).read_text()
    running = ROOT / "frr"
    old, new = running.read_text().splitlines(), [one for one in wanted.splitlines() if not passed_over(one)]
    if "--reload" in words:
        mode = ROOT / "bgp_mode"
        if mode.exists() and mode.read_text() != "split-unified":
            fail_with("frr-reload.py requires 'service integrated-vtysh-config'")
        if "refuse me" in wanted:
            fail_with("frr-reload.py failed due to neighbor 192.0.2.1 password S3CRET")
        if has_fault("old_frr") and "bfd" in new:
            kept = [one for one in old if one.startswith("  transmit-interval") and one not in new]
            at = new.index(" profile FABRIC") + 1
            new[at:at] = kept
        running.write_text("".join(f"{one}\n" for one in new))
        return
    for mark in (f"file {words[-1]}", "vtysh show running"):
        print(f"2026-03-01 12:00:00,123  INFO: Loading Config object from {mark}", file=sys.stderr)
    gone, added = [one for one in old if one not in new], [one for one in new if one not in old]
    timers = [one.replace("  ", "  no ", 1) for one in gone if one.startswith("  transmit-interval")]
    gone = ["bfd", " profile FABRIC", *timers] if timers else gone
    for heading, lines in (("Lines To Delete", gone), ("Lines To Add", added)):
        if lines:
            print(f"\n{heading}\n===============", *lines, sep="\n")


def run_vtysh(words: list[str]) -> None:
    """`vtysh -C -f FILE`, `vtysh -c COMMAND`, and timers that are set to their defaults, which FRR does not print."""
    if has_fault("vtysh_denied") and "AS_ROOT" not in os.environ:
        fail_with("Exiting: failed to connect to any daemons.")
    if words[0] == "-h":
        print("Usage : vtysh [OPTION...]")
    elif words[0] == "-C":
        if "bogus" in container_path(words[2]).read_text():
            fail_with("line 1: % Unknown command: bogus", 2)
        if bad := refused_lines(container_path(words[2]).read_text()):
            fail_with(
                "\n".join(f"line {number}: % Unknown command[{number}]: {line}" for number, line in bad), 2
            )
    elif words[1] == "configure terminal":
        running = ROOT / "frr"
        if "transmit-interval 300" in words:
            lines = [one for one in running.read_text().splitlines() if "transmit-interval" not in one]
            running.write_text("".join(f"{one}\n" for one in lines))
    elif words[1] == "show version":
        print("FRRouting 10.3")
    elif words[1] == "show running-config":
        print(
            "Building configuration...\n\nCurrent configuration:\n!\nfrr version 10.0\n"
            + (ROOT / "frr").read_text()
            + "end\n"
        )
    else:
        print((ROOT / "vtysh" / words[1].replace(" ", "_")).read_text())


def run_id(words: list[str]) -> None:
    """`id -u` and `id -nG` of a login that is not root."""
    print("1000" if words == ["-u"] else "admin sudo nvapply")


def run_ps(words: list[str]) -> None:
    """`ps -eo args=`: the processes of this switch, which share a machine with those of others."""
    own = f"SWITCH_ROOT={ROOT}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if own in (process / "environ").read_bytes().split(b"\0"):
                args = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                print(*(os.fsdecode(arg) for arg in args))
        except OSError:  # it has ended
            continue


def run_sudo(words: list[str]) -> None:
    """`sudo -n PROGRAM ...`; with the fault `sudo_password` it would require a password."""
    if has_fault("sudo_password"):
        fail_with("sudo: a password is required")
    os.environ["AS_ROOT"] = "1"
    os.execvp(words[1], words[1:])
