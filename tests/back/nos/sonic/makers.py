"""SONiC's own programs on the files of a switch: bgpcfgd, caclmgrd, hostcfgd and the start script of the bgp container.

The code is read from the Git repositories in the folder that the environment variable SONIC_SOURCES names
(`sonic-buildimage` and `sonic-host-services`, each with the branches of releases); nothing is fetched. What they need
of a switch is a stand-in: CONFIG_DB is the file, FRR answers with `frr.conf`, and no command of the system runs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(os.environ.get("SONIC_SOURCES", "/nonexistent"))
FRR_TEMPLATES = "dockers/docker-fpm-frr/frr"

STUBS = '''
import json, sys, types

TABLES = json.load(open(sys.argv[1]))

class Anything:
    """Stands in for what the code only passes on."""
    def __init__(self, *args, **named): pass
    def __getattr__(self, name): return lambda *args, **named: None

def module(name, **content):
    found = types.ModuleType(name)
    found.__dict__.update(content)
    sys.modules[name] = found
    return found

class ConfigDBConnector(Anything):
    def get_table(self, name):
        """Rows as swsscommon returns them: composite keys as tuples, lists as lists."""
        rows = TABLES.get(name, {})
        return {tuple(key.split("|")) if "|" in key else key: row for key, row in rows.items()}

class Table(Anything):
    """A table that a manager keeps its own state in: empty at its start."""
    def getKeys(self): return []

class Names(types.ModuleType):
    """Constants of swsscommon: the name of a table is in the name of its constant."""
    SET_COMMAND, DEL_COMMAND = "SET", "DEL"
    CFG_INTF_TABLE_NAME = "INTERFACE"
    CFG_LOOPBACK_INTERFACE_TABLE_NAME = "LOOPBACK_INTERFACE"
    STATE_INTERFACE_TABLE_NAME = "INTERFACE_TABLE"
    ConfigDBConnector, Table = ConfigDBConnector, Table
    def __getattr__(self, name):
        if name.startswith(("CFG_", "STATE_", "APP_")):
            return name.partition("_")[2].removesuffix("_TABLE_NAME")
        return Anything

class DeviceInfo:
    """A switch with one ASIC and no chassis."""
    def __getattr__(self, name): return lambda *args, **named: False

common = Names("swsscommon.swsscommon")
module("swsscommon", swsscommon=common)
sys.modules["swsscommon.swsscommon"] = common
'''
BGPCFGD = '''
import threading, yaml
module("sonic_py_common", device_info=DeviceInfo(), multi_asic=Anything())
sys.path.insert(0, sys.argv[2])
from bgpcfgd import utils

def vtysh(command, *args, **named):
    """FRR that has no session yet."""
    return 0, json.dumps({"vrfs": {"default": {}}} if "vrfs" in " ".join(command) else {}), ""

utils.run_command = vtysh
from bgpcfgd import main, template
import bgpcfgd.managers_bfd as bfd
started, pushed = [], []

class Frr(Anything):
    """FRR that runs `frr.conf`, and takes what is pushed."""
    def wait_for_daemons(self, seconds): return True
    def get_config(self): return open(sys.argv[3]).read()
    def write(self, text): pushed.append(text); return True
    def restart_peer_groups(self, groups): return True

class Runner:
    """Hands every row of CONFIG_DB to its managers, and the loopback of STATE_DB."""
    def __init__(self, cfg_mgr): self.cfg_mgr, self.managers = cfg_mgr, []
    def add_manager(self, manager): self.managers.append(manager)
    def run(self):
        state = {key: {"state": "ok"} for key in TABLES.get("LOOPBACK_INTERFACE", {}) if "|" in key}
        for _ in range(2):
            for each in self.managers:
                tables = {"INTERFACE_TABLE": state} if each.get_database() == "STATE_DB" else TABLES
                if each.get_database() == "APPL_DB": continue
                self.cfg_mgr.update()
                for key, row in tables.get(each.get_table_name(), {}).items():
                    each.handler(key, "SET", dict(row))
                self.cfg_mgr.commit()

class Pgrep(types.ModuleType):
    CalledProcessError = RuntimeError
    def check_output(self, command): raise RuntimeError
    def run(self, command): started.append(command[0]); return types.SimpleNamespace(returncode=0)

bfd.subprocess = Pgrep("subprocess")
bfd.run_command = lambda *args, **named: (0, "[]", "")  # no BFD session yet
main.FRR, main.Runner = Frr, Runner
main.StaticRouteTimer = lambda: types.SimpleNamespace(run=lambda: None)
main.read_constants = lambda: yaml.safe_load(open(sys.argv[4]))["constants"]
main.TemplateFabric = lambda: template.TemplateFabric(sys.argv[5])
main.do_work()
print(json.dumps({"pushed": "".join(pushed), "started": started}))
'''
CACLMGRD = """
class Logger(Anything):
    def __init__(self, *args, **named): pass
