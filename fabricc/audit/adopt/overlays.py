"""What no word of a spec says and an overlay can add: the lines of a device that its built files lack."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.audit.adopt.trial import built, mismatches
from fabricc.back.nos.overlay_text import outline
from fabricc.base.diagnostics import Severity
from fabricc.compiler.overlays import holds_secret

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from fabricc.audit.adopt.trial import Draft, Site
    from fabricc.audit.model import Device
    from fabricc.back.nos.overlay_text import Node
    from fabricc.compiler.compiled import Compiled
    from fabricc.fabric.model import Switch
    from fabricc.proof.compare import Mismatch

_ROUNDS = 3
_ENTERING = ("bgp/redistribute", "bgp/network[")
_ROUTING = (
    "interface[", "bgp/", "bfd/", "evpn/", "vxlan/", "vrf[", "vlan[", "mlag/", "ospf[", "isis[", "static_route[",
    "route_map[", "prefix_list[", "community_list[", "as_path_list[",
)  # fmt: skip
_KEYED = re.compile(r"(?:interface|bgp/neighbor)\[([^\]]*)\]/")
_STRUCTURED = (".json", ".yaml", ".yml")


class Overlaid(NamedTuple):
    """What overlays came to.

    Attributes:
        differences: device -> where its build would still differ.
        refused: overlays that are written and not named by the spec, as the proof of a build fails with all of them.
    """

    draft: Draft
    compiled: Compiled
    differences: dict[str, list[Mismatch]]
    refused: tuple[str, ...] = ()


def kept(
    device: Device,
    built: Mapping[str, str],
    mismatches: Iterable[Mismatch],
    planned: Collection[str],
    *,
    aloof: bool = False,
) -> dict[str, str]:
    """File -> the lines of a device that are to be kept: of facts that the plan has not, and those that nobody knows.

    Left out are files of keys and values, lines with a secret, and what would meddle with the plan: ports and BGP
    neighbours that it has (`planned`), and routes that enter BGP past its filters; if `aloof` all of ports and routing.
    """
    wanted: dict[str, set[int]] = defaultdict(set)
    refused: dict[str, set[int]] = defaultdict(set)
    for mismatch in mismatches:
        if mismatch.found is not None and mismatch.line:
            fine = mismatch.planned is None and not _meddles(mismatch.path, planned, aloof)
            (wanted if fine else refused)[mismatch.file].add(mismatch.line)
    for file, line, _ in device.reading.unknown:
        if (file, line) not in device.aside:
            wanted[file].add(line)
    texts = {}
    for file, lines in wanted.items():
        if file in built and file in device.files and not file.endswith(_STRUCTURED):
            own = {
                number for number, text in enumerate(device.files[file].split("\n"), 1) if text[:1].strip()
            }
            unknown = {line for at, line, _ in device.reading.unknown if at == file} - own
            lacking = _lacking(
                outline(device.files[file]).children, outline(built[file]).children,
                lines - refused[file] - unknown, refused[file],
            )  # fmt: skip
            if found := "\n".join(lacking):
                texts[file] = found + "\n"
    return texts


def _meddles(path: str, planned: Collection[str], aloof: bool) -> bool:
    """Whether a fact is about a port or neighbour of the plan, or lets routes into BGP that its filters would not."""
    match = _KEYED.match(path)
    own = match is not None and match[1] in planned
    return own or path.startswith(_ENTERING) or (aloof and path.startswith(_ROUTING))


def _lacking(
    found: Sequence[Node], built: Iterable[Node], wanted: set[int], refused: set[int], depth: int = 0
) -> Iterator[str]:
    """The wanted lines that are not there, each below the lines that it is indented below.

    Lines about one thing stand together: beside a wanted line those with the same two first words are wanted too.
    """
    there = {node.text: node for node in built}
    heads = {_head(node) for node in found if node.line in wanted and node.text not in there} - {""}
    for node in found:
        same = there.get(node.text)
        below = list(_lacking(node.children, same.children if same else (), wanted, refused, depth + 1))
        own = same is None and node.line not in refused and (node.line in wanted or _head(node) in heads)
        if (own or below) and not holds_secret(node.text):
            yield f"{'   ' * depth}{node.text}"
            yield from below
            if node.closing.startswith("}"):
                yield f"{'   ' * depth}{node.closing}"


def _head(node: Node) -> str:
    words = node.text.split()
    return " ".join(words[:2]) if len(words) > 2 and not node.children else ""


def entries(
    texts: Mapping[str, Mapping[str, str]], systems: Mapping[str, str], before: str = ""
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The spec's `overlays` and their files; switches with the same text have one file.

    `before`: what the names of the files begin with.
    """
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, files in texts.items():
        for into, text in files.items():
            alike[systems[name], into, text].append(name)
    words, more = [], {}
    for number, ((nos, into, text), names) in enumerate(sorted(alike.items(), key=lambda each: each[1]), 1):
        file = f"overlays/{before}{nos}-{number:02d}.cfg"
        words.append({"file": file, "nos": nos, "into": into, "devices": names})
        more[file] = text
    return words, more


