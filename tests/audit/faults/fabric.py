"""Small fabrics of one system in several forms, as the texts that a person would collect from their switches."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.gather import gather_devices
from fabricc.audit.rules import find_all
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.compiler.compiled import compile_spec
from tests import segmented, tenanted
from tests.audit import ours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.facts.statement import Device
    from fabricc.proof.compare import Finding

Texts = dict[str, dict[str, str]]
"""Device -> name of a file -> its text."""

SYSTEMS = tuple(ours.MODELS)
SERVICES = """\
management:
  users: [{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1i0sX7sample"}]
  ntp: [192.0.2.10]
  syslog: [192.0.2.20]
  access: [192.0.2.0/24]
"""


def spec_of(system: str, form: str = "plain") -> str:
    """Return a spec with two spines and the services of a complete switch.

    Args:
        system: of all switches.
        form: `plain` for four racks with four uplinks a ToR, `planes` for two planes, `storage` for storage nodes with
            a lossless class of their own, `tenants` for EVPN with VRFs, `segments` for EVPN with VLANs,
            `unnumbered` and `ipv6` for other links.
    """
    if form == "segments":
        return segmented.spec_text(system)
    if form == "tenants":
        text = tenanted.spec_text(system)
        head, _, rest = text.partition("management:\n")
        return head + SERVICES + rest[rest.index("tenants:") :]
    text = ours.spec_of(system)
    head, _, rest = text.partition("management:\n")
    text = head + SERVICES + rest[rest.index("accept:") :]
    hosts = "{model: dgx-b200, hosts: 8, hosts_per_unit: 4}"
    if form == "planes":
        return text.replace(hosts, _PLANES).replace("management:\n", "planes: 2\nmanagement:\n")
    if form == "storage":
        return text.replace(hosts, _GROUPS).replace("  cnp:", "  storage: {dscp: 34, lossless: true}\n  cnp:")
    text = text.replace(hosts, "{model: dgx-b200, racks: 4, hosts_per_rack: 2, wiring: rack}")
    return text.replace("management:\n", _LINKS.get(form, "") + "management:\n")


FORMS = ("plain", "planes", "storage", "tenants")
_LINKS = {
    "unnumbered": "addressing: {fabric_links: unnumbered}\n",
    "ipv6": "addressing: {family: ipv6}\n",
}
_PLANES = "{model: hgx-b300-2x400, racks: 2, hosts_per_rack: 1, wiring: rack}"
_GROUPS = (
    "{groups: [{name: compute, model: grand-teton, racks: 2, hosts_per_rack: 1}, "
    "{name: storage, model: storage-2x400, racks: 2, hosts_per_rack: 2, class: storage}], wiring: rack}"
)


@cache
def build_texts(system: str, form: str = "plain") -> Mapping[str, Mapping[str, str]]:
    """Return the texts of every switch, under names that fabricc does not give."""
    texts: Texts = {}
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(spec_of(system, form))
        fabric = compile_spec(path, gaps=form not in ("tenants", "segments")).fabric
        for switch in map(fabric.switch, fabric.switch_ids()):
            files = back_ends.load(switch.nos).render(switch)
            texts[_rename_device(switch.name)] = {file: _rename_device(text) for file, text in files.items()}
    return texts


@cache
def hosts_of(system: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts of every host."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(spec_of(system))
        fabric = compile_spec(path).fabric
        return {
            host.name: {file: _rename_device(text) for file, text in host_files.render(host).items()}
            for host in map(fabric.host, fabric.host_ids())
        }


def _rename_device(text: str) -> str:
    text = ours.disguise_names(text).replace("-tor1a", "-leaf").replace("-tor1b", "-other")
    return _SECOND.sub(r"y\1", text)


_SECOND = re.compile(r"spine(\d+)b")
"""Names of the spines of a second plane."""


def tor_names(system: str) -> list[str]:
    """Return the names of the ToRs."""
    return [name for name in build_texts(system) if name.endswith("-leaf")]


def spine_names(system: str) -> list[str]:
    """Return the names of the spines."""
    return [name for name in build_texts(system) if not name.endswith("-leaf")]


class Sound(NamedTuple):
    """The switches of an untouched fabric, read, and the folder that holds their texts while they are in use."""

    devices: Mapping[str, Device]
    folder: TemporaryDirectory[str]


@cache
def read_sound(system: str, hosts: bool = False, form: str = "plain") -> Sound:
    """Read the switches, or the hosts, of the untouched fabric."""
    folder = TemporaryDirectory()
    texts = hosts_of(system) if hosts else build_texts(system, form)
    return Sound(collect_texts(Path(folder.name), texts), folder)


def audit_altered(
    system: str, altered: Mapping[str, Mapping[str, str]], hosts: bool = False, form: str = "plain"
) -> list[Finding]:
    """Return what the audit finds in the fabric when the texts of some switches are replaced.

    Args:
        system: of the fabric.
        altered: switch -> its texts.
        hosts: whether the folder also has the files of the hosts.
        form: as of `spec_of`.
    """
    with TemporaryDirectory() as folder:
        devices = {
            **read_sound(system, form=form).devices,
            **(collect_texts(Path(folder), altered) if altered else {}),
        }
        if hosts:
            devices |= read_sound(system, hosts=True).devices
        return find_all(ours.infer_fabric(devices))


def collect_texts(folder: Path, texts: Mapping[str, Mapping[str, str]]) -> Mapping[str, Device]:
    """Return the devices of a folder with these texts, as the audit recognizes them."""
    for name, files in texts.items():
        for file, text in files.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return gather_devices(folder, jobs=1).devices
