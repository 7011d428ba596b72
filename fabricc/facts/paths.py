"""Split the paths of facts: words with "/" between them, some with a key in brackets, such as `vrf[RED]/bgp/asn`."""

from __future__ import annotations

import re

_KEY = re.compile(r"\[[^\]]*\]")
_MARKS = {"[*]": r"\[([^\]]*)\]", "[_]": r"\[[^\]]*\]", "[#]": r"\[(\d{1,9})\]"}


def split_list_path(path: str, kind: str) -> tuple[str, str]:
    """Return the name and the leaf of a path in a list, `RED` and `vni` for `vrf[RED]/vni` in the list `vrf`."""
    name, _, leaf = path[len(kind) + 1 :].partition("]/")
    return name if leaf else name.removesuffix("]"), leaf


def list_leaf(path: str) -> str:
    """Return the leaf of a path in any list, `vni` for `vrf[RED]/vni`; "" for a path in no list."""
    return path.partition("]/")[2]


def last_leaf(path: str) -> str:
    """Return the leaf of a path in a list inside of others: what follows its last name in brackets."""
    return path.rpartition("]/")[2]


def first_word(path: str) -> str:
    """Return what a path begins with, `evpn/vrf` for `evpn/vrf[RED]/vni`: all before the first key."""
    return path.partition("[")[0]


def area_of(path: str) -> str:
    """Return the area that a path is about, `qos` for `qos/dscp[26]/traffic_class`."""
    return first_word(path).partition("/")[0]


def first_key(path: str) -> str:
    """Return the first key of a path, `RED` for `vrf[RED]/static_route[::/0]`; "" without a key."""
    return path.partition("[")[2].partition("]")[0]


def last_key(path: str) -> str:
    """Return the last key of a path, `::/0` for `vrf[RED]/static_route[::/0]`; "" without a key."""
    return path.rpartition("[")[2].partition("]")[0] if "[" in path else ""


def outer_key(path: str) -> str:
    """Return the only key of a path, which may have brackets itself, `vlan[5]/name` for `unread[vlan[5]/name]`."""
    return path.partition("[")[2].rpartition("]")[0]


def replace_keys(path: str, other: str = "[]", most: int = 0) -> str:
    """Return a path with another text in place of its keys and their brackets; of `most` keys, 0 for all."""
    end = path.rfind("]") + 1  # a search behind the last one would go to the end from each bracket
    return _KEY.sub(other, path[:end], count=most) + path[end:]


def path_pattern(shape: str) -> re.Pattern[str]:
    """Return the pattern of some paths: `[*]` captures a key, `[#]` a number; `[_]` is any key; else as in `re`."""
    for mark, pattern in _MARKS.items():
        shape = shape.replace(mark, pattern)
    return re.compile(shape)
