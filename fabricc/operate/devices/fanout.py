"""Nornir: run the same work on many switches, a bounded number at once, and write the inventory of switches."""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from nornir.core import Nornir
from nornir.core.configuration import Config
from nornir.core.inventory import Defaults, Groups, Host, Hosts, Inventory
from nornir.core.state import GlobalState
from nornir.core.task import AggregatedResult, MultiResult, Result, Task
from nornir.plugins.runners import ThreadedRunner

from fabricc.base.values import dataclass, replace
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.login import Login, devices_by_name, driver_name
from fabricc.tree import EmitError
from fabricc.tree.file import make_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fabricc.fabric.fabric import Fabric
    from fabricc.operate.devices.access import Access


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


def write_inventory(fabric: Fabric, access: Access, folder: Path) -> list[Path]:
    """Write Nornir's SimpleInventory: `hosts.yaml`, `groups.yaml`, `defaults.yaml`; no secret is in them.

    Raises:
        DeviceError: FAB9103, the folder cannot be written.
    """
    hosts: dict[str, Any] = {}
    groups: dict[str, Any] = {}
    for one in devices_by_name(fabric).values():
        login = access.login(one)
        hosts[one.name] = {
            "hostname": login.address or one.address,
            "groups": [one.nos],
            "data": {"cluster": fabric.cluster, "tier": one.kind, "release": one.release},
        }
        if access.has_exceptions(one):
            hosts[one.name] |= {"username": login.username, "connection_options": _connection_options(login)}
        login = access.login(replace(one, name="", former=""))
        groups.setdefault(
            one.nos,
            {
                "platform": driver_name(one.nos, login),
                "username": login.username,
                "connection_options": _connection_options(login),
            },
        )
    written = []
    try:
        make_folder(folder)
        for name, content in (("hosts", hosts), ("groups", groups), ("defaults", {})):
            path = folder / f"{name}.yaml"
            write_file(path, ("---\n" + yaml.safe_dump(content, sort_keys=False)).encode())
            written.append(path)
    except EmitError as error:
        raise DeviceError("FAB9103", f"the inventory: {error.diagnostic.message}") from None
    return written


def _connection_options(login: Login) -> dict[str, Any]:
    extras: dict[str, Any] = {"timeout": login.timeout_s, "optional_args": login.arguments()}
    found: dict[str, Any] = {"extras": extras}
    if login.port is not None:
        found["port"] = login.port
    return {"napalm": found}
