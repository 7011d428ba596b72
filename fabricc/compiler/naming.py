"""What planning asks of the back ends: which NOS runs on what, its releases, and the names of ports."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel


class Naming:
    """The back ends behind the three questions that planning may ask."""

    def names(self) -> tuple[str, ...]:
        """Every NOS that can be loaded, sorted."""
        return back_ends.names()

    def supports(self, nos: str, model: SwitchModel) -> bool:
        """Whether the NOS runs on the model.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).supports(model)

    def releases(self, nos: str) -> tuple[str, ...]:
        """The releases of a NOS that its back end knows.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).releases

    def release(self, nos: str, release: str | None) -> str:
        """The release asked for, or the back end's default.

        Raises:
            KeyError: no such NOS.
            ValueError: the back end does not know the release; the text says which it does.
        """
        back_end = back_ends.load(nos)
        if release is None:
            return back_end.default_release
        if release not in back_end.releases:
            near = get_close_matches(release, back_end.releases, 1)
            known = f"Known: {', '.join(back_end.releases) or 'none'}."
            raise ValueError(f"Did you mean {nos}-{near[0]}? {known}" if near else known)
        return release

    def port_name(self, nos: str, model: SwitchModel, cage: int, child: int, children: int) -> str:
        """The name of child `child` of `children` of cage `cage`, all counted from 1."""
        return back_ends.load(nos).port_name(model, cage, child, children)