def overlaid(site: Site, draft: Draft, compiled: Compiled) -> Overlaid:
    """A sound draft with lines that the spec has no words for, on the switches that come closer by them.

    Where the proof of a build fails with all of them, those stay that say nothing of ports and routing; all of them
    are set aside.
    """
    files = built(compiled, site.found)
    plain = Overlaid(draft, compiled, mismatches(files, site.found))
    switches = {each.name: each for each in compiled.switches() if each.name in files}

    def texts(aloof: bool) -> dict[str, dict[str, str]]:
        return {
            name: kept(
                site.found.devices[name], files[name], plain.differences[name], _own(switch), aloof=aloof
            )
            for name, switch in switches.items()
        }

    every = _fitting(site, plain, texts(False))
    if _proved(every):
        return every
    few = _fitting(site, plain, texts(True))
    chosen = few if _proved(few) else plain
    new = every.draft.more.keys() - draft.more.keys()
    aside = {name.replace("overlays/", "overlays/aside/"): every.draft.more[name] for name in sorted(new)}
    more = {**chosen.draft.more, **aside}
    return chosen._replace(draft=replace(chosen.draft, more=more), refused=tuple(aside))


def _proved(tried: Overlaid) -> bool:
    return not any(each.severity is Severity.ERROR for each in tried.compiled.proof(jobs=1))


def _fitting(site: Site, plain: Overlaid, texts: dict[str, dict[str, str]]) -> Overlaid:
    """The draft with those overlays that fit their files and take nothing away."""
    draft = plain.draft
    systems = {name: site.found.devices[name].system for name in texts}
    for _ in range(_ROUNDS):
        texts = {name: each for name, each in texts.items() if each}
        if not texts:
            break
        words, more = entries(texts, systems, f"{site.network}-" if site.network else "")
        tried = replace(draft, words={**draft.words, "overlays": words}, more={**draft.more, **more})
        made = site.compiled(tried)
        if made.sound:
            after = mismatches(built(made, site.found), site.found)
            worse = [name for name in texts if _lost(after[name]) > _lost(plain.differences[name])]
            if not worse:
                return Overlaid(tried, made, after)
        else:
            worse = _misfitting(made, words)
        for name in worse:
            texts.pop(name, None)
    return plain


def _own(switch: Switch) -> set[str]:
    """Ports and BGP neighbours of a planned switch."""
    return {
        *(port.name for port in switch.ports),
        *(each.remote or each.port for each in switch.bgp.sessions),
    }


def _misfitting(compiled: Compiled, words: Sequence[Mapping[str, Any]]) -> list[str]:
    """The switches whose overlay is at fault, of a spec with errors; all where no overlay is named."""
    wrong = {at.file for d in compiled.diagnostics if d.severity is Severity.ERROR and (at := d.position)}
    named = [each for each in words if any(file.endswith(each["file"]) for file in wrong)] or words
    return [name for each in named for name in each["devices"]]


def _lost(differences: Iterable[Mismatch]) -> int:
    """How many facts a build would take away or change."""
    return sum(1 for each in differences if each.found is not None)
