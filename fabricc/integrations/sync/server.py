"""The objects of a server that a plan concerns, and the requests that make them what the plan has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fabricc.integrations.sync.products import Product, identifier
from fabricc.integrations.sync.records import OWNED, SHARED, Change, Found, Key, Record

if TYPE_CHECKING:
    from fabricc.integrations.sync.client import Client

_CHUNK = 50
"""Values of one query: addresses of requests stay below 8 kB, which servers and proxies take."""
_UNTAGGED = ("assignment", "vrf_prefix", "primary")
"""Kinds without tags: they belong to the owner of their address, VRF or device."""
Query = tuple[tuple[str, str], ...]


class Server:
    """A source of truth and what is known of it.

    Args:
        client: the connection.
        product: NetBox or Nautobot.
        tag: the tag of the cluster.
    """

    def __init__(self, client: Client, product: Product, tag: str) -> None:
        self._client, self._product, self._tag = client, product, tag
        self._ids: dict[tuple[str, Key], Any] = {}
        self._keys: dict[tuple[str, Any], Key] = {}
        self._tag_id: Any = None

    def supported(self, records: Sequence[Record]) -> list[Record]:
        """Return the records that the product has, with the fields that it has."""
        fields = self._product.fields
        return [
            each._replace(
                fields={name: each.fields[name] for name in fields.get(each.kind, ()) if name in each.fields}
            )
            for each in records
            if each.kind in self._product.paths
        ]

    def find(self, records: Sequence[Record]) -> list[Found]:
        """Return the objects that have the keys of the records, or the tag of the cluster.

        Raises:
            ServerError: the server does not answer as documented.
        """
        found: list[Found] = []
        owners: set[tuple[str, Key]] = set()
        for kind in (*SHARED, *OWNED):
            if kind not in self._product.paths:
                continue
            seen = set()
            for query in self._queries(kind, [each for each in records if each.kind == kind], records):
                options = self._product.options.get(kind, ())
                for answer in self._client.objects(self._product.paths[kind], (*query, *options)):
                    if answer.get("id") in seen:
                        continue
                    seen.add(answer.get("id"))
                    if (each := self._find_records(kind, answer, owners)) is not None:
                        found.append(each)
                        if each.owned:
                            owners.add((kind, each.key))
        return found

    def apply(self, changes: Sequence[Change], progress: Callable[[str, int], None]) -> None:
        """Make the changes.

        Args:
            changes: in the order of `compare`.
            progress: called with an action on a kind, and the number of objects, before each.

        Raises:
            ServerError: the server rejects one; those before it are made.
        """
        for (action, kind), group in groupby(changes, key=lambda each: (each.action, each.kind)):
            part = list(group)
            progress(f"{action} {kind}", len(part))
            path = self._product.paths[kind]
            if action == "delete":
                self._client.delete(path, [each.found.id for each in part if each.found is not None])
            elif action == "update" or kind == "primary":
                self._client.update(path, [self._update(each) for each in part])
            else:
                records = [each.record for each in part if each.record is not None]
                made = self._client.create(path, [self._body(each) for each in records])
                for record, answer in zip(records, made, strict=True):
                    self._remember(kind, record.key, answer.get("id"))

    def _queries(self, kind: str, own: Sequence[Record], records: Sequence[Record]) -> Iterator[Query]:
        """Yield the queries that find the objects of a kind."""
        if kind in OWNED and kind not in _UNTAGGED:
            name, form = self._product.tag_query
            if self._tag_id is not None:
                yield ((name, form(self._tag)),)
        if kind in self._product.device_filter:
            devices = [each.key for each in records if each.kind == "device"]
            ids = [str(self._ids["device", key]) for key in devices if ("device", key) in self._ids]
            yield from _chunks(self._product.device_filter[kind], ids)
        elif kind == "address":
            for prefix in (each.key[0] for each in records if each.kind == "prefix"):
                yield ((self._product.inside, prefix),)
        elif kind == "assignment":
            ids = [str(self._ids["interface", each.key]) for each in records
                   if each.kind == "interface" and ("interface", each.key) in self._ids]  # fmt: skip
            yield from _chunks("interface", ids)
        elif kind == "vrf_prefix":
            vrfs = dict.fromkeys(("vrf", each.key[:1]) for each in own)
            yield from _chunks("vrf", [str(self._ids[vrf]) for vrf in vrfs if vrf in self._ids])
        elif kind == "custom_field":
            yield (("label", "ASN"),)
        elif own:
            yield from _chunks(_SEARCHED.get(kind, "name"), [each.key[0] for each in own])

    def _find_records(
        self, kind: str, answer: Mapping[str, Any], owners: set[tuple[str, Key]]
    ) -> Found | None:
        read = self._product.read(kind, answer, self._keys)
        if read is None or "id" not in answer:
            return None
        key, fields = read
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
        self._remember(kind, key, answer["id"])
        return Found(kind, key, answer["id"], owned, fields, tags)

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


_SEARCHED = {"device_type": "model", "prefix": "prefix"}
"""Kind -> query of its key, where that is not `name`."""


def _chunks(name: str, values: Sequence[str]) -> Iterator[Query]:
    for begin in range(0, len(values), _CHUNK):
        yield tuple((name, value) for value in values[begin : begin + _CHUNK])
