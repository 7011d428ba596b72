"""Name what would fit in the place of a wrong value or key of a spec."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from fabricc.base.documents.document import KeyPath, clip
from fabricc.base.documents.schema import compile_pattern as compiled
from fabricc.catalog import library
from fabricc.front.spec.document import cluster_schema, join_words, resolve_schema

YAML_1_1_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


_MEMBERSHIP = 0x8000
"""The bit of a P_Key that makes a port a full member."""


OVERLAY = " For other settings write an overlay: `fabricc docs company-standards`."


def first_example(schema: dict[str, Any]) -> str:
    """Return the first example of a property, as one would write it in a spec."""
    examples = resolve_schema(schema).get("examples") or resolve_schema(schema).get("enum")
    return _format_yaml(examples[0]) if examples else ""


def _format_yaml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{key}: {_format_yaml(part)}" for key, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(_format_yaml(part) for part in value) + "]"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def type_help(key: object, kind: str, value: Any, schema: dict[str, Any]) -> str:
    """Return what to write in the place of a value of another type."""
    if isinstance(value, str):
        word = value.lower()
        if kind == "boolean" and (boolean := YAML_1_1_BOOLEANS.get(word, word)) in ("true", "false"):
            return f"Write {boolean}, without quotes."
        if kind in ("integer", "number") and re.fullmatch(r"[-+]?[0-9]{1,15}", value):
            return f"Write {int(value)}, without quotes or leading zeros."
        if key == "planes" and (stages := re.fullmatch(r"([1-9][0-9]?) ?(?:of|/) ?([1-9][0-9]?)", word)):
            return f"Write `planes: {stages[2]}` and `planes_present: {stages[1]}`."
        if kind == "integer" and re.fullmatch(r"0x[0-9a-f]{1,12}", word):
            number = int(word, 16)
            if number <= schema.get("maximum", number):
                return f"Write it in decimal: {number}."
            if key == "pkey" and (help_ := partition_key_help(number)):
                return help_
    if isinstance(value, float) and kind == "integer" and value.is_integer() and abs(value) < 1e15:
        return f"Write {int(value)}."
    if kind == "string" and value is not None and not isinstance(value, (dict, list)):
        return f'Put it in quotes to make it a text: "{_format_yaml(value)}".'
    if kind == "array" and isinstance(value, (str, int)) and not isinstance(value, bool):
        return f"Write a list of one: [{_format_yaml(value) if isinstance(value, int) else clip(value)}]."
    if key == "ecn" and kind == "boolean" and isinstance(value, dict):
        return "Thresholds are the same for all classes: write them under `congestion.ecn`."
    if kind == "object" and isinstance(value, str) and len(keys := _list_keys_of_word(value, schema)) == 1:
        return f"Write {{{keys[0]}: {value}}}."
    if kind == "object" and value is None:
        return "Write {} for an empty mapping, or indent its entries below the key."
    example = first_example(schema)
    return f"For example: {example}" if example else ""


def _list_keys_of_word(word: str, schema: dict[str, Any]) -> list[str]:
    """Return the keys of a mapping that have a word among their values."""
    keys = schema.get("properties", {}).items()
    return [key for key, part in keys if word in resolve_schema(part).get("enum", ())]


def partition_key_help(value: int) -> str:
    """Return the low 15 bits of a P_Key whose membership bit is set (InfiniBand specification, volume 1, 10.9.1.1)."""
    if _MEMBERSHIP < value < 2 * _MEMBERSHIP - 1:
        return f"Write {value - _MEMBERSHIP}: {value:#x} without the membership bit."
    return ""


def branch_help(value: Any, schema: dict[str, Any]) -> str:
    """Return what to write in the place of a value that none of several schemas takes."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,15}", value):
        return f"Write {int(value)}, without quotes or leading zeros."
    if (
        isinstance(value, str)
        and (code_point := _dscp_by_name(value.lower())) is not None
        and any(branch.get("$ref") == "#/$defs/dscp" for branch in schema.get("anyOf", ()))
    ):
        return f"{clip(value)} is code point {code_point}: write {code_point}."
    if isinstance(value, str) and YAML_1_1_BOOLEANS.get(value.lower(), value.lower()) == "false":
        return "Write false, without quotes."
    example = first_example(schema)
    return f"For example: {example}" if example else ""


def _dscp_by_name(name: str) -> int | None:
    """Return the code point of a per-hop behavior's name: CS (RFC 2474), AF (RFC 2597), EF (RFC 3246)."""
    if name == "ef":
        return 46
    if match := re.fullmatch("cs([0-7])", name):
        return 8 * int(match[1])
    if match := re.fullmatch("af([1-4])([1-3])", name):
        return 8 * int(match[1]) + 2 * int(match[2])
    return None


_SPREADING = {
    "packet": ("adaptive", "adaptive-routing", "ar", "spray", "spraying", "packet-spraying", "per-packet"),
    "flowlet": ("dlb", "dynamic", "ars", "flowlets", "per-flowlet"),
    "cluster": ("clb", "cluster-load-balancing"),
    "hash": ("ecmp", "static", "per-flow", "none"),
}
"""Mode of load balancing -> other words that people use for it."""


_GLOBAL = ("glb", "global")


