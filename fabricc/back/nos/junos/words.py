"""Words of Junos: port names, speeds, keys, communities, ranges, steps, and statements that are stored verbatim."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from fabricc.back.reading import Document, Keep, Scope, StoredValue
from fabricc.fabric.model import SECRET_PREFIX, Switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabricc.back.reading.tree import Node
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.facts import Value

MANAGEMENT_INSTANCE = "mgmt_junos"
EVOLVED, CLASSIC = "evo", "classic"
NONE = "none"
SPANNING_TREE = "rstp"  # the kind that Juniper's validated designs shut on spines (Juniper/jvd)
# The out-of-band port: Junos OS Evolved names it by routing engine, classic QFX switches have em0.
MANAGEMENT_INTERFACES = {EVOLVED: "re0:mgmt-0", CLASSIC: "em0"}

FAMILIES = {"inet": "ipv4", "inet6": "ipv6"}

# Enumeration of `interfaces speed` in Juniper's YANG 24.4R1, as far as it concerns et- ports.
SPEEDS = {speed: f"{speed}g" for speed in (10, 25, 40, 50, 100, 200, 400, 800)}
SPEED_OF = {word: speed for speed, word in SPEEDS.items()}

LAYER_2_HEADER_BYTES = 14  # a physical interface's `mtu` counts the Ethernet header, a family's does not
MAXIMUM_MTU = 9216 - LAYER_2_HEADER_BYTES
MTU_RANGE = (256, 16_000)  # of any Junos platform (Juniper, `mtu`)

# `chassis maximum-ecmp`, an enumeration (Juniper YANG 24.4R1): 16, then steps of 32 up to 512.
MAXIMUM_ECMP = (16, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448, 480, 512)

ALPHA_RANGE = (-7, 3)  # powers of two from 1/128 to 8
POLL_RANGE_MS = (100, 1000)
DETECTION_RANGE = (2, 10)
RECOVERY_RANGE_MS = (200, 10_000)
BFD_INTERVAL_RANGE_MS = (1, 255_000)
BFD_MULTIPLIER_RANGE = (1, 255)
HOLD_PER_KEEPALIVE = 3

# One hop away is who sends with the largest TTL and is received with it (RFC 5082); `ttl 255` of a BGP group.
ONE_HOP_TTL = 255
# A user that a server accepts and that has no account gets the rights of `remote` (Juniper, user access guide).
CA_GROUP = "FABRICC"  # of the CA that signs the certificates of log servers
TEMPLATE_USER = "remote"
CERTIFICATE = "GNMI"  # name in the device's PKI store, which replacing the configuration leaves alone

KEY_STATEMENTS = {
    "ssh-ed25519": "ssh-ed25519", "ssh-rsa": "ssh-rsa", "ecdsa-sha2-nistp256": "ssh-ecdsa",
    "ecdsa-sha2-nistp384": "ssh-ecdsa", "ecdsa-sha2-nistp521": "ssh-ecdsa",
}  # fmt: skip
# RFC 1997 and RFC 8326 values that Junos also knows by name.
COMMUNITY_OF = {
    "graceful-shutdown": "65535:0",
    "no-export": "65535:65281",
    "no-advertise": "65535:65282",
    "no-export-subconfed": "65535:65283",
}

_MEDIA = {1: "ge", 10: "xe"}
_PLAIN = re.compile(r"[A-Za-z0-9._/:@%+*-]+")


def quote_text(text: str) -> str:
    """Text as one word of a configuration: in quotes where it is more than a plain word."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def secret_reference(secret: str) -> str:
    """Return a reference to a secret as it stands; of any other secret only that there is one."""
    return secret if secret.startswith(SECRET_PREFIX) else "set"


def community_name(word: str) -> str:
    """Return a community of SNMP: a well-known one unchanged, any other as `reference` has it."""
    return word if word in ("public", "private") else secret_reference(word)


def catalog_settings(switch: Switch) -> Mapping[str, Any]:
    """Return the catalog's Junos settings of the switch's model."""
    return switch.model.nos["junos"]


def junos_flavor(switch: Switch) -> str:
    """Return `evo` or `classic`, which decides the syntax of breakouts and the name of the management port."""
    return str(catalog_settings(switch).get("flavour", EVOLVED))


def port_name(model: SwitchModel, cage: int, child: int, children: int) -> str:
    """Return the name of child `child` (from 1) of `children` of front-panel cage `cage`, as printed on the panel.

    Raises:
        KeyError: the catalog has no Junos settings for the model.
        ValueError: the model has no such cage, or it has fewer lanes than requested children.
    """
    model.split_cage(cage, child, children)
    return str(model.nos["junos"]["port" if children == 1 else "child"]).format(cage=cage, child=child - 1)


