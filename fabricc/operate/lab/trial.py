"""The whole trial of a lab: the steady state, a drain, and failures, each against its prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.operate.lab import faults, observe, scenarios, state
from fabricc.operate.lab.agreement import Trial
from fabricc.operate.lab.failure import LabError
from fabricc.operate.lab.lab_fabric import UnsoundError, read_source
from fabricc.operate.lab.lifecycle import known_release
from fabricc.operate.lab.steady import STEADY, Network, compare_steady

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.operate.lab.running import Lab

    Progress = Callable[[str, int, int], None]

SETTLE_S = 120.0
_QUICK = "ToR up-link"


def network_of(lab: Lab) -> Network:
    """Return the lab with the plan it was made from, planned again from the copy of its spec.

    Raises:
        LabError: FAB8006, the copy cannot be planned any more.
    """
    record = lab.record
    try:
        source = read_source(
            lab.folder / state.SPEC / record.spec,
            record.units,
            known_release(record.frr),
            sample=record.sample,
            network=record.network,
        )
    except UnsoundError:
        raise LabError("FAB8006", f"the spec kept in {lab.folder} does not plan any more") from None
    return Network.of(lab, source.fabric)


def trial_of(lab: Lab) -> Trial:
    """Return a trial of this lab, with nothing compared yet."""
    record = lab.record
    return Trial(
        record.cluster, record.frr, len(record.switches), len(record.hosts), record.boot_s,
        lab.memory_kib(), record.differences, record.overlay,
    )  # fmt: skip


def try_out(lab: Lab, network: Network, *, quick: bool = False, progress: Progress | None = None) -> Trial:
    """Compare the lab with its plan; what differs in the steady state is not broken further.

    Args:
        lab: a lab in which nothing is broken.
        network: the lab with its plan.
        quick: only the steady state and the failure of one up-link.
        progress: called with what is being done, how much is done, and how much there is.

    Raises:
        LabError: FAB8015, something is broken on purpose.
    """
    faults.require_none(lab)
    trial = trial_of(lab)
    wanted = [
        found for found in scenarios.list_failures(network) if not quick or found.name.startswith(_QUICK)
    ]
    steps = len(wanted) + (1 if quick else 2)
    tell = progress or (lambda *_: None)
    settled = observe.wait_until_settled(lab, network.predict(network.miswired_ports()), SETTLE_S)
    trial.settles(STEADY, settled, SETTLE_S)
    compare_steady(network, trial, quick=quick)
    tell("trial", 1, steps)
    if trial.wrong:
        return trial
    for number, scenario in enumerate(wanted):
        trial.events.append(scenarios.run_failure(network, scenario, trial))
        tell("trial", number + 2, steps)
    if not quick and (event := scenarios.run_drain(network, trial)):
        trial.events.append(event)
        tell("trial", steps, steps)
    return trial
