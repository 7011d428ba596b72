"""A bounded REST client for sources of truth: pages, bulk requests, a token that no redirect receives."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from fabricc.base.diagnostics import FindingsError
from fabricc.base.documents.document import clip

PAGE = 500
"""Objects of a page; both products allow 1,000 by default (`MAX_PAGE_SIZE`)."""
BULK = 100
"""Objects of a bulk request."""
_MOST_PAGES = 10_000
_LARGEST = 64 * 1024 * 1024
_TIMEOUT_S = 120
_LONGEST = 300


class ServerError(FindingsError):
    """The server cannot be reached (FAB7020), or rejects a request (FAB2153)."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another server would get the token."""

    def redirect_request(self, *_: Any) -> None:
        """Return nothing, so that the redirect is an error."""
        return


class Client:
    """One server.

    Args:
        url: its address, without `/api`.
        token: an API token.
        certificates: a file of certificate authorities; None for those of the system.
    """

    def __init__(self, url: str, token: str, certificates: str | None = None) -> None:
        self._url = url.rstrip("/")
        scheme = "Bearer" if token.startswith("nbt_") else "Token"  # NetBox 4.5: tokens of version 2
        self._headers = {
            "Authorization": f"{scheme} {token}", "Accept": "application/json", "Content-Type": "application/json",
        }  # fmt: skip
        self._opener = urllib.request.build_opener(
            _NoRedirect, urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=certificates))
        )

    def objects(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Iterator[Mapping[str, Any]]:
        """Yield the objects of a list, over all its pages.

        Raises:
            ServerError: the server does not answer as documented, or has fewer objects than it counts.
        """
        read, total = 0, None
        for _ in range(_MOST_PAGES):
            words = urlencode([*query, ("limit", str(PAGE)), ("offset", str(read))])
            answer = self._request("GET", f"/api/{path}/?{words}")
            results = answer.get("results") if isinstance(answer, dict) else None
            if not isinstance(results, list) or not all(isinstance(each, dict) for each in results):
                raise ServerError("FAB2153", f"{self._url}/api/{path}/ answers no list of objects")
            yield from results
            read, total = read + len(results), answer.get("count")
            if not answer.get("next"):
                break
            if not results:
                raise ServerError("FAB2153", f"/api/{path}/ ends after {read} of {total} objects")
        if isinstance(total, int) and read < total:
            raise ServerError("FAB2153", f"/api/{path}/ ends after {read} of {total} objects")

    def create(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Create objects and return them, in the order of the bodies."""
        made: list[Mapping[str, Any]] = []
        for part in _parts(bodies):
            answer = self._request("POST", f"/api/{path}/", part)
            if not isinstance(answer, list) or len(answer) != len(part):
                raise ServerError(
                    "FAB2153", f"/api/{path}/ does not answer with the {len(part)} objects created"
                )
            made += answer
        return made

    def update(self, path: str, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Change objects; each body has the `id` and the values to change."""
        for part in _parts(bodies):
            self._request("PATCH", f"/api/{path}/", part)

    def delete(self, path: str, ids: Sequence[str | int]) -> None:
        """Delete objects."""
        for part in _parts([{"id": each} for each in ids]):
            self._request("DELETE", f"/api/{path}/", part)

    def _request(self, method: str, address: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}{address}", content, self._headers, method=method)
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                text = answer.read(_LARGEST + 1)
        except urllib.error.HTTPError as error:
            raise self._status_finding(method, address, error) from None
        except (OSError, ValueError) as error:
            reason = clip(str(getattr(error, "reason", error)), _LONGEST)
            host = urlsplit(self._url).netloc
            raise ServerError(
                "FAB7020", f"{host} cannot be reached: {reason}", "Check --url and --ca."
            ) from None
        if len(text) > _LARGEST:
            raise ServerError("FAB2153", f"{address} answers more than {_LARGEST:,} bytes")
        try:
            return json.loads(text) if text else None
        except (ValueError, RecursionError):
            raise ServerError(
                "FAB2153", f"{address} answers no JSON: is {self._url} the right address?"
            ) from None

    def _status_finding(self, method: str, address: str, error: urllib.error.HTTPError) -> ServerError:
        """Return the finding of a status that is no success."""
        with error:
            text = error.read(_LARGEST).decode("utf-8", "replace")
        place = address.partition("?")[0]
        if error.code in (301, 302, 307, 308):
            remedy = "Name the address that it redirects to with --url; the token is not sent to it unasked."
            return ServerError("FAB2153", f"{place} redirects elsewhere", remedy)
        remedy = "Check the permissions of the token." if error.code in (401, 403) else ""
        return ServerError(
            "FAB2153", f"{method} {place} is rejected, {error.code}: {clip(text, _LONGEST)}", remedy
        )


def _parts(bodies: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for begin in range(0, len(bodies), BULK):
        yield bodies[begin : begin + BULK]
