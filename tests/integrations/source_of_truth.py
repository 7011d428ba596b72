"""A local server that answers as the REST APIs of NetBox 4 and Nautobot 3 are published to, in memory.

Lists have pages with `count` and `next`; POST, PATCH and DELETE take lists. NetBox nests the objects that others refer
to, Nautobot answers with identifiers, or nests them with `?depth=1`. Names are unique, those of devices in a location
and tenant, and interfaces take one cable.
"""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_interface, ip_network
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "0123456789abcdef"
REFERENCES = {
    "manufacturer": "dcim/manufacturers", "device_type": "dcim/device-types", "role": "roles", "site": "dcim/sites",
    "location": "dcim/locations", "location_type": "dcim/location-types", "platform": "dcim/platforms",
    "tenant": "tenancy/tenants", "device": "dcim/devices", "vrf": "ipam/vrfs", "prefix": "ipam/prefixes",
    "ip_address": "ipam/ip-addresses", "interface": "dcim/interfaces", "primary_ip4": "ipam/ip-addresses",
}  # fmt: skip
UNIQUE = {"dcim/devices": ("name", "site", "location", "tenant"),
          "dcim/interfaces": ("device", "name"), "ipam/prefixes": ("prefix", "vrf", "namespace"),
          "ipam/ip-addresses": ("address", "vrf", "namespace"),
          "dcim/device-types": ("model",), "extras/custom-fields": ("label",), "dcim/cables": ("id",),
          "ipam/ip-address-to-interface": ("ip_address", "interface"),
          "ipam/vrf-prefix-assignments": ("vrf", "prefix")}  # fmt: skip
REQUIRED = {
    "netbox": {"dcim/devices": ("device_type", "role", "site"), "dcim/interfaces": ("device", "type")},
    "nautobot": {"dcim/devices": ("device_type", "role", "location", "status"),
                 "dcim/interfaces": ("device", "type", "status"), "dcim/cables": ("status", "termination_a_id"),
                 "ipam/ip-addresses": ("status",), "ipam/prefixes": ("status",), "extras/tags": ("content_types",)},
}  # fmt: skip


