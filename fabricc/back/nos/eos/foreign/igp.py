"""OSPF and IS-IS of EOS, which fabricc reads and does not write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.eos.words import default_rows, setting_rows, stored_rows
from fabricc.back.reading import Block, Document, Entry, Fact, Keep, Row, Silent, Topic

if TYPE_CHECKING:
    from collections.abc import Sequence


ALL = "all"
"""Routes that no route map filters."""
SECRET = "set"
"""In place of a key, which is not read."""

PORT_ROWS: Sequence[Row] = (
    Keep("ip ospf area <word>", "ospf_area"),
    Keep("ip ospf <integer> area <word>", {"ospf_process": "{1}", "ospf_area": "{2}"}),
    Keep("ip ospf cost <integer>", "ospf_cost"),
    Keep("ip ospf network <word>", "ospf_network"),
    Keep("ip ospf (message-digest-key|authentication-key) <rest>", "ospf_setting[key]", SECRET),
    *stored_rows("ospf_setting", 1, (
        "ip ospf authentication", "ip ospf authentication <rest>", "ip ospf hello-interval <rest>",
        "ip ospf dead-interval <rest>", "ip ospf priority <rest>", "ip ospf retransmit-interval <rest>",
        "ip ospf transmit-delay <rest>", "ip ospf neighbor bfd", "ip ospf bfd", "ip ospf mtu-ignore",
        "ip ospf shutdown", "ip ospf disabled", "ip ospf transit", "ip ospf neighbor <rest>",
    )),
    Keep("isis enable <word>", "isis"),
    Keep("isis metric <integer>", "isis_metric"),
    Keep("isis ipv4 metric <integer>", "isis_metric"),
    Keep("isis authentication (key|key-id) <rest>", "isis_setting[key]", SECRET),
    *stored_rows("isis_setting", 1, (
        "isis passive", "isis passive-interface", "isis passive-interface default", "isis bfd", "isis ipv4 bfd",
        "isis network <rest>", "isis circuit-type <rest>", "isis hello padding", "isis hello-interval <rest>",
        "isis hello-multiplier <rest>", "isis hello <word> <rest>", "isis lsp <rest>", "isis priority <rest>",
        "isis authentication mode <rest>", "isis metric <integer> <rest>", "isis ipv6 metric <rest>",
        "isis tag <rest>", "isis authentication mode <word> <rest>", "isis multi-topology",
        "isis fast-reroute <rest>", "no isis hello padding", "no isis bfd", "isis ipv6 bfd", "isis csnp <rest>",
        "isis graceful-restart <rest>",
    )),
)  # fmt: skip
"""Of an interface."""

_OSPF_SETTINGS = (
    "auto-cost <rest>", "max-lsa <rest>", "distance ...", "timers ...", "default-information <rest>",
    "default-metric <rest>", "max-metric ...", "graceful-restart", "graceful-restart <rest>", "shutdown",
    "graceful-restart-helper", "no graceful-restart-helper", "mpls ldp sync default", "point-to-point routes",
    "compatible <rest>", "distribute-list ...", "summary-address ...", "network <prefix4> <rest>",
    "segment-routing <rest>", "traffic-engineering", "adjacency <rest>", "dn-bit-ignore", "no dn-bit-ignore",
    "area <word> range <rest>", "area <word> default-cost <rest>", "area <word> filter <rest>",
    "area <word> stub <rest>", "area <word> nssa <rest>", "domain-id <rest>", "lsa <rest>", "fips restrictions",
)  # fmt: skip


def _ospf_rows(at: str, outer: int) -> tuple[Row, ...]:
    """Return lines of a process, whose facts begin with `at`, behind so many captures."""
    first, second = f"{{{outer}}}", f"{{{outer + 1}}}"
    return (
        Fact("router-id <address4>", f"{at}router_id"),
        Entry("passive-interface <word>", "passive", at),
        Entry("no passive-interface <word>", "active", at),
        Fact("network <prefix4> area <word>", f"{at}network[{first}]", second),
        Fact(
            "network <address4> <address4> area <word>", f"{at}network[{first} {second}]", f"{{{outer + 2}}}"
        ),
        Fact("redistribute <word>", f"{at}redistribute[{first}]", ALL),
        Fact("redistribute <word> include leaked", f"{at}redistribute[{first}]", ALL),
        Fact("redistribute <word> [include leaked] route-map <word>", f"{at}redistribute[{first}]", second),
        Fact("redistribute isis <word> [include leaked] [route-map <word>]", f"{at}redistribute[isis]"),
        Fact("maximum-paths <integer>", f"{at}maximum_paths"),
        Fact("area <word> <stub|nssa|not-so-stubby>", f"{at}area[{first}]"),
        Fact("area <word> (stub|nssa) no-summary", f"{at}area[{first}]", "stub no-summary"),
        Fact("bfd (default|all-interfaces)", f"{at}bfd", "true"),
        Silent("log-adjacency-changes [detail]"),
        Silent("no log-adjacency-changes [detail]"),
        Silent("address-family (ipv4|ipv6)"),
        Block("address-family <word>", "", ()),
        *setting_rows(f"{at}setting", outer, _OSPF_SETTINGS),
        *default_rows(
            ("shutdown", "max-metric ...", "graceful-restart", "default-information originate", "bfd default")
        ),
    )


_ISIS_SETTINGS = (
    "router-id <word> <rest>", "mpls ldp sync default", "timers <word> <rest>", "advertise ...", "hello padding",
    "set-overload-bit", "set-overload-bit <rest>", "set-attached-bit", "graceful-restart",
    "graceful-restart <word> <rest>", "lsp <rest>", "spf-interval <rest>", "authentication mode <rest>",
    "attached-bit", "traffic-engineering", "no hello padding", "metric-style <rest>", "metric profile <rest>",
    "passive-interface <rest>", "passive <rest>", "shutdown", "summary-address ...", "area proxy",
    "area-proxy <rest>", "adjacency <rest>", "spf <rest>", "adjacency-segment <rest>", "csnp <rest>",
    "lsp-gen-interval <rest>", "is-hostname <rest>", "area <rest>", "distribute-list ...", "segment-routing <rest>",
    "multi-topology", "overload <rest>", "no segment-routing <rest>", "fips restrictions", "protocol <rest>",
)  # fmt: skip


def _isis_rows(at: str, outer: int) -> tuple[Row, ...]:
    """Return lines of a process, whose facts begin with `at`, behind so many captures."""
    first, second = f"{{{outer}}}", f"{{{outer + 1}}}"
    family = (
        *setting_rows(f"{at}setting", outer + 1, (
            "maximum-paths <rest>", "bfd all-interfaces", "bfd", "fast-reroute <rest>",
            "tunnel source-protocol <rest>", "multi-topology", "redistribute <rest>", "no bfd all-interfaces",
            "bfd <rest>", "default-information <rest>",
        )),
    )  # fmt: skip
    return (
        Fact("net <word>", f"{at}net"),
        Fact("is-type <word>", f"{at}level"),
        Fact("redistribute <word>", f"{at}redistribute[{first}]", ALL),
        Fact("redistribute <word> [include leaked] route-map <word>", f"{at}redistribute[{first}]", second),
        Fact("redistribute <word> <rest>", f"{at}redistribute[{first}]", second),
        Fact("address-family <ipv4|ipv6> [unicast]", f"{at}family[{first}]", "true"),
        Block("address-family <ipv4|ipv6> unicast", "", family),
        Block("address-family <ipv4|ipv6>", "", family),
        Block("segment-routing <word>", "", setting_rows(f"{at}setting", outer + 1, (
            "router-id <rest>", "shutdown", "no shutdown", "prefix-segment <rest>", "proxy-node-segment <rest>",
            "adjacency-segment <rest>", "base <rest>", "locator <rest>",
        ))),
        Block("traffic-engineering", "", setting_rows(f"{at}setting", outer, (
            "router-id <word> <rest>", "is-type <rest>", "router-id <address4>", "no shutdown",
        ))),
        Block("area proxy", "", setting_rows(f"{at}setting", outer, (
            "net <rest>", "is-hostname <rest>", "prefix-segment <rest>", "no shutdown",
        ))),
        Fact("segment-routing <word>", f"{at}setting[segment-routing {first}]", "true"),
        Fact("authentication (key|key-id) <rest>", f"{at}setting[key]", SECRET),
        Silent("log-adjacency-changes"),
        Silent("no log-adjacency-changes"),
        *setting_rows(f"{at}setting", outer, _ISIS_SETTINGS),
        *default_rows(("shutdown", "set-overload-bit", "passive-interface <rest>")),
    )  # fmt: skip


ROWS: Sequence[Row] = (
    Block("router ospf <word>", "ospf", _ospf_rows("ospf[{0}]/", 1)),
    Block("router ospf <word> vrf <word>", "ospf vrf", _ospf_rows("vrf[{1}]/ospf[{0}]/", 2)),
    Block("router ospfv3", "ospf", _ospf_rows("ospf[v3]/", 0)),
    Block("router ospfv3 vrf <word>", "ospf vrf", _ospf_rows("vrf[{0}]/ospf[v3]/", 1)),
    Block("ipv6 router ospf <word>", "ospf", _ospf_rows("ospf[v3 {0}]/", 1)),
    Block("ipv6 router ospf <word> vrf <word>", "ospf vrf", _ospf_rows("vrf[{1}]/ospf[v3 {0}]/", 2)),
    Block("router isis <word>", "", _isis_rows("isis[{0}]/", 1)),
    Block("router isis <word> vrf <word>", "", _isis_rows("vrf[{1}]/isis[{0}]/", 2)),
)


def finish(document: Document) -> None:
    """State with which interfaces processes look for neighbors, and with which they do not."""
    for kind in ("ospf", "ospf vrf"):
        for scope in document.scope.each(kind).values():
            for leaf in ("passive", "active"):
                table = scope.table(leaf)
                for at in dict.fromkeys(str(at) for at, _ in table.values()):
                    document.put_set(
                        at + leaf, {name: stored for name, stored in table.items() if stored[0] == at}
                    )


TOPIC = Topic(ROWS, finish)
