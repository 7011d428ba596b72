"""The NAPALM driver of community SONiC, over SSH."""

from __future__ import annotations

import difflib
import json
import shlex
import uuid
from importlib.resources import files as package_files
from typing import Any

from napalm.base.exceptions import CommitError, MergeConfigException, ReplaceConfigException

from fabricc.operate.drivers import linux_views, sonic_views
from fabricc.operate.drivers.bundle import candidate_files, pack, unpack
from fabricc.operate.drivers.checking import Refusal, vtysh_refusals
from fabricc.operate.drivers.frr_agent import differences
from fabricc.operate.drivers.linux_session import LinuxSession
from fabricc.operate.drivers.lossless import Counters, Tally
from fabricc.operate.drivers.redact import redacted

CONFIG_DB, FRR = "config_db.json", "frr.conf"
FRR_FOLDER, CONTAINER_FOLDER = "/etc/sonic/frr", "/etc/frr"
"""One folder: on the switch, and as the bgp container sees it."""
FRR_PATH = f"{FRR_FOLDER}/frr.conf"
_CANDIDATE = "napalm-candidate.conf"
_SCRIPTS = ("sonic_revert.sh", "sonic_frr.py", "frr_agent.py")
_RELOAD = "docker exec bgp python3 /usr/lib/frr/frr-reload.py"
_RUNNING = "show runningconfiguration all"


