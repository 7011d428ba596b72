"""Choose values that files do not state: models, releases, hosts, cables, shares; the closest result wins.

A value of the draft that the schema or the planner refuses is left out if a spec may lack it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from fabricc.audit.adopt import models, settings, trial
from fabricc.audit.adopt.found_tiers import infer_weights
from fabricc.audit.adopt.outward import exits_of, infer_parties, rename_switches
from fabricc.audit.adopt.shape import KEYS, Choice, reserved_ports, shape_words, unit_rooms, uplink_ratios
from fabricc.audit.adopt.tables import misplaced_links
from fabricc.audit.adopt.tenants import FoundTenants, find_tenants
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.values import replace
from fabricc.fabric.naming import computed_name
from fabricc.fabric.tenants import port_mtu
from fabricc.facts.paths import path_pattern
from fabricc.facts.statement import Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabricc.audit.adopt.groups import Group
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.facts import Value

_GAP = re.compile(r"FAB5\d{3}|FAB3319")
"""What a system cannot express, or what no source confirms; the fabric runs so."""
_MEDIA = ("aec", "smf", "dac", "aoc", "mmf")
_LENGTHS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000, 2000)
"""Metres that are tried where nothing states a length and thresholds follow from it."""
_REACH = {"aec": 7, "dac": 5, "aoc": 100, "mmf": 100}
"""Metres that such a cable is tried with at most."""
_STEPS = (8, 4, 2, 1)
_LENGTH = path_pattern("interface[*]/(?:headroom/)?cable_m")
_SYSTEMS = ("ubuntu-24.04", "ubuntu-22.04", "dgx-os", "rhel-9", "rhel-10")
_RESERVED = (2, 4, 6, 8, 12, 16, 24, 32)
"""Ports that are kept free where ways out are; thresholds follow from how many ports there may be."""
_ROUNDS = 3
_MOST_REFUSALS = 12
"""Times that refused words are left out: each time shows what the errors before it hid."""
_USUAL_GBPS = 100
_REASON = "The fabric runs so; adopted as it is."


class SpecSearch:
    """A fabric on its way to the spec that comes closest."""

    def __init__(self, site: trial.Site, name: str) -> None:
        self.site, self.name = site, name
        self.found, self.order, self.sides = site.found, site.order, site.sides
        self.settings = settings.infer_settings(self.sides, self.found, self.order, self._default_words())
        mtu = self.settings.get("mtu", {}).get("switch", settings.USUAL_SWITCH_MTU)
        placed = {name for tier in KEYS for name in self.order.tier(tier)}
        self.exits = [way for way in exits_of(self.found) if way.switch in placed]
        self.tenants = FoundTenants() if site.network else find_tenants(self.found, self.order, self.exits)
        if self.tenants.numbers and (self.order.spines or self.order.has_peer_links):
            mtu = port_mtu(mtu, tunnels=True)
        self.parties = infer_parties(self.found, self.exits, mtu, self.tenants.exits)
        self.names: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        self.more: dict[str, str] = {}
        self.accept: list[dict[str, str]] = []
        self.refused: list[str] = []
        self.choice = self._first_choice()
        self.usual: dict[str, int] = {}
        self.known: dict[str, tuple[float, ...]] = {}

    def choose_draft(self) -> tuple[trial.Draft, Compiled]:
        """Return the draft that comes closest, and its compiled form."""
        self._drop_refused()
        self._choose_all()
        self._drop_refused()
        compiled = self._compile_accepting(self.choice)
        if compiled.sound and not self.site.network and any(misplaced_links(compiled, self.order)):
            compiled = self._lab_switches()
        return self.draft(self.choice), compiled

    def _drop_refused(self) -> None:
        """Leave out words that the spec refuses and may lack; overlays and tables keep what they stood for."""
        for _ in range(_MOST_REFUSALS):
            compiled = self._compile_accepting(self.choice)
            text = self.site.whole(self.draft(self.choice)).files()[trial.SPEC]
            refused = refused_parts(text, self.site.network, compiled.diagnostics)
            if not refused:
                return
            for keys, code in refused.items():
                self.refused.append(
                    f"`{'.'.join(keys)}` cannot be what the devices state ({code}): the spec leaves it out."
                )
                holder = self.parties if keys[0] == "external" else self.settings
                if len(keys) > 1 and keys[0] != "external":
                    holder = holder[keys[0]]
                del holder[keys[-1]]
                self.settings = {name: words for name, words in self.settings.items() if words}
            self.known.clear()

    def _lab_switches(self) -> Compiled:
        """Return the choice compiled, with its own model for lab switches if links then use their ports."""
        if text := models.generic_switch(self.sides.switches):
            self.more[trial.SWITCHES] = text
            kinds = dict.fromkeys(self.choice.models, models.GENERIC_SWITCH)
            tried = replace(self.choice, models=kinds)
            compiled = self._compile_accepting(tried)
            if compiled.sound and not any(misplaced_links(compiled, self.order)):
                self.choice = tried
                return compiled
            del self.more[trial.SWITCHES]
        return self._compile_accepting(self.choice)

    def _first_choice(self) -> Choice:
        """Return the likeliest choice before any trial."""
        chosen: dict[str, str] = {}
        systems: dict[str, str] = {}
        for tier, key in KEYS.items():
            if devices := self.sides.tiers[tier]:
                chosen[key] = models.switch_models(devices)[0]
                system, release = devices[0].system, devices[0].release
                back_end = back_ends.load(system)
                release = release if release in back_end.releases else back_end.default_release
                systems[key] = f"{system}-{release}"
        likely = self._possible_hosts(chosen)
        if missing := [name for name, names in likely.items() if not names]:
            likely |= {name: list(models.shipped_catalog().hosts)[:1] for name in missing}
        return Choice(chosen, systems, {name: names[0] for name, names in likely.items()})

    def _possible_hosts(self, chosen: Mapping[str, str]) -> dict[str, list[str]]:
        """Return group of hosts -> possible models, the likeliest first."""
        if self.site.network:
            alone = [group for group in self.order.groups if not group.home]
            return {group.name: models.guest_models(self._needed_ports(group)) for group in alone}
        groups = self.order.groups
        if self.sides.hosts:
            found = {
                group.name: models.host_models(group, self._port_speed(group), self._needed_ports(group))
                for group in groups
            }
            if any(found.values()):
                return found
        speeds = [
            (group, self._port_speed(group) or self._undivided_speed(group, chosen) or _USUAL_GBPS)
            for group in groups
        ]
        self.more[trial.CATALOG] = models.generic_hosts(speeds)
        return {group.name: [models.generic_name(number)] for number, group in enumerate(groups)}

    def _needed_ports(self, group: Group) -> Mapping[str, tuple[int, int]]:
        """Return the ports that hosts of a group have in further networks."""
        return self.site.needs.get(group.hosts[0].name, {})

    def _default_words(self) -> settings.SpecDefaults:
        """Return the default words of the spec for this network."""
        around = self.site.around
        return (
            settings.network_defaults(self.site.number, around.words) if around else settings.SpecDefaults()
        )

    def _port_speed(self, group: Group) -> int | None:
        """Return the speed of the ports of a group's hosts."""
        first = group.hosts[0].cables[0]
        usual = self.sides.of_ports("speed_gbps", self.sides.tiers[Tier.TOR])
        facts = self.found.devices[first.peer].reading.facts
        own = facts.get(f"interface[{first.peer_port}]/speed_gbps", usual)
        return own if isinstance(own, int) else None

    def _undivided_speed(self, group: Group, chosen: Mapping[str, str]) -> int | None:
        """Return the speed of an undivided port of a group's hosts."""
        first = group.hosts[0].cables[0]
        return models.whole_gbps(
            self.found.devices[first.peer].system, chosen[KEYS[Tier.TOR]], first.peer_port
        )

    def draft(self, choice: Choice) -> trial.Draft:
        """Return the draft of a choice, without tables."""
        made: dict[str, Any] = {} if self.site.network else {"cluster": self.name}
        made |= {"catalog": [*self.more]} if self.more else {}
        made |= shape_words(self.site, choice) | self.settings
        if choice.priorities:
            made["priorities"] = choice.priorities
        if choice.ecn:
            made["congestion"] = {**made.get("congestion", {}), "ecn": dict(choice.ecn)}
        if self.names and (outside := rename_switches(self.parties, self.names)):
            for party, words in outside.items():
                medium = {"medium": choice.media[party]} if party in choice.media else {}
                words["links"] = [self._with_speed(link, choice) | medium for link in words["links"]]
            made["external"] = outside
        lock = ""
        if self.hosts and not self.find_tenant_problem(choice):
            made["tenants"] = self.tenants.section(self.hosts, self._gpus_of_hosts(choice), self._reach())
            lock = f"{trial.EMPTY_LOCK}{self.tenants.lock_lines()}"
        return trial.Draft(made, more=self.more, lock=lock, accept=tuple(self.accept))

    def find_tenant_problem(self, choice: Choice) -> str:
        """Return why a spec with a choice cannot describe the VRFs, in words; "" if it can."""
        return self.tenants.problem or self.tenants.find_divided(self._gpus_of_hosts(choice))

    def _gpus_of_hosts(self, choice: Choice) -> dict[str, int]:
        """Return host -> the number of GPUs of its model; its rails where only ports of ToRs are known."""
        known = models.shipped_catalog().hosts
        counts: dict[str, int] = {}
        for group in self.order.groups:
            model = known.get(choice.hosts[group.name])
            counts |= {host.name: model.gpus if model else host.nics for host in group.hosts}
        return counts

    def _reach(self) -> dict[str, list[str]]:
        """Return VRF -> the outside parties whose links are in it."""
        found: dict[str, list[str]] = {}
        for party, section in self.parties.items():
            ends = {(link["at"], link["port"]) for link in section["links"]}
            for vrf in {vrf for end, vrf in self.tenants.exits.items() if end in ends}:
                found.setdefault(vrf, []).append(party)
        return found

    def _choose_all(self) -> None:
        """Choose the closest value of each thing that the files do not state, in rounds until nothing improves."""
        there = {
            "host": True, "spine": self.order.spines, "core": self.order.cores, "peer": self.order.has_peer_links,
        }  # fmt: skip
        kinds = [kind for kind, found in there.items() if found]
        stated = {kind: self._stated_lengths(kind) for kind in kinds}
        for kind, lengths in stated.items():
            cables = [{"medium": medium, **length} for length in lengths for medium in _MEDIA]
            self._keep_best(cables, self._replacing("cables", kind))
        for _ in range(_ROUNDS):
            before = self.choice
            self._choose_outward()
            self._choose_devices()
            for kind in stated:
                if kind != "host" or not self.sides.hosts:
                    self._choose_length(kind)
            shares = infer_weights(self.sides, self.settings["priorities"])
            self._keep_best([shares] if shares else [], lambda each: replace(self.choice, priorities=each))
            self._keep_best(self._shared_thresholds(), lambda ecn: replace(self.choice, ecn=ecn))
            if self.choice == before:
                return

    def _with_speed(self, link: dict[str, Any], choice: Choice) -> dict[str, Any]:
        """Return a link with the speed of its port; the highest of the model if the system states none."""
        if link["speed_gbps"] is not None:
            return link
        name = next(name for name, computed in self.names.items() if computed == link["at"])
        device, tier = self.found.devices[name], self.found.places[name].tier
        uses = models.panel_names(device.system, choice.models[KEYS[tier]]).get(link["port"], ())
        return {**link, "speed_gbps": max((max(use.speeds) for use in uses), default=_USUAL_GBPS)}

    def _choose_outward(self) -> None:
        """Choose ports reserved for external links, and their cables, once a draft shows the names of switches."""
        if not self.exits or not self.names:
            return
        names = {key: self.order.tier(tier) for tier, key in KEYS.items()}
        taken = {key: Counter(way.switch for way in self.exits if way.switch in names[key]) for key in names}
        most = {key: max(counted.values()) for key, counted in taken.items() if counted}
        known = {key: reserved_ports(self.found, names[key]) for key in most}
        if self._distance_of(self.choice)[0]:
            least = {key: known[key] + most[key] for key in most}
            both = [(free, medium) for free in ({}, least) for medium in _MEDIA]
            self._keep_best(
                both,
                lambda each: replace(
                    self.choice, reserved=each[0], media=dict.fromkeys(self.parties, each[1])
                ),
            )
        for party in self.parties:
            self._keep_best(_MEDIA, self._replacing("media", party))
        for key, free in known.items():
            options = map(
                self._replacing("reserved", key), [*range(free + 1, free + most[key] + 1), *_RESERVED]
            )
            self._keep_best([each for each in options if not self._distance_of(each)[0]], lambda each: each)

    def _learn_names(self, compiled: Compiled) -> None:
        """Read the names of devices in the spec without tables; external links and tenants use them."""
        self.names = {
            name: computed_name(compiled.fabric, at)
            for at, name in trial.match_switches(compiled, self.order).items()
        }
        if self.tenants.numbers:
            planned = [host.name for host in compiled.hosts()]
            self.hosts = dict(zip((host.name for host in self.order.hosts), planned, strict=False))
        self.known.clear()

    def _choose_devices(self) -> None:
        """Models and systems."""
        tiers = [(key, devices) for tier, key in KEYS.items() if (devices := self.sides.tiers[tier])]
        likely = {key: models.switch_models(devices) for key, devices in tiers}
        common = [name for name in likely["tors"] if all(name in names for names in likely.values())]
        self._keep_best(common, lambda model: replace(self.choice, models=dict.fromkeys(likely, model)))
        for key, names in likely.items():
            self._keep_best(names, self._replacing("models", key))
        for group, names in self._possible_hosts(self.choice.models).items():
            self._keep_best(names, self._replacing("hosts", group))
        if self.site.network:
            self._keep_best(self._port_names(), lambda ports: replace(self.choice, ports=ports))
        for key, devices in tiers:
            system = devices[0].system
            releases = [f"{system}-{release}" for release in reversed(back_ends.load(system).releases)]
            self._keep_best(releases, self._replacing("systems", key))
        if self.sides.hosts:
            self._keep_best(_SYSTEMS, lambda system: replace(self.choice, os=system))
            self._choose_groups()

    def _port_names(self) -> list[str]:
        """Return the port names that models of hosts may use for this network."""
        around = self.site.around.words["gpus"] if self.site.around else {}
        named = [around, *around.get("groups", ())]
        home = next((group for group in self.order.groups if group.home), self.order.groups[0])
        needs = self.site.needs.get(home.hosts[0].name, {})
        return models.ports_named(
            [each["model"] for each in named if "model" in each], self.site.network, needs
        )

    def _choose_groups(self) -> None:
        """Choose the values of each host group if there are several: RDMA class, room in a unit, uplinks."""
        if len(self.order.groups) == 1:
            return
        classes = [name for name, words in self.settings["priorities"].items() if "dscp" in words]
        self._keep_best(
            uplink_ratios(self.found, self.order), lambda ratio: replace(self.choice, ratio=ratio)
        )
        for group in self.order.groups:
            self._keep_best(unit_rooms(self.order, group), self._replacing("room", group.name))
            self._keep_best(classes, self._replacing("classes", group.name))

    def _choose_length(self, kind: str) -> None:
        """The length of a kind of cable, from the thresholds that follow from it; what is stated may be rounded up."""

        def of(length: int) -> Choice:
            cable = dict((self.choice.cables or {}).get(kind, {"medium": "smf"}))
            return self._replacing("cables", kind)(cable | {"length_m": length})

        self._adjust_length(kind, of)
        self._keep_best(_LENGTHS, of)
        self._adjust_length(kind, of)
        every = [{"medium": medium, "length_m": length} for medium in _MEDIA for length in _LENGTHS
                 if length <= _REACH.get(medium, length)]  # fmt: skip
        self._keep_best(every, self._replacing("cables", kind))
        self._adjust_length(kind, of)

    def _adjust_length(self, kind: str, of: Callable[[int], Choice]) -> None:
        """Move a length to the closest value around it."""
        for step in _STEPS:
            now = (self.choice.cables or {}).get(kind, {}).get("length_m", self.usual.get(kind))
            if now is not None:
                self._keep_best([length for length in (now - step, now + step) if length > 0], of)

    def _shared_thresholds(self) -> list[dict[str, int]]:
        """Return the thresholds that all ports share, in words of the spec."""
        devices = self.sides.tiers[Tier.TOR] + self.sides.tiers[Tier.SPINE]
        values = [
            self.sides.of_ports(f"queue[{number}]/{leaf}", devices)
            for number in range(8)
            if self.sides.of_ports(f"queue[{number}]/ecn_min_bytes", devices) is not None
            for leaf in ("ecn_min_bytes", "ecn_max_bytes", "ecn_max_percent")
        ][:3]
        if len(values) < 3 or not all(isinstance(value, int) for value in values):
            return []
        low, high, percent = (int(value or 0) for value in values)
        return [
            {
                "min_kb": max(1, round(low / 1000)),
                "max_kb": max(1, round(high / 1000)),
                "max_percent": percent,
            }
        ]

    def _stated_lengths(self, kind: str) -> list[dict[str, int]]:
        """Return the lengths that the ports of such cables state, those of hosts first; the default without any."""
        lower = Tier.SPINE if kind == "core" else Tier.TOR
        up = {"host": Tier.HOST, "spine": Tier.SPINE, "core": Tier.CORE, "peer": Tier.TOR}[kind]
        stated: dict[Value | None, None] = {}
        if kind == "host":
            stated |= dict.fromkeys([self.sides.of_ports("cable_m", self.sides.hosts)])
        for name in self.order.tier(lower)[:1]:
            facts = self.found.devices[name].reading.facts
            above = {
                cable.port: self.found.places[cable.peer].tier for cable in self.order.cables.get(name, ())
            }
            for path, value in facts.items():
                if (match := _LENGTH.fullmatch(path)) and above.get(match[1], Tier.HOST) is up:
                    stated.setdefault(value)
        return [{"length_m": each} for each in stated if isinstance(each, int)] or [{}]

    def _replacing(self, part: str, key: str) -> Callable[[Any], Choice]:
        """Return the function that replaces an entry in one of the mappings of the choice."""

        def of(value: Any) -> Choice:
            changed: Any = {part: {**(getattr(self.choice, part) or {}), key: value}}
            return replace(self.choice, **changed)

        return of

    def _keep_best(self, options: Iterable[Any], choice: Callable[[Any], Choice]) -> None:
        """Try each option and keep the closest one; keep the present one if it is as close."""
        best = self._distance_of(self.choice)
        for option in options:
            if best[:2] == (0, 0):
                return
            tried = choice(option)
            if (far := self._distance_of(tried)) < best:
                best, self.choice = far, tried

    def _distance_of(self, choice: Choice) -> tuple[float, ...]:
        key = repr(choice)
        if key not in self.known:
            compiled = self._compile_accepting(choice)
            if (self.exits or self.tenants.numbers) and not self.names and compiled.sound:
                self._learn_names(compiled)
                self.choice = choice
                return self._distance_of(choice)
            if compiled.sound:
                self.usual = {kind: cable.length_m for kind, cable in compiled.fabric.cable_kinds.items()}
            special = {way.switch for way in self.exits}
            self.known[key] = (
                *trial.trial_distance(compiled, self.found, self.order, special),
                len(self.accept),
            )
        return self.known[key]

    def _compile_accepting(self, choice: Choice) -> Compiled:
        """Compile a choice; accept what its systems cannot express if nothing else is wrong."""
        self.accept = []
        compiled = self.site.compile_draft(self.draft(choice))
        for _ in range(_ROUNDS):
            codes = set(trial.error_codes(compiled))
            if not codes or not all(map(_GAP.fullmatch, codes)):
                break
            known = {each["code"] for each in self.accept}
            if codes <= known:
                break
            self.accept += [{"code": code, "reason": _REASON} for code in sorted(codes - known)]
            compiled = self.site.compile_draft(self.draft(choice))
        return compiled