module("sonic_py_common.general", getstatusoutput_noshell_pipe=lambda *args: ([0, 0], ""))
asic = types.SimpleNamespace(get_all_namespaces=lambda: {"front_ns": [], "back_ns": [], "fabric_ns": []})
module("sonic_py_common", logger=types.SimpleNamespace(Logger=Logger), device_info=DeviceInfo(), multi_asic=asic,
       daemon_base=types.SimpleNamespace(DaemonBase=Logger))
code = compile(open(sys.argv[2]).read(), "caclmgrd", "exec")
scope = {"__name__": "caclmgrd"}
exec(code, scope)
Manager = scope["ControlPlaneAclManager"]
Manager.get_namespace_mgmt_ip = Manager.get_namespace_mgmt_ipv6 = lambda self, *args: ""
Manager.get_chain_list = lambda self, *args: []
commands, _ = Manager("caclmgrd").get_acl_rules_and_translate_to_iptables_commands("", ConfigDBConnector())
print(json.dumps([" ".join(one) if isinstance(one, list) else one for one in commands]))
"""
HOSTCFGD = """
import builtins, collections, os, subprocess, syslog

real_open, root = builtins.open, sys.argv[3]
commands, errors, callbacks = [], [], {}

def guarded_open(path, mode="r", *args, **named):
    \"\"\"Opens files for writing below the folder alone.\"\"\"
    assert mode[0] == "r" and "+" not in mode or str(path).startswith(root), path
    return real_open(path, mode, *args, **named)

def record(command, *args, **named):
    commands.append(" ".join(command) if isinstance(command, (list, tuple)) else command)
    return types.SimpleNamespace(returncode=0, stdout=b"", communicate=lambda *_: (b"", b""))

def log(level, text=None):
    if text is not None and level <= syslog.LOG_ERR:
        errors.append(text)

shell = types.SimpleNamespace(
    CalledProcessError=subprocess.CalledProcessError, PIPE=subprocess.PIPE, run=record, Popen=record, call=record,
    check_call=record, check_output=lambda command, *args, **named: record(command) and b"")

class Db(ConfigDBConnector):
    def subscribe(self, table, callback): callbacks[table] = callback
    @staticmethod
    def deserialize_key(key): return tuple(key.split("|")) if "|" in key else key

class Tables(Names):
    CFG_NTP_GLOBAL_TABLE_NAME = "NTP"
    ConfigDBConnector, DBConnector, SonicDBConfig = Db, Anything, Anything
    class RestartWaiter:
        isAdvancedBootInProgress = staticmethod(lambda *_: False)

tables = Tables("swsscommon.swsscommon")
sys.modules["swsscommon.swsscommon"] = sys.modules["swsscommon"].swsscommon = tables
general = module("sonic_py_common.general", check_output_pipe=lambda *parts: record(sum(parts, [])) and "")
module("sonic_py_common", device_info=DeviceInfo(), general=general)
module("sonic_installer", bootloader=Anything())
module("psutil")
sys.path.insert(0, os.path.dirname(sys.argv[2]))
text = real_open(sys.argv[2]).read()
templates = sys.argv[4]
for mark in "'\\"":
    text = text.replace(f"{mark}/usr/share/sonic/templates/", mark + templates)
    for place in ("/etc/", "/proc/", "/var/", "/run/"):
        text = text.replace(f"{mark}{place}", f"{mark}{root}{place}")
