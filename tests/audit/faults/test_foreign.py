"""Faults planted into fabrics that others configured are reported at the changed line."""

from __future__ import annotations

import pytest

from tests.audit import corpora
from tests.audit.faults.foreign import FABRICS, KINDS, tried

QUICK = ("eos/rbmacd-frey/frey-configs", "frr/ddutt-cndcn/dual-attach-bgp-numbered")
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
    "folder", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in FABRICS]
)
def test_faults_in_fabrics_of_others_are_reported(folder: str, scope: str) -> None:
    kinds = tuple(KINDS)[::4] if folder in QUICK and scope == "one" else tuple(KINDS)
    results = list(tried(folder, kinds, (scope,)))
    missed = {kind for kind, _, found, _ in results if not found and (folder, kind, scope) not in MISSED}
    assert missed == set()
