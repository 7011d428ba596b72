"""All policies of a configuration together, and what those in force say of the whole switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.nxos.named import ONCE
from fabricc.back.nos.nxos.read_qos import (
    ClassifyBlock,
    ClassMapBlock,
    NetworkQosBlock,
    QueuingBlock,
    SystemQosBlock,
)
from fabricc.back.nos.nxos.vocabulary import ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabricc.back.nos.cli_dialect.document import Block, Put
    from fabricc.back.nos.nxos.read_interfaces import InterfaceBlock


class Policies:
    """The class maps and policies by name, and `system qos`."""

    __slots__ = ("class_maps", "classification", "classify", "network_qos", "queuing", "system")

    def __init__(self) -> None:
        self.class_maps: dict[str, ClassMapBlock] = {}
        self.classify: dict[str, ClassifyBlock] = {}
        self.network_qos: dict[str, NetworkQosBlock] = {}
        self.queuing: dict[str, QueuingBlock] = {}
        self.system = SystemQosBlock()
        self.classification = ""

    def open(self, words: list[str], number: int) -> Block | bool:
        """The block of a `class-map type …` or `policy-map type …` line; False when it is not known."""
        if words[1:2] != ["type"] or len(words) not in (4, 5):
            return False
        name = words[-1]
        kind = " ".join([words[0], *words[2:-1]])
        if kind in ("class-map qos match-any", "class-map qos match-all"):
            return self.class_maps.setdefault(name, ClassMapBlock(number))
        if kind in ("policy-map qos", "policy-map qos match-first"):
            return self.classify.setdefault(name, ClassifyBlock(number))
        if kind in ("policy-map network-qos", "policy-map network-qos match-any"):
            return self.network_qos.setdefault(name, NetworkQosBlock(number))
        if kind in ("policy-map queuing", "policy-map queuing match-any"):
            return self.queuing.setdefault(name, QueuingBlock(number))
        return False

    def network(self) -> NetworkQosBlock | None:
        """The network-qos policy in force."""
        return self.network_qos.get(self.system.name("network-qos"))

    def undefined(self) -> Iterator[tuple[int, str]]:
        """(line, text) of each class that a classification policy names and no class map defines."""
        for policy in self.classify.values():
            for name, line in policy.classes.items():
                if name != "class-default" and name not in self.class_maps:
                    yield line, f"class {name}"

    def finish(self, interfaces: Iterable[InterfaceBlock], put: Put) -> None:
        """State the switch's facts; the classification is that of the first interface that has one."""
        self._definitions(put)
        used = (block.policies.get("qos input", "") for block in interfaces)
        self.classification = next((name for name in used if name in self.classify), "")
        if self.classification:
            table = self.classify[self.classification].map(self.class_maps)
            for dscp, (group, line) in table.items():
                put(f"qos/dscp[{dscp}]/traffic_class", group, line)
            said = dict(self.classify[self.classification].groups.values())
            for group, line in table.values():
                put(f"qos/traffic_class[{group}]/queue", group, said.get(group, line))
        if network := self.network():
            for priority, (group, line) in network.pauses.items():
                put(f"qos/pfc_priority[{priority}]/queue", group, line)
                put(f"qos/pfc_priority[{priority}]/priority_group", group, line)
                put(f"qos/traffic_class[{group}]/priority_group", group, line)
        for kind, (name, line) in self.system.applied.items():
            put(f"structure/system_qos/{kind}", name, line)
        for name, policy in self.queuing.items():
            if policy.queues:
                idle = ",".join(map(str, policy.idle()))
                put(f"platform/queuing[{name}]/idle", idle, policy.number)

    def _definitions(self, put: Put) -> None:
        """State which maps and policies there are, and what each class of theirs says."""
        for name, class_map in self.class_maps.items():
            path = f"structure/class_map[{name}]"
            put(f"{path}/defined", ONCE, class_map.number)
            if class_map.dscps:
                put(f"{path}/dscps", ranges(class_map.dscps), max(class_map.dscps.values()))
        for name, classify in self.classify.items():
            put(f"structure/policy_map[qos {name}]/defined", ONCE, classify.number)
        for kind, policies in (("network-qos", self.network_qos), ("queuing", self.queuing)):
            for name, policy in policies.items():
                path = f"structure/policy_map[{kind} {name}]"
                put(f"{path}/defined", ONCE, policy.number)
                for queue, line in policy.classes.items():
                    put(f"{path}/{queue}/defined", ONCE, line)
                for about, said, line in policy.said():
                    put(f"{path}/{about}", said, line)
