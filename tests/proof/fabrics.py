"""Small fabrics built from real specs, read back with a fault planted, and judged by the invariants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fabricc.back import hosts as host_files
from fabricc.back import nos
from fabricc.compiler.compiled import compile_spec
from fabricc.proof.invariants import Survey
from fabricc.proof.invariants.rules import Ratio
from fabricc.proof.invariants.view import make_view
from fabricc.rules.census import Census
from fabricc.rules.planned_links import LinkComparison, broken_findings, host_ends, locate_end, switch_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, Switch
    from fabricc.proof import Finding
    from fabricc.rules.planned_links import LinkEnd

SPEC = """
cluster: small
gpus: {{model: grand-teton, racks: 4, hosts_per_rack: 2, wiring: rack}}
tors: {{model: sn4700, nos: sonic-202505, oversubscription: 1.0}}
{above}
priorities:
  rdma: {{dscp: 26, lossless: true}}
  cnp: {{dscp: 48, strict: true}}
  default: {{}}
addressing: {{family: {family}, fabric_links: {links}}}
routing: {{spine_asn: {asn}}}
management:
  users:
    - {{name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr x"}}
"""
ABOVE = {
    "2": "spines: {model: 7060dx5-64s, nos: eos, count: 2}",
    "3": """spines: {model: 7060dx5-64s, nos: eos, count: 2, oversubscription: 2, units_per_pod: 2}
cores: {model: 7060dx5-64s, nos: eos, count: 2}""",
}


@cache
def make_fabric(
    asn: str = "shared", family: str = "ipv4", links: str = "numbered", tiers: str = "3"
) -> Fabric:
    """Four racks, SONiC below EOS: in two pods of two spines below two cores, or below two spines alone."""
    with TemporaryDirectory() as folder:
        spec = Path(folder, "cluster.yaml")
        spec.write_text(SPEC.format(asn=asn, family=family, links=links, above=ABOVE[tiers]))
        front = compile_spec(spec, gaps=False)
    assert front.fabric is not None, [d.message for d in front.diagnostics]
    return front.fabric


Files = dict[str, str]


@dataclass
class Fault:
    """A planted fault: text changed in files, or a device of the plan changed or left out."""

    edit: Callable[[str, Files], Files] = lambda _, files: files
    alter: Callable[[Switch], Switch | None] = lambda switch: switch
    alter_host: Callable[[Host], Host | None] = lambda host: host


def change_files(device: str, *changes: tuple[str, str]) -> Fault:
    """Return a fault in the files of the devices whose names match: expressions and their replacements."""

    def edit(name: str, files: Files) -> Files:
        if not re.fullmatch(device, name):
            return files
        for pattern, into in changes:
            changed = {file: re.sub(pattern, into, body) for file, body in files.items()}
            assert changed != files, f"{pattern} is not in the files of {device}"
            files = changed
        return files

    return Fault(edit=edit)


def find_breaches(built: Fabric, fault: Fault, declared: Mapping[int, Ratio] | None = None) -> list[Finding]:
    """Return what the invariants find: device by device, over all of them, and at both ends of every link."""
    survey, census, links = Survey(), Census(), LinkComparison()
    found: list[Finding] = []
    ends: list[LinkEnd] = []
    for switch_id in built.switch_ids():
        right = built.switch(switch_id)
        switch = fault.alter(right)
        if switch is None:
            continue
        back_end = nos.load(switch.nos)
        files = dict(back_end.render(switch))
        reading = back_end.read(fault.edit(switch.name, files))
        seen = make_view(switch, reading)
        found += survey.add_switch(seen, f"switches/{switch.name}")
        ends += [locate_end(end, reading) for end in switch_ends(seen)]
    for host_id in built.host_ids():
        host = fault.alter_host(built.host(host_id))
        if host is None:
            continue
        reading = host_files.read(fault.edit(host.name, dict(host_files.render(host))))
        found += survey.add_host(host, reading, f"hosts/{host.name}")
        ends += [locate_end(end, reading) for end in host_ends(host, reading)]
    census.add(survey)
    ratios = {0: Ratio(Fraction(1)), 1: Ratio(Fraction(2))} if built.shape.cores else {0: Ratio(Fraction(1))}
    found += census.findings(built.counts(), built.wired(), built.groups(), declared or ratios)
    links.add(ends)
    found += broken_findings(links.wrong_ends(len(ends)))
    return found


def finding_codes(found: Iterable[Finding]) -> set[str]:
    """The distinct codes of findings."""
    return {each.code for each in found}
