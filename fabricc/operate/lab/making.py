"""Create the parts of a lab: namespaces, cables between them, the switches that boot in them, and their logins."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import secrets
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from fabricc.back.nos.frr import daemons
from fabricc.base.foreign import files as foreign
from fabricc.base.numbers import group_pairs
from fabricc.operate.drivers.frr_files import FILES
from fabricc.operate.lab import blueprint, kernel, state
from fabricc.operate.lab.blueprint import MANAGEMENT_PORT, NAMESPACE_DAEMONS, NAMESPACE_OPTION, Blueprint
from fabricc.operate.lab.node import MANAGEMENT_NODE, LabError, Node
from fabricc.operate.lab.running import REFERENCE, SECRETS, Lab
from fabricc.operate.lab.state import VRFS, Cable, cable_ends, ends_of_cables, vrf_table
from fabricc.operate.lab.supervisor import WANTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fabricc.operate.lab.predict import End

    Progress = Callable[[str, int, int], None]


FOLDER = state.LOGINS
"""Below the state folder: the key, host keys that are known, values of secrets, and the access file."""
ACCESS = "fabricc-access.yaml"
_KEY, _KNOWN = "key", "known_hosts"
_PLACE = "etc/fabricc-lab"
_MBIT = 1000
_SSHD = """\
ListenAddress {address}
HostKey /{place}/host
AuthorizedKeysFile /{place}/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
PidFile /run/sshd.pid
"""


def require_sshd() -> None:
    """Raise FAB8002 when the programs of a login are missing."""
    if missing := [name for name in ("sshd", "ssh-keygen", "mountpoint") if shutil.which(name) is None]:
        remedy = "On Debian or Ubuntu: `apt-get install openssh-server util-linux`."
        raise LabError("FAB8002", f"not installed: {', '.join(missing)}", remedy)


def prepare_logins(lab: Lab, nodes: Iterable[Node]) -> None:
    """Make the key, a value for each secret that switches name, and the access file."""
    folder, values = lab.folder / FOLDER, lab.folder / SECRETS
    values.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    if not (folder / _KEY).exists():
        _generate_key(folder / _KEY)
    for name in {name for node in nodes for text in node.files.values() for name in REFERENCE.findall(text)}:
        place = values / name
        if not place.exists():
            place.touch(mode=0o600)
            place.write_text(secrets.token_hex(16))
    options = {"system_host_keys": False, "systemd": False}
    if lab.record.vrfs:
        options["vrf_namespaces"] = True
    stated = {
        "username": "root",
        "ssh_key": str(folder / _KEY),
        "known_hosts": str(folder / _KNOWN),
        "options": options,
        "secrets": {place.name: {"file": str(place)} for place in sorted(values.iterdir())},
    }
    (folder / ACCESS).write_text(yaml.safe_dump({key: value for key, value in stated.items() if value}))


def write_login_files(lab: Lab, node: Node) -> None:
    """Write the additional files of a switch's root: its own files at their places, and those of its sshd."""
    folder, root = lab.folder / FOLDER, lab.files(node.name)
    for name, (path, _) in FILES.items():
        if name in node.files and not path.startswith("/etc/frr/"):
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(lab.fill_in(node.files[name]))
    doors = root / _PLACE
    _generate_key(doors / "host")
    shutil.copy(folder / f"{_KEY}.pub", doors / "authorized_keys")
    (doors / "sshd_config").write_text(_SSHD.format(address=node.management, place=_PLACE))
    kind, key = (doors / "host.pub").read_text().split()[:2]
    with (folder / _KNOWN).open("a") as known:
        known.write(f"{node.management} {kind} {key}\n")


def set_port_speeds(lab: Lab, nodes: Iterable[Node], ports: Iterable[tuple[str, str]]) -> None:
    """Let ports report their planned speed: a veth pair has none of its own."""
    wanted = group_pairs(ports)
    for node in nodes:
        lines = []
        apart = lab.record.vrf_ports(node.name)  # no file of the box stands for ports in other namespaces
        for port in sorted(set(wanted.get(node.name, ())) - set(apart)):
            file = f"/run/lab/speed-{port}"
            lines += [
                f"echo {node.speeds[port] * _MBIT} > {file}",
                f"mount --bind {file} /sys/class/net/{port}/speed",
            ]
        if lines and (ran := lab.run(node.name, ["sh", "-ec", "\n".join(lines)], privileged=True)).returncode:
            raise LabError("FAB8009", f"{node.name}: {ran.stderr.strip()}")


