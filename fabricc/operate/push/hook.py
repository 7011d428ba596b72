"""The image step: the operator's own tool, called once for every switch between its drain and its change.

It is started as `HOOK ACTION SWITCH`, with a JSON object on its standard input; what it must promise is in
`docs/upgrade.md`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from fabricc.base.values import dataclass
from fabricc.operate.devices.device import DeviceError
from fabricc.operate.drivers.redact import excerpt
from fabricc.operate.push.images import Images, Wanted

if TYPE_CHECKING:
    from pathlib import Path

    from fabricc.operate.devices.access import Access
    from fabricc.operate.devices.device import Device

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
        image = self.images.of(Wanted(device.nos, device.release, model))
        told: dict[str, Any] = {
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
            said, _ = process.communicate(json.dumps(told).encode() + b"\n", timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            _end_process(process)
            message = f"{device.name}: {self.program.name} {action} took longer than {self.timeout_s:.0f} s"
            raise DeviceError("FAB9431", message) from None
        if process.returncode:
            last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
            last = excerpt(last, *access.known(), longest=_LONGEST)
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
