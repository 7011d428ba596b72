"""Compare a lab's steady state with its prediction: sessions, next hops, reachability, policy routing, MTU, marking."""

from __future__ import annotations

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.compiler.render.switch_files import render_switch
from fabricc.fabric.shape import TierName
from fabricc.operate.lab import endpoints as lab_endpoints
from fabricc.operate.lab import flows, observe
from fabricc.operate.lab.agreement import STEADY, Check, Trial
from fabricc.operate.lab.observe import bgp_widths
from fabricc.operate.lab.predict import End, Prediction, predict_network
from fabricc.operate.lab.state import Cable, cable_ends, ends_of_cables, vrf_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.model import Host, Switch
    from fabricc.operate.lab.running import Lab

ECT0 = 2  # RFC 3168: ECN-capable transport, as RoCEv2 senders mark
_LLDP_LIMIT_S = 30.0
_RECEIVE_LIMIT_S, _POLL_S = 15.0, 0.5
_MOST_RELOADS, _PARALLEL = 48, 2
"""frr-reload takes a quarter of a second of CPU a switch; beyond so many switches, only the first ones are compared."""
_LINE = re.compile(r"^(\S+) from (\S+) .*?dev (\S+)")


@dataclass(frozen=True, slots=True)
class Network:
    """A lab with the plan behind it."""

    lab: Lab
    fabric: Fabric
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]

    @classmethod
    def of(cls, lab: Lab, fabric: Fabric) -> Network:
        """Return every device of the fabric, expanded."""
        switches = tuple(fabric.switch(at) for at in fabric.switch_ids())
        return cls(lab, fabric, switches, tuple(fabric.host(at) for at in fabric.host_ids()))

    def predict(self, down: frozenset[End] = frozenset()) -> Prediction:
        """Predict the state of the network while some link ends are down."""
        return predict_network(self.switches, down, lab_endpoints.outside_answers(self.fabric))

    def miswired_ports(self) -> frozenset[End]:
        """Return the ports whose cable leads elsewhere than planned."""
        return frozenset(ends_of_cables(self.unplugged_cables()))

    def unplugged_cables(self) -> set[Cable]:
        """Return cables of the plan that are not where they are to be."""
        return {*cable_ends(self.fabric.cables())} - {*self.lab.record.cables}

    def neighbors(self) -> observe.Neighbors:
        """Return the planned LLDP neighbors of each switch among switches; a port that is shut down has none."""
        known = {switch.name for switch in self.switches}
        lit = {(switch.name, port.name) for switch in self.switches for port in switch.ports if port.enabled}
        found: observe.Neighbors = {name: {} for name in known}
        for cable in self.fabric.cables():
            lower, upper = (cable.a_device, cable.a_port), (cable.b_device, cable.b_port)
            if lit >= {lower, upper}:
                found[lower[0]][lower[1]] = upper
                found[upper[0]][upper[1]] = lower
        return found

    def rails(self) -> list[lab_endpoints.Endpoint]:
        """Return every rail address."""
        return lab_endpoints.rail_endpoints(self.hosts, self.switches)

    def marks(self) -> list[int]:
        """Return the traffic class byte of each class: its code point, and ECN-capable."""
        return [traffic.data_dscp << 2 | ECT0 for traffic in self.switches[0].qos.classes] or [ECT0]


def compare_steady(network: Network, trial: Trial, *, quick: bool = False) -> None:
    """Compare everything that holds while nothing fails; `quick` compares one configuration of each kind of switch."""
    prediction = network.predict()
    compare_cabling(network, trial)
    compare_configurations(network, trial, one_of_each=quick)
    compare_sessions(network, prediction, trial.check(STEADY, "BGP sessions", "exactly these, Established"))
    compare_widths(network, prediction, trial, STEADY)
    compare_reach(network, prediction, trial, STEADY)
    compare_outside(network, prediction, trial)
    compare_policy_routes(network, trial)
    compare_mtu(network, prediction, trial)


def compare_cabling(network: Network, trial: Trial) -> None:
    """Compare the LLDP neighbors of every port toward another switch with the cabling plan."""
    if not network.lab.record.lldp:
        return
    check = trial.check(STEADY, "cables between switches", "both ends as planned, by LLDP")
    wanted = network.neighbors()
    seen = observe.wait_for_neighbors(network.lab, wanted, _LLDP_LIMIT_S)
    for switch, ports in wanted.items():
        for port in sorted(ports.keys() | seen[switch].keys()):
            planned, received = (found.get(port) for found in (ports, seen[switch]))
            words = [":".join(end) if end else "nobody" for end in (planned, received)]
            check.add(planned == received, f"{switch}:{port}: planned {words[0]}, heard {words[1]}")


