"""Find the spec of an existing fabric: infer it, compile it, compare it with the devices, and report differences."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt import tables
from fabricc.audit.adopt.choices import Choosing
from fabricc.audit.adopt.lost_lines import lost_lines
from fabricc.audit.adopt.networks import needs_of, networks_of
from fabricc.audit.adopt.order import order_of
from fabricc.audit.adopt.overlays import ENDS, add_overlays
from fabricc.audit.adopt.pinning import settle_draft
from fabricc.audit.adopt.pools import number_of
from fabricc.audit.adopt.shape import KEYS, rail_name
from fabricc.audit.adopt.sides import Sides
from fabricc.audit.adopt.trial import Site, built_files, compiled_of, error_codes, find_mismatches
from fabricc.base.diagnostics import FindingsError
from fabricc.base.diagnostics.model import TITLES
from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.values import dataclass
from fabricc.facts.device import Kind, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.audit.adopt.lost_lines import LostLine
    from fabricc.audit.adopt.order import Order
    from fabricc.audit.adopt.shape import Choice
    from fabricc.audit.adopt.tables import Moved
    from fabricc.audit.adopt.trial import Draft
    from fabricc.audit.model import Found
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
    moved: tuple[Moved, ...] = ()
    lost: Mapping[str, list[LostLine]] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Return whether the spec can be built and holds at least one of the devices."""
        return self.compiled.sound and bool(self.differences)


def adopt_networks(found: Found, name: str, folder: Path) -> Adopted:
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
        sides = Sides(part, order)
        number = number_of(sides, {each.number for each in sites}) if network else 0
        site = Site(part, order, sides, folder, network, whole, rails, number, needs)
        choosing = Choosing(site, name)
        draft, compiled = choosing.chosen()
        assumed += [*order.assumed, *choosing.refused, *_list_assumptions(site, choosing.choice)]
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
    found: Found, sites: Iterable[Site], whole: Draft, compiled: Compiled, assumed: Iterable[str]
) -> Adopted:
    """Return the draft of all networks, compared with the statements of all devices."""
    differences: dict[str, list[Mismatch]] = {}
    moved: list[Moved] = []
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


def _missing_files(found: Found, files: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
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
