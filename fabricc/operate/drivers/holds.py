"""Claims of sessions on a switch: guards, commits that wait for confirmation, candidates, updates that are running."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class HoldKind(StrEnum):
    """The reason for which a session holds a switch."""

    GUARD = "guard"
    COMMIT = "commit"
    CANDIDATE = "candidate"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Hold:
    """A claim that some session has on a switch.

    Attributes:
        owner: name of the session or the account, "" when the device does not report it.
        left_s: seconds until the claim ends by itself; None when it does not, or when the device does not report it.
        own: whether this session made it; None when the device cannot distinguish sessions.
        blocks: whether a commit of another session is unsafe or impossible while it stands.
    """

    kind: HoldKind
    owner: str = ""
    left_s: float | None = None
    own: bool | None = False
    blocks: bool = True
