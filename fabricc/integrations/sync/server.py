"""Read the objects of a server that a plan concerns, and send the requests that make them what the plan has.

Pulling a location exports its devices, from which identity tables are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fabricc.front.spec.netbox import Address, Device, End, Export
from fabricc.integrations.sync.comparison import Change, ServerObject
from fabricc.integrations.sync.products import Product, identifier, parts_of, slug
from fabricc.integrations.sync.records import OWNED, SHARED, Key, Record, Value

if TYPE_CHECKING:
    from fabricc.integrations.sync.client import Client

_CHUNK = 50
"""Values of one query: addresses of requests stay below 8 kB, which servers and proxies take."""
_UNTAGGED = ("assignment", "vrf_prefix", "primary")
"""Kinds without tags: they belong to the owner of their address, VRF or device."""
_MANY = ("interface", "address", "assignment", "primary", "cable")
"""Kinds with most of the objects, which depend on no other object of their kind: requests may be under way together."""
Query = tuple[tuple[str, str], ...]


class Server:
    """A source of truth and what is known of it.

    Args:
        client: the connection.
        product: NetBox or Nautobot.
        tag: the tag of the cluster.
        location: of its devices.
    """

    def __init__(self, client: Client, product: Product, tag: str, location: str) -> None:
        self._client, self._product, self._tag, self._location = client, product, tag, location
        self._ids: dict[tuple[str, Key], Any] = {}
        self._keys: dict[tuple[str, Any], Key] = {}
        self._tag_id: Any = None

    def select_supported(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that the product has, with the fields that it has."""
        fields = self._product.fields
        return [
            each._replace(
                fields={name: each.fields[name] for name in fields.get(each.kind, ()) if name in each.fields}
            )
            for each in records
            if each.kind in self._product.paths
        ]

    def find(self, records: Sequence[Record]) -> list[ServerObject]:
        """Return the objects that have the keys of the records, or the tag of the cluster.

        Raises:
            ServerError: the server does not answer as documented.
        """
        found: list[ServerObject] = []
        owners: set[tuple[str, Key]] = set()
        for kind in (*SHARED, *OWNED):
            if kind not in self._product.paths:
                continue
            seen = set()
            own = {each.key: each for each in records if each.kind == kind}
            slugs = {slug(key[0]): key for key in own} if kind in self._product.slugs else {}
            for number, query in enumerate(self._queries(kind, list(own.values()), records, owners)):
                options = self._product.options.get(kind, ())
                if number and self._is_tagged(kind):  # the first query has found those with the tag
                    options = (*options, *self._product.without_tag(self._tag))
                for answer in self._client.objects(self._product.paths[kind], (*query, *options)):
                    if answer.get("id") in seen:
                        continue
                    seen.add(answer.get("id"))
                    if (each := self._find_record(kind, answer, owners, slugs, own)) is not None:
                        found.append(each)
                        if each.owned:
                            owners.add((kind, each.key))
        return found

    def apply(self, changes: Sequence[Change], progress: Callable[[str, int, int], None]) -> None:
        """Make the changes.

        Args:
            changes: in the order of `compare`.
            progress: called after each request with an action on a kind, the number of objects done, and that of all.

        Raises:
            ServerError: the server rejects one; those before it are made.
        """
        order = {kind: number for number, kind in enumerate((*SHARED, *OWNED))}
        first = [each for each in changes if each.record is None or order[each.kind] <= order["device"]]
        self._apply_groups(first, progress)
        made = [each.key for each in first if each.kind == "device" and each.found is None]
        rest = [each for each in changes if each.record is not None and order[each.kind] > order["device"]]
        rest = self._adopt_interfaces(made, rest)
        rest.sort(key=lambda each: (order[each.kind], each.found is None))
        self._apply_groups(rest, progress)

    def _apply_groups(self, changes: Sequence[Change], progress: Callable[[str, int, int], None]) -> None:
        for (action, kind), group in groupby(changes, key=lambda each: (each.action, each.kind)):
            part = list(group)
            path, done = self._product.paths[kind], 0
            for count in self._apply_group(action, kind, path, part):
                done += count
                progress(f"{action} {kind.replace('_', ' ')}", done, len(part))

    def _adopt_interfaces(self, devices: Sequence[Key], changes: Sequence[Change]) -> list[Change]:
        """Return the changes, with updates of the interfaces that the server created with new devices.

        It creates those of the templates that a device type has.
        """
        there: dict[Key, ServerObject] = {}
        ids = [str(self._ids["device", key]) for key in devices]
        for query in _chunks(self._product.device_filter["interface"], ids):
            words = (*query, *self._product.options.get("interface", ()))
            for answer in self._client.objects(self._product.paths["interface"], words):
                each = self._find_record("interface", answer, set(), {}, {})
                if each is not None:
                    there[each.key] = each
        return [self._adopt_interface(each, there.get(each.key)) for each in changes]

    @staticmethod
    def _adopt_interface(change: Change, there: ServerObject | None) -> Change:
        if change.kind != "interface" or change.record is None or there is None or change.found is not None:
            return change
        planned = change.record.fields
        before = {name: there.fields.get(name) for name in planned if there.fields.get(name) != planned[name]}
        return change._replace(found=there, before=before)

    def _apply_group(self, action: str, kind: str, path: str, part: Sequence[Change]) -> Iterator[int]:
        """Make changes of one action on one kind, and yield how many each request makes."""
        in_turn = kind not in _MANY
        if action == "delete":
            ids = [each.found.id for each in part if each.found is not None]
            yield from self._client.delete(path, ids, in_turn=in_turn)
        elif action == "update" or kind == "primary":
            yield from self._client.update(path, [self._update(each) for each in part], in_turn=in_turn)
        else:
            records = [each.record for each in part if each.record is not None]
            rest = iter(records)
            bodies = [self._body(each) for each in records]
            untagged: list[dict[str, Any]] = []
            for made in self._client.create(path, bodies, in_turn=in_turn):
                for answer in made:
                    self._remember(kind, next(rest).key, answer.get("id"))
                    if kind in self._product.loses_tags:
                        untagged.append({"id": answer["id"], "tags": self._product.tags((self._tag_id,))})
                yield len(made)
            for _ in self._client.update(path, untagged, in_turn=in_turn):
                pass

    def _is_tagged(self, kind: str) -> bool:
        """Return whether objects of a kind can have the tag, which the server has."""
        return kind in OWNED and kind not in _UNTAGGED and self._tag_id is not None

    def _queries(
        self, kind: str, own: Sequence[Record], records: Sequence[Record], owners: Set[tuple[str, Key]]
    ) -> Iterator[Query]:
        """Yield the queries that find the objects of a kind."""
        if self._is_tagged(kind):
            name, form = self._product.tag_query
            yield ((name, form(self._tag)),)
        if kind in self._product.device_filter:
            ids = [str(id_) for (what, _), id_ in self._ids.items() if what == "device"]
            yield from _chunks(self._product.device_filter[kind], ids)
        elif kind == "address":
            for prefix in (each.key[0] for each in records if each.kind == "prefix"):
                yield ((self._product.inside, prefix), *self._product.namespace)
            if "assignment" not in self._product.paths:  # it deletes addresses with their interface
                gone = owners - {(each.kind, each.key) for each in records}
                devices = dict.fromkeys(key[:1] for what, key in gone if what in ("device", "interface"))
                yield from _chunks("device_id", [str(self._ids["device", key]) for key in devices])
        elif kind == "assignment":
            ids = [str(self._ids["interface", each.key]) for each in records
                   if each.kind == "interface" and ("interface", each.key) in self._ids]  # fmt: skip
            yield from _chunks("interface", ids)
        elif kind == "vrf_prefix":
            vrfs = dict.fromkeys(("vrf", each.key[:1]) for each in own)
            yield from _chunks("vrf", [str(self._ids[vrf]) for vrf in vrfs if vrf in self._ids])
        elif kind == "custom_field":
            yield self._product.field_query
        elif kind in ("device", "primary"):
            name, form = self._product.location_query
            if ("location", (self._location,)) in self._ids:
                for chunk in _chunks("name", [each.key[0] for each in own]):
                    yield (*chunk, (name, form(self._location)))
        elif kind in self._product.slugs:
            yield from _chunks("slug", [slug(each.key[0]) for each in own])
        elif own:
            more = self._product.namespace if kind in ("vrf", "prefix") else ()
            for chunk in _chunks(_SEARCHED.get(kind, "name"), [each.key[0] for each in own]):
                yield (*chunk, *more)

    def _find_record(
        self,
        kind: str,
        answer: Mapping[str, Any],
        owners: Set[tuple[str, Key]],
        slugs: Mapping[str, Key],
        own: Mapping[Key, Record],
    ) -> ServerObject | None:
        read = self._product.read(kind, answer, self._keys)
        if read is None or "id" not in answer:
            return None
        key, fields = read
        key = slugs.get(str(answer.get("slug")), key)
        listed = answer.get("tags")
        tags = tuple(map(identifier, listed)) if isinstance(listed, list) else ()
        if kind == "tag" and key == (self._tag,):
            self._tag_id = answer["id"]
        if kind in _UNTAGGED:
            owner = {
                "assignment": ("address", key[:1]),
                "vrf_prefix": ("vrf", key[:1]),
                "primary": ("device", key),
            }
            owned = owner[kind] in owners
        else:
            owned = self._tag_id is not None and self._tag_id in tags
        if kind == "primary" and answer["id"] != self._ids.get(("device", key)):
            return None
        if not owned and kind in ("prefix", "address") and key in own and _is_of_other_vrf(own[key], fields):
            return None
        if owned or (kind, key) not in self._ids:  # those with the tag come first
            self._remember(kind, key, answer["id"])
        return ServerObject(kind, key, answer["id"], owned, fields, tags)

    def _remember(self, kind: str, key: Key, id_: Any) -> None:
        self._ids[kind, key] = id_
        self._keys[kind, id_] = key
        if kind == "tag" and key == (self._tag,):
            self._tag_id = id_

    def _body(self, record: Record) -> dict[str, Any]:
        body = self._product.body(record, self._ids)
        if record.kind in OWNED and record.kind not in _UNTAGGED:
            body["tags"] = self._product.tags((self._tag_id,))
        return body

    def _update(self, change: Change) -> dict[str, Any]:
        record, found = change.record, change.found
        assert record is not None
        fields = {name: record.fields[name] for name in change.before} if found is not None else record.fields
        body = self._product.change(record, fields, self._ids)
        body["id"] = self._ids["device", record.key] if record.kind == "primary" else found.id  # type: ignore[union-attr]
        if found is not None and not found.owned:
            body["tags"] = self._product.tags((*found.tags, self._tag_id))
        return body