def _generate_key(path: Path) -> None:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


_FINE = re.compile(r"\s*|Waiting for .*|\[\d+\|\w+\].*|Configuration file\[.*")
"""Lines that `vtysh -b` prints when there is no error."""
_REMEDY = "Remove the line from the overlay or template that adds it."
_LLDP_PORTS = "configure lldp portidsubtype ifname\n"
"""Ports by name, not by MAC address, on switches whose own files do not configure lldpd."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,62}[A-Za-z0-9])?")
_LLDP_PACE = "configure lldp tx-interval 1\n"
"""A second between announcements, not 30 (IEEE 802.1AB, msgTxInterval): set by the lab after the switch's own lines."""


def wire_nodes(
    lab: Lab,
    nodes: Sequence[Node],
    cables: Sequence[Cable],
    plan: Blueprint,
    progress: Progress | None = None,
) -> None:
    """Make the namespaces, cables and addresses of some nodes; with the management node when it is missing.

    Ports that have a cable in the plan and none in the lab get no light.
    """
    name = lab.record.namespace
    bridge = name(MANAGEMENT_NODE)
    new = [name(node.name) for node in nodes]
    first = not (kernel.NAMESPACES / bridge).exists()
    tables = [(node, vrf) for node in nodes for vrf in node.vrfs]
    kernel.ip_batch(f"netns add {namespace}" for namespace in ([bridge] if first else []) + new)
    blueprint.add_vrfs(lab, [(node, vrf) for node in nodes for vrf in lab.record.box_vrfs(node.name)])
    if first:
        gateways = (f"addr add {gateway} dev br0" for gateway in plan.gateways)
        kernel.ip_batch(["link add br0 type bridge", *gateways, "link set br0 up"], bridge)
    for count, node in enumerate(nodes):
        kernel.write_sysctls(name(node.name), node.kernel)
        if progress:
            progress("namespaces", count + 1, len(nodes))
    plug_cables(lab, cables)
    switches = {node.name: management_port(node.name) for node in nodes if node in plan.switches}
    kernel.ip_batch(
        f"link add name {port} netns {bridge} type veth peer name {MANAGEMENT_PORT} netns {name(switch)}"
        for switch, port in switches.items()
    )
    kernel.ip_batch((f"link set {port} master br0 up" for port in switches.values()), bridge)
    wired = set(ends_of_cables(lab.record.cables))
    unplug_ports(lab, [end for end in ends_of_cables(cable_ends(plan.cables)) if end not in wired])
    kernel.ip_batches({name(node.name): node.commands for node in nodes})
    for node, vrf in tables:
        blueprint.start_vrf(lab, node, vrf)
        kernel.ip_batch(vrf.port_lines, name(vrf_table(node.name, vrf.name)))


def plug_cables(lab: Lab, cables: Iterable[Cable]) -> None:
    """Put cables up; their ports are as the kernel makes them."""
    place = lab.record.port_namespace
    kernel.ip_batch(
        f"link add name {port} netns {place(device, port)} type veth "
        f"peer name {far_port} netns {place(far, far_port)}"
        for device, port, far, far_port in cables
    )


def unplug_ports(lab: Lab, ports: Iterable[End], *, dark: bool = True) -> None:
    """Take away what ports lead to; a dark one stays without light, as a port without a cable does.

    Its far end is a port that is never set up.
    """
    bridge = lab.record.namespace(MANAGEMENT_NODE)
    for device, port in ports:
        place = lab.record.port_namespace(device, port)
        kernel.ip_batch([f"link del {port}"], place, force=True)
        if dark:
            nowhere = f"name {_short_port_name('d', f'{device}:{port}')} netns {bridge}"
            kernel.ip_batch([f"link add name {port} netns {place} type veth peer {nowhere}"])


def _short_port_name(kind: str, name: str) -> str:
    """Return a port's name of 13 characters, the same for good."""
    return f"{kind}{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def management_port(switch: str) -> str:
    """Return the bridge's port towards a switch."""
    return _short_port_name("m", switch)


