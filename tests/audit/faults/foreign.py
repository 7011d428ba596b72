# ruff: noqa: E501  (a fault is one line)
"""Plant faults into fabrics that others configured: `python -m tests.audit.faults.foreign [FOLDER] [KIND] [SCOPES]`.

Each fault changes or adds lines at the place of a fact, so it fits any text that a reader understands. It counts as found
if the audit reports a warning or an error at a changed line that it does not report of the untouched folder, or one at
the other end of a link or session that names the switch and the changed value.
"""

from __future__ import annotations

import re
import sys
from difflib import SequenceMatcher
from functools import cache
from ipaddress import ip_address, ip_interface
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.audit.gather import gather_devices
from fabricc.audit.rules import find_all
from fabricc.base.diagnostics import Severity
from fabricc.facts.statement import Kind, Tier
from tests.audit import corpora, ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabricc.audit.model import FoundFabric
    from fabricc.facts.statement import Device
    from fabricc.proof.compare import Finding

    Texts = dict[str, str]
    Fault = Callable[[FoundFabric, Device, bool], Texts | None]

FABRICS = (
    "eos/rbmacd-frey/frey-configs", "eos/raufarshad-ai-rocev2-lab/day7-evpn-overlay", "eos/aristanetworks-avd/dual-dc-l3ls",
    "eos/aristanetworks-avd/evpn_underlay_rfc5549_overlay_ebgp", "frr/ddutt-cndcn/dual-attach-bgp-numbered",
    "frr/ddutt-cndcn/single-attach-bgp-docker", "junos/kmazur-evpn-lab/phase2-fabric",
    "junos/juniper-jvd/aidc-aiml_inference_frontend", "junos/juniper-jvd/adc-3stage_dc_connected_security",
    "nxos/batfish-lab-validation/nxos_redistribution",
    "nxos/microsoft-sdn/nexus3132-redundant-tor", "sonic/batfish-lab-validation/sonic_bgp_lab",
    "sonic/segmentrouting-srv6-ai-fabric/4p-8x16",
)  # fmt: skip
"""Whole fabrics with links or sessions between their switches."""
_CLI = ("eos", "nxos", "frr", "sonic")


class Untouched(NamedTuple):
    """A folder as it is published: what was read, and what the audit reports."""

    found: FoundFabric
    findings: frozenset[str]


@cache
def untouched(folder: str) -> Untouched:
    """Read and audit a folder."""
    found = ours.inferred(gather_devices(corpora.ROOT / folder, jobs=1).devices)
    return Untouched(found, frozenset(map(_key, find_all(found))))


def _key(finding: Finding) -> str:
    return f"{finding.code} {finding.severity} {finding.message}"


def _edit_lines(device: Device, edits: dict[tuple[str, int], Callable[[str], str]]) -> Texts | None:
    """Return the files of a device with some lines changed; None without a change."""
    texts = {name: text.split("\n") for name, text in device.files.items()}
    for (file, line), change in edits.items():
        if file in texts and 0 < line <= len(texts[file]):
            texts[file][line - 1] = change(texts[file][line - 1])
    found = {name: "\n".join(lines) for name, lines in texts.items()}
    return found if found != device.files else None


def _ends(found: FoundFabric, device: Device) -> list[str]:
    """Return the ports of a device that lead to other switches."""
    switches = {name for name, each in found.devices.items() if each.kind is Kind.SWITCH}
    ends = [(near, far) for link in found.links for near, far in link.ways]
    return [near.port for near, far in ends if near.device == device.name and far.device in switches]


def _inner_sessions(found: FoundFabric, device: Device) -> list[str]:
    """Return the neighbors of a device that are addresses of other switches of the folder."""
    inside = {
        str(value).partition("/")[0]
        for name, each in found.devices.items() if name != device.name
        for path, value in each.reading.facts.items()
        if path.endswith("/ipv4")
    }  # fmt: skip
    pattern = re.compile(r"bgp/neighbor\[([\d.]+)\]/remote_asn")
    facts = device.reading.facts
    near = [
        str(facts[f"interface[{port}]/ipv4"])
        for port in _ends(found, device)
        if f"interface[{port}]/ipv4" in facts
    ]
    subnets = [ip_interface(each).network for each in near]
    names = [m[1] for path in facts if (m := pattern.fullmatch(path)) and m[1] in inside]
    return sorted(names, key=lambda name: not any(ip_address(name) in subnet for subnet in subnets))


