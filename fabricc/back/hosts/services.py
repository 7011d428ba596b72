"""The system below the ports: limits, modules, and the script that installs and applies all files."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.back.hosts import words
from fabricc.back.hosts.interfaces import SYSTEMS
from fabricc.back.hosts.nics import GPUS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host

LIMITS = "etc/security/limits.d/90-rdma.conf"
SERVICE_LIMITS = "etc/systemd/system.conf.d/90-fabricc.conf"
MODULES = "etc/modules-load.d/fabricc.conf"
APPLY = "apply"

ETHERNET = 1  # ARPHRD_ETHER, linux/if_arp.h
RDMA_MODULES = ("ib_umad", "rdma_cm", "rdma_ucm")
_SYSTEM_LINE = "SYSTEM="
_BY_NETWORKD = frozenset({"apply-netplan.sh", "apply-networkd.sh"})
_SCRIPTS = """
# The NICs of a further network have a script of their own, by the name that their ports begin with.
script_of() {
    of_network=usr/local/sbin/fabricc-roce-${1%%[0-9]*}
    if [ -e "$of_network" ]; then echo "$of_network"; else echo usr/local/sbin/fabricc-roce; fi
}
"""
_SCRIPT = """\
    NIC_SCRIPT=$(script_of "$1")
"""


def render(host: Host) -> dict[str, str]:
    """Return the files; the script `apply` in the same folder installs them."""
    if host.rails_elsewhere:
        return {APPLY: apply_script(host.os, home=host.network)}
    return {
        MODULES: modules_text(host.model.gpu_vendor, host.leave_out),
        APPLY: apply_script(host.os, bool(host.beside), host.network),
        **limit_files(host.leave_out),
    }


def modules_text(gpu_vendor: str, leave_out: tuple[str, ...]) -> str:
    """Return the list of kernel modules, without those that the spec leaves out."""
    lines = words.read_template(GPUS[gpu_vendor].modules_template).splitlines(keepends=True)
    return "".join([line for line in lines if line.strip() not in leave_out])


def limit_files(leave_out: tuple[str, ...]) -> dict[str, str]:
    """Return the files that let programs lock memory, for logins and for services."""
    if words.LOCKED_MEMORY in leave_out:
        return {}
    return {
        LIMITS: words.read_template("limits.conf.j2"),
        SERVICE_LIMITS: words.read_template("service-limits.conf.j2"),
    }


@lru_cache(maxsize=64)
def apply_script(system: str, networks: bool = False, home: str = "") -> str:
    """Return the script that applies the files to a host of this system.

    Args:
        system: the operating system.
        networks: with files of further networks, too.
        home: the further network whose files contain the host's name; "" for that of the rails.
    """
    networks = networks or bool(home)
    script = apply_template(SYSTEMS[system].ACTIVATION)
    for place, text in (("{{ scripts }}\n", _SCRIPTS), ("{{ script }}\n", _SCRIPT)):
        script = script.replace(place, text if networks else "")
    return words.fill_template(
        script,
        system=system,
        early_files="etc/udev/* | etc/systemd/network/*",
        network_files="etc/netplan/* | etc/NetworkManager/conf.d/*",
        naming_files="*.link",
        unplaced="the plan has no PCI address for it",
        links="/etc/systemd/network/10-fabricc-*.link",
        devices="/sys/class/net",
        link_types=ETHERNET,
        cards="ports",
        parent="$port",
        netplan="60-fabricc*.yaml" if networks else "60-fabricc.yaml",
        part=home or "rails",
        own=f"60-fabricc-{home}.yaml" if home else "60-fabricc.yaml",
        whose=words.ports_of(home),
    )


def system_of(apply: str) -> str:
    """Return the operating system that a script `apply` is for; "" where it names none."""
    lines = (line for line in apply.split("\n") if line.startswith(_SYSTEM_LINE))
    return next(lines, "").removeprefix(_SYSTEM_LINE)


def apply_template(*networks: str) -> str:
    """Return the script that installs the files, with templates that activate the network in its place for them."""
    owner = [] if _BY_NETWORKD.isdisjoint(networks) else ["apply-owner-networkd.sh"]
    parts = "".join([words.read_template(name) for name in (*owner, *networks)])
    return words.read_template("apply.sh.j2").replace("{{ network }}\n", parts)


def _script_digest(script: str) -> str:
    lines = [line for line in script.split("\n") if not line.startswith(_SYSTEM_LINE)]
    return sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def state(facts: Facts, host: Host) -> None:
    """Add the facts that all hosts of a system and of a maker of GPUs share."""
    if host.rails_elsewhere:
        facts.update(_apply_facts(host.os, apply_script(host.os, home=host.network)))
        return
    facts.update(
        _shared_facts(host.os, host.model.gpu_vendor, bool(host.beside), host.network, host.leave_out)
    )


@lru_cache(maxsize=64)
def _shared_facts(
    system: str, gpu_vendor: str, networks: bool, home: str, leave_out: tuple[str, ...]
) -> Facts:
    limits: Facts = {
        **{f"limit[{who}]/{kind}/memlock": "unlimited" for who in ("*", "root") for kind in ("soft", "hard")},
        "service_limit[DefaultLimitMEMLOCK]": "infinity",
    }
    modules = [name for name in (*RDMA_MODULES, *GPUS[gpu_vendor].modules) if name not in leave_out]
    return {
        **({} if words.LOCKED_MEMORY in leave_out else limits),
        **{f"module[{name}]": "load" for name in modules},
        **_apply_facts(system, apply_script(system, networks, home)),
    }


def _apply_facts(system: str, script: str) -> Facts:
    return {"apply/system": system, "apply/procedure": _script_digest(script)}


def _read_service_limits(reading: Reading, file: str, text: str) -> None:
    for number, key, value, line in words.setting_lines(text):
        if key.startswith("Manager.DefaultLimit"):
            reading.put(f"service_limit[{key.removeprefix('Manager.')}]", value, file, number)
        else:
            reading.unknown.append((file, number, line))


def _read_apply(reading: Reading, file: str, text: str) -> None:
    """The digest of what the script does, so that an edited one does not pass as ours, and for which system it is."""
    reading.put("apply/procedure", _script_digest(text), file, 1)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(_SYSTEM_LINE):
            reading.put("apply/system", line.removeprefix(_SYSTEM_LINE), file, number)


_NEVER = re.compile(r"blacklist\s+(\S+)|install\s+(\S+)\s+/(?:usr/)?s?bin/(?:true|false)")


def _read_modprobe(reading: Reading, file: str, text: str) -> None:
    """Read which modules are never loaded by themselves (modprobe.d(5)); options are of no interest here."""
    for number, line in words.statement_lines(text):
        if found := _NEVER.fullmatch(line):
            reading.put(f"modprobe[{(found[1] or found[2]).replace('-', '_')}]", line, file, number)
        else:
            reading.unknown.append((file, number, line))


READERS: Mapping[str, words.Reader] = {
    "etc/modprobe.d/*.conf": _read_modprobe,
    LIMITS: words.each_line(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S+)", r"limit[\1]/\2/\3", r"\4"),
    SERVICE_LIMITS: _read_service_limits,
    MODULES: words.each_line(r"(.*)", r"module[\1]", "load"),
    APPLY: _read_apply,
}
