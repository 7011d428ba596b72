"""List the files that a tree must have by its own plan; the only answer to whether a tree is complete."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from dataclasses import field
from io import StringIO
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from fabricc.back import hosts as host_files
from fabricc.back import nos as back_ends
from fabricc.back.infiniband.host_files import SCRIPT, required_host_files
from fabricc.back.infiniband.job_files import required_job_files
from fabricc.back.infiniband.sm_files import required_subnet_files
from fabricc.back.jobs.files import HOSTS, required_files, required_one_sided
from fabricc.back.jobs.kubernetes import NIC_TEMPLATES, has_nic_template
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.values import dataclass
from fabricc.tree.manifest import NAME, Manifest
from fabricc.version import __version__

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping

    from fabricc.base.foreign.files import Folder

_PLAN = re.compile(r"plan/(?:(?P<network>[a-z]+)/)?[^/]+")
_OF_TENANT = re.compile("(?:jobs|acceptance)/tenants/([^/]+)/")
_LARGEST = 512 << 20  # bytes of a table; a million cables have 100 MB
_TABLES = (
    "addresses.csv", "cabling.csv", "classes.csv", "fabric.json", "qos.csv", "sessions.csv", "worksheet.csv",
    "worksheet.json",
)  # fmt: skip
_INFINIBAND_TABLES = ("cabling.csv", "classes.csv", "fabric.json", "lids.csv", "partitions.csv")
_REBUILD = "Build again; edits belong in the spec."
_EVERY_VERSION = ("cabling.csv", "fabric.json")
_TIERS = {"host": ("", "tor"), "spine": ("tor", "spine"), "core": ("spine", "core"), "peer": ("tor", "tor")}
"""Kind of a cable -> tiers of its two ends; "" for a host. The far end of any other kind is no device of the tree."""


@dataclass(slots=True)
class _Plan:
    """The plan of a tree.

    Attributes:
        cluster: the name of the cluster, "" if unknown.
        infiniband: whether the fabric is of InfiniBand.
        networks: how many networks the tree has.
        subnets: paths of the files of subnet managers.
        hosts: host -> its ports, by network and name.
        switches: switch with files -> its system.
        tables: paths of the tables that every plan has.
        services: switch with files -> settings of its management network, such as `ntp`.
        readable: whether all networks could be read; a damaged file is reported as such.
    """

    cluster: str = ""
    infiniband: bool = False
    networks: int = 1
    subnets: set[str] = field(default_factory=set)
    hosts: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    switches: dict[str, str] = field(default_factory=dict)
    tables: set[str] = field(default_factory=set)
    services: dict[str, frozenset[str]] = field(default_factory=dict)
    readable: bool = True

    def add_cables(self, network: str, summary: Mapping[str, Any], rows: Iterator[list[str]]) -> None:
        """Add the devices of a network."""
        header = next(rows, None)
        if header is None:
            return
        columns = itemgetter(*map(header.index, ("kind", "a_device", "a_port", "b_device")))
        own, services = summary.get("systems", {}), frozenset(summary.get("services", ()))
        for kind, near_name, port, far_name in map(columns, filter(None, rows)):
            near, far = _TIERS.get(kind, (None, None))
            if near == "":
                self.hosts[near_name].add((network, port))
            for tier, name in ((near, near_name), (far, far_name)):
                if tier and name not in self.switches and not self.infiniband:  # its switches have no files
                    self.switches[name] = str((own[name] if name in own else summary["tiers"][tier])["nos"])
                    self.services[name] = services


def completeness_findings(
    folder: Folder,
    manifest: Manifest,
    proved: Container[str] = (),
    expected: Collection[str] | None = None,
) -> Iterator[Diagnostic]:
    """Report FAB6011 for each file that the plan of a tree requires and its manifest lacks, FAB6010 for other names.

    The plan names the devices; their systems, and other hosts of the same kind, show which files each one has. The
    lists of names are those of this version: a tree of another one is compared with its own plan and hosts only.

    Args:
        folder: the tree.
        manifest: its manifest.
        proved: folders of devices whose files are compared with a fresh plan, which reports more than this.
        expected: all files that are not of devices, by a fresh plan; None to derive them from the plan of the tree.
    """
    plan = _read_plan(folder, manifest)
    if plan.cluster and plan.cluster != manifest.cluster:
        at = Position(str(folder.path / NAME), 1)
        message = f"{NAME} names the cluster {manifest.cluster!r}, and its plan names {plan.cluster!r}"
        yield Diagnostic("FAB6010", Severity.ERROR, message, at, _REBUILD)
    names, texts = _names_by_device(manifest), _SharedTexts(folder, manifest)
    required = {*expected} if expected is not None else {*plan.tables, *plan.subnets}
    if expected is None and manifest.version == __version__:
        required |= {*_required_job_files(folder, plan, names, texts)}
    for path in sorted(required - manifest.files.keys()):
        yield _absence(folder, path, f"{path} is a part of every such tree, and missing")
    if not plan.readable:
        return
    planned = {*(f"hosts/{name}" for name in plan.hosts), *(f"switches/{name}" for name in plan.switches)}
    for device in sorted(planned - names.keys()):
        if device not in proved:
            yield _absence(folder, device, f"{device} is in the plan, and its files are missing")
    for device in sorted(names.keys() - planned):
        yield _absence(folder, device, f"{device} has files, and no table of the plan cables it")
    present = {device: names[device] for device in sorted(planned & names.keys()) if device not in proved}
    for path in (
        *_absent_switch_files(plan, present, manifest),
        *_absent_host_files(plan, present, texts),
    ):
        yield _absence(folder, path, f"{path} is required by the plan, and missing")


def _absence(folder: Folder, path: str, message: str) -> Diagnostic:
    return Diagnostic(
        "FAB6011", Severity.ERROR, message, Position(str(folder.path / path), 1), "Build again."
    )


def _names_by_device(manifest: Manifest) -> dict[str, set[str]]:
    """Return `hosts/NAME` or `switches/NAME` -> the files in it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in manifest.files:
        if path.startswith(("hosts/", "switches/")) and path.count("/") > 1:
            kind, name, file = path.split("/", 2)
            found[f"{kind}/{name}"].add(file)
    return found


