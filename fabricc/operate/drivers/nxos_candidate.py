"""Build the file for `configure replace` in the form in which the switch itself prints its configuration.

Cisco requires "a valid running configuration that has been received with the Cisco NX-OS device", not a partial one
("Performing Configuration Replace", System Management Configuration Guides 9.2 to 10.4). fabricc builds what it owns,
so the rest is taken from the running configuration: the version, the VDC, boot lines, host keys and certificates,
accounts with a password, and lines that every switch prints. Lines are written as the switch prints them.

NX-OS stores keys of TACACS+ and RADIUS as type 7 in a way that Cisco does not publish, and keys of SNMPv3 users that it
makes of their passwords and its engine ID. After a replace that set one in clear text, its printed form is written to a
file on the switch with a salted digest of the clear line, so that an unchanged secret is no difference. A secret that
was changed has another digest, and is sent in clear text again.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

ADMIN = "admin"
"""The account that every file for a replace must have (Cisco, same chapter)."""
_NO_PASSWORD = "!"
_OF_SWITCH = re.compile(
    r"(?:version|boot(?! poap)|rmon event|icam|license|ssh key|crypto ca trustpoint|nxapi (?:certificate|ssl)"
    r"|grpc (?:client root )?certificate) |(?:line console|vdc \S+ id \d+)$"
)
"""First lines of blocks that belong to the switch: image, virtual device, host keys, certificates of its APIs.

`boot poap enable` does not: with it, the next start provisions the switch anew, whatever it has saved (Cisco Nexus 9000
Fundamentals Configuration Guide, "Using PowerOn Auto Provisioning").
"""
_ONLY_HEADS = re.compile(r"line vty$|vlan 1$|interface Ethernet\d+/\d+$")
"""First lines of blocks that cannot be removed, and that are printed without content where nothing is configured."""
_VLANS = re.compile(r"vlan 1(?=[,-])")
"""First line of all VLANs of a switch together; VLAN 1 cannot be removed."""
_SUPPRESS = "no ipv6 nd suppress-ra"
_CLEAR_SECRET = re.compile(
    r"(?:tacacs|radius)-server host \S+ key 0 .+$|ntp authentication-key \d+ md5 .+ 0$"
    r"|snmp-server user \S+ \S+ auth (?!.* localized(?:V2)?key$).+$"
)
_PRINTED_SECRET = re.compile(
    r"(?:tacacs|radius)-server host \S+ key (?!0 )\d+ .+$|ntp authentication-key \d+ md5 .+ 7$"
    r"|snmp-server user \S+ \S+ auth .+ localized(?:V2)?key$"
)
_ACCOUNT = re.compile(r"username (\S+) (\S+)(?: +\d+ +(\S+))?")
_SNMP_USER = re.compile(r"snmp-server user (\S+) (?:\S+ auth (\S+) )?")
_OF_ACCOUNT = (None, "md5")
"""Authentication in lines about the SNMP users that NX-OS makes of accounts, and in lines about access lists."""
_BANNER = re.compile(r"banner \S+ (\S)(.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A command at the left margin with the lines below it, as they are printed."""

    lines: tuple[str, ...]

    @property
    def head(self) -> str:
        """The command, with single spaces."""
        return " ".join(self.lines[0].split())

    @property
    def key(self) -> str:
        """Return what makes two blocks the same place in two configurations."""
        return "hostname" if self.head.startswith("hostname ") else self.head


def split_blocks(text: str) -> list[Block]:
    """Split a configuration into blocks; comments before the first command are one block, a banner is one too."""
    found: list[list[str]] = []
    closing = ""
    for line in text.splitlines():
        if closing:
            found[-1].append(line)
            closing = "" if closing in line else closing
            continue
        inner = not line.strip() or line[0].isspace()
        comment = line.startswith("!") and (not found or found[-1][0].startswith("!"))
        if found and (inner or comment):
            found[-1].append(line)
        else:
            found.append([line])
        if banner := _BANNER.match(line):
            closing = "" if banner[1] in banner[2] else banner[1]
    return [Block(tuple(lines)) for lines in found]


