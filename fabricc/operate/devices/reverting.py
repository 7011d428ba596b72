"""The confirmation times of a driver that reverts an unconfirmed commit by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.base.values import dataclass
from fabricc.operate.devices.driver_classes import driver_class

if TYPE_CHECKING:
    from fabricc.operate.devices.login import Login


@dataclass(frozen=True, slots=True)
class Reverting:
    """The times, in seconds, within which a driver lets a commit be confirmed.

    Attributes:
        step: of which a time is a multiple; 0 where the driver cannot revert by itself.
        shortest: the shortest time; `longest`: the longest, None for any.
    """

    step: int
    shortest: int = 1
    longest: int | None = None

    def time(self, wanted: int) -> int:
        """Return the time that the driver uses for a wanted one: the next multiple; 0 where it cannot revert."""
        return -(-wanted // self.step) * self.step if self.step else 0

    def refuses(self, wanted: int) -> str:
        """Return the accepted times where the driver refuses a wanted time, "" where it accepts it."""
        taken = self.time(wanted)
        if not self.step or (self.shortest <= taken and (self.longest is None or taken <= self.longest)):
            return ""
        return (
            f"{self.shortest} s or more" if self.longest is None else f"{self.shortest} to {self.longest} s"
        )


def reverting_of_driver(nos: str, login: Login) -> Reverting:
    """Return the confirmation times of a login's driver, from its `CONFIRM_STEP` and `CONFIRM_LIMITS`.

    Raises:
        DeviceError: FAB9104, there is no such driver.
    """
    driver = driver_class(nos, login)
    shortest, longest = getattr(driver, "CONFIRM_LIMITS", (1, None))
    return Reverting(int(getattr(driver, "CONFIRM_STEP", 0)), shortest, longest)