def _read_plan(folder: Folder, manifest: Manifest) -> _Plan:
    """Return what the tables of all networks state."""
    plan = _Plan()
    networks = {found["network"] or "" for path in manifest.files if (found := _PLAN.fullmatch(path))}
    plan.networks = len(networks | {""})
    for network in sorted(networks | {""}):
        place = f"plan/{network}".rstrip("/")
        tables: tuple[str, ...] = _EVERY_VERSION
        try:
            summary = json.loads(folder.read(f"{place}/fabric.json", limit=_LARGEST))
            plan.cluster = plan.cluster or str(summary.get("cluster", ""))
            plan.infiniband = summary.get("fabric") == "infiniband"
            if manifest.version == __version__:
                tables = _INFINIBAND_TABLES if plan.infiniband else _TABLES
                if plan.infiniband:
                    classes = folder.read(f"{place}/classes.csv", limit=_LARGEST).count(b"\n") - 1
                    plan.subnets |= {*required_subnet_files(int(summary["counts"]["subnets"]), classes)}
            text = folder.read(f"{place}/cabling.csv", limit=_LARGEST).decode()
            plan.add_cables(network, summary, csv.reader(StringIO(text)))
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, csv.Error):
            plan.readable = False
        plan.tables |= {f"{place}/{name}" for name in tables}
    return plan


