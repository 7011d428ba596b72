"""Reads interface blocks: own lines, and the facts of the policies and breakouts that they use."""

# ruff: noqa: ARG001 (the handlers of a table share one signature)

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.isolation import state_isolation
from fabricc.back.nos.nxos.named import ONCE
from fabricc.back.nos.nxos.vocabulary import (
    BREAKOUT_OF,
    DEFAULT_MTU,
    DEFAULT_PAUSE_M,
    MANAGEMENT_INTERFACE,
    MANAGEMENT_VRF,
    expanded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabricc.back.nos.cli_dialect.document import Put
    from fabricc.back.nos.nxos.read_qos import Stated
    from fabricc.back.nos.nxos.reading import Document
    from fabricc.fabric.facts import Value

    Handler = Callable[["InterfaceBlock", list[str], str, int], bool]
    Placed = list[tuple[str, Value, tuple[str, int]]]

_LOOPBACK = "loopback0"
ADVERTISING = "ipv6 nd suppress-ra"
_LEAK = re.compile(r"^\s*(import|export) (vrf|map)\b|\bip(v6)? route \S+ .*\bvrf management\b")
_FECS = {"rs-fec": "rs", "kp-fec": "rs", "rs-ieee": "rs", "rs-cons16": "rs", "fc-fec": "fc"}
_LARGEST_CAGE = 1024
_BREAKOUT = ["interface", "breakout", "module", "1", "port"]


class InterfaceBlock:
    """One interface; facts that need other blocks wait for `finish_interfaces`."""

    __slots__ = (
        "access_list", "addresses", "bfd", "enabled", "facts", "forward", "link_local", "number", "pfc", "policies",
        "policy_lines", "redirects", "vrf", "watchdog",
    )  # fmt: skip

    def __init__(self, number: int) -> None:
        self.number = number
        self.access_list: tuple[str, int] | None = None
        self.facts: dict[str, tuple[Value, int]] = {}
        self.enabled: tuple[str, int] | None = None
        self.addresses: dict[str, tuple[str, int]] = {}
        self.link_local: int | None = None
        self.forward: int | None = None
        self.redirects: set[str] = set()
        self.policies: dict[str, str] = {}
        self.policy_lines: dict[str, int] = {}
        self.pfc: tuple[str, int] | None = None
        self.watchdog: tuple[str, int] | None = None
        self.vrf: tuple[str, int] | None = None

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """One line of the interface."""
        handler = _HANDLERS.get(words[0])
        return handler is not None and handler(self, words, raw, number)

    @property
    def empty(self) -> bool:
        """Whether the configuration says nothing of it, as of ports never touched."""
        return not (
            self.facts or self.addresses or self.policies or self.enabled or self.link_local or self.pfc
        )


def _description(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.facts["description"] = (raw.strip().partition(" ")[2], number)
    return True


def _shutdown(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.enabled = ("false", number)
    return len(words) == 1


def _no(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    text = " ".join(words[1:])
    if text == "shutdown":
        block.enabled = ("true", number)
    elif text == "switchport":
        block.facts["routed"] = ("true", number)
    elif text == ADVERTISING:
        block.facts.pop("ra", None)
    elif text in ("ip redirects", "ipv6 redirects"):
        block.redirects.add(words[1])
        block.facts["redirects"] = ("off" if len(block.redirects) == 2 else f"off for {words[1]}", number)
    else:
        return False
    return True


def _number(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) != 2 or not words[1].isdecimal():
        return False
    if words[0] == "mtu":
        block.facts["mtu"] = (int(words[1]), number)
    elif int(words[1]) % 1000:
        return False
    else:
        block.facts["speed_gbps"] = (int(words[1]) // 1000, number)
    return True


def _fec(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words == ["fec", "auto"]:
        return True
    if len(words) != 2 or words[1] not in _FECS:
        return False
    block.facts["fec"] = (_FECS[words[1]], number)
    block.facts["fec_code"] = (words[1], number)
    return True


def _ip(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words == ["ip", "forward"]:
        block.forward = number
        return True
    if words[1:2] == ["access-group"] and len(words) == 4 and words[3] == "in":
        block.access_list = (words[2], number)
        return True
    return _address(block, "ipv4", words, number)


def _ipv6(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if words == ["ipv6", "address", "use-link-local-only"]:
        block.link_local = number
        return True
    if words == ["ipv6", "link-local", "use-bia"]:
        block.facts["link_local"] = ("bia", number)
        return True
    if words[1:2] == ["nd"]:
        return _advertisement(block, words[2:], number)
    return _address(block, "ipv6", words, number)


def _advertisement(block: InterfaceBlock, words: list[str], number: int) -> bool:
    """`ra-interval MAX min MIN` or `ra-lifetime N`, seconds; or none at all.

    A device does not print that it advertises (annet's patches for Nexus), so nothing is stated by that.
    """
    if words == ["suppress-ra"]:
        block.facts["ra"] = ("suppressed", number)
        return True
    figures = [int(word) for word in words[1::2] if word.isdecimal() and len(word) < 6]
    if words[::2] == ["ra-interval", "min"] and len(figures) == 2 and len(words) == 4:
        block.facts["ra_max_s"], block.facts["ra_min_s"] = ((figure, number) for figure in figures)
    elif words[:1] == ["ra-lifetime"] and len(figures) == 1 and len(words) == 2:
        block.facts["ra_lifetime_s"] = (figures[0], number)
    else:
        return False
    return True


def _address(block: InterfaceBlock, family: str, words: list[str], number: int) -> bool:
    if len(words) != 3 or words[1] != "address" or (":" in words[2]) != (family == "ipv6"):
        return False
    block.addresses[family] = (words[2], number)
    return True


def _pfc(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) == 3 and words[1] == "mode" and words[2] in ("on", "off", "auto"):
        block.pfc = (words[2], number)
        return True
    if words[1:] in (["watch-dog-interval", "on"], ["watch-dog-interval", "on", "disable-action"]):
        block.watchdog = (words[-1], number)
        return True
    return False


def _service_policy(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    kind = " ".join(words[2:-1])
    if words[1:2] != ["type"] or kind not in ("qos input", "queuing input", "queuing output"):
        return False
    block.policies[kind] = words[-1]
    block.policy_lines[kind] = number
    return True


def _bfd(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    if len(words) != 7 or words[1::2] != ["interval", "min_rx", "multiplier"]:
        return False
    block.facts["bfd"] = (" ".join(words[2::2]), number)
    return True


def _vrf(block: InterfaceBlock, words: list[str], raw: str, number: int) -> bool:
    block.vrf = (words[-1], number)
    return len(words) == 3 and words[1] == "member"


_HANDLERS: dict[str, Handler] = {
    "bfd": _bfd,
    "description": _description,
    "fec": _fec,
    "ip": _ip,
    "ipv6": _ipv6,
    "mtu": _number,
    "no": _no,
    "priority-flow-control": _pfc,
    "service-policy": _service_policy,
    "shutdown": _shutdown,
    "speed": _number,
    "vrf": _vrf,
}


def breakout_line(words: list[str]) -> tuple[list[int], str] | None:
    """The cages and the word of `interface breakout module 1 port LIST map WORD`."""
    if words[:5] != _BREAKOUT or len(words) != 8 or words[6] != "map" or words[7] not in BREAKOUT_OF:
        return None
    cages = expanded(words[5], _LARGEST_CAGE)
    return None if cages is None else (cages, words[7])


def finish_interfaces(document: Document) -> None:
    """State the facts of all interfaces; a policy's facts carry the policy's lines."""
    facts, lines, put = document.reading.facts, document.reading.lines, document.put
    policies = document.policies
    outputs = {name: _placed(p.stated_output(), document.file) for name, p in policies.queuing.items()}
    inputs = {name: _placed(p.stated_input(), document.file) for name, p in policies.queuing.items()}
    system = policies.system
    for name, block in document.interfaces.items():
        if block.access_list:
            where = "mgmt0" if name == MANAGEMENT_INTERFACE else f"port[{name}]"
            document.services.guard(f"structure/{where}/access-group", *block.access_list)
        if name == _LOOPBACK:
            put("structure/loopback0/defined", ONCE, block.number)
            _addresses(block, "loopback/", put)
            _addresses(block, "structure/loopback0/", put)
        elif name == MANAGEMENT_INTERFACE:
            address = block.addresses.get("ipv4") or block.addresses.get("ipv6")
            put("structure/mgmt0/defined", ONCE, block.number)
            if block.vrf:
                put("structure/mgmt0/vrf", *block.vrf)
            if address:
                put("structure/mgmt0/address", *address)
            apart = block.vrf is not None and block.vrf[0] == MANAGEMENT_VRF
            if apart and address:
                put("management/address", *address)
            if address:
                line = block.vrf[1] if block.vrf else address[1]
                state_isolation(document.reading, apart, (document.file, line), _LEAK)
        elif not block.empty:
            prefix = f"interface[{name}]/"
            _own_facts(block, name, prefix, document)
            _qos_facts(block, prefix, document)
            if not (block.policies or block.addresses or block.link_local):
                continue
            applied = block.policies
            paused = inputs.get(applied.get("queuing input") or system.name("queuing input"))
            if not paused and prefix + "pfc" in facts:
                put(prefix + "headroom/default_to_m", DEFAULT_PAUSE_M, lines[prefix + "pfc"][1])
            for stated in (
                outputs.get(applied.get("queuing output") or system.name("queuing output")),
                paused,
            ):
                for path, value, place in stated or ():
                    facts[prefix + path] = value
                    lines[prefix + path] = place


def _placed(stated: Iterable[Stated], file: str) -> Placed:
    return [(path, value, (file, line)) for path, value, line in stated]


def _own_facts(block: InterfaceBlock, name: str, prefix: str, document: Document) -> None:
    put = document.put
    put(f"structure/port[{name}]/defined", ONCE, block.number)
    for kind, policy in block.policies.items():
        put(f"structure/port[{name}]/{kind}", policy, block.policy_lines[kind])
    routed = "routed" in block.facts
    put(prefix + "enabled", *(block.enabled or ("false" if routed else "true", block.number)))
    cage, slash, _ = name.removeprefix("Ethernet1/").partition("/")
    if slash and cage in document.breakouts and "speed_gbps" not in block.facts:
        word, line = document.breakouts[cage]
        put(prefix + "speed_gbps", BREAKOUT_OF[word][1], line)
    for path, (value, line) in block.facts.items():
        put(prefix + path, value, line)
    _addresses(block, prefix, put)
    if not block.addresses and block.link_local is None:
        return
    if block.link_local and block.forward:
        put(prefix + "unnumbered", "true", block.link_local)
    if "mtu" not in block.facts:
        put(prefix + "mtu", DEFAULT_MTU, block.number)


def _qos_facts(block: InterfaceBlock, prefix: str, document: Document) -> None:
    put, policies = document.put, document.policies
    classify = block.policies.get("qos input")
    if classify in policies.classify:
        same = policies.classification == classify
        put(prefix + "trust", "dscp" if same else f"dscp {classify}", block.number)
    if block.pfc is None or block.pfc[0] != "on":
        return
    if (network := policies.network()) and network.pauses:
        put(prefix + "pfc", network.paused(), block.pfc[1])
    word, line = block.watchdog or ("off", block.pfc[1])
    watched = word == "on" and document.watchdog.on
    put(prefix + "watchdog", "true" if watched else "false", line)


def _addresses(block: InterfaceBlock, prefix: str, put: Put) -> None:
    for family, (address, line) in block.addresses.items():
        put(prefix + family, address, line)
