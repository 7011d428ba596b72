"""Faults planted in the text of one device of a fabric of ours, each at one line, and whether the audit names them.

`python -m tests.audit.seeds [SYSTEM] [TIMES]` prints how many were found of those tried, per system and kind.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import End, Tier
from tests.audit import ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device
    from fabricc.proof.compare import Finding

Edit = tuple[str, str]


class Planted(NamedTuple):
    """A fault.

    Attributes:
        texts: the device's files with it; `lines`: where in `file` it stands, below the folder.
        gone: what a finding elsewhere, at the block or the far end, has to name; empty where a line is altered.
    """

    kind: str
    device: str
    texts: dict[str, str]
    file: str
    lines: frozenset[int]
    gone: tuple[str, ...] = ()


ASN, ADDRESS = r"\d{6,}", r"\d+\.\d+\.\d+\.\d+/\d+"
ALTERED: dict[str, tuple[str, dict[str, Edit]]] = {
    "MTU": (
        r"interface\[<PORT>\]/mtu",
        dict.fromkeys(ours.MODELS, (r"\b9[12]\d\d\b", "1500")),
    ),
    "speed": (
        r"interface\[<PORT>\]/speed_gbps",
        {
            "eos": ("speed 800g-8", "speed 400g-8"), "nxos": ("speed 800000", "speed 400000"),
            "junos": ("speed 800g", "speed 400g"), "sonic": ("800000", "400000"), "cumulus": ("800G", "400G"),
        },
    ),
    "FEC": (
        r"interface\[<PORT>\]/fec",
        {
            "eos": ("reed-solomon", "fire-code"), "nxos": ("kp-fec", "fc-fec"), "sonic": ('"rs"', '"fc"'),
            "cumulus": ("fec: rs", "fec: baser"),
        },
    ),
    "remote AS": (r"bgp/neighbor\[.*\]/remote_asn", dict.fromkeys(ours.MODELS, (ASN, "4200999999"))),
    "own AS": (r"bgp/asn", dict.fromkeys(ours.MODELS, (ASN, "4200888888"))),
    "DSCP of RDMA": (
        r"qos/dscp\[26\]/traffic_class",
        {
            "eos": ("traffic-class 3", "traffic-class 0"), "nxos": ("dscp 26", "dscp 24"),
            "junos": ("011010", "011000"), "sonic": ('"26": "3"', '"26": "0"'),
            "cumulus": ("switch-priority: 3", "switch-priority: 0"),
        },
    ),
    "DSCP of nobody": (
        r"qos/dscp\[(?!26|48)\d+\]/traffic_class",
        {
            "eos": ("traffic-class 0", "traffic-class 3"), "sonic": (r': "0"', ': "3"'),
            "cumulus": ("switch-priority: 0", "switch-priority: 3"),
        },
    ),
    "marking swapped": (
        r"interface\[<PORT>\]/queue\[3\]/ecn_min_(bytes|fill_percent)",
        {
            "eos": (r"(minimum-threshold )(\d+)( bytes maximum-threshold )(\d+)", r"\1\4\3\2"),
            "nxos": (r"(minimum-threshold )(\d+)( bytes maximum-threshold )(\d+)", r"\1\4\3\2"),
            "junos": (r"\[ (\d+) (\d+) \]", r"[ \2 \1 ]"),
            "sonic": (r"(green_min_threshold\": \")\d+", r"\g<1>99999999"),
            "cumulus": (r"(min-threshold: )\d+", r"\g<1>99999999"),
        },
    ),
    "marking low": (
        r"interface\[<PORT>\]/queue\[3\]/ecn_min_(bytes|fill_percent)",
        {
            "eos": (r"(minimum-threshold )\d+", r"\g<1>35534"), "nxos": (r"(minimum-threshold )\d+", r"\g<1>35534"),
            "junos": (r"\[ \d+ ", r"[ 1 "), "sonic": (r"(green_min_threshold\": \")\d+", r"\g<1>35534"),
            "cumulus": (r"(min-threshold: )\d+", r"\g<1>35534"),
        },
    ),
    "PFC off": (
        r"interface\[<PORT>\]/pfc",
        {
            "eos": ("no-drop", "drop"), "nxos": ("mode on", "mode off"),
            "sonic": (r'"pfc_enable": "3"', '"pfc_enable": ""'),
            "junos": (r"\bpfc;", ""),
            "cumulus": ("'3': {}", "'4': {}"),
        },
    ),
    "policy leaks": (
        r"route_map\[TO-UPSTREAM\]/\d+",
        dict.fromkeys(ours.MODELS, ("OWN-V4", "FABRIC-V4")),
    ),
    "undefined list": (
        r"route_map\[.*\]/\d+",
        dict.fromkeys(("eos", "nxos", "sonic", "frr"), ("(OWN|FABRIC|CONNECTED)-V4", "OTHER-V4")),
    ),
    "timers": (
        r"bgp/hold_s",
        {
            "eos": (r"timers bgp 3 9", "timers bgp 3 30"), "nxos": (r"timers bgp 3 9", "timers bgp 3 30"),
            "junos": (r"hold-time 9", "hold-time 30"), "cumulus": ("hold: 9", "hold: 30"),
            "frr": ("timers bgp 3 9", "timers bgp 3 30"),
        },
    ),
}  # fmt: skip
"""Kind of fault -> facts at whose lines it is planted (`<PORT>`: one between switches) and the edits."""


def alter_line(found: FoundFabric, kind: str, system: str, rng: random.Random) -> Planted | None:
    """One line altered."""
    pattern, edits = ALTERED[kind.removesuffix(TO_HOSTS)]
    if system not in edits:
        return None
    linked = {(end.device, end.port): link for link in found.links for end in (link.a, link.b)}
    to_hosts = kind.endswith(TO_HOSTS)
    between = {
        key
        for key, link in linked.items()
        if link.a.device in found.devices and link.b.device in found.devices
    }
    ports = _to_hosts(found) if to_hosts else between
    form = re.compile(pattern.replace("<PORT>", "(?P<port>[^]]*)"))
    places: dict[tuple[str, str, int], None] = {}
    for name, device in found.devices.items():
        for path, (file, line) in device.reading.lines.items():
            match = form.fullmatch(path)
            if match and ("port" not in form.groupindex or (name, match["port"]) in ports):
                places[name, file, line] = None
    every = list(places)
    rng.shuffle(every)
    for name, file, line in every[:50]:
        texts = dict(found.devices[name].files)
        lines = texts[file].split("\n")
        nearby = _find_near(lines, line - 1, edits[system][0])
        if nearby is not None:
            lines[nearby] = re.sub(*edits[system], lines[nearby], count=1)
            texts[file] = "\n".join(lines)
            if texts[file] != found.devices[name].files[file]:
                gone = () if edits[system][1] else (kind.partition(" ")[0],)
                return Planted(
                    kind, name, texts, found.devices[name].paths[file], frozenset((nearby + 1,)), gone
                )
    return None


def _to_hosts(found: FoundFabric) -> set[tuple[str, str]]:
    """Ports of ToRs that are lossless and lead to nobody in the folder."""
    linked = {end for link in found.links for end in (link.a, link.b)}
    return {
        (name, path[len("interface[") : -len("]/pfc")])
        for name, device in found.devices.items()
        if found.places[name].tier is Tier.TOR
        for path in device.reading.facts
        if path.endswith("]/pfc") and End(name, path[len("interface[") : -len("]/pfc")]) not in linked
    }


def _find_near(lines: list[str], at: int, pattern: str) -> int | None:
    """The line itself, or one just below it, which an edit fits."""
    for step in (*range(7), -1, -2, -3, -4):
        if 0 <= at + step < len(lines) and re.search(pattern, lines[at + step]):
            return at + step
    return None


def duplicate_address(found: FoundFabric, kind: str, system: str, rng: random.Random) -> Planted | None:
    """A port gets the address of a port elsewhere."""
    places = [
        (name, path, *device.reading.lines[path])
        for name, device in found.devices.items()
        for path in device.reading.facts
        if path.startswith("interface[") and path.endswith("/ipv4")
    ]
    (name, path, file, line), (other, its, *_) = rng.sample(places, 2)
    address = str(found.devices[name].reading.facts[path])
    stolen = str(found.devices[other].reading.facts[its])
    texts = dict(found.devices[name].files)
    lines = texts[file].split("\n")
    at = _find_near(lines, line - 1, re.escape(address))
    if at is None or name == other:
        return None
    lines[at] = lines[at].replace(address, stolen)
    texts[file] = "\n".join(lines)
    return Planted(kind, name, texts, found.devices[name].paths[file], frozenset((at + 1,)))


def no_session(found: FoundFabric, kind: str, system: str, rng: random.Random) -> Planted | None:
    """A neighbor is gone."""
    places = [
        (name, path, *device.reading.lines[path])
        for name, device in found.devices.items()
        for path in device.reading.facts
        if path.startswith("bgp/neighbor[") and path.endswith("/remote_asn")
    ]
    name, path, file, _ = rng.choice(places)
    neighbor = path[len("bgp/neighbor[") :].partition("]")[0]
    texts = dict(found.devices[name].files)
    lines = texts[file].split("\n")
    kept: list[str] = []
    gone: list[int] = []
    inside: int | None = None
    for number, text in enumerate(lines):
        indent = len(text) - len(text.lstrip())
        if inside is not None and (indent > inside or (text.strip() == "}" and indent == inside)):
            gone.append(number)
            if text.strip() == "}" and indent == inside:
                inside = None
            continue
        inside = None
        if re.search(rf"(neighbor |^ *){re.escape(neighbor)}(:| |$)", text):
            gone.append(number)
            inside = indent
            continue
        kept.append(text)
    texts[file] = "\n".join(kept)
    at = frozenset(range(gone[0] - 1, gone[0] + 3)) if gone else frozenset[int]()
    return Planted(kind, name, texts, found.devices[name].paths[file], at, (neighbor, name)) if gone else None


def no_filter(found: FoundFabric, kind: str, system: str, rng: random.Random) -> Planted | None:
    """A group of neighbors is sent everything."""
    wanted = re.compile(
        {"eos": r"neighbor UPSTREAM route-map TO-UPSTREAM out", "nxos": r"route-map TO-UPSTREAM out",
         "frr": r"neighbor UPSTREAM\S* route-map TO-UPSTREAM out", "sonic": r"neighbor \S+ route-map TO-UPSTREAM out",
         "cumulus": r"^ *outbound:$", "junos": r"export \[ CONNECTED TO-UPSTREAM \]"}[system]
    )  # fmt: skip
    places = [
        (name, file, number)
        for name, device in found.devices.items()
        if found.places[name].tier is Tier.TOR
        for file, text in device.files.items()
        for number, line in enumerate(text.split("\n"))
        if wanted.search(line)
    ]
    name, file, number = rng.choice(places)
    texts = dict(found.devices[name].files)
    lines = texts[file].split("\n")
    if system == "junos":
        lines[number] = lines[number].replace(" TO-UPSTREAM", "")
    else:
        del lines[number : number + (2 if system == "cumulus" else 1)]
    texts[file] = "\n".join(lines)
    near = frozenset(range(number - 2, number + 4))
    return Planted(
        kind, name, texts, found.devices[name].paths[file], near, ("export", "TO-UPSTREAM", "upwards")
    )


TO_HOSTS = " to hosts"
"""Ends the kinds of fault that are planted on ports to hosts, of which the folder holds none."""

KINDS: dict[str, Callable[[FoundFabric, str, str, random.Random], Planted | None]] = {
    **dict.fromkeys((*ALTERED, f"MTU{TO_HOSTS}", f"PFC off{TO_HOSTS}"), alter_line),
    "address twice": duplicate_address, "no session": no_session, "no filter": no_filter,
}  # fmt: skip


def is_reported(planted: Planted, reported: list[Finding]) -> bool:
    """Return whether a finding above a note is at the fault, or at its block or far end where a line is missing."""
    for each in reported:
        if each.severity is Severity.NOTE:
            continue
        if each.file == planted.file and each.line in planted.lines:
            return True
        if (
            planted.gone
            and any(word.lower() in each.message.lower() for word in planted.gone)
            and planted.device in each.message
        ):
            return True
    return False


SHAPES = {
    "unnumbered": ("uplinks: 4", "uplinks: 2", "addressing: {fabric_links: unnumbered}"),
    "dual stack": ("uplinks: 4", "uplinks: 2", "addressing: {family: dual}"),
    "racks": (
        "hosts: 8, hosts_per_unit: 4}", "racks: 8, hosts_per_rack: 2, wiring: rack}", "addressing: {family: ipv4}",
    ),
}  # fmt: skip
"""Fabrics otherwise made -> what of the spec is replaced by what, and what is added."""


def spec_of_shape(system: str, shape: str) -> str:
    """The spec of a fabric that is otherwise made."""
    old, new, more = SHAPES[shape]
    return ours.spec_of(system, more=f"{more}\n").replace(old, new)


def try_seeds(
    system: str, times: int, start: int = 0, kinds: Iterable[str] = KINDS, text: str = ""
) -> Iterator[tuple[Planted, list[Finding]]]:
    """Yield faults of each kind that the system can have, each planted so many times, and the findings of the audit."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "cluster.yaml")
        path.write_text(text or ours.spec_of(system))
        found = ours.disguise_spec(path)
        for kind in kinds:
            for number in range(start, start + times):
                planted = KINDS[kind](found, kind, system, random.Random(f"{system} {kind} {number}"))
                if planted is not None:
                    device: Device = found.devices[planted.device]
                    read = ours.switch_device(device.name, device.system, planted.texts, device.model)
                    yield planted, find_all(ours.infer_fabric({**found.devices, device.name: read}))


def main(systems: str = "", times: str = "5") -> None:
    for system in systems.split(",") if systems else ours.MODELS:
        hits: Counter[str] = Counter()
        tries: Counter[str] = Counter()
        for planted, reported in try_seeds(system, int(times)):
            tries[planted.kind] += 1
            hits[planted.kind] += is_reported(planted, reported)
            if not is_reported(planted, reported):
                print(
                    f"  missed {system} {planted.kind}: {planted.file} {sorted(planted.lines)} {planted.gone}"
                )
                for each in reported[:4]:
                    print(f"      {each.code} {each.file}:{each.line} {each.message[:150]}")
        print(f"{system}: {hits.total()} of {tries.total()}", dict(tries))


if __name__ == "__main__":
    main(*sys.argv[1:])
