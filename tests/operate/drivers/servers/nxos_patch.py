"""How a Nexus prints a configuration, what it requires of a file for a replace, and the patch between two."""

from __future__ import annotations

import hashlib
import re

Path = tuple[str, ...]


def print_running(text: str) -> str:
    """Return what a switch prints after it took a configuration: no comments, keys encrypted, one line never."""
    lines = [line for line in text.splitlines() if not line.startswith("!")]
    while lines and not lines[0].strip():
        del lines[0]
    lines = [line for line in lines if line.strip() != "no ipv6 nd suppress-ra"]
    lines = [re.sub(r"((?:tacacs|radius)-server host \S+ key) 0 (\S+)", _encrypt_key, line) for line in lines]
    lines = [re.sub(r"(ntp authentication-key \d+ md5) (\S+) 0$", _encrypted_ntp, line) for line in lines]
    lines = [re.sub(r"(snmp-server user (\S+) \S+ auth) (\S+) (?!0x)(\S+) priv aes-128 (\S+)$", _localize_user, line)
             for line in lines]  # fmt: skip
    return "".join(f"{line}\n" for line in lines)


def _localize_user(match: re.Match[str]) -> str:
    auth, privacy = (
        hashlib.sha1(word.encode(), usedforsecurity=False).hexdigest()[:32] for word in match.group(4, 5)
    )
    return f"{match[1]} {match[3]} 0x{auth} priv aes-128 0x{privacy} localizedV2key"


def _encrypted_ntp(match: re.Match[str]) -> str:
    return f"{match[1]} {match[2][::-1].swapcase()} 7"


def _encrypt_key(match: re.Match[str]) -> str:
    return f'{match[1]} 7 "{match[2].strip(chr(34))[::-1].swapcase()}"'


def find_refusal(running: str, wanted: str) -> str:
    """Why a file is refused, or its replace undone: it lacks what the switch prints of itself."""
    for first in ("version ", "vdc ", "boot ", "username admin "):
        if _has_line(running, first) and not _has_line(wanted, first):
            return f"mismatch, `{first.strip()}` is missing"
    return ""


def _has_line(text: str, first: str) -> bool:
    return any(line.startswith(first) for line in text.splitlines())


def make_patch(old: str, new: str) -> list[str]:
    """The commands that lead from one configuration to another, each with its modes."""
    before, after = line_paths(old), line_paths(new)
    gone = [path for path in before if path not in after]
    gone = [path for path in gone if not any(path[:-n] in gone for n in range(1, len(path)))]
    found: list[str] = []
    for path in gone:
        undo = path[-1].removeprefix("no ") if path[-1].startswith("no ") else f"no {path[-1]}"
        found += [*path[:-1], undo, *(["exit"] if path[1:] else [])]
    parents: Path = ()
    for path in after:
        if path not in before:
            shared = len([1 for one, other in zip(parents, path[:-1], strict=False) if one == other])
            found += [*path[shared:-1], path[-1]]
            parents = path
    return ["config t ", *found] if found else []


def line_paths(text: str) -> dict[Path, None]:
    """Each line with the lines that it stands below, by columns."""
    found: dict[Path, None] = {}
    parents: list[tuple[int, str]] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("!"):
            continue
        depth = len(line) - len(line.lstrip())
        while parents and parents[-1][0] >= depth:
            parents.pop()
        parents.append((depth, " ".join(line.split())))
        found[tuple(words for _, words in parents)] = None
    return found
