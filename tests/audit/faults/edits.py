"""Edits of the texts of one switch: lines of a text, rows of SONiC's tables, keys of NVUE's file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

Files = dict[str, str]

MAIN = {"eos": "running-config.cfg", "nxos": "running-config.cfg", "junos": "juniper.conf", "frr": "frr.conf"}


class UnchangedError(Exception):
    """An edit found nothing to change."""


def replace(
    pattern: str, text: str | Callable[[re.Match[str]], str], *, file: str = "", count: int = 0
) -> Callable[[Files], Files]:
    """Replace what an expression matches, `^` at the start of any line."""
    return lambda files: _edit_file(
        files, file, lambda old: re.sub(pattern, text, old, count=count, flags=re.M)
    )


def add(
    text: str, *, before: str = "", after: str = "", file: str = "", every: bool = False
) -> Callable[[Files], Files]:
    """Add lines before or after the first line (or `every` line) that an expression matches, else at the end."""

    def added(old: str) -> str:
        if not before and not after:
            return old + text
        place = re.compile(f"^.*(?:{before or after}).*\n", re.M)
        return place.sub(
            lambda match: text + match[0] if before else match[0] + text, old, count=0 if every else 1
        )

    return lambda files: _edit_file(files, file, added)


def edit_tables(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """Change the tables of SONiC's `config_db.json`."""

    def changed(old: str) -> str:
        tables = json.loads(old)
        change(tables)
        return json.dumps(tables, indent=4) + "\n"

    return lambda files: _edit_file(files, "config_db.json", changed)


def edit_nvue(change: Callable[[dict[str, Any]], object]) -> Callable[[Files], Files]:
    """Change what is set in NVUE's `startup.yaml`."""

    def changed(old: str) -> str:
        parts = yaml.safe_load(old)
        change(parts[1]["set"])
        return str(yaml.safe_dump(parts, sort_keys=False, indent=2))

    return lambda files: _edit_file(files, "startup.yaml", changed)


def chain_edits(*edits: Callable[[Files], Files]) -> Callable[[Files], Files]:
    """Make one edit after another."""

    def made(files: Files) -> Files:
        for edit in edits:
            files = edit(files)
        return files

    return made


def remove(file: str) -> Callable[[Files], Files]:
    """Leave a file out."""
    return lambda files: {name: text for name, text in files.items() if name != file}


def _edit_file(files: Files, file: str, change: Callable[[str], str]) -> Files:
    name = file or next(name for name in (*MAIN.values(), "startup.yaml") if name in files)
    text = change(files.get(name, ""))
    if text == files.get(name, ""):
        raise UnchangedError(name)
    return {**files, name: text}


def walk(tree: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return what stands below a path of keys, which is made where it is missing."""
    for key in path:
        tree = tree.setdefault(key, {})
    return tree
