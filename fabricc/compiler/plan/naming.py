"""Answer what planning needs to know of network operating systems, from their back ends."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends

if TYPE_CHECKING:
    from fabricc.catalog.model import SwitchModel
    from fabricc.fabric.qos import VendorPolicy
    from fabricc.fabric.shape import Slot


class Naming:
    """The back ends behind the three questions that planning may put."""

    def names(self) -> tuple[str, ...]:
        """Return every NOS that can be loaded, sorted."""
        return back_ends.list_names()

    def supports(self, nos: str, model: SwitchModel) -> bool:
        """Return whether the NOS runs on the model.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).supports(model)

    def releases(self, nos: str) -> tuple[str, ...]:
        """Return the releases of a NOS that its back end supports.

        Raises:
            KeyError: no such NOS.
        """
        return back_ends.load(nos).releases

    def release(self, nos: str, release: str | None) -> str:
        """Return the requested release, or the default of the back end.

        Raises:
            KeyError: no such NOS.
            ValueError: the back end does not know the release; the message lists the known ones.
        """
        back_end = back_ends.load(nos)
        if release is None:
            return back_end.default_release
        if release not in back_end.releases:
            near = get_close_matches(release, back_end.releases, 1)
            known = f"Known: {', '.join(back_end.releases) or 'none'}."
            raise ValueError(f"Did you mean {nos}-{near[0]}? {known}" if near else known)
        return release

    def sets_headroom_pool(self, nos: str) -> bool:
        """Return whether the configuration of the NOS sets the size of the headroom pool.

        Raises:
            KeyError: no such NOS.
        """
        return bool(getattr(back_ends.load(nos), "sets_headroom_pool", False))

    def sets_pfc(self, nos: str) -> bool:
        """Return whether the configuration of the NOS sets PFC.

        Raises:
            KeyError: no such NOS.
        """
        return bool(getattr(back_ends.load(nos), "sets_pfc", True))

    def longest_cable_m(self, nos: str, model: SwitchModel) -> int | None:
        """Return the longest cable of a lossless class that the NOS has figures for; None where it sets no limit.

        Raises:
            KeyError: no such NOS.
        """
        limit = getattr(back_ends.load(nos), "longest_cable_m", None)
        return limit(model) if limit is not None else None

    def vendor_policy(self, nos: str) -> VendorPolicy | None:
        """Return the lossless policy that one command of the NOS sets; None where none is documented.

        Raises:
            KeyError: no such NOS.
        """
        return getattr(back_ends.load(nos), "vendor_policy", None)

    def port_name(self, nos: str, model: SwitchModel, slot: Slot) -> str:
        """Return the name of a port, used at the speed of the slot."""
        return back_ends.port_name_at_speed(
            back_ends.load(nos), model, slot.cage, slot.child, slot.children, slot.speed_gbps
        )
