"""The interface of a topic of host files: it writes, states and reads its own files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabricc.fabric.facts import Facts, Reading
    from fabricc.fabric.model import Host

    Reader = Callable[[Reading, str, str], None]
    """Adds the facts of a text, and lists the lines that it does not know: (reading, file, text)."""


class Topic(Protocol):
    """A module of this package, such as `interfaces`.

    Attributes:
        READERS: path below the host's root, with `*` for anything -> what reads such a file.
    """

    READERS: Mapping[str, Reader]

    def render(self, host: Host) -> dict[str, str]:
        """Return its files, path below the host's root -> text; raise ValueError for a name that `gaps` reports."""
        ...

    def state(self, facts: Facts, host: Host) -> None:
        """Add the facts that these files must state; they follow from the host alone."""
        ...


class Network(Topic, Protocol):
    """A topic in the words of what configures a host's ports: netplan or NetworkManager.

    Attributes:
        ACTIVATION: template of that part of the apply script which makes it take the files.
    """

    ACTIVATION: str
