"""The image step: the operator's own tool, called once for every switch between its drain and its change.

It is started as `HOOK ACTION SWITCH`, with a JSON object on its standard input; its contract is in `docs/upgrade.md`.
The table of image files names the file that installs a release on a model; its checksum is compared.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.documents.document import conflict_in
from fabricc.base.foreign import files
from fabricc.base.values import dataclass
from fabricc.operate.devices import DeviceError
from fabricc.operate.drivers.redact import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.login import Device

FORMAT = 1
INSTALL, RETURN = "install", "return"
OPPOSITE = {INSTALL: RETURN, RETURN: INSTALL}
_GRACE_S = 10
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Hook:
    """The tool.

    Attributes:
        program: an executable file.
        timeout_s: how long it may take for one switch, the switch's start included.
        images: the files that install releases.
    """

    program: Path
    timeout_s: float
    images: Images

    def call(self, action: str, device: Device, model: str, run: int, access: Access) -> None:
        """Let it act on a switch, and wait until it has.

        Args:
            action: what for.
            device: the switch.
            model: its model.
            run: the run of the push.
            access: names the variables with secrets, which the tool does not get, and hides secrets in what it prints.

        Raises:
            DeviceError: FAB9430 it failed, FAB9431 it took too long, FAB9432 it cannot be started.
        """
        image = self.images.of(ImageKey(device.nos, device.release, model))
        request: dict[str, Any] = {
            "format": FORMAT,
            "action": action,
            "switch": device.name,
            "address": device.address,
            "nos": device.nos,
            "release": device.release,
            "model": model,
            "image": {"file": image.file, "sha256": image.sha256} if image else None,
            "run": run,
        }
        named = {"FABRICC_ACTION": action, "FABRICC_SWITCH": device.name, "FABRICC_RUN": str(run)}
        try:
            process = subprocess.Popen(
                [str(self.program.absolute()), action, device.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={name: value for name, value in os.environ.items() if name not in access.variables}
                | named,
                start_new_session=True,
            )
        except OSError as error:
            raise DeviceError("FAB9432", f"cannot start {self.program}: {error.strerror}") from None
        try:
            output, _ = process.communicate(json.dumps(request).encode() + b"\n", timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            _end_process(process)
            message = f"{device.name}: {self.program.name} {action} took longer than {self.timeout_s:.0f} s"
            raise DeviceError("FAB9431", message) from None
        if process.returncode:
            last = output.decode("utf-8", "replace").strip().rpartition("\n")[2]
            last = excerpt(last, *access.known_secrets(), longest=_LONGEST)
            ended = f"{self.program.name} {action} ended with status {process.returncode}"
            raise DeviceError("FAB9430", f"{device.name}: {ended}: {last}")


def _end_process(process: subprocess.Popen[bytes]) -> None:
    """End the tool and its child processes: SIGTERM first, then SIGKILL."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, sign)
        try:
            process.communicate(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            continue
        return


COLUMNS = ("nos", "release", "model", "file", "sha256")
_LARGEST = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


class ImageKey(NamedTuple):
    """The key of an image: any model where `model` is `*`."""

    nos: str
    release: str
    model: str


class Image(NamedTuple):
    """An image file and what its bytes must be; `present`: the file exists and has this digest."""

    file: str
    sha256: str
    present: bool


class Images(NamedTuple):
    """The images by what they are for, and what is wrong with them."""

    rows: Mapping[ImageKey, Image]
    findings: tuple[Diagnostic, ...]

    def of(self, key: ImageKey) -> Image | None:
        """Return the image of a release for a model; a row for the model itself goes before one for all."""
        return self.rows.get(key) or self.rows.get(key._replace(model="*"))


def read_images(path: Path, used: Iterable[ImageKey]) -> Images:
    """Return the images of a CSV file with the columns `nos`, `release`, `model`, `file` and `sha256`.

    Files are named from where the table lies. Those that are used and lie there are read and compared.
    """
    try:
        text = files.read(path, limit=_LARGEST).decode("utf-8-sig")
        if (conflict := conflict_in(text, str(path))) is not None:
            return Images({}, (conflict,))
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV in UTF-8"
        return Images({}, (_make_finding(path, 0, f"{path} cannot be read: {reason or error}"),))
    if not rows or tuple(word.strip().lower() for word in rows[0]) != COLUMNS:
        return Images({}, (_make_finding(path, 1, f"the first line is not {', '.join(COLUMNS)}"),))
    needed = set(used)
    found: dict[ImageKey, Image] = {}
    findings: list[Diagnostic] = []
    for line, row in enumerate(rows[1:], start=2):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != len(COLUMNS) or not all(cells) or not _DIGEST.fullmatch(cells[4].lower()):
            findings.append(
                _make_finding(path, line, "a line has all five columns, the last a SHA-256 in 64 digits")
            )
            continue
        wanted, name, digest = ImageKey(*cells[:3]), cells[3], cells[4].lower()
        if wanted in found:
            findings.append(_make_finding(path, line, f"{' '.join(wanted)} has two lines"))
            continue
        present = False
        if any(wanted in (each, each._replace(model="*")) for each in needed):
            present, finding = _check_image(path.parent / name, digest)
            findings += [_make_finding(path, line, finding, "FAB9425")] if finding else []
        found[wanted] = Image(name, digest, present)
    return Images(found, (*findings, *_report_missing_images(path, needed, Images(found, ()))))


def _check_image(place: Path, digest: str) -> tuple[bool, str]:
    """Return whether the file exists and matches the table, and the problem if it does not."""
    try:
        own = files.digest_of_file(place)
    except FileNotFoundError:
        return False, ""
    except OSError as error:
        return False, f"{place} cannot be read: {error.strerror or error}"
    return own == digest, "" if own == digest else f"{place} has the SHA-256 {own}, the table has {digest}"


def _report_missing_images(path: Path, needed: Iterable[ImageKey], images: Images) -> Iterator[Diagnostic]:
    for wanted in sorted(needed):
        if images.of(wanted) is None:
            yield _make_finding(path, 1, f"no image of {wanted.nos} {wanted.release} for {wanted.model}")


def _make_finding(path: Path, line: int, message: str, code: str = "FAB9424") -> Diagnostic:
    remedy = "Correct the table of images."
    if code == "FAB9425":
        remedy = "Fetch the file again, or correct its checksum."
    return Diagnostic(code, Severity.ERROR, message, Position(str(path), max(line, 1)), remedy)
