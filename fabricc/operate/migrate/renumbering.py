"""Switches and links that get other numbers a few at a time: tables of identities for the specs in between.

Spines and cores go first, with both ends of their links: what is out meanwhile is a spine. ToRs follow, a few units at
a time and one of each pair: an ASN, a router ID and a block of host addresses are a ToR's whole, so no order keeps its
own paths, and one keeps all others'.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.diagnostics.wording import join_words, plural
from fabricc.base.foreign.formats import csv_text
from fabricc.base.values import replace
from fabricc.fabric import links
from fabricc.fabric.capacity.remainder import count_removable
from fabricc.fabric.shape import SwitchId, TierName
from fabricc.front.spec.identities import DEVICES, LINKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.addresses import Pool
    from fabricc.fabric.design import AddressPlan
    from fabricc.fabric.fabric import Fabric

LINK_TABLE, DEVICE_TABLE = "migration-links.csv", "migration-devices.csv"
_NAMED = 4
_WORDS = {"asn": "ASN", "loopback4": "loopback", "loopback6": "loopback",
          "hosts4": "host addresses", "hosts6": "host addresses", "link": "link addresses"}  # fmt: skip
_POOLS = ("hosts4", "loopbacks4", "hosts6", "loopbacks6")


class Key(NamedTuple):
    """A number of a switch, or of one of the links down from it.

    Attributes:
        owner: the switch.
        column: of the table of devices, or `link`.
        lower, which: of a link, the switch below and the place among those to it.
    """

    owner: SwitchId
    column: str
    lower: SwitchId | None = None
    which: int = 0


Numbers = dict[Key, tuple[str | None, ...]]
"""A number, or the addresses of a link as the lower switch has them: its own and the far one, in either family."""


class RenumberingStep(NamedTuple):
    """One step of it.

    Attributes:
        name: of the step; `what`: it, in words.
        tables: key of `identities` -> file and text, of all that has its other numbers by then.
        addressing: keys of that section and their values.
        bare: spines and cores whose links have no addresses by then, among others that have.
        drained: ToRs of which nothing is kept meanwhile.
        before: what has to be done first, "" for nothing.
    """

    name: str
    what: str
    tables: Mapping[str, tuple[str, str]]
    addressing: Mapping[str, str]
    bare: Sequence[str]
    drained: Sequence[str] = ()
    before: str = ""


def plan_renumbering(old: Compiled, new: Compiled, keep: Fraction) -> Iterator[RenumberingStep]:
    """Yield the steps before the wanted spec, which needs no table; none where a table cannot have it.

    The wanted spec may have other pins, pools and shape; every rail, plane and switch keeps the share `keep` of its
    paths.
    """
    before, after = old.fabric, new.fabric
    given = any(each.given_devices or each.given_links for each in (old.spec, new.spec))
    systems = [
        {tier: (plan.model.name, plan.nos) for tier, plan in each.tiers.items()} for each in (before, after)
    ]
    if given or old.spec.addressing.family != new.spec.addressing.family or systems[0] != systems[1]:
        return
    way = _Renumbering(before, after)
    uppers = _order_batches(way, [way.select_changed(batch) for batch in batch_upper_switches(before, keep)])
    tors = _order_batches(way, [way.select_changed(batch) for batch in _batch_tors(before, keep)], uppers)
    if uppers is None or tors is None:
        return
    if (
        way.middle.addresses != before.addresses
        and way.middle.addresses.numbered == before.addresses.numbered
    ):
        yield way.part("pools", "pools that hold the numbers of before and of afterwards", set())
    done: set[SwitchId] = set()
    label = way.label(at for batch in uppers for at in batch)
    for number, batch in enumerate(uppers, 1):
        done.update(batch)
        yield way.part(f"{label}-{number}", way.describe_batch(batch), done)
    for number, batch in enumerate(tors, 1):
        done.update(batch)
        part = way.part(f"tors-{number}", way.describe_batch(batch), done)
        yield part._replace(
            drained=[before.name(at) for at in batch], before=_describe_host_action(before, way, batch)
        )


class _Renumbering:
    """The change of numbers from one fabric to another, for the switches that both have.

    Attributes:
        middle: the earlier fabric with pools that hold the numbers of both: what the specs in between are of.
        own, wanted: the numbers, as far as tables can have them.
        computed: those that `middle` has without a table.
        holders: number -> switches that have it in the earlier fabric.
    """

    def __init__(self, before: Fabric, after: Fabric) -> None:
        self.before = before
        self.middle = replace(before, addresses=_merge_pools(before.addresses, after.addresses))
        columns = [*_choose_columns(before, after, self.middle)]
        self.own, later, self.computed = (
            _collect_numbers(each, columns) for each in (before, after, self.middle)
        )
        self.ends = {key: ends for key, ends, _ in _list_links(before)}
        uppers = {key: value for key, value in later.items() if key.column == "asn" and _is_upper(key.owner)}
        merged = len({(value, self.own.get(key)) for key, value in uppers.items()}) > len({*uppers.values()})
        self.wanted = {
            key: later[key] if key in later and not (merged and key in uppers) else value
            for key, value in self.own.items()
        }  # no table gives one ASN to switches that have their own
        self.changed: defaultdict[SwitchId, list[Key]] = defaultdict(list)
        self.holders: defaultdict[tuple[str, str], set[SwitchId]] = defaultdict(set)
        for key, value in self.own.items():
            if value != self.wanted[key]:
                self.changed[key.owner].append(key)
            for each in filter(None, value):
                self.holders[key.column, each].add(key.owner)

    def select_changed(self, batch: Iterable[SwitchId]) -> list[SwitchId]:
        return [at for at in batch if at in self.changed]

    def free(self, batch: Iterable[SwitchId], done: set[SwitchId]) -> bool:
        """Return whether no other switch still has the new numbers of a batch."""
        gone = done.union(batch)
        return all(
            self.holders.get((key.column, each), gone) <= gone
            for at in batch
            for key in self.changed[at]
            for each in filter(None, self.wanted[key])
        )

    def label(self, switches: Iterable[SwitchId]) -> str:
        columns = {key.column for at in switches for key in self.changed[at]}
        return "links" if columns == {"link"} else "spines" if "link" in columns else "devices"

    def describe_batch(self, batch: Sequence[SwitchId]) -> str:
        words = {_WORDS[key.column]: None for at in batch for key in self.changed[at]}
        names = [self.before.name(at) for at in batch]
        return f"{join_words(names, _NAMED)} with other {join_words([*words], len(words), ' and ')}"

    def part(self, name: str, what: str, done: set[SwitchId]) -> RenumberingStep:
        """Return the step by which some switches have their other numbers."""
        now = {key: self.wanted[key] if key.owner in done else value for key, value in self.own.items()}
        bare = {key.owner for key, value in now.items() if not any(value) and any(self.computed[key])}
        values = {key: value for key, value in now.items() if value != self.computed[key] and any(value)}
        devices: defaultdict[SwitchId, dict[str, str | None]] = defaultdict(dict)
        for key, value in values.items():
            if key.lower is None:
                devices[key.owner][key.column] = value[0]
        named = [{"device": self.before.name(at), **cells} for at, cells in devices.items()]
        given = [(*self.ends[key], *value) for key, value in values.items() if key.lower is not None]
        tables: dict[str, tuple[str, str]] = {}
        if named:
            rows = [[row.get(each) for each in DEVICES] for row in named]
            tables["devices"] = DEVICE_TABLE, csv_text([DEVICES, *rows])
        if given:
            tables["links"] = LINK_TABLE, csv_text([LINKS, *given])
        words = _list_changed_keys(self.before.addresses, self.middle.addresses)
        return RenumberingStep(name, what, tables, words, sorted(map(self.before.name, bare)))


def _collect_numbers(fabric: Fabric, columns: Iterable[str]) -> Numbers:
    """Return the numbers of a fabric's switches in some columns, and those of the links between them."""
    found: Numbers = {}
    values: dict[str, Callable[[SwitchId], str | None]] = {
        column: _make_column_getter(fabric, column) for column in columns if column != "link"
    }
    for at in fabric.switch_ids():
        found |= {Key(at, column): (value,) for column, of in values.items() if (value := of(at)) is not None}
    if "link" in columns:
        found |= {key: addresses for key, _, addresses in _list_links(fabric)}
    return found


