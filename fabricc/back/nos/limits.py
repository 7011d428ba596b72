"""Limits of systems and their releases as data: one row per limit, one evaluation, and the difference of two releases.

A back end has its rows in its own `limits.py`, under the same names in each: `RELEASES`, `DEFAULT_RELEASE`, `LIMITS`,
`has` and `gaps`. The functions here make rows that several systems share with different figures.
"""

from __future__ import annotations

import re
from functools import cache, partial
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.back import limits
from fabricc.back import nos as back_ends
from fabricc.base.documents.reader import parse_yaml
from fabricc.base.values import dataclass
from fabricc.catalog.support import release_numbers
from fabricc.fabric.facts import SETTINGS, congestion_facts, setting_facts
from fabricc.fabric.logins import PASSWORD, login_refusal
from fabricc.fabric.routing import Spreading, Transport
from fabricc.fabric.vocabulary import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from fabricc.fabric.model import Management, Switch
    from fabricc.fabric.qos import Watchdog

    DevicePredicate = Callable[[Switch], bool | Iterable[Any]]


Range = limits.Range


@dataclass(frozen=True, slots=True)
class Limit(limits.Limit["Switch"]):
    """A limit of a system, or of its releases before one.

    Texts have more fields: `release` (the switch's), `since` (for the switch's family), `family`, `words`, `source`.

    Attributes:
        code: as in the base; also empty for features that no release lacks, which have a source.
        setting: its subject, if that is one of `fabric.facts.SETTINGS`: its words are the feature, and the facts of a
            switch about it decide whether it is needed, unless `feature` and `predicate` override this.
        reason: as in the base; empty if the system's sentence about releases states it.
        since: the first release without the limit, where families differ by family; None where none is known.
        where: the limit exists only if the switch's release has this.
        words: commands, tables or files that carry it, empty without any.
    """

    setting: str = ""
    since: str | Mapping[str, str | None] | None = None
    where: Limit | None = None
    words: str = ""

    def title(self) -> str:
        """Return the requested feature in a few words."""
        return self.feature or SETTINGS[self.setting]

    def requests(self, switch: Switch) -> bool | Iterable[Any]:
        """Return whether the switch needs it, or the things that it needs."""
        if self.requested:
            return self.requested(switch)
        stated = setting_facts(switch) | congestion_facts(switch.qos)
        return bool(self.setting) and any(path.startswith(self.setting) for path in stated)


Reservation = partial(Limit, fatal=False)
"""A limit that a configuration works with, less well."""


@dataclass(frozen=True, slots=True)
class System:
    """A network operating system: its releases and their limits.

    Attributes:
        releases: those that are known, oldest first; `default` is that of a switch that names none of them.
        limits: in the order of reported gaps; neighboring limits with the same question are grouped by thing.
        later, never: reason and remedy, formats as of a `Limit`, with the row's `remedy` as a field, where a later
            release has something, and where none is known to.
        family: the families of switches whose releases differ in what they can do.
        unknown: code of the gap of a release that is not known; empty where none can come so far.
    """

    name: str
    releases: tuple[str, ...]
    default: str
    limits: tuple[Limit, ...]
    later: tuple[str, str] = ("", "")
    never: tuple[str, str] = ("", "")
    family: Callable[[Switch], str] = lambda _: ""
    unknown: str = ""

    def release(self, at: Switch | str) -> str:
        """Return the release of a switch, or the one that a file names; the default where that is not known."""
        name = at if isinstance(at, str) else at.release
        return name if name in self.releases else self.default

    def first(self, at: Switch | str, limit: Limit) -> str | None:
        """Return the first release without the limit, of the switch's family."""
        if limit.since is None or isinstance(limit.since, str):
            return limit.since
        return limit.since["" if isinstance(at, str) else self.family(at)]

    def has(self, at: Switch | str, limit: Limit) -> bool:
        """Return whether the release of a switch, or one that a file names, is without the limit."""
        first = self.first(at, limit)
        return first is not None and release_numbers(self.release(at)) >= release_numbers(first)

    def gaps(self, switch: Switch) -> list[Gap]:
        """Return what the switch needs and its release cannot do, each thing once."""
        release = switch.release or self.default
        if self.unknown and release not in self.releases:
            known = ", ".join(self.releases)
            reason, remedy = f"the releases known are {known}", f"use one of {known}"
            return [Gap(self.unknown, f"{self.name} {release}", reason, remedy)]
        held = (limit for limit in self.limits if limit.code and self._holds(switch, limit))
        return limits.gaps(switch, held, partial(self._gap, switch))

    def _holds(self, switch: Switch, limit: Limit) -> bool:
        return not self.has(switch, limit) and (limit.where is None or self.has(switch, limit.where))

    def _gap(self, switch: Switch, limit: Limit, thing: Any) -> Gap:
        since = self.first(switch, limit)
        return limit.gap(
            thing,
            None if limit.reason else self.later if since else self.never,
            release=self.release(switch),
            since=since,
            family=self.family(switch),
            words=limit.words,
            source=limit.source,
            remedy=limit.remedy,
        )


