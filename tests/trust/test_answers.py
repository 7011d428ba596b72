"""Devices that answer without end, slowly, with garbage or not at all: bounded in size and by a deadline."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from napalm import get_network_driver
from napalm.base.exceptions import NapalmException

from fabricc.operate.drivers import answers
from tests.operate.drivers.servers.ssh import ssh_server
from tests.operate.drivers.servers.web import HOST, make_certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import paramiko

TIMEOUT_S = 1
LONGEST_S = 12
"""Three timeouts, a grace and what a slow machine takes, and nowhere near what a byte each half second would."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def without_end(write: Callable[[bytes], object]) -> None:
    while True:
        write(b" " * 65536)


def send_slowly(write: Callable[[bytes], object]) -> None:
    while True:
        write(b" ")
        time.sleep(0.3)


def send_nothing(_write: Callable[[bytes], object]) -> None:
    time.sleep(60)


def send_garbage(write: Callable[[bytes], object]) -> None:
    write(b"\x00\xff[[[{\x1b]0;" * 1000)


ANSWERS = [without_end, send_slowly, send_nothing, send_garbage]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller limit, so that the flood is short."""
    monkeypatch.setattr(answers, "ANSWER_BYTES", 8 << 20)


@contextlib.contextmanager
def serve_once(
    folder: Path, answer: Callable[[ssl.SSLSocket], None], *, handshake: bool = True
) -> Iterator[tuple[int, Path]]:
    """Serve one request over TLS with the given answer."""
    public, private = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    listener = socket.create_server((HOST, 0))

    def serve(plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain:
            if not handshake:
                send_slowly(plain.sendall)
            with context.wrap_socket(plain, server_side=True) as one:
                one.recv(65536)
                answer(one)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1], public
    finally:
        listener.close()


def refused_in_time(name: str, port: int, **options: Any) -> str:
    """Open a driver and send a request; return how it failed."""
    began = time.monotonic()
    driver = get_network_driver(name)(
        HOST, "admin", "secret", timeout=TIMEOUT_S, optional_args={"port": port, **options}
    )

    def requested() -> None:
        with contextlib.closing(driver):
            driver.open()
            if name == "fabricc_junos":
                driver.has_pending_commit()
            else:
                driver.get_config("running")

    with pytest.raises(NapalmException) as failure:
        requested()
    assert time.monotonic() - began < LONGEST_S
    return str(failure.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fabricc_eos", "fabricc_nxos"])
@pytest.mark.parametrize("body", ANSWERS)
def test_an_answer_over_https_is_bounded(name: str, body: Any, tmp_path: Path) -> None:
    def answer(one: ssl.SSLSocket) -> None:
        one.sendall(HEAD + b"\r\n")
        body(one.sendall)

    with serve_once(tmp_path, answer) as (port, authority):
        reported = refused_in_time(name, port, ssl_verify=str(authority))
    if body is without_end and name == "fabricc_eos":
        assert "more than 8,388,608 bytes" in reported


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fabricc_eos", "fabricc_nxos"])
@pytest.mark.parametrize("body", [send_slowly, send_nothing])
def test_the_head_of_an_answer_over_https_is_bounded(name: str, body: Any, tmp_path: Path) -> None:
    def answer(one: ssl.SSLSocket) -> None:
        one.sendall(HEAD + b"X: ")
        body(one.sendall)

    with serve_once(tmp_path, answer) as (port, authority):
        refused_in_time(name, port, ssl_verify=str(authority))


@pytest.mark.parametrize("name", ["fabricc_eos", "fabricc_nxos"])
def test_a_handshake_that_trickles_is_cut_off(name: str, tmp_path: Path) -> None:
    with serve_once(tmp_path, send_garbage, handshake=False) as (port, authority):  # type: ignore[arg-type]
        refused_in_time(name, port, ssl_verify=str(authority))


@pytest.mark.spread
@pytest.mark.parametrize("name", ["frr", "sonic", "cumulus"])
@pytest.mark.parametrize("stream", ["out", "err"])
@pytest.mark.parametrize("body", [without_end, send_slowly, send_nothing])
def test_the_output_of_a_command_is_bounded(name: str, body: Any, stream: str, tmp_path: Path) -> None:
    def answer(channel: paramiko.Channel, _command: str) -> None:
        body(channel.sendall if stream == "out" else channel.sendall_stderr)

    with ssh_server(tmp_path, lambda *_: True, {"exec": answer}) as (port, known):
        reported = refused_in_time(name, port, alt_key_file=str(known), sudo=False, commit_timeout=2)
    assert ("more than 8,388,608 bytes" in reported) == (body is without_end)


def test_garbage_is_no_answer_of_the_agent(tmp_path: Path) -> None:
    def answer(channel: paramiko.Channel, _command: str) -> None:
        send_garbage(channel.sendall)
        channel.send_exit_status(0)

    with ssh_server(tmp_path, lambda *_: True, {"exec": answer}) as (port, known):
        refused_in_time("frr", port, alt_key_file=str(known))


@pytest.mark.parametrize("body", ANSWERS)
@pytest.mark.spread
def test_a_netconf_session_is_bounded(body: Any, tmp_path: Path) -> None:
    hello = (
        b'<hello xmlns="urn:ietf:params:xml:ns:netconf:base:1.0"><capabilities><capability>'
        b"urn:ietf:params:netconf:base:1.0</capability></capabilities><session-id>1</session-id></hello>]]>]]>"
    )

    def answer(channel: paramiko.Channel, _name: str) -> None:
        channel.sendall(hello)
        channel.recv(65536)
        body(channel.sendall)

    with ssh_server(tmp_path, lambda *_: True, {"netconf": answer}) as (port, known):
        refused_in_time("fabricc_junos", port, alt_key_file=str(known))
