"""A small HTTPS server with a certificate of its own and HTTP basic authentication."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import json
import ssl
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "127.0.0.1"


class Drop(Exception):  # noqa: N818 - a wish, not an error
    """Close the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer of another server, or of a proxy in between."""

    status: int
    content: bytes


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return public, private


@contextlib.contextmanager
def web_server(
    folder: Path, allowed: Callable[[str, str], bool], answer: Callable[[str, Any], Any]
) -> Iterator[tuple[int, Path]]:
    """Serve JSON requests; yields the port and the certificate.

    Args:
        folder: for certificate and key.
        allowed: whether a user may log in with a password.
        answer: (path, request) -> answer; may raise `Drop`.
    """
    public, private = make_certificate(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            requested = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            raw = base64.b64decode(self.headers.get("Authorization", "Basic Og==").split()[1])
            try:
                given = raw.decode()
            except UnicodeDecodeError:
                given = raw.decode("latin-1")
            if not allowed(*given.split(":", 1)):
                self._send(401, b"Unauthorized")
                return
            try:
                reported = answer(self.path, requested)
                if isinstance(reported, Raw):
                    self._send(reported.status, reported.content)
                else:
                    self._send(200, json.dumps(reported).encode())
            except Drop:
                self.close_connection = True

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *rest: Any) -> None:
            pass

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1], public
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
