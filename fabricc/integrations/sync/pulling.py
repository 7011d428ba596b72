"""Pull the devices of a location from a source of truth, as an export from which identity tables are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fabricc.front.spec.netbox import Address, Device, End, Export
from fabricc.integrations.sync.products import Product, identifier, parts_of, slug

if TYPE_CHECKING:
    from fabricc.integrations.sync.client import Client
    from fabricc.integrations.sync.records import Key

_CHUNK = 50
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
    where = ("site", slug(location)) if product.name == "netbox" else ("location", location)
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
    for begin in range(0, len(ids), _CHUNK):
        query = [(product.device_filter[kind], each) for each in ids[begin : begin + _CHUNK]]
        yield from client.objects(product.paths[kind], query)


def _read_addresses(
    client: Client, product: Product, keys: dict[tuple[str, Any], Key], prefixes: Sequence[str]
) -> Iterator[Address]:
    """Yield the addresses in the pools, on interfaces of the devices."""
    found: dict[Any, Mapping[str, Any]] = {}
    for prefix in prefixes:
        for answer in client.objects(product.paths["address"], ((product.inside, prefix),)):
            found[answer.get("id")] = answer
    if "assignment" in product.paths:
        ends = {}
        interfaces = [str(id_) for kind, id_ in keys if kind == "interface"]
        for begin in range(0, len(interfaces), _CHUNK):
            query = [("interface", each) for each in interfaces[begin : begin + _CHUNK]]
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
