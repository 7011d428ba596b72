"""Juniper Junos OS and Junos OS Evolved: the complete configuration of a switch, written and read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabricc.back.nos.junos import (
    bgp,
    bgp_rows,
    cages,
    filters,
    interfaces,
    non_forwarding,
    policy,
    qos,
    qos_rows,
    recognition,
    services,
    tenants,
)
from fabricc.back.nos.junos.foreign import instances
from fabricc.back.nos.junos.inheritance import APPLY, RANGE, apply_groups
from fabricc.back.nos.junos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.junos.non_forwarding import exec_lines, inactive_statements
from fabricc.back.nos.junos.words import name_at_speed, port_name
from fabricc.back.nos.single_file import SingleFileNos
from fabricc.back.reading import Reader
from fabricc.back.reading.tree import Tree, braces, commands
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from fabricc.back.nos.junos.bgp import PolicyView, RoutingView
    from fabricc.back.nos.junos.cages import ChassisPort
    from fabricc.back.nos.junos.filters import FilterView
    from fabricc.back.nos.junos.interfaces import FamilyView, InterfaceView
    from fabricc.back.nos.junos.qos import CosView
    from fabricc.back.nos.junos.services import BalancingView, ServicesView
    from fabricc.back.nos.junos.tenants import TenancyView
    from fabricc.fabric.model import Management, Switch
    from fabricc.fabric.routing import Bgp

FILE = "juniper.conf"
"""The whole configuration in curly braces, as `load override` takes it; `set` commands are read too."""
DEPARTURES = (*interfaces.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES, *services.DEPARTURES)
"""Facts of the Fabric that Junos rounds or omits."""

# Comments are taken as a whole (`*+`), so that many of them cost no more than their length.
_COMMANDS = re.compile(
    r"(?:\s|#[^\n]*|/\*[\s\S]*?\*/)*+(?:set|delete|(?:de)?activate|(?:un)?protect|insert|annotate)\s"
)
# What a terminal adds to a configuration that is shown on it, and what a collector does.
_TERMINAL = re.compile(
    r"^(?:\{(?:master|backup|primary|secondary|linecard|node)[^{}\n]*\}[^\n]*"
    r"|(?:\S{1,99}[>#] ?)?show configuration\b[^\n]*"
    r"|!RANCID-CONTENT-TYPE:[^\n]*)$",
    re.MULTILINE,
)
_TERMINAL_WORDS = ("show configuration", "{master", "{backup", "{primary", "{linecard", "!RANCID")


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `juniper.conf.j2` prints; `load_balancing` is the policy of the forwarding table.

    `tenants`: the routing instances of tenants, and the sessions of their routes.
    """

    name: str
    management: Management
    services: ServicesView
    maximum_ecmp: int
    buffer_monitor: bool
    chassis_ports: list[ChassisPort]
    interfaces: list[InterfaceView]
    loopback: list[FamilyView]
    filters: list[FilterView]
    management_filter: str | None
    balancing: BalancingView
    load_balancing: str
    policy: PolicyView
    cos: CosView
    bgp: Bgp
    routing: RoutingView
    tenants: TenancyView


def view(switch: Switch) -> SwitchView:
    """Return the plain objects that the templates print: every choice is made here, none there."""
    guards = filters.filter_views(switch)
    return SwitchView(
        name=switch.name,
        management=switch.management,
        services=services.services_view(switch),
        maximum_ecmp=bgp.maximum_ecmp(switch.bgp.maximum_paths),
        buffer_monitor=qos.buffer_monitor(switch),
        chassis_ports=cages.chassis_ports(switch),
        interfaces=interfaces.interface_views(switch),
        loopback=interfaces.loopback_views(switch, {guard.family: guard.name for guard in guards}),
        filters=guards,
        management_filter=filters.management_filter(switch),
        balancing=services.balancing_view(switch),
        load_balancing=bgp.LOAD_BALANCING_POLICY,
        policy=bgp.policy_view(switch.bgp),
        cos=qos.cos_view(switch),
        bgp=switch.bgp,
        routing=bgp.routing_view(switch),
        tenants=tenants.tenancy_view(switch),
    )


def _parse_tree(text: str) -> Tree:
    """Return the tree of a text in curly braces or of `set` commands, with what groups and ranges add to it."""
    if any(word in text for word in _TERMINAL_WORDS):
        text = _TERMINAL.sub("", text)
    tree = commands(text) if _COMMANDS.match(text) else braces(text)
    return apply_groups(tree) if APPLY in text or RANGE in text else tree


def _in_force(text: str) -> Tree:
    """The tree without what is known to have no effect: inactive statements, and groups that are not applied."""
    nodes, faults, inherited, reported = _parse_tree(text)
    nodes = [node for node in nodes if node.key[:1] != ("groups",)]
    return Tree(
        nodes, [each for each in faults if not each[1].startswith(_WITHOUT_EFFECT)], inherited, reported
    )


_WITHOUT_EFFECT = ("inactive: ", "deactivate ", "activate ", "protect ", "annotate ")


JUNOS = SingleFileNos(
    name="junos", releases=RELEASES, default_release=DEFAULT_RELEASE, file=FILE, template="juniper.conf.j2",
    port_name=port_name, name_at_speed=name_at_speed, gaps=gaps, view=view,
    reader=Reader(
        (
            interfaces.TOPIC, filters.TOPIC, policy.TOPIC, bgp_rows.TOPIC, instances.TOPIC, qos_rows.TOPIC,
            services.TOPIC,
        ),
        {**interfaces.TYPES, **policy.TYPES, **bgp_rows.TYPES, **qos_rows.TYPES, **services.TYPES},
        _parse_tree, once=True,
    ),
    adjust_profile=qos.adjust_profile,
    states=(interfaces.state, qos.state, bgp.state, tenants.state, filters.state, services.state),
    found=recognition,
    ignorable_reader=Reader((non_forwarding.TOPIC,), {}, _in_force),
    commands=non_forwarding.COMMANDS,
    find_exec_lines=exec_lines,
    find_reversals=inactive_statements,
)  # fmt: skip
