"""Boxes that really run, with a tree that tries to write on the machine: each stays in its own root."""

from __future__ import annotations

import errno
import os
import platform
import pty
import shutil
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from fabricc.base.values import replace
from fabricc.operate.lab import box, demands, kernel, lifecycle, making, running, state
from fabricc.operate.lab.blueprint import Blueprint, build_blueprint
from fabricc.operate.lab.node import LabError
from fabricc.operate.lab.running import Lab
from tests.operate.lab import specs
from tests.operate.lab.test_logins import SWITCH, over_ssh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.fabric import Fabric

MARK = "FABRICC-MARK-OF-A-TEST"
PLACES = ("/etc", "/var/cache", "/var/lib", "/var/tmp", "/var/log", "/run", "/tmp", "/root", "/home", "/opt", "/srv",
          "/dev", "/dev/shm", "/usr", "/usr/local")  # fmt: skip
SETTINGS = ("kernel.core_pattern", "kernel.hostname", "kernel.panic", "vm.swappiness",
            "fs.file-max", "net.core.somaxconn", "net.ipv4.ip_forward")  # fmt: skip
PLANTED = {
    "frr.conf": f"log file /var/tmp/{MARK}-log\n",
    "interfaces": "auto eth9\niface eth9\n"
    + "".join(f"    {word} touch /var/cache/{MARK}-{word}\n" for word in ("pre-up", "up", "post-up", "down")),
    "lldpd.conf": f"configure system description `touch${{IFS}}/var/cache/{MARK}-lldp`\n",
    "nftables.conf": f'include "/var/cache/{MARK}-include"\n',
    "rsyslog.conf": f"*.* ^/usr/bin/touch;/var/cache/{MARK}\n",
    "sysctl.conf": f"kernel.panic = 77\nvm.swappiness = 7\n/var/cache/{MARK}-sysctl = 1\n"
    "net/../../../var/cache/x = 1\nkernel.core_pattern = |/usr/bin/touch\n",
}
"""Lines that a tree adds after the lines of the file."""
RUN_AS_ROOT = """
echo 77 > /proc/sys/kernel/panic
echo h > /proc/sysrq-trigger
echo 1 > /sys/kernel/mm/ksm/run
mount -t proc proc /mnt
mount -t tmpfs tmpfs /usr
mount -o remount,bind,rw /usr
mount -o remount,rw /proc
umount /proc/sys/net
umount /etc/ld.so.preload
mount -t devtmpfs dev /opt
mknod /opt/disk b 8 0
unshare -m touch /opt/namespace
unshare -n touch /opt/namespace
unshare -U touch /opt/namespace
nsenter -t 1 -n touch /opt/namespace
insmod /opt/module.ko
chroot / nsenter -t 1 -m touch /opt/namespace
echo /tmp/x.so > /etc/ld.so.preload
mv /etc/ld.so.preload /etc/other
mv /etc /etc.other
mv /usr /usr.other
mv /lib64 /lib64.other
mv /lib /lib.other
rm /bin
rm /lib64
mount --bind /tmp /lib64
"""


def plant_lines(fabric: Fabric) -> Blueprint:
    """The lab of a fabric, each switch with lines of somebody else's in every file but two, which are refused."""
    plan = build_blueprint(fabric)
    return replace(plan, switches=tuple(
        replace(
            node,
            files={name: node.files.get(name, "") + PLANTED.get(name, "") for name in {*node.files, *PLANTED}},
            kernel={**node.kernel, "kernel.panic": 77, "vm.swappiness": 7, f"/var/cache/{MARK}-sysctl": 1},
        )
        for node in plan.switches
    ))  # fmt: skip


def kernel_settings() -> dict[str, str]:
    """Kernel settings of the machine."""
    return {name: Path("/proc/sys", *name.split(".")).read_text() for name in SETTINGS}


