"""Settings that not every NOS has are stated, or rejected with the setting's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabricc.back.nos import load
from fabricc.back.nos.base import Gap
from fabricc.back.nos.frr import FrrLinux
from fabricc.compiler.render.overlays import find_unexpressed
from fabricc.fabric import facts, routing
from fabricc.fabric.facts import SETTINGS, Facts, Reading, setting_facts
from fabricc.fabric.model import LoginServers, NtpKey, Snmp, SnmpTraps, Switch, SyslogTls
from fabricc.fabric.qos import Trimming
from fabricc.fabric.routing import OPTIONS, LoadBalancing, Reassignment, Spreading, StaticRoute
from fabricc.fabric.tenants import Tenant, TenantVrfs
from tests.outward import MODELS, switch
from tests.samples import tor

if TYPE_CHECKING:
    from collections.abc import Mapping

TOR = tor()

MANAGEMENT = replace(
    TOR.management,
    access=("172.16.9.0/24", "172.16.8.0/24"),
    tacacs=LoginServers(("172.16.0.6", "172.16.0.5"), "FABRICC-SECRET-tacacs"),
    snmp=Snmp("FABRICC-SECRET-snmp", "hall-3", "", (), SnmpTraps(("172.16.0.7",), "monitor")),
    gnmi_port=9339,
    ntp_key=NtpKey(4, "sha1", "FABRICC-SECRET-ntp"),
    banner="Authorized use only.",
    syslog_tls=SyslogTls("logs", 6515),
)
ASKED = replace(
    TOR,
    management=MANAGEMENT,
    load_balancing=LoadBalancing(Spreading.FLOWLET, True, 128, True, Reassignment(3, 6)),
    bgp=replace(
        TOR.bgp,
        **dict.fromkeys(OPTIONS, True),
        static_map="STATIC",
        groups=tuple(replace(group, password="FABRICC-SECRET-core") for group in TOR.bgp.groups),
        sessions=TOR.bgp.sessions[:1],
    ),
    static_routes=(StaticRoute("0.0.0.0/0", ("192.0.2.1",)),),
    ports=(replace(TOR.ports[0], trusted=False),),
)


class Silent(FrrLinux):
    """A back end that states of all settings those that begin with one of `stated`."""

    def __init__(self, *stated: str) -> None:
        self.stated = stated

    def render(self, switch: Switch) -> dict[str, str]:
        return {"frr.conf": "\n".join(self.planned(switch))}

    def read(self, files: Mapping[str, str]) -> Reading:
        return Reading(dict.fromkeys(files["frr.conf"].splitlines(), ""), {}, [])

    def planned(self, switch: Switch) -> Facts:
        return {path: value for path, value in setting_facts(switch).items() if path.startswith(self.stated)}


def test_settings_are_facts_only_when_requested() -> None:
    assert setting_facts(TOR) == {"lldp/interval_s": 30}
    assert setting_facts(replace(TOR, management=replace(TOR.management, radius=MANAGEMENT.tacacs))) == {
        "lldp/interval_s": 30,
        "management/radius/servers": "172.16.0.6,172.16.0.5",
        "management/radius/secret": "FABRICC-SECRET-tacacs",
    }
    assert setting_facts(ASKED) == {
        "lldp/interval_s": 30,
        "management/access": "172.16.8.0/24,172.16.9.0/24",
        "management/tacacs/servers": "172.16.0.6,172.16.0.5",
        "management/tacacs/secret": "FABRICC-SECRET-tacacs",
        "management/banner": "Authorized use only.",
        "management/ntp_key[4]/type": "sha1",
        "management/ntp_key[4]/secret": "FABRICC-SECRET-ntp",
        "management/ntp_key/use": "4 for all servers",
        **{f"management/syslog_tls[{server}]/port": 6515 for server in TOR.management.syslog},
        "management/syslog_ca": "logs",
        "management/snmp/secret": "FABRICC-SECRET-snmp",
        "management/snmp_trap[172.16.0.7]/user": "monitor",
        "management/snmp/location": "hall-3",
        "management/gnmi_port": 9339,
        "load_balancing/mode": "flowlet",
        "load_balancing/flowlet_idle_us": 128,
        "load_balancing/queue_pairs": "true",
        "load_balancing/global": "true",
        "load_balancing/reassignment/probability": 3,
        "load_balancing/reassignment/quality_delta": 6,
        **{f"bgp/{name}": "true" for name in OPTIONS},
        "static_route[0.0.0.0/0]": "192.0.2.1",
        "bgp/redistribute_static": "STATIC",
        "bgp/neighbor[10.64.0.0]/secret": "FABRICC-SECRET-core",
        "interface[p1]/set_dscp": 0,
    }


def test_a_setting_that_a_back_end_does_not_state_is_refused_once_by_name() -> None:
    ultra = replace(TOR.qos, trimming=Trimming(256, 48, 6, (0,)), link_retry=True)
    tenants = TenantVrfs(None, (Tenant("acme", 1),), ("ipv4",), 9000, {1: ASKED.static_routes})
    requested = replace(ASKED, qos=ultra, bgp=replace(ASKED.bgp, evpn_transit=True), tenants=tenants)
    requested = replace(requested, management=replace(MANAGEMENT, radius=MANAGEMENT.tacacs))
    refused = list(find_unexpressed(requested, Silent(), ()))
    assert [gap.feature for gap in refused] == list(SETTINGS.values())
    assert {(gap.code, gap.fatal) for gap in refused} == {("FAB5001", True)}


def test_stated_or_explained_settings_are_not_rejected_again() -> None:
    explained = Gap("FAB5299", SETTINGS["bgp/ttl_security"], "why", "what to do")
    stated = (
        "management/",
        "load_balancing/mode",
        "static_route[",
        "bgp/redistribute",
        "bgp/neighbor[",
        "interface[",
    )
    refused = find_unexpressed(ASKED, Silent(*stated), [explained])
    assert [gap.feature for gap in refused] == [
        "a flowlet pause",
        "hashing of RoCE queue pairs",
        "global load balancing",
        "moves of flows without a pause",
    ]


def test_unrequested_settings_are_no_gap() -> None:
    assert list(find_unexpressed(TOR, Silent(), ())) == []


@pytest.mark.parametrize("nos", MODELS)
def test_an_option_that_no_system_writes_is_refused_on_every_system(
    nos: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A back end may take a new option into its planned facts before a template has a line for it."""
    each = switch(nos, "rack001-tor1a")
    known = tuple(load(nos).gaps(each))
    assert list(find_unexpressed(each, load(nos), known)) == []
    for place in (facts, routing):
        monkeypatch.setitem(place.OPTIONS, "aggregates", "an option that no system has")
    monkeypatch.setitem(SETTINGS, "bgp/aggregates", "an option that no system has")
    refused = list(find_unexpressed(each, load(nos), known))
    assert [(gap.code, gap.feature) for gap in refused] == [("FAB5001", "an option that no system has")]
