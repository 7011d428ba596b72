"""Find the values that nearly all similar devices share, and the devices with other values.

Devices of one tier, system and model are similar; so are their ports that lead to one kind of device. Each device has
one vote per statement: the value on most of its ports of a kind. If nearly all devices vote for a value, a port or
device with another value, or with none, is reported. If devices differ by design there is no such majority, and nothing
is reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from fabricc.base.values import dataclass
from fabricc.facts.statement import HOST, Statement, Tier
from fabricc.rules.next_hops import ports_of_static_routes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fabricc.fabric.facts import Value

LEAST = 5
"""Peers that must agree before a deviation is reported; of four, three suffice."""
_ODD = 20
"""At most one in this many may deviate and be reported."""
_FEW = 4
"""Fewer devices than this are no majority among themselves."""
_SERVICES = (
    "management/ntp", "management/syslog", "management/access", "management/aaa", "management/snmp", "management/dns",
    "management/tacacs", "management/radius", "management/gnmi", "management/default_account", "management/gateway",
    "platform/http_api", "platform/routing_agents", "platform/wait_install", "user[",
)  # fmt: skip
_SECRETS = ("secret", "password", "secret]")
"""Ends of paths of services whose values may differ: a hash has a salt."""
_DEVICE = (
    "qos/", "watchdog/", "pool/", "bfd/", "trimming/", "link_retry", "load_balancing/", "community_list[", "route_map[",
    "bgp/keepalive_s", "bgp/hold_s", "bgp/maximum_paths", "bgp/multipath", "bgp/redistribute", "bgp/requires_policy",
    "bgp/ttl_security", "prefix_list[", "platform/load", "breakout[", "bgp/family[", "spanning_tree/mode",
    "nccl/", "roce/", "apply/", "firmware/", "congestion/", "limit[", "service_limit[", "module[", "system/type",
    *_SERVICES,
)  # fmt: skip
_PORT = (
    "mtu", "layer2_mtu", "speed_gbps", "fec", "autoneg", "pfc", "trust", "watchdog", "flow_control", "headroom/",
    "queue[", "ecn_", "unnumbered", "set_dscp", "service_policy[", "qos_setting[", "routed", "switchport",
    "dhcp4", "dhcp6", "accept_ra", "renderer", "optional", "ring_",
)  # fmt: skip
_USE = ("speed_gbps", "autoneg", "layer2_mtu", "unnumbered", "routed", "switchport", "service_policy[")
_SESSION = (
    "families", "bfd", "import", "export", "send_community", "keepalive_s", "hold_s", "maximum_prefixes", "enabled",
    "ttl_security_hops", "multihop", "next_hop_self", "reflector_client", "extended_next_hop", "remove_private",
    "allow_as_in", "default_originate", "prefix_list_in", "prefix_list_out", "as_override", "weight", "setting[weight]",
    "setting[ipv4 weight]", "setting[ipv6 weight]",
)  # fmt: skip
PREFERENCES = ("weight", "weight]")
"""Ends of the leaves of sessions by which one takes the routes of all others."""
MAPS = ("route_map[", "prefix_list[", "community_list[")
_PROFILES = ("qos/marking[", "management/access_list[")
"""Profiles and lists by their names; their values are compared at the ports that have them, whose cables may differ."""
_DETAIL = 2
"""Slashes in the path of what only repeats parts of a clause."""
_CABLE = 2
"""Path of the cable length for which a kind of port has headroom."""

Kind = tuple[str, Tier, str]
Role = tuple[str, ...]
Votes = tuple[tuple[Role, int, tuple[tuple[str, "Value", int], ...]], ...]
"""Kind of port or session, its number, and the values of at least half: word of the path, value, how many."""


class Vote(NamedTuple):
    """The votes of a device.

    Attributes:
        device: path -> value of facts of the whole device.
        roles: votes of its ports and sessions.
    """

    kind: Kind
    device: tuple[tuple[str, Value], ...]
    roles: Votes


@dataclass(slots=True)
class VoteTable:
    """The votes of all devices; equal votes are one entry, so memory does not grow with the number of devices."""

    votes: dict[Kind, dict[Vote, list[str]]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)

    def add(self, name: str, vote: Vote, *, mixed: bool) -> None:
        """Add the votes of a device; `mixed` as from `vote`."""
        if mixed:
            self.mixed.add(name)
        self.votes.setdefault(vote.kind, {}).setdefault(vote, []).append(name)

    def of_all_tiers(self) -> dict[Kind, dict[Vote, list[str]]]:
        """Votes of switches of one system and model, whatever their tier: few spines are compared with many ToRs."""
        votes: dict[Kind, dict[Vote, list[str]]] = {}
        for (system, tier, model), found in self.votes.items():
            if tier is not Tier.HOST:
                mates = votes.setdefault((system, Tier.OTHER, model), {})
                for vote, names in found.items():
                    mates.setdefault(_of_switch(vote), []).extend(names)
        return votes


def _of_switch(vote: Vote) -> Vote:
    """Return a vote without what depends on the tier: of ports those between switches, of policy nothing."""
    device = tuple(each for each in vote.device if each[0].startswith(_OF_ALL))
    between = [(n, leaves) for role, n, leaves in vote.roles if is_between_switches(role)]
    if not between:
        return Vote(vote.kind, device, ())
    number, leaves = max(between, key=lambda each: each[0])
    return Vote((vote.kind[0], Tier.OTHER, vote.kind[2]), device, ((BETWEEN, number, leaves),))


def is_between_switches(role: Role) -> bool:
    """Return whether the ports of a kind lead to switches, and are no members of bundles."""
    return role[0] == "port" and role[1] in SWITCHES and role[-1] != _MEMBER


BETWEEN: Role = ("between switches",)
_MEMBER = "member"
_MANY = {Tier.TOR: "ToRs", Tier.SPINE: "spines", Tier.CORE: "cores", Tier.HOST: "hosts"}
SWITCHES = (Tier.TOR.value, Tier.SPINE.value, Tier.CORE.value)
_OF_ALL = (
    "qos/",
    "watchdog/",
    "bfd/",
    "bgp/keepalive_s",
    "bgp/hold_s",
    "bgp/multipath",
    "trimming/",
    "link_retry",
    *_SERVICES,
)


def kind_of(statement: Statement) -> Kind:
    """Return the kind of a device; devices of one kind are comparable."""
    ports = sum("rdma" in values for values in statement.ports.values())
    rails = f"{ports} rails" if statement.device.system == HOST and ports else ""
    return (
        statement.device.system,
        statement.place.tier,
        statement.device.model or statement.device.box or rails,
    )


def roles_of(statement: Statement) -> dict[Role, list[str]]:
    """Return the ports of each kind; those that are shut, lead to a router outside, or have no use are of none.

    The members of bundles are a kind of their own: the bundle has many of their settings.
    """
    roles: dict[Role, list[str]] = {}
    outside = ports_of_static_routes(statement)
    for port in statement.open_ports():
        if port in outside:
            continue
        values = statement.ports[port]
        use, cable = (
            "bridged" if "switchport" in values else "routed",
            str(values.get("headroom/cable_m", "")),
        )
        roles.setdefault(("port", use, cable, str(values.get("speed_gbps", ""))), []).append(port)
    for port in statement.fars:
        values = statement.ports.get(port, {})
        if values.get("enabled") != "false":
            far, cable = statement.fars[port].tier, str(values.get("headroom/cable_m", ""))
            kind = _MEMBER if "bundle" in values else ""
            if far is Tier.HOST:
                kind = str(values.get("speed_gbps", ""))  # hosts differ by design
            elif statement.place.tier is Tier.HOST:
                kind = port.rstrip("0123456789")  # ports of several networks have several names
            roles.setdefault(("port", far.value, cable, kind), []).append(port)
    return roles


def has_own_cables(statement: Statement, expected: Expected) -> bool:
    """Return whether ports have headroom for cables of a length that is not expected on devices of the kind."""
    lengths = {role[_CABLE] for role in roles_of(statement) if role[_CABLE]}
    return not lengths <= {role[_CABLE] for role in expected.roles if role[0] == "port"}


def session_roles(
    statement: Statement, near: Mapping[tuple[str, str], str]
) -> dict[Role, list[tuple[str, str]]]:
    """Kind of session -> the sessions of that kind: by what the port leads to; elsewhere by the group."""
    roles: dict[Role, list[tuple[str, str]]] = {}
    for key, values in statement.sessions.items():
        if "remote_asn" not in values and "remote_kind" not in values:
            continue
        far = statement.fars.get(near.get(key, ""))
        family = "ipv6" if ":" in key[1] else "ipv4"
        if far is None and "group" not in values:
            continue
        role = far.tier.value if far else f"group {values['group']}"
        roles.setdefault(("session", role, family, key[0]), []).append(key)
    return roles


def vote_of(statement: Statement, near: Mapping[tuple[str, str], str]) -> tuple[Vote, bool]:
    """Return the votes of a device without its own values, and whether few of its ports or sessions deviate."""
    device = tuple(
        (path, value)
        for path, value in statement.rest.items()
        if path.startswith(_DEVICE)
        and not path.startswith(_PROFILES)
        and not path.endswith(_SECRETS)
        and (not path.startswith(MAPS) or path.count("/") < _DETAIL)
    )
    leading = tuple([(near.get(key), ":" in key[1]) for key in statement.sessions])
    roles, mixed = statement.once((vote_of, leading), lambda: _port_votes(statement, near))
    return Vote(kind_of(statement), device, roles), mixed


def _port_votes(statement: Statement, near: Mapping[tuple[str, str], str]) -> tuple[Votes, bool]:
    """Return the votes of its ports and sessions."""
    every = {
        role: [port_statements(statement, port, role) for port in ports]
        for role, ports in roles_of(statement).items()
    }
    for role, keys in session_roles(statement, near).items():
        every[role] = [session_statements(statement, key) for key in keys]
    counted = {role: (len(values), _count_values(values)) for role, values in every.items()}
    roles = tuple(
        (role, number, _most_common_values(number, counts)) for role, (number, counts) in counted.items()
    )
    mixed = any(
        _odd_one_out(values, number) or (leaf.endswith(PREFERENCES) and values.total() < number)
        for number, counts in counted.values()
        for leaf, values in counts.items()
    )
    return roles, mixed


def session_statements(statement: Statement, key: tuple[str, str]) -> dict[str, Value]:
    """Return the statements about a session that are compared."""
    return {leaf: v for leaf, v in statement.sessions[key].items() if leaf in _SESSION}


def port_statements(statement: Statement, port: str, role: Role) -> dict[str, Value]:
    """Return the statements about a port that are compared; for an unknown far end only those about losslessness."""
    compared = _is_lossless_leaf if role[1:2] in (("bridged",), ("routed",)) else _is_compared
    return {leaf: v for leaf, v in statement.ports.get(port, {}).items() if compared(leaf)}


@lru_cache(maxsize=1 << 12)
def _is_lossless_leaf(leaf: str) -> bool:
    return leaf.startswith(_PORT) and not leaf.startswith(_USE)


@lru_cache(maxsize=1 << 12)
def _is_compared(leaf: str) -> bool:
    return leaf.startswith(_PORT)


def _count_values(values: list[dict[str, Value]]) -> dict[str, Counter[Value]]:
    """Return for each leaf how many ports have each value."""
    counts: dict[str, Counter[Value]] = {}
    for each, times in Counter(tuple(each.items()) for each in values).items():
        for leaf, value in each:
            counts.setdefault(leaf, Counter())[value] += times
    return counts


def _odd_one_out(values: Counter[Value], number: int) -> bool:
    """Return whether only a few ports or sessions have another value than nearly all, none, or as the only ones one."""
    most = values.most_common(1)[0][1]
    return most < number and is_overwhelming(max(most, number - values.total()), number)


def _most_common_values(
    number: int, counts: Mapping[str, Counter[Value]]
) -> tuple[tuple[str, Value, int], ...]:
    """Return for each leaf the most common value and how many have it."""
    found = []
    for leaf, values in counts.items():
        value, times = values.most_common(1)[0]
        if times * 2 >= number:
            found.append((leaf, value, times))
    return tuple(found)


def is_overwhelming(most: int, every: int) -> bool:
    """Return whether `most` of `every` is enough to expect the value everywhere."""
    odd = every - most
    return (most >= LEAST and odd <= max(1, every // _ODD)) or (every == 4 and most == 3)


def odd_devices(ballot: VoteTable) -> dict[str, list[Expected]]:
    """Return devices with deviations, and the expected values of their kind.

    The kind is that of their tier; if a tier has few devices and they differ, all tiers decide which is odd.
    """
    found: dict[str, list[Expected]] = {}
    few: list[dict[Vote, list[str]]] = []
    for kind, votes in ballot.votes.items():
        expected = _expected_values(kind, votes)
        if expected.size < _FEW and kind[1] is not Tier.HOST:
            few.append(votes)
        for vote, names in votes.items():
            differs = _has_difference(vote, expected)
            uneven = [
                leaf in expected.roles.get(role, ())
                for role, ports, leaves in vote.roles
                for leaf, _, times in leaves
                if times < ports
            ]
            for name in names:
                if differs or any(uneven) or name in ballot.mixed:
                    found.setdefault(name, []).append(expected)
    for kind, votes in ballot.votes.items():
        for name, expected in _values_of_twins(kind, votes):
            found.setdefault(name, []).append(expected)
    every = ballot.of_all_tiers() if few else {}
    for votes in few:
        mates = [(_of_switch(vote), names) for vote, names in votes.items()]
        system, _, model = mates[0][0].kind
        expected = _disputed_values(
            _expected_values((system, Tier.OTHER, model), every[system, Tier.OTHER, model]), mates
        )
        for vote, names in mates:
            if _has_difference(vote, expected):
                for name in names:
                    found.setdefault(name, []).append(expected)
    return found


_SHARED = 6
"""Statements that two switches share at least if they are to be the same; in half as many they may differ."""


def _values_of_twins(kind: Kind, votes: Mapping[Vote, list[str]]) -> Iterator[tuple[str, Expected]]:
    """Yield the two switches of a tier if they are nearly the same, each with the values of the other.

    These are those of traffic classes, PFC and BFD, and the services that one of them has.
    """
    if kind[1].value not in SWITCHES or len(votes) != _TWO or sum(map(len, votes.values())) != _TWO:
        return
    for (vote, (name,)), (other, (witness,)) in permutations(votes.items()):
        mine, its = dict(vote.device), dict(other.device)
        differing = {path for path in mine.keys() | its.keys() if mine.get(path) != its.get(path)}
        wanted: dict[str, tuple[Value | None, int]] = {
            path: (value, 1)
            for path, value in its.items()
            if path in differing
            and path.startswith(_OF_ALL)
            and (path not in mine or not path.startswith(_SERVICES))
            and not path.startswith(_OWN)
        }
        shared = len(mine.items() & its.items())
        if wanted and shared >= max(_SHARED, 2 * len(differing)):
            yield name, Expected(kind, _TWO, wanted, {}, witness)


_TWO = 2
_OWN = ("management/gateway", "user[")
"""Statements about services that are of one device alone."""


def _disputed_values(expected: Expected, mates: Iterable[tuple[Vote, list[str]]]) -> Expected:
    """Return the values expected by all tiers on which the few devices of one tier disagree."""
    device = [dict(vote.device) for vote, _ in mates]
    ports = [{leaf: v for *_, leaves in vote.roles for leaf, v, _ in leaves} for vote, _ in mates]
    return expected._replace(
        device={path: v for path, v in expected.device.items() if len({d.get(path) for d in device}) > 1},
        roles={
            role: {leaf: v for leaf, v in leaves.items() if len({p.get(leaf) for p in ports}) > 1}
            for role, leaves in expected.roles.items()
        },
    )


class Expected(NamedTuple):
    """The values that nearly all devices of a kind share.

    Attributes:
        device: path -> value, and how many have it.
        roles: kind of port or session -> word of the path -> value, and the devices that have it.
    """

    kind: Kind
    size: int
    device: dict[str, tuple[Value | None, int]]
    roles: dict[Role, dict[str, tuple[Value, str]]]
    witness: str


def _expected_values(kind: Kind, votes: Mapping[Vote, list[str]]) -> Expected:
    size = sum(map(len, votes.values()))
    paths: dict[str, Counter[Value]] = {}
    holders: Counter[Role] = Counter()
    members: Counter[Role] = Counter()  # ports or sessions of all holders
    leaves: dict[tuple[Role, str], Counter[Value]] = {}
    common: Counter[tuple[Role, str]] = Counter()  # members with the common value of their device
    for vote, names in votes.items():
        for path, value in vote.device:
            paths.setdefault(path, Counter())[value] += len(names)
        for role, number, found in vote.roles:
            holders[role] += len(names)
            members[role] += number * len(names)
            for leaf, value, times in found:
                leaves.setdefault((role, leaf), Counter())[value] += len(names)
                common[role, leaf] += times * len(names)
    device: dict[str, tuple[Value | None, int]] = {}
    for path, values in paths.items():
        most, times = values.most_common(1)[0]
        silent = size - values.total()
        if is_overwhelming(times, size):
            device[path] = most, times
        elif silent >= LEAST and is_overwhelming(silent, size) and _counts_alone(path):
            device[path] = None, silent
    of_roles: dict[Role, dict[str, tuple[Value, str]]] = {}
    for (role, leaf), values in leaves.items():
        most, times = values.most_common(1)[0]
        if is_overwhelming(times, holders[role]):
            of_roles.setdefault(role, {})[leaf] = most, describe_peers(times, kind)
        elif 1 < times == holders[role] <= _FEW and is_overwhelming(common[role, leaf], members[role]):
            who = f"{common[role, leaf]} of {members[role]} such {role[0]}s of {describe_peers(times, kind)}"
            of_roles.setdefault(role, {})[leaf] = most, who
    for role, number in members.items():
        if number == 1 and (kin := _without_headroom(role, members)):
            of_roles[role] = of_roles.get(kin, {})
    agreeing = {
        vote: sum(each in device and device[each][0] == value for each, value in vote.device)
        for vote in votes
    }
    witness = votes[max(votes, key=lambda vote: (agreeing[vote], len(votes[vote])))][0]
    return Expected(kind, size, device, of_roles, witness)


def _without_headroom(role: Role, members: Mapping[Role, int]) -> Role | None:
    """Return the kind of port that a lone one would be of if it stated for how long a cable its headroom is."""
    if role[0] != "port" or role[_CABLE]:
        return None
    kin = [each for each in members if each[0] == "port" and each[_CABLE] and _without_cable(each) == role]
    return kin[0] if len(kin) == 1 and members[kin[0]] >= LEAST else None


def _without_cable(role: Role) -> Role:
    return (*role[:_CABLE], "", *role[_CABLE + 1 :])


def _counts_alone(path: str) -> bool:
    """Return whether a statement that no other device makes counts: the others have a default there."""
    return path.startswith(("qos/", "watchdog/", "pool/", "bgp/m", "trimming/", "load_balancing/"))


def describe_peers(number: int, kind: Kind) -> str:
    """Return a number of devices of a kind, in words."""
    many = _MANY.get(kind[1], "switches")
    return f"{number:,} {many}" if number > 1 else f"the other one of two {many}"


def _has_difference(vote: Vote, expected: Expected) -> bool:
    values = dict(vote.device)
    if any(values.get(path) != value for path, (value, _) in expected.device.items()):
        return True
    for role, _, leaves in vote.roles:
        have = {leaf: value for leaf, value, _ in leaves}
        if any(have.get(leaf) != value for leaf, (value, _) in expected.roles.get(role, {}).items()):
            return True
    return False
