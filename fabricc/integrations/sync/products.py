"""Names of lists and values in the REST APIs of NetBox and Nautobot: paths, searches, bodies and answers as data.

Sources: the REST API pages of NetBox 4 (netboxlabs.com/docs/netbox/integrations/rest-api) and of Nautobot 3
(docs.nautobot.com, REST API guides), and Nautobot's own serializers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fabricc.base.values import dataclass
from fabricc.integrations.sync.records import LOOPBACK, Key, Record, Value

Ids = Mapping[tuple[str, Key], Any]
"""Kind and key -> identifier on the server."""
Keys = Mapping[tuple[str, Any], Key]
"""Kind and identifier on the server -> key."""
_INTERFACE = "dcim.interface"
_TAGGED = ("ipam.vrf", "ipam.prefix", "ipam.ipaddress", "dcim.device", _INTERFACE, "dcim.cable")
_NAMED = ("tag", "tenant", "manufacturer", "role", "location_type", "location", "platform", "vrf")


@dataclass(frozen=True, slots=True)
class Product:
    """A source of truth.

    Attributes:
        name: of the product, in lower case.
        paths: kind -> its list below `/api/`; kinds without one do not exist in it.
        fields: kind -> the fields that it has.
        device_filter: query that names devices of interfaces and cables by identifier.
        inside: query for the addresses of a prefix.
        namespace: query for the VRFs, prefixes and addresses among which those of the plan must be unique.
        tag_query: query for the objects with a tag.
        untagged: query for the objects without a tag.
        field_query: query for the custom field `asn`.
        location_query: query for the devices of a location; names of devices are unique there, not on the server.
        slugs: kinds that others may have under another spelling of the name: their slugs must be unique.
        options: kind -> more query.
        body: what to send for a record that is created.
        change: what to send for fields that change.
        tags: how identifiers of tags are sent.
        loses_tags: kinds that the server creates without their tags, whatever it answers.
    """

    name: str
    paths: Mapping[str, str]
    fields: Mapping[str, tuple[str, ...]]
    device_filter: Mapping[str, str]
    inside: str
    namespace: tuple[tuple[str, str], ...]
    tag_query: tuple[str, Callable[[str], str]]
    untagged: str
    field_query: tuple[tuple[str, str], ...]
    location_query: tuple[str, Callable[[str], str]]
    slugs: tuple[str, ...]
    options: Mapping[str, tuple[tuple[str, str], ...]]
    body: Callable[[Record, Ids], dict[str, Any]]
    change: Callable[[Record, Mapping[str, Value], Ids], dict[str, Any]]
    tags: Callable[[tuple[Any, ...]], list[Any]]
    loses_tags: tuple[str, ...]

    def without_tag(self, tag: str) -> tuple[tuple[str, str], ...]:
        """Return the query that leaves out the objects with a tag."""
        return ((self.untagged, self.tag_query[1](tag)),)

    def read(self, kind: str, answer: Mapping[str, Any], keys: Keys) -> tuple[Key, dict[str, Value]] | None:
        """Return key and fields of an object of the server; None where it is nothing that the plan could have."""
        key = _read_key(kind, answer, keys)
        if key is None:
            return None
        values = _read_fields(kind, answer, keys)
        return key, {name: values[name] for name in self.fields.get(kind, ()) if name in values}


def slug(text: str) -> str:
    """Return a name as NetBox has it in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "none"


def identifier(value: Any) -> Any:
    """Return the identifier in a reference, which is an object, or the identifier itself; None for anything else."""
    found = value.get("id") if isinstance(value, dict) else value
    return found if isinstance(found, int | str) else None