@dataclass(slots=True)
class Accounts:
    """Accounts of a running configuration and of a plan.

    Attributes:
        planned: names that the plan has.
        kept: names that only the switch has, and that stay: `admin`, and accounts with a password and no key. An
            account of fabricc has a key, so one with a key is an account that the plan no longer has. NX-OS makes an
            account of each SNMPv3 user (Cisco, Configuring SNMP); it stays as long as the plan has that user.
        snmp: names of the plan's SNMPv3 users.
    """

    planned: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    snmp: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, running: list[Block], plan: list[Block]) -> Accounts:
        """Return the accounts of two configurations."""
        planned = {match[1] for one in plan if (match := _ACCOUNT.match(one.head))}
        found = [match for one in running if (match := _ACCOUNT.match(one.head))]
        keyed = {match[1] for match in found if match[2] == "sshkey"}
        guarded = {match[1] for match in found if match[2] == "password" and match[3] != _NO_PASSWORD}
        admins = {match[1] for match in found if match[1] == ADMIN}
        snmp = {match[1] for one in plan if (match := _SNMP_USER.match(one.head)) and match[2]}
        users = (_SNMP_USER.match(one.head) for one in running)
        left = {match[1] for match in users if match and match[2] not in _OF_ACCOUNT} - snmp
        return cls(planned, (guarded - keyed - left | admins) - planned, snmp)

    def keeps(self, head: str) -> bool:
        """Return whether a line of an account is the switch's own."""
        if match := _ACCOUNT.match(head):
            own = match[1] in self.kept and match[2] != "sshkey"
            return own or (match[1] in self.planned and match[2] == "passphrase")
        match = _SNMP_USER.match(head)
        return match is not None and match[1] in (self.planned | self.kept) - self.snmp


def build_candidate(running: str, plan: str, printed: Mapping[str, str]) -> str:
    """Put the switch's own frame around a plan, in printed forms.

    Args:
        running: the running configuration as the switch prints it.
        plan: the configuration that fabricc built, with secrets.
        printed: planned line -> how the switch prints it, for secrets that it encrypts.

    Returns:
        A configuration in the order of the running one where it has the same blocks; the plan itself where the
        running configuration has no frame.
    """
    device = split_blocks(running)
    built = [_as_printed(one, printed) for one in split_blocks(plan)]
    names = [one.head.split()[1] for side in (device, built) for one in side if one.key == "hostname"]
    accounts = Accounts.of(device, built)
    heads = {one.key for one in built}
    before = ""
    for one in device:
        if one.key not in heads and (kept := _filter_block(one, accounts, heads)):
            place = next((index + 1 for index, other in enumerate(built) if other.key == before), 0)
            built.insert(place, _rename_vdc(kept, names))
            heads.add(one.key)
        before = one.key if one.key in heads else before
    text = "\n".join(line for one in built for line in one.lines)
    return f"{text}\n" if text and not text.endswith("\n") else text


def _filter_block(block: Block, accounts: Accounts, planned: set[str]) -> Block | None:
    """Return what stays of a block that only the switch has."""
    head = block.head
    if head.startswith("!") or _OF_SWITCH.match(head) or accounts.keeps(head):
        return block
    if _ONLY_HEADS.match(head) and not any(one.startswith(f"{head}/") for one in planned):
        return replace(block, lines=block.lines[:1])
    vlans = _VLANS.match(head)
    return Block((vlans[0],)) if vlans else None


def _rename_vdc(block: Block, names: list[str]) -> Block:
    """Return the VDC of a switch under the planned hostname: the switch names the one after the other."""
    words = block.head.split()
    if words[0] == "vdc" and len(names) > 1 and words[1] == names[0]:
        return replace(block, lines=(block.lines[0].replace(words[1], names[-1], 1), *block.lines[1:]))
    return block


def _as_printed(block: Block, printed: Mapping[str, str]) -> Block:
    lines = (printed.get(line.strip(), line) for line in block.lines if line.strip() != _SUPPRESS)
    return replace(block, lines=tuple(lines))