def machine_marks() -> list[str]:
    """Files of the machine that a box wrote."""
    return [str(file) for place in PLACES for file in Path(place).glob(f"*{MARK}*")]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a lab needs root")
    if missing := [*demands.missing_programs(), *([] if shutil.which("sshd") else ["sshd"])]:
        pytest.skip(f"a lab for logins needs {', '.join(missing)}")
    yield tmp_path / "lab"
    if (tmp_path / "lab" / state.RECORD).exists():
        lifecycle.take_down_lab(tmp_path / "lab")


def write_spec(folder: Path) -> Path:
    found = specs.two_tiers(folder / "spec", hosts=2)
    found.write_text(found.read_text().replace("nos: frr", "nos: frr-8.4"))
    return found


@pytest.mark.slow
def test_lab_files_cannot_affect_the_host(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "build_blueprint", plant_lines)
    monkeypatch.setenv("FABRICC_CANARY", "of the user's environment")
    before, name = kernel_settings(), socket.gethostname()
    lab, source = lifecycle.boot_lab(write_spec(tmp_path), place, ssh=True)
    assert any("vm.swappiness" in sentence for sentence in source.differences)
    assert "log file" in lab.run(SWITCH, ["vtysh", "-c", "show running-config"]).stdout, (
        "the box has the line"
    )
    assert "CANARY" not in over_ssh(lab, "tr '\\0' '\\n' < /proc/1/environ")
    assert "CANARY" not in lab.run(SWITCH, ["env"]).stdout
    for command in (
        "sysctl -e -p /etc/sysctl.d/90-fabricc.conf", "nft -f /etc/nftables.d/fabricc.conf",
        "lldpcli -c /etc/lldpd.d/fabricc.conf", "hostname other",
    ):  # fmt: skip
        over_ssh(lab, f"{command} 2>&1 || true")
    assert lab.pending(SWITCH, "frr defaults datacenter\n"), "frr-reload still runs"
    assert (kernel_settings(), socket.gethostname(), machine_marks()) == (before, name, [])


@pytest.mark.slow
@pytest.mark.parametrize("door", ["ssh", "exec"])
def test_root_of_a_box_is_not_root_of_the_machine(tmp_path: Path, place: Path, door: str) -> None:
    before = kernel_settings()
    lab, _ = lifecycle.boot_lab(write_spec(tmp_path), place, ssh=True)

    def run(command: str) -> str:
        words = f"{command} 2>&1; echo status $?"
        return over_ssh(lab, words) if door == "ssh" else lab.run(SWITCH, ["sh", "-c", words]).stdout

    commands = [line for line in RUN_AS_ROOT.strip().splitlines() if door == "ssh" or "-U" not in line]
    # Without the filter, `exec` may make a user namespace: it gives no right over what is outside of it.
    done = run("\n".join(f"({line}) > /tmp/said 2>&1 && echo done: '{line}'" for line in commands))
    assert "done" not in done, done
    for secret in ("/etc/ssh", "/root/.ssh", "/home", str(tmp_path), "/etc/sudoers", "/run/old"):
        assert (
            not run(f"ls -A {secret} | grep -v moduli | head -3")
            .replace("status 0", "")
            .replace(f"ls: cannot access '{secret}': No such file or directory", "")
            .strip()
        ), secret
    assert run("cat /etc/shadow").startswith("root:*:")
    run("; ".join(f"touch {folder}/{MARK}" for folder in PLACES))
    assert (kernel_settings(), machine_marks()) == (before, [])


