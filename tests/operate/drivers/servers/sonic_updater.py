"""Stands in for SONiC's updater, `generic_config_updater.gu_common` and what `config replace` does with it.

Rules and their sources in the branch 202505 of sonic-utilities: the limits of gcu_field_operation_validators.conf.json
for a few models; a port is shut and opened again for its rows of QoS and buffers (patch_sorter.py); a change is made
on what runs at that time, with no lock (change_applier.py, ConfigLock); BUFFER_PG, BUFFER_PROFILE and
FLEX_COUNTER_TABLE are not compared. buffermgrd deletes the lossless group of a port that goes down, and makes it again
(sonic-swss cfgmgr/buffermgr.cpp, mellanox).
"""

import json
import os
import time
from pathlib import Path

ROOT = Path(os.environ["SWITCH_ROOT"])
RUNNING = ROOT / "running.json"
KNOWN = ("ACS-SN5600", "ACS-SN5400", "ACS-SN5640", "Arista-7060X6-64PE")
LIMITED = {
    "PFC_WD": ({"restoration_time", "detection_time", "action", "POLL_INTERVAL", ""}, {"add", "remove", "replace"}),
    "BUFFER_POOL": (
        {"ingress_lossless_pool/xoff", "ingress_lossless_pool/size", "egress_lossy_pool/size"}, {"replace"},
    ),
    "BUFFER_PROFILE": ({"dynamic_th", "xoff"}, {"replace"}),
    "WRED_PROFILE": ({"green_min_threshold", "green_max_threshold", "green_drop_probability"}, {"replace"}),
}  # fmt: skip
SHUT_FOR = (
    "BUFFER_PG", "BUFFER_QUEUE", "QUEUE", "PORT_QOS_MAP", "BUFFER_PORT_EGRESS_PROFILE_LIST",
    "BUFFER_PORT_INGRESS_PROFILE_LIST",
)  # fmt: skip
UNCOMPARED = ("BUFFER_PG", "BUFFER_PROFILE", "FLEX_COUNTER_TABLE")


class IllegalPatchOperationError(ValueError):
    pass


def fault_value(word):  # type: ignore[no-untyped-def]
    """The rest of a word of the file `faults`, as in `slow=2`; "" for a word alone, None where it is not there."""
    file = ROOT / "faults"
    for one in file.read_text().split() if file.exists() else ():
        name, _, value = one.partition("=")
        if name == word:
            return value
    return None


def read():  # type: ignore[no-untyped-def]
    return json.loads(RUNNING.read_text())


def write(tables):  # type: ignore[no-untyped-def]
    new = RUNNING.with_name(f"running.{os.getpid()}")
    new.write_text(json.dumps(tables))
    new.replace(RUNNING)


def differing_rows(old, new):  # type: ignore[no-untyped-def]
    """Table and key of every row that differs."""
    for table in sorted(old.keys() | new.keys()):
        here, there = old.get(table, {}), new.get(table, {})
        for key in sorted(here.keys() | there.keys()):
            if here.get(key) != there.get(key):
                yield table, key, here.get(key), there.get(key)


