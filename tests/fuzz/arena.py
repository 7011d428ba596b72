"""Where an input is opened: fabrics that were built, the command line run in process, and what must not happen."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fabricc.cli.entry import run
from tests.trust.hostile import is_harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU_SECONDS = 10.0
"""Processor time of one input; what is slower is a hang."""
SECONDS = 120
GROWTH = 512 << 20
"""Bytes by which one input may make the process larger."""
ADDRESS_SPACE = 3 << 30
STATUSES = (0, 1, 2, 3)
UNTOLD = ("FAB7999", "FAB7001", "Traceback")
"""Outputs that no input may cause: a defect, a failed system call, a traceback."""

_HEAD = """\
cluster: lab
gpus: {model: lab-host, hosts: 4, hosts_per_unit: 2}
tors: {model: linux-16x100, nos: frr, uplinks: 2}
spines: {model: linux-16x100, nos: frr, count: 2}
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
accept:
  - {code: FAB5201, reason: a lab has no queues}
  - {code: FAB5202, reason: a lab has no queues}
"""
_RACKS = """\
cluster: lab
gpus: {model: grand-teton, racks: 4, hosts_per_rack: 1, wiring: rack%s}
%s
priorities:
  rdma: {dscp: 26, lossless: true}
  cnp: {dscp: 48, strict: true}
  default: {}
cables:
  host: {medium: dac, length_m: 3}
  spine: {medium: smf, length_m: 40}
