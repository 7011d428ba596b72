"""Servers of `fabricc sync` that answer to do harm: no hang, no exception, no token elsewhere, no false success."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fabricc.cli.entry import run
from fabricc.integrations.sync import client
from tests.integrations.source_of_truth import TOKEN, Store, serve_store
from tests.integrations.test_sync import PRODUCTS, SPEC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Answer = Callable[["Talk", int], None]


class Talk(socketserver.StreamRequestHandler):
    """One connection; the request is read, and its answer is the test's."""

    answer: Answer
    seen: list[bytes]

    def handle(self) -> None:
        head = b""
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            head += line
        self.seen.append(head)
        type(self).answer(self, len(self.seen))

    def send(self, body: bytes, status: str = "200 OK", more: str = "") -> None:
        self.wfile.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body)


@contextmanager
def serve_answers(answer: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """Serve answers on a loopback port: the address, and the heads of the requests."""
    seen: list[bytes] = []
    handler = type("Bound", (Talk,), {"answer": answer, "seen": seen})
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def page_body(results: object, count: object = 1, more: object = None) -> bytes:
    return json.dumps({"count": count, "next": more, "results": results}).encode()


def drip_body(talk: Talk, body: bytes) -> None:
    """Send a part of a body at a time for as long as the other end listens, a bounded number of times."""
    try:
        for _ in range(200):
            talk.wfile.write(body)
            talk.wfile.flush()
            if threading.Event().wait(0.05):
                return
    except OSError:
        return


ONE = [{"id": 1, "name": "x"}]
ANSWERS: dict[str, Answer] = {
    "html": lambda talk, _: talk.send(b"<html><body>Login</body></html>"),
    "empty": lambda talk, _: talk.send(b""),
    "echo of the token": lambda talk, _: talk.send(TOKEN.encode(), "403 Forbidden"),
    "echo of the token in another form": lambda talk, _: talk.send(
        f"Token {TOKEN.encode().hex()}".encode(), "500 Oops"
    ),
    "escape sequences": lambda talk, _: talk.send(b"\x1b]0;x\x07\x1b[2J", "400 Bad"),
    "redirect without a place": lambda talk, _: talk.send(b"", "302 Found"),
    "pages without end": lambda talk, _: talk.send(page_body(ONE, 10**9, "http://x/")),
    "no count": lambda talk, _: talk.send(page_body(ONE, None)),
    "more than it counts": lambda talk, _: talk.send(page_body(ONE, 0, "http://x/")),
    "less than it counts": lambda talk, _: talk.send(page_body(ONE, 2)),
    "a list": lambda talk, _: talk.send(b"[1]"),
    "no identifier": lambda talk, _: talk.send(page_body([{"name": "x"}])),
    "an identifier that is a list": lambda talk, _: talk.send(page_body([{"id": [1], "name": "x"}])),
    "a million values": lambda talk, _: talk.send(b'{"count":1,"results":[' + b"[]," * 1_100_000 + b"[]]}"),
    "deep": lambda talk, _: talk.send(b'{"results":' + b"[" * 90_000),
    "a long number": lambda talk, _: talk.send(b'{"count":' + b"9" * 5_000 + b',"results":[]}'),
    "half": lambda talk, _: talk.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"),
    "no HTTP": lambda talk, _: talk.wfile.write(b"SSH-2.0-x\r\n"),
    "closed": lambda *_: None,
    "a slow body": lambda talk, _: drip_body(talk, b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{ ") or None,
    "slow headers": lambda talk, _: (talk.wfile.write(b"HTTP/1.1 200 OK\r\n"), drip_body(talk, b"X: y\r\n"))[1],
    "a continuation without end": lambda talk, _: drip_body(talk, b"HTTP/1.1 100 Continue\r\n\r\n"),
}  # fmt: skip


def sync(url: str, folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    (folder / "cluster.yaml").write_text(SPEC)
    capsys.readouterr()
    status = run(["sync", "netbox", str(folder / "cluster.yaml"), "--url", url, *words])
    text = "".join(capsys.readouterr())
    assert "FAB7999" not in text, text
    assert TOKEN not in text
    assert TOKEN.encode().hex() not in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    return status, text


@pytest.fixture(autouse=True)
def _limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETBOX_TOKEN", TOKEN)
    monkeypatch.setenv("NAUTOBOT_TOKEN", TOKEN)
    monkeypatch.setattr(client, "TIMEOUT_S", 1)
    monkeypatch.setattr(client, "_MOST_PAGES", 20)


@pytest.mark.parametrize("words", [(), ("--pull", "tables")])
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_a_finding(
    name: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with serve_answers(ANSWERS[name]) as (url, seen):
        status, text = sync(url, tmp_path, capsys, *words)
    assert status in (1, 3)
    assert "FAB2153" in text or "FAB7020" in text
    assert len(seen) <= 20
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_gets_the_token(status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve_answers(lambda talk, _: talk.send(page_body([], 0))) as (other, seen):
        more = f"Location: {other}/api/x/\r\n"
        with serve_answers(lambda talk, _: talk.send(b"", f"{status} Elsewhere", more)) as (url, _):
            assert sync(url, tmp_path, capsys)[0] == 1
    assert seen == []


def test_a_next_page_elsewhere_is_not_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        serve_answers(lambda talk, _: talk.send(page_body([], 0))) as (other, seen),
        serve_answers(lambda talk, _: talk.send(page_body(ONE, 2, f"{other}/api/x/"))) as (url, _),
    ):
        assert sync(url, tmp_path, capsys)[0] == 1
        assert seen == []


@pytest.mark.parametrize(
    "url",
    ["http://127.evil.example", "http://localhost.evil.example", "http://[::1].evil.example", "ftp://127.0.0.1",
     "http://192.0.2.1", "http://127.0.0.1@192.0.2.1", "file:///etc/passwd", "http://127.0.0.1.nip.io", "https://"],
)  # fmt: skip
def test_an_address_that_is_not_this_machine_gets_no_token_in_clear(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = sync(url, tmp_path, capsys)
    assert (status, "--url" in text) == (2, True)


def test_no_proxy_gets_a_token_in_clear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve_answers(lambda talk, _: talk.send(page_body([], 0))) as (proxy, seen):
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        with serve_answers(lambda talk, _: talk.send(b"", "404 Not Found")) as (url, requested):
            assert sync(url, tmp_path, capsys)[0] == 1
    assert (seen, len(requested)) == ([], 1)


@pytest.mark.parametrize(
    "token", ["secret-token\nX-Injected: 1", "secret token", "secret-t\u00f6ken", "secret\x00"]
)
def test_a_token_that_no_header_can_have_is_not_printed(
    token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_bytes(f" {token}".encode() if "\n" in token else token.encode())
    file.chmod(0o600)
    with serve_answers(lambda talk, _: talk.send(page_body([], 0))) as (url, seen):
        status, text = sync(url, tmp_path, capsys, "--token", f"file:{file}")
    assert (status, seen) == (1, [])
    assert "secret" not in text


VALUES: list[Any] = [None, True, -1, 10**30, 1e308, "", "\x1b[2J", "a\nb", "=cmd|x", [], {}, [[]], {"id": []},
                     {"id": {}}, [{"id": [1]}], "x" * 5000, ["a_terminations"]]  # fmt: skip
FIELDS = ("name", "tags", "custom_fields", "primary_ip4", "device", "device_type", "role", "location", "site", "rack",
          "position", "mtu", "address", "prefix", "vrf", "tenant", "a_terminations", "b_terminations",
          "termination_a_id", "assigned_object_id", "ip_address", "interface", "platform", "model")  # fmt: skip


class Altered(Store):
    """A server that answers with another value in one field."""

    field, value = "", None

    def shown(self, path: str, held: dict[str, Any], *, nested: bool) -> dict[str, Any]:
        answer = super().shown(path, held, nested=nested)
        return {**answer, self.field: self.value} if self.field in answer else answer


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 25])
@pytest.mark.parametrize("product", PRODUCTS)
def test_no_value_of_an_object_ends_in_an_exception(
    product: str,
    step: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(client, "_MOST_PAGES", 10_000)
    monkeypatch.setattr(client, "TIMEOUT_S", 60)
    monkeypatch.chdir(tmp_path)
    store = Altered(product)
    with serve_store(store) as url:
        spec = str(tmp_path / "cluster.yaml")
        (tmp_path / "cluster.yaml").write_text(SPEC)
        assert run(["sync", product, spec, "--url", url, "--apply"]) == 0
        tried = [(field, value) for at, field in enumerate(FIELDS) for value in VALUES[at % 4 :: 4]]
        for field, value in tried[::step]:
            store.field, store.value = field, value
            for words in ([], ["--pull", "tables"]):
                capsys.readouterr()
                status = run(["sync", product, spec, "--url", url, *words])
                text = "".join(capsys.readouterr())
                assert "FAB7999" not in text, (field, value, text)
                assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), (field, value)
                assert status in (0, 1, 2)
            for table in tmp_path.glob("tables/*.csv"):
                assert not re.search(r"(?m)(?:^|,)\"?[=@+\x1b]", table.read_text()), (field, value)