def boot_switches(lab: Lab, switches: Sequence[Node], progress: Progress | None = None) -> None:
    """Start switches and wait until each has loaded its configuration.

    Raises:
        LabError: FAB8010, a switch did not take its configuration whole.
    """
    for node in switches:
        _write_box(lab, node)
    limit = time.monotonic() + 60 + 5 * len(switches)
    waiting = [node.name for node in switches]
    while waiting:
        waiting = [switch for switch in waiting if not lab.ready(switch)]
        if progress:
            progress("switches", len(switches) - len(waiting), len(switches))
        if time.monotonic() > limit:
            raise LabError("FAB8010", f"switches that do not boot: {', '.join(waiting[:3])}")
        time.sleep(0.05)
    for node in switches:
        log = _boot_log(lab, node.name).splitlines()
        if wrong := [line for line in log if not _FINE.fullmatch(line)]:
            raise LabError("FAB8010", f"{node.name} does not take its configuration: {'; '.join(wrong[:3])}")


def _boot_log(lab: Lab, switch: str) -> str:
    """Return what daemons and vtysh printed while a switch booted.

    Raises:
        LabError: FAB8010, the switch ended meanwhile.
    """
    try:
        return foreign.read_regular_file(lab.path(switch, "var/log/boot.log"))[0].decode(errors="replace")
    except OSError as error:
        raise LabError("FAB8010", f"the log of {switch} cannot be read: {error.strerror}") from None


def _write_box(lab: Lab, node: Node) -> None:
    """Write the folder of a box; the last file lets the supervisor start it.

    Raises:
        LabError: FAB8020, its host name or its `daemons` holds something else than such a file does.
    """
    box = lab.box(node.name)
    box.mkdir(parents=True)
    box.chmod(0o700)  # what a box leaves behind is no other user's to run
    places = lab.files(node.name)
    for folder in (box / "log", box / "root", places / "etc/frr", places / "etc/fabricc-lab"):
        folder.mkdir(parents=True)
    (places / "etc/hostname").write_text(_host_name(node))
    (places / "etc/hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {node.name}\n")
    options = [NAMESPACE_OPTION] if lab.record.box_vrfs(node.name) else []
    (places / "etc/fabricc-lab/daemons").write_text(_startup_lines(node, options))
    files = {
        "frr.conf": lab.adapt(node.name, node.files["frr.conf"]),
        "daemons": node.files["daemons"],
        "vtysh.conf": "service integrated-vtysh-config\n",
        "overlay.conf": "".join(f"{line}\n" for line in lab.record.overlay),
    }
    if lab.record.lldp and node.name in lab.record.switches:
        files["lldp.conf"] = node.files.get("lldpd.conf", _LLDP_PORTS) + _LLDP_PACE
    owner = pwd.getpwnam("frr")
    for name, text in files.items():
        file = places / "etc/frr" / name
        file.write_text(text)
        file.chmod(0o644 if name == "lldp.conf" else 0o640)  # lldpcli reads it without root's rights
        os.chown(file, owner.pw_uid, owner.pw_gid)
    os.chown(places / "etc/frr", owner.pw_uid, owner.pw_gid)
    if lab.record.ssh and node.management:
        write_login_files(lab, node)
    vrfs = lab.record.box_vrfs(node.name)
    lines = (f"{vrf} {lab.record.namespace(vrf_table(node.name, vrf))}\n" for vrf in vrfs)
    (box / VRFS).write_text("".join(lines))
    (box / WANTED).write_text(lab.record.namespace(node.name))


def _host_name(node: Node) -> str:
    text = node.files["hostname"]
    if not _NAME.fullmatch(text.removesuffix("\n")):
        raise LabError("FAB8020", f"{node.name}: hostname holds more than one name: {text[:60]!r}", _REMEDY)
    return text


def _startup_lines(node: Node, vrf_options: Sequence[str]) -> str:
    """Return what the box starts: the number of files a daemon may open, then each daemon with its options.

    `vrf_options` are added for the daemons that handle VRFs.
    """
    try:
        startup = daemons.read_startup(node.files["daemons"])
    except daemons.DaemonsError as error:
        message = f"{node.name}: line {error.line} of daemons is not started in a lab: {error}"
        raise LabError("FAB8020", message, _REMEDY) from None
    lines = [f"{startup.open_files}\n"]
    for name, words in startup.daemons.items():
        more = vrf_options if name in NAMESPACE_DAEMONS else []
        lines.append(f"{' '.join((name, *words, *more))}\n")
    return "".join(lines)
