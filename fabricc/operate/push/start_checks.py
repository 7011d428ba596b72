"""Checks before a push: no switch locks its own login out, and switches can wait for their confirmation."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.nos.management import serves_transport
from fabricc.base.diagnostics import Diagnostic, Severity
from fabricc.base.diagnostics.wording import plural
from fabricc.base.foreign import files
from fabricc.base.numbers import group_pairs
from fabricc.base.values import dataclass, replace
from fabricc.fabric.logins import KEY, PASSWORD, Login, ProtectedAccounts, Verdict, judge_login
from fabricc.operate import drivers
from fabricc.operate.devices import running
from fabricc.operate.devices.running import RevertTimes, reverting_of_driver
from fabricc.operate.push.built_tree import PushRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabricc.fabric.facts import Facts
    from fabricc.operate.devices.login import Device
    from fabricc.operate.devices.login import Login as DeviceLogin
    from fabricc.operate.push.setting import Setting


ACCESS = "management/access"


@dataclass(frozen=True, slots=True)
class _Case:
    """A verdict that many switches share."""

    nos: str
    username: str
    verdict: Verdict


def require_login(setting: Setting, names: Iterable[str], *, trial: bool = False) -> tuple[Diagnostic, ...]:
    """Refuse a push after which its own login could not log in any more.

    A trial commits nothing, so it only warns.

    Returns:
        What to know all the same: FAB9160 as a warning where it is agreed to, FAB9161 where servers decide,
        FAB9162 where the configurations do not.

    Raises:
        PushRefusedError: FAB9160, a finding for each system and reason.
    """
    cases: dict[_Case, list[str]] = {}
    keys: dict[str, str] = {}
    for name in names:
        device = setting.source.devices[name]
        stated = setting.access.login(device)
        facts = running.read_facts(device.nos, setting.source.files(name)).facts
        if stated.ssh_key not in keys:
            keys[stated.ssh_key] = public_key(Path(stated.ssh_key)) if stated.ssh_key else ""
        held = _list_usable_proofs(device.nos, stated)
        login = Login(stated.username, held, "" if _offers_more(stated) else keys[stated.ssh_key])
        verdict = _judge_device(device, stated, login, facts)
        cases.setdefault(_Case(device.nos, stated.username, verdict), []).append(name)
    found = (_make_finding(case, chosen, setting.consents) for case, chosen in cases.items())
    findings = [finding for finding in found if finding]
    if trial:
        return tuple(
            replace(one, severity=Severity.WARNING) if one.severity is Severity.ERROR else one
            for one in findings
        )
    if wrong := tuple(one for one in findings if one.severity is Severity.ERROR):
        raise PushRefusedError.of(wrong)
    return tuple(findings)


def _offers_more(stated: DeviceLogin) -> bool:
    """Return whether keys are tried that the access file does not name: of an agent, or of the account."""
    return bool(stated.options.get("allow_agent") or stated.options.get("use_keys"))


def _list_usable_proofs(nos: str, stated: DeviceLogin) -> frozenset[str]:
    """Return what the login has and its driver can use."""
    keys = stated.ssh_key or _offers_more(stated)
    held = frozenset([*([PASSWORD] if stated.password else []), *([KEY] if keys else [])])
    ours = stated.driver in ("", drivers.DRIVERS[nos])
    return held & drivers.list_proofs(nos, stated.options) if ours else held


def _judge_device(device: Device, stated: DeviceLogin, login: Login, facts: Facts) -> Verdict:
    """Return the verdict on a login, over the transport and from the address that it uses."""
    if reason := _find_obstacle(device, stated, facts):
        return Verdict(refused=reason)
    kept = drivers.ACCOUNTS[device.nos]
    return judge_login(facts, login, ProtectedAccounts(stated=kept is not None, built_in=kept or frozenset()))


def _find_obstacle(device: Device, stated: DeviceLogin, facts: Facts) -> str:
    nos = device.nos
    if stated.driver in ("", drivers.DRIVERS[nos]):
        transport = drivers.choose_transport(nos, stated.options)
        if not serves_transport(nos, facts, transport):
            return f"it has no service over {transport}, which the driver uses"
        ports = drivers.DOORS[nos].get(transport, ())
        if stated.port is not None and not stated.address and stated.port not in ports:
            return f"it serves {transport} on port {ports[0]}, and the login uses {stated.port}"
    permitted = str(facts.get(ACCESS, ""))
    own = find_source_address(stated.address or device.address) if permitted else ""
    if own and not _is_within(own, permitted.split(",")):
        return f"it permits no login from {own}, which this machine has towards it"
    return ""


def find_source_address(far: str) -> str:
    """The address that this machine has towards another, without sending anything; "" when there is no way, or inside.

    An address of the machine itself is that of a tunnel, whose far end is not known.
    """
    try:
        family = socket.AF_INET6 if ":" in far else socket.AF_INET
        ipaddress.ip_address(far)
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((far, 9))
            found = str(probe.getsockname()[0]).partition("%")[0]
    except (OSError, ValueError):
        return ""
    return "" if ipaddress.ip_address(found).is_loopback or found == far else found


def _is_within(address: str, prefixes: Iterable[str]) -> bool:
    own = ipaddress.ip_address(address)
    for prefix in prefixes:
        try:
            if own in ipaddress.ip_network(prefix.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def _make_finding(case: _Case, names: Sequence[str], accepted: Iterable[str]) -> Diagnostic | None:
    switches = f"{plural(len(names), 'switch')} with {case.nos}, such as {names[0]}"
    if case.verdict.refused:
        agreed = case.username in accepted
        return Diagnostic(
            "FAB9160",
            Severity.WARNING if agreed else Severity.ERROR,
            f"{switches}: the new configuration removes the login of this push: {case.verdict.refused}",
            None,
            "" if agreed else
            "Log in as an account of the spec, name TACACS+ or RADIUS servers under `management`, or agree to it: "
            f"--allow-lockout {case.username}.",
        )  # fmt: skip
    if case.verdict.servers:
        text = f"{case.verdict.servers} decide about the login of {case.username} and what it may do"
        return Diagnostic("FAB9161", Severity.NOTE, f"{switches}: {text}")
    if not case.verdict.known:
        text = f"no configuration contains the account {case.username}, so it is assumed to stay"
        return Diagnostic("FAB9162", Severity.WARNING, f"{switches}: {text}")
    return None


_LARGEST = 1 << 16
_OPENSSH = re.compile(
    rb"-----BEGIN OPENSSH PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+?)-----END OPENSSH PRIVATE KEY-----"
)
_MAGIC = b"openssh-key-v1\0"
_BEFORE = 3
"""Strings before the number of keys: cipher, key derivation and its options (openssh PROTOCOL.key)."""


def public_key(private: Path) -> str:
    """Return `ssh-ed25519 AAAA…` for a private key, "" when neither the file nor the `.pub` file contains it.

    OpenSSH's own form holds the public key in the clear, whatever the passphrase.
    """
    try:
        found = _OPENSSH.search(files.read(private, root=Path("/"), limit=_LARGEST))
        if found and (key := _public_key_in(base64.b64decode(found[1]))):
            return key
        words = files.read(private.with_name(f"{private.name}.pub"), root=Path("/"), limit=_LARGEST).split()
        return b" ".join(words[:2]).decode()
    except (OSError, ValueError, binascii.Error):
        return ""


def _public_key_in(content: bytes) -> str:
    if not content.startswith(_MAGIC):
        return ""
    rest = content[len(_MAGIC) :]
    for _ in range(_BEFORE):
        _, rest = _read_string(rest)
    key, _ = _read_string(rest[4:])
    kind, _ = _read_string(key)
    return f"{kind.decode()} {base64.b64encode(key).decode()}" if key else ""


def _read_string(content: bytes) -> tuple[bytes, bytes]:
    """Return a string that follows its length, and the rest."""
    size = int.from_bytes(content[:4], "big")
    return content[4 : 4 + size], content[4 + size :]


def report_revert_limits(setting: Setting, names: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Report before the start how switches revert by themselves, one finding for each NOS.

    FAB9126, they cannot; FAB9134, their driver takes another time than the one wanted.
    """
    wanted = setting.options.confirm_s
    found = []
    for (nos, driver), chosen in _group_by_reverting(setting, names).items():
        taken = driver.time(wanted)
        if not taken:
            text = (
                f"{nos} cannot revert a commit by itself ({plural(len(chosen), 'switch')}): after a change that cuts a "
                "switch off, only the console can restore it"
            )
            found.append(Diagnostic("FAB9126", Severity.WARNING, text))
        elif taken != wanted:
            of = plural(len(chosen), "switch")
            text = f"{nos} reverts a commit after {taken} s ({of}): it counts in {driver.step} s"
            found.append(Diagnostic("FAB9134", Severity.NOTE, text))
    return tuple(found)