def always_supported(since: str | Mapping[str, str | None], *rows: tuple[str, str, str]) -> tuple[Limit, ...]:
    """Return what no known release lacks, in words or as one of `SETTINGS`, each with its words and its source."""
    return tuple(
        Limit(feature=SETTINGS.get(feature, feature), since=since, words=words, source=source)
        for feature, words, source in rows
    )


def port_speeds(switch: Switch) -> list[int]:
    """Return the speeds of ports in Gb/s, ascending."""
    return sorted({port.speed_gbps for port in switch.ports})


def class_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    """Name, priority and, of a weighted class, share in percent."""
    for c in switch.qos.classes:
        yield {"name": c.name, "priority": c.priority, "share": None if c.strict else c.weight_percent}


def marking_figures(switch: Switch) -> Iterator[dict[str, Any]]:
    """Yield profile, thresholds, their distance, and probability of each profile that marks."""
    for profile in switch.qos.profiles:
        if ecn := profile.ecn:
            thresholds = {
                "min_bytes": ecn.min_bytes,
                "max_bytes": ecn.max_bytes,
                "max_percent": ecn.max_percent,
            }
            yield {"profile": profile.name, **thresholds, "ramp_bytes": ecn.max_bytes - ecn.min_bytes}


def list_watchdogs(switch: Switch) -> list[Watchdog]:
    """Return the watchdog, where there is one."""
    return [switch.qos.watchdog] if switch.qos.watchdog else []


def segments_limit(reason: str) -> Limit:
    """No segments where hosts are; switches above pass EVPN routes on."""
    return Limit("FAB5830", setting="evpn/",
        requested=lambda switch: switch.vtep is not None, reason=reason,
        remedy="remove `evpn` and `tenants`, or use a system that supports them (`fabricc docs evpn`, `docs tenants`)",
    )  # fmt: skip


def unnumbered_evpn_limit(system: str) -> Limit:
    """No EVPN routes in sessions over link-local addresses."""
    return Limit("FAB5830", feature="EVPN routes over unnumbered links",
        requested=lambda switch: any(s.transport is Transport.UNNUMBERED for s, _ in switch.bgp.evpn_sessions),
        reason=f"no source confirms that {system} supports it",
        remedy="number the links: `addressing: {{fabric_links: numbered}}`",
    )  # fmt: skip


_DERIVED_DISTINGUISHERS = 1000
"""Above the numbers that FRR counts for VRFs and VNIs of one switch."""


