"""Check a document against the JSON Schema, and report in plain words what does not fit and what would."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import Document, KeyPath, clip
from fabricc.base.documents.schema import breaches, schema_validator
from fabricc.base.documents.schema import compile_pattern as compiled
from fabricc.base.numbers import group_pairs
from fabricc.catalog import library
from fabricc.catalog.load import load_catalog
from fabricc.catalog.model import TABLE_MTU_BYTES, Catalog
from fabricc.catalog.support import explain_system
from fabricc.front.spec.document import cluster_schema, format_path, format_value, join_words, resolve_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema.exceptions import ValidationError


MAX_PROBLEMS = 100
TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
YAML_1_1_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
_ALIKE, _SIMILAR = 0.8, 0.6
"""Ratios of `difflib` from which a known key is meant for certain, and from which it is proposed."""
_MEMBERSHIP = 0x8000
"""The bit of a P_Key that makes a port a full member."""
_MOST_SECTIONS = 3
"""Most sections that a message names."""
SIZES = {
    "minItems": "has too few items: {n} at least",
    "maxItems": "has too many items: {n} at most",
    "minProperties": "has too few entries: {n} at least",
    "maxProperties": "has too many entries: {n} at most",
    "minLength": "is too short: {n} characters at least",
    "maxLength": "is too long: {n} characters at most",
    "uniqueItems": "has an item twice",
}


def schema_problems(document: Document) -> tuple[tuple[KeyPath, Diagnostic], ...]:
    """Return every mismatch between document and schema, each with the path of the value that does not fit.

    At most 100 are reported, and one more counts the rest. Values that the reader already rejected are skipped.
    """
    found: list[tuple[KeyPath, Diagnostic]] = []
    errors = breaches(document.value, "cluster")
    for error in islice((part for whole in errors for part in _relevant_errors(whole)), 50 * MAX_PROBLEMS):
        path: KeyPath = tuple(error.absolute_path)
        if any(path[:length] in document.broken for length in range(len(path) + 1)):
            continue
        found.extend(islice(_diagnostics_of(error, path, document), MAX_PROBLEMS + 1))
        if len(found) > MAX_PROBLEMS:
            message = f"more than {MAX_PROBLEMS} problems: the rest is not listed"
            start = Position(document.file, 1, 1)
            del found[MAX_PROBLEMS:]
            found.append(((), Diagnostic("FAB1009", Severity.ERROR, message, start, "Repair these first.")))
            break
    return tuple(found)


def _relevant_errors(error: ValidationError) -> Iterator[ValidationError]:
    """Yield the error itself, or those of the one alternative whose type the value has."""
    if error.validator != "anyOf":
        yield error
        return
    branches = group_pairs((int(part.relative_schema_path[0]), part) for part in error.context or ())
    fitting = [
        parts
        for parts in branches.values()
        if not any(part.validator in ("type", "enum") and not part.relative_path for part in parts)
    ]
    if len(fitting) != 1:
        yield error
        return
    for part in fitting[0]:
        yield from _relevant_errors(part)


def _diagnostics_of(
    error: ValidationError, path: KeyPath, document: Document
) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """Yield the diagnostics of one schema error."""
    schema: dict[str, Any] = error.schema if isinstance(error.schema, dict) else {}
    value: Any = error.instance
    expected: Any = error.validator_value
    name = format_path(path) or "the file"
    place = document.value_position(path)
    if "propertyNames" in error.absolute_schema_path:
        path = (*path, value)
        place = document.key_position(path)
        name = f"the name {format_value(value)} in {name}"

    shown = format_value(value)
    if isinstance(value, str) and (path[-1:] == ("secret",) or "secret" in schema.get("properties", ())):
        shown = "a text"  # it may be the secret itself

    wants_more = isinstance(value, dict) and "management" in path

    def problem(code: str, message: str, help: str = "") -> tuple[KeyPath, Diagnostic]:
        return path, Diagnostic(code, Severity.ERROR, message, place, help)

    match error.validator:
        case "additionalProperties":
            known = list(schema["properties"])
            for key in value:
                if key not in schema["properties"]:
                    yield _unknown_key((*path, key), known, document)
        case "required":
            # One error per missing key; the message of jsonschema is the only place that names it.
            missing = next(key for key in schema["required"] if error.message.startswith(f"{key!r} "))
            example = _first_example(resolve_schema(schema)["properties"][missing])
            yield problem(
                "FAB1002",
                f"{name} needs '{missing}'",
                (missing == "nos" and _systems_help(value.get("model")))
                or (f"Add `{missing}: {example}`." if example else ""),
            )
        case "type":
            wanted = (
                TYPES[expected]
                if schema.get("enum") is None
                else join_words([format_value(v) for v in schema["enum"]])
            )
            yield problem(
                "FAB1003",
                f"{name} must be {wanted}, not {shown}",
                _type_help(path[-1] if path else "", expected, value, schema)
                + (f".{_OVERLAY}" if wants_more else ""),
            )
        case "anyOf":
            wanted = join_words([branch["title"] for branch in expected])
            yield problem("FAB1003", f"{name} must be {wanted}, not {shown}", _anyof_help(value, schema))
        case "enum":
            # A value of the wrong type is reported once, by its type.
            if "type" not in schema or _has_type(value, schema["type"]):
                words = [format_value(word) for word in expected]
                yield problem(
                    "FAB1004",
                    f"{name} cannot be {format_value(value)}",
                    _spreading_help(value, path) or _enum_help(value, expected, words),
                )
        case "minimum" | "maximum" if not _has_type(value, schema.get("type", "number")):
            pass  # reported once, by its type
        case "minimum" | "maximum":
            least, most = schema.get("minimum"), schema.get("maximum")
            nearest = least if error.validator == "minimum" else most
            is_mtu = nearest == most and path[-2:-1] == ("mtu",) and (most or 0) > TABLE_MTU_BYTES
            tabled = f" Published buffer tables are for {TABLE_MTU_BYTES} at most." if is_mtu else ""
            yield problem(
                "FAB1005",
                f"{name} cannot be {format_value(value)}",
                (_partition_key_help(value) if path and path[-1] == "pkey" else "")
                or f"It ranges from {least} to {most}; the nearest that fits is {nearest}.{tabled}",
            )
        case "pattern":
            what = schema.get("patternErrorMessage", "")
            label = name if "propertyNames" in error.absolute_schema_path else f"{name} cannot be {shown}:"
            yield problem(
                "FAB1006",
                f"{label} is not {what}" if label == name else f"{label} it must be {what}",
                _other_family(value, path)
                or (explain_system(value) if path[-1:] == ("nos",) else "")
                or _printed_name(value, path)
                or _pattern_help(value, path, schema),
            )
        case size:
            yield problem("FAB1007", f"{name} {SIZES[str(size)].format(n=f'{expected:,}')}")


def _has_type(value: Any, kind: str) -> bool:
    return bool(schema_validator("cluster").is_type(value, kind))


_OVERLAY = " For other settings write an overlay: `fabricc docs company-standards`."


_OTHER_WORDS = {
    "aaa": ("tacacs", "radius"),
    "acl": ("access",),
    "logging": ("syslog",),
    "ldap": (),
    "motd": ("banner",),
    "timezone": (),
    "tls": ("syslog_tls",),
}
"""What people call a setting of `management` -> its keys; none where only an overlay sets it."""


def _unknown_key(path: KeyPath, known_keys: list[str], document: Document) -> tuple[KeyPath, Diagnostic]:
    key = str(path[-1])
    where = f" in {format_path(path[:-1])}" if path[:-1] else ""
    spelled = clip(key).lower().replace("-", "_")
    alike = get_close_matches(spelled, known_keys, 1, _ALIKE)
    close = alike or get_close_matches(spelled, known_keys, 1, _SIMILAR)
    sections = [] if alike else _sections_with(key)
    if path[:-1] and key in cluster_schema()["properties"]:
        remedy = f"'{key}' is a top-level section: indent it like `cluster`."
        return path, Diagnostic(
            "FAB1001", Severity.ERROR, f"unknown key '{key}'{where}", document.key_position(path), remedy
        )
    remedy = f"Did you mean '{close[0]}'?" if close else f"Known keys: {', '.join(known_keys)}."
    if sections:
        places = join_words([f"`{name}`" for name in sections[:_MOST_SECTIONS]])
        remedy = f"'{key}' is a key of {places}: write it there."
    elif "management" in path and spelled in _OTHER_WORDS:
        written = join_words([f"`{name}`" for name in _OTHER_WORDS[spelled]])
        remedy = f"Write {written}." if written else _OVERLAY.strip()
    elif not close and "management" in path:
        remedy += _OVERLAY
    message = f"unknown key '{clip(key)}'{where}"
    return path, Diagnostic("FAB1001", Severity.ERROR, message, document.key_position(path), remedy)


def _sections_with(key: str) -> list[str]:
    """Return the top-level sections of a spec that have a key."""
    properties = cluster_schema()["properties"].items()
    return [name for name, section in properties if key in resolve_schema(section).get("properties", {})]


def _first_example(schema: dict[str, Any]) -> str:
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


def _type_help(key: object, kind: str, value: Any, schema: dict[str, Any]) -> str:
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
            if key == "pkey" and (help_ := _partition_key_help(number)):
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
    example = _first_example(schema)
    return f"For example: {example}" if example else ""


def _list_keys_of_word(word: str, schema: dict[str, Any]) -> list[str]:
    """Return the keys of a mapping that have a word among their values."""
    keys = schema.get("properties", {}).items()
    return [key for key, part in keys if word in resolve_schema(part).get("enum", ())]


def _partition_key_help(value: int) -> str:
    """Return the low 15 bits of a P_Key whose membership bit is set (InfiniBand specification, volume 1, 10.9.1.1)."""
    if _MEMBERSHIP < value < 2 * _MEMBERSHIP - 1:
        return f"Write {value - _MEMBERSHIP}: {value:#x} without the membership bit."
    return ""


def _anyof_help(value: Any, schema: dict[str, Any]) -> str:
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
    example = _first_example(schema)
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


def _spreading_help(value: Any, path: KeyPath) -> str:
    """Return how a spec names a mode of load balancing that is written in a maker's words."""
    if path != ("load_balancing", "mode") or not isinstance(value, str):
        return ""
    word = clip(value).lower().replace("_", "-").replace(" ", "-")
    if word in _GLOBAL:
        return "Write `{mode: flowlet, global: true}`."
    mode = next((mode for mode, words in _SPREADING.items() if word in words), "")
    return f"Write `mode: {mode}`; see `fabricc docs load-balancing` for each system." if mode else ""


