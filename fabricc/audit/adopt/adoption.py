"""Find the spec of an existing fabric: infer it, compile it, compare it with the devices, and report differences.

A folder with several networks is split first, by the links between switches and the files of hosts. The files of a host
determine the network of each port (`hosts.network_of`). Planes are not networks: their ports are in one network, and
have its name. Lines of running files that no fact stands for, and that a build of the spec does not write, are listed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt import tables
from fabricc.audit.adopt.choices import SpecSearch
from fabricc.audit.adopt.found_tiers import FoundTiers, number_of
from fabricc.audit.adopt.order import Order, order_of
from fabricc.audit.adopt.overlays import ENDS, add_overlays
from fabricc.audit.adopt.pinning import settle_draft
from fabricc.audit.adopt.settings import UNNAMED_CA, lacks_log_ca
from fabricc.audit.adopt.shape import KEYS, Choice, rail_name
from fabricc.audit.adopt.trial import Draft, Site, built_files, compiled_of, error_codes, find_mismatches
from fabricc.audit.device import drop_invalid_addresses
from fabricc.audit.model import FoundFabric
from fabricc.audit.places import RAILS, networks_by_switch, places_of
from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.nos.exec_commands import command_lines
from fabricc.back.nos.overlay_text import Node, outline_text
from fabricc.base.diagnostics import TITLES, FindingsError
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.secret_words import secrets_by_line
from fabricc.base.values import dataclass, replace
from fabricc.compiler.render.switch_files import holds_secret
from fabricc.facts.frame import Contents
from fabricc.facts.statement import Device, Kind, Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.compiler.compiled import Compiled
    from fabricc.proof.compare import Mismatch


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of an adoption.

    Attributes:
        draft: what is to be written; `compiled`: what it becomes.
        differences: device -> where its build would still differ.
        assumed: what was taken for granted, in words.
        left: devices that the spec does not contain; all of them if it cannot be built.
        moved: links that a build would have on other ports.
        lost: switch -> lines without a fact that its build does not write.
    """

    draft: Draft
    compiled: Compiled
    differences: Mapping[str, list[Mismatch]]
    assumed: tuple[str, ...]
    left: tuple[str, ...] = ()
    moved: tuple[tables.MovedLink, ...] = ()
    lost: Mapping[str, list[LostLine]] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Return whether the spec can be built and holds at least one of the devices."""
        return self.compiled.sound and bool(self.differences)


def adopt_networks(found: FoundFabric, name: str, folder: Path) -> Adopted:
    """Return the spec that builds the found fabric, as far as there is one; drafts are compiled in `folder`.

    Networks are adopted one after another, each together with those before it. A further network whose spec cannot be
    built is left out.
    """
    parts = networks_of(found)
    needs = needs_of(parts)
    whole: Draft | None = None
    rails: Order | None = None
    homes: dict[str, str] = {}
    sites: list[Site] = []
    assumed: list[str] = []
    for network, part in parts.items():
        order = order_of(part, homes)
        if not order.groups:
            if not network:
                raise _no_hosts_error(order)
            assumed.append(f"Network {network} is not in the spec: no port of its ToRs leads to a host.")
            continue
        sides = FoundTiers(part, order)
        number = number_of(sides, {each.number for each in sites}) if network else 0
        site = Site(part, order, sides, folder, network, whole, rails, number, needs)
        choosing = SpecSearch(site, name)
        draft, compiled = choosing.choose_draft()
        assumed += [*order.assumed, *choosing.refused, *_list_assumptions(site, choosing.choice)]
        if problem := choosing.find_tenant_problem(choosing.choice):
            assumed.append(f"The spec has no `tenants`, as {problem}: overlays keep the VRFs that they can.")
        if not compiled.sound and not network:
            return Adopted(draft, compiled, {}, tuple(assumed), tuple(found.devices))
        if not compiled.sound:
            codes = ", ".join(sorted(set(error_codes(compiled))))
            assumed.append(
                f"Network {network} is not in the spec: the spec that fits it best cannot be built ({codes})."
            )
            continue
        draft, compiled = settle_draft(site, draft, compiled)
        draft, compiled, _, accepted, refused = add_overlays(site, draft, compiled)
        if refused:
            assumed.append(
                f"{', '.join(refused)} have all lines that no key of the spec expresses. With them the proof of a "
                "build fails, so the spec does not name these files."
            )
        assumed += describe_growth(draft)
        assumed += [_describe_acceptance(code, hosts=bool(sides.hosts)) for code in accepted]
        whole, rails = site.whole(draft), rails or order
        sites.append(site)
        homes |= {
            host.name: group.name if network else rail_name(rails, group)
            for group in order.groups for host in group.hosts
            if host.name not in homes
        }  # fmt: skip
    assert whole is not None
    return _compare_draft(found, sites, whole, compiled_of(whole, folder), assumed)


def _no_hosts_error(order: Order) -> FindingsError:
    """Return FAB9700 for ToRs without a port to which a host could be connected."""
    tors = order.tier(Tier.TOR)
    where = tors[0] if len(tors) == 1 else f"{tors[0]} and {plural(len(tors) - 1, 'other ToR')}"
    message = f"no port of {where} leads to a host: a spec is computed from the hosts of its ToRs"
    help_ = "Collect configurations with the ports of hosts: an address, a VLAN, or a bundle on each."
    return FindingsError("FAB9700", message, help_)


def describe_growth(draft: Draft) -> list[str]:
    """Name the overlays of single devices that hold lines of sessions: a new neighbor gets none of these lines."""
    names = [
        entry["file"]
        for entry in draft.words.get("overlays", ())
        if entry.get("devices") and "neighbor" in draft.more.get(entry["file"], "").lower()
    ]
    if not names:
        return []
    return [
        f"Overlays of single devices hold lines of sessions with the present neighbors ({join_words(names, 3)}). "
        "Growth writes no such line for a new neighbor: add it there, or move the lines into keys of the spec."
    ]


def _compare_draft(
    found: FoundFabric, sites: Iterable[Site], whole: Draft, compiled: Compiled, assumed: Iterable[str]
) -> Adopted:
    """Return the draft of all networks, compared with the statements of all devices."""
    differences: dict[str, list[Mismatch]] = {}
    moved: list[tables.MovedLink] = []
    unheld: dict[str, None] = {}
    lost: dict[str, list[LostLine]] = {}
    for site in sites:
        part = compiled.networks[site.network] if site.network else compiled
        files = built_files(part, site.found)
        for name, each in find_mismatches(files, site.found).items():
            differences.setdefault(name, []).extend(each)
        moved += tables.misplaced_links(part, site.order)
        unheld |= dict.fromkeys(_missing_files(site.found, files))
        switches = (each for each in files if found.devices[each].kind is Kind.SWITCH)
        lost |= {name: some for name in switches if (some := lost_lines(found.devices[name], files[name]))}
    left = tuple(name for name in found.devices if name not in differences)
    return Adopted(whole, compiled, differences, (*assumed, *unheld), left, tuple(moved), lost)


def _describe_acceptance(code: str, *, hosts: bool) -> str:
    """Return in words what an acceptance stands for."""
    if code == ENDS and not hosts:
        return (
            "Links to hosts have subnets that no key of the spec expresses, and no file has the hosts' ends. ToRs keep "
            f"theirs; do not use the hosts' files of a build, which have others ({code}, accepted)."
        )
    return f"The running configuration violates {code} ({TITLES[code]}): the spec accepts it, each build reports it."


def _list_assumptions(site: Site, choice: Choice) -> Iterator[str]:
    """Yield the assumptions in words."""
    for tier, key in KEYS.items():
        if key in choice.models and not any(device.model for device in site.sides.tiers[tier]):
            yield f"No output names the model of {key}: {choice.models[key]} has their ports, and comes closest."
    for kind, cable in (choice.cables or {}).items():
        yield f"Cables of `{kind}`, {_describe_cable(cable)}, are those that thresholds and lengths of the files fit."
    if lacks_log_ca(site.sides):
        yield f"No file names the CA of the log servers: write its name in place of `{UNNAMED_CA}`."


def _missing_files(found: FoundFabric, files: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield files that a build writes and the folder lacks for every switch of the system."""
    unheld: dict[str, set[str]] = {}
    for name, texts in files.items():
        device = found.devices[name]
        if device.kind is Kind.SWITCH:
            lacking = texts.keys() - device.files.keys()
            unheld[device.system] = unheld.get(device.system, lacking) & lacking
    for system, names in unheld.items():
        if names:
            yield f"The folder has no {', '.join(sorted(names))} of {system} switches: a build writes them."