def _required_job_files(
    folder: Folder, plan: _Plan, names: Mapping[str, set[str]], texts: _SharedTexts
) -> Iterator[str]:
    """Yield the files for jobs and acceptance tests that every tree of this version has whose hosts have GPUs."""
    files = texts.manifest.files.keys()
    settings = {
        device: (name, texts.read(f"{device}/{name}"))
        for device, own in names.items()
        for name in host_files.WITH_GPUS
        if name in own
    }
    if not settings and not any(path.startswith(("jobs/", "acceptance/")) for path in files):
        return
    yield f"jobs/{HOSTS}"
    rows = _read_rows(folder, f"jobs/{HOSTS}")
    domains = {row["nvlink_domain"] for row in rows if row.get("nvlink_domain")}
    for row in rows:
        own_files = names.get(f"hosts/{row.get('host')}", set())
        if own_files and own_files.isdisjoint(host_files.WITH_GPUS):
            yield f"hosts/{row['host']}/{host_files.WITH_GPUS[0]}"
    tenants = {
        path.split("/")[2] for path in files if path.startswith(("jobs/tenants/", "acceptance/tenants/"))
    }
    if plan.infiniband:
        for below in ("", *(f"/tenants/{name}" for name in tenants)):
            yield from required_job_files(files, below, () if below else domains)
            hosts = [f"hosts/{row.get('host')}" for row in _read_rows(folder, f"jobs{below}/{HOSTS}")]
            own = [settings[host] for host in hosts if host in settings]
            yield from required_one_sided(files, f"jobs{below}", own, marked=False)
        return
    for below in (f"/tenants/{name}" for name in tenants) if tenants else [""]:
        yield from required_files(files, below, () if tenants else domains)
        hosts = [f"hosts/{row.get('host')}" for row in _read_rows(folder, f"jobs{below}/{HOSTS}")]
        own = [settings[host] for host in hosts if host in settings]
        yield from required_one_sided(files, f"jobs{below}", own, marked=True)
        scripts = {
            texts.read(f"{host}/{name}")
            for host in hosts
            for name in names.get(host, ())
            if host_files.is_settings_script(name) and not host_files.network_of(name)
        }
        if any(map(has_nic_template, scripts)):
            yield f"jobs{below}/kubernetes/{NIC_TEMPLATES}"


def _read_rows(folder: Folder, path: str) -> list[dict[str, str]]:
    """Return the rows of a table; none if it cannot be read, which is reported elsewhere."""
    try:
        return [*csv.DictReader(StringIO(folder.read(path, limit=_LARGEST).decode()))]
    except (OSError, ValueError, csv.Error):
        return []


# --- files of devices ----------------------------------------------------------------------------------


def _absent_switch_files(plan: _Plan, names: Mapping[str, set[str]], manifest: Manifest) -> Iterator[str]:
    """Yield the files that a switch lacks: those of its system, and those that other switches of it have."""
    by_system: dict[str, list[str]] = defaultdict(list)
    for name, nos in sorted(plan.switches.items()):
        if f"switches/{name}" in names:
            by_system[nos].append(f"switches/{name}")
    for nos, devices in by_system.items():
        common: set[str] = set()
        optional: Mapping[str, str] = {}
        if manifest.version == __version__ and nos in back_ends.list_names():
            back_end = back_ends.load(nos)
            common, optional = {*getattr(back_end, "files", ())}, getattr(back_end, "optional_files", {})
        common |= {file for device in devices for file in names[device] - optional.keys()}
        for device in devices:
            services = plan.services[device.removeprefix("switches/")]
            required = common | {file for file, setting in optional.items() if setting in services}
            yield from (f"{device}/{file}" for file in sorted(required - names[device]))


