"""A bounded REST client for sources of truth: pages, bulk requests, a token that no redirect receives.

Pages of a list and parts of a write may be under way at the same time; their results come in order.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode, urlsplit

from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.document import clip
from fabricc.base.numbers import is_number
from fabricc.operate.drivers import answers
from fabricc.operate.drivers.redact import excerpt

PAGE = 500
"""Objects of a page; both products allow 1,000 by default (`MAX_PAGE_SIZE`)."""
FIRST_PART, LARGEST_PART = 20, 200
"""Objects of the first bulk request, and the most of one. Our judgment, like the next."""
PART_S = 10
"""Seconds that a bulk request should take: workers of servers and proxies in front of them end after 30 or more."""
WAITS_S = (1, 2, 4, 8, 16)
"""Seconds before a request is sent again, where the server names none; it can name up to `LONGEST_WAIT_S`."""
LONGEST_WAIT_S = 120
_TOKEN_HELP = "Check that the token is the right one and has not expired, and its permissions."
_CONTINUE = "Run the command again: it continues with what is missing."
MOST_OBJECTS = 500_000
"""Objects of a list; a fabric of 24,000 GPUs has 250,000 interfaces. Our judgment, like the next three."""
_MOST_PAGES = 10_000
_LIST_S = 3600
_LIST_BYTES = 1 << 30
TIMEOUT_S = 120
"""Seconds of a request with its whole answer."""
_LONGEST = 300
_TOKEN = re.compile(r"[!-~]+")


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_TOO_MANY = 429
_BUSY = (502, 503, 504)
"""Statuses of a server that is restarted or overloaded, or of a proxy in front of it."""


class ServerError(FindingsError):
    """The server cannot be reached (FAB7020), or rejects a request (FAB2153)."""


class _Busy(NamedTuple):
    """A server that requests the same again; `seconds`: how long to wait, None if it names no number."""

    seconds: int | None


class _Page(NamedTuple):
    """A page of a list: its objects, the number of all objects, whether more follow, and its bytes."""

    results: list[Mapping[str, Any]]
    total: int
    has_next: bool
    size: int


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another server would get the token."""

    def redirect_request(self, *_: Any) -> None:
        """Return nothing, so that the redirect is an error."""
        return