def require_revert_time(setting: Setting, names: Sequence[str]) -> None:
    """Refuse a time for the confirmation that a driver would refuse in the midst of the change.

    Raises:
        PushRefusedError: FAB9133, a finding for each NOS, with the times that its driver takes.
    """
    wanted = setting.options.confirm_s
    findings = []
    for (nos, driver), chosen in _group_by_reverting(setting, names).items():
        if limits := driver.refuses(wanted):
            of = f"{plural(len(chosen), 'switch')}, such as {chosen[0]}"
            text = f"{nos} reverts a commit within {limits}, not {wanted} s ({of})"
            remedy = f"--confirm-within must be {limits} for them; --only pushes to some switches."
            findings.append(Diagnostic("FAB9133", Severity.ERROR, text, None, remedy))
    if findings:
        raise PushRefusedError.of(findings)


def _group_by_reverting(setting: Setting, names: Sequence[str]) -> dict[tuple[str, RevertTimes], list[str]]:
    """Return the switches of each NOS and way to go back, sorted by NOS."""
    devices = [setting.source.devices[name] for name in names]
    ways = ((each.nos, reverting_of_driver(each.nos, setting.access.login(each))) for each in devices)
    found = group_pairs(zip(ways, names, strict=True))
    return dict(sorted(found.items(), key=lambda item: item[0][0]))