def _list_links(fabric: Fabric) -> Iterator[tuple[Key, tuple[str, ...], tuple[str | None, ...]]]:
    """Yield every link between switches, its ends and its addresses as in the table of links, the lower end first."""
    for at in fabric.switch_ids():
        name, ports, seen = fabric.name(at), links.port_names(fabric, at), Counter["SwitchId"]()
        upwards = (link for link in links.switch_links(fabric, at) if link.direction is links.UP)
        for end, link in zip(links.upward_links(fabric, at), upwards, strict=True):
            key = Key(end.peer, "link", at, seen[end.peer])
            seen[end.peer] += 1
            ends = (name, ports[link.slot], link.peer, link.peer_port)
            yield key, ends, (link.local4, link.remote4, link.local6, link.remote6)


def _make_column_getter(fabric: Fabric, column: str) -> Callable[[SwitchId], str | None]:
    """Return a function that gives the value of a switch in a column of the table of devices."""
    if column == "asn":
        return lambda at: str(links.switch_asn(fabric, at))
    version = int(column[-1])
    pool = fabric.pool(column[:-1].replace("loopback", "loopbacks"), version)
    assert pool is not None
    if column.startswith("loopback"):
        return lambda at: pool.address(links.loopback_offset(fabric, at, pool))

    def block(at: SwitchId) -> str | None:
        if at.tier is not TierName.TOR or fabric.units[at.unit].border is not None:
            return None
        return pool.prefix(links.host_blocks(fabric, at, at.unit)[version == 6], fabric.aggregate_bits())

    return block


