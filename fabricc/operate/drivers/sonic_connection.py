"""The connection of the SONiC driver: CONFIG_DB, FRR's configuration, and NAPALM's getters."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from napalm.base.exceptions import (
    CommandErrorException,
    ConnectionException,
)

from fabricc.base import sonic_tables
from fabricc.operate.drivers import frr_agent, sonic_views
from fabricc.operate.drivers.answers import AnswerError, parse_json
from fabricc.operate.drivers.bundle import pack_bundle
from fabricc.operate.drivers.linux import HOSTNAME
from fabricc.operate.drivers.linux_session import LinuxSession
from fabricc.operate.drivers.lossless import Counters, CounterTotals
from fabricc.operate.drivers.redact import redact_text

CONFIG_DB, FRR = "config_db.json", "frr.conf"
FRR_FOLDER, CONTAINER_FOLDER = "/etc/sonic/frr", "/etc/frr"
"""One folder: on the switch, and as the bgp container sees it."""
FRR_PATH = f"{FRR_FOLDER}/frr.conf"
RUNNING = "sonic-cfggen -d --print-data"
"""What the updater reads; `show runningconfiguration all` adds FRR's text, passwords included, as `bgpraw`."""
OF_RUNNING = ("vtysh -c 'show running-config'", RUNNING)
OF_STARTUP = ("cat /etc/sonic/config_db.json", f"cat {FRR_PATH} 2> /dev/null || true")
_SERIAL = "decode-syseeprom -s 2>/dev/null || true"


class SonicConnection(LinuxSession):
    """A session on community SONiC, with the getters."""

    FOLDER = "/var/lib/napalm-sonic"
    LLDPCLI = ("docker", "exec", "lldp")
    platform = "sonic"

    def _object(self, text: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
        """Return a JSON object of the agent with values of these kinds.

        Raises:
            CommandErrorException: it is none: cut off, empty, or text of something else.
        """
        found = self._parse_json(text, "the agent's answer")
        for name, kind in kinds.items():
            if not isinstance(found, dict) or not isinstance(found.get(name), kind):
                raise CommandErrorException(f"{self.hostname}: the agent's answer has no usable `{name}`")
        return dict(found)

    def _running(self) -> dict[str, Any]:
        return self._require_tables(self._run(RUNNING))

    def _tables(self, command: str) -> str:
        """Return CONFIG_DB as a command prints it, with texts as values.

        Raises:
            CommandErrorException: it is none.
        """
        return json.dumps(self._require_tables(self._run(command)), indent=4)

    def _require_tables(self, text: str) -> dict[str, Any]:
        """Return the tables of a printed CONFIG_DB.

        Raises:
            CommandErrorException: it is none: cut off, empty, or text of something else.
        """
        try:
            return sonic_tables.require_tables(parse_json(text, CONFIG_DB))
        except ValueError as error:
            reason = redact_text(str(error), self.password)
            reason = reason if isinstance(error, AnswerError) else f"{CONFIG_DB}: {reason}"
            raise CommandErrorException(f"{self.hostname}: {reason}") from None

    def _require_whole(self, frr: str) -> None:
        """Refuse a text of vtysh that is not one whole configuration.

        Raises:
            ConnectionException: it is.
        """
        if wrong := frr_agent.find_defect(frr):
            raise ConnectionException(f"{self.hostname}: FRR's running configuration {wrong}")

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:  # noqa: ARG002 - none has defaults
        """Return each as a bundle of `config_db.json` and `frr.conf`."""
        files = {"candidate": self._files}
        commands = [*OF_RUNNING] * ("running" in wanted) + [*OF_STARTUP] * ("startup" in wanted)
        with self._in_one_request(*commands):
            if "running" in wanted:
                frr = self._run(OF_RUNNING[0])
                self._require_whole(frr)
                files["running"] = {CONFIG_DB: self._tables(RUNNING), FRR: frr[frr.find("frr version") :]}
            if "startup" in wanted:
                saved, frr = self._tables(OF_STARTUP[0]), self._run(OF_STARTUP[1])
                files["startup"] = {CONFIG_DB: saved, **({FRR: frr} if frr else {})}
        return {kind: pack_bundle(files[kind]) for kind in wanted}

    def get_facts(self) -> dict[str, Any]:
        """Facts of CONFIG_DB and the image."""
        running = self._running()
        version, uptime = self._run("cat /etc/sonic/sonic_version.yml"), self._run("cat /proc/uptime")
        return sonic_views.read_facts(running, version, float(uptime.split()[0]), self._serial())

    def get_identity(self) -> dict[str, str]:
        """Return hostname and serial number of the switch; not part of NAPALM."""
        with self._in_one_request(self._line_of(HOSTNAME), _SERIAL):
            return super().get_identity()

    def _serial(self) -> str:
        words = self._run(_SERIAL).split()
        return words[0] if len(words) == 1 else ""  # words are a complaint

    def get_interfaces(self) -> dict[str, Any]:
        """Return interfaces of the kernel, with speed and description of CONFIG_DB."""
        found: dict[str, Any] = self._view(sonic_views.read_interfaces, self._running(), self._links())
        return found

    def get_interfaces_counters(self) -> dict[str, Any]:
        """Return counters of the ASIC, from COUNTERS_DB."""
        found: dict[str, Any] = self._view(
            sonic_views.read_counters, *self._json(shlex.split(sonic_views.COUNTERS))
        )
        return found

    def get_lossless_counters(self) -> Counters:
        """Return counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM."""
        tally = CounterTotals()
        self._view(sonic_views.read_lossless, *self._json(shlex.split(sonic_views.COUNTERS)), tally)
        return tally.counters()

    def get_alarms(self) -> list[str]:
        """Return the problems that system-health reports; not part of NAPALM."""
        return sonic_views.read_alarms(self._json(shlex.split(sonic_views.HEALTH))[0])
