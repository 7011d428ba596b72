"""The FRR driver as it is, and a real fault of the lab around one of its calls."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, ClassVar

from fabricc.operate.drivers import RULES, frr
from fabricc.operate.drivers.bundle import pack_bundle, unpack_bundle
from tests.operate.push.striking import due_fault

FLAP_S = 25


class FaultyDriver(frr.FrrDriver):
    """Options: `faults`, the file that selects faults; `link`, `folder`, `keys`, their targets; `late_s`."""

    ACCESS_OPTIONS: ClassVar = {
        **RULES["frr"].options, "faults": str, "link": str, "folder": str, "keys": str, "late_s": float,
    }  # fmt: skip
    VERIFIES = True

    def _fault(self, method: str, when: str) -> str:
        fault = due_fault(self.optional_args["faults"], self.hostname, method, when)
        link = f"ip link set {self.optional_args['link']}"
        if fault in ("down", "flap"):
            subprocess.run(f"{link} down", shell=True, check=True)
        if fault == "flap":
            subprocess.Popen(f"sleep {FLAP_S}; {link} up", shell=True, start_new_session=True)
        elif fault == "refuse":
            keys = Path(self.optional_args["keys"])
            keys.rename(keys.with_suffix(".away"))
        elif fault == "full":
            filler = Path(self.optional_args["folder"]) / "filler"
            subprocess.run(["dd", "if=/dev/zero", f"of={filler}"], stderr=subprocess.DEVNULL, check=False)
        elif fault == "kill-within":
            threading.Thread(target=self._kill_within, daemon=True).start()
        elif fault == "late":
            time.sleep(self.optional_args["late_s"])
        return fault

    def _kill_within(self) -> None:
        """Kill this process as soon as the switch is at its commit."""
        state = Path(self.optional_args["folder"]) / "state.json"
        before = state.read_bytes() if state.exists() else b""
        while (now := state.read_bytes() if state.exists() else b"") == before or b'"committing"' not in now:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)

    def open(self) -> None:
        self._fault("open", "before")
        super().open()

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        if self._fault("load_replace_candidate", "before") == "reject":
            files = unpack_bundle(config or "", frr.MAIN)
            config = pack_bundle({**files, frr.MAIN: files[frr.MAIN] + "router bgp none\n"})
        super().load_replace_candidate(filename, config)
        self._fault("load_replace_candidate", "after")

    def compare_config(self) -> str:
        self._fault("compare_config", "before")
        diff = super().compare_config()
        self._fault("compare_config", "after")
        return diff

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        self._fault("commit_config", "before")
        super().commit_config(message, revert_in)
        self._fault("commit_config", "after")

    def confirm_commit(self) -> None:
        self._fault("confirm_commit", "before")
        super().confirm_commit()
        self._fault("confirm_commit", "after")

    def get_config(
        self, retrieve: str = "all", full: bool = False, sanitized: bool = False, format: str = "text"
    ) -> dict[str, str]:
        self._fault("get_config", "before")
        found = super().get_config(retrieve, full, sanitized, format)
        self._fault("get_config", "after")
        return found

    def get_bgp_neighbors(self) -> dict[str, Any]:
        self._fault("get_bgp_neighbors", "before")
        found: dict[str, Any] = super().get_bgp_neighbors()
        self._fault("get_bgp_neighbors", "after")
        return found
