"""Misbehavior of a server on request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Faults:
    """The faults from now on; a test sets and clears them while the server runs.

    Attributes:
        refuse_login: nobody may log in.
        refusals: how many logins were refused so.
        reject: the device refuses every candidate.
        drop_commit: the connection is closed when a commit arrives: `before` or `after` it took effect, or not.
        drop_once: only the next commit finds the connection closed.
        drop_answers: so many requests find the connection closed.
        warning: what the device warns of whenever it loads or commits a candidate, which it does all the same.
        fail_commit: the device refuses the commit.
        disk_full: nothing can be written.
        planted: lines, without blanks around them, that the device refuses wherever they stand in a candidate.
        banner: what a login script prints before each answer.
        updater: faults of SONiC's updater and its daemons: `slow=SECONDS` for each change, `unlisted_cable`,
            `no_buffermgrd`, `stock_ports` that a reload adds in spite of the `mac`.
        nvue: faults of Cumulus: `apply_fail` with exit status 0, `saves_early`, `not_json`, `sudo_password`,
            `vtysh_denied` without sudo.
        old_frr: FRR is older than 10.2, and cannot undo BFD's timers.
    """

    refuse_login: bool = False
    refusals: int = 0
    reject: bool = False
    drop_commit: str = ""
    drop_once: bool = False
    drop_answers: int = 0
    warning: str = ""
    fail_commit: bool = False
    disk_full: bool = False
    old_frr: bool = False
    planted: tuple[str, ...] = ()
    banner: str = ""
    updater: tuple[str, ...] = ()
    nvue: tuple[str, ...] = ()

    def refuses_login(self) -> bool:
        """Return whether a login is refused now, and count it."""
        self.refusals += self.refuse_login
        return self.refuse_login
