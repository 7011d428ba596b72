"""Process 1 of a switch in a lab: builds the box's own root, gives up rights over the machine, and starts the daemons.

Run as `python -I -S box.py FOLDER` in namespaces of its own. It imports the standard library only, because it starts
once for each switch.

Daemons of FRR insist on CAP_SYS_ADMIN, so capabilities alone do not confine them. A seccomp filter refuses the system
calls that would reach the machine with that right: mounts, other namespaces, kernel modules, BPF and the like.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import socket
import struct
import subprocess
import sys

CAPABILITIES = {
    "chown": 0, "dac_override": 1, "fowner": 3, "fsetid": 4, "kill": 5, "setgid": 6, "setuid": 7, "setpcap": 8,
    "net_bind_service": 10, "net_broadcast": 11, "net_admin": 12, "net_raw": 13, "ipc_lock": 14, "sys_chroot": 18,
    "sys_nice": 23, "sys_resource": 24, "audit_write": 29,
}  # fmt: skip
"""Capabilities that a box keeps (linux/capability.h), besides the one that FRR insists on."""
_SYS_ADMIN = 21
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
"""Nothing of the user's environment reaches a box: it may hold secrets."""
ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""Machine -> its number in linux/audit.h, and the column of `_DENIED`."""
_DENIED = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "unshare": (272, 97), "bpf": (321, 280), "perf_event_open": (298, 241), "fanotify_init": (300, 262),
    "swapon": (167, 224), "swapoff": (168, 225), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142), "acct": (163, 89),
    "open_by_handle_at": (304, 265), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "syslog": (103, 116), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219), "io_uring_setup": (425, 425), "iopl": (172, None),
    "ioperm": (173, None),
}  # fmt: skip
"""System calls that no box needs and that reach beyond it, by their numbers on the machines of `ARCHITECTURES`."""
_CLONE, _CLONE3, _SETNS, _IOCTL = (56, 220), 435, (308, 268), (16, 29)
_OF_FILE_SYSTEMS = (0x5800, 0x9400, 0xF500)
"""Types of `ioctl` requests, by their second byte, that act on a whole file system, also if it is mounted read-only.

