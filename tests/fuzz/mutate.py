"""Changes of files: of trees (YAML, JSON), of lines and words, of bytes. A generator of random numbers decides all."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Step = Callable[[Random, bytes, Sequence[bytes]], bytes]

LONGEST = 1 << 18
"""Bytes of an input: beyond, the door for files has tests of its own."""
NUMBERS = (
    "0", "-1", "1", "7", "64", "255", "256", "4095", "65535", "65536", "2147483648", "4294967296",
    "18446744073709551616", "1" * 30, "9" * 5000, "1e400", "nan", "inf", "-0.0", "0x10", "0o7", "1_000", "\u00b2",
    "\u0663", "\uff19", "01", "+1", "1.5", "",
)  # fmt: skip
"""Numbers that are too large, none at all, or digits to Unicode and not to Python or the other way round."""
TEXTS = (
    "", " ", "\x00", "\x1b[2J", "\u202eabc", "\ufeff", "\ud800", "a\nb", "a\r\nb", "\x85", "\u2028", "\x0b",
    "\x0c", "-", "--", "..", "../../x", "/etc/passwd", "/dev/zero", "~", "{slot}", "{0}", "{}", "{a.b}",
    "{", "%s", "%(x)s", "$x", "*", "?", "[", "(", "\\", '"', "'", "`", "#", "!", ":", ";", ",", "=", "|",
    "<", ">", "&a", "*a", "!!int x", "!!python/name:os.system", "<<: *a", "::error::x", "##[error]x",
    "10.0.0.0/8", "10.0.0.1/33", "10.0.0.300", "10.0.0.1/31", "::/0", "fe80::1%swp1", "fd00::1/200", "true",
    "null", "on", "2026-01-01", "==> frr.conf <==", "a" * 3000, "Ethernet0", "swp1", "et-0/0/0:9",
    "65535:65535", "permit", "deny", "no", "exit", "end", "FABRICC-SECRET-x", "\xe9", "\U0001f600",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 1, 2, 255, 65536, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e308, float("nan"),
    float("inf"), [], {}, [[]], [None], {"": {}}, {"a": 1}, ["a", "a"], [0] * 50, "1", "0",
)  # fmt: skip
_WORD = re.compile(r"[^\s,;:{}\[\]()\"'=/]+")
_NUMBER = re.compile(r"\d+")


def mutate_input(random: Random, seeds: Sequence[bytes], shape: str) -> bytes:
    """A seed with a few changes of its shape: `yaml`, `json`, `text` or `bytes`."""
    found = random.choice(seeds)
    steps = _STEPS[shape]
    for _ in range(1 + min(int(random.expovariate(0.7)), 8)):
        found = random.choice(steps)(random, found, seeds)[:LONGEST]
    return found


def _decode_text(random: Random, data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _encode_text(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def a_value(random: Random) -> Any:
    """A hostile value of a tree."""
    pick = random.random()
    if pick < 0.4:
        return random.choice(VALUES)
    if pick < 0.8:
        return random.choice(TEXTS)
    if pick < 0.97:
        return random.choice(NUMBERS)
    nested: Any = random.choice((None, "x", {}))
    for _ in range(random.choice((3, 30, 300))):
        nested = [nested] if random.random() < 0.5 else {"a": nested}
    return nested


# Trees.


_MOST_OPENINGS = 15_000


@lru_cache(maxsize=512)
def _parse_json(data: bytes) -> str | None:
    """A file as JSON text, None where it is no tree, or might be one so deep that libyaml, which recurses, ends us."""
    if sum(map(data.count, (b"[", b"{", b"- ", b"? "))) > _MOST_OPENINGS:
        return None
    try:
        value = json.loads(data) if data[:1] in b"{[" else yaml.load(data, yaml.CSafeLoader)
        return json.dumps(value, default=str) if isinstance(value, (dict, list)) else None
    except (ValueError, yaml.YAMLError, RecursionError, TypeError, OverflowError):
        return None


def tree_step(random: Random, data: bytes, seeds: Sequence[bytes], *, as_yaml: bool) -> bytes:
    """One change somewhere in the tree."""
    parsed = _parse_json(data)
    if parsed is None:
        return lines_step(random, data, seeds)
    tree = json.loads(parsed)
    other = _parse_json(random.choice(seeds)) if random.random() < 0.2 else None
    change_tree(random, tree, json.loads(other) if other else None)
    try:
        if as_yaml and random.random() < 0.7:
            return _encode_text(yaml.dump(tree, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
        return _encode_text(
            json.dumps(tree, indent=random.choice((None, 1, 4)), ensure_ascii=random.random() < 0.8)
        )
    except (yaml.YAMLError, RecursionError, UnicodeEncodeError, ValueError):
        return data


def change_tree(random: Random, tree: Any, other: Any = None) -> None:
    """One change in place: a value replaced, dropped, repeated, wrapped, moved, renamed or taken from elsewhere."""
    place = _pick_container(random, tree)
    if not place:
        if isinstance(place, list):
            place.append(a_value(random))
        else:
            place[str(a_value(random))] = a_value(random)
        return
    key = random.randrange(len(place)) if isinstance(place, list) else random.choice(list(place))
    match random.randrange(8):
        case 0 | 1:
            place[key] = a_value(random)
        case 2:
            del place[key]
        case 3:
            place[key] = random.choice(([place[key]], {"a": place[key]}, [place[key], place[key]]))
        case 4:
            source = _pick_container(random, other if other is not None else tree)
            if source:
                near = random.choice(source if isinstance(source, list) else list(source.values()))
                place[key] = json.loads(json.dumps(near))
        case 5 if isinstance(place, dict):
            place[random.choice((*TEXTS, *NUMBERS))] = place.pop(key)
        case 6 if isinstance(place[key], str) and place[key]:
            at = random.randrange(len(place[key]) + 1)
            place[key] = place[key][:at] + random.choice((*TEXTS, *NUMBERS)) + place[key][at:]
        case 7 if type(place[key]) is int:
            place[key] = random.choice((place[key] + 1, -place[key], place[key] * 2**31, str(place[key]), 0))
        case _:
            if isinstance(place, list):
                place.insert(random.randrange(len(place) + 1), a_value(random))
            else:
                place[random.choice(TEXTS)] = a_value(random)


def _pick_container(random: Random, tree: Any) -> Any:
    """A list or mapping of the tree, deeper ones as likely as those above."""
    found = tree
    while random.random() < 0.85:
        inner = found if isinstance(found, list) else list(found.values())
        inner = [one for one in inner if isinstance(one, (list, dict))]
        if not inner:
            break
        found = random.choice(inner)
    return found


# Lines.


def lines_step(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """One change of lines, words or numbers."""
    lines = _decode_text(random, data).split("\n")
    at = random.randrange(len(lines))
    match random.randrange(14):
        case 0:
            del lines[at : at + random.choice((1, 1, 1, 5, 50))]
        case 1:
            lines[at:at] = lines[at : at + random.choice((1, 1, 5))]
        case 2:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            theirs = _decode_text(random, random.choice(seeds)).split("\n")
            begin = random.randrange(len(theirs))
            lines[at:at] = theirs[begin : begin + random.choice((1, 1, 3, 20))]
        case 4:
            del lines[at:]
        case 5:
            lines[at] += random.choice((" x", "," * 2000, lines[at] * 200))
        case 6 | 7:
            lines[at] = _replace_line(random, _NUMBER, lines[at], random.choice(NUMBERS))
        case 8 | 9:
            words = _WORD.findall(lines[random.randrange(len(lines))])
            lines[at] = _replace_line(random, _WORD, lines[at], random.choice((*words, *TEXTS)))
        case 10:
            lines[at] = _replace_line(random, _WORD, lines[at], "")
        case 11:
            lines[at] = random.choice((" " * random.randrange(9) + lines[at].strip(), "\t" + lines[at]))
        case 12:
            spot = random.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:spot] + random.choice(TEXTS) + lines[at][spot:]
        case _:
            text = random.choice(("\r\n", "\r", "")).join(lines[at : at + 3])
            lines[at : at + 3] = [text]
    return _encode_text("\n".join(lines))


def _replace_line(random: Random, pattern: re.Pattern[str], line: str, new: str) -> str:
    found = list(pattern.finditer(line))
    if not found:
        return line + new
    chosen = random.choice(found)
    return line[: chosen.start()] + new + line[chosen.end() :]


# Bytes.


def bytes_step(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """One change of bytes."""
    at, length = random.randrange(len(data) + 1), random.choice((1, 1, 2, 8, 100))
    match random.randrange(6):
        case 0:
            return data[:at] + random.randbytes(length) + data[at + length :]
        case 1:
            return data[:at] + data[at + length :]
        case 2:
            return (
                data[:at]
                + random.choice((b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80"))
                + data[at:]
            )
        case 3:
            return data[:at]
        case 4:
            return data[:at] + random.choice(seeds)[-length:] + data[at:]
        case _:
            return random.choice(
                (b"", b"\n", b"\x00", data[at:], b"[" * 20000, b"- " * 3000, b"{a: " * 3000, data * 2)
            )


def _yaml_step(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return tree_step(random, data, seeds, as_yaml=True)


def _json_step(random: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return tree_step(random, data, seeds, as_yaml=False)


_STEPS: dict[str, tuple[Step, ...]] = {
    "yaml": (_yaml_step, _yaml_step, _yaml_step, lines_step, lines_step, bytes_step),
    "json": (_json_step, _json_step, _json_step, lines_step, bytes_step),
    "text": (lines_step, lines_step, lines_step, lines_step, bytes_step),
    "bytes": (bytes_step,),
}
