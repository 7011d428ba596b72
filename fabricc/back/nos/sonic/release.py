"""Which community SONiC release has what: how its files differ, and features with the source of each entry."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.back.nos.base import Capability
from fabricc.base.values import dataclass
from fabricc.fabric.facts import SETTINGS
from fabricc.fabric.routing import Spreading, Transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabricc.back.nos.sonic.document import Tables
    from fabricc.fabric.model import Switch

NEXT_HOP_LINE = "no zebra nexthop kernel enable"
FPM_LINES = ("no fpm use-next-hop-groups", "fpm address 127.0.0.1")
_SUPPRESS = {"DEVICE_METADATA": frozenset({"suppress-fib-pending"})}


@dataclass(frozen=True, slots=True)
class Release:
    """How the files of one release differ (sonic-yang-models, db_migrator.py and docker_init.sh of its branch).

    Attributes:
        schema: `VERSIONS`, from which `db_migrator.py` starts: the release's own, and one that each of its builds
            knows, since at any other it stops, and `config reload` with it.
        frr: version of FRR in the image (rules/frr.mk).
        max_port_gbps, max_poll_ms: ends of the ranges of port speeds and of the PFC watchdog's polling.
        head: lines of `frr.conf` that the start script of the bgp container would append.
        absent: fields that the models do not know, or nothing reads, by table; left out they have the value that is
            written elsewhere.
    """

    schema: str
    frr: str
    max_port_gbps: int = 800
    max_poll_ms: int = 3000
    head: tuple[str, ...] = (*FPM_LINES, NEXT_HOP_LINE)
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)


RELEASES = {
    "202305": Release(
        "version_202305_01",
        "8.5.1",
        absent={
            **_SUPPRESS,
            "NTP": frozenset({"admin_state"}),
            "NTP_SERVER": frozenset({"association_type", "iburst", "resolve_as"}),
        },
    ),
    "202311": Release("version_202311_03", "8.5.1", head=(NEXT_HOP_LINE,), absent=_SUPPRESS),
    "202405": Release("version_202405_01", "8.5.4", absent=_SUPPRESS),
    "202411": Release("version_202411_01", "10.0.1"),
    "202505": Release("version_202505_01", "10.3"),
    "202511": Release("version_202511_01", "10.4.1", max_port_gbps=1600, max_poll_ms=1000, head=FPM_LINES),
}
DEFAULT = "202505"
OLDEST = next(iter(RELEASES))


def release_name(switch: Switch) -> str:
    """The name of a switch's release; the default one where it names none, or one that is not known."""
    return switch.release if switch.release in RELEASES else DEFAULT


def release_of(switch: Switch) -> Release:
    """How the files of a switch's release differ; see `release_name`."""
    return RELEASES[release_name(switch)]


def known_fields(tables: Tables, release: Release) -> Tables:
    """The tables without the fields that the release's models do not know."""
    kept = dict(tables)
    for table, fields in release.absent.items():
        rows = tables.get(table, {})
        kept[table] = {key: {f: v for f, v in row.items() if f not in fields} for key, row in rows.items()}
    return kept


def release_from(schema: str) -> str:
    """The release of a `VERSIONS` entry such as `version_202405_01`; empty where it is not known."""
    name = schema.removeprefix("version_").partition("_")[0]
    return name if name in RELEASES else ""


