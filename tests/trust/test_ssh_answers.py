"""Data that a device sends over SSH is bounded: both streams of a command, packets, windows and NETCONF's XML."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm import get_network_driver
from napalm.base.exceptions import NapalmException

from fabricc.operate.drivers import answers
from fabricc.operate.drivers.answers import BUFFERED_BYTES, PACKET_BYTES, bound_channel, silence_libraries
from fabricc.operate.drivers.junos import JunosDriver
from fabricc.operate.drivers.nxos import NxosDriver
from fabricc.operate.drivers.shell import Shell
from tests.operate.drivers.servers.ssh import ssh_server
from tests.operate.drivers.servers.web import HOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import paramiko

TIMEOUT_S = 20
HELLO = (
    b'<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities><capability>'
    b"urn:ietf:params:netconf:base:1.0</capability></capabilities><session-id>1</session-id></hello>"
)
END = b"]]>]]>"


@contextlib.contextmanager
def shell_of(folder: Path, serve: Callable[[paramiko.Channel, str], None]) -> Any:
    def ran(channel: paramiko.Channel, command: str) -> None:
        while channel.recv(65536):
            pass
        serve(channel, command)

    with ssh_server(folder, lambda *_: True, {"exec": ran}) as (port, known):
        shell = Shell(HOST, "admin", "secret", TIMEOUT_S, {"port": port, "alt_key_file": str(known)})
        shell.open()
        yield shell
        shell.close()


@pytest.mark.parametrize("size", [1, 3 << 20, 20 << 20])
def test_a_flood_on_standard_error_does_not_hold_back_an_answer(size: int, tmp_path: Path) -> None:
    def serve(channel: paramiko.Channel, _command: str) -> None:
        channel.sendall_stderr(b"e" * size)
        channel.sendall(b"answer")
        channel.send_exit_status(0)

    with shell_of(tmp_path, serve) as shell:
        ran = shell.run("show")
    assert (ran.status, ran.out, len(ran.err)) == (0, "answer", size)


def test_streams_that_alternate_are_read_whole(tmp_path: Path) -> None:
    def serve(channel: paramiko.Channel, _command: str) -> None:
        for _ in range(40):
            channel.sendall(b"o" * 100_000)
            channel.sendall_stderr(b"e" * 100_000)
        channel.send_exit_status(3)

    with shell_of(tmp_path, serve) as shell:
        ran = shell.run("show")
    assert (ran.status, len(ran.out), len(ran.err)) == (3, 4_000_000, 4_000_000)


def test_a_lost_wake_up_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two streams of a channel share a pipe under two locks: one may clear what the other has just set."""

    def serve(channel: paramiko.Channel, _command: str) -> None:
        channel.sendall(b"o" * 2 * BUFFERED_BYTES)
        channel.sendall_stderr(b"err")
        channel.send_exit_status(0)

    monkeypatch.setattr("paramiko.pipe.PosixPipe.set", lambda _pipe: None)
    with shell_of(tmp_path, serve) as shell:
        ran = shell.run("show", limit_s=8)
    assert (ran.status, len(ran.out), ran.err) == (0, 2 * BUFFERED_BYTES, "err")


def no_window(channel: paramiko.Channel) -> None:
    """Let a server send as if its peer had granted it any window."""
    channel.out_window_size = 1 << 40


@pytest.mark.parametrize("stream", ["sendall", "sendall_stderr"])
def test_data_past_the_window_ends_the_connection(stream: str, tmp_path: Path) -> None:
    def serve(channel: paramiko.Channel, _command: str) -> None:
        no_window(channel)
        getattr(channel, stream)(b"x" * (3 * BUFFERED_BYTES))

    with shell_of(tmp_path, serve) as shell:
        transport = shell._client.get_transport()
        channel = transport.open_session()
        bound_channel(channel)
        channel.exec_command("nobody reads this")
        channel.shutdown_write()
        until = time.monotonic() + TIMEOUT_S
        while transport.is_active() and time.monotonic() < until:
            time.sleep(0.05)
        assert not transport.is_active()
        assert len(channel.in_buffer) + len(channel.in_stderr_buffer) <= BUFFERED_BYTES


def test_a_packet_that_is_larger_than_any_ends_the_connection(tmp_path: Path) -> None:
    def serve(channel: paramiko.Channel, _command: str) -> None:
        channel.get_transport().send_ignore(2 * PACKET_BYTES)

    with shell_of(tmp_path, serve) as shell, pytest.raises(NapalmException, match=r"broke|more than any"):
        shell.run("show")