def unprinted_commands(plan: str) -> list[str]:
    """Return commands of a plan that no running configuration shows, with the interfaces that they belong to.

    A Nexus sends router advertisements after `no ipv6 nd suppress-ra` alone, and does not print it: annet, whose
    Cisco rules state so, enters it separately. In a replace it would be a difference that never ends.
    """
    return [
        command
        for one in split_blocks(plan)
        if any(line.strip() == _SUPPRESS for line in one.lines)
        for command in (one.head, _SUPPRESS)
    ]


def clear_keys(plan: str) -> dict[str, str]:
    """Return the lines with secrets in clear text, and the beginning of each that names its server or user."""
    lines = (one.lines[0].strip() for one in split_blocks(plan))
    return {line: secret_owner(line) for line in lines if _CLEAR_SECRET.match(line)}


def printed_keys(running: str) -> dict[str, str]:
    """Return how the switch prints secrets that it encrypted, by the beginning that names the server or user."""
    lines = (one.lines[0].strip() for one in split_blocks(running))
    return {secret_owner(line): line for line in lines if _PRINTED_SECRET.match(line)}


def differs(running: str, candidate: str) -> bool:
    """Return whether two configurations differ; the order counts among the classes of a classification alone."""
    return Counter(_list_statements(running)) != Counter(_list_statements(candidate))


def digest_statements(text: str) -> str:
    """Return a digest of a configuration that is the same for a candidate and for what runs after its replace.

    Secrets that the switch encrypts are left out.
    """
    known = ((secret_owner(line) or line for line in one) for one in _list_statements(text))
    return hashlib.sha256("\n".join(sorted(map("\t".join, known))).encode("utf-8", "replace")).hexdigest()


def _list_statements(text: str) -> Iterator[tuple[str, ...]]:
    for one in split_blocks(text):
        if one.head.startswith("!"):
            continue
        parents: list[tuple[int, str]] = []
        classes: list[str] = []
        for line in filter(str.strip, one.lines):
            depth, words = len(line) - len(line.lstrip()), " ".join(line.split())
            while parents and parents[-1][0] >= depth:
                parents.pop()
            parents.append((depth, words))
            yield tuple(words for _, words in parents)
            if words.startswith("class "):
                classes.append(words)
        if one.head.startswith("policy-map type qos "):
            yield (one.head, *classes)


_OWNER = re.compile(
    r"((?:tacacs|radius)-server host \S+) key |(ntp authentication-key \d+) md5 |(snmp-server user \S+) \S+ auth "
)
FORMS_FILE = "fabricc_forms.json"
_COST = {"n": 2**14, "r": 8, "p": 1}


@dataclass(frozen=True, slots=True)
class PrintedForms:
    """Digests of clear lines and the lines that a switch prints for them."""

    salt: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> PrintedForms:
        """Read the file; a text that is none of ours remembers nothing."""
        try:
            found: Any = json.loads(text)
            salt, printed = found["salt"], found["printed"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return cls()
        if not isinstance(salt, str) or not isinstance(printed, dict):
            return cls()
        return cls(salt, {name: line for name, line in printed.items() if _is_key(line)})

    @classmethod
    def note(cls, forms: Mapping[str, str]) -> str:
        """Return the file for clear lines and their printed forms."""
        salt = secrets.token_hex(16)
        printed = {_digest_line(salt, clear): line for clear, line in forms.items()}
        return json.dumps({"salt": salt, "printed": printed}, indent=1) + "\n"

    def of(self, lines: Iterable[str]) -> dict[str, str]:
        """Return the printed forms of clear lines that are known."""
        if not self.printed:
            return {}
        found = {clear: self.printed.get(_digest_line(self.salt, clear), "") for clear in lines}
        return {
            clear: line for clear, line in found.items() if line and secret_owner(line) == secret_owner(clear)
        }


def _is_key(line: object) -> bool:
    """Return whether a line may set a key: the file lies on the switch, where others write."""
    return isinstance(line, str) and bool(secret_owner(line)) and line.isprintable()


def secret_owner(line: str) -> str:
    """Return the beginning of a line with a secret that names its server or user; "" for another line."""
    found = _OWNER.match(line)
    return found[1] or found[2] or found[3] if found else ""


def _digest_line(salt: str, line: str) -> str:
    return hashlib.scrypt(line.encode(), salt=salt.encode(), **_COST).hex()
