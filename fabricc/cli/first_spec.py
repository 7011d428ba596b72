"""The first spec of a cluster, written from a few answers: which hosts, how many, which switches and networks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass, replace
from fabricc.catalog.support import model_at_release, runs_release
from fabricc.compiler.compiled import compile_spec
from fabricc.front.spec.canonical import format_spec

if TYPE_CHECKING:
    from fabricc.catalog.model import Catalog, HostModel, SwitchModel

NETWORKS = ("storage", "frontend")
"""Further networks that host models of the catalog have ports for."""
INFINIBAND = "infiniband"
"""The system of InfiniBand switches: it has no releases, and the subnet manager configures them."""
SEGMENTS = ("eos", "frr")
"""Systems that write the segments of tenants (docs/evpn.md)."""
_UNITS = (32, 64, 16, 8, 4, 2, 1)
"""Hosts of a unit to try: 32 as in NVIDIA's reference architectures, then what other radixes need."""
_PLANES = (2, 4, 8)
"""Numbers of planes to try for ports that a NIC splits."""
_MANY_PORTS = 4
"""Ports of a NIC from which each leads to a plane of its own, as in fabrics of many planes."""
_MAX_UNITS = 4
"""NVLink domains in the largest unit to try."""
_NETWORK_SHAPES = ((16, 2), (8, 2), (16, 0), (8, 0), (4, 0))
"""Hosts of a unit and spines to try in a further network; 0 for as many spines as follow from the arithmetic."""
_TOO_FEW_PORTS = ("FAB3006", "FAB3007", "FAB3008")
"""Errors that another size of units can repair."""
_NO_PART = ("FAB3354",)
"""The warning that no cable joins the ports of hosts and ToRs."""
_SHORT_M = 100
"""Longest links to cores, in meters, for which every system has headroom of its own."""
_NO_HEADROOM = ("FAB4002", "FAB5655")
"""Errors that slower links between switches can repair."""
_MOST_SPEEDS = 2
"""Number of speeds of such links to try."""
_TOO_LARGE = ("FAB3009", "FAB3010")
"""Errors that fewer hosts or a third tier can repair."""
_PASSWORD_LOGIN = ("FAB5672", "FAB9045")
"""Warnings that an account with a key alone cannot log in over an API that takes passwords."""
_SLOW_BFD = ("FAB5680",)
"""The warning that a platform detects failures more slowly than planned."""
_SLOW_BFD_MS = 1000
"""The shortest interval of BFD on the platforms that have one, in milliseconds."""
_ACCOUNT_SECRET = "account-hash"
"""Secret of the first account where `NAME-hash` is no name of a secret."""
_SECRET_NAME = re.compile(r"[a-z][a-z0-9-]{0,14}[a-z0-9]")
_INFINIBAND_PRIORITIES = "  rdma: {priority: 1}  # the service level\n  default: {}\n"


@dataclass(frozen=True, slots=True)
class Answers:
    """The inputs of a first spec.

    Attributes:
        cluster: name of the cluster.
        hosts: host model of the catalog.
        count: hosts at the start.
        capacity: hosts that the fabric can grow to.
        switches: switch model of the catalog.
        nos: operating system with its release.
        networks: further network, of `NETWORKS` -> its switch model and system; empty texts for those of the rails.
        tenants: name of a tenant -> its hosts; empty for a cluster of one tenant.
        hosts_per_unit: hosts that share a set of ToRs; 0 to try sizes until one fits.
        network_shape: the same in further networks, and their spines, as in `_NETWORK_SHAPES`.
        may_shrink: whether a capacity of just the hosts at the start is accepted where more does not fit.
        has_cores: whether cores join the spines.
        uplink_gbps: speed of links between switches; 0 for the fastest.
        core_m: length of links to cores; 0 for the default.
        user, ssh_key: the first account on the switches, and its public key; empty for none.
    """

    cluster: str = "zone-a"
    hosts: str = "dgx-h100"
    count: int = 64
    capacity: int = 128
    switches: str = "sn5600"
    nos: str = "sonic-202505"
    networks: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tenants: Mapping[str, int] = field(default_factory=dict)
    hosts_per_unit: int = 0
    network_shape: tuple[int, int] = _NETWORK_SHAPES[0]
    may_shrink: bool = False
    has_cores: bool = False
    uplink_gbps: int = 0
    core_m: int = 0
    user: str = ""
    ssh_key: str = ""