def test_the_first_packet_is_bounded_too() -> None:
    listener = socket.create_server((HOST, 0))
    sent = [0]

    def serve() -> None:
        with contextlib.suppress(OSError):
            one, _ = listener.accept()
            one.sendall(b"SSH-2.0-device\r\n\x7f\xff\xff\xff")
            while sent[0] < 1 << 30:
                sent[0] += one.send(bytes(65536))

    threading.Thread(target=serve, daemon=True).start()
    shell = Shell(HOST, "admin", "secret", TIMEOUT_S, {"port": listener.getsockname()[1]})
    with pytest.raises(NapalmException):
        shell.open()
    listener.close()
    assert sent[0] < 64 << 20


# NETCONF.


@contextlib.contextmanager
def serve_netconf(folder: Path, serve: Callable[[paramiko.Channel], None], hello: bytes = HELLO + END) -> Any:
    def answer(channel: paramiko.Channel, _name: str) -> None:
        channel.sendall(hello)
        channel.recv(65536)
        serve(channel)

    with ssh_server(folder, lambda *_: True, {"netconf": answer}) as (port, known):
        driver = get_network_driver("fabricc_junos")(
            HOST, "admin", "secret", timeout=TIMEOUT_S,
            optional_args={"port": port, "alt_key_file": str(known)},
        )  # fmt: skip
        yield driver
        driver.close()


def answer_once(
    channel: paramiko.Channel, content: bytes, before: Callable[[], object] = lambda: None
) -> None:
    """Answer the first request of a session, and keep the session open."""
    requested = b""
    while END not in requested:
        requested += channel.recv(65536)
    number = requested.partition(b'message-id="')[2].partition(b'"')[0]
    before()
    name = b'<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="' + number + b'">'
    channel.sendall(name + content + b"</rpc-reply>" + END)
    channel.recv(65536)


LARGE = {
    "elements": (b"<a/>" * 1_100_000, "more than 1,000,000 values"),
    "attributes": (b'<a b="" c="" d="" e=""/>' * 250_000, "more than 1,000,000 values"),
    "single quotes": (b"<a b='' c='' d='' e=''/>" * 250_000, "more than 1,000,000 values"),
    "blanks": (b'<a b = "" c\n=\n"" d =  "" e =\t""/>' * 250_000, "more than 1,000,000 values"),
    "text": (b"<a>" + b"x" * (9 << 20) + b"</a>", "more than 8,388,608 bytes"),
}


@pytest.mark.parametrize("kind", LARGE)
def test_an_answer_of_netconf_is_bounded_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, problem = LARGE[kind]
    monkeypatch.setattr(answers, "ANSWER_BYTES", 8 << 20)
    with serve_netconf(tmp_path, lambda channel: answer_once(channel, content)) as driver:
        driver.open()
        with pytest.raises(NapalmException, match=problem):
            driver.get_config("running")


def test_a_hello_without_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ANSWER_BYTES", 4 << 20)

    def flood(channel: paramiko.Channel) -> None:
        while True:
            channel.sendall(bytes(65536).replace(b"\0", b" "))

    with (
        serve_netconf(tmp_path, flood, b"<hello>") as driver,
        pytest.raises(NapalmException, match="more than 4,"),
    ):
        driver.open()


def test_unrequested_netconf_notifications_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "SESSION_BYTES", 4 << 20)
    one = (
        b'<notification xmlns="urn:ietf:params:xml:ns:netconf:notification:1.0"><eventTime>2026-01-01T00:00:00Z'
        b"</eventTime><event>" + b"x" * 10_000 + b"</event></notification>" + END
    )

    def flood(channel: paramiko.Channel) -> None:
        while True:
            channel.sendall(one)

    with serve_netconf(tmp_path, flood) as driver:
        driver.open()
        with pytest.raises(NapalmException, match=r"session|message-id"):
            driver.has_pending_commit()


@pytest.mark.parametrize("size", [100, 6 << 20])
def test_standard_error_of_a_netconf_session_holds_back_nothing(size: int, tmp_path: Path) -> None:
    text = b"<configuration-text>system { host-name a; }\n</configuration-text>"

    def serve(channel: paramiko.Channel) -> None:
        answer_once(channel, text, lambda: channel.sendall_stderr(b"e" * size))

    with serve_netconf(tmp_path, serve) as driver:
        driver.open()
        assert driver.get_config("running")["running"] == "system { host-name a; }\n"