def _is_of_other_vrf(record: Record, fields: Mapping[str, Value]) -> bool:
    return fields.get("vrf") != record.fields.get("vrf")


_SEARCHED = {"device_type": "model", "prefix": "prefix"}
"""Kind -> query of its key, where that is not `name`."""


def _chunks(name: str, values: Sequence[str]) -> Iterator[Query]:
    for begin in range(0, len(values), _CHUNK):
        yield tuple((name, value) for value in values[begin : begin + _CHUNK])


_READ_CHUNK = 50
_LARGEST = 1e9
"""Of rack positions and heights."""


def pull_export(client: Client, product: Product, location: str, prefixes: Sequence[str]) -> Export:
    """Return the devices of a location with their addresses and cables.

    Args:
        client: the connection.
        product: NetBox or Nautobot.
        location: site or location of the devices.
        prefixes: the address pools of the plan.

    Raises:
        ServerError: the server does not answer as documented.
    """
    name, form = product.location_query
    where = (name, form(location))
    keys: dict[tuple[str, Any], Key] = {}
    devices: list[Device] = []
    for answer in client.objects(product.paths["device"], (where, *product.options.get("device", ()))):
        if answer.get("name"):
            keys["device", answer.get("id")] = (str(answer["name"]),)
            devices.append(_read_device(answer))
    ids = [str(id_) for kind, id_ in keys if kind == "device"]
    for answer in _group_by_device(client, product, "interface", ids):
        read = product.read("interface", answer, keys)
        if read is not None:
            keys["interface", answer.get("id")] = read[0]
    cables: list[tuple[End, End]] = []
    for answer in _group_by_device(client, product, "cable", ids):
        read = product.read("cable", answer, keys)
        if read is not None and read[0][0] and read[0][2]:
            cables.append(((read[0][0], read[0][1]), (read[0][2], read[0][3])))
    addresses = tuple(_read_addresses(client, product, keys, prefixes))
    return Export(tuple(devices), addresses, tuple(dict.fromkeys(cables)), tuple(prefixes))