def compare_configurations(network: Network, trial: Trial, *, one_of_each: bool = False) -> None:
    """Check that frr-reload finds nothing to change between a switch's emitted file and its running daemons."""
    fabric = network.fabric
    chosen = fabric.kinds() if one_of_each else islice(fabric.switch_ids(), _MOST_RELOADS)
    check = trial.check(STEADY, "running configuration", "frr-reload finds nothing to change")
    files = {switch.name: switch for switch in network.switches}
    names = [fabric.name(at) for at in chosen]
    with ThreadPoolExecutor(_PARALLEL) as pool:
        found = pool.map(lambda name: network.lab.pending(name, render_frr(files[name])), names)
        for name, lines in zip(names, found, strict=True):
            check.add(not lines, f"{name}: {'; '.join(lines[:4])}")


def render_frr(switch: Switch) -> str:
    """Return the `frr.conf` of a switch."""
    return render_switch(switch)["frr.conf"]


def compare_sessions(network: Network, prediction: Prediction, check: Check) -> None:
    """Every planned session in its predicted state, and no neighbor that is not planned."""
    wrong = observe.session_differences(network.lab, prediction)
    known = sum(len(found) for found in prediction.sessions.values())
    unplanned = [found for found in wrong if found[2] is None]
    check.facts += known + len(unplanned)
    check.agreed += known + len(unplanned) - len(wrong)
    words = {True: "Established", False: "down", None: "no such neighbor"}
    check.wrong += [
        f"{switch} {neighbor}: predicted {words[wanted]}, observed {words[seen]}"  # type: ignore[index]
        for switch, neighbor, wanted, seen in wrong
    ]


def compare_widths(network: Network, prediction: Prediction, trial: Trial, group: str) -> None:
    """Next hops in every kernel, by tier of the switch and class of the prefix."""
    classes, tiers = prefix_classes(network.switches), {s.name: s.tier.value for s in network.switches}
    beyond = lab_endpoints.outside_answers(network.fabric).values()
    classes |= {str(prefix): "prefix outside" for found in beyond for prefix in found.prefixes}
    classes |= {endpoint.prefix: "link of its tenant" for endpoint in network.rails() if endpoint.vrf}
    tiers |= {
        vrf_table(switch.name, tenant.name): f"VRF of a {switch.tier.value}"
        for switch in network.switches
        if switch.tenants
        for tenant in switch.tenants.tenants
    }
    checks: dict[tuple[str, str, int], Check] = {}
    wrong = {
        (switch, prefix): seen
        for switch, prefix, _, seen in observe.width_differences(network.lab, prediction)
    }
    for switch, widths in prediction.widths.items():
        for prefix in sorted(widths.keys() | {prefix for name, prefix in wrong if name == switch}):
            wanted = widths.get(prefix, 0)
            key = (tiers[switch], classes.get(prefix, "unplanned prefix"), wanted)
            if key not in checks:
                what = f"next hops in the kernel: {key[0]} to {key[1]}"
                checks[key] = trial.check(group, what, str(wanted))
            seen = wrong.get((switch, prefix), wanted)
            checks[key].add(seen == wanted, f"{switch} {prefix}: predicted {wanted}, observed {seen}")


def prefix_classes(switches: Sequence[Switch]) -> dict[str, str]:
    """Return prefix -> `tor aggregate`, `spine loopback` and the like."""
    found = {}
    for switch in switches:
        for prefix in switch.bgp.aggregates:
            found[prefix] = f"{switch.tier.value} aggregate"
        for endpoint in lab_endpoints.loopback_endpoints([switch]):
            found[endpoint.prefix] = f"{switch.tier.value} loopback"
    return found


def compare_reach(network: Network, prediction: Prediction, trial: Trial, group: str) -> None:
    """One datagram between every two rail addresses: whether it arrives, whence, by how many switches, how marked."""
    endpoints = network.rails()
    wanted = flows.choose_pairs(endpoints, prediction)
    seen = flows.exchange_datagrams(network.lab, endpoints, wanted, network.marks())
    reach = trial.check(group, "rail to rail", "reachability as planned")
    hops = trial.check(group, "switches on the way", "as many as the plan has")
    source = trial.check(group, "source address", "the sender's rail")
    interface = trial.check(group, "arriving rail", "the address's own port")
    tos = trial.check(group, "DSCP and ECN at the receiver", "as sent, for every class")
    for number, pair in enumerate(wanted):
        names = f"{endpoints[pair.sender].address} to {endpoints[pair.receiver].address}"
        found = seen.get(number)
        words = f"{names}: {'lost' if pair.hops else 'arrived'}"
        reach.add((found is not None) == (pair.hops is not None), words)
        if found is not None:
            hops.add(found.hops == pair.hops, f"{names}: {found.hops} switches, predicted {pair.hops}")
            source.add(found.source, f"{names}: from another address")
            interface.add(found.interface, f"{names}: on another port")
            tos.add(found.tos, f"{names}: marked otherwise")