def objects_in(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; what is none is left out."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def parts_of(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _read_key(kind: str, answer: Mapping[str, Any], keys: Keys) -> Key | None:
    if kind in _NAMED or kind in ("device", "primary"):
        return (str(answer.get("name") or ""),)
    if kind == "device_type":
        return (str(answer.get("model") or ""),)
    if kind == "custom_field":
        return (str(answer.get("key") or answer.get("name") or ""),)
    if kind in ("prefix", "address"):
        return (str(answer.get(kind) or ""),)
    if kind == "interface":
        device = keys.get(("device", identifier(answer.get("device"))))
        return None if device is None else (*device, str(answer.get("name")))
    if kind == "cable":
        ends = sorted(_cable_ends(answer, keys))
        return (*ends[0], *ends[1]) if len(ends) == 2 else None
    pairs = {"assignment": ("ip_address", "address", "interface", "interface"),
             "vrf_prefix": ("vrf", "vrf", "prefix", "prefix")}  # fmt: skip
    first, first_kind, second, second_kind = pairs[kind]
    parts = (
        keys.get((first_kind, identifier(answer.get(first)))),
        keys.get((second_kind, identifier(answer.get(second)))),
    )
    return (*parts[0], *parts[1]) if parts[0] is not None and parts[1] is not None else None


def _cable_ends(answer: Mapping[str, Any], keys: Keys) -> list[Key]:
    """Return both ends of a cable; an end that is no interface of the plan has a key of no interface."""
    if "a_terminations" in answer:
        sides = [objects_in(answer.get(name)) for name in ("a_terminations", "b_terminations")]
        ids = [
            [identifier(each.get("object_id")) for each in side if each.get("object_type") == _INTERFACE]
            for side in sides
        ]
    else:
        ids = [[identifier(answer.get(f"termination_{side}_id"))] for side in "ab"]
    ends = []
    for number, side in enumerate(ids):
        known = [keys[("interface", each)] for each in side if ("interface", each) in keys]
        ends.append(known[0] if len(known) == 1 else ("", f"{answer.get('id')} {'ab'[number]}"))
    return ends


def _read_fields(kind: str, answer: Mapping[str, Any], keys: Keys) -> dict[str, Value]:
    named = {"device": ("device_type", "role", "location", "platform", "tenant"),
             "vrf": ("tenant",), "prefix": ("vrf",), "address": ("vrf",)}  # fmt: skip
    values: dict[str, Value] = {name: _name(name, answer, keys) for name in named.get(kind, ())}
    if kind == "device":
        asn = parts_of(answer.get("custom_fields")).get("asn")
        values["asn"] = asn if isinstance(asn, int) else None
    elif kind == "prefix":
        values["description"] = str(answer.get("description") or "")
    elif kind == "interface":
        values |= {
            "mtu": answer.get("mtu"),
            "enabled": answer.get("enabled"),
            "mgmt_only": answer.get("mgmt_only"),
        }
    elif kind == "address":
        end = keys.get(("interface", identifier(answer.get("assigned_object_id"))))
        if end is None and answer.get("assigned_object_id") is not None:
            end = ("another", "another")
        values |= {"device": end[0] if end else None, "interface": end[1] if end else None}
    elif kind == "primary":
        values["address"] = parts_of(answer.get("primary_ip4")).get("address")
    return values


def _name(field: str, answer: Mapping[str, Any], keys: Keys) -> str | None:
    """Return the name of an object that another one refers to."""
    value = answer.get("site") if field == "location" and "site" in answer else answer.get(field)
    if value is None:
        return None
    key = keys.get((field, identifier(value)))
    if key is not None:
        return key[0]
    named = (
        value.get("model") or value.get("name") or value.get("display") if isinstance(value, dict) else None
    )
    return str(named or identifier(value))


_FIELDS = {
    "vrf": ("tenant",),
    "device": ("device_type", "role", "location", "platform", "tenant", "asn"),
    "interface": ("mtu", "enabled", "mgmt_only"),
    "primary": ("address",),
}


def _device_fields(fields: Mapping[str, Value], ids: Ids, location: str) -> dict[str, Any]:
    """Return the fields of a device with identifiers for names."""
    names = {"location": location}
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if name == "asn":
            found["custom_fields"] = {"asn": value}
        else:
            found[names.get(name, name)] = None if value is None else ids[name, (str(value),)]
    return found


def _netbox_body(record: Record, ids: Ids) -> dict[str, Any]:
    kind, key = record.kind, record.key
    if kind == "custom_field":
        return {"name": key[0], "label": "ASN", "type": "integer", "object_types": ["dcim.device"]}
    if kind == "device_type":
        maker = ids["manufacturer", (str(record.initial["manufacturer"]),)]
        return {"model": key[0], "slug": slug(key[0]), "manufacturer": maker}
    if kind in ("tag", "tenant", "manufacturer", "role", "platform"):
        return {"name": key[0], "slug": slug(key[0])}
    if kind == "location":
        return {"name": key[0], "slug": slug(key[0]), "status": "active"}
    if kind == "cable":
        ends = [
            [{"object_type": _INTERFACE, "object_id": ids["interface", end]}] for end in (key[:2], key[2:])
        ]
        return {"a_terminations": ends[0], "b_terminations": ends[1], "status": "connected"}
    fixed: dict[str, dict[str, Any]] = {
        "vrf": {"name": key[0]},
        "prefix": {"prefix": key[0], "status": "active"},
        "device": {"name": key[0], "status": "active"},
        "interface": {"name": key[-1], **record.initial},
        "address": {"address": key[0], "status": "active"},
    }
    made = {**fixed[kind], **_netbox_change(record, record.fields, ids)}
    if kind == "interface":
        made["device"] = ids["device", key[:1]]
    if kind == "address" and record.fields["interface"] == LOOPBACK:
        made["role"] = "loopback"
    return made


def _netbox_change(record: Record, fields: Mapping[str, Value], ids: Ids) -> dict[str, Any]:
    if record.kind == "device":
        return _device_fields(fields, ids, "site")
    if record.kind == "primary":
        return {"primary_ip4": ids["address", (str(fields["address"]),)]}
    made: dict[str, Any] = {
        name: value for name, value in fields.items() if name not in ("device", "interface")
    }
    for name in ("vrf", "tenant"):
        if fields.get(name) is not None:
            made[name] = ids[name, (str(fields[name]),)]
    if record.kind == "address" and {"device", "interface"} & fields.keys():
        end = (str(record.fields["device"]), str(record.fields["interface"]))
        made |= {"assigned_object_type": _INTERFACE, "assigned_object_id": ids["interface", end]}
    return made


NETBOX = Product(
    name="netbox",
    paths={
        "tag": "extras/tags", "tenant": "tenancy/tenants", "manufacturer": "dcim/manufacturers",
        "device_type": "dcim/device-types", "role": "dcim/device-roles", "location": "dcim/sites",
        "platform": "dcim/platforms", "custom_field": "extras/custom-fields", "vrf": "ipam/vrfs",
        "prefix": "ipam/prefixes", "device": "dcim/devices", "interface": "dcim/interfaces",
        "address": "ipam/ip-addresses", "primary": "dcim/devices", "cable": "dcim/cables",
    },
    fields={**_FIELDS, "prefix": ("description", "vrf"), "address": ("device", "interface", "vrf")},
    device_filter={"interface": "device_id", "cable": "device_id"},
    inside="parent",
    namespace=(),
    tag_query=("tag", slug),
    untagged="tag__n",
    field_query=(("name", "asn"),),
    location_query=("site", slug),
    slugs=("tag", "tenant", "manufacturer", "device_type", "role", "location", "platform"),
    options={
        kind: (("fields", names),)
        for kind, names in {
            "device": "id,name,device_type,role,site,platform,tenant,custom_fields,tags,rack,position,primary_ip4",
            "primary": "id,name,primary_ip4",
            "interface": "id,name,device,mtu,enabled,mgmt_only,tags",
            "address": "id,address,vrf,assigned_object_id,role,tags",
            "cable": "id,a_terminations,b_terminations,tags",
        }.items()
    },  # the rest costs a server most of its time
    body=_netbox_body,
    change=_netbox_change,
    tags=lambda ids: [*ids],
    loses_tags=(),
)  # fmt: skip


def _nautobot_body(record: Record, ids: Ids) -> dict[str, Any]:
    kind, key = record.kind, record.key
    active = {"status": {"name": "Active"}}
    if kind == "cable":
        made: dict[str, Any] = {"status": {"name": "Connected"}}
        for side, end in (("a", key[:2]), ("b", key[2:])):
            made |= {f"termination_{side}_type": _INTERFACE, f"termination_{side}_id": ids["interface", end]}
        return made
    if kind == "device_type":
        return {"model": key[0], "manufacturer": ids["manufacturer", (str(record.initial["manufacturer"]),)]}
    fixed: dict[str, Callable[[], dict[str, Any]]] = {
        "tag": lambda: {"name": key[0], "content_types": [*_TAGGED]},
        "custom_field": lambda: {
            "key": key[0],
            "label": "ASN",
            "type": "integer",
            "content_types": ["dcim.device"],
        },
        "role": lambda: {"name": key[0], "content_types": ["dcim.device"]},
        "location_type": lambda: {"name": key[0], "content_types": ["dcim.device"]},
        "location": lambda: {"name": key[0], "location_type": ids["location_type", ("Site",)], **active},
        "vrf": lambda: {"name": key[0], "namespace": {"name": "Global"}},
        "prefix": lambda: {"prefix": key[0], "namespace": {"name": "Global"}, **active},
        "vrf_prefix": lambda: {"vrf": ids["vrf", key[:1]], "prefix": ids["prefix", key[1:]]},
        "device": lambda: {"name": key[0], **active},
        "interface": lambda: {"name": key[1], "device": ids["device", key[:1]], **record.initial, **active},
        "address": lambda: {"address": key[0], "namespace": {"name": "Global"}, **active},
        "assignment": lambda: {"ip_address": ids["address", key[:1]], "interface": ids["interface", key[1:]]},
    }
    found = fixed[kind]() if kind in fixed else {"name": key[0]}
    return {**found, **_nautobot_change(record, record.fields, ids)}


def _nautobot_change(record: Record, fields: Mapping[str, Value], ids: Ids) -> dict[str, Any]:
    if record.kind == "device":
        return _device_fields(fields, ids, "location")
    if record.kind == "primary":
        return {"primary_ip4": ids["address", (str(fields["address"]),)]}
    made: dict[str, Any] = {
        name: fields[name] for name in NAUTOBOT.fields.get(record.kind, ()) if name in fields
    }
    if made.get("tenant") is not None:
        made["tenant"] = ids["tenant", (str(made["tenant"]),)]
    return made


NAUTOBOT = Product(
    name="nautobot",
    paths={
        **NETBOX.paths, "role": "extras/roles", "location_type": "dcim/location-types",
        "location": "dcim/locations", "assignment": "ipam/ip-address-to-interface",
        "vrf_prefix": "ipam/vrf-prefix-assignments",
    },
    fields={**_FIELDS, "prefix": ("description",)},
    device_filter={"interface": "device", "cable": "device_id"},
    inside="prefix",
    namespace=(("namespace", "Global"),),
    tag_query=("tags", str),
    untagged="tags__n",
    field_query=(),  # its key is no filter; servers have few custom fields
    location_query=("location", str),
    slugs=(),
    options={"device": (("depth", "1"),), "primary": (("depth", "1"),)},
    body=_nautobot_body,
    change=_nautobot_change,
    tags=lambda ids: [{"id": each} for each in ids],
    loses_tags=("cable",),  # 3.2.7: CableSerializer.create
)  # fmt: skip
PRODUCTS = {each.name: each for each in (NETBOX, NAUTOBOT)}
