"""Run the same work on many switches, a bounded number at once, through Nornir."""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.state import GlobalState
from nornir.core.task import AggregatedResult, MultiResult, Result, Task
from nornir.plugins.runners import ThreadedRunner

from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

R = TypeVar("R")
PATIENCE_S = 10.0
"""Seconds after which a switch counts as silent, for work that only reads."""
_SPARE = 3
_TIMES = 4
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class PatientRunner:
    """Run a task on hosts in threads; silent hosts do not occupy the places of the others.

    A silent switch holds its thread until its request times out, which takes minutes. Each thread that runs for
    longer than the patience, and for much longer than those that have ended, therefore makes room for one more, up to
    four times the workers. On a busy machine all take long, and nothing is added.

    Attributes:
        workers: threads at once, without silent hosts.
        patience_s: seconds after which a host counts as silent.
    """

    workers: int
    patience_s: float

    def run(self, task: Task, hosts: Iterable[Host]) -> AggregatedResult:
        """Run the task on every host."""
        found = AggregatedResult(task.name)
        waiting = deque(hosts)
        running: dict[Future[MultiResult], float] = {}
        taken_s: list[float] = []
        with ThreadPoolExecutor((1 + _SPARE) * self.workers) as pool:
            while waiting or running:
                spare = min(self._silent(running, taken_s), _SPARE * self.workers)
                room = self.workers + spare - len(running)
                for _ in range(min(room, len(waiting))):
                    running[pool.submit(task.copy().start, waiting.popleft())] = time.monotonic()
                done, _ = wait(running, _LOOK_S if waiting else None, FIRST_COMPLETED)
                for one in done:
                    taken_s.append(time.monotonic() - running.pop(one))
                    result = one.result()
                    found[result.host.name] = result
        return found

    def _silent(self, running: Mapping[Future[MultiResult], float], taken_s: Sequence[float]) -> int:
        """Count the hosts that take longer than the patience, and than several times what others have taken."""
        usual_s = sum(taken_s) / len(taken_s) if taken_s else 0.0
        until = time.monotonic() - max(self.patience_s, _TIMES * usual_s)
        return sum(begun < until for begun in running.values())


def for_each(
    names: Iterable[str],
    work: Callable[[str], R],
    workers: int,
    progress: Callable[[int, int], None] = lambda *_: None,
    *,
    patience_s: float | None = None,
) -> dict[str, R]:
    """Return what the work returned for every switch, in the order given.

    Args:
        names: the switches.
        work: is called with a name in one of the threads, and must not raise.
        workers: bounds connections and memory.
        progress: is called with the number of switches that are done, and of all.
        patience_s: seconds after which a switch does not count among the workers, for work that only reads; None where
            the work itself takes long.

    Raises:
        Exception: the work raised after all, which is a defect; every other switch was worked on.
    """
    wanted = list(names)
    if not wanted:
        return {}
    logging.getLogger("nornir").setLevel(logging.CRITICAL)
    failures: list[BaseException] = []
    done: list[str] = []

    def one(task: Any) -> Any:
        try:
            return Result(host=task.host, result=work(task.host.name))
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            done.append(task.host.name)
            progress(len(done), len(wanted))

    inventory = Inventory(Hosts({name: Host(name) for name in wanted}), Groups(), Defaults())
    most = min(workers, len(wanted))
    runner = ThreadedRunner(most) if patience_s is None else PatientRunner(most, patience_s)
    results = Nornir(inventory, Config(), GlobalState(), runner=runner).run(task=one)
    if failures:
        raise failures[0]
    return {name: results[name][0].result for name in wanted}