def test_sessions_of_others_are_as_they_were(tmp_path: Path) -> None:
    from ncclient import manager

    def serve(channel: paramiko.Channel, _name: str) -> None:
        channel.sendall(HELLO + END)
        channel.recv(65536)
        answer_once(channel, b"<data>" + b"<a/>" * 1_100_000 + b"</data>")

    with serve_netconf(tmp_path, lambda channel: channel.recv(65536)) as driver:
        driver.open()
    folder = tmp_path / "others"
    folder.mkdir()
    with ssh_server(folder, lambda *_: True, {"netconf": serve}) as (port, _):
        other = manager.connect(
            host=HOST, port=port, username="a", password="b", hostkey_verify=False, look_for_keys=False,
            allow_agent=False, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert len(other.get_config("running").data) == 1_100_000


HOSTILE = b"\x1b[2J <a>password secret</b> secret "
QUIET = """
import logging, sys
from napalm import get_network_driver
if sys.argv[3] == "root":
    logging.basicConfig()
driver = get_network_driver("fabricc_junos")(
    "127.0.0.1", "admin", "secret", timeout=3, optional_args={"port": int(sys.argv[1]), "alt_key_file": sys.argv[2]}
)
try:
    driver.open()
    driver.get_config("running")
except Exception as error:
    assert "secret" not in str(error), error
else:
    sys.exit("nothing was wrong")
driver.close()
"""


@pytest.mark.spread
@pytest.mark.parametrize("logging_of_root", ["none", "root"])
@pytest.mark.parametrize(
    "sent",
    [
        HOSTILE + END,
        b"<rpc-reply message-id='other'>" + HOSTILE + b"</rpc-reply>" + END,
        b'<rpc-reply xmlns="urn:ietf:params:xml:ns:netconf:base:1.0" message-id="other"><ok/></rpc-reply>'
        + END,
        b"<rpc-reply>" + HOSTILE + b"</rpc-reply>" + END[:3],
        b"<hello>" + HOSTILE + END * 3,
    ],
)
def test_libraries_print_nothing_of_a_device(sent: bytes, logging_of_root: str, tmp_path: Path) -> None:
    def serve(channel: paramiko.Channel, _name: str) -> None:
        channel.sendall(HELLO + END)
        channel.recv(65536)
        channel.recv(65536)
        channel.sendall(sent)
        channel.recv(65536)

    with ssh_server(tmp_path, lambda *_: True, {"netconf": serve}) as (port, known):
        words = [sys.executable, "-W", "always", "-c", QUIET, str(port), str(known), logging_of_root]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    shown = [line for line in ran.stderr.splitlines() if "ncclient" in line or "jnpr" in line]
    assert shown == []
    assert "secret" not in ran.stderr
    assert "\x1b" not in ran.stderr


def test_silence_libraries_keeps_a_configured_log_level() -> None:
    logger = logging.getLogger("ncclient")
    before = logger.level
    try:
        logger.setLevel(logging.DEBUG)
        silence_libraries()
        assert logger.level == logging.DEBUG
    finally:
        logger.setLevel(before)


def flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"A" * 65536)


def flood_lines(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"A" * 80 + b"\n")


def huge_packet(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-x\r\n\x7f\xff\xff\xfc")
    flood(connection)


def drip_bytes(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"A")
        time.sleep(0.05)


@contextlib.contextmanager
def no_ssh(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve connections of a device that never logs anybody in, until the other side closes them."""

    def answer(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            serve(connection)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server((HOST, 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


def open_shell(port: int) -> None:
    Shell(HOST, "admin", "secret", 1, {"port": port}).open()


def open_netconf(port: int) -> None:
    JunosDriver(HOST, "admin", "secret", timeout=1, optional_args={"port": port}).open()


def open_terminal(port: int) -> None:
    driver = NxosDriver(HOST, "admin", "secret", timeout=1, optional_args={"ssh_port": port})
    driver._netmiko_open("cisco_nxos", {"conn_timeout": 1})


@pytest.mark.parametrize("serve", [flood, flood_lines, huge_packet, drip_bytes])
@pytest.mark.parametrize("connect", [open_shell, open_netconf, open_terminal])
@pytest.mark.spread
def test_ssh_server_without_a_login_fails(
    serve: Callable[[socket.socket], None], connect: Callable[[int], None]
) -> None:
    silence_libraries()
    with no_ssh(serve) as port, pytest.raises(NapalmException):
        connect(port)