def at_fact(paths: Callable[[FoundFabric, Device], list[str]], change: Callable[[str, str], str]) -> Fault:
    """Change the lines of facts: of the first one that a line states, or of all."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        edits = {}
        for path in paths(found, device):
            place, value = device.reading.lines.get(path), str(device.reading.facts.get(path))
            if place and path in device.reading.facts:
                line = device.files.get(place[0], "").split("\n")[place[1] - 1 : place[1]]
                if line and change(line[0], value) != line[0]:
                    edits[place] = lambda text, value=value: change(text, value)
                    if not every:
                        break
        return _edit_lines(device, edits) if edits else None

    return plant


def of_links(leaf: str) -> Callable[[FoundFabric, Device], list[str]]:
    return lambda found, device: [f"interface[{port}]/{leaf}" for port in _ends(found, device)]


def of_sessions(leaf: str) -> Callable[[FoundFabric, Device], list[str]]:
    return lambda found, device: [f"bgp/neighbor[{each}]/{leaf}" for each in _inner_sessions(found, device)]


def _below(line: str, **added: str) -> str:
    """Add a line below one, with its indentation."""
    indent = line[: len(line) - len(line.lstrip())]
    return f"{line}\n{indent}{added['text']}"


def in_port(text: str, systems: tuple[str, ...]) -> Fault:
    """Add a line to the ports of links, below their addresses."""
    plain = at_fact(of_links("ipv4"), lambda line, _: _below(line, text=text))
    return lambda found, device, every: plain(found, device, every) if device.system in systems else None


def to_session(texts: dict[str, str], top: dict[str, str] | None = None) -> Fault:
    """Add a line to sessions with other switches; `top`: lines of the whole file besides."""

    def change(system: str) -> Callable[[str, str], str]:
        def add(line: str, _: str) -> str:
            match = re.search(r"neighbor (\S+)", line)
            return _below(line, text=texts[system].format(match[1])) if match else line

        return add

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        if device.system not in texts or (
            "password" in texts[device.system] and any("password" in t for t in device.files.values())
        ):
            return None
        made = at_fact(of_sessions("remote_asn"), change(device.system))(found, device, every)
        if made and top:
            name = "frr.conf" if "frr.conf" in made else next(iter(made))
            made[name] = re.sub(
                r"^(?=router bgp)", top[device.system], made[name], count=1, flags=re.MULTILINE
            )
        return made

    return plant


def on_top(text: str, systems: tuple[str, ...], before: str = r"^router bgp") -> Fault:
    """Add lines before BGP; `{other}` is the loopback of another device."""

    def plant(found: FoundFabric, device: Device, every: bool) -> Texts | None:
        others = [
            str(each.reading.facts["loopback/ipv4"]).partition("/")[0]
            for name, each in found.devices.items()
            if name != device.name and "loopback/ipv4" in each.reading.facts
        ]
        if device.system not in systems or ("{other}" in text and not others):
            return None
        lines = (
            "".join(text.format(other=each) for each in (others if every else others[-1:]))
            if "{other}" in text
            else text
        )
        name = "frr.conf" if "frr.conf" in device.files else next(iter(device.files))
        made = re.sub(rf"(?m){before}", lambda m: lines + m[0], device.files[name], count=1)
        return {**device.files, name: made} if made != device.files[name] else None

    return plant


def _other_loopback(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    own = str(device.reading.facts.get("loopback/ipv4", "")).partition("/")[0]
    others = [
        str(each.reading.facts.get("loopback/ipv4", "")).partition("/")[0]
        for name, each in found.devices.items()
        if name != device.name
    ]
    other = next((each for each in sorted(others) if each and each != own), "")
    if not own or not other:
        return None
    return at_fact(lambda _, __: ["loopback/ipv4"], lambda line, _: line.replace(own, other))(
        found, device, every
    )


def _number(new: str) -> Callable[[str, str], str]:
    return lambda line, value: re.sub(rf"(?<![\d.]){re.escape(value)}(?![\d.])", new, line)


def _address(line: str, value: str) -> str:
    return line.replace(value.partition("/")[0], "192.0.2.77")


def _mask(line: str, value: str) -> str:
    old = value.partition("/")[2]
    return line.replace(f"/{old}", "/28") if old in ("30", "31") else line


def _covering_mask(found: FoundFabric, device: Device, every: bool) -> Texts | None:
    """Give a port between switches a /24 that covers the subnet of another port of the folder."""

    def covered(found: FoundFabric, device: Device) -> list[str]:
        others = [
            ip_interface(str(value)).network
            for each in found.devices.values()
            for path, value in each.reading.facts.items()
            if path.startswith("interface[") and path.endswith("/ipv4") and "/" in str(value)
        ]
        paths = []
        for path in of_links("ipv4")(found, device):
            mine = ip_interface(str(device.reading.facts.get(path, "0.0.0.0/0")))
            wide = ip_interface(f"{mine.ip}/24").network
            if mine.network.prefixlen > 24 and any(
                24 < net.prefixlen < 32 and net != mine.network and net.subnet_of(wide) for net in others
            ):
                paths.append(path)
        return paths

    return at_fact(covered, lambda line, value: line.replace(value, f"{value.partition('/')[0]}/24"))(
        found, device, every
    )


def _static_routes(_: FoundFabric, device: Device) -> list[str]:
    """Return the static routes of a device with an address as their next hop."""
    return [
        path
        for path, value in device.reading.facts.items()
        if path.startswith("static_route[") and re.fullmatch(r"\d+\.\d+\.\d+\.\d+", str(value))
    ]


KINDS: dict[str, Fault] = {
    "a mask that covers another link": _covering_mask,
    "another next hop of a static route": at_fact(_static_routes, lambda line, value: re.sub(rf"(?<![\d./]){re.escape(value)}(?![\d./])", "192.0.2.77", line)),
    "a static route to nowhere": on_top("ip route 198.51.100.0/24 192.0.2.77\n", _CLI),
    "another MTU on a link": at_fact(of_links("mtu"), _number("1400")),
    "another address on a link": at_fact(of_links("ipv4"), _address),
    "another mask on a link": at_fact(of_links("ipv4"), _mask),
    "a link is shut": in_port("shutdown", ("eos", "frr")),
    "wrong AS of a peer": at_fact(of_sessions("remote_asn"), _number("64999")),
    "another AS of its own": at_fact(lambda _, __: ["bgp/asn"], _number("64998")),
    "the loopback of another switch": _other_loopback,
    "a session is shut": to_session({"eos": "neighbor {0} shutdown", "frr": "neighbor {0} shutdown", "nxos": "  shutdown", "sonic": "neighbor {0} shutdown"}),
    "a password on one side": to_session({"eos": "neighbor {0} password 0 lab", "frr": "neighbor {0} password lab", "nxos": "  password 0 lab", "sonic": "neighbor {0} password lab"}),
    "hops on one side": to_session({"eos": "neighbor {0} ttl maximum-hops 1", "frr": "neighbor {0} ttl-security hops 1", "nxos": "  ttl-security hops 1"}),
    "every session waits": to_session({"eos": "neighbor {0} passive", "frr": "neighbor {0} passive", "nxos": "  transport connection-mode passive"}),
    "import rejects all": to_session(
        {"eos": "neighbor {0} route-map NOTHING in", "frr": "neighbor {0} route-map NOTHING in"},
        {"eos": "route-map NOTHING deny 10\n!\n", "frr": "route-map NOTHING deny 10\n!\n"}),
    "discard of a loopback": on_top("ip route {other}/32 Null0\n", _CLI),
    "one equal path": at_fact(lambda _, __: ["bgp/maximum_paths", "bgp/family[ipv4]/maximum_paths"], _number("1")),
    "filter on BGP": lambda found, device, every: None if device.system not in ("eos", "nxos") or not (
        made := in_port("ip access-group F1 in", ("eos", "nxos"))(found, device, every)) else {
        name: re.sub(r"(?m)^(?=router bgp)", "ip access-list F1\n   10 deny tcp any any eq 179\n   20 permit ip any any\n!\n", text, count=1)
        for name, text in made.items()},
    "telnet": on_top("management telnet\n   no shutdown\n!\n", ("eos",)),
    "an account without a password": on_top("username evil privilege 15 nopassword\n!\n", ("eos",)),
    "SNMP community public": on_top("snmp-server community public ro\n!\n", ("eos",)),
}  # fmt: skip


WIDE = frozenset({"every session waits"})
"""No faults on one switch alone."""
ONE_SIDED = frozenset({
    "another MTU on a link", "another mask on a link", "a password on one side", "hops on one side",
})  # fmt: skip
"""No faults where both ends of every link have them."""
IN_SESSIONS = frozenset({
    "another AS of its own", "the loopback of another switch", "discard of a loopback", "one equal path",
})  # fmt: skip
"""Faults of switches that have sessions with others of the folder."""


def planted(folder: str, kind: str, scope: str) -> dict[str, Texts]:
    """Return the texts of the switches that have the fault; empty where none can state it."""
    found, texts = untouched(folder).found, {}
    if scope == "all" if kind in ONE_SIDED else kind in WIDE and scope != "all":
        return {}
    tiers = {place.tier for place in found.places.values()} & {Tier.TOR, Tier.SPINE}
    for name, device in found.devices.items():
        if device.kind is not Kind.SWITCH or (scope == "one" and texts):
            continue
        if (
            scope == "tier"
            and tiers
            and found.places[name].tier is not (Tier.TOR if Tier.TOR in tiers else Tier.SPINE)
        ):
            continue
        if kind in IN_SESSIONS and not _inner_sessions(found, device):
            continue
        if (made := KINDS[kind](found, device, scope != "one")) is not None:
            texts[name] = made
    return texts


def new_findings(folder: str, texts: dict[str, Texts]) -> list[Finding]:
    """Return what the audit reports of the changed folder and not of the untouched one."""
    whole = untouched(folder)
    with TemporaryDirectory() as scratch:
        for name, files in texts.items():
            for file, text in files.items():
                path = Path(scratch, name, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        altered = gather_devices(Path(scratch), jobs=1).devices
        findings = find_all(ours.inferred({**whole.found.devices, **altered}))
        return [each for each in findings if _key(each) not in whole.findings]


def changed_lines(folder: str, texts: dict[str, Texts]) -> dict[str, dict[int, str]]:
    """Return the changed lines of each file, by number in the new text."""
    devices, found = untouched(folder).found.devices, dict[str, dict[int, str]]()
    for name, files in texts.items():
        for file, text in files.items():
            old, new = devices[name].files[file].split("\n"), text.split("\n")
            blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            lines = {
                at: new[at - 1] for tag, _, _, a, b in blocks if tag != "equal" for at in range(a + 1, b + 1)
            }
            found[f"{name}/{file}"] = lines
    return found


def is_at_line(folder: str, texts: dict[str, Texts], findings: list[Finding]) -> bool:
    """Return whether a warning or an error is at a changed line, or names a changed switch and a changed value."""
    changed = changed_lines(folder, texts)
    old = {
        name: set(_words("\n".join(untouched(folder).found.devices[name].files.values()))) for name in texts
    }
    for each in findings:
        if each.severity is Severity.NOTE:
            continue
        if each.line in changed.get(each.file, {}):
            return True
        for path, lines in changed.items():
            name, words = path.partition("/")[0], set(_words(each.message))
            new = set(_words("\n".join(lines.values()))) - old[name]
            if name != each.file.partition("/")[0] and name in words and words & new:
                return True
    return False


def _words(text: str) -> list[str]:
    words = (word.strip(".:") for word in re.findall(r"[\w.:/-]+", text))
    return [part for word in words for part in (word, *word.split("/"))]


def tried(
    folder: str, kinds: tuple[str, ...], scopes: tuple[str, ...]
) -> Iterator[tuple[str, str, bool, list[Finding]]]:
    """Plant each fault that the folder can have; yield kind, scope, whether it is found at its line, and the findings."""
    for kind in kinds:
        for scope in scopes:
            if texts := planted(folder, kind, scope):
                findings = new_findings(folder, texts)
                yield kind, scope, is_at_line(folder, texts, findings), findings


def main(folders: str = "", kinds: str = "", scopes: str = "one") -> None:
    """Print a row for each fault that was planted."""
    count = hits = 0
    for folder in (each for each in FABRICS if folders in each):
        chosen = tuple(kind for kind in KINDS if kinds in kind)
        for kind, scope, found, findings in tried(folder, chosen, tuple(scopes.split(","))):
            first = next(
                (each for each in findings if each.severity is not Severity.NOTE),
                findings[0] if findings else None,
            )
            about = (
                f"{first.severity} {first.code} {first.file}:{first.line} {first.message[:100]}"
                if first
                else ""
            )
            count, hits = count + 1, hits + found
            print(
                "+" if found else "-",
                folder.split("/")[0],
                folder.split("/")[-1][:24],
                scope,
                kind,
                about,
                sep="\t",
                flush=True,
            )
    print(hits, "of", count)


if __name__ == "__main__":
    main(*sys.argv[1:])