class _Bounded(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Opens connections whose answers are bounded, and can cut them off."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._tls = context
        self._cuts: list[Callable[[], None]] = []

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection without TLS."""
        return self.do_open(self._bounded(http.client.HTTPConnection), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a connection with TLS."""
        return self.do_open(self._bounded(http.client.HTTPSConnection), req, context=self._tls)

    def cut(self) -> None:
        """Cut the connection of the request that is under way."""
        for cut in self._cuts:
            cut()

    def _bounded(self, kind: type[http.client.HTTPConnection]) -> Any:
        def connect(*arguments: Any, **named: Any) -> http.client.HTTPConnection:
            connection = kind(*arguments, **named)
            self._cuts = [answers.bound_connection(connection)]
            return connection

        return connect


class Client:
    """One server.

    Args:
        url: its address, without `/api`.
        token: an API token.
        certificates: a file of certificate authorities; None for those of the system.
        parallel: requests that may be under way at the same time.

    Raises:
        ServerError: no request can have this token.
    """

    def __init__(self, url: str, token: str, certificates: str | None = None, parallel: int = 1) -> None:
        self._url, self._token = url.rstrip("/"), token
        if not _TOKEN.fullmatch(token):
            message = "the token has a blank, a line break or a letter that no header of HTTP can have"
            raise ServerError("FAB2153", message, "Correct the value at the place that --token names.")
        scheme = "Bearer" if token.startswith("nbt_") else "Token"  # NetBox 4.5: tokens of version 2
        self._headers = {
            "Authorization": f"{scheme} {token}", "Accept": "application/json", "Content-Type": "application/json",
        }  # fmt: skip
        self._tls = ssl.create_default_context(cafile=certificates)
        self._parallel = parallel
        self._of_thread = threading.local()

    def objects(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a list, over all its pages.

        Raises:
            ServerError: the server does not answer as documented, or has other objects than it counts.
        """
        first = self._read_page(path, query, 0)
        yield from first.results
        step, total = len(first.results), first.total
        read, size, end = step, first.size, time.monotonic() + _LIST_S
        if read == total and not first.has_next:
            return
        if not first.has_next or not 0 < step < total:
            raise ServerError("FAB2153", f"/api/{path}/ ends after {read} of {total} objects")
        remedy = "Name another server with --url, or a location with fewer objects."
        endless = ServerError("FAB2153", f"/api/{path}/ has no end after {read:,} objects", remedy)
        if total > MOST_OBJECTS or total > step * _MOST_PAGES:
            raise endless
        offsets = range(step, total, step)
        for page in self._run_in_order(lambda offset: self._read_page(path, query, offset), offsets):
            yield from page.results
            is_last = read + step >= total
            if (
                len(page.results) != min(step, total - read)
                or page.total != total
                or page.has_next == is_last
            ):
                message = f"/api/{path}/ ends after {read + len(page.results)} of {total} objects, or changed"
                raise ServerError("FAB2153", message, "Run the command again.")
            read, size = read + step, size + page.size
            if size > _LIST_BYTES or time.monotonic() > end:
                raise endless

    def _read_page(self, path: str, query: Sequence[tuple[str, str]], offset: int) -> _Page:
        """Return a page of a list."""
        words = urlencode([*query, ("limit", str(PAGE)), ("offset", str(offset))])
        answer, length = self._request("GET", f"/api/{path}/?{words}")
        results = answer.get("results") if isinstance(answer, dict) else None
        total = answer.get("count") if isinstance(answer, dict) else None
        if not isinstance(results, list) or not isinstance(total, int) or not all(map(_is_object, results)):
            raise ServerError("FAB2153", f"{self._url}/api/{path}/ answers no list of objects with its count")
        return _Page(results, total, bool(answer.get("next")), length)

    def _run_in_order(
        self, work: Callable[[_Item], _Result], items: Iterable[_Item], parallel: int | None = None
    ) -> Iterator[_Result]:
        """Yield the results of some work in the order of the items, of which several may be under way.

        After an error the others that are under way end first, and no further one starts.
        """
        most = self._parallel if parallel is None else parallel
        waiting: deque[Future[_Result]] = deque()
        with ThreadPoolExecutor(most) as pool:
            try:
                for item in items:
                    if any(each.done() and each.exception() for each in waiting):
                        break
                    waiting.append(pool.submit(work, item))
                    if len(waiting) == most:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for each in waiting:
                    each.cancel()

    def create(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, in_turn: bool = True
    ) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Create objects and yield them part by part, in the order of the bodies.

        Args:
            path: of the list.
            bodies: what to send for each object.
            in_turn: whether a part waits for the one before it.
        """
        for count, answer in self._write("POST", path, bodies, in_turn=in_turn):
            if not isinstance(answer, list) or len(answer) != count or not all(map(_is_object, answer)):
                raise ServerError("FAB2153", f"/api/{path}/ does not answer with the {count} objects created")
            yield answer

    def update(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, in_turn: bool = True
    ) -> Iterator[int]:
        """Change objects; each body has the `id` and the values to change. Yield the number of each part."""
        return (count for count, _ in self._write("PATCH", path, bodies, in_turn=in_turn))

    def delete(self, path: str, ids: Sequence[str | int], *, in_turn: bool = True) -> Iterator[int]:
        """Delete objects, and yield the number of each part."""
        bodies = [{"id": each} for each in ids]
        return (count for count, _ in self._write("DELETE", path, bodies, in_turn=in_turn))

    def _write(
        self, method: str, path: str, bodies: Sequence[Mapping[str, Any]], *, in_turn: bool
    ) -> Iterator[tuple[int, Any]]:
        """Send bodies in parts of a size that the server handles in time, and yield size and answer of each part."""
        size = FIRST_PART

        def parts() -> Iterator[Sequence[Mapping[str, Any]]]:
            begin = 0
            while part := bodies[begin : begin + size]:
                begin += len(part)
                yield part

        def send(part: Sequence[Mapping[str, Any]]) -> tuple[int, Any, float]:
            start = time.monotonic()
            answer, _ = self._request(method, f"/api/{path}/", part)
            return len(part), answer, max(time.monotonic() - start, 0.001)

        for count, answer, took in self._run_in_order(send, parts(), 1 if in_turn else self._parallel):
            size = max(1, min(2 * size, LARGEST_PART, int(count * PART_S / took)))
            yield count, answer

    def _request(self, method: str, address: str, body: object = None) -> tuple[Any, int]:
        """Return the answer and the bytes that it has.

        A request that the server did not carry out because it is busy is sent again, as it requests.
        """
        content = None if body is None else json.dumps(body).encode()
        for wait in WAITS_S:
            answer = self._try_request(method, address, content)
            if not isinstance(answer, _Busy):
                return answer
            time.sleep(min(wait if answer.seconds is None else answer.seconds, LONGEST_WAIT_S))
        answer = self._try_request(method, address, content, is_last=True)
        assert not isinstance(answer, _Busy)
        return answer

    def _try_request(
        self, method: str, address: str, content: bytes | None, *, is_last: bool = False
    ) -> tuple[Any, int] | _Busy:
        """Send a request once; `is_last`: a busy server is an error."""
        place = address.partition("?")[0]
        late = threading.Event()
        handler, opener = self._find_opener()
        try:
            request = urllib.request.Request(f"{self._url}{address}", content, self._headers, method=method)
            with answers.cut_after(TIMEOUT_S, handler.cut) as late:
                status, text, after = self._exchange(opener, request)
            if late.is_set():
                raise TimeoutError
        except answers.AnswerTooLargeError as error:
            raise ServerError("FAB2153", f"{place}: {error}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            is_late = late.is_set() or isinstance(reason, TimeoutError)
            words = f"no whole answer within {TIMEOUT_S:g} s" if is_late else str(reason)
            host = urlsplit(self._url).netloc
            message = f"{host} cannot be reached: {excerpt(words, self._token, longest=_LONGEST)}"
            remedy = "Check --url and --ca." if method == "GET" else _CONTINUE
            raise ServerError("FAB7020", clip(message, _LONGEST), remedy) from None
        if status is not None:
            # Only 429 means for certain that nothing was done; to read twice does no harm.
            if not is_last and status in (_TOO_MANY, *(_BUSY if method == "GET" else ())):
                return _Busy(int(after) if is_number(after) else None)
            raise self._status_finding(method, place, status, text)
        try:
            return (answers.parse_json(text, place) if text.strip() else None), len(text)
        except answers.AnswerError as error:
            message = clip(excerpt(str(error), self._token, longest=_LONGEST), _LONGEST)
            raise ServerError(
                "FAB2153", message, f"Check that {self._url} is the address of the server."
            ) from None

    def _find_opener(self) -> tuple[_Bounded, urllib.request.OpenerDirector]:
        """Return the opener of this thread, and its handler, which can cut its connection off."""
        found: tuple[_Bounded, urllib.request.OpenerDirector] | None = getattr(
            self._of_thread, "opener", None
        )
        if found is None:
            handler = _Bounded(self._tls)
            handlers: list[urllib.request.BaseHandler] = [_NoRedirect(), handler]
            if urlsplit(self._url).scheme == "http":  # this machine; a proxy would get the token unencrypted
                handlers.append(urllib.request.ProxyHandler({}))
            found = self._of_thread.opener = (handler, urllib.request.build_opener(*handlers))
        return found

    @staticmethod
    def _exchange(
        opener: urllib.request.OpenerDirector, request: urllib.request.Request
    ) -> tuple[int | None, bytes, str]:
        """Return the status, unless it is a success, the content of an answer, and `Retry-After`."""
        try:
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                return None, answer.read(), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), str(error.headers.get("Retry-After") or "")

    def _status_finding(self, method: str, place: str, status: int, text: bytes) -> ServerError:
        """Return the finding of a status that is no success."""
        if status in (301, 302, 303, 307, 308):
            remedy = "Name the address that it redirects to with --url; the token is not sent there."
            return ServerError("FAB2153", f"{place} redirects elsewhere", remedy)
        remedy = _TOKEN_HELP if status in (401, 403) else ""
        if status == _TOO_MANY or status in _BUSY:
            remedy = _CONTINUE
        words = excerpt(text.decode("utf-8", "replace"), self._token, longest=_LONGEST)
        return ServerError(
            "FAB2153", f"{method} {place} is rejected, {status}: {clip(words, _LONGEST)}", remedy
        )


def _is_object(value: object) -> bool:
    """Return whether a value is an object of a server, with an identifier."""
    return isinstance(value, dict) and type(value.get("id")) in (int, str)