_ARS = (
    "adaptive routing is a design (SONiC doc/ARS, sonic-buildimage pull request 22264, open): no branch to 202511 "
    "has a model of it"
)
_SPREAD = "leave it out; more queue pairs per connection spread by their UDP source ports"
TRIMMING = Capability(
    "FAB5318",
    SETTINGS["trimming/"],
    "SWITCH_TRIMMING, BUFFER_PROFILE.packet_discard_action",
    "202505",
    "sonic-trimming.yang and sonic-buffer-profile.yang: in the branches 202505 and 202511, in none before",
    "use release 202505 or later",
    lambda switch: switch.qos.trimming is not None,
)
BFD = Capability(
    "FAB5630",
    "BFD of BGP sessions",
    "bfdd in the bgp container (SYSTEM_DEFAULTS.software_bfd)",
    "202505",
    "before, supervisord.conf.j2 starts bfdd for the management framework alone, which would write frr.conf itself; "
    "the configuration leaves BFD out, and BGP notices a silent failure by its hold timer",
    "use release 202505 or later, or set `routing.bfd: false` so that no neighbour waits for it",
    lambda switch: switch.bgp.bfd_interval_ms is not None and bool(switch.bgp.sessions),
)
MARKS = Capability(
    "FAB5632",
    "counting of ECN marks",
    "FLEX_COUNTER_TABLE.WRED_ECN_QUEUE",
    "202505",
    "flexcounterorch.cpp has the group from then on; before, nothing polls SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS, "
    "`verify` shows no marks, and `push --max-marks` has none to compare",
    "use release 202505 or later, or look at marks on the hosts",
    lambda switch: (
        any(profile.ecn for profile in switch.qos.profiles)
        and any(one.ecn for one in switch.qos.classes)
        and any(port.profile for port in switch.ports)
    ),
)
HASH = Capability(
    "FAB5635",
    "the fields of the hash",
    "SWITCH_HASH.ecmp_hash",
    "202311",
    "the model is older (sonic-hash.yang), but orchagent reads the table from then on; without it, and where the SAI "
    "cannot set the fields, the device keeps its own",
    "use release 202311 or later, or see that the switch hashes addresses, protocol and ports by itself",
    lambda _: True,
)
NAME_SERVERS = Capability(
    "FAB5633",
    "name servers",
    "reader of DNS_NAMESERVER",
    "202311",
    "resolv-config, which writes resolv.conf; the model is older",
    "use release 202311 or later, or write /etc/resolv.conf by the image or ZTP",
    lambda switch: bool(switch.management.dns),
)
GNMI = Capability(
    "FAB5634",
    SETTINGS["management/gnmi_port"],
    "reader of GNMI",
    "202311",
    "gnmi-native.sh; the telemetry container of 202305 reads the table TELEMETRY, and listens at its own port without",
    "use release 202311 or later, or leave `management.gnmi_port` out",
    lambda switch: switch.management.gnmi_port is not None,
)
_LIVES_WITHOUT = (BFD, GNMI, HASH, MARKS, NAME_SERVERS)
"""What a configuration works without, less well."""
CAPABILITIES = (
    TRIMMING,
    MARKS,
    Capability(
        "FAB5320",
        SETTINGS["link_retry"],
        "LLR_PORT, LLR_PROFILE",
        None,
        "a design (SONiC doc/llr, sonic-buildimage pull request 27028, open): no branch to 202511 has a model of it",
        "leave it out",
        lambda switch: switch.qos.link_retry,
    ),
    Capability(
        "FAB5324",
        SETTINGS["load_balancing/mode"],
        "ARS_PROFILE, ARS_OBJECT",
        None,
        _ARS,
        _SPREAD,
        lambda switch: switch.load_balancing.mode is not Spreading.HASH,
    ),
    Capability(
        "FAB5324",
        SETTINGS["load_balancing/flowlet_idle_us"],
        "ARS_OBJECT.flowlet_idle_time",
        None,
        _ARS,
        _SPREAD,
        lambda switch: switch.load_balancing.flowlet_idle_us is not None,
    ),
    Capability(
        "FAB5324",
        SETTINGS["load_balancing/queue_pairs"],
        "SWITCH_HASH",
        None,
        "no field of SWITCH_HASH is one of the RoCE transport header, in no branch to 202511 (sonic-hash.yang)",
        _SPREAD,
        lambda switch: switch.load_balancing.queue_pairs,
    ),
    Capability(
        "",
        "frr.conf of one's own",
        "DEVICE_METADATA.docker_routing_config_mode split-unified",
        OLDEST,
        "docker_init.sh of the branches 202305 to 202511",
        "",
        lambda _: True,
    ),
    Capability(
        "",
        "BGP over unnumbered links",
        "frr.conf, INTERFACE.ipv6_use_link_local_only",
        OLDEST,
        "FRR 8.5.1 and later in all of them (rules/frr.mk); bgpcfgd's own BGP_NEIGHBOR takes addresses only",
        "",
        lambda switch: any(s.transport is Transport.UNNUMBERED for s in switch.bgp.sessions),
    ),
    BFD,
    Capability(
        "",
        SETTINGS["bgp/ttl_security"],
        "frr.conf, neighbor … ttl-security hops",
        OLDEST,
        "FRR 8.5.1 and later in all of them (rules/frr.mk)",
        "",
        lambda switch: switch.bgp.ttl_security,
    ),
    Capability(
        "",
        "a watchdog for PFC",
        "PFC_WD, PORT_QOS_MAP.pfcwd_sw_enable",
        OLDEST,
        "sonic-pfcwd.yang; polling to 3000 ms, from 202511 to 1000 ms",
        "",
        lambda switch: switch.qos.watchdog is not None,
    ),
    HASH,
    NAME_SERVERS,
    Capability(
        "",
        SETTINGS["management/tacacs/"],
        "TACPLUS, TACPLUS_SERVER, AAA",
        OLDEST,
        "sonic-system-tacacs.yang; a key to 65 characters, from 202511 to 256",
        "",
        lambda switch: switch.management.tacacs is not None,
    ),
    Capability(
        "",
        SETTINGS["management/snmp/"],
        "SNMP, SNMP_COMMUNITY, SNMP_AGENT_ADDRESS_CONFIG",
        OLDEST,
        "sonic-snmp.yang; 202305 has the agent's address without a model of it",
        "",
        lambda switch: switch.management.snmp is not None,
    ),
    GNMI,
    Capability(
        "",
        SETTINGS["management/access"],
        "ACL_TABLE of type CTRLPLANE",
        OLDEST,
        "sonic-acl.yang",
        "",
        lambda switch: bool(switch.management.access),
    ),
)


def has(capability: Capability, release: str) -> bool:
    """Whether a release has it; their names ascend as text does."""
    return capability.since is not None and release >= capability.since


def fatal(capability: Capability) -> bool:
    """Whether a configuration without it is none."""
    return capability not in _LIVES_WITHOUT


def lacking(switch: Switch, release: str) -> Iterator[Capability]:
    """What the switch needs and the release does not have."""
    return (c for c in CAPABILITIES if c.asked(switch) and not has(c, release))
