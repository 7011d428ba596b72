"""Access to the Linux kernel: namespaces, batches of `ip`, settings, and the identity of processes."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from fabricc.operate.lab.node import LabError

NAMESPACES = Path("/run/netns")
"""Where iproute2 binds named network namespaces (ip-netns(8))."""
IPV6 = "-6 "
"""Prefix of a command whose family `ip` cannot derive from its arguments (a rule without an IPv4 address)."""
_CLONE_NEWNET = 0x40000000  # linux/sched.h
_SIOCGIFFLAGS, _IFF_UP_RUNNING = 0x8913, 0x41  # netdevice(7)
_PARALLEL = 4
_OWN_SETTING = re.compile(r"net(?:\.[A-Za-z0-9_-]+)+")


@cache
def _load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _enter_namespace(descriptor: int) -> None:
    if _load_libc().setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@contextmanager
def inside_namespace(namespace: str) -> Iterator[None]:
    """Run the body of the `with` in a network namespace; sockets opened there stay there.

    Only the calling thread moves.

    Raises:
        OSError: there is no such namespace, or it may not be entered.
    """
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter_namespace(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _enter_namespace(home)
    finally:
        os.close(home)


def ip_batch(lines: Iterable[str], namespace: str | None = None, *, force: bool = False) -> None:
    """Run many `ip` commands in one process.

    `lines` are commands without the word `ip`; those that begin with `-6 ` run last, as `ip -6`. `force` goes on after
    a command that fails.

    Raises:
        LabError: FAB8009 with the message of `ip`, unless `force`.
    """
    wanted = list(lines)
    six = [line.removeprefix(IPV6) for line in wanted if line.startswith(IPV6)]
    for family, chosen in (([], [line for line in wanted if not line.startswith(IPV6)]), (["-6"], six)):
        if chosen:
            _run_batch("ip", [*family, *(["-n", namespace] if namespace else [])], chosen, force)


def tc_batch(lines: Iterable[str], namespace: str, *, force: bool = False) -> None:
    """Run many `tc` commands in a namespace in one process.

    Raises:
        LabError: FAB8009 with the message of `tc`, unless `force`: then it continues after a command that fails.
    """
    _run_batch("tc", ["-n", namespace], list(lines), force)


def _run_batch(program: str, options: list[str], lines: list[str], force: bool) -> None:
    command = [program, *options, *(["-force"] if force else []), "-batch", "-"]
    text = "".join(f"{line}\n" for line in lines)
    ran = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if ran.returncode and not force:
        message = "; ".join(ran.stderr.split("\n")[:3]).strip("; ")
        raise LabError("FAB8009", f"{' '.join(command)}: {message}")


def ip_batches(batches: Mapping[str, Iterable[str]]) -> None:
    """Run a batch in each of several namespaces, a few at a time.

    Raises:
        LabError: FAB8009 with the message of `ip`.
    """
    with ThreadPoolExecutor(_PARALLEL) as pool:
        for _ in pool.map(lambda item: ip_batch(item[1], item[0]), batches.items()):
            pass


def has_carrier(namespace: str, port: str) -> bool:
    """Return whether a port is up and sees light.

    Raises:
        OSError: there is no such namespace or port.
    """
    with inside_namespace(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        answer = fcntl.ioctl(channel, _SIOCGIFFLAGS, struct.pack("16sH14x", port.encode(), 0))
    flags: int = struct.unpack_from("H", answer, 16)[0]
    return flags & _IFF_UP_RUNNING == _IFF_UP_RUNNING


def write_sysctls(namespace: str, settings: Mapping[str, int]) -> None:
    """Write kernel settings inside a namespace; those that only the whole machine has are left out.

    Raises:
        LabError: FAB8021, the kernel refuses a value.
    """
    with inside_namespace(namespace):
        for name, value in settings.items():
            if not is_own_setting(name):
                continue
            try:
                with suppress(FileNotFoundError):
                    Path("/proc/sys", *name.split(".")).write_text(str(value))
            except OSError as error:
                message = f"the kernel refuses {name} = {value} in {namespace}: {error.strerror}"
                raise LabError("FAB8021", message) from None


def is_own_setting(name: str) -> bool:
    """Return whether a kernel setting is one of the network's, which each network namespace has for itself."""
    return _OWN_SETTING.fullmatch(name) is not None


def start_time(pid: int) -> str | None:
    """Return the start of a process in clock ticks since boot (proc(5), field 22); None without such a process."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if after_name[0] == "Z" else after_name[19]


def child_processes(pid: int) -> list[int]:
    """Return the children of a process's main thread."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def process_tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                text = (task / "children").read_text()
                waiting += [int(word) for word in text.split()]
    return found


def memory_kib(pids: Iterable[int]) -> int:
    """Return proportional share of memory of some processes, KiB (proc(5), `smaps_rollup`)."""
    total = 0
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total


def available_kib() -> int:
    """Return memory that can be used without swapping, KiB (proc(5), `MemAvailable`)."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0
