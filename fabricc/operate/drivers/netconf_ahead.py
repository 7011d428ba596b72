"""Send several NETCONF requests before their answers are needed: they take one round trip together.

A server answers the requests of a session in order, and a client may send the next one before the answer to the one
before has arrived (RFC 6241, section 4.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lxml import etree
from ncclient.operations.third_party.juniper.rpc import ExecuteRpc

from fabricc.operate.drivers.answers import VALUES

if TYPE_CHECKING:
    from ncclient.manager import Manager


class _Sent:
    """The session of a request that is on its way already."""

    @staticmethod
    def send(message: str) -> None:
        """Send nothing."""


class _AheadRpc(ExecuteRpc):  # type: ignore[misc]
    """A request that is sent at once and waits for its answer later, as ncclient waits for any."""

    def request(self, rpc: etree._Element) -> _AheadRpc:
        """Send the request."""
        self._async = True
        self._request(rpc)
        return self

    def wait_for_answer(self, rpc: etree._Element) -> Any:
        """Return the answer, or raise what ncclient raises for it."""
        self._async, self._session = False, _Sent
        return self._request(rpc)


def _key_of(request: etree._Element) -> bytes:
    """Return a key that equal requests have, whatever the order of their attributes."""
    return bytes(etree.tostring(request, method="c14n"))


class AheadRequests:
    """The requests of one NETCONF session that were sent ahead, until their answers are used or dropped."""

    def __init__(self, manager: Manager) -> None:
        """Answer the requests of a manager: PyEZ sends all of them by its method `rpc`."""
        self._manager = manager
        self._send_now = manager.rpc
        self._uses: Counter[bytes] = Counter()
        self._sent: dict[bytes, _AheadRpc] = {}
        self._answers: dict[bytes, Any] = {}
        manager.rpc = self._answer

    def send(self, requests: Iterable[str], most_values: int = VALUES) -> None:
        """Send each request once; its answer serves as often as the request is listed. Earlier answers are dropped.

        Args:
            requests: as XML.
            most_values: elements and attributes that an answer may have.
        """
        self.drop()
        self._manager._session.most_values = most_values
        for request in map(etree.XML, requests):
            key = _key_of(request)
            if not self._uses[key]:
                self._sent[key] = self._manager.execute(_AheadRpc, request)
            self._uses[key] += 1

    def drop(self) -> None:
        """Drop answers that were not used."""
        self._uses, self._sent, self._answers = Counter(), {}, {}
        self._manager._session.most_values = VALUES

    def _answer(self, request: etree._Element, *more: Any) -> Any:
        """Return the answer to a request that was sent ahead, or send the request; one that failed is sent again."""
        key = _key_of(request) if self._uses else b""
        if self._uses[key] and key in self._sent:
            self._answers[key] = self._sent.pop(key).wait_for_answer(request)
        if not self._uses[key] or key not in self._answers:
            return self._send_now(request, *more)
        self._uses[key] -= 1
        return self._answers[key] if self._uses[key] else self._answers.pop(key)
