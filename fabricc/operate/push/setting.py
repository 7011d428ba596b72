"""The inputs of a run: tree, access, journal, options, and the receiver of progress."""

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
        stated: names of the options on the command line, which override those of a resumed run.
        digest_named: whether the user named the digest of the tree, which replaces any other proof.
        consents: accounts that the push may lock out.
        login_known: whether there is an access file with logins; without one, fabricc only plans waves.
        hook: command that installs the release of every switch; None if the switches run it already.
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
        """Return the switches to push to, in the order of the fabric.

        Raises:
            PushRefusedError: FAB9127, one that the fabric does not have.
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
        """Return the executor of a run towards the tree or another target; `back` for an earlier configuration."""
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
        """Return switch -> code points that no host sends, in its running tree and in this one."""
        now = self.source.origin.unsent
        origins = journal.origins(self.source.devices.values())
        return {name: origin.unsent & now for name, origin in origins.items()}

    def check_step_order(self, journal: Journal) -> tuple[Diagnostic, ...]:
        """Require the steps of a migration in their order; return findings about the step.

        Raises:
            PushRefusedError: FAB9460, the step before it has not reached the switches; FAB9461.
        """
        source = self.source
        origins = journal.origins(source.devices.values())
        return sequence.require_order(
            source.spec, source.origin.state, self.names, origins, adopt=self.options.adopt
        )