@pytest.mark.parametrize("line", [
    f"touch /var/cache/{MARK}", f"bgpd=yes; touch /var/cache/{MARK}", f'zebra_options="$(touch /var/cache/{MARK})"',
    f"MAX_FDS=1024 touch /var/cache/{MARK}", f'bgpd_options="-A 127.0.0.1 -M /var/cache/{MARK}.so"',
    "zebra_options='-u root'", "MAX_FDS=x", f"bgpd_wrap=/var/cache/{MARK}", ". /etc/profile", "bgpd_options=-A",
])  # fmt: skip
@pytest.mark.spread
def test_a_daemons_file_with_a_command_is_refused_and_runs_nothing(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    def with_command(fabric: Fabric) -> Blueprint:
        plan = build_blueprint(fabric)
        files = {"daemons": f"{plan.switches[0].files['daemons']}{line}\n"}
        return replace(
            plan, switches=tuple(replace(each, files={**each.files, **files}) for each in plan.switches)
        )

    monkeypatch.setattr(lifecycle, "build_blueprint", with_command)
    with pytest.raises(LabError) as refused:
        lifecycle.boot_lab(write_spec(tmp_path), place)
    assert refused.value.diagnostic.code == "FAB8020"
    assert "line" in refused.value.diagnostic.message
    assert machine_marks() == []
    assert not place.exists(), "nothing of the lab is left"


@pytest.mark.parametrize("name", ["-F/etc/shadow\n", "a b\n", "one\ntwo\n", "$(id)\n", "\n", "a" * 65])
def test_a_hostname_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    node = replace(
        build_blueprint(specs.source(specs.two_tiers(tmp_path)).fabric).switches[0], files={"hostname": name}
    )
    with pytest.raises(LabError) as refused:
        making._host_name(node)
    assert refused.value.diagnostic.code == "FAB8020"


@pytest.mark.parametrize("name", [
    "kernel.panic", "/etc/passwd", "net./etc/passwd", "net/ipv4/ip_forward", "net..ipv4", "net", "vm.swappiness",
    "net.ipv4.\n", "../net.ipv4.ip_forward", "fs.file-max",
])  # fmt: skip
def test_settings_of_the_machine_are_not_the_switches(name: str) -> None:
    assert not kernel.is_own_setting(name)
    assert kernel.is_own_setting("net.ipv6.conf.default.accept_dad")


def test_the_filter_refuses_calls_by_either_abi() -> None:
    """Runs the filter's instructions: the box alone would not show what a program of the other ABI may call."""
    for machine, (audit, column) in box.ARCHITECTURES.items():
        program = box.rules(machine)
        assert evaluate_filter(program, audit, box._DENIED["mount"][column]) == evaluate_filter(
            program, audit, 1 << 30
        )
        refused = evaluate_filter(program, audit, box._DENIED["mount"][column])
        allowed = evaluate_filter(program, audit, 1000)
        assert {
            evaluate_filter(program, audit, each[column]) for each in box._DENIED.values() if each[column]
        } == {refused}
        assert evaluate_filter(program, audit, box._CLONE[column], 0x11) == allowed
        for flag in (0x20000, 0x10000000, 0x40000000):
            assert evaluate_filter(program, audit, box._CLONE[column], flag) == refused
        assert evaluate_filter(program, 0x40000003, 1000) == refused, "a program of 32 bits"
        assert evaluate_filter(program, audit, 435) not in (allowed, refused), "clone3 is unknown"
    assert platform.machine() in box.ARCHITECTURES
    assert struct.calcsize("HBBI") == 8


@pytest.mark.parametrize(("request_", "allowed"), [
    (0xC0045877, False), (0xC0045878, False), (0xC0185879, False), (0x8004587D, False),  # freeze, thaw, trim, shut down
    (0x5000940C, False), (0x9409, False), (0xF505, False),  # Btrfs, F2FS
    (0x5412, False), (0x541C, False), (0x541D, False),  # characters into a terminal, selections, the console
    (0x5401, True), (0x5413, True), (0x8912, True), (0x8927, True), (0x89A2, True),  # terminals, interfaces, bridges
])  # fmt: skip
def test_no_request_reaches_a_file_system_or_terminal_of_the_machine(request_: int, allowed: bool) -> None:
    for machine, (audit, column) in box.ARCHITECTURES.items():
        for vrfs in (True, False):
            program = box.rules(machine, vrfs=vrfs)
            result = evaluate_filter(program, audit, box._IOCTL[column], request_)
            assert (result == box._ALLOW) is allowed
            refused = evaluate_filter(program, audit, box._DENIED["mount"][column])
            assert allowed or result == refused


def test_a_command_with_the_terminal_of_the_user_cannot_type_into_it() -> None:
    for machine, (audit, column) in box.ARCHITECTURES.items():
        program, refused = box.terminal_rules(machine), box._REFUSE | errno.EPERM
        for request in box._TERMINAL:
            assert evaluate_filter(program, audit, box._IOCTL[column], request) == refused
        assert evaluate_filter(program, audit, box._IOCTL[column], 0x5413) == box._ALLOW
        assert evaluate_filter(program, audit, 1000, box._TERMINAL[0]) == box._ALLOW
        assert evaluate_filter(program, audit, box._X32 + 16, box._TERMINAL[0]) == refused
        assert evaluate_filter(program, 0x40000003, 54, box._TERMINAL[0]) == refused, "a program of 32 bits"


def test_a_program_cannot_type_into_its_terminal() -> None:
    """A real terminal: the kernel refuses the request, and does not without the filter."""
    typed = "import fcntl\ntry:\n fcntl.ioctl(0, 0x5412, b'x')\n print(1)\nexcept OSError as error:\n print(error)"
    filtered = "import sys; sys.path.insert(0, sys.argv[1]); import box; box.protect_terminal()\n"
    place = str(Path(box.__file__).parent)
    for program, refused in ((filtered + typed, True), (typed, False)):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(sys.executable, [sys.executable, "-S", "-c", program, place])
        printed = b""
        with suppress(OSError):
            while block := os.read(terminal, 4096):
                printed += block
        os.waitpid(pid, 0)
        os.close(terminal)
        if refused or os.geteuid() == 0:
            assert (b"not permitted" in printed) is refused, printed


def evaluate_filter(
    program: list[tuple[int, int, int, int]], audit: int, call: int, argument: int = 0
) -> int:
    """The result of a classic BPF program over `seccomp_data`."""
    loaded, at = 0, 0
    while True:
        operation, yes, no, operand = program[at]
        at += 1
        if operation == 0x06:
            return operand
        if operation == 0x20:
            loaded = {4: audit, 0: call, 16: argument, 24: argument}[operand]
        elif operation == 0x54:
            loaded &= operand
        else:
            test = {0x15: loaded == operand, 0x35: loaded >= operand, 0x45: bool(loaded & operand)}[operation]
            at += yes if test else no


def test_a_log_that_is_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "var/log").mkdir(parents=True)
    (tmp_path / "var/log/boot.log").symlink_to("/etc/passwd")
    monkeypatch.setattr(Lab, "inside", lambda *_: tmp_path)
    with pytest.raises(LabError) as refused:
        making._boot_log(Lab(tmp_path, None), SWITCH)  # type: ignore[arg-type]
    assert refused.value.diagnostic.code == "FAB8012"


@pytest.mark.parametrize("link", ["run", "run/frr", "run/frr/bgpd.vty"])
def test_a_link_in_place_of_a_daemon_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to("/run/systemd")
    monkeypatch.setattr(Lab, "inside", lambda *_: tmp_path)
    with pytest.raises(LabError) as refused:
        Lab(tmp_path, None).query_daemon(SWITCH, "bgpd", "show bgp json")  # type: ignore[arg-type]
    assert "symbolic link" in refused.value.diagnostic.message


@pytest.mark.parametrize("answer", [b"x" * 65536, b'{"a":' * 200_000 + b"\0\0\0\0"], ids=["endless", "deep"])
def test_an_answer_of_a_daemon_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    monkeypatch.setattr(running, "_LARGEST", 4 << 20)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "bgpd.vty"))
        server.listen()

        def serve() -> None:
            channel, _ = server.accept()
            with channel, suppress(OSError):
                channel.recv(4096)
                channel.sendall(b"\0\0\0\0")
                channel.recv(4096)
                for _ in range(1 if answer.endswith(b"\0") else 1000):
                    channel.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        with pytest.raises((ConnectionError, ValueError)):
            running.query_daemon_json(tmp_path / "bgpd.vty", "show bgp json")
        thread.join(60)