def _absent_host_files(plan: _Plan, names: Mapping[str, set[str]], texts: _SharedTexts) -> Iterator[str]:
    """Yield the files that a host lacks: those that belong to others that it has, and those of hosts of its kind."""
    hosts = {device: files for device, files in names.items() if device.startswith("hosts/")}
    manifest = texts.manifest
    alike: dict[object, set[str]] = defaultdict(set)
    kinds: dict[str, object] = {}
    for device, files in hosts.items():
        settings = [
            host_files.settings_of_script(texts.read(f"{device}/{name}"))
            for name in sorted(filter(host_files.is_settings_script, files))
        ]
        ports = frozenset(plan.hosts[device.removeprefix("hosts/")])
        kinds[device] = kind = (ports, manifest.files.get(f"{device}/{host_files.APPLY}"), *settings)
        if manifest.version == __version__ and not plan.infiniband and kind not in alike:
            alike[kind] |= _files_by_texts(device, files, texts)
        alike[kind] |= {name for name in files if host_files.is_common_to_kind(name)}
    for device, files in hosts.items():
        required = {host_files.APPLY}
        if manifest.version == __version__:
            required |= _required_by_texts(device, files, plan, texts)
        if not plan.infiniband:
            required |= alike[kinds[device]]
            if any(map(host_files.is_kernel_settings, required - files)):
                own = {file: texts.read(f"{device}/{file}") for file in files}
                required -= (
                    set() if _shares_subnet(own) else {*filter(host_files.is_kernel_settings, required)}
                )
            required |= _absent_links(device, files, plan.hosts[device.removeprefix("hosts/")], texts)
        yield from (f"{device}/{file}" for file in sorted(required - files))


def _required_by_texts(device: str, files: Collection[str], plan: _Plan, texts: _SharedTexts) -> set[str]:
    """Return the files that a host must have because of some others, and of what those contain."""
    if plan.infiniband:
        apply = texts.read(f"{device}/{host_files.APPLY}") if host_files.APPLY in files else ""
        script = texts.read(f"{device}/{SCRIPT}") if SCRIPT in files else ""
        found = host_files.limits(files) | required_host_files(apply, script)
    else:
        found = host_files.required_beside(files, lambda name: texts.read(f"{device}/{name}"))
        found |= {host_files.MODULES} if plan.networks > 1 else set()
    return found - {""}


def _files_by_texts(device: str, files: Collection[str], texts: _SharedTexts) -> set[str]:
    """Return the kernel settings that a host needs for ports that share a subnet, by network."""
    own = {file: texts.read(f"{device}/{file}") for file in files if not file.startswith(host_files.APPLY)}
    networks = {host_files.network_of(name) for name in files}
    return {
        host_files.kernel_settings(network)
        for network in networks
        if _shares_subnet(
            {name: text for name, text in own.items() if host_files.network_of(name) == network}
        )
    }


def _shares_subnet(files: Mapping[str, str]) -> bool:
    """Return whether two ports of a host share a subnet; False for files that cannot be read, which is reported."""
    try:
        return host_files.shares_subnet(files)
    except ValueError:
        return False


def _absent_links(
    device: str, files: Collection[str], ports: Iterable[tuple[str, str]], texts: _SharedTexts
) -> set[str]:
    """Return the `.link` files that a host lacks, where its naming rules name more ports than it has such files."""
    found: set[str] = set()
    for name in filter(host_files.is_naming_rules, files):
        network = host_files.network_of(name)
        count = host_files.count_named_ports(texts.read(f"{device}/{name}"))
        links = {each for each in files if each.endswith(".link") and host_files.network_of(each) == network}
        candidates = host_files.link_files(sorted(port for each, port in ports if each == network))
        found |= {*[each for each in candidates if each not in links][: max(0, count - len(links))]}
    return found


@dataclass(slots=True)
class _SharedTexts:
    """Texts of files by digest, as most hosts share theirs."""

    folder: Folder
    manifest: Manifest
    texts: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> str:
        """Return a file's text; "" if it cannot be read, which is reported elsewhere."""
        digest = self.manifest.files[path]
        if digest not in self.texts:
            try:
                self.texts[digest] = self.folder.read(path).decode(errors="replace")
            except OSError:
                self.texts[digest] = ""
        return self.texts[digest]