def distinguishers_limit() -> Limit:
    """FRR drops an `rd` line that states the distinguisher which it derives: router ID and a small number."""
    return Limit("FAB5830", feature="route distinguishers of tenants that end in {it}",
        requested=lambda switch: [
            int(switch.tenants.distinguisher(each).rpartition(":")[2]) for each in switch.tenants.tenants
        ] if switch.tenants and switch.tenants.source else [],
        allowed={"it": Range(_DERIVED_DISTINGUISHERS)},
        reason="FRR counts derived distinguishers from 1 and drops a line that states one of these",
        source="FRR, bgp_evpn_vrf_rd_matches_existing",
        remedy=f"write `distinguisher: {_DERIVED_DISTINGUISHERS}` or more in the tenant",
    )  # fmt: skip


def managed_over_ipv6(switch: Switch) -> list[Management]:
    """Return how the switch is managed, where that is over IPv6."""
    return [switch.management] if ":" in switch.management.address else []


def mtu_limit(code: str, most: int, reason: str) -> Limit:
    """A port in use has an IP MTU of more than `most` bytes."""
    return Limit(code, feature="IP MTU {it}",
        requested=lambda switch: [max((p.mtu for p in switch.ports if p.enabled), default=None)],
        allowed={"it": Range(0, most)}, reason=reason, remedy=f"set the fabric's MTU to {most} or less",
    )  # fmt: skip


def priorities_limit(
    code: str, reason: str, remedy: str, predicate: DevicePredicate = class_figures
) -> Limit:
    """A class has no priority from 0 to 7."""
    feature, taken = "class {name} on priority {priority}", Range(0, 7)
    return Limit(
        code, feature=feature, requested=predicate, allowed={"priority": taken}, reason=reason, remedy=remedy
    )


def shares_limit(code: str, reason: str, predicate: DevicePredicate = class_figures) -> Limit:
    """A weighted class has no share from 1 to 100 %."""
    return Limit(code, feature="class {name} with {share} % of the bandwidth", requested=predicate,
        allowed={"share": Range(1, 100)}, reason=reason, remedy="give the class at least one percent",
    )  # fmt: skip


def marking_limit(
    code: str, reason: str, predicate: DevicePredicate = marking_figures, *, least_percent: int = 1
) -> Limit:
    """ECN thresholds that do not ascend from 1 byte, or a probability below `least_percent` or above 100 %."""
    return Limit(code, feature="ECN from {min_bytes} to {max_bytes} bytes at {max_percent} % on {profile}",
        requested=predicate,
        allowed={"min_bytes": Range(1), "ramp_bytes": Range(0), "max_percent": Range(least_percent, 100)},
        reason=reason, remedy="set ECN thresholds and probability within these ranges",
    )  # fmt: skip


def watchdog_limit(code: str, held_timers: Callable[[Watchdog], tuple[int, int, int]], reason: str) -> Limit:
    """Return the limit of NOS timers (detect, restore, poll.

    Milliseconds) that differ from the requested: those of `held_timers`.
    """
    return Reservation(
        code,
        feature="PFC watchdog timers of {it[0]} / {it[1]} / {it[2]} ms (detect, restore, poll)",
        requested=lambda switch: [
            (*requested, *held_timers(watchdog))
            for watchdog in list_watchdogs(switch)
            if (requested := (watchdog.detect_ms, watchdog.restore_ms, watchdog.poll_ms))
            != held_timers(watchdog)
        ],
        reason=reason + "; written are {it[3]} / {it[4]} / {it[5]} ms",
        remedy="none needed, or set the values that are configured",
    )


def watchdog_action(code: str, reason: str) -> Limit:
    """The watchdog is to do anything but drop what a stuck queue holds."""
    return Reservation(code, feature="PFC watchdog action {it.action}", requested=list_watchdogs,
        allowed={"action": ("drop",)}, reason=reason, remedy="use the action drop",
    )  # fmt: skip


def spreads_dynamically(switch: Switch) -> bool:
    """Return whether flowlets or packets may take another path than their flow."""
    return switch.load_balancing.mode in (Spreading.FLOWLET, Spreading.PACKET)