Keys = tuple[str, ...]

_REMOVABLE = {
    "addressing": 2, "congestion": 1, "evpn": 1, "external": 2, "load_balancing": 1, "management": 2, "mtu": 1,
    "routing": 2,
}  # fmt: skip
"""Section that a spec may lack -> how many keys name the part of it that is left out."""


def refused_parts(text: str, network: str, diagnostics: Iterable[Diagnostic]) -> dict[Keys, str]:
    """Return the refused parts of a spec that it may lack, each with the first code that refuses it.

    Args:
        text: of the spec, as `Draft.files` writes it.
        network: the further network whose section is searched; "" for the top level.
        diagnostics: the findings of the spec.
    """
    places = [((place.line, place.column), keys) for keys, place in parse_yaml(text, "").positions.items()]
    parts: dict[Keys, str] = {}
    for found in diagnostics:
        if found.severity is Severity.ERROR and found.position is not None:
            at = found.position.line, found.position.column
            keys = tuple(
                map(str, max((each for each in places if each[0] <= at), key=lambda each: each[0])[1])
            )
            if network:
                keys = keys[2:] if keys[:2] == ("networks", network) else ()
            depth = _REMOVABLE.get(keys[0], 0) if keys else 0
            if 0 < depth <= len(keys):
                parts.setdefault(keys[:depth], found.code)
    return parts