management:
  users:
    - {name: netops, ssh_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8/THyG8L4rLIV7Yfbhs1rjnFe40KXV3Gwr"}
"""
LABS = {
    "frr": _HEAD,
    "eos": _RACKS
    % (", os: rhel-9", "tors: {model: 7060dx5-64s, nos: eos}\nspines: {model: 9332d-gx2b, nos: nxos}"),
    "sonic": _RACKS
    % (
        "",
        "tors: {model: sn5600, nos: sonic}\nspines: {model: qfx5240-64od, nos: junos}\n"
        "overrides:\n  rack003-tor1a: {nos: cumulus}",
    ),
    "infiniband": """\
cluster: lab
fabric: infiniband
gpus: {model: dgx-h100, hosts: 4, hosts_per_unit: 2}
tors: {model: qm9700}
spines: {model: qm9700}
infiniband:
  guids: guids.yaml
  partitions:
    research: {pkey: 16, units: [su001]}
  ipoib: {pool: 10.192.0.0/12}
""",
}
"""Small fabrics, whose trees have the files of every operating system."""


_COMMAND = re.compile(r"^::(?:error|warning|notice) ", re.MULTILINE)
"""The commands that `--format github` is made of."""


class Broken(BaseException):
    """A forbidden effect of an input."""


class Arena:
    """A clone with fabrics and a separate home, for one input after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.top, self.home, self.out = folder / "clone", folder / "home", folder / "out"
        for one in (self.top, self.home):
            one.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.top)], check=True)
        self.environment = {"HOME": str(self.home), "XDG_STATE_HOME": str(folder / "state"), "NO_COLOR": "1"}
        self.labs = {name: self.top / name for name in LABS}
        self._kept: dict[Path, bytes | None] = {}
        with self.inside():
            for name, spec in LABS.items():
                self._build(self.labs[name], spec)

    def _build(self, lab: Path, spec: str) -> None:
        lab.mkdir()
        (lab / "cluster.yaml").write_text(spec)
        if "infiniband" in spec:
            (lab / "guids.yaml").write_text("{}\n")
        status, reported = self._run_verb(
            "build", str(lab / "cluster.yaml"), "-o", str(lab / "build"), "-j", "1"
        )
        assert status == 0, reported
        access = lab / "fabricc-access.yaml"
        access.write_text("username: fabricc\npassword: {env: FUZZ}\n")
        status, reported = self._run_verb("trust", str(access))
        assert status == 0, reported

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The environment of the clone's user."""
        before, place = dict(os.environ), Path.cwd()
        os.environ.update(self.environment)
        os.chdir(self.top)
        try:
            yield
        finally:
            os.chdir(place)
            os.environ.clear()
            os.environ.update(before)

    def put(self, path: Path, content: bytes | None) -> None:
        """Write a file for this input alone; None: it is not there."""
        if path not in self._kept:
            self._kept[path] = path.read_bytes() if path.is_file() else None
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content)

    def sign(self, tree: Path, *paths: str) -> None:
        """Give these files of a tree the digests in its manifest that they have now: forged, not damaged."""
        manifest = json.loads((tree / "manifest.json").read_bytes())
        for path in paths:
            manifest["files"][path] = hashlib.sha256((tree / path).read_bytes()).hexdigest()
        self.put(tree / "manifest.json", json.dumps(manifest, indent=2).encode())

    def fabricc(self, *words: str | Path) -> tuple[int, str]:
        """Run the command line; return the exit status and the whole output.

        Raises:
            Broken: it reported a defect, or printed control sequences.
        """
        status, reported = self._run_verb(*map(str, words))
        verb = " ".join(map(str, words))[:120]
        if status not in STATUSES:
            raise Broken(f"{verb}: exit status {status}")
        for word in UNTOLD:
            if word in reported:
                line = next(one for one in reported.split("\n") if word in one)
                raise Broken(f"{verb}: {line[:300]}")
        if "github" in words:
            reported = _COMMAND.sub("", reported)
        if not is_harmless(reported):
            raise Broken(f"{verb}: prints what a terminal obeys")
        return status, reported

    @staticmethod
    def _run_verb(*words: str) -> tuple[int, str]:
        before = sys.stdout, sys.stderr
        reported = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        sys.stdout = sys.stderr = reported
        try:
            status = run([*words])
        finally:
            sys.stdout, sys.stderr = before
        reported.seek(0)
        return status, reported.buffer.getvalue().decode()  # type: ignore[attr-defined]

    @contextmanager
    def judged(self) -> Iterator[None]:
        """Watch one input: time, memory, and every file that is not output; everything is put back afterwards.

        Raises:
            Broken: one of them is not as it has to be.
        """
        before = _resident_bytes()
        begun = time.process_time()
        try:
            with _set_limits():
                yield
            if time.process_time() - begun > CPU_SECONDS:
                raise Broken(f"takes {time.process_time() - begun:.0f} seconds of processor time")
            if (growth := _resident_bytes() - before) > GROWTH:
                raise Broken(f"takes {growth >> 20} MiB of memory")
        finally:
            for path, content in self._kept.items():
                if content is None:
                    path.unlink(missing_ok=True)
                else:
                    path.write_bytes(content)
            self._kept.clear()
            with suppress(FileNotFoundError):
                shutil.rmtree(self.out)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Require that the block changes nothing in the clone and the home.

        Raises:
            Broken: something is there, gone or other than before.
        """
        before = {place: _list_files(place) for place in (self.top, self.home)}
        yield
        for place, known in before.items():
            now = _list_files(place)
            if now != known:
                changed = sorted(path for path in {*known, *now} if known.get(path) != now.get(path))
                raise Broken(f"changes {changed[:3]}")


def _list_files(top: Path) -> dict[str, tuple[int, ...]]:
    """Every file below a folder: kind and mode, size, time, number."""
    found: dict[str, tuple[int, ...]] = {}
    waiting = [str(top)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                at = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                    found[entry.path] = (at.st_mode,)
                else:
                    found[entry.path] = (at.st_mode, at.st_size, at.st_mtime_ns, at.st_ino)
    return found


def _resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _raise_late(*_: object) -> None:
    raise Broken(f"takes longer than {CPU_SECONDS:.0f} seconds of processor time, or {SECONDS} in all")


@contextmanager
def _set_limits() -> Iterator[None]:
    """Timers, and a limit of address space so that an input that wants all memory gets a MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    handlers = {number: signal.signal(number, _raise_late) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS + 1)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (_mapped_bytes() + ADDRESS_SPACE, hard))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _mapped_bytes() -> int:
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[0]) * os.sysconf("SC_PAGESIZE") if pages.exists() else 1 << 30
