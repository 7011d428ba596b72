"""Faults planted into fabrics of others and of ours are reported at the changed line."""

from __future__ import annotations

import pytest

from tests.audit import corpora
from tests.audit.faults.designs import KINDS as DESIGNS
from tests.audit.faults.foreign import FABRICS, KINDS, OWN_FABRICS, try_faults

QUICK = {
    "eos/rbmacd-frey/frey-configs": tuple(KINDS)[::9],
    "frr/ddutt-cndcn/dual-attach-bgp-numbered": tuple(KINDS)[4::9],
    "own/eos/tenants": tuple(DESIGNS)[::9],
    "own/nxos/tenants": tuple(DESIGNS)[4::9],
}
NXOS, SONIC = "nxos/batfish-lab-validation/nxos_redistribution", "sonic/batfish-lab-validation/sonic_bgp_lab"
ISIS = "eos/aristanetworks-avd/evpn_underlay_isis_overlay_ibgp"
OSPF = "eos/aristanetworks-avd/evpn_underlay_ospf_overlay_ebgp"
DUAL, PAIR = "frr/ddutt-cndcn/dual-attach-", "nxos/batfish-lab-validation/nxos_evpn_l2vni"
LAB = "sonic/batfish-lab-validation/sonic_bgp_lab"
MISSED = {
    *(
        (ISIS, kind, scope)
        for kind in ("import rejects all", "nothing is exported")
        for scope in ("one", "tier")
    ),
    *((folder, "one equal path", scope) for folder in (ISIS, OSPF) for scope in ("tier", "all")),
    *(
        (PAIR, kind, "tier")
        for kind in ("another MTU on a link", "another mask on a link", "hops on one side")
    ),
    *(
        (f"{DUAL}{name}", "no BFD on one end", scope)
        for name in ("bgp-numbered", "evpn-distributed")
        for scope in ("one", "tier")
    ),
    *((f"{DUAL}evpn-distributed", "a static route to nowhere", scope) for scope in ("one", "tier", "all")),
    (f"{DUAL}ospf-numbered", "another address on a link", "one"),
    (LAB, "a family that is not active", "all"),
    (NXOS, "another address on a link", "tier"),
    (NXOS, "filter on BGP", "one"),
    (SONIC, "one equal path", "one"),
    ("own/junos/tenants", "VTEP without an address", "one"),
    ("own/sonic/tenants", "copied headroom", "tier"),
}
"""Faults without a trace, or none at all: a policy of EVPN decides in place of that of the session; an overlay over an
IGP needs one path; both ends of the only link get the same change; firewalls and unnumbered neighbors are not in the
folder; a route of BGP may lead to a next hop; other sessions of a link carry the family; a filter is on a port
without a session; a spine has one path to all; the headroom for short cables is enough for the links of these ToRs;
another loopback of Junos is reported where the old one is named. On a tier, wrong addresses are reported at a
session: all ports are changed."""


@pytest.mark.skipif(not corpora.ROOT.is_dir(), reason="the shared corpora are not here")
@pytest.mark.parametrize(
    "scope",
    ["one", pytest.param("tier", marks=pytest.mark.slow), pytest.param("all", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(each, marks=() if each in QUICK else pytest.mark.slow)
        for each in (*FABRICS, *OWN_FABRICS)
    ],
)
def test_faults_are_reported_at_their_line(folder: str, scope: str) -> None:
    every = tuple(DESIGNS if folder in OWN_FABRICS else KINDS)
    kinds = QUICK[folder] if folder in QUICK and scope == "one" else every
    results = list(try_faults(folder, kinds, (scope,)))
    missed = {kind for kind, _, found, _ in results if not found and (folder, kind, scope) not in MISSED}
    assert missed == set()