def _group_by_device(
    client: Client, product: Product, kind: str, ids: Sequence[str]
) -> Iterator[Mapping[str, Any]]:
    for begin in range(0, len(ids), _READ_CHUNK):
        query = [(product.device_filter[kind], each) for each in ids[begin : begin + _READ_CHUNK]]
        query += product.options.get(kind, ())
        yield from client.objects(product.paths[kind], query)


def _read_addresses(
    client: Client, product: Product, keys: dict[tuple[str, Any], Key], prefixes: Sequence[str]
) -> Iterator[Address]:
    """Yield the addresses in the pools, on interfaces of the devices."""
    found: dict[Any, Mapping[str, Any]] = {}
    for prefix in prefixes:
        inside = ((product.inside, prefix), *product.options.get("address", ()))
        for answer in client.objects(product.paths["address"], inside):
            found[answer.get("id")] = answer
    if "assignment" in product.paths:
        ends = {}
        interfaces = [str(id_) for kind, id_ in keys if kind == "interface"]
        for begin in range(0, len(interfaces), _READ_CHUNK):
            query = [("interface", each) for each in interfaces[begin : begin + _READ_CHUNK]]
            for answer in client.objects(product.paths["assignment"], query):
                ends[identifier(answer.get("ip_address"))] = identifier(answer.get("interface"))
    else:
        ends = {id_: identifier(answer.get("assigned_object_id")) for id_, answer in found.items()}
    for id_, answer in found.items():
        end = keys.get(("interface", ends.get(id_)))
        if end is not None:
            yield Address(str(answer.get("address")), _word(answer.get("role")), end[0], end[1])


def _read_device(answer: Mapping[str, Any]) -> Device:
    rack, primary = answer.get("rack"), answer.get("primary_ip4")
    asn = parts_of(answer.get("custom_fields")).get("asn")
    return Device(
        str(answer["name"]),
        _word(answer.get("role")),
        str(rack.get("name") or "") if isinstance(rack, dict) else "",
        _number(answer.get("position")),
        _read_height(answer),
        str(primary.get("address") or "") if isinstance(primary, dict) else "",
        str(asn) if isinstance(asn, int) else "",
    )


def _read_height(answer: Mapping[str, Any]) -> str:
    model = answer.get("device_type")
    return _number(model.get("u_height")) if isinstance(model, dict) else ""


def _number(value: Any) -> str:
    is_number = isinstance(value, int | float) and -_LARGEST < value < _LARGEST
    return str(int(value)) if is_number and value == int(value) else ""


def _word(value: Any) -> str:
    """Return slug, value or name of a choice or of an object."""
    if isinstance(value, dict):
        return str(value.get("slug") or value.get("value") or value.get("name") or "")
    return str(value or "")
