"""The same work on many switches, a bounded number at once, through Nornir."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar

from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.state import GlobalState
from nornir.core.task import Result
from nornir.plugins.runners import ThreadedRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

R = TypeVar("R")


def for_each(
    names: Iterable[str],
    work: Callable[[str], R],
    workers: int,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> dict[str, R]:
    """What the work returned for every switch, in the order given.

    `work` is called with a name in one of the threads and must not raise; `workers` bounds connections and memory.
    `progress` is told how many switches of how many are done.

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
    runner = ThreadedRunner(num_workers=min(workers, len(wanted)))
    results = Nornir(inventory, Config(), GlobalState(), runner=runner).run(task=one)
    if failures:
        raise failures[0]
    return {name: results[name][0].result for name in wanted}
