"""The task of a push, its means, and its receiver of progress."""

from __future__ import annotations

import threading
from dataclasses import field
from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.push import sequence
from fabricc.operate.push.executor import Executor
from fabricc.operate.push.image_step import INSTALL, Hook
from fabricc.operate.push.options import Options
from fabricc.operate.push.reach import Files, session_name
from fabricc.operate.push.run import Reporter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fabricc.base.diagnostics import Diagnostic
    from fabricc.operate.devices.access import Access
    from fabricc.operate.push.built_tree import BuiltTree
    from fabricc.operate.push.journal import Journal


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything that a run needs except its number.

    Attributes:
        journal: path of the journal.
        only: the switches to push to; empty for all.
        stop: set by Ctrl-C.
        stated: names of the options on the command line, which a resumed run uses instead of its own.
        digest_named: whether the user named the digest of the tree, so that no other proof is necessary.
        consents: accounts that the push may lock out.
        login_known: whether an access file gives logins; only waves are planned without one.
        hook: installs the release of every switch; None where they run it.
        taken: sessions of other runs that the user declared dead.
    """

    source: BuiltTree
    access: Access
    journal: Path
    options: Options = field(default_factory=Options)
    reporter: Reporter = field(default_factory=Reporter)
    only: Sequence[str] = ()
    stop: threading.Event = field(default_factory=threading.Event)
    stated: frozenset[str] = frozenset()
    digest_named: bool = False
    consents: frozenset[str] = frozenset()
    login_known: bool = True
    hook: Hook | None = None
    taken: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """The switches to push to, in the fabric's order.

        Raises:
            RefusedError: FAB9127, one that the fabric does not have.
        """
        return self.source.select_switches(self.only)

    def executor(
        self,
        journal: Journal,
        run: int,
        target: Callable[[str], Files] | None = None,
        action: str = INSTALL,
        *,
        back: bool = False,
    ) -> Executor:
        """Return the acts of a run, towards the tree or another target; `back` to what switches ran before."""
        files = target or self.source.files
        parts = (self.source, self.access, journal, run, self.options, files, self.stop)
        silent = {} if back else self._silent(journal)
        names = journal.sessions()
        others = (session_name(number, name) for number, name in names.items() if number != run)
        return Executor(
            *parts, hook=self.hook, action=action, silent=silent, session=names.get(run, ""), dead=frozenset(others),
            taken=self.taken,
        )  # fmt: skip

    def _silent(self, journal: Journal) -> dict[str, frozenset[int]]:
        """Switch -> code points that nobody sends, neither by the tree that it runs nor by this one."""
        now = self.source.origin.unsent
        origins = journal.origins(self.source.devices.values())
        return {name: origin.unsent & now for name, origin in origins.items()}

    def check_step_order(self, journal: Journal) -> tuple[Diagnostic, ...]:
        """Hold the step of a migration to its order; what to know of it.

        Raises:
            RefusedError: FAB9460, the step before it has not reached the switches; FAB9461.
        """
        source = self.source
        origins = journal.origins(source.devices.values())
        return sequence.require_order(
            source.spec, source.origin.state, self.names, origins, adopt=self.options.adopt
        )
