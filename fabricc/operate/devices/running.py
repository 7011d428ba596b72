"""Read the running configuration of a switch into facts, and the confirmation times that its driver supports.

The back end that renders the files of the switch reads them. A driver with such times reverts an unconfirmed commit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fabricc.back import nos as back_ends
from fabricc.back.nos.secret_values import KNOWN_TO_EVERYONE
from fabricc.base.values import dataclass
from fabricc.facts.paths import path_pattern
from fabricc.operate.devices import DeviceError
from fabricc.operate.devices.login import Login, driver_class
from fabricc.operate.devices.secrets import REFERENCE
from fabricc.operate.drivers.bundle import pack_bundle, unpack_bundle
from fabricc.operate.drivers.redact import redact_text
from fabricc.proof.compare import Mismatch, compare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabricc.fabric.facts import Reading, Value

_ADDRESS = path_pattern("(?:interface[_]|loopback)/ipv([46])")


def pack_files(files: Mapping[str, str]) -> str:
    """Return the files of a switch as the one text that a driver loads: a single file unchanged, several as a bundle.

    Raises:
        DeviceError: FAB6042, a file has a line that marks where one begins.
    """
    try:
        return next(iter(files.values())) if len(files) == 1 else pack_bundle(files)
    except ValueError as error:
        raise _ambiguous_files(error) from None


def _ambiguous_files(error: ValueError) -> DeviceError:
    remedy = "Take the line out of the file, the overlay or the template, or off the switch."
    return DeviceError("FAB6042", f"a configuration looks like several files: {error}", remedy)


def unpack_files(nos: str, text: str, planned: Mapping[str, str]) -> dict[str, str]:
    """Split a configuration into files. A text without marks is the main file of the system, or the largest planned.

    Raises:
        DeviceError: FAB6042, it is no configuration of one switch.
    """
    main = getattr(getattr(back_ends.load(nos), "found", None), "FILE", "")
    try:
        return unpack_bundle(
            text, main if main in planned else max(planned, key=lambda name: (len(planned[name]), name))
        )
    except ValueError as error:
        raise _ambiguous_files(error) from None


def read_facts(nos: str, files: Mapping[str, str]) -> Reading:
    """Return the facts of some files of a switch."""
    return back_ends.load(nos).read(files)


def address_versions(nos: str, files: Mapping[str, str]) -> frozenset[int]:
    """Return the IP versions of the addresses of ports and the loopback; links may have none."""
    found = (_ADDRESS.fullmatch(path) for path in read_facts(nos, files).facts)
    return frozenset(int(one[1]) for one in found if one)


def is_secret(nos: str, path: str) -> bool:
    """Return whether a fact is the value of a secret, which devices store in a form of their own."""
    row = back_ends.load_vocabulary(nos).row(path)
    return "secret" in row.tags if row.declared else path.endswith("/secret")


def secrets_differ(nos: str, path: str, runs: Value | None, planned: Value, *, readable: bool = True) -> bool:
    """Return whether two facts of a secret are certainly about different secrets, with references for known values.

    A value that is no reference may be the same secret in a form of the device. It is another one where the other side
    runs a reference, which only a value in its plain form becomes, where everybody knows it, such as `public`, and
    where the system prints secrets as they were entered. No value differs, unless the system never prints this one.

    Args:
        nos: the operating system.
        path: of the fact.
        runs: what the switch runs; None where it prints none.
        planned: what it is to run.
        readable: whether a secret counts that the system prints as it was entered. It also differs where only the value
            behind the reference is new.
    """
    if runs is None:
        return "unprinted" not in back_ends.load_vocabulary(nos).row(path).tags
    named = REFERENCE.search(str(runs)), REFERENCE.search(str(planned))
    if all(named) or named[0]:
        return runs != planned
    if not named[1]:
        return False
    tags = back_ends.load_vocabulary(nos).row(path).tags
    return str(runs) in KNOWN_TO_EVERYONE or (readable and "readable" in tags)


def find_differences(nos: str, running: Mapping[str, str], target: Mapping[str, str]) -> list[Mismatch]:
    """Return the facts that differ between a running configuration and the wanted one, in the files of the device.

    Lines that the reader does not know are no difference: a device prints its defaults, other tools their own. Nor is
    what belongs to the device itself, or a secret that may be the same, or an earlier value of it.
    """
    texts = {name: text for name, text in target.items() if name in running}
    if texts == running:
        return []
    found = compare(read_facts(nos, texts).facts, read_facts(nos, running))
    return [
        one
        for one in found
        if not _may_be_same_secret(nos, one) and (one.found is None or not is_of_device(nos, one.path))
    ]


def _may_be_same_secret(nos: str, one: Mismatch) -> bool:
    if not is_secret(nos, one.path) or one.planned is None:
        return False
    return not secrets_differ(nos, one.path, one.found, one.planned, readable=False)


def is_of_device(nos: str, path: str) -> bool:
    """Return whether a fact belongs to the device itself, such as an account that a replace keeps."""
    return "device" in back_ends.load_vocabulary(nos).row(path).tags


def count_unread_lines(nos: str, files: Mapping[str, str]) -> Counter[str]:
    """Count the lines that no fact describes; secrets in them are hidden."""
    return Counter(redact_text(one[2]) for one in read_facts(nos, files).unknown)


def format_mismatch(mismatch: Mismatch) -> str:
    """Return a difference in words: `bgp/hold_s runs 12, wanted 9`."""
    runs = "nothing" if mismatch.found is None else mismatch.found
    wanted = "nothing" if mismatch.planned is None else mismatch.planned
    return f"{mismatch.path} runs {runs}, wanted {wanted}"


@dataclass(frozen=True, slots=True)
class RevertTimes:
    """The times, in seconds, within which a driver lets a commit be confirmed.

    Attributes:
        step: of which a time is a multiple; 0 where the driver cannot revert by itself.
        shortest: the shortest time; `longest`: the longest, None for any.
    """

    step: int
    shortest: int = 1
    longest: int | None = None

    def time(self, seconds: int) -> int:
        """Return the time that the driver uses for a wanted one: the next multiple; 0 where it cannot revert."""
        return -(-seconds // self.step) * self.step if self.step else 0

    def refuses(self, seconds: int) -> str:
        """Return the accepted times where the driver refuses a wanted time, "" where it accepts it."""
        taken = self.time(seconds)
        if not self.step or (self.shortest <= taken and (self.longest is None or taken <= self.longest)):
            return ""
        return (
            f"{self.shortest} s or more" if self.longest is None else f"{self.shortest} to {self.longest} s"
        )


def reverting_of_driver(nos: str, login: Login) -> RevertTimes:
    """Return the confirmation times of a login's driver, from its `CONFIRM_STEP` and `CONFIRM_LIMITS`.

    Raises:
        DeviceError: FAB9104, there is no such driver.
    """
    driver = driver_class(nos, login)
    shortest, longest = getattr(driver, "CONFIRM_LIMITS", (1, None))
    return RevertTimes(int(getattr(driver, "CONFIRM_STEP", 0)), shortest, longest)