def _systems_help(model: object) -> str:
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


_MODEL_KEYS = {"model": ("switches", "hosts"), "nic": ("nics",)}
"""Key of a spec -> the sections of the catalog that it names a model of."""


def _sections_of(path: KeyPath) -> tuple[str, ...]:
    """Return the sections of the catalog that a key names a model of: hosts in `gpus` and in groups."""
    sections = _MODEL_KEYS.get(str(path[-1]), ())
    if str(path[-1]) == "model":
        return ("hosts",) if "gpus" in path or "groups" in path else ("switches",)
    return sections


def _printed_name(value: str, path: KeyPath) -> str:
    """Return the catalog's names for a model that is written as its maker prints it."""
    if not (sections := _sections_of(path)):
        return ""
    found = [
        name for section in sections for name in library.name_models(value, library.list_built_in(section))
    ]
    if not found:
        return library.explain_no_model(library.list_built_in(sections[0]))
    return f"Did you mean {' or '.join(repr(name) for name in found)}?"


def load_catalog_of(document: Document) -> tuple[Catalog, tuple[Diagnostic, ...]]:
    """Return the catalog with the files that a spec names, as far as they can be read, and their problems."""
    folder, files = Path(document.file).parent, document.value.get("catalog")
    own = [folder / each for each in files if isinstance(each, str)] if isinstance(files, list) else []
    return load_catalog(own, folder=folder)


