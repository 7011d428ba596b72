"""The words of `priorities` and `congestion`, read back from code points, queues and PFC."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from fabricc.base.numbers import is_number

if TYPE_CHECKING:
    from fabricc.audit.adopt.sides import Sides, Words
    from fabricc.fabric.facts import Value
    from fabricc.facts.device import Device

_DSCP = re.compile(r"qos/dscp\[(\d{1,9})\]/(?:traffic_class|priority)")
_MARKED = re.compile(r"interface\[[^\]]*\]/queue\[[^\]]*\]/ecn_.*")
_SHARE = re.compile(r"dwrr (\d+)")
_LEVELS = ((26, "rdma"), (34, "storage"))


def infer_classes(sides: Sides) -> Words:
    """Infer classes from code points, PFC and scheduling; hosts provide them if switches do not."""
    devices = [*sides.tors, *sides.hosts]
    speaking = next((d for d in devices if any(map(_DSCP.fullmatch, d.reading.lines))), None)
    if speaking is None:
        return {"default": {}}
    points: dict[int, list[int]] = defaultdict(list)
    for path, value in speaking.reading.facts.items():
        if (match := _DSCP.fullmatch(path)) and isinstance(value, int):
            points[value].append(int(match[1]))
    lossless = _number_set(sides.of_ports("pfc", [speaking]))
    rest = max(points, key=lambda number: (len(points[number]), -number))
    found: Words = {}
    for number, own in sorted(points.items(), key=lambda item: (item[0] == rest, item[0])):
        named: Words = {}
        if number != rest:
            named["dscp"] = own[0] if len(own) == 1 else sorted(own)
        if number in lossless:
            named["lossless"] = True
            sends = sides.most("qos/rdma_dscp", sides.hosts)
            if len(own) > 1 and number != rest and sends in own and sends != min(own):
                named["sends"] = sends
        if _is_strict(sides, speaking, number):
            named["strict"] = True
        if number != (0 if number == rest else min(own) // 8):
            named["priority"] = number
        found[_class_name(found, named, number == rest)] = named
    return found


def infer_weights(sides: Sides, classes: Words) -> Words | None:
    """Return the classes with the shares of their queues, if these sum to 100."""
    shares = {}
    for name, words in classes.items():
        points = words.get("dscp", 0)
        number = words.get("priority", (min(points) if isinstance(points, list) else points) // 8)
        share = sides.most(f"qos/traffic_class[{number}]/scheduler", sides.hosts)
        if share is None:
            share = sides.of_ports(f"queue[{number}]/scheduler", sides.tors[:1])
        if (match := _SHARE.fullmatch(str(share))) is not None:
            shares[name] = {"weight_percent": int(match[1])}
    if sum(share["weight_percent"] for share in shares.values()) != 100:
        return None
    return {name: words | shares.get(name, {}) for name, words in classes.items()}


def infer_congestion(sides: Sides) -> Words:
    """Infer congestion control from the first ToR."""
    tors = sides.tors[:1]
    marked = any(_MARKED.fullmatch(path) for device in tors for path in device.reading.facts)
    words: Words = {"profile": "pfc-only"} if _number_set(sides.of_ports("pfc", tors)) and not marked else {}
    if any("trimming/size_bytes" in device.reading.facts for device in tors):
        words["trimming"] = {"class": "cnp", "size_bytes": sides.most("trimming/size_bytes")}
    if sides.most("link_retry") == "true":
        words["link_retry"] = True
    return words


def _class_name(taken: Words, words: Words, rest: bool) -> str:
    names = ["default"] if rest else ["rdma", "storage"] if "lossless" in words else ["cnp", "control"]
    first = words.get("dscp")
    named = [name for dscp, name in _LEVELS if name in names and dscp == first]
    spare = (f"class{number}" for number in range(8))
    return next(name for name in (*named, *names, *spare) if name not in taken)


def _is_strict(sides: Sides, device: Device, number: int) -> bool:
    stated = device.reading.facts.get(f"qos/traffic_class[{number}]/scheduler")
    return "strict" in (stated, sides.of_ports(f"queue[{number}]/scheduler", [device]))


def _number_set(value: Value | None) -> set[int]:
    return {int(each) for each in str(value or "").split(",") if is_number(each)}
