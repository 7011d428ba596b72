# ruff: noqa: E501  (an edit is one line)
"""Faults of NVUE's file that other systems do not have: profiles of ports, pools, splits, sessions, and logins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.audit.faults.edits import chain_edits, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.audit.faults.edits import Files

    Fault = dict[str, Callable[[Files], Files]]


def _change(*edits: tuple[str, str], count: int = 0) -> Fault:
    """Replace texts of NVUE's file one after another."""
    return {
        "cumulus": chain_edits(
            *(replace(pattern, text, file="startup.yaml", count=count) for pattern, text in edits)
        )
    }


_QOS = r"^    qos:\n"
_LOGIN = r"^      ssh-server:\n"
_BESIDE = r"^( +)(path-selection:\n)"
_LINK = r"(description: x0\d swp\d+\n(?:.*\n)*?        qos:\n)"
_GROUP, _OUT = r"^( +)(bfd:\n +detect)", r"^( +)(outbound:\n)"
_GLOBAL, _FAMILY = r"^( +)(multipaths:\n)", r"^( +)(policy:\n +inbound:)"

KINDS: dict[str, tuple[str, Fault]] = {
    "a scheduler of links that starves RDMA": ("tor", _change((_LINK, r"\1          egress-scheduler:\n            profile: SLOW\n"),
        (r"^      egress-scheduler:\n", r"\g<0>        SLOW:\n          traffic-class:\n            '0':\n              bw-percent: 95\n              mode: dwrr\n            '3':\n              bw-percent: 5\n              mode: dwrr\n"))),
    "a shaper of links": ("tor", _change((_LINK, r"\1          egress-shaper:\n            profile: SLOW\n"), (_QOS, r"\g<0>      egress-shaper:\n        SLOW:\n          port-max-rate: 100000\n"))),
    "an undefined scheduler of links": ("tor", _change((_LINK, r"\1          egress-scheduler:\n            profile: NOBODY\n"))),
    "link pause beside PFC": ("tor", _change((_LINK, r"\1          link-pause:\n            profile: ALL\n"), (_QOS, r"\g<0>      link-pause:\n        ALL:\n          rx: enable\n          tx: enable\n"))),
    "link pause instead of PFC": ("all", _change((_LINK + r"((?:          (?!pfc:).*\n)*)          pfc:\n.*\n", r"\1\2          link-pause:\n            profile: ALL\n"), (_QOS, r"\g<0>      link-pause:\n        ALL:\n          rx: enable\n          tx: enable\n"))),
    "more paths than NVUE takes": ("all", _change((r"(multipaths:\n +ebgp:) \d+", r"\1 512"))),
    "RDMA is sent with another code point": ("all", _change((_QOS, r"\g<0>      remark:\n        default-global:\n          rewrite: l3\n          switch-priority:\n            '3':\n              dscp: 0\n"))),
    "RDMA in a lossy priority group": ("all", _change((r"^        default-global:\n          egress-lossless-buffer:\n", "        default-global:\n          ingress-lossy-buffer:\n            priority-group:\n              bulk:\n                switch-priority:\n                  '3': {}\n          egress-lossless-buffer:\n"))),
    "RED on RDMA's queue": ("all", _change(("red: disable", "red: enable"))),
    "no share of the buffer": ("all", _change((r"(ingress-lossless-buffer:\n +shared-alpha:) \S+", r"\1 alpha_0"))),
    "a lossless pool of one percent": ("all", _change((r"(default-lossless:\n +memory-percent:) \d+", r"\1 1"), (r"(default-lossy:\n +memory-percent:) \d+", r"\1 99"))),
    "no pools at all": ("all", _change((r"^      traffic-pool:\n(?:        .*\n)+", ""))),
    "pauses end above their beginning": ("all", _change((r"xon-threshold: \d+", "xon-threshold: 200000"))),
    "the watchdog polls slowly": ("all", _change((r"polling-interval: \d+", "polling-interval: 5000"), (r"robustness: \d+", "robustness: 3"))),
    "unmarked traffic in the strict queue": ("all", _change((r"('0':\n +traffic-class:) 0", r"\1 6"))),
    "RDMA in a queue that does not mark": ("all", _change((r"('3':\n +traffic-class:) 3", r"\1 5"))),
    "profiles without a definition": ("all", _change((r"^    qos:\n(?:      .*\n)+", ""))),
    "FEC of slower links": ("all", _change(("fec: rs", "fec: baser"))),
    "a split into too many lanes": ("tor", _change((r"^( +)2x:\n", r"\g<1>4x:\n"))),
    "a lane that is too slow": ("tor", _change(("lanes-per-port: '4'", "lanes-per-port: '1'"))),
    "no split at all": ("tor", _change((r"^( +)2x:\n", r"\g<1>disabled:\n"))),
    "a split link": ("tor", _change((r"(description: x0\d swp\d+\n(?:.*\n)*?        link:\n)", r"\1          breakout:\n            2x: {}\n"), count=1)),
    "links that do not forward": ("tor", _change((r"(description: x0\d swp\d+\n        ip:\n)", r"\1          ipv4:\n            forward: 'off'\n"))),
    "a loopback in the VRF of management": ("all", _change((r"^(      lo:\n        ip:\n)", r"\1          vrf: mgmt\n"))),
    "a management port that is shut": ("all", _change((r"^      eth0:\n", r"\g<0>        link:\n          state:\n            down: {}\n"))),
    "no loopback": ("tor", _change((r"^(      lo:\n)        ip:\n          address:\n            \S+: \{\}\n", r"\1"))),
    "the own number of another process": ("all", _change((_BESIDE, r"\1autonomous-system: 65001\n\1\2"))),
    "unreachable by distance": ("all", _change((_GLOBAL, r"\1admin-distance:\n\1  external: 255\n\1  internal: 255\n\1\2"))),
    "a family that is off": ("tor", _change((r"(ipv4-unicast:\n +aggregate-route:\n(?:.*\n){2}\s+enable:) 'on'", r"\1 'off'"))),
    "communities that are not sent": ("all", _change((_FAMILY, r"\1community-advertise:\n\1  regular: 'off'\n\1\2"))),
    "announced on a condition of nobody": ("tor", _change((_FAMILY, r"\1conditional-advertise:\n\1  advertise-map: TO-UPSTREAM\n\1  enable: 'on'\n\1  exist-map: NOBODY\n\1\2"))),
    "announcements that come late": ("all", _change((_GROUP, r"\1timers:\n\1  route-advertisement: 600\n\1\2"))),
    "exports as imports": ("tor", _change(("route-map: FROM-UPSTREAM", "route-map: TO-UPSTREAM"))),
    "a list of another family": ("all", _change((r"(OWN-V4|FABRIC-V4)(:\n(?:.*\n)*?            type:) ipv4", r"\1\2 ipv6"))),
    "an export without a clause": ("tor", _change((r"^(          TO-UPSTREAM:\n            rule:)\n(?:              .*\n)+", r"\1 {}\n"))),
    "an address with a type of ports": ("all", _change(("type: numbered", "type: unnumbered"))),
    "a list of what leaves": ("all", _change((r"(FABRICC-ACCESS:\n +)inbound", r"\1outbound"))),
    "a list for the other family": ("all", _change((r"(FABRICC-ACCESS:\n(?:.*\n)*?        type:) ipv4", r"\1 ipv6"))),
    "a list of another port": ("all", _change((r"'22': \{\}", "'2222': {}"))),
    "logins by nobody's servers": ("all", _change((r"^      aaa:\n", r"\g<0>        authentication-order:\n          '1': tacacs\n"))),
    "root over SSH": ("all", _change((r"^      ssh-server:\n", r"\g<0>        permit-root-login: enabled\n"))),
    "SSH off": ("all", _change((r"(ssh-server:\n        state:) enabled", r"\1 disabled"))),
    "a rule that accepts everyone": ("all", _change((r"(FABRICC-ACCESS:\n        rule:\n)", r"\1          '5':\n            action:\n              permit: {}\n            match:\n              ip:\n                protocol: tcp\n"))),
    "a rule that denies one port": ("all", _change((r"('30':\n(?:.*\n){7}\s+'22': \{\}\n)\s+'443': \{\}\n", r"\1"))),
    "login by nobody": ("all", _change((r"          '20':\n            action:\n              permit: \{\}\n(?:            .*\n)+?(?=          '30')", ""))),
    "logs by another VRF": ("all", _change((r"(protocol: udp\n +vrf:) mgmt", r"\1 default"))),
    "time by another VRF": ("all", _change((r"(ntp:\n +)mgmt:", r"\1default:"))),
    "a wrong neighbor address": ("tor", _change((r"^( +)10\.64\.(\d+)\.0:$", r"\g<1>10.64.\g<2>.1:"), count=1)),
    "a link with the type of a bond": ("tor", _change((r"(description: x0\d swp\d+\n(?:.*\n)*?        type:) swp", r"\1 bond"), count=1)),
    "a group that neighbors do not name": ("all", _change((r"^( +)(UPSTREAM|DOWNSTREAM|[A-Z-]+):(\n\s+address-family:\n(?:.*\n)+?\s+policy:)", r"\1\2S:\3"))),
    "an identifier of zero": ("all", _change((r"router-id: \S+", "router-id: 0.0.0.0"))),
    "an identifier of nobody": ("all", _change((_BESIDE, r"\1router-id: 10.255.255.9\n\1\2"))),
    "SSH on a closed port": ("all", _change((_LOGIN, r"\g<0>        port:\n          '2222': {}\n"))),
    "an API on a closed port": ("all", _change((r"^      api:\n", r"\g<0>        port: 8080\n"))),
    "only another account over SSH": ("all", _change((_LOGIN, r"\g<0>        allow-users:\n          nobody: {}\n"))),
    "no login for the operator": ("all", _change((_LOGIN, r"\g<0>        deny-users:\n          netops: {}\n"))),
    "no rule of the loopback": ("all", _change((r"(FABRICC-ACCESS:\n        rule:\n)          '10':\n(?:            .*\n)+", r"\1"))),
    "a map to nobody's next hop": ("tor", _change((r"^    router:\n", r"\g<0>      pbr:\n        map:\n          AWAY:\n            rule:\n              '10':\n                action:\n                  nexthop-group:\n                    HOPS: {}\n"))),
    "the queue map under another name": ("all", _change((r"(egress-queue-mapping:\n +)default-global", r"\1rdma"))),
    "the map of code points under another name": ("all", _change((r"^(      mapping:\n +)default-global", r"\1rdma"))),
    "an undefined map of links": ("tor", _change((_LINK, r"\1          mapping:\n            profile: NOBODY\n"))),
    "PFC of no priority": ("all", _change((r"(switch-priority:)\n +'3': \{\}\n( +tx:)", r"\1 {}\n\2"))),
    "a misspelled key": ("all", _change((r"switch-priority(:\n +'3': \{\}\n +tx:)", r"switch-priorities\1"))),
    "a source of everyone": ("all", _change(("source-ip: 192.0.2.0/24", "source-ip: ANY"))),
    "an unbound list of IPv6": ("all", _change((r"^          FABRICC-ACCESS-V6:\n            inbound: \{\}\n", ""))),
    "a detour to a loopback": ("spine", _change((r"^(      default:\n        router:\n)((?:.*\n)*?            neighbor:\n +)(\S+):", r"\1          static:\n            10.128.0.12/32:\n              address-family: ipv4-unicast\n              via:\n                \3:\n                  type: ipv4-address\n\2\3:"))),
    "an import that permits every route": ("all", _change((r"(          FROM-UPSTREAM:\n(?:.*\n)*?              '20':\n +action:\n +permit: \{\}\n) +match:\n(?:                  .*\n)+", r"\1"))),
    "a port of a host without QoS": ("tor", _change((r"^(      swp1s0:\n(?:        .*\n)*?)        qos:\n(?:          .*\n)+", r"\1"))),
    "few packets of BGP": ("all", _change((r"^      control-plane:\n", r"\g<0>        policer:\n          bgp:\n            burst: 1\n            rate: 1\n            state: 'on'\n"))),
}  # fmt: skip
"""Each is found at the line that it changes."""