class Store:
    """The objects of a server, by list and identifier."""

    def __init__(self, product: str, page: int = 1000) -> None:
        self.product, self.page = product, page
        self.lists: dict[str, dict[str, dict[str, Any]]] = {}
        self.requests: list[tuple[str, str]] = []
        self.read: list[tuple[str, str]] = []
        """Path and identifier of each object that a list returned."""
        self.faults: list[tuple[str, int]] = []
        """Method (and path) and status: the next such request gets the status, and is not carried out."""
        self.meeting: tuple[str, threading.Barrier] | None = None
        """Method and path: the first such requests wait for each other."""
        self.templates: list[str] = []
        """Names of the interfaces that each new device has."""
        self._numbers = count(1)
        self.lock = threading.Lock()

    def load(self, lists: dict[str, dict[str, dict[str, Any]]]) -> None:
        """Replace the objects."""
        self.lists = lists
        self._numbers = count(1 + sum(map(len, lists.values())))

    def roles(self) -> str:
        return "dcim/device-roles" if self.product == "netbox" else "extras/roles"

    def add(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create an object.

        Raises:
            ValueError: a value is missing, unknown or taken.
        """
        made = {"tags": [], "custom_fields": {}, **body}
        made["id"] = next(self._numbers) if self.product == "netbox" else str(uuid.uuid4())
        missing = [name for name in REQUIRED[self.product].get(path, ()) if made.get(name) is None]
        if missing:
            raise ValueError(json.dumps({name: ["This field is required."] for name in missing}))
        self._check(path, made)
        self.lists.setdefault(path, {})[str(made["id"])] = made
        for name in self.templates if path == "dcim/devices" else ():
            kind = {"type": "800gbase-x-osfp", "status": "Active"}
            self.add(
                "dcim/interfaces", {"device": made["id"], "name": name, "enabled": True, "mtu": None, **kind}
            )
        return made

    def devices_of(self, address: Any) -> set[str]:
        """Return the devices on whose interfaces an address is."""
        interfaces = self.lists.get("dcim/interfaces", {})
        assigned = self.lists.get("ipam/ip-address-to-interface", {}).values()
        ends = [str(each["interface"]) for each in assigned if each["ip_address"] == address]
        ends += [str(self.lists["ipam/ip-addresses"].get(str(address), {}).get("assigned_object_id"))]
        return {str(interfaces[end]["device"]) for end in ends if end in interfaces}

    def _check_address(self, made: dict[str, Any]) -> None:
        """Check what both servers check of an address.

        Raises:
            ValueError: it is there, or the main address of a device that has it no longer.
        """
        held = self.lists.get("ipam/ip-addresses", {})
        number = ip_interface(made["address"]).ip
        for each in held.values():
            is_same = ip_interface(each["address"]).ip == number and all(
                each.get(name) == made.get(name) for name in ("vrf", "namespace")
            )
            if each["id"] != made["id"] and is_same:
                raise ValueError(json.dumps({"address": ["Duplicate IP address found in global table"]}))
        before = held.get(str(made["id"]), {}).get("assigned_object_id")
        interfaces = self.lists.get("dcim/interfaces", {})
        if before is not None and str(before) in interfaces:
            owner = interfaces[str(before)]["device"]
            new = interfaces[str(made["assigned_object_id"])]["device"]
            if owner != new and self.lists["dcim/devices"][str(owner)].get("primary_ip4") == made["id"]:
                raise ValueError(json.dumps({"__all__": ["Cannot reassign IP address while it is primary"]}))

    def _check(self, path: str, made: dict[str, Any]) -> None:
        if path == "ipam/ip-addresses":
            self._check_address(made)
        primary = made.get("primary_ip4") if path == "dcim/devices" else None
        if primary is not None and str(made["id"]) not in self.devices_of(primary):
            raise ValueError(json.dumps({"primary_ip4": ["The address is not assigned to this device."]}))
        for name, place in REFERENCES.items():
            value = made.get(name)
            where = self.roles() if place == "roles" else place
            if value is None or not refers_to(path, name, where):
                continue
            if str(value) not in self.lists.get(where, {}):
                raise ValueError(json.dumps({name: [f"Related object not found: {value!r}"]}))
        names = UNIQUE.get(path, ("name",))
        for each in self.lists.get(path, {}).values():
            if each["id"] != made["id"] and all(each.get(name) == made.get(name) for name in names):
                raise ValueError(json.dumps({"non_field_errors": [f"{names} must be unique"]}))
        if path == "dcim/cables":
            taken = {
                end
                for other in self.lists.get(path, {}).values()
                if other["id"] != made["id"]
                for end in cable_ends(other)
            }
            if taken & set(cable_ends(made)):
                raise ValueError(json.dumps({"__all__": ["Duplicate termination found"]}))

    def change(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        held = self.lists.get(path, {}).get(str(body["id"]))
        if held is None:
            raise ValueError(json.dumps({"detail": f"Object with ID {body['id']} does not exist"}))
        self._check(path, {**held, **body})
        held.update(body)
        return held

    def remove(self, path: str, id_: Any) -> None:
        del self.lists[path][str(id_)]
        owned = {"dcim/devices": ("dcim/interfaces", "device")}
        if self.product == "netbox":
            owned["dcim/interfaces"] = ("ipam/ip-addresses", "assigned_object_id")
        else:
            owned["dcim/interfaces"] = ("ipam/ip-address-to-interface", "interface")
        if path in owned:
            place, name = owned[path]
            for each in [each for each in self.lists.get(place, {}).values() if each.get(name) == id_]:
                self.remove(place, each["id"])
        for device in self.lists.get("dcim/devices", {}).values():
            primary = device.get("primary_ip4")
            if primary == id_ or (primary and str(device["id"]) not in self.devices_of(primary)):
                device["primary_ip4"] = None
        if path == "dcim/interfaces":
            cables = self.lists.get("dcim/cables", {}).values()
            for each in [each for each in cables if id_ in cable_ends(each)]:
                for side in "ab":  # the cable stays, with one end
                    if self.product == "nautobot" and each[f"termination_{side}_id"] == id_:
                        each[f"termination_{side}_id"] = None
                    elif self.product == "netbox":
                        ends = each[f"{side}_terminations"]
                        each[f"{side}_terminations"] = [end for end in ends if end["object_id"] != id_]

    def shown(self, path: str, held: dict[str, Any], *, nested: bool) -> dict[str, Any]:
        answer = dict(held)
        tags = [each["id"] if isinstance(each, dict) else each for each in held["tags"]]
        answer["tags"] = [self.lists["extras/tags"][str(each)] for each in tags]
        for name, place in REFERENCES.items():
            where = self.roles() if place == "roles" else place
            if held.get(name) is None or not refers_to(path, name, where):
                continue
            answer[name] = (
                dict(self.lists[where][str(held[name])]) if nested else {"id": held[name], "url": "…"}
            )
        if self.product == "netbox" and "type" in held and path == "dcim/interfaces":
            answer["type"] = {"value": held["type"], "label": held["type"]}
        return answer

    def search(self, path: str, words: list[tuple[str, str]]) -> list[dict[str, Any]]:
        found = list(self.lists.get(path, {}).values())
        for name in dict.fromkeys(name for name, _ in words):
            values = [value for word, value in words if word == name]
            found = [each for each in found if self._fits(path, each, name, values)]
        return found

    def _fits(self, path: str, each: dict[str, Any], name: str, values: list[str]) -> bool:
        if name in ("tag__n", "tags__n"):
            return not self._fits(path, each, name.removesuffix("__n"), values)
        if name in ("tag", "tags"):
            tags = [
                self.lists["extras/tags"][str(t["id"] if isinstance(t, dict) else t)] for t in each["tags"]
            ]
            return any(tag.get("slug" if name == "tag" else "name") in values for tag in tags)
        if name == "parent" or (name == "prefix" and path == "ipam/ip-addresses"):
            inner = ip_interface(each["address"]).ip
            return any(
                inner in ip_network(value) for value in values if inner.version == ip_network(value).version
            )
        if name == "namespace":
            return each["namespace"]["name"] in values
        if name == "device_id" and path == "ipam/ip-addresses":
            return not self.devices_of(each["id"]).isdisjoint(values)
        if name in ("site", "location"):
            return any(
                self.lists[f"dcim/{name}s"][str(each[name])].get(key) in values for key in ("slug", "name")
            )
        if path == "dcim/cables":
            interfaces = self.lists["dcim/interfaces"]
            return any(
                str(interfaces[str(end)]["device"]) in values
                for end in cable_ends(each)
                if str(end) in interfaces
            )
        return str(each.get(name.removesuffix("_id"))) in values


def refers_to(path: str, name: str, where: str) -> bool:
    """Return whether a field of a list refers to an object: not the text of a prefix, nor the role of an address."""
    return path != where and (path, name) not in (("ipam/prefixes", "prefix"), ("ipam/ip-addresses", "role"))


def cable_ends(cable: dict[str, Any]) -> list[Any]:
    """Return the interfaces of a cable."""
    if "a_terminations" in cable:
        return [each["object_id"] for side in "ab" for each in cable[f"{side}_terminations"]]
    return [cable["termination_a_id"], cable["termination_b_id"]]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    store: Store

    def log_message(self, *_: Any) -> None:
        return

    def _answer(self, status: int, body: Any) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if status in (429, 502):
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _serve(self) -> None:
        address = urlsplit(self.path)
        path = address.path.removeprefix("/api/").strip("/")
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.store.requests.append((self.command, path))
        if self.headers.get("Authorization") != f"Token {TOKEN}":
            self._answer(403, {"detail": "Invalid token"})
            return
        fault = next(
            (each for each in self.store.faults if each[0] in (self.command, f"{self.command} {path}")), None
        )
        if fault is not None:
            self.store.faults.remove(fault)
            self._answer(fault[1], {"detail": "busy"})
            return
        meeting = self.store.meeting
        if meeting is not None and meeting[0] == f"{self.command} {path}":
            meeting[1].wait(timeout=20)
            self.store.meeting = None
        with self.store.lock:
            self._carry_out(path, content, parse_qsl(address.query))

    def _carry_out(self, path: str, content: bytes, words: list[tuple[str, str]]) -> None:
        bodies = json.loads(content) if content else []
        try:
            if self.command == "GET":
                self._list(path, words)
            elif self.command == "POST":
                made = [self.store.add(path, each) for each in bodies]
                self._answer(201, [self.store.shown(path, each, nested=False) for each in made])
                if self.store.product == "nautobot" and path == "dcim/cables":  # 3.2.7, whatever it answers
                    for each in made:
                        each["tags"] = []
            elif self.command == "PATCH":
                self._answer(200, [self.store.change(path, each) for each in bodies])
            else:
                for each in bodies:
                    self.store.remove(path, each["id"])
                self._answer(204, None)
        except ValueError as error:
            self._answer(400, json.loads(str(error)))

    def _list(self, path: str, words: list[tuple[str, str]]) -> None:
        query = dict(words)
        begin, limit = int(query.get("offset", 0)), min(int(query.get("limit", 50)), self.store.page)
        nested = self.store.product == "netbox" or query.get("depth") == "1"
        others = [
            (name, value) for name, value in words if name not in ("offset", "limit", "depth", "fields")
        ]
        found = self.store.search(path, others)
        part = found[begin : begin + limit]
        more = f"http://x/?offset={begin + limit}" if begin + limit < len(found) else None
        results = [self.store.shown(path, each, nested=nested) for each in part]
        self.store.read += [(path, str(each["id"])) for each in part]
        if fields := query.get("fields"):
            results = [{name: each[name] for name in fields.split(",") if name in each} for each in results]
        self._answer(200, {"count": len(found), "next": more, "previous": None, "results": results})

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - names of the standard library


@contextmanager
def serve_store(store: Store) -> Iterator[str]:
    """Serve a store on a loopback port; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"store": store}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