def name_at_speed(model: SwitchModel, name: str, speed_gbps: int) -> str:
    """Return the name of a port at a speed: on a classic switch a 10G port is `xe-`, a 1G port `ge-` (Juniper/jvd)."""
    if model.nos["junos"].get("flavour", EVOLVED) == EVOLVED:
        return name
    return f"{_MEDIA.get(speed_gbps, 'et')}-{port_numbers(name)}"


def port_numbers(name: str) -> str:
    """Return the numbers of a port, by which `chassis` identifies it."""
    return name.partition("-")[2]


def cage_name(name: str) -> str:
    """Return the name of the cage of a port; it is `et-` at any speed of the children."""
    return f"et-{port_numbers(name).partition(':')[0]}"


def cage_number(name: str) -> int:
    """Return the number of the cage of a port."""
    return int(name.partition(":")[0].rpartition("/")[2])


def parent_name(name: str) -> str:
    """Return the name of a port without the number of the child."""
    return name.partition(":")[0]


SETTING, FROM, TO, THEN = "setting", "from", "to", "then"
"""Kinds of kept statements: settings, and conditions and actions of terms."""
_SECRETS = frozenset({
    "authentication-key", "hello-authentication-key", "key", "md5", "password", "pre-shared-key", "secret",
    "simple-password",
})  # fmt: skip
_SET = "set"
"""Text that replaces a secret."""


def verbatim_rows(words: str, above: str = "", kind: str = SETTING, lead: str = "") -> list[Keep]:
    """Return rows that keep statements with some first words, with everything below them.

    Args:
        words: the first words, with blanks between; one with `+` has others behind it.
        above: words before them that are not kept.
        kind: key of the statements in the scope.
        lead: words that are kept before them.
    """
    before = f"{kind} {lead} " if lead else f"{kind} "
    return [
        Keep(f"{above} {word[:-1]} <below>" if word[-1] == "+" else f"{above} {word} [<below>]",
             partial(_statement_text, before, word.rstrip("+")))
        for word in words.split()
    ]  # fmt: skip


def _statement_text(before: str, word: str, below: str | None = None) -> Mapping[str, Value]:
    words = [word, *(below.split(" ") if below else ())]
    for at, each in enumerate(words[:-1]):
        if each in _SECRETS:
            words[at + 1 :] = [_SET]
            break
    return {before + " ".join(words): "true"}


def put_refused(document: Document, subject: str, stored: StoredValue, low: int, high: int) -> None:
    """State that a commit refuses a number (ranges of Juniper's YANG 24.4R1), if it does."""
    value, line = stored
    if isinstance(value, int) and not low <= value <= high:
        document.put(
            f"unread[{subject} {value}]", f"a commit refuses numbers outside {low:,} to {high:,}", line
        )


_STATED_ONCE = {"description", "mtu", "speed", "type", "peer-as", "vlan-id", "transmit-rate", "buffer-size"}


def repeated_blocks(nodes: Sequence[Node], above: str = "") -> Iterator[tuple[str, int]]:
    """Yield the words and the line of each block that states again what an earlier one of its name in a section does.

    One that only adds to the earlier one is the rest of it, as after `load merge`.
    """
    seen: dict[tuple[str, ...], set[str]] = {}
    for node in nodes:
        if node.children is not None:
            words = f"{above}{node.text}"
            stated = {
                each.key[0] for each in node.children if each.children is None and each.key
            } & _STATED_ONCE
            if above and stated & seen.get(node.key, set()):
                yield words, node.line
            seen.setdefault(node.key, set()).update(stated)
            yield from repeated_blocks(node.children, f"{words} ")


def kept_statements(scope: Scope, kind: str = SETTING) -> list[tuple[str, int]]:
    """(words, line) of the statements of a kind, in the order of the text."""
    begin = f"{kind} "
    stored = scope.values.items()
    return [(name.removeprefix(begin), line) for name, (_, line) in stored if name.startswith(begin)]


def put_settings(
    document: Document, prefix: str, scope: Scope, kind: str = SETTING, leaf: str = SETTING, lead: str = ""
) -> None:
    """State what a scope kept: `setting[all words but the last]` is the last one, or all where there are several."""
    if not scope.values:
        return
    found: dict[str, list[StoredValue]] = {}
    for words, line in kept_statements(scope, kind):
        key, _, value = words.rpartition(" ")
        found.setdefault(lead + (key or value), []).append((value if key else "true", line))
    for key, stored in found.items():
        values = [str(value) for value, _ in stored if value != "true" or len(stored) == 1]
        document.put(f"{prefix}{leaf}[{key}]", ",".join(values), stored[-1][1])
