"""Require that an answer of Junos is of the kind that its request asks for, so that no other text counts as success.

Forms: Juniper's NETCONF and Junos XML guides ("Load Configuration Data", "Commit the Candidate Configuration") and the
answers that PyEZ has in its tests. PyEZ returns the first element of an answer, or True for an answer without any.
"""

from __future__ import annotations

from typing import Any

from fabricc.operate.drivers.answers import AnswerError, quote_words

_OK, _ERROR = "ok", "rpc-error"
_KINDS = {
    "load-configuration": frozenset({_OK, "load-configuration-results"}),
    "commit-configuration": frozenset({_OK, "commit-results"}),
}
_DIFFERENCE = frozenset({"configuration-information"})
_TEXT = frozenset({"configuration-text"})
_FAILED = ".//load-error-count"


def skip_warnings(reply: Any) -> Any:
    """Return the element of an answer that follows its warnings; the reply itself where nothing follows.

    Raises:
        AnswerError: one of them is an error.
    """
    found = reply
    while _read_tag(found) == _ERROR:
        severity = found.find("{*}error-severity")
        if severity is None or (severity.text or "").strip() != "warning":
            raise AnswerError(f"an error: {quote_words(' '.join(found.itertext()))}")
        if (following := found.getnext()) is None:
            return reply
        found = following
    return found


def require_kind(request: Any, reply: Any) -> None:
    """Refuse an answer of another kind than its request has, and a load that counts errors.

    Args:
        request: the element of the request.
        reply: what PyEZ returns for it.

    Raises:
        AnswerError: it is of another kind.
    """
    wanted = _list_kinds(request)
    if not wanted:
        return
    tag = _read_tag(reply)
    if tag not in wanted or reply.find(_FAILED) is not None:
        text = "".join(reply.itertext()) if tag else ""
        raise AnswerError(f"not an answer to {request.tag}: {tag or 'nothing'} {quote_words(text)}")


def _read_tag(reply: Any) -> str:
    return str(getattr(reply, "tag", "")).rpartition("}")[2]


def _list_kinds(request: Any) -> frozenset[str]:
    if request.tag == "get-configuration":
        if request.get("compare") is not None:
            return _DIFFERENCE
        return _TEXT if request.get("format") == "text" else frozenset()
    return _KINDS.get(request.tag, frozenset())