def spreading_help(value: Any, path: KeyPath) -> str:
    """Return how a spec names a mode of load balancing that is written in a maker's words."""
    if path != ("load_balancing", "mode") or not isinstance(value, str):
        return ""
    word = clip(value).lower().replace("_", "-").replace(" ", "-")
    if word in _GLOBAL:
        return "Write `{mode: flowlet, global: true}`."
    mode = next((mode for mode, words in _SPREADING.items() if word in words), "")
    return f"Write `mode: {mode}`; see `fabricc docs load-balancing` for each system." if mode else ""


def systems_help(model: object) -> str:
    """Return how to name a system that runs on a switch; "" for a model that is not known for certain."""
    found = library.name_models(model, library.list_built_in("switches")) if isinstance(model, str) else ()
    if len(found) != 1:
        return ""
    raw = library.Library().raw("switches", found[0])
    known = raw["nos"].items()
    builds = {name: settings.get("support", {}).get("build", "") for name, settings in known}
    names = [f"{name}-{build}" if build else name for name, build in builds.items()]
    systems = [name for name in names if name != "frr"] or names
    if "infiniband" in systems:
        return f"{raw['title']} is an InfiniBand switch: write `fabric: infiniband` at the top level."
    if not systems:
        return ""
    if len(systems) == 1:
        return f"Add `nos: {systems[0]}`."
    return f"Add `nos: {systems[0]}`; {raw['title']} also runs {join_words(systems[1:])}."


MODEL_KEYS = {"model": ("switches", "hosts"), "nic": ("nics",)}
"""Key of a spec -> the sections of the catalog that it names a model of."""


def sections_of(path: KeyPath) -> tuple[str, ...]:
    """Return the sections of the catalog that a key names a model of: hosts in `gpus` and in groups."""
    sections = MODEL_KEYS.get(str(path[-1]), ())
    if str(path[-1]) == "model":
        return ("hosts",) if "gpus" in path or "groups" in path else ("switches",)
    return sections


def printed_name(value: str, path: KeyPath) -> str:
    """Return the catalog's names for a model that is written as its maker prints it."""
    if not (sections := sections_of(path)):
        return ""
    found = [
        name for section in sections for name in library.name_models(value, library.list_built_in(section))
    ]
    if not found:
        return library.explain_no_model(library.list_built_in(sections[0]))
    return f"Did you mean {' or '.join(repr(name) for name in found)}?"


def choice_help(value: Any, allowed: list[Any], words: list[str]) -> str:
    """Return which of the allowed values is probably meant, or what all of them are."""
    if isinstance(value, str):
        by_name = {word: word for word in allowed if isinstance(word, str)}
        if close := get_close_matches(clip(value).lower(), by_name, 1, 0.6):
            return f"Did you mean '{close[0]}'?" + (
                f" Allowed: {join_words(words)}." if len(words) > 1 else ""
            )
    elif isinstance(value, int) and (numbers := [one for one in allowed if isinstance(one, int)]):
        nearest = min(numbers, key=lambda candidate: abs(candidate - value))
        return f"The nearest that fits is {nearest}. Allowed: {join_words(words)}."
    return f"Allowed: {join_words(words)}."


def other_family(value: str, path: KeyPath) -> str:
    """The key that takes an IPv6 network, where one stands in the place of an IPv4 pool."""
    pools = cluster_schema()["properties"]["addressing"]["properties"]
    if path[:1] == ("addressing",) and ":" in value and f"{path[-1]}6" in pools:
        return f"IPv6 pools are keys of their own: `addressing.{path[-1]}6: {clip(value, 64)}`."
    return ""


_SERVER = re.compile(r"(?:[a-z0-9+]+://|@{1,2})?\[?(.+?)\]?(?::[0-9]{1,5})?/?")
"""A server with the scheme or the port that other tools write."""


_RANGE = re.compile(r"([a-z0-9-]+)\[([0-9]{1,5})(?:-|\.\.)([0-9]{1,5})\]")
"""Names with a range of numbers as Slurm and Ansible write it."""


def pattern_help(value: str, path: KeyPath, schema: dict[str, Any]) -> str:
    """Return a repaired value when a plain one fits, else an example."""
    plain = clip(value.lower(), 64)
    is_server = schema.get("patternErrorMessage", "").startswith("an address")
    if is_server and (match := _SERVER.fullmatch(plain)) and compiled(schema["pattern"]).search(match[1]):
        over_tls = "syslog" in path and plain.startswith(("tls:", "tcp+tls:"))
        other = " For TLS add `syslog_tls: {ca: NAME}`." if over_tls else OVERLAY
        return f"Write the address alone: '{match[1]}'.{other}"
    if names := _RANGE.fullmatch(plain):
        first, last = sorted((names[2], names[3]), key=int)
        span = f"{names[1]}{first}..{last}"
        taken = compiled(schema["pattern"]).search(span)
        return f"Write the range as '{span}'." if taken else "Name each one: this key has no ranges."
    words = re.split(r"[^a-z0-9.]+", plain)
    for repaired in (
        plain,
        re.sub(r"^([a-z]+[0-9]+):[0-9]+$", r"\1", plain),  # `eth0:1` is a label of an address of eth0
        re.sub(r"[^a-z0-9]+", "-", plain).strip("-"),
        f"{words[0]}-{words[-1]}" if len(words) > 1 else "",
    ):
        if repaired and repaired != value and compiled(schema["pattern"]).search(repaired):
            return f"Did you mean '{repaired}'?"
    example = first_example(schema)
    return f"For example: {example}" if example else ""