def cluster_limit(code: str, instead: str) -> Limit:
    """Return the limit of systems without cluster load balancing; `instead` has the modes that they have."""
    return Limit(code, setting="load_balancing/mode",
        requested=lambda switch: switch.load_balancing.mode is Spreading.CLUSTER,
        reason="cluster load balancing is a feature of Arista EOS 4.34 and later", words="cluster load balancing",
        source="Arista's list of new features of EOS 4.34.0F", remedy=f"use {instead}")  # fmt: skip


def paths_limit(code: str, most: Callable[[Switch], int], reason: str) -> Limit:
    """More equal-cost paths than the NOS takes on the switch, or none; texts have `most` as a field."""
    return Limit(code, feature="{paths} equal-cost paths",
        requested=lambda switch: [
            {"paths": count, "most": most(switch), "model": switch.model.title}
            for count in (switch.bgp.maximum_paths,)
            if not 1 <= count <= most(switch)
        ],
        reason=reason,
        remedy="use at most {most} uplinks per switch, and write `routing.maximum_paths: {most}`",
    )  # fmt: skip


def bfd_limit(
    code: str, nos: str, interval_ms: tuple[int, int], multiplier: tuple[int, int], source: str = ""
) -> Limit:
    """BFD timers outside the ranges that the NOS takes, both ends included."""
    interval, lost = Range(*interval_ms), Range(*multiplier)
    return Limit(
        code,
        feature="BFD every {it.bfd_interval_ms} ms, {it.bfd_multiplier} times",
        requested=lambda switch: [switch.bgp] if switch.bgp.bfd_interval_ms is not None else [],
        allowed={"bfd_interval_ms": interval, "bfd_multiplier": lost},
        reason=f"{nos} takes {interval} ms and a multiplier from {lost}",
        remedy="set BFD within these ranges",
        source=source,
    )


def access_over_ipv6(code: str, reason: str, remedy: str) -> Limit:
    """Access networks, which are IPv4, of a switch that is managed over IPv6: `it.address` of the texts."""
    return Limit(code, setting="management/access",
        requested=lambda switch: [m for m in managed_over_ipv6(switch) if m.access], reason=reason, remedy=remedy,
    )  # fmt: skip


def login_limit(code: str, transport: str) -> Limit:
    """No account could log in as the driver does, over a transport that takes nothing but a password."""

    def is_refused(switch: Switch) -> bool:
        users = switch.management.users
        facts = setting_facts(switch) | {f"user[{user.name}]/ssh_key": user.ssh_key for user in users}
        facts |= {f"user[{user.name}]/secret": user.password for user in users if user.password}
        return bool(users) and all(login_refusal(facts, user.name, {PASSWORD}) for user in users)

    return Reservation(code, feature=f"a login of `fabricc push` over {transport}", requested=is_refused,
        reason=f"{transport} takes a password, and accounts have a key alone: a switch refuses the push that loaded it",
        remedy="give an account a `password`, name TACACS+ or RADIUS servers, or load the files over SSH",
        section="management",
    )  # fmt: skip


def log_certificate(source: str, remedy: str) -> Limit:
    """Return the reminder that a configuration cannot contain the certificate with which log servers are verified."""
    return Reservation("FAB5844", feature="the CA certificate `{it}` of log servers", setting="management/syslog_tls",
        requested=lambda switch: [switch.management.syslog_tls.ca] if switch.management.syslog_tls else [],
        reason="a configuration cannot contain it, and without it the switch sends no messages", source=source,
        remedy=remedy, section="management",
    )  # fmt: skip


def open_management_limit(reason: str, source: str) -> Limit:
    """Return the limit for a spec without access networks: without a list, the switch answers whoever reaches it."""
    return Reservation("FAB5843", feature="keeping GPU hosts from SSH of the switch",
        requested=lambda switch: not switch.management.access, reason=reason, source=source,
        remedy="set `management.access` to the networks of your operators", section="management",
    )  # fmt: skip