def name_problems(document: Document) -> Iterator[Diagnostic]:
    """Report models that the catalog lacks. A spec with a faulty catalog file of its own is not checked here.

    Planning reports them too, but only for a spec without other errors.
    """
    if not isinstance(document.value, dict):
        return
    own, problems = load_catalog_of(document)
    if problems:
        return
    for path, value in _walk_values(document.value, ()):
        if str(path[-1]) not in _MODEL_KEYS or not isinstance(value, str) or value != value.lower():
            continue
        section = _sections_of(path)[0]
        if value in (names := library.list_built_in(section)) or value in getattr(own, section):
            continue
        kind = {"hosts": "host model", "switches": "switch model", "nics": "NIC"}[section]
        near = () if library.explain_unlisted(value) else library.name_models(value, names)
        if section == "switches" and not near:
            near = _list_asic_models(value)
        help_ = f"Did you mean {' or '.join(near)}?" if near else library.explain_no_model(names)
        help_ = library.explain_unlisted(value) or help_
        message = f"the catalog has no {kind} {value!r}"
        yield Diagnostic("FAB3013", Severity.ERROR, message, document.key_position(path), help_)


def _list_asic_models(printed: str) -> tuple[str, ...]:
    """Return switches with the ASIC that a name stands for, which some system runs on; four at most."""
    if not (asic := library.name_asic(printed)):
        return ()
    switches = load_catalog()[0].switches
    return tuple(
        islice((name for name in switches if switches[name].asic_family == asic and switches[name].nos), 4)
    )


