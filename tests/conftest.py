"""Settings of property tests: no deadlines, because the time of an example means nothing for the product.

`make test` tries the same examples each time, so that it fails for what was changed, and 15 % as many;
`make test-all` looks for new ones.

A test with many similar cases that take long has the mark `spread`: `make test` tries one of them, `make test-all` all.
"""

import gc
import inspect
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

from tests.browser import Chromium

settings.register_profile("explore", deadline=None)
settings.register_profile("fabricc", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("fabricc")
gc.disable()  # what is imported and collected lives to the end
# jsonschema imports this optional package, which compiles 38 grammars (1.1 s of CPU); only the format `iri` uses it.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Collect no cases of a slow function in an ordinary run: each worker would make 2,400 and deselect them."""
    marks = getattr(obj, "pytestmark", []) if inspect.isfunction(obj) else []
    ordinary = collector.config.getoption("markexpr") == "not slow"
    return [] if ordinary and any(mark.name == "slow" for mark in marks) else None


def pytest_collection(session: pytest.Session) -> None:
    """Let the first worker collect alone: it compiles all test modules, which each worker would do at the same time."""
    worker = getattr(session.config, "workerinput", {})
    deadline = time.monotonic() + 120
    while worker.get("workerid", "gw0") != "gw0" and time.monotonic() < deadline:
        if (mark := _collected_mark(worker, worker["workerid"])).exists():
            mark.unlink()
            break
        time.sleep(0.2)


def _collected_mark(worker: dict[str, str], waiting: str) -> Path:
    """Return the file that the first worker writes for another worker at the end of its collection, failed or not."""
    return Path(tempfile.gettempdir(), f"fabricc-collected-{worker['testrunuid']}-{waiting}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow all cases but one of each function with the mark `spread`; its name decides which."""
    functions = defaultdict(list)
    for item in items:
        if item.get_closest_marker("spread"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for name, cases in functions.items():
        ordinary = [case for case in cases if not case.get_closest_marker("slow")]
        for case in cases if ordinary else ():
            if case is not ordinary[crc32(name.encode()) % len(ordinary)]:
                case.add_marker(pytest.mark.slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect garbage less often, and only objects that tests make: that was a tenth of all time."""
    gc.freeze()
    gc.set_threshold(5000, 10, 10)
    gc.enable()
    if (worker := getattr(session.config, "workerinput", {})).get("workerid") == "gw0":
        for number in range(1, int(worker["workercount"])):
            _collected_mark(worker, f"gw{number}").touch()


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the state of builds out of the home of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    browser = Chromium(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.driver.quit()
