"""Operating systems of hosts: who configures the ports, and the script that installs and applies everything."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from fabricc.back.hosts import keyfile, netplan
from fabricc.back.hosts.templating import fill_text, template
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host

APPLY = "apply"


@dataclass(frozen=True, slots=True)
class System:
    """A family of operating systems.

    Attributes:
        network: the files that configure the host's ports, path below its root -> text.
        planned: adds the facts that only these files state.
        activation: template of that part of the apply script which knows who configures the ports.
    """

    network: Callable[[Host], dict[str, str]]
    planned: Callable[[Facts, Host], None]
    activation: str


_NETPLAN = System(netplan.files, netplan.planned, "apply-netplan.sh")
_KEYFILES = System(keyfile.files, keyfile.planned, "apply-networkmanager.sh")

SYSTEMS = {
    "ubuntu-22.04": _NETPLAN,
    "ubuntu-24.04": _NETPLAN,
    "dgx-os": _NETPLAN,  # Ubuntu 22.04 (DGX OS 6) or 24.04 (DGX OS 7) below
    "rhel-9": _KEYFILES,  # netplan is not shipped, and its NetworkManager back end drops policy rules
}
"""Name in the spec -> system."""


@cache
def apply_script(system: str) -> str:
    """The script that makes a host of this system what its files say."""
    text = template("apply.sh.j2").replace("{{ network }}\n", template(SYSTEMS[system].activation))
    return fill_text(text, system=system)


_SYSTEM = "SYSTEM="


def _digest(text: str) -> str:
    lines = [line for line in text.split("\n") if not line.startswith(_SYSTEM)]
    return sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


@cache
def apply_facts(system: str) -> tuple[tuple[str, str], ...]:
    """The facts of the script: for which system it is, and a digest of what it does."""
    return (("apply/system", system), ("apply/procedure", _digest(apply_script(system))))


def read_apply(reading: Reading, file: str, text: str) -> None:
    """Add the facts of an apply script; an edited one does not pass as ours."""
    reading.put("apply/procedure", _digest(text), file, 1)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(_SYSTEM):
            reading.put("apply/system", line.removeprefix(_SYSTEM), file, number)