DEFAULTS = Answers()
"""Those of the spec that `init` writes without answers."""


_ROOM = "hosts that it may grow to: their ports and numbers are kept free"
"""The comment of the starter on the capacity."""


def systems_of(model: SwitchModel) -> list[str]:
    """Return the systems with their newest known release that run on a switch, SONiC first: it is on most models."""
    found = [INFINIBAND] if INFINIBAND in model.nos else []
    for name in sorted(model.support, key=lambda each: (each != "sonic", each)):
        releases = back_ends.load(name).releases if name in back_ends.list_names() else ()
        default = back_ends.load(name).default_release if releases else ""
        if default and runs_release(model, name, default):
            found.append(f"{name}-{default}")
        elif fitting := [each for each in releases if runs_release(model, name, each)]:
            found.append(f"{name}-{fitting[-1]}")
    return found


def fit_spec(starter: str, answers: Answers, catalog: Catalog) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the spec of some answers and its findings; with errors where no size of a unit fits.

    Args:
        starter: the spec that `init` writes without answers.
        answers: the answers.
        catalog: the hardware models.
    """
    tiers = [answers]
    if answers.may_shrink and answers.capacity > answers.count:
        tiers.append(replace(answers, capacity=answers.count))
    tiers.append(replace(answers, has_cores=True))
    closest: _Attempt | None = None
    for wanted in tiers:
        attempt = _fit_sizes(starter, wanted, catalog)
        for speed in _speeds_with_headroom(answers, catalog) if attempt.has_code(*_NO_HEADROOM) else ():
            slower = _fit_sizes(starter, replace(wanted, uplink_gbps=speed), catalog)
            if slower.fits or slower.has_code(*_TOO_LARGE):
                attempt = slower
                break
        if wanted.has_cores and attempt.has_code("FAB5686"):
            attempt = _fit_sizes(starter, replace(wanted, core_m=_SHORT_M), catalog)
        if attempt.fits:
            attempt = _settle_warnings(attempt, answers)
            if not attempt.warns_of(_NO_PART):
                return attempt.text, attempt.found
        is_too_large = attempt.has_code(*_TOO_LARGE)
        if closest is None or not (is_too_large or closest.fits):
            closest = attempt
        if not (is_too_large or attempt.fits):  # neither fewer hosts nor cores help
            break
    assert closest is not None
    return closest.text, closest.found


def _speeds_with_headroom(answers: Answers, catalog: Catalog) -> list[int]:
    """Return the highest speeds for which the headroom of the switches is listed, in Gb/s; none for InfiniBand."""
    if answers.nos == INFINIBAND:
        return []
    name, _, release = answers.nos.partition("-")
    model = model_at_release(catalog.switches[answers.switches], name, release)
    return sorted({row.speed_gbps for row in model.buffers.rows}, reverse=True)[:_MOST_SPEEDS]


class _Attempt(NamedTuple):
    """A spec that was tried."""

    text: str
    found: tuple[Diagnostic, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        """Return its errors."""
        return [each for each in self.found if each.severity is Severity.ERROR]

    @property
    def fits(self) -> bool:
        """Return whether it builds."""
        return not self.errors

    def has_code(self, *codes: str) -> bool:
        """Return whether one of its errors has such a code."""
        return any(each.code in codes for each in self.errors)

    def warns_of(self, codes: tuple[str, ...]) -> bool:
        """Return whether one of its findings has such a code."""
        return any(each.code in codes for each in self.found)


def _settle_warnings(attempt: _Attempt, answers: Answers) -> _Attempt:
    """Return the spec with keys that settle its warnings, where the compiled spec shows that they do."""
    for codes, write in ((_PASSWORD_LOGIN, _with_password), (_SLOW_BFD, _with_slow_bfd)):
        if not attempt.warns_of(codes):
            continue
        text, _ = format_spec(write(attempt.text, answers), "cluster.yaml")
        settled = _Attempt(text, _findings(text))
        if settled.fits and not settled.warns_of(codes) and len(settled.found) < len(attempt.found):
            attempt = settled
    return attempt


def _with_password(text: str, answers: Answers) -> str:
    """Return the spec with a reference to the hashed password of its account."""
    own = f"{answers.user}-hash"
    secret = own if _SECRET_NAME.fullmatch(own) else _ACCOUNT_SECRET
    systems = (answers.nos, *(nos for _, nos in answers.networks.values()))
    option = "-5" if any(nos.startswith("nxos") for nos in systems) else "-6"
    why = f"APIs take no key: `openssl passwd {option}` prints the hash, the access file names it"
    line = f"      ssh_key: {answers.ssh_key}\n"
    return text.replace(line, f"{line}      password: {{secret: {secret}}}  # {why}\n", 1)


def _with_slow_bfd(text: str, answers: Answers) -> str:
    """Return the spec with the interval of BFD that every platform supports."""
    del answers
    why = "the switches support no shorter interval"
    return f"{text}\nrouting:\n  bfd: {{interval_ms: {_SLOW_BFD_MS}}}  # {why}\n"


def _fit_sizes(starter: str, answers: Answers, catalog: Catalog) -> _Attempt:
    """Return the spec with the first size of units that fits, else the one that comes closest."""
    host = catalog.hosts[answers.hosts]
    sizes = [answers.hosts_per_unit] if answers.hosts_per_unit else [*_unit_sizes(host, answers)]
    of_networks = tuple(f"{name}: " for name in answers.networks)
    closest: _Attempt | None = None
    for size in sizes:
        for shape in _NETWORK_SHAPES if answers.networks else _NETWORK_SHAPES[:1]:
            sized = replace(answers, hosts_per_unit=size, network_shape=shape)
            attempt = _try_spec(write_spec(starter, sized, host), host, answers.nos)
            if attempt.fits and not attempt.warns_of(_NO_PART):
                return attempt
            if closest is None or closest.has_code(*_TOO_FEW_PORTS) or (attempt.fits and not closest.fits):
                closest = attempt
            if attempt.fits or not all(each.message.startswith(of_networks) for each in attempt.errors):
                break
        if not (attempt.fits or attempt.has_code(*_TOO_FEW_PORTS, *_TOO_LARGE)):
            break
    assert closest is not None
    return closest


def _try_spec(text: str, host: HostModel, nos: str) -> _Attempt:
    """Return what a spec is worth, with the fewest planes that fit where the NIC's ports are too fast for Ethernet.

    A ConnectX-8 of 800G has two Ethernet ports of 400G (FAB3350); as two planes, each leads to a fabric of its own.
    Hosts with many ports for each NIC get as many planes where one fabric would be too large.
    """
    fastest = host.nic.ethernet_gbps
    if nos == INFINIBAND or fastest is None or host.port_gbps <= fastest:
        whole = _Attempt(text, _findings(text))
        if nos == INFINIBAND or host.ports_per_nic < _MANY_PORTS or not whole.has_code(*_TOO_LARGE):
            return whole
        own = _try_planes(text, host.ports_per_nic, "each port of a NIC leads to a fabric of its own")
        return own if own.fits else whole
    first: _Attempt | None = None
    for planes in _PLANES:
        attempt = _try_planes(text, planes, "the NIC has no faster Ethernet port: each plane gets one")
        if attempt.fits and not any(each.code == "FAB3350" for each in attempt.found):
            return attempt
        first = first or attempt
    assert first is not None
    return first


def _try_planes(text: str, planes: int, why: str) -> _Attempt:
    """Return what a spec with planes is worth; `why` is the comment on their number."""
    split, _ = format_spec(
        text.replace("\ntors:", f"\nplanes: {planes}  # {why}\n\ntors:", 1), "cluster.yaml"
    )
    return _Attempt(split, _findings(split))


def write_spec(starter: str, answers: Answers, host: HostModel) -> str:
    """Return the starter spec with the values of the answers."""
    text = starter
    for old, new in (
        ("cluster: zone-a", f"cluster: {answers.cluster}"),
        ("model: dgx-h100", f"model: {answers.hosts}"),
        ("hosts: 64", f"hosts: {answers.count}"),
        ("capacity: 128", f"capacity: {answers.capacity}"),
        ("hosts_per_unit: 32", f"hosts_per_unit: {answers.hosts_per_unit}"),
        ("socket_interface: eno3", f"socket_interface: {_socket_interface(answers, host)}"),
        ("model: sn5600", f"model: {answers.switches}"),
        ("nos: sonic-202505", f"nos: {answers.nos}"),
    ):
        if old not in text:
            raise AssertionError(f"the starter spec has no {old!r}")
        text = text.replace(old, new)
    if answers.capacity == answers.count:
        text = text.replace(_ROOM, "no more hosts than at the start", 1)
    if answers.nos == INFINIBAND:
        text = _with_infiniband(text)
    if answers.has_cores:
        text = _with_cores(text)
    if answers.uplink_gbps:
        text = _with_slower_uplinks(text, answers)
    if answers.tenants:
        text = _with_groups(text, answers)
    elif host.domain_hosts > 1 and answers.count % host.domain_hosts == 0:
        text = _with_racks(text, answers, host)
    if answers.ssh_key:
        text = _with_user(text, answers)
    if answers.core_m:
        cable = f"core: {{medium: smf, length_m: {answers.core_m}}}"
        text += f"\ncables:\n  {cable}  # longer ones need headroom that nobody publishes\n"
    text += "".join(_network_lines(answers))
    laid_out, found = format_spec(text, "cluster.yaml")
    return text if any(each.severity is Severity.ERROR for each in found) else laid_out


def _socket_interface(answers: Answers, host: HostModel) -> str:
    return "frontend0" if "frontend" in answers.networks else host.management_interface


def _unit_sizes(host: HostModel, answers: Answers) -> Iterator[int]:
    """Yield sizes of a unit that are worth a try: whole NVLink domains, and none larger than the cluster can be."""
    domain = host.domain_hosts
    if domain == 1:
        fitting = [size for size in _UNITS if size <= answers.capacity]
        yield from fitting or [min(_UNITS)]
        return
    sizes = [domain * each for each in range(_MAX_UNITS, 0, -1)]
    yield from sorted(
        sizes, key=lambda size: answers.count % size > 0
    )  # whole units first, large ones need few ToRs


def _with_groups(text: str, answers: Answers) -> str:
    """Return the spec with the hosts of each tenant as a group of `gpus`."""
    groups = "".join(
        f"    - {{name: {name}, model: {answers.hosts}, hosts: {count}, hosts_per_unit: "
        f"{min(answers.hosts_per_unit, count)}}}\n"
        for name, count in answers.tenants.items()
    )
    text, counted = re.subn(r"^  (?:model|hosts|hosts_per_unit): .*\n", "", text, count=3, flags=re.MULTILINE)
    assert counted == 3
    return text.replace("gpus:\n", f"gpus:\n  groups:\n{groups}", 1)


def _with_racks(text: str, answers: Answers, host: HostModel) -> str:
    """Return the spec with the racks of its NVLink domains instead of a number of hosts."""
    racks = answers.count // host.domain_hosts
    names = ", ".join(f"r{number:0{max(2, len(str(racks)))}}" for number in range(1, racks + 1))
    lines = f"  racks: [{names}]  # one NVLink domain each\n  hosts_per_rack: {host.domain_hosts}\n"
    return text.replace(f"  hosts: {answers.count}\n", lines, 1)


def _with_slower_uplinks(text: str, answers: Answers) -> str:
    """Return the spec with a speed of the uplinks of ToRs, and of spines below cores."""
    line = f"  uplink_gbps: {answers.uplink_gbps}  # no headroom is published for faster links\n"
    tiers = "tors|spines" if answers.has_cores else "tors"
    return re.sub(rf"^((?:{tiers}):.*\n(?:  .*\n)+)", rf"\g<1>{line}", text, flags=re.MULTILINE)


def _with_cores(text: str) -> str:
    """Return the spec with cores that have the model and the system of the spines."""
    spines = re.search(r"^spines:.*\n((?:  .*\n)+)", text, re.MULTILINE)
    assert spines
    cores = f"\ncores:  # a third tier: a spine has fewer ports than there are ToRs\n{spines[1]}"
    return f"{text[: spines.end()]}{cores}{text[spines.end() :]}"


def _with_infiniband(text: str) -> str:
    """Return the spec of an InfiniBand fabric: no systems of switches and no code points."""
    text = re.sub(r"^  nos: .*\n", "", text, flags=re.MULTILINE)
    text = text.replace("\ngpus:", f"fabric: {INFINIBAND}\n\ngpus:", 1)
    head, _, rest = text.partition("priorities:")
    title, _, _ = rest.partition("\n")
    return f"{head}priorities:{title}\n{_INFINIBAND_PRIORITIES}"


def _with_user(text: str, answers: Answers) -> str:
    """Return the spec with an account for the switches."""
    head, services, rest = text.partition("  # ntp:")
    assert rest
    return f"{head}  users:\n    - name: {answers.user}\n      ssh_key: {answers.ssh_key}\n{services}{rest}"


def _network_lines(answers: Answers) -> Iterator[str]:
    """Yield the section of further networks."""
    if not answers.networks:
        return
    hosts, spines = answers.network_shape
    count = f", count: {spines}" if spines else ""
    yield "\nnetworks:\n"
    for name, (model, nos) in answers.networks.items():
        storage = name == "storage"
        switch = f"model: {model or answers.switches}, nos: {nos or answers.nos}"
        yield f"  {name}:\n"
        yield f"    hosts_per_unit: {min(hosts, answers.hosts_per_unit)}\n"
        yield f"    tors: {{{switch}, oversubscription: {2.0 if storage else 4.0}}}\n"
        yield f"    spines: {{{switch}{count}}}\n"
        if storage:
            yield "    priorities:\n      storage: {dscp: 34, lossless: true}\n"
            yield "      cnp: {dscp: 48, strict: true}\n      default: {}\n"
        else:
            yield "    priorities: {default: {}}\n"
        if name == "frontend" and answers.tenants:
            yield "    evpn:\n      segments:\n"
            for number, tenant in enumerate(answers.tenants):
                yield (
                    f"        {tenant}: {{vlan: {110 + 10 * number}, subnet: 10.{224 + number // 16}."
                    f"{number % 16 * 16}.0/20, groups: [{tenant}]}}\n"
                )


def _findings(text: str) -> tuple[Diagnostic, ...]:
    """Return the findings of a spec that is in no file yet, in places of `cluster.yaml`."""
    with TemporaryDirectory(prefix="fabricc-init-") as folder:
        path = Path(folder) / "cluster.yaml"
        path.write_text(text, "utf-8")
        found = compile_spec(path).diagnostics
    return tuple(
        replace(each, position=Position("cluster.yaml", each.position.line, each.position.column))
        if each.position is not None and each.position.file == str(path)
        else each
        for each in found
    )