USERS = '`management: {{users: [{{name: netops, ssh_key: "ssh-ed25519 …"}}]}}`'
"""How a spec states an account, in a remedy that is formatted."""


def accounts_limit(
    code: str, reason: str, remedy: str = f"name at least one user with a key: {USERS}"
) -> Limit:
    """Return the limit for a spec without users, on which no login is possible."""
    return Reservation(code, feature="no account with an SSH key",
        requested=lambda switch: not switch.management.users, reason=reason, remedy=remedy,
        section="management",
    )  # fmt: skip


_FIELD = re.compile(r"\{[^{}]*\}")
_IMAGES = "images.yaml"


class Feature(NamedTuple):
    """Something that one of two releases has and the other lacks.

    Attributes:
        name: a few words.
        setting: prefix of its facts, "" if it is none of the settings.
        comes: whether the later of the two has it.
        words: commands, tables or files that carry it; `source`: where this is documented.
    """

    name: str
    setting: str
    comes: bool
    words: str
    source: str


class ImageStep(NamedTuple):
    """The image step of a system and its reversal; fabricc runs none of it.

    Attributes:
        check: command that verifies the checksum of a file on the switch.
        install, back: commands in their order; `back` is empty where the maker states no way.
        limits: what the way back needs, and what it does not do.
        sources: documents; `assumed` names the parts without a manual of the maker.
    """

    nos: str
    check: str
    install: tuple[str, ...]
    back: tuple[str, ...]
    limits: tuple[str, ...]
    sources: tuple[str, ...]
    assumed: tuple[str, ...]


def image_step(nos: str, before: str, after: str) -> ImageStep | None:
    """Return the image step of a system between two of its releases; None of a third party's.

    Commands that a release lacks are left out: it installs by those of the one that runs, and goes back by those of the
    new one.
    """
    row = _image_steps().get(nos)
    if row is None:
        return None
    order = back_ends.load(nos).releases
    lacks = {
        part
        for part, runs in (("install", before), ("back", after))
        if (since := row.get("since", {}).get(part)) and order.index(runs) < order.index(since)
    }
    ways = {part: () if part in lacks else tuple(row[part]) for part in ("install", "back")}
    limits, sources, assumed = (tuple(row.get(part, ())) for part in ("limits", "sources", "assumed"))
    return ImageStep(nos, row["check"], ways["install"], ways["back"], limits, sources, assumed)


@cache
def _image_steps() -> Mapping[str, Any]:
    """Return the table of images, by system."""
    text = (resources.files("fabricc.back.nos") / _IMAGES).read_text(encoding="utf-8")
    found: Mapping[str, Any] = parse_yaml(text, _IMAGES).value
    return found


def changed_features(before: Switch, after: Switch) -> tuple[Feature, ...]:
    """Return the features that a switch gains and loses between two releases; none for third-party systems."""
    module = _load_limits(after.nos)
    if module is None or before.nos != after.nos:
        return ()
    rows: tuple[Limit, ...] = module.LIMITS
    held = ((limit, module.has(before, limit), module.has(after, limit)) for limit in rows)
    return tuple(
        dict.fromkeys(
            Feature(_FIELD.sub("…", limit.title()), limit.setting, comes, limit.words, limit.source)
            for limit, had, comes in held
            if had != comes
        )
    )


def one_way(nos: str, before: str, after: str) -> str:
    """Return what going back from a release to an earlier one does not bring back; "" where nothing is known."""
    module = _load_limits(nos)
    function = getattr(module, "one_way", None)
    return function(before, after) if function else ""


def _load_limits(nos: str) -> ModuleType | None:
    if nos not in back_ends.BUILT_IN:
        return None
    return import_module(f"{back_ends.BUILT_IN[nos].partition(':')[0]}.limits")