def _choose_columns(before: Fabric, after: Fabric, middle: Fabric) -> Iterator[str]:
    """Yield the columns in which a table can give the later numbers to switches of the specs in between."""
    yield "asn"
    for name in _POOLS:
        pool, own = (fabric.addresses.pools().get(name) for fabric in (middle, after))
        alike = before.aggregate_bits() == after.aggregate_bits() and before.underlay_hosts
        if pool and own and _contains_pool(pool, own) and (alike or not name.startswith("hosts")):
            yield name.replace("loopbacks", "loopback")
    others = [pool for name, pool in middle.addresses.pools().items() if not name.startswith("links")]
    new = [pool for name, pool in after.addresses.pools().items() if name.startswith("links")]
    lengths = {pool.link_length for each in (middle, after) if (pool := each.addresses.links4)}
    if len(lengths) < 2 and not any(
        _contains_pool(one, other) or _contains_pool(other, one) for one in new for other in others
    ):
        yield "link"


def _merge_pools(old: AddressPlan, new: AddressPlan) -> AddressPlan:
    """The pools of before, those of afterwards where they hold them, and pools of links where there were none."""
    wider = {
        name: other
        for name in _POOLS
        if (own := getattr(old, name)) and (other := getattr(new, name)) and _contains_pool(other, own)
    }
    if new.numbered and not old.numbered:
        wider |= {"links4": new.links4, "links6": new.links6, "numbered": True}
    return replace(old, **wider)


def _list_changed_keys(old: AddressPlan, middle: AddressPlan) -> dict[str, str]:
    """Return the keys of `addressing` that the intermediate pools change."""
    pools = {name: str(pool) for name, pool in middle.pools().items() if old.pools().get(name) != pool}
    found = {name.replace("4", ""): text for name, text in pools.items()}
    if middle.links4 and old.links4 and middle.links4.link_length != old.links4.link_length:
        found["link_prefix_length"] = str(middle.links4.link_length)
    return found | ({"fabric_links": "numbered"} if middle.numbered != old.numbered else {})


def _contains_pool(one: Pool, other: Pool) -> bool:
    """Return whether a pool contains all of another one."""
    return (
        one.version == other.version
        and one.length <= other.length
        and one.first == other.first >> one.bits << one.bits
    )


def _is_upper(at: SwitchId) -> bool:
    return at.tier is not TierName.TOR


def batch_upper_switches(fabric: Fabric, keep: Fraction) -> Iterator[list[SwitchId]]:
    """Upper switches, spines before cores: of each plane and pod as many at a time as may be out."""
    shape = fabric.shape
    for tier, count in ((TierName.SPINE, shape.spines), (TierName.CORE, shape.cores)):
        size = count_removable(count, keep)
        members = [at for at in fabric.switch_ids() if at.tier is tier]
        for first in range(0, count, size):
            yield [at for at in members if first <= at.index < first + size]


def _batch_tors(fabric: Fabric, keep: Fraction) -> Iterator[list[SwitchId]]:
    """ToRs of as many units at a time as may be out, those of each port of a NIC for themselves."""
    units = [unit.coordinate for unit in fabric.places()]
    size = count_removable(len(units), keep)
    for port in range(fabric.shape.nic_ports):
        for first in range(0, len(units), size):
            some = units[first : first + size]
            yield [at for unit in some for at in fabric.tor_ids(unit) if at.nic_port == port]


def _order_batches(
    way: _Renumbering, some: Iterable[list[SwitchId]], before: Iterable[list[SwitchId]] | None = ()
) -> list[list[SwitchId]] | None:
    """Return the batches, each after those that have its numbers still; None where they have each other's."""
    waiting = [batch for batch in some if batch]
    done = {at for batch in before or () for at in batch}
    found: list[list[SwitchId]] = []
    while waiting:
        batch = next((each for each in waiting if way.free(each, done)), None)
        if batch is None:
            return None
        waiting.remove(batch)
        done.update(batch)
        found.append(batch)
    return found


def _describe_host_action(fabric: Fabric, way: _Renumbering, batch: Sequence[SwitchId]) -> str:
    """Describe what hosts must do before the ToRs of a batch get other numbers."""
    tors = {*batch}
    hosts = {
        unit.hosts[slot]: None
        for at in batch
        for unit, slots, _ in links.served_slots(fabric, at)
        for slot in slots
    }
    if not hosts:
        return ""
    whole = all(tors.issuperset(fabric.tor_ids(unit)) for unit in {at.unit for at in batch})
    addresses = any(key.column.startswith("hosts") for at in batch for key in way.changed[at])
    who = f"{plural(len(hosts), 'host')} ({join_words([*hosts], _NAMED)})"
    if addresses:
        return f"take {who} out of service: their addresses change, so apply their files with it"
    if whole:
        return f"take {who} out of service: all their ToRs restart BGP"
    return f"let {who} do without one port of each NIC: those ToRs restart BGP"