builtins.open = guarded_open
scope = {"__name__": "hostcfgd", "__file__": sys.argv[2]}
sys.modules["syslog"] = types.SimpleNamespace(**{**vars(syslog), "syslog": log})
sys.modules["subprocess"] = shell
exec(compile(text, "hostcfgd", "exec"), scope)
daemon = scope["HostConfigDaemon"]()
daemon.register_callbacks()
daemon.load(collections.defaultdict(dict))
del commands[:]
for table, callback in callbacks.items():
    for key, row in TABLES.get(table, {}).items():
        callback(table, key, dict(row))
written = {}
for folder, _, names in os.walk(root):
    for name in names:
        path = os.path.join(folder, name)
        written[path[len(root):]] = real_open(path).read()
print(json.dumps({"commands": commands, "errors": errors, "files": written, "tables": sorted(callbacks)}))
"""
CFGGEN = '''#!{python}
"""sonic-cfggen -d [-y FILE] -t TEMPLATE[,OUTPUT]...: templates with the tables of CONFIG_DB."""
import json, sys
import jinja2

words = sys.argv[1:]
tables = json.load(open("{tables}"))
environment = jinja2.Environment(loader=jinja2.FileSystemLoader("/"), trim_blocks=True)
for at, word in enumerate(words):
    if word == "-t":
        name, _, output = words[at + 1].partition(",")
        text = environment.get_template(name).render(tables)
        open(output, "w").write(text) if output else print(text)
'''


TEMPLATES_ELSEWHERE = ("202305",)
"""Releases whose templates of hostcfgd are in sonic-buildimage."""


def needs_sources() -> None:
    """Skip where the sources are missing."""
    if not (SOURCES / "sonic-buildimage").exists():
        pytest.skip("SONIC_SOURCES names no folder with SONiC's repositories")


def extract_source(repository: str, release: str, path: str, folder: Path) -> Path:
    """Return a file or folder of a release, unpacked."""
    place = SOURCES / repository
    tar = subprocess.run(
        ["git", "-C", str(place), "archive", release, path], capture_output=True, timeout=60, check=False
    )
    if tar.returncode:
        pytest.skip(f"{repository} has no {path} in {release}")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=tar.stdout, timeout=60, check=True)
    return folder / path


def _run(program: str, folder: Path, tables: dict[str, Any], *words: str) -> Any:
    (folder / "program.py").write_text(STUBS + program)
    (folder / "tables.json").write_text(json.dumps(tables))
    done = subprocess.run(
        [sys.executable, str(folder / "program.py"), str(folder / "tables.json"), *words],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def run_bgpcfgd(release: str, folder: Path, files: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return the lines that bgpcfgd pushes into FRR, and the daemons that it starts."""
    package = extract_source("sonic-buildimage", release, "src/sonic-bgpcfgd/bgpcfgd", folder)
    templates = extract_source("sonic-buildimage", release, FRR_TEMPLATES, folder)
    constants = extract_source(
        "sonic-buildimage", release, "files/image_config/constants/constants.yml", folder
    )
    (folder / "frr.conf").write_text(files["frr.conf"])
    places = (package.parent, folder / "frr.conf", constants, templates)
    program = BGPCFGD
    if not (package / "managers_bfd.py").exists():
        program = program.replace("import bgpcfgd.managers_bfd as bfd", "bfd = types.SimpleNamespace()")
    if not (package / "static_rt_timer.py").exists():
        program = program.replace("main.StaticRouteTimer", "main.unused")
    found = _run(program, folder, json.loads(files["config_db.json"]), *map(str, places))
    return [line for line in found["pushed"].splitlines() if line.strip("! \n") and line[0] != "!"], found[
        "started"
    ]