def _describe_cable(cable: Mapping[str, Any]) -> str:
    return " ".join(
        f"{cable[key]}{' m' * (key == 'length_m')}" for key in ("medium", "length_m") if key in cable
    )


def networks_of(found: FoundFabric) -> dict[str, FoundFabric]:
    """Return name of a network -> its devices, links and places; the rails first. One network without evidence."""
    named = networks_by_switch(found)
    names = sorted({*named.values()}, key=lambda name: (name != RAILS, name))
    if len(names) < 2 or RAILS not in names:
        return {RAILS: found}
    parted: dict[str, FoundFabric] = {}
    for name in names:
        own = {each for each, network in named.items() if network == name}
        parted[name] = _part_of(found, name, own, {host for part in parted.values() for host in part.devices})
    return parted


def _part_of(
    found: FoundFabric, network: str, switches: Collection[str], earlier_hosts: Collection[str]
) -> FoundFabric:
    """Return the devices of a network: its switches, and hosts with the files that they have for it.

    Args:
        found: the folder.
        network: its name.
        switches: of it.
        earlier_hosts: hosts of networks before it, which have the files that are of no network.
    """
    links = tuple(link for link in found.links if link.a.device in switches or link.b.device in switches)
    ends = {end.device for link in links for end in (link.a, link.b)}
    devices = {
        name: device if name in switches else _files_of(device, network, own=name not in earlier_hosts)
        for name, device in found.devices.items()
        if name in switches or (name in ends and device.kind is Kind.HOST)
    }
    return FoundFabric(devices, links, places_of(devices, links))


