"""Run one simulated subnet from its emitted files: start ibsim and opensm in a folder, watch, query and end them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.back.infiniband import sm_files
from fabricc.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


PROGRAMS = ("setpriv", "ibsim", "opensm", "ibnetdiscover", "ibtracert", "saquery", "smpquery", "ibdmchk")
PACKAGES = "opensm ibsim-utils infiniband-diags ibutils"
"""Debian and Ubuntu packages of the programs."""
_DYING = ("setpriv", "--pdeathsig", "KILL")
"""In front of a command: the kernel ends it with this process, whatever ends that; by itself ibsim goes on at a CPU."""
_POLL_S = 0.02
_TOOL_S = 300


class SimulationError(Exception):
    """The simulated subnet did not come up, or did not answer in time."""


def preload_library() -> str | None:
    """Return the library that redirects libibumad to the simulator, or None."""
    found = sorted(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"))
    return str(found[0]) if found else None


def missing_programs() -> list[str]:
    """Return the programs that are not installed."""
    lacking = [name for name in PROGRAMS if not shutil.which(name, path=_search_path())]
    return lacking if preload_library() else [*lacking, "libumad2sim"]


def _search_path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class SimulatedSubnet:
    """ibsim with opensm attached at one adapter; use it as a context.

    Attributes:
        folder: made by `inputs.write_inputs`; logs and dumps end up in it.
        up_s: seconds from the start of opensm to its first SUBNET UP.
    """

    def __init__(self, folder: Path, needs: Needs, host: str, wait_s: float) -> None:
        self.folder, self.needs, self.host, self.wait_s = folder, needs, host, wait_s
        self.up_s = 0.0
        self._ibsim: subprocess.Popen[bytes] | None = None
        self._opensm: subprocess.Popen[bytes] | None = None
        self._environment = {
            **os.environ,
            "PATH": _search_path(),
            "IBSIM_SOCKNAME": f"fabricc-{os.getpid()}-{folder.name}",
        }

    def __enter__(self) -> SimulatedSubnet:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._opensm, self._ibsim):
            if process is not None:
                _end_process(process)

    def run_tool(self, *command: str, timeout_s: float = _TOOL_S) -> str:
        """Run a tool that attaches where opensm does, and return its standard output and error.

        Raises:
            SimulationError: it does not end in time.
        """
        try:
            done = subprocess.run(
                [*_DYING, *command],
                env=self._tool_environment(),
                cwd=self.folder / "run",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise SimulationError(f"{command[0]} did not end within {timeout_s:.0f} s") from None
        return done.stdout.decode("utf-8", "replace")

    def console(self, line: str) -> None:
        """Send one command to ibsim, such as `Unlink "S-…"[3]`.

        Raises:
            SimulationError: ibsim has died.
        """
        if self._ibsim is None or self._ibsim.stdin is None:
            raise SimulationError("ibsim does not run")
        try:
            self._ibsim.stdin.write(f"{line}\n".encode())
            self._ibsim.stdin.flush()
        except BrokenPipeError:
            raise SimulationError("ibsim has died") from None

    def log(self) -> str:
        """Return the subnet manager's log so far."""
        return _read_text(self.folder / "opensm.log")

    def read_output(self) -> str:
        """Return the output of opensm so far, which contains its complaints about the configuration."""
        return _read_text(self.folder / "opensm.out")

    def count_sweeps(self) -> int:
        """Return how often the subnet manager has brought the subnet up."""
        return self.log().count("SUBNET UP")

    def wait_for_sweep(self, after: int) -> float:
        """Seconds until there are more sweeps than `after`.

        Raises:
            SimulationError: there is none in time, or opensm dies.
        """
        return self._wait(lambda: self.count_sweeps() > after, "opensm has not brought the subnet up")

    def _start(self) -> None:
        self._ibsim = self._spawn("ibsim", ["ibsim", "-s", *self.needs.options(), "net"], self._environment)
        self._wait(lambda: "simulator ready" in _read_text(self.folder / "ibsim.out"), "ibsim is not ready")
        conf = str(self.folder / "etc" / "opensm" / "opensm.conf")
        begin = time.monotonic()
        self._opensm = self._spawn("opensm", ["opensm", "-F", conf], self._tool_environment())
        self.wait_for_sweep(0)
        self.up_s = time.monotonic() - begin

    def _tool_environment(self) -> dict[str, str]:
        return {
            **self._environment,
            "SIM_HOST": self.host,
            "LD_PRELOAD": preload_library() or "",
            "OSM_TMP_DIR": str(self.folder / "dump"),
            "OSM_CACHE_DIR": str(self.folder / "cache"),
        }

    def _spawn(self, name: str, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.out").open("wb") as out:
            return subprocess.Popen(
                [*_DYING, *command],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait(self, done: Callable[[], bool], what: str) -> float:
        begin = time.monotonic()
        while not done():
            passed = time.monotonic() - begin
            if passed > self.wait_s:
                raise SimulationError(f"{what} within {self.wait_s:.0f} s")
            for name, process in (("ibsim", self._ibsim), ("opensm", self._opensm)):
                if process is not None and process.poll() is not None:
                    raise SimulationError(f"{name} ended: {self._last_words()}")
            time.sleep(max(_POLL_S, passed / 50))
        return time.monotonic() - begin

    def _last_words(self) -> str:
        lines = (_read_text(self.folder / "ibsim.out") + self.read_output()).strip().splitlines()
        return lines[-1][:200] if lines else "no output"


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""


def _end_process(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


_ADAPTER = re.compile(r'"H-([0-9a-f]{16})"')
_CAGUID = re.compile(r"^caguid=0x([0-9a-f]{16})$", re.MULTILINE)
_LID = re.compile(r" lid \d+")
_OTHER_RATE = re.compile(r" (4x(NDR|XDR)|2x\w+)$", re.MULTILINE)

OVERRIDES = {
    "sweep_interval": "0",  # only traps sweep, so that what follows an unplugged link follows from the link
    "log_flags": "0x43",  # errors, information and routing tables
    "accum_log_file": "FALSE",
}


@dataclass(frozen=True, slots=True)
class Needs:
    """Capacities that ibsim reserves: nodes, switches, ports, and entries of a forwarding table."""

    nodes: int
    switches: int
    ports: int
    lids: int

    @staticmethod
    def of(topology: sm_files.ReadTopology) -> Needs:
        """Return the resources that a topology needs, with a small margin."""
        nodes = list(topology.nodes.values())
        switches = [node for node in nodes if node.is_switch]
        ports = sum(node.ports + 1 for node in nodes)
        top = max((node.lid for node in nodes), default=0)
        return Needs(len(nodes) + 16, len(switches) + 16, ports + 64, max(1024, (top + 64) // 64 * 64 + 64))

    def options(self) -> list[str]:
        """Return the options of ibsim."""
        numbers = ("-N", self.nodes, "-S", self.switches, "-P", self.ports, "-L", self.lids)
        return [str(each) for each in numbers]


def adapter_id(guid: int) -> str:
    """The simulated node of an adapter port: ibsim makes a port's GUID of its node's by adding the port's number."""
    return f"H-{guid - 1:016x}"


def net_file(topology: str) -> str:
    """A topology as ibsim 0.10 reads one: node GUIDs one below port GUIDs, no LIDs, every rate that it lacks as HDR.

    It knows neither NDR and XDR nor links of two lanes and would link at SDR; rates play no part in what is judged.
    """
    text = _ADAPTER.sub(lambda match: f'"{adapter_id(int(match[1], 16))}"', topology)
    text = _CAGUID.sub(lambda match: f"caguid=0x{int(match[1], 16) - 1:016x}", text)
    return _OTHER_RATE.sub(" 4xHDR", _LID.sub(" lid 0", text))


def write_inputs(folder: Path, files: Mapping[str, str]) -> None:
    """Write the input of the simulation below `folder`: the net, and every file of the subnet manager.

    Paths below /etc in the files become paths below the folder; nothing else in them changes except the log level.
    """
    for name in ("run", "dump", "cache"):
        (folder / name).mkdir(parents=True)
    (folder / "net").write_text(net_file(files[sm_files.TOPOLOGY]))
    for path, text in files.items():
        if path.startswith("etc/"):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_adapt_conf(folder, text) if path == sm_files.CONF else text)
    (folder / "cache" / "guid2lid").write_text(files[sm_files.LIDS])


def _adapt_conf(folder: Path, text: str) -> str:
    kept = [
        line.replace(" /etc/", f" {folder}/etc/")
        for line in text.splitlines()
        if line.split(" ", 1)[0] not in OVERRIDES
    ]
    own = {**OVERRIDES, "log_file": f"{folder}/opensm.log", "dump_files_dir": f"{folder}/dump/"}
    return "\n".join([*kept, *(f"{key} {value}" for key, value in own.items())]) + "\n"
