# ruff: noqa: E501  (an edit is one line)
"""Pull requests that edit a spec and the files next to it: harmless ones, and harmful ones that look like them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from tests.review.diff.edits import spec_with_services

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Edit = Callable[[Path], None]

CATALOG = """sources: {sheet: "data sheet of 2025"}
hosts:
  our-host:
    extends: grand-teton
    title: Our host
    port_gbps: {value: 400, source: sheet}
"""
OVERLAYS = {
    "eos": ("o.cfg", "banner motd\nAuthorized use only.\nEOF\nlogging facility local5\n"),
    "nxos": ("o.cfg", "clock timezone CET 1 0\nlogging timestamp milliseconds\n"),
    "junos": ("o.conf", "system {\n    time-zone Europe/Berlin;\n}\n"),
    "cumulus": ("o.yaml", "- set:\n    system:\n      timezone: Europe/Berlin\n"),
    "frr": ("o.conf", "log timestamp precision 6\nbanner motd line Authorized use only.\n"),
    "sonic": ("o.json", '{"BANNER_MESSAGE": {"global": {"state": "enabled", "login": "x", "motd": "x", "logout": "x"}}}\n'),
}  # fmt: skip
INTO = {"frr": ", into: frr.conf", "sonic": ", into: config_db.json"}


def base_folder(folder: Path, nos: str) -> Path:
    """A repository's folder: spec, overlay, catalog file and documents; the path of the spec."""
    folder.mkdir(parents=True)
    name, text = OVERLAYS[nos]
    (folder / name).write_text(text, "utf-8")
    (folder / "own.yaml").write_text(CATALOG, "utf-8")
    (folder / "README.md").write_text("# Zone A\n", "utf-8")
    spec = (
        spec_with_services(nos).replace("model: grand-teton", "model: our-host")
        + f"overlays:\n  - {{file: {name}, nos: {nos}{INTO.get(nos, '')}}}\n"
    )
    path = folder / "cluster.yaml"
    path.write_text(spec + "catalog: [own.yaml]\n", "utf-8")
    return path


def replace_matches(*edits: tuple[str, str], file: str = "cluster.yaml") -> Edit:
    """Replace what expressions match in a file; each must match."""

    def edit(folder: Path) -> None:
        text = (folder / file).read_text("utf-8")
        for pattern, new in edits:
            changed = re.sub(pattern, new, text, flags=re.MULTILINE)
            assert changed != text, pattern
            text = changed
        (folder / file).write_text(text, "utf-8")

    return edit


def _reorder_sections(folder: Path) -> None:
    text = (folder / "cluster.yaml").read_text("utf-8")
    sections = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)
    (folder / "cluster.yaml").write_text("".join(reversed(sections)), "utf-8")


def _write_block_style(folder: Path) -> None:
    path = folder / "cluster.yaml"
    document = yaml.safe_load(path.read_text("utf-8"))
    path.write_text(yaml.safe_dump(document, sort_keys=False, default_flow_style=False), "utf-8")


def _rename_overlay(folder: Path) -> None:
    (overlay,) = folder.glob("o.*")
    overlay.rename(folder / f"company{overlay.suffix}")
    replace_matches((r"file: o\.", "file: company."))(folder)


def _comment_overlay(folder: Path) -> None:
    (overlay,) = folder.glob("o.*")
    sign = {".cfg": "! ", ".json": "", ".yaml": "# "}.get(overlay.suffix, "# ")
    if sign:
        overlay.write_text(f"{sign}kept by the network team\n{overlay.read_text('utf-8')}", "utf-8")
    else:
        overlay.write_text(overlay.read_text("utf-8").replace("{", "{ ", 1), "utf-8")


def _split_overlay(folder: Path) -> None:
    """Name the overlay twice: lines that are there are not repeated."""
    (overlay,) = folder.glob("o.*")
    (folder / f"again{overlay.suffix}").write_text(overlay.read_text("utf-8"), "utf-8")
    replace_matches((r"^(  - \{file: )o(\..*)$", r"\1o\2" + "\n" + r"\1again\2"))(folder)