def compare_outside(network: Network, prediction: Prediction, trial: Trial) -> None:
    """Compare reachability between hosts and outside prefixes both ways, and the prefixes that parties receive."""
    far = lab_endpoints.outside_endpoints(network.fabric)
    if far:
        rails = network.rails()
        there = range(len(rails), len(rails) + len(far))
        both = [*rails, *far]
        wanted = [
            pair
            for out in there
            for rail in range(len(rails))
            if rails[rail].version == both[out].version
            for hops in [prediction.hops(rails[rail], both[out])]
            for pair in (flows.Pair(rail, out, hops), flows.Pair(out, rail, hops))
        ]
        received = flows.exchange_datagrams(network.lab, both, wanted, network.marks())
        ways = [
            trial.check(STEADY, way, "reachability as planned")
            for way in ("host to outside", "outside to host")
        ]
        for number, pair in enumerate(wanted):
            names = f"{both[pair.sender].address} to {both[pair.receiver].address}"
            arrived = number in received
            way = ways[pair.sender in there]
            way.add(arrived == (pair.hops is not None), f"{names}: {'arrived' if arrived else 'lost'}")
    aggregates = {prefix for switch in network.switches for prefix in switch.bgp.aggregates}
    for party in lab_endpoints.links_of(network.fabric):
        if party.asn is not None:
            check = trial.check(STEADY, "prefixes that outside parties receive", "aggregates alone")
            name = lab_endpoints.name_of(party)
            seen = _received_prefixes(network.lab.record.namespace(name), aggregates)
            for prefix in sorted(seen | aggregates):
                words = f"{name}: {prefix} is {'not one' if prefix in seen else 'missing'}"
                check.add(prefix in seen and prefix in aggregates, words)


def _received_prefixes(namespace: str, expected: set[str]) -> set[str]:
    """Wait for the wanted prefixes of a party, and return the received ones: they arrive later than on switches."""
    limit = time.monotonic() + _RECEIVE_LIMIT_S
    while (seen := set(bgp_widths(namespace))) != expected and time.monotonic() < limit:
        time.sleep(_POLL_S)
    return seen


def compare_policy_routes(network: Network, trial: Trial) -> None:
    """Check the routing decision of each host's kernel for each rail address: a datagram leaves by that rail."""
    check = trial.check(STEADY, "policy routes", "each rail's source leaves by its own port")
    endpoints = network.rails()
    for host in network.hosts:
        own = {endpoint.address: endpoint for endpoint in endpoints if endpoint.node == host.name}
        requested = [
            (far.address, near.address) for near in own.values() for far in _far_endpoints(near, endpoints)
        ]
        answers = _route_decisions(network.lab.record.namespace(host.name), requested)
        for destination, source in requested:
            seen = answers.get((destination, source))
            words = f"{host.name} {source} to {destination}: by {seen}, not {own[source].port}"
            check.add(seen == own[source].port, words)


def _far_endpoints(
    near: lab_endpoints.Endpoint, endpoints: Sequence[lab_endpoints.Endpoint]
) -> Iterator[lab_endpoints.Endpoint]:
    """Yield one address of each other rail, and of its own, on another host."""
    reported = set()
    for endpoint in endpoints:
        if endpoint.node != near.node and endpoint.version == near.version and endpoint.port not in reported:
            reported.add(endpoint.port)
            yield endpoint


def _route_decisions(namespace: str, requested: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(destination, source) -> interface, as the kernel of a namespace decides."""
    text = "".join(f"route get {destination} from {source}\n" for destination, source in requested)
    command = ["ip", "-n", namespace, "-force", "-batch", "-"]
    ran = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    found = (_LINE.match(line) for line in ran.stdout.splitlines())
    return {(match[1], match[2]): match[3] for match in found if match}


def compare_mtu(network: Network, prediction: Prediction, trial: Trial) -> None:
    """Datagrams of exactly the MTU with Don't Fragment: hosts over the fabric, ToRs over their uplinks."""
    fabric = network.fabric
    tors = [switch for switch in network.switches if switch.tier is TierName.TOR]
    for what, endpoints, mtu in (
        ("hosts", network.rails(), fabric.host_mtu),
        ("ToRs", lab_endpoints.loopback_endpoints(tors), fabric.switch_mtu),
    ):
        whole = trial.check(STEADY, f"MTU between {what}", f"{mtu} bytes pass whole")
        more = trial.check(STEADY, f"MTU limit of {what}", f"{mtu + 1} bytes are refused")
        for sender, receiver, fit in flows.probe_mtu(network.lab, endpoints, mtu, prediction):
            whole.add(fit.arrived, f"{sender.address} to {receiver.address}: {mtu} bytes do not arrive")
            more.add(fit.refused, f"{sender.address} to {receiver.address}: {mtu + 1} bytes are sent")
