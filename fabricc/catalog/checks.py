"""Check what the schema cannot express about a switch or host: lanes fit cages, and lane maps fit both."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.base.documents.document import KeyPath
    from fabricc.catalog.model import HostModel, NicModel, SwitchModel

Finding = tuple["KeyPath", str, str]
"""Path below the model, what is wrong, the remedy."""

_CAGE_LANES = {"qsfp-dd": 8, "osfp": 8, "qsfp": 4, "sfp": 1}
"""Start of a form factor's name -> lanes of a cage (SFF-8402, SFF-8665, QSFP-DD MSA, OSFP MSA)."""


def switch_findings(model: SwitchModel) -> Iterator[Finding]:
    """Contradictions within a switch: overlapping cages, breakouts without lanes, wrong lane maps."""
    taken = -1
    for index, group in enumerate(model.cages):
        path: KeyPath = ("cages", index)
        if group.first <= taken:
            yield path, f"cage {group.first} is numbered twice", f"The first free number is {taken + 1}."
        taken = max(taken, group.first + group.count - 1)
        for use in group.breakouts:
            need = use.children * use.lanes
            if need > group.lanes:
                text = f"{use.children}x{use.speed_gbps}/{use.lanes}"
                remedy = f"A cage of {group.lanes} lanes has {group.lanes // use.children} for each child."
                yield (*path, "breakouts"), f"breakout {text} needs {need} lanes of {group.lanes}", remedy
        twin = "infiniband" in model.nos  # a twin-port cage of InfiniBand is never one port
        if not twin and all(use.children != 1 for use in group.breakouts):
            yield (*path, "breakouts"), "no use of the whole cage is listed", "Add one such as 1x400/8."
    for nos, settings in model.nos.items():
        for key, value in settings.items():
            if not model.chassis and isinstance(value, str) and "{slot}" in value:
                yield ("nos", nos, key), "`{slot}` in the names of a switch without slots", "Leave it out."
        if "lanes" in settings:
            yield from _lane_findings(model, nos)


def host_findings(model: HostModel) -> Iterator[Finding]:
    """Contradictions within a host: a PCI list of the wrong length, a speed the NIC does not have."""
    if model.pci and len(model.pci) != model.rails:
        remedy = "List one for each rail; the second PCI functions of the same ports (Socket Direct) go to `second`."
        yield ("pci",), f"{len(model.pci)} PCI addresses for {model.rails} rails", remedy
    yield from _second_function_findings(model)
    yield from _domain_findings(model)
    if model.cages and sorted(rail for cage in model.cages for rail in cage) != list(range(model.rails)):
        yield ("cages",), "a rail is in no cage or in two", f"Name each of 0 to {model.rails - 1} once."
    yield from _shared_cage_findings(model)
    yield from _speed_findings(model.nic, model.port_gbps)
    for name, ports in model.networks.items():
        path: KeyPath = ("networks", name)
        if ports.pci and len(ports.pci) != ports.nics:
            yield (
                (*path, "pci"),
                f"{len(ports.pci)} PCI addresses for {ports.nics} NICs",
                "List one for each NIC.",
            )
        yield from _speed_findings(ports.nic, ports.port_gbps, *path)
        if ports.infiniband_gbps is not None:
            yield from _speed_findings(ports.nic, ports.infiniband_gbps, *path)


def _second_function_findings(model: HostModel) -> Iterator[Finding]:
    """Report second PCI functions that do not belong to one port each."""
    if not model.second_pci:
        return
    path: KeyPath = ("pci", "second")
    if len(model.second_pci) != model.rails:
        yield (
            path,
            f"{len(model.second_pci)} second functions for {model.rails} rails",
            "List one for each rail.",
        )
    elif model.ports_per_nic > 1:
        yield (
            path,
            "second functions of NICs with several ports",
            "Make each port a rail: `ports_per_nic: 1`.",
        )
    elif both := sorted({*model.pci} & {*model.second_pci}):
        yield path, f"{both[0]} is the first and the second function of a port", "Write the other address."


def _shared_cage_findings(model: HostModel) -> Iterator[Finding]:
    """Report rails of one cage that need more lanes than the cage has, as two functions of one port would."""
    lanes = min([use.lanes for use in model.nic.port_splits if use.speed_gbps == model.port_gbps], default=0)
    room = next((lanes for form, lanes in _CAGE_LANES.items() if model.form_factor.startswith(form)), 0)
    for rails in model.cages:
        needed = len(rails) * model.ports_per_nic * lanes
        if room and needed > room:
            message = f"rails {', '.join(map(str, rails))} need {needed} lanes of a cage with {room}"
            remedy = "Two PCI functions of one port are one rail: write `rails` without the second, and `pci.second`."
            yield ("cages",), message, remedy
            return


def _domain_findings(model: HostModel) -> Iterator[Finding]:
    if model.nvlink_domain and (not model.gpus or model.nvlink_domain % model.gpus):
        yield (
            ("nvlink_domain",),
            f"{model.nvlink_domain} GPUs of an NVLink domain are no whole hosts of {model.gpus}",
            "Give a multiple of `gpus`.",
        )


def _speed_findings(nic: NicModel, port_gbps: int, *path: str | int) -> Iterator[Finding]:
    speeds = {use.speed_gbps for use in nic.port_splits}
    if port_gbps not in speeds:
        known = ", ".join(f"{speed}G" for speed in sorted(speeds))
        yield (*path, "port_gbps"), f"{nic.title} has no port of {port_gbps}G", f"It has {known}."


def _lane_findings(model: SwitchModel, nos: str) -> Iterator[Finding]:
    """The lane map has one list for each fabric cage, each as wide as the cage, and no lane twice."""
    settings, path = model.nos[nos], ("nos", nos)
    widths = [group.lanes for group in model.cages if group.fabric for _ in range(group.count)]
    lanes = settings["lanes"]
    if len(lanes) != len(widths):
        yield (
            (*path, "lanes"),
            f"{len(lanes)} lane lists for {len(widths)} fabric cages",
            "List one for each cage.",
        )
        return
    for number, (cage, width) in enumerate(zip(lanes, widths, strict=True), start=1):
        if len(cage) != width:
            yield (*path, "lanes"), f"lane list {number} has {len(cage)} lanes, its cage {width}", ""
            return
    ports = settings.get("service_ports", ())
    used = [lane for cage in lanes for lane in cage] + [lane for port in ports for lane in port["lanes"]]
    twice = len(used) - len(set(used))
    if twice:
        yield (*path, "lanes"), f"{twice} lanes are given twice", "Every lane belongs to one port."