def _walk_values(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every value of a document that is neither a mapping nor a list, with its path."""
    match value:
        case dict():
            for key, part in value.items():
                yield from _walk_values(part, (*path, key))
        case list():
            for index, part in enumerate(value):
                yield from _walk_values(part, (*path, index))
        case _ if path:
            yield path, value


def _enum_help(value: Any, allowed: list[Any], words: list[str]) -> str:
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


def _other_family(value: str, path: KeyPath) -> str:
    """The key that takes an IPv6 network, where one stands in the place of an IPv4 pool."""
    pools = cluster_schema()["properties"]["addressing"]["properties"]
    if path[:1] == ("addressing",) and ":" in value and f"{path[-1]}6" in pools:
        return f"IPv6 pools are keys of their own: `addressing.{path[-1]}6: {clip(value, 64)}`."
    return ""


_SERVER = re.compile(r"(?:[a-z0-9+]+://|@{1,2})?\[?(.+?)\]?(?::[0-9]{1,5})?/?")
"""A server with the scheme or the port that other tools write."""
_RANGE = re.compile(r"([a-z0-9-]+)\[([0-9]{1,5})(?:-|\.\.)([0-9]{1,5})\]")
"""Names with a range of numbers as Slurm and Ansible write it."""


def _pattern_help(value: str, path: KeyPath, schema: dict[str, Any]) -> str:
    """Return a repaired value when a plain one fits, else an example."""
    plain = clip(value.lower(), 64)
    is_server = schema.get("patternErrorMessage", "").startswith("an address")
    if is_server and (match := _SERVER.fullmatch(plain)) and compiled(schema["pattern"]).search(match[1]):
        over_tls = "syslog" in path and plain.startswith(("tls:", "tcp+tls:"))
        other = " For TLS add `syslog_tls: {ca: NAME}`." if over_tls else _OVERLAY
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
    example = _first_example(schema)
    return f"For example: {example}" if example else ""