def _files_of(host: Device, network: str, *, own: bool) -> Device:
    """Return a host with its files for a network, and those that are of none where these are its own part."""
    wanted = {network, RAILS} if own else {network}
    files = {file: text for file, text in host.files.items() if host_files.network_of(file) in wanted}
    reading = drop_invalid_addresses(host_files.read(files), next(iter(files), ""))
    return replace(host, files=files, held=Contents(reading, host.ignorable))


def needs_of(parts: Mapping[str, FoundFabric]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return host -> further network -> how many ports it has there, and their speed."""
    needs: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for network, part in parts.items():
        speeds: dict[str, list[int]] = defaultdict(list)
        for link in part.links if network else ():
            for near, far in link.ways:
                if near.device in part.devices and part.devices[near.device].kind is Kind.HOST:
                    facts = part.devices[far.device].reading.facts
                    speed = facts.get(f"interface[{far.port}]/speed_gbps")
                    speeds[near.device].append(speed if isinstance(speed, int) else 0)
        for host, each in speeds.items():
            needs[host][network] = len(each), max(each)
    return needs


_HIDDEN = "(a line with a secret)"


class LostLine(NamedTuple):
    """A line that a build does not write; the text of a line with a secret is hidden."""

    file: str
    line: int
    text: str


def lost_lines(device: Device, built: Mapping[str, str]) -> list[LostLine]:
    """Return the lines of a switch without a fact that its built files lack.

    A line with a fact is compared as a fact; see `find_mismatches`. In structured files only the lines count that no
    reader knows or that do not concern forwarding.
    """
    barred = {*device.ignorable, *command_lines(back_ends.load(device.system), device.files)}
    barred |= {(file, line) for file, line, _ in device.unknown}
    found: list[LostLine] = []
    for file, text in device.files.items():
        lines = text.split("\n")
        if file in built and not file.endswith(".json"):
            stated = {line for at, line in device.reading.lines.values() if at == file}
            there = set(_paths(outline_text(built[file])))
            own = outline_text(text)
            missing = {
                node.line for path, node in _leaves(own) if path not in there and node.line not in stated
            }
        else:
            missing = {line for at, line in barred if at == file and 0 < line <= len(lines)}
        secret = {line for line, _ in secrets_by_line(text)}
        found += [
            LostLine(file, line, _HIDDEN if line in secret else _mask_line(lines[line - 1]))
            for line in sorted(missing)
        ]
    return found


def _mask_line(line: str) -> str:
    return _HIDDEN if holds_secret(line) else line.strip()


def _paths(top: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the texts of each line and of the lines around it."""
    for node in top.children:
        path = (*above, node.text)
        yield path
        yield from _paths(node, path)


def _leaves(top: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the lines with nothing below them, with the texts around them."""
    for node in top.children:
        path = (*above, node.text)
        if node.children:
            yield from _leaves(node, path)
        else:
            yield path, node
