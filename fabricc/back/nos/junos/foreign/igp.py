"""OSPF and IS-IS of Junos, each one process in a routing instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.junos.interfaces import ISIS
from fabricc.back.nos.junos.words import kept_statements, put_settings, verbatim_rows
from fabricc.back.reading import Block, Document, Entry, Keep, Row, Scope
from fabricc.fabric.vocabulary import port_paths

if TYPE_CHECKING:
    from collections.abc import Sequence


_PROCESS = {"ospf": "default", "ospf3": "v3"}
_LEVELS = (1, 2)
ALL = "all"
"""Name for every interface of the routing instance."""

_OSPF: Sequence[Row] = (
    Block("area <word>", "area", (
        Block("interface <unit>", "port", (
            Keep("metric <integer>", "ospf_cost"),
            Keep("interface-type <word>", "ospf_network"),
            Keep("passive [<below>]", "passive", "true"),
            *verbatim_rows("authentication authentication-key bandwidth-based-metrics bfd-liveness-detection "
                      "dead-interval demand-circuit disable dynamic-neighbors flood-reduction hello-interval "
                      "ipsec-sa ldp-synchronization link-protection mtu neighbor no-advertise-adjacency-segment "
                      "no-eligible-backup no-eligible-remote-backup no-interface-state-traps "
                      "no-neighbor-down-notification node-link-protection poll-interval post-convergence-lfa "
                      "priority retransmit-interval secondary te-metric topology transit-delay strict-bfd "
                      "application-specific delay-measurement delay-metric ipv4-adjacency-segment lan-neighbor "
                      "own-router-lsa transmit-interval"),
        )),
        *verbatim_rows("area-range authentication-type context-identifier inter-area-prefix-export "
                  "inter-area-prefix-import label-switched-path network-summary-export network-summary-import nssa "
                  "peer-interface sham-link sham-link-remote stub virtual-link no-context-identifier-advertisement "
                  "no-source-packet-routing"),
    )),
    Entry("export <word>", "export"),
    *verbatim_rows("backup-spf-options database-protection disable external-preference forwarding-address-to-broadcast "
              "graceful-restart import job-stats labeled-preference lsa-refresh-interval no-nssa-abr no-rfc-1583 "
              "overload preference prefix-export-limit realm reference-bandwidth rib-group rib-groups "
              "route-type-community sham-link source-packet-routing spf-options topology traffic-engineering "
              "domain-id domain-vpn-tag no-domain-vpn-tag spf-delay"),
)  # fmt: skip
_ISIS: Sequence[Row] = (
    Block("interface <unit>", "port", (
        Keep("passive [<below>]", "passive", "true"),
        Block("level <integer>", "level", (
            Keep("metric <integer>", "metric"),
            Keep("disable", "disabled"),
            *verbatim_rows("authentication-key authentication-type flood-group hello-authentication-key "
                      "hello-authentication-type hello-interval hold-time ipv4-adjacency-segment "
                      "ipv4-multicast-metric ipv6-adjacency-segment ipv6-multicast-metric ipv6-unicast-metric "
                      "lan-neighbor link-degradation-threshold name no-advertise-adjacency-segment passive "
                      "post-convergence-lfa priority srv6-adjacency-segment te-metric topology wide-metrics-only "
                      "hello-authentication-key-chain application-specific flood-reflector srm6-adjacency-segment "
                      "strict-bfd-old"),
        )),
        *verbatim_rows("bfd-liveness-detection checksum csnp-interval disable family hello-padding "
                  "interface-group-holddown-delay lan-neighbor layer2-map ldp-synchronization "
                  "link-degradation-threshold link-group-protection link-protection lsp-interval max-hello-size "
                  "mesh-group no-adjacency-down-notification no-adjacency-holddown no-advertise-adjacency-segment "
                  "no-eligible-backup no-eligible-remote-backup no-ipv4-multicast no-ipv6-multicast no-ipv6-unicast "
                  "no-unicast-topology node-link-protection point-to-point priority strict-dual-isis topology "
                  "update-threshold hello-interval hold-time hello-authentication-key hello-authentication-type "
                  "authentication-key authentication-type auto-bandwidth delay-measurement delay-metric flood-group "
                  "hello-padding-type no-layer2-map strict-bfd"),
    )),
    Block("level <integer>", "level", (
        Keep("disable", "disabled"),
        *verbatim_rows("authentication-key authentication-key-chain authentication-type external-preference "
                  "flood-reflector labeled-preference lsp-lifetime no-csnp-authentication no-hello-authentication "
                  "no-psnp-authentication preference prefix-export-limit purge-originator source-packet-routing "
                  "wide-metrics-only flex-algorithm-preference max-lsp-size no-lsp-authentication srv6-preference"),
    )),
    Entry("export <word>", "export"),
    *verbatim_rows("authentication-key authentication-key-chain authentication-type backup-spf-options clns-routing "
              "context-identifier disable family fate-sharing flex-algorithm graceful-restart holddown-interval "
              "ignore-attached-bit import instance interface-group job-stats label-switched-path layer2-map "
              "loose-authentication-check lsp-lifetime max-areas max-hello-size max-lsp-size max-snp-size "
              "no-adjacency-holddown no-authentication-check no-ipv4-multicast no-ipv4-routing no-ipv6-multicast "
              "no-ipv6-routing overload purge-originator reference-bandwidth rib-group route-filter rib-groups "
              "source-packet-routing spf-delay spf-options topologies traffic-engineering traffic-statistics "
              "wide-metrics-only net bier-sub-domain clns-updown-compatibility dynamic-overload multicast-topology "
              "no-external-export no-layer2-map prefix-unreachable rfc7775-compliance srm6 strict-dual-isis"),
)  # fmt: skip

COMMON: Sequence[Row] = (
    *(Block(f"protocols {protocol}", protocol, _OSPF) for protocol in _PROCESS),
    Block("protocols isis", "isis", _ISIS),
)


def finish(document: Document) -> None:
    """State both protocols; settings of an interface belong to the interface, in any routing instance."""
    for protocol, process in _PROCESS.items():
        for ospf in document.scope.each(protocol).values():
            _put_ospf(document, protocol, process, ospf)
    for isis in document.scope.each("isis").values():
        _put_isis(document, isis)


def _put_exports(document: Document, prefix: str, scope: Scope) -> None:
    if exports := scope.table("export"):
        line = max(line for _, line in exports.values())
        document.put(f"{prefix}redistribute[all]", " ".join(map(str, exports)), line)


def _put_ospf(document: Document, protocol: str, process: str, ospf: Scope) -> None:
    prefix = f"ospf[{process}]/"
    quiet: dict[str, int] = {}
    for area, stored in ospf.each("area").items():
        kinds = [words for words, _ in kept_statements(stored) if words.split()[0] in ("nssa", "stub")]
        if kinds:
            document.put(f"{prefix}area[{area}]", kinds[0].split()[0], stored.line)
        put_settings(document, prefix, stored, lead=f"area {area} ")
        for name, port in stored.each("port").items():
            if "passive" in port.values:
                quiet[str(name)] = port.values["passive"][1]
            if name == ALL:
                document.put(f"{prefix}network[{ALL}]", str(area), port.line)
                put_settings(document, prefix, port, lead=f"area {area} interface {ALL} ")
                continue
            paths = port_paths(str(name))
            document.whole.put(paths["ospf_area"], str(area), port.line)
            if process != "default":
                document.whole.put(paths[f"ospf_setting[{protocol}]"], "true", port.line)
            for leaf in ("ospf_cost", "ospf_network"):
                document.whole.put_kept(paths[leaf], port.values, leaf)
            put_settings(document.whole, paths.prefix, port, leaf="ospf_setting")
    if quiet:
        document.put(f"{prefix}passive", ",".join(sorted(quiet)), max(quiet.values()))
    _put_exports(document, prefix, ospf)
    put_settings(document, prefix, ospf)


def _put_isis(document: Document, isis: Scope) -> None:
    prefix = f"isis[{ISIS}]/"
    levels = isis.each("level")
    off = {number for number, level in levels.items() if "disabled" in level.values}
    if off:
        line = max(levels[number].values["disabled"][1] for number in off)
        left = ",".join(str(number) for number in _LEVELS if number not in off)
        document.put(f"{prefix}level", left or "none", line)
    for number, level in levels.items():
        put_settings(document, prefix, level, lead=f"level {number} ")
    for name, port in isis.each("port").items():
        if name == ALL:
            document.put(
                f"{prefix}setting[interface {ALL}]",
                "passive" if "passive" in port.values else "active",
                port.line,
            )
            put_settings(document, prefix, port, lead=f"interface {ALL} ")
            continue
        paths = port_paths(str(name))
        document.whole.put(paths["isis"], ISIS, port.line)
        document.whole.put_kept(paths["isis_setting[passive]"], port.values, "passive")
        metrics = {}
        for number, level in port.each("level").items():
            if "disabled" in level.values:
                document.whole.put(paths[f"isis_setting[level {number} disable]"], *level.values["disabled"])
            elif number not in off and "metric" in level.values:
                metrics[number] = level.values["metric"]
            put_settings(document.whole, paths.prefix, level, leaf="isis_setting", lead=f"level {number} ")
        if len({metric for metric, _ in metrics.values()}) == 1:
            document.whole.put(paths["isis_metric"], *next(iter(metrics.values())))
        else:
            for number, (metric, line) in metrics.items():
                document.whole.put(paths[f"isis_setting[level {number} metric]"], metric, line)
        put_settings(document.whole, paths.prefix, port, leaf="isis_setting")
    _put_exports(document, prefix, isis)
    put_settings(document, prefix, isis)