def run_caclmgrd(release: str, folder: Path, tables: dict[str, Any]) -> list[str]:
    """Return the commands of iptables and ip6tables that caclmgrd makes of CONFIG_DB."""
    script = extract_source("sonic-host-services", release, "scripts/caclmgrd", folder)
    found: list[str] = _run(CACLMGRD, folder, tables, str(script))
    return found


def run_hostcfgd(release: str, folder: Path, tables: dict[str, Any]) -> dict[str, Any]:
    """Return what hostcfgd does on a new switch as each row of CONFIG_DB arrives.

    Returns:
        `commands` that it runs, `errors` that it logs, `files` by path that it leaves, and the `tables` that it reads.
    """
    script = extract_source("sonic-host-services", release, "scripts/hostcfgd", folder)
    extract_source("sonic-host-services", release, "scripts", folder)
    if release in TEMPLATES_ELSEWHERE:
        templates = extract_source(
            "sonic-buildimage", release, "src/sonic-host-services-data/templates", folder
        )
    else:
        templates = extract_source("sonic-host-services", release, "data/templates", folder)
    root = folder / "root"
    for name, text in (
        ("etc/pam.d/sshd", "@include common-auth\n"), ("etc/pam.d/login", "@include common-auth\n"),
        ("etc/nsswitch.conf", "passwd: files\n"), ("etc/login.defs", "PASS_MAX_DAYS 99999\nPASS_WARN_AGE 7\n"),
        ("etc/ssh/sshd_config", "Port 22\n"), ("etc/security/limits.conf", ""), ("etc/pam.d/pam-limits-conf", ""),
        ("etc/pam_radius_auth.d/none", ""), ("etc/ldap/ldap.conf", ""), ("proc/cmdline", "console=tty0\n"),
        ("etc/sonic/none", ""), ("etc/fips/none", ""),
    ):  # fmt: skip
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    found: dict[str, Any] = _run(HOSTCFGD, folder, tables, str(script), str(root), f"{templates}/")
    return found


def start_bgp(release: str, folder: Path, files: dict[str, str]) -> Path:
    """Run the start script of the bgp container, and return its `/etc`; its programs are what supervisord reads."""
    script = extract_source("sonic-buildimage", release, "dockers/docker-fpm-frr/docker_init.sh", folder)
    templates = extract_source("sonic-buildimage", release, FRR_TEMPLATES, folder)
    etc = folder / "etc"
    for each in ("etc/frr", "etc/sonic", "etc/supervisor/conf.d", "sbin", "bin", "var"):
        (folder / each).mkdir(parents=True)
    (etc / "frr/frr.conf").write_text(files["frr.conf"])
    of_image = {"FEATURE": {"bgp": {"state": "enabled"}}}
    (folder / "tables.json").write_text(json.dumps({**json.loads(files["config_db.json"]), **of_image}))
    program = CFGGEN.format(python=sys.executable, tables=folder / "tables.json")
    for name, text in (("sonic-cfggen", program), ("chown", "#!/bin/sh\n"), ("chmod", "#!/bin/sh\n")):
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    text = script.read_text()
    for old, new in (
        ("/etc/", f"{etc}/"), ("/usr/share/sonic/templates", str(templates)), ("/usr/sbin/", f"{folder}/sbin/"),
        ("/usr/local/sonic/frrcfgd", str(templates)), ("/var/", f"{folder}/var/"),
        ("exec /usr/local/bin/supervisord", "exit 0"), ("exec /usr/bin/supervisord", "exit 0"),
    ):  # fmt: skip
        text = text.replace(old, new)
    script.write_text(text)
    done = subprocess.run(
        ["bash", str(script)], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "NAMESPACE_ID": ""},
    )  # fmt: skip
    assert (etc / "supervisor/conf.d/supervisord.conf").exists(), done.stderr
    return etc


def has_jq() -> bool:
    """Return whether the program that the start script needs is here."""
    return shutil.which("jq") is not None
