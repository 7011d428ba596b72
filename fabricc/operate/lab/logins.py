"""Create the logins of a lab's switches: an sshd in each, files where the driver expects them, and an access file."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from fabricc.base.numbers import group_pairs
from fabricc.operate.drivers.frr_files import FILES
from fabricc.operate.lab import state
from fabricc.operate.lab.node import LabError, Node
from fabricc.operate.lab.running import REFERENCE, SECRETS, Lab

if TYPE_CHECKING:
    from collections.abc import Iterable


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