class SonicDriver(LinuxSession):
    """Community SONiC, releases with the Generic Config Updater (`config replace`).

    **Candidate.** `config_db.json`, and `frr.conf` where routing is `split-unified`: a folder with both, a bundle (see
    `operate.drivers.bundle`), or `config_db.json` alone. SONiC checks it with `config replace --dry-run`, that is, the
    YANG models and the updater's validators, and FRR with `vtysh -C`. A merge is refused: use replace.

    **Commit.** A checkpoint, `config replace`, then `frr-reload.py` in the bgp container, after which nothing may be
    left to change: BFD's timers, which FRR before 10.2 cannot undo, are set to their defaults. A change that the
    updater refuses fails unless `reload` is set: then `config reload`, which restarts the services. `config save`
    comes last, after the confirmation when there is one, so a reboot before it reverts.

    **Confirmation.** SONiC has none: a detached process on the switch goes back to the checkpoint at the deadline. It
    also guards a commit without `revert_in` (`commit_timeout`), should the connection break in the middle.

    Args:
        hostname: name or address.
        username: login, with `sudo -n` unless it is root.
        password: of the login; never shown.
        timeout: seconds for connecting and for each answer.
        optional_args: those of `fabricc.operate.drivers.shell.Shell`, and

            * `sudo` (True): run commands that change something through `sudo -n`.
            * `reload` (False): allow `config reload` for what `config replace` refuses.
            * `private_dir` (`/var/lib/napalm-sonic`), `session` (random), `lock_timeout` (300 s),
              `commit_timeout` (300 s).
    """

    FOLDER = "/var/lib/napalm-sonic"
    LLDPCLI = ("docker", "exec", "lldp")
    platform = "sonic"
    _needs_reload = False

    # Candidate.

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load and check the files that replace those of the switch.

        Raises:
            ReplaceConfigException: unreadable, or refused by SONiC's models or FRR's grammar.
            SessionLockedException: another session holds a candidate.
            CommitConfirmException: a commit waits for confirmation.
        """
        try:
            files = candidate_files(filename, config, CONFIG_DB)
            tables = json.loads(files.get(CONFIG_DB, "{}"))
        except (OSError, ValueError) as error:
            raise ReplaceConfigException(f"{self.hostname}: {redacted(str(error), self.password)}") from None
        if unknown := sorted(files.keys() - {CONFIG_DB, FRR}):
            raise ReplaceConfigException(f"{self.hostname}: no place is known for {', '.join(unknown)}")
        if empty := sorted(name for name, rows in tables.items() if not rows):
            raise ReplaceConfigException(f"{self.hostname}: SONiC refuses empty tables: {', '.join(empty)}")
        with self._loading(files):
            for name, text in files.items():
                self._keep(name, text, ReplaceConfigException)
            self._check()

    def _check(self) -> None:
        self._needs_reload = False
        if CONFIG_DB in self._files:
            try:
                command = f"config replace --dry-run {self._folder}/{CONFIG_DB}"
                self._run(command, ReplaceConfigException, limit_s=self._patience)
            except ReplaceConfigException:
                if not self.optional_args.get("reload"):
                    raise
                self._needs_reload = True
        if FRR in self._files:
            command = (
                f"umask 077 && cat > {FRR_FOLDER}/{_CANDIDATE} && "
                f"docker exec bgp vtysh -C -f {CONTAINER_FOLDER}/{_CANDIDATE}"
            )
            self._run(command, ReplaceConfigException, self._files[FRR])

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:  # noqa: ARG002
        """Refused: what a merge leaves behind would be nobody's configuration.

        Raises:
            MergeConfigException: always.
        """
        raise MergeConfigException(f"{self.hostname}: SONiC takes whole configurations here; use a replace")

    def _files_of(self, config: str) -> dict[str, str]:
        return {CONFIG_DB: unpack(config, CONFIG_DB).get(CONFIG_DB, "")}

    def _refusals(self, said: str, config: str) -> list[Refusal]:
        return list(vtysh_refusals(said, FRR)) or super()._refusals(said, config)

    def compare_config(self) -> str:
        """A unified diff of CONFIG_DB, table by table, and the lines of frr-reload.py."""
        parts: list[str] = []
        if CONFIG_DB in self._files:
            running, wanted = json.loads(self._run(_RUNNING)), json.loads(self._files[CONFIG_DB])
            old, new = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (running, wanted))
            parts += difflib.unified_diff(
                old, new, "CONFIG_DB, running", "CONFIG_DB, candidate", n=4, lineterm=""
            )
        if FRR in self._files:
            said = self._run(f"{_RELOAD} --test --stdout {CONTAINER_FOLDER}/{_CANDIDATE}", CommitError)
            lines = differences(said)
            parts += ["--- FRR, running", "+++ FRR, candidate", *lines] if lines else []
        return "\n".join(parts)

    def discard_config(self) -> None:
        """Forget the candidate and give the lock back."""
        self._unlock(CONFIG_DB, FRR, f"{FRR_FOLDER}/{_CANDIDATE}")

    # Commit.

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Make the candidate run.

        `message` is kept beside the checkpoint on the switch, which goes back after `revert_in` seconds unless
        confirmed.

        Raises:
            CommitError: it failed; the switch went back to the checkpoint, or the text says why not.
        """
        if not self._files:
            raise CommitError(f"{self.hostname}: no candidate is loaded")
        self._lock()
        name = f"napalm_{uuid.uuid4().hex[:12]}"
        self._prepare(name, message)
        try:
            self._apply()
        except CommitError as error:
            self._revert(name, str(error))
            raise CommitError(f"{error}; {self._kept('phase')}") from None
        if revert_in:
            at = f"{self._folder}/deadline"
            self._run(
                f"test -e {self._folder}/pending && echo $(($(date +%s) + {revert_in})) > {at}", CommitError
            )
            self._run(f"echo pending > {self._folder}/phase", CommitError)
        else:
            self._keep_commit()
        self.discard_config()

    def _prepare(self, name: str, message: str) -> None:
        """Checkpoint, backup, and the process that goes back should this connection break."""
        last = self._kept("checkpoint")
        if last:
            self._run(f"config delete-checkpoint {shlex.quote(last)} || true")
        self._run(f"config checkpoint {name}", CommitError)
        self._keep("checkpoint", f"{name}\n", CommitError)
        self._keep("message", f"{message}\n", CommitError)
        saved = f"cp {FRR_PATH} backup-frr.conf" if FRR in self._files else "rm -f backup-frr.conf"
        for script in _SCRIPTS:
            self._keep(
                script,
                package_files("fabricc.operate.drivers").joinpath(script).read_text("utf-8"),
                CommitError,
            )
        wait = f"setsid sh {self._folder}/sonic_revert.sh {self._folder} wait {name} < /dev/null > /dev/null 2>&1 &"
        self._run(
            f"cd {self._folder} && {saved} && : > why && echo $(($(date +%s) + {int(self._patience)})) > deadline"
            f" && echo {name} > pending && echo committing > phase && {{ {wait} }}",
            CommitError,
        )

    def _apply(self) -> None:
        if CONFIG_DB in self._files:
            at = f"{self._folder}/{CONFIG_DB}"
            command = f"config reload -y -f {at}" if self._needs_reload else f"config replace {at}"
            self._run(command, CommitError, limit_s=self._patience)
        if FRR in self._files:
            self._run(f"cp {self._folder}/{FRR} {FRR_PATH}", CommitError)
            command = f"python3 {self._folder}/sonic_frr.py {CONTAINER_FOLDER}/frr.conf"
            self._run(command, CommitError, limit_s=self._patience)
            self._run(f"cp {self._folder}/backup-frr.conf {FRR_PATH}", CommitError)
            self._run(f"cp {self._folder}/{FRR} {self._folder}/confirmed-frr.conf", CommitError)

    def _keep_commit(self) -> None:
        """End the wait, and save what the switch boots from."""
        self._run(f"cd {self._folder} && mv pending confirmed", CommitError)
        saved = f"[ ! -e backup-frr.conf ] || cp confirmed-frr.conf {FRR_PATH}"
        self._run(f"cd {self._folder} && {{ {saved}; }} && config save -y", CommitError)
        self._run(f"echo confirmed > {self._folder}/phase", CommitError)

    def _revert(self, name: str, why: str) -> None:
        self._keep("why", f"{why}\n", CommitError)
        command = f"sh {self._folder}/sonic_revert.sh {self._folder} now {name}"
        self._run(command, CommitError, limit_s=self._patience)

    def commit_state(self) -> dict[str, Any]:
        """State of the last commit, whoever made it: `phase` and `why` as the FRR driver has them."""
        return {"phase": self._kept("phase") or "idle", "why": redacted(self._kept("why"), self.password)}

    def has_pending_commit(self) -> bool:
        """Whether a commit waits for confirmation."""
        return bool(self._kept("pending"))

    def confirm_commit(self) -> None:
        """Keep and save what a commit with `revert_in` brought.

        Raises:
            CommitError: none waits.
        """
        if self.commit_state()["phase"] != "pending":
            raise CommitError(f"{self.hostname}: no commit waits for confirmation")
        self._keep_commit()

    def rollback(self) -> None:
        """Go back to the checkpoint before the last commit, once.

        Raises:
            CommitError: there is none, or it failed.
        """
        name = self._kept("checkpoint")
        if not name or self._kept("phase") == "reverted":
            raise CommitError(f"{self.hostname}: nothing to roll back to")
        self._revert(name, "asked for")
        self._run("config save -y", CommitError)

    # Getters.

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:  # noqa: ARG002 - none has defaults
        """Each as a bundle of `config_db.json` and `frr.conf`."""
        files = {"candidate": self._files}
        if "running" in wanted:
            frr = self._run("vtysh -c 'show running-config'")
            files["running"] = {CONFIG_DB: self._run(_RUNNING), FRR: frr[max(0, frr.find("frr version")) :]}
        if "startup" in wanted:
            saved = self._run("cat /etc/sonic/config_db.json")
            files["startup"] = {CONFIG_DB: saved, FRR: self._run(f"cat {FRR_PATH}")}
        return {kind: pack(files[kind]) for kind in wanted}

    def get_facts(self) -> dict[str, Any]:
        """Facts of CONFIG_DB and the image."""
        (running,) = self._json(shlex.split(_RUNNING))
        version, uptime = self._run("cat /etc/sonic/sonic_version.yml"), self._run("cat /proc/uptime")
        serial = self._run("decode-syseeprom -s 2>/dev/null || true").strip()
        return sonic_views.facts(running, version, float(uptime.split()[0]), serial)

    def get_interfaces(self) -> dict[str, Any]:
        """Interfaces of the kernel, with speed and description of CONFIG_DB."""
        running, links = self._json(shlex.split(_RUNNING), linux_views.LINKS)
        return sonic_views.interfaces(running, links)

    def get_interfaces_counters(self) -> dict[str, Any]:
        """Counters of the ASIC, from COUNTERS_DB."""
        return sonic_views.counters(self._json(shlex.split(sonic_views.COUNTERS))[0])

    def get_lossless_counters(self) -> Counters:
        """Counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM."""
        tally = Tally()
        sonic_views.lossless(self._json(shlex.split(sonic_views.COUNTERS))[0], tally)
        return tally.counters()

    def get_alarms(self) -> list[str]:
        """What system-health says is not well; not part of NAPALM."""
        return sonic_views.alarms(self._json(shlex.split(sonic_views.HEALTH))[0])