class ConfigWrapper:
    def validate_config_db_config(self, tables):  # type: ignore[no-untyped-def]
        file = ROOT / "planted"
        planted = file.read_text().splitlines() if file.exists() else []
        text = json.dumps(tables, indent=4)
        for line in text.splitlines():
            if line.strip() in planted or line.strip().rstrip(",") in [one.rstrip(",") for one in planted]:
                name, _, value = line.strip().rstrip(",").partition(": ")
                # The words of sonic-net/sonic-buildimage issue 18854.
                return False, f"Data Loading Failed\nInvalid value {value} in {name} element."
        bogus = [name for name in tables if name.startswith("BOGUS")]
        if bogus:
            return False, f'Data Loading Failed\n{bogus[0]} is not valid: "passkey": "S3CRET"'
        profiles = tables.get("BUFFER_PROFILE", {})
        for key, row in tables.get("BUFFER_PG", {}).items():
            if row.get("profile") not in profiles:
                return False, f'Leafref "BUFFER_PROFILE" of BUFFER_PG {key} points to a non-existing leaf.'
        lanes = {}
        for port, row in tables.get("PORT", {}).items():
            for lane in filter(None, row.get("lanes", "").split(",")):
                if lane in lanes:
                    return (
                        False,
                        f"'{lane}' lane is used multiple times in PORT: {{'{port}', '{lanes[lane]}'}}",
                    )
                lanes[lane] = port
        return True, None

    def validate_field_operation(self, old, new):  # type: ignore[no-untyped-def]
        hwsku = new.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
        known = hwsku in KNOWN and fault_value("reject") is None
        for table, key, here, there in differing_rows(old, new):
            if table not in LIMITED:
                continue
            fields, operations = LIMITED[table]
            operation = "add" if here is None else "remove" if there is None else "replace"
            before, after = here or {}, there or {}
            changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
            fitting = all(name in fields or f"{key}/{name}" in fields for name in changed)
            if not known or operation not in operations or not fitting:
                raise IllegalPatchOperationError(
                    f"Modification of {table} table is illegal- validating function "
                    "generic_config_updater.field_operation_validators.rdma_config_update_validator returned False"
                )
            if operation == "remove" and (table, key) == ("PFC_WD", "GLOBAL"):
                raise IllegalPatchOperationError("Operation: remove is illegal on field: /PFC_WD/GLOBAL")


def run_buffermgrd(tables, port):  # type: ignore[no-untyped-def]
    """Act as buffermgrd when a port goes up or down; with `unlisted_cable` its lookup table lacks the cable."""
    row = tables.get("PORT", {}).get(port, {})
    cable = next((one[port] for one in tables.get("CABLE_LENGTH", {}).values() if port in one), "0m")
    priority = tables.get("PORT_QOS_MAP", {}).get(port, {}).get("pfc_enable", "")
    if not priority or cable == "0m" or fault_value("no_buffermgrd") is not None:
        return
    key, profile = f"{port}|{priority}", f"pg_lossless_{row.get('speed')}_{cable}_profile"
    groups = tables.setdefault("BUFFER_PG", {})
    if row.get("admin_status", "down") == "down":
        if groups.get(key, {}).get("profile") == profile:
            del groups[key]
    elif profile in tables.get("BUFFER_PROFILE", {}) and fault_value("unlisted_cable") is None:
        groups[key] = {"profile": profile}
    if not groups:
        del tables["BUFFER_PG"]


def apply_change(table, key, here, there, port=None):  # type: ignore[no-untyped-def]
    """Make one change on what runs now, and let the daemons see it."""
    time.sleep(float(fault_value("slow") or 0))
    tables = read()
    found = tables.get(table, {})
    if there is None:
        if key not in found:
            raise ValueError(f"can't remove a non-existent object '{key}'")
        del found[key]
        if not found:
            del tables[table]
    else:
        if here is not None and key not in found:
            raise ValueError(f"can't replace a non-existent object '{key}'")
        tables.setdefault(table, {})[key] = there
    if table == "PORT":
        run_buffermgrd(tables, key)
    write(tables)


def replace(target):  # type: ignore[no-untyped-def]
    """`config replace` after its checks; raises ValueError where it breaks off, with part of the changes made."""
    old = read()
    left = list(differing_rows(old, target))
    ports = {**old.get("PORT", {}), **target.get("PORT", {})}
    shut = {key.partition("|")[0] for table, key, _, _ in left if table in SHUT_FOR} & ports.keys()

    def status(port, value):  # type: ignore[no-untyped-def]
        row = read().get("PORT", {}).get(port)
        if row is not None and row.get("admin_status", "down") != value:
            apply_change("PORT", port, row, {**row, "admin_status": value})

    for port in sorted(shut):
        status(port, "down")
    for table, key, here, there in left:
        if table == "PORT" and there is not None:
            closed = {**there, "admin_status": "down"} if key in shut and "admin_status" in there else there
            apply_change(table, key, here, closed)
    for table, key, here, there in left:
        if table != "PORT":
            apply_change(table, key, here, there)
    for table, key, here, there in left:
        if table == "PORT" and there is None:
            apply_change(table, key, here, there)
    for port in sorted(shut):
        status(port, target.get("PORT", {}).get(port, {}).get("admin_status", "down"))
    if any(table not in UNCOMPARED for table, _, _, _ in differing_rows(read(), target)):
        raise ValueError("After replacing config, there is still some parts not updated")