def write_file(name: str, text: str) -> Edit:
    """Write a file next to the spec."""

    def edit(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")

    return edit


HARMLESS: dict[str, Edit] = {
    "a comment in the spec": replace_matches((r"\A", "# owned by the network team\n")),
    "blank lines in the spec": replace_matches((r"^(spines:)", r"\n\n\1")),
    "sections in another order": _reorder_sections,
    "block style": _write_block_style,
    "quotes in the spec": replace_matches((r"^cluster: outward$", 'cluster: "outward"'), (r"(medium): dac", r"\1: 'dac'")),
    "keys of an entry in another order": replace_matches((r"\{dscp: 26, lossless: true\}", "{lossless: true, dscp: 26}")),
    "a default stated": replace_matches((r"^(routing: \{)", r"\1keepalive_s: 3, hold_s: 9, ")),
    "a reason in other words": replace_matches((r"a lab without PFC", "a lab, PFC comes later")),
    "one host network written long": replace_matches((r"^  access: \[10\.250\.0\.0/24\]", "  access:\n    - 10.250.0.0/24")),
    "a README": write_file("README.md", "# Zone A\n\nCabling: see the plan.\n"),
    "pages for the operators": write_file("docs/runbook.md", "# Runbook\n"),
    "an overlay file renamed": _rename_overlay,
    "a comment in an overlay": _comment_overlay,
    "an overlay named twice": _split_overlay,
    "the title of a model": replace_matches((r"title: Our host", "title: Our new host"), file="own.yaml"),
    "a source of the catalog": replace_matches((r"data sheet of 2025", "data sheet of 2026"), file="own.yaml"),
    "a comment in the catalog": replace_matches((r"\A", "# models of our own\n"), file="own.yaml"),
    "a model that nobody uses": replace_matches((r"\Z", "  other-host: {extends: dgx-b200, title: Another host}\n"), file="own.yaml"),
    "a time server more": replace_matches((r"^  ntp: \[", "  ntp: [192.0.2.100, ")),
    "a log server more": replace_matches((r"^  syslog: \[", "  syslog: [192.0.2.99, ")),
    "a name server more": replace_matches((r"^  dns: \[", "  dns: [192.0.2.98, ")),
    "a location and a contact": replace_matches((r"^  snmp: \{", "  snmp: {location: hall-3, contact: noc@example.net, ")),
}  # fmt: skip
"""Edits of the folder that change neither traffic nor access nor losslessness."""

HARMFUL: dict[str, Edit] = {
    "a name commented out with its line": replace_matches((r"^(  access: .*)$", r"# \1")),
    "another network that may connect": replace_matches((r"10\.250\.0\.0/24", "10.0.0.0/8")),
    "a log server swapped": replace_matches((r"^  syslog: \[192\.0\.2\.104, 192\.0\.2\.105\]", "  syslog: [192.0.2.204]")),
    "a code point moved by a reordering": replace_matches((r"\{dscp: 26, lossless: true\}", "{lossless: true, dscp: 24}")),
    "a class lossless no more": replace_matches((r"dscp: 26, lossless: true", "dscp: 26, lossless: false")),
    "a key exchanged in a reformatted list": replace_matches((r"AAAAC3NzaC1lZDI1NTE5AAAAIGcN", "AAAAC3NzaC1lZDI1NTE5AAAAIBcN")),
    "a wider way out": replace_matches((r"203\.0\.113\.0/24 le 28", "192.168.0.0/16 le 28")),
    "BFD off beside a default": replace_matches((r"^(routing: \{)", r"\1keepalive_s: 3, bfd: false, ")),
    "a TACACS+ server exchanged": replace_matches((r"192\.0\.2\.106", "192.0.2.206")),
}  # fmt: skip
"""Edits that look like those above, each of which a reviewer has to see."""
