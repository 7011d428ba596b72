"""Arista EOS: the complete running configuration of a switch, written and read back."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.policy import POLICY
from fabricc.back.nos.eos import bgp, interfaces, qos, services
from fabricc.back.nos.eos.limits import DEFAULT_RELEASE, RELEASES, gaps
from fabricc.back.nos.eos.words import port_name
from fabricc.back.nos.reading.reader import Reader
from fabricc.back.nos.single_file import SingleFileNos
from fabricc.base.values import dataclass
from fabricc.fabric.facts import switch_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Switch

FILE = "running-config.cfg"
"""The whole running configuration, as loaded with `configure replace`."""
DEPARTURES = (*interfaces.DEPARTURES, *qos.DEPARTURES, *bgp.DEPARTURES, *services.DEPARTURES)
"""What EOS does not hold as the Fabric states it."""


@dataclass(frozen=True, slots=True)
class SwitchView:
    """Everything `running-config.j2` prints, a part for each topic."""

    name: str
    management: services.ManagementView
    balancing: services.BalancingView
    interfaces: interfaces.InterfacesView
    qos: qos.QosView
    bgp: bgp.BgpView


def view(switch: Switch) -> SwitchView:
    """The plain objects that the templates print: every choice is made here, none there."""
    balancing = services.balancing_view(switch)
    policy = qos.qos_view(switch)
    return SwitchView(
        name=switch.name,
        management=services.management_view(switch, balancing),
        balancing=balancing,
        interfaces=interfaces.interfaces_view(switch, policy),
        qos=policy,
        bgp=bgp.bgp_view(switch.bgp),
    )


def planned(switch: Switch) -> Facts:
    """The facts that reading the rendered configuration gives: the Fabric's but for `DEPARTURES`, and EOS's own."""
    facts = switch_facts(switch, partial(qos.express, switch))
    for topic in (interfaces, qos, bgp, services):
        topic.state(facts, switch)
    return facts


@cache
def reader() -> Reader:
    """The reader of EOS; it is made when there is something to read."""
    topics = (services.TOPIC, qos.TOPIC, interfaces.TOPIC, bgp.TOPIC, POLICY)
    return Reader(topics, {**qos.TYPES, **interfaces.TYPES, **bgp.TYPES})


def read(files: Mapping[str, str]) -> Reading:
    """The facts of a switch's files."""
    return reader().read(files)


EOS = SingleFileNos(
    name="eos",
    releases=RELEASES,
    default_release=DEFAULT_RELEASE,
    file=FILE,
    template="running-config.j2",
    port_name=port_name,
    gaps=gaps,
    view=view,
    read=read,
    planned=planned,
)
