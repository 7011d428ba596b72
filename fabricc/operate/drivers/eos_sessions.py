"""Configuration sessions of EOS: the open ones, the committed ones, and the one that waits for its confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabricc.operate.drivers.answers import AnswerError

QUESTION = "show configuration sessions detail"
_LONGEST_S = 86400
_OPEN = "pending"
_WAITING = "pendingCommitTimer"
_COMMITTED = frozenset({"completed", "committed"})


@dataclass(frozen=True, slots=True)
class Sessions:
    """The configuration sessions of a switch.

    Attributes:
        states: name -> EOS's word for its state.
        waiting: the session whose commit waits for its confirmation, "" for none.
        until: when EOS takes that commit back, seconds of its clock; None where it does not report it.
    """

    states: Mapping[str, str]
    waiting: str = ""
    until: float | None = None

    def list_open(self) -> list[str]:
        """Return the sessions that are edited and not committed."""
        return [name for name, state in self.states.items() if state == _OPEN]

    def left_s(self, version: Mapping[str, Any]) -> float | None:
        """Return the seconds for which the commit still waits; None where they are not known.

        Args:
            version: the answer to `show version`, which has the time of EOS's clock.
        """
        times = version.get("bootupTimestamp"), version.get("uptime"), self.until
        started, uptime, until = (one if isinstance(one, int | float) else None for one in times)
        if started is None or uptime is None or until is None:
            return None
        left = until - started - uptime
        return left if 0 <= left <= _LONGEST_S else None

    def committed(self, name: str) -> bool:
        """Return whether the commit of a session took effect and waits for nothing."""
        return self.states.get(name) in _COMMITTED and name != self.waiting


def read_sessions(answer: Any) -> Sessions:
    """Read the JSON of `show configuration sessions detail`.

    Up to EOS 4.31 the session that waits has the state `pendingCommitTimer`. From 4.32 on it is `committed` as all
    others are, and `commitTimerSessionName` next to `sessions` names it while it waits (napalm issue 2166, which has
    both answers). Both forms are read whatever the release.

    Raises:
        AnswerError: it has another form, so nothing is known of the sessions.
    """
    sessions = answer.get("sessions") if isinstance(answer, dict) else None
    if not isinstance(sessions, dict):
        raise AnswerError(f"the answer to `{QUESTION}` has no sessions")
    states = {}
    for name, one in sessions.items():
        state = one.get("state") if isinstance(one, dict) else None
        if not isinstance(state, str):
            raise AnswerError(f"the answer to `{QUESTION}` has no state of session {name}")
        states[name] = state
    named = answer.get("commitTimerSessionName", "")
    if not isinstance(named, str):
        raise AnswerError(f"the answer to `{QUESTION}` has no name in commitTimerSessionName")
    waiting = named or next((name for name, state in states.items() if state == _WAITING), "")
    until = answer.get("commitTimerExpireTime", (sessions.get(waiting) or {}).get("commitBy"))
    return Sessions(states, waiting, until)
