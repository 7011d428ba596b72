"""Faults planted into fabrics of others and of ours are reported at the changed line."""

from __future__ import annotations

import pytest

from tests.audit import corpora
from tests.audit.faults.designs import KINDS as DESIGNS
from tests.audit.faults.foreign import FABRICS, KINDS, OWN_FABRICS, tried

QUICK = {
    "eos/rbmacd-frey/frey-configs": tuple(KINDS)[::9],
    "frr/ddutt-cndcn/dual-attach-bgp-numbered": tuple(KINDS)[4::9],
    "own/eos/tenants": tuple(DESIGNS)[::9],
    "own/nxos/tenants": tuple(DESIGNS)[4::9],
}
NXOS, SONIC = "nxos/batfish-lab-validation/nxos_redistribution", "sonic/batfish-lab-validation/sonic_bgp_lab"
MISSED = {
    (NXOS, "another address on a link", "tier"),
    (NXOS, "filter on BGP", "one"),
    (SONIC, "one equal path", "one"),
}
"""Faults without a trace: a filter on a port without a session, and one path on a spine that has one path to all. On a
tier, the wrong addresses are reported at a session and at a static route: all ports are changed."""


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
    results = list(tried(folder, kinds, (scope,)))
    missed = {kind for kind, _, found, _ in results if not found and (folder, kind, scope) not in MISSED}
    assert missed == set()
