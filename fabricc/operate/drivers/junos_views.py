"""Read Junos's XML and text answers: routes, lossless classes, health, commits.

An answer must be of the kind that belongs to its request, so that no other text counts as success. Forms: Juniper's
NETCONF and Junos XML guides ("Load Configuration Data", "Commit the Candidate Configuration") and the answers that PyEZ
has in its tests. PyEZ returns the first element of an answer, or True for an answer without any.

Commits: answers to `get-commit-information` that others recorded on Junos 24.4 (vSRX), and `show system commit` of
Junos 23.2 (vJunos-switch) and Junos OS Evolved 26.2. The entry of a commit that waits has `<commit-confirmed>rollback
pending`. The comment `commit confirmed, rollback in 5mins` stays after the confirmation, so it is no status where Junos
writes the element; releases before those recorded may have the comment alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from napalm.base.helpers import as_number, ip

from fabricc.base.numbers import is_number
from fabricc.operate.drivers.answers import AnswerError, quote_words
from fabricc.operate.drivers.lossless import DROPPED, ECN_MARKED, PFC_RX, PFC_TX, CounterTotals

QUEUES = "show interfaces queue"
SESSION_MARK = "session "
"""Beginning of the log of a commit by a driver that was given a session."""
TABLES = ("inet.0", "inet6.0")
BOTH_TABLES = "inet"
"""Names both, as the beginning of their names (Juniper's page "show route table")."""
_VERSION = re.compile(r"(?m)^version [^;\n]+;$")
_NO_BGP = "not running"
_MASTER, _GLOBAL = "master", "global"
_ACTIVE = ("*", "@")
_PORT = re.compile(r"\s*Physical interface: ([^\s,]+)")
_QUEUE = re.compile(r"\s*Queue: (\d+)")
_COUNT = re.compile(r"\s*(Tail-dropped|RED-dropped|ECN-CE) packets\s*:\s*([\d,]+)")
_KINDS = {"Tail-dropped": DROPPED, "RED-dropped": DROPPED, "ECN-CE": ECN_MARKED}


def _iterate_elements(answer: Any, tag: str) -> Iterator[Any]:
    """Elements of an answer; PyEZ makes True of an empty one, which `require_kind` refuses where none is."""
    return iter(()) if answer is None or answer is True else answer.iter(tag)


def _element_text(node: Any, path: str) -> str:
    return (node.findtext(path) or "").strip()


def read_identity(answer: Any) -> dict[str, str]:
    """Return hostname and serial number of `show system information`, empty where the device does not report them."""
    if answer is None or answer is True:
        return {"hostname": "", "serial_number": ""}
    found = (next(iter(_iterate_elements(answer, tag)), None) for tag in ("host-name", "serial-number"))
    hostname, serial = ("" if one is None else (one.text or "").strip() for one in found)
    return {"hostname": hostname, "serial_number": serial}


def read_pfc(answer: Any, tally: CounterTotals) -> None:
    """`show interfaces extensive`: the MAC's PFC frames by IEEE 802.1p code point."""
    for port in _iterate_elements(answer, "physical-interface"):
        name = _element_text(port, "name")
        for one in port.iter("ethernet-mac-pfc-statistics"):
            priority = _element_text(one, "mac-pfc-dot1p")
            tally.add(PFC_RX, name, priority, _element_text(one, "input-mac-pfc-frames"))
            tally.add(PFC_TX, name, priority, _element_text(one, "output-mac-pfc-frames"))


def read_queues(text: str, tally: CounterTotals) -> None:
    """`show interfaces queue`: what each queue dropped and marked.

    Taken as text: of packets marked (`ECN-CE packets`), Juniper publishes the words and not the XML tag.
    """
    port = queue = ""
    for line in text.splitlines():
        if match := _PORT.match(line):
            port, queue = match[1], ""
        elif match := _QUEUE.match(line):
            queue = match[1]
        elif port and queue and (match := _COUNT.match(line)):
            tally.add(_KINDS[match[1]], port, queue, match[2])


def read_sessions(answer: Any, family: Callable[[str, str], str | None]) -> dict[str, Any] | None:
    """Return NAPALM's `get_bgp_neighbors` from `show bgp neighbor`, which has the peers of all instances.

    The uptime is not part of it (-1).

    Args:
        answer: of `get-bgp-neighbor-information` without an instance.
        family: returns NAPALM's name of a routing table's address family, by table and instance; None for others.

    Returns:
        Instance -> its router ID and peers; None where a peer has no instance, as in releases up to 15.

    Raises:
        AnswerError: it is an answer to something else.
    """
    tag = _read_tag(answer)
    text = " ".join("".join(answer.itertext()).split()) if tag else ""
    other = tag not in ("", "output") or (text and _NO_BGP not in text)
    if other and next(_iterate_elements(answer, "bgp-information"), None) is None:
        raise AnswerError(f"`show bgp neighbor` shows {quote_words(text)}")
    found: dict[str, Any] = {}
    for peer in _iterate_elements(answer, "bgp-peer"):
        instance = _element_text(peer, "peer-cfg-rti") or _element_text(peer, "peer-fwd-rti")
        if not instance:
            return None
        if instance.startswith("__"):  # Junos's own
            continue
        name = _GLOBAL if instance == _MASTER else instance
        row = found.setdefault(name, {"router_id": _element_text(peer, "local-id"), "peers": {}})
        options = _element_text(peer, "bgp-option-information/bgp-options-extended").lower().split()
        up = _element_text(peer, "peer-state") == "Established"
        row["peers"][ip(_element_text(peer, "peer-address").partition("+")[0])] = {
            "local_as": as_number(_element_text(peer, "local-as") or "0"),
            "remote_as": as_number(_element_text(peer, "peer-as") or "0"),
            "remote_id": _element_text(peer, "peer-id"),
            "is_up": up,
            "is_enabled": "shutdown" not in options,
            "description": _element_text(peer, "description"),
            "uptime": -1,
            "address_family": _read_families(peer if up else None, instance, family),
        }
    return found


def _read_families(peer: Any, instance: str, family: Callable[[str, str], str | None]) -> dict[str, Any]:
    """Return address family -> numbers of prefixes of a session; -1 each where it has none."""
    names = ("received", "accepted", "sent")
    found = {one: {f"{name}_prefixes": -1 for name in names} for one in ("ipv4", "ipv6")}
    for rib in _iterate_elements(peer, "bgp-rib"):
        if (known := family(_element_text(rib, "name"), instance)) is not None:
            fields = ("received", "accepted", "advertised")
            counts = (_element_text(rib, f"{field}-prefix-count") for field in fields)
            found[known] = {
                f"{name}_prefixes": int(count or 0) for name, count in zip(names, counts, strict=True)
            }
    return found


def ecmp_widths(answer: Any) -> dict[str, int]:
    """Return prefix -> next hops of the active route, from `show route protocol bgp` of `BOTH_TABLES`."""
    found = {}
    tables = (
        one for one in _iterate_elements(answer, "route-table") if _element_text(one, "table-name") in TABLES
    )
    for route in (route for table in tables for route in table.iter("rt")):
        for entry in route.iter("rt-entry"):
            if (
                _element_text(entry, "active-tag") in _ACTIVE
                and _element_text(entry, "protocol-name") == "BGP"
            ):
                found[_element_text(route, "rt-destination")] = sum(1 for _ in entry.iter("nh"))
    return found


def router_macs(answer: Any) -> dict[str, dict[str, str]]:
    """Return VNI -> VTEP -> router MAC of accepted prefixes, from `show evpn ip-prefix-database`."""
    found: dict[str, dict[str, str]] = {}
    for adv in _iterate_elements(answer, "evpn-pfxdb-evpn-ip-adv"):
        vni, vtep = _element_text(adv, "adv-vni"), _element_text(adv, "adv-bgp-nexthop")
        if vni and vtep and _element_text(adv, "adv-ip-route-status") == "Accepted":
            found.setdefault(vni, {})[vtep] = _element_text(adv, "adv-router-mac")
    return found


_REMINDERS = frozenset({"autorecovery", "configuration"})
"""Types of alarms that need a command; a new switch has some."""
_UNLICENSED = re.compile(r"usage requires a license\.?$", re.IGNORECASE)
"""How Junos ends the alarm of a feature without a license, which works all the same."""


def read_alarms(answer: Any) -> Iterator[str]:
    """Read `show chassis alarms` and `show system alarms`, without what is no fault, as a missing rescue configuration.

    Forms: answers of Junos 18 to 23 that others recorded. A missing license has the type `System` there, like faults,
    so only the end of its text differs, as on Juniper's page "show system alarms".
    """
    for one in _iterate_elements(answer, "alarm-detail"):
        text = _element_text(one, "alarm-description")
        if _element_text(one, "alarm-type").casefold() in _REMINDERS or _UNLICENSED.search(text):
            continue
        yield f"{_element_text(one, 'alarm-class')}: {text}"


def line_of(text: str, path: str, element: str) -> int:
    """Return the line of a configuration that an error names: `[edit system login]` and the element below; 0 for none.

    Where the path leads nowhere, the only line that begins with the element.
    """
    wanted = path.removeprefix("[edit").removesuffix("]").split()
    above: list[str] = []
    deepest, alone = 0, []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.strip().rstrip("{;").split()
        inside = " ".join(above).split()
        if element and element in " ".join(words):
            if inside == wanted:
                return number
            alone.append(number)
        if raw.rstrip().endswith("{"):
            above.append(" ".join(words))
            if " ".join(above).split() == wanted:
                deepest = number
        elif raw.strip().startswith("}") and above:
            above.pop()
    return alone[0] if len(alone) == 1 else deepest


_ITSELF = "other"
_COMMENT = re.compile(r"commit confirmed, rollback in (\d+)mins?", re.ASCII)
_RELEASE = re.compile(r"(\d+)\.(\d+)", re.ASCII)
_MARKED_SINCE = (23, 2)
_MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the list.

    Attributes:
        user: the account that made it.
        marked: whether Junos itself reports that it waits for its confirmation.
        until_s: when it goes back unless confirmed, in seconds since 1970 of the switch's clock; None where it was no
            confirmed commit, or the time is not reported.
        log: what its author wrote.
        made: when it was made, as Junos writes it.
        client: by what it was made, such as `netconf`; `other` by Junos itself, which went back.
    """

    user: str
    marked: bool
    until_s: int | None
    log: str = ""
    made: str = ""
    client: str = ""

    @property
    def session(self) -> str:
        """The session of a driver with which its log begins; "" in any other log."""
        words = self.log.removeprefix(SESSION_MARK)
        return "" if words == self.log else words.split()[0].removesuffix(":")

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays of it after its confirmation."""
        return self.made, self.user, self.log


def read_commits(answer: Any) -> list[Commit]:
    """Read the answer to `get-commit-information`, the newest commit first; of several engines the first one's.

    Raises:
        AnswerError: it has another form, so nothing is known of the commits.
    """
    if not _is_one_of(answer, frozenset({"commit-information"})):
        raise AnswerError("the answer to `show system commit` has no list of commits")
    first = answer.find(".//commit-history/..")
    return [] if first is None else [_read_commit(entry) for entry in first.iterfind("commit-history")]


def _read_commit(entry: Any) -> Commit:
    time = entry.find("date-time")
    made = "" if time is None else time.get("seconds") or (time.text or "").strip()
    marked = entry.find("commit-confirmed") is not None
    user, client, log = (_element_text(entry, name) for name in ("user", "client", "log"))
    return Commit(user, marked, _read_deadline(entry), log, made, client)


def went_back(before: list[Commit], after: list[Commit]) -> bool:
    """Return whether Junos went back between two lists: it commits that itself, `by root via other`.

    A confirmation may be a commit as well, by the account that confirmed: both were seen on devices of others. After
    Junos went back, others may have committed.
    """
    old, now = [one.key for one in before], [one.key for one in after]
    added = next(number for number in range(len(now) + 1) if now[number:] == old[: len(now) - number])
    return not after or any(one.client == _ITSELF for one in after[:added])


def has_one_more(before: list[Commit], after: list[Commit], session: str) -> bool:
    """Return whether a list of commits is an earlier one and one more, with a session in its log.

    Args:
        before: the earlier list; Junos drops the oldest entry of a long one.
        after: the later one.
        session: "" for a log without one.
    """
    old, new = [one.key for one in before], [one.key for one in after]
    expected = [*new[:1], *old][: len(new)]
    return old != new == expected and len(new) >= len(old) and after[0].session == session


def _read_deadline(entry: Any) -> int | None:
    comment = _COMMENT.search(entry.findtext("comment") or "")
    time = entry.find("date-time")
    seconds = time.get("seconds", "") if time is not None else ""
    if not comment or not is_number(seconds):
        return None
    return int(seconds) + int(comment[1]) * _MINUTE_S


def read_clock(answer: Any) -> int | None:
    """Read the switch's clock from `get-system-uptime-information`, in seconds since 1970."""
    time = answer.find(".//current-time/date-time") if answer is not None else None
    seconds = time.get("seconds", "") if time is not None else ""
    return int(seconds) if is_number(seconds) else None


def marks_commits(answer: Any) -> bool:
    """Return whether a release is known to mark a commit that waits, from `get-software-information`."""
    version = (answer.findtext(".//junos-version") or "") if answer is not None else ""
    release = _RELEASE.match(version.strip())
    return release is not None and (int(release[1]), int(release[2])) >= _MARKED_SINCE


_OK, _ERROR = "ok", "rpc-error"
_ENGINES = "multi-routing-engine-results"
_REPLY_KINDS = {
    "load-configuration": frozenset({_OK, "load-configuration-results"}),
    "commit-configuration": frozenset({_OK, "commit-results"}),
    **{request: frozenset({f"{kind}-information"}) for request, kind in (
        ("get-alarm-information", "alarm"), ("get-system-alarm-information", "alarm"),
        ("get-route-information", "route"), ("get-system-information", "system"),
        ("get-interface-information", "interface"),
    )},
}  # fmt: skip
"""Request -> elements that its answer may begin with. Junos sends them also where there is nothing to list."""
_DIFFERENCE = frozenset({"configuration-information"})
_TEXT = frozenset({"configuration-text"})
_FAILED = ".//load-error-count"


def skip_warnings(reply: Any) -> Any:
    """Return the element of an answer that follows its warnings; the reply itself where nothing follows.

    Raises:
        AnswerError: one of them is an error.
    """
    found = reply
    while _read_tag(found) == _ERROR:
        severity = found.find("{*}error-severity")
        if severity is None or (severity.text or "").strip() != "warning":
            raise AnswerError(f"an error: {quote_words(' '.join(found.itertext()))}")
        if (following := found.getnext()) is None:
            return reply
        found = following
    return found


def require_kind(request: Any, reply: Any) -> None:
    """Refuse an answer of another kind than its request has, and a load that counts errors.

    Args:
        request: the element of the request.
        reply: what PyEZ returns for it.

    Raises:
        AnswerError: it is of another kind.
    """
    wanted = _list_kinds(request)
    if not wanted:
        return
    tag = _read_tag(reply)
    if not _is_one_of(reply, wanted) or reply.find(_FAILED) is not None:
        text = "".join(reply.itertext()) if tag else ""
        raise AnswerError(f"not an answer to {request.tag}: {tag or 'nothing'} {quote_words(text)}")


def _read_tag(reply: Any) -> str:
    return str(getattr(reply, "tag", "")).rpartition("}")[2]


def _is_one_of(answer: Any, kinds: frozenset[str]) -> bool:
    """Return whether an answer is an element of some kinds, or those of several engines that have one."""
    tag = _read_tag(answer)
    return tag in kinds or (
        tag == _ENGINES and any(answer.find(f".//{{*}}{kind}") is not None for kind in kinds)
    )


def _list_kinds(request: Any) -> frozenset[str]:
    if request.tag == "get-configuration":
        if request.get("compare") is not None:
            return _DIFFERENCE
        return _TEXT if request.get("format") == "text" else frozenset()
    return _REPLY_KINDS.get(request.tag, frozenset())


def read_version(text: str) -> str:
    """Return the statement with the release that Junos writes at the beginning of a configuration, "" without one."""
    found = _VERSION.search(text)
    return found[0] if found else ""