They freeze, shut down or trim it ("X" of linux/fs.h), or are of Btrfs and F2FS. Each box has the machine's /usr.
"""
_TERMINAL = (0x5412, 0x541C, 0x541D)  # TIOCSTI, TIOCLINUX, TIOCCONS of asm-generic/ioctls.h
_NEW_NAMESPACES, _NEW_NETWORK = 0x7E020000, 0x40000000  # CLONE_NEW* and CLONE_NEWNET of linux/sched.h
_VRFS = "/run/netns"
"""Namespaces that are VRFs of this box; without a VRF there is no such folder."""
_X32 = 0x40000000  # numbers of the x32 ABI begin here
_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = (
    0x20,
    0x54,
    0x15,
    0x35,
    0x45,
    0x06,
)  # linux/bpf_common.h
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000  # linux/seccomp.h
_SET_SECCOMP, _FILTER, _DROP_BOUND = 22, 2, 24  # linux/prctl.h


def main(folder: str) -> None:
    """Become a switch: this process goes on as the shell that starts its daemons."""
    beside = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 10 ms to import
    with open(os.path.join(beside, "boot.sh"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
        boot = file.read()
    # What its child makes the root of this namespace is the root of this process too (pivot_root(2)).
    subprocess.run(["sh", f"{beside}/root.sh", folder], check=True, env=ENVIRONMENT)
    os.chdir("/")
    with open("/etc/hostname", encoding="utf-8") as file:  # noqa: PTH123
        socket.sethostname(file.read().strip())
    confine()
    os.execve("/bin/sh", ["sh", "-c", boot, "boot"], ENVIRONMENT)


def confine() -> None:
    """Give up all capabilities but those of a router, and the system calls that lead out of the box.

    Raises:
        OSError: the kernel refuses the filter.
        KeyError: the system calls of this machine are not known.
    """
    for number in range(64):
        if number not in CAPABILITIES.values() and number != _SYS_ADMIN:
            _prctl(_DROP_BOUND, number, missing=errno.EINVAL)  # the kernel has fewer than 64
    # The box sees the network namespaces of its VRFs and no others, and zebra enters them.
    vrfs = os.path.isdir(_VRFS)  # noqa: PTH112
    _install_filter(rules(platform.machine(), vrfs=vrfs))


def protect_terminal() -> None:
    """Keep this process, and the program that it becomes, from typing into the terminal that it shares with the user.

    Raises:
        OSError: the kernel refuses the filter.
        KeyError: the system calls of this machine are not known.
    """
    _install_filter(terminal_rules(platform.machine()))


def _install_filter(instructions: list[tuple[int, int, int, int]]) -> None:
    program = b"".join(struct.pack("HBBI", *each) for each in instructions)
    code = ctypes.create_string_buffer(program, len(program))
    whole = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    header = ctypes.create_string_buffer(whole, len(whole))
    _prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(header))


def rules(machine: str, *, vrfs: bool = False) -> list[tuple[int, int, int, int]]:
    """Return the filter as instructions of classic BPF: operation, jumps if true and false, operand.

    `vrfs`: the box may enter network namespaces.
    """
    audit, column = ARCHITECTURES[machine]
    numbers = [found for each in _DENIED.values() if (found := each[column]) is not None]
    length = len(numbers)
    # Jumps are relative. Four instructions, the calls, three on setns, those on ioctl and four on clone precede the
    # results.
    on_ioctl = 3 + len(_TERMINAL) + len(_OF_FILE_SYSTEMS) + 1
    allow = length + 11 + on_ioctl
    refuse, unknown = allow + 1, allow + 2

    def to(target: int, at: int) -> int:
        return target - at - 1

    made = [
        (_LOAD, 0, 0, 4),  # seccomp_data.arch
        (_IF_EQUAL, 0, to(refuse, 1), audit),
        (_LOAD, 0, 0, 0),  # seccomp_data.nr
        (_IF_AT_LEAST, to(refuse, 3), 0, _X32),
    ]
    made += [(_IF_EQUAL, to(refuse, at), 0, number) for at, number in enumerate(numbers, 4)]
    at = length + 4
    enters = to(allow, at + 2) if vrfs else to(refuse, at + 2)
    made += [
        (_IF_EQUAL, 0, 2, _SETNS[column]),
        (_LOAD, 0, 0, 24),  # seccomp_data.args[1], lower half
        (_IF_EQUAL, enters, to(refuse, at + 2), _NEW_NETWORK),
    ]
    at += 3
    made += [
        (_IF_EQUAL, 0, on_ioctl - 1, _IOCTL[column]),
        (_LOAD, 0, 0, 24),
        *((_IF_EQUAL, to(refuse, at + 2 + each), 0, request) for each, request in enumerate(_TERMINAL)),
    ]
    at += 2 + len(_TERMINAL)
    made += [
        (_AND, 0, 0, 0xFF00),
        *((_IF_EQUAL, to(refuse, at + 1 + each), 0, kind) for each, kind in enumerate(_OF_FILE_SYSTEMS)),
        (_RETURN, 0, 0, _ALLOW),
    ]
    at += 2 + len(_OF_FILE_SYSTEMS)
    return [
        *made,
        (_IF_EQUAL, to(unknown, at), 0, _CLONE3),  # its flags are in memory; libraries then use clone
        (_IF_EQUAL, 0, to(allow, at + 1), _CLONE[column]),
        (_LOAD, 0, 0, 16),  # seccomp_data.args[0], lower half
        (_IF_SET, to(refuse, at + 3), 0, _NEW_NAMESPACES),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
        (_RETURN, 0, 0, _REFUSE | errno.ENOSYS),
    ]


def terminal_rules(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter of a command in a box that has the user's terminal; see `rules`."""
    audit, column = ARCHITECTURES[machine]
    count = len(_TERMINAL)
    return [
        (_LOAD, 0, 0, 4),
        (_IF_EQUAL, 0, count + 5, audit),
        (_LOAD, 0, 0, 0),
        (_IF_AT_LEAST, count + 3, 0, _X32),
        (_IF_EQUAL, 0, count + 1, _IOCTL[column]),
        (_LOAD, 0, 0, 24),
        *((_IF_EQUAL, count - each, 0, request) for each, request in enumerate(_TERMINAL)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE | errno.EPERM),
    ]


def _prctl(option: int, *arguments: int, missing: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *(ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0)[:4])) != 0:
        number = ctypes.get_errno()
        if number != missing:
            raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main(sys.argv[1])
