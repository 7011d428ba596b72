"""The NAPALM driver of community SONiC, over SSH."""

from __future__ import annotations

import difflib
import json
import re
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.resources import files as package_files
from typing import Any

from napalm.base import exceptions

from fabricc.base import sonic_tables
from fabricc.base.numbers import is_number
from fabricc.operate.drivers import Hold, HoldKind, frr_agent, sonic_views
from fabricc.operate.drivers.answers import quote_words
from fabricc.operate.drivers.bundle import candidate_files, unpack_bundle
from fabricc.operate.drivers.checking import Refusal, vtysh_refusals
from fabricc.operate.drivers.linux import PROCESSES
from fabricc.operate.drivers.redact import excerpt, redact_text
from fabricc.operate.drivers.sonic_connection import (
    CONFIG_DB,
    CONTAINER_FOLDER,
    FRR,
    FRR_FOLDER,
    FRR_PATH,
    OF_RUNNING,
    OF_STARTUP,
    RUNNING,
    SonicConnection,
)

_CANDIDATE = "napalm-candidate.conf"
_DROPPED = (CONFIG_DB, FRR, "target.json", "step.json", f"{FRR_FOLDER}/{_CANDIDATE}")
"""Files of a candidate."""
_AGENT = "sonic_agent.py"
_SCRIPTS = {
    "fabricc.base": ("sonic_tables.py",),
    "fabricc.operate.drivers": (_AGENT, "sonic_frr.py", "frr_agent.py"),
}
"""What runs on the switch, by the package that has it."""
_RELOAD = "docker exec bgp python3 /usr/lib/frr/frr-reload.py"
_PLAN_FILE = "plan.json"
_STORE = """
import json, sys, pathlib
for name, text in json.load(sys.stdin).items():
    try:
        new = pathlib.Path(name + ".new")
        new.write_text(text, "utf-8")
        new.replace(name)
    except OSError as error:
        sys.exit(f"cannot write {name}: {error.strerror}")
"""
_CHECK_S = 300
"""Seconds that the models and limits may take for a whole configuration. Our judgment."""
_POLL_S, _RENEW_S = 1, 60
_WAIT_TURNS = 50
"""How often, each tenth of a second, the switch looks for the outcome of a commit before it answers without one."""
_DETACHED = "< /dev/null > /dev/null 2>&1 &"


def _read_scripts() -> dict[str, str]:
    """Return what runs on the switch, by file name."""
    return {
        name: package_files(package).joinpath(name).read_text("utf-8")
        for package, names in _SCRIPTS.items()
        for name in names
    }


_UPTIME = "$(cut -d. -f1 /proc/uptime)"
"""Seconds since the switch started: a deadline must not move when somebody sets its clock."""
_BOOT = "/proc/sys/kernel/random/boot_id"
"""Another number after each start of the switch."""
_EXPIRE = (
    f'if [ -e boot ] && [ "$(cat boot)" != "$(cat {_BOOT})" ] && {{ [ -e pending ] || [ -e claimed ]; }}; then '
    "rm -f pending claimed; echo reverted > phase; echo the switch restarted before the confirmation > why; fi"
)
"""A restart ends a commit that waits: its guard is gone, and the switch boots what was saved before."""
_WAITING = (
    "if [ -e claimed ] && ! flock -n updater.lock true; then echo waits $(cat claimed); "
    "elif [ -e pending ]; then echo waits $(cat pending); else echo none; fi"
)
"""The commit that waits for confirmation, or that the guard undoes at present."""
_PHASES = frozenset({"idle", "committing", "pending", "confirmed", "reverting", "reverted", "failed"})
_PLAN = {
    "way": str,
    "kind": str,
    "text": str,
    "rows": int,
    "steps": list,
    "shut": list,
    "restarts_bgp": bool,
    "takes_frr": bool,
    "digest": str,
}
_KEPT_PLAN = {"way": str, "rows": int, "checkpoint": str, "frr": bool}
_OUTCOME = {"ok": bool, "why": str}
"""Values of the agent's answers."""
_UPDATER = re.compile(
    r"(?:^|[\s/])(config (?:replace|apply-patch|rollback|reload|load|load_minigraph|load_mgmt_config))(?:\s|$)"
)
"""A program of SONiC that changes CONFIG_DB as a whole; none of them takes a lock."""
_ZTP = re.compile(r"(?:^|\s)/usr/lib/ztp/ztp-engine\.py(?:\s|$)")
"""The engine of zero touch provisioning (sonic-ztp), which loads a configuration as soon as it finds one."""


class SonicDriver(SonicConnection):
    """Community SONiC, releases with the Generic Config Updater (`config replace`).

    **Candidate.** `config_db.json`, and `frr.conf` where routing is `split-unified`: a folder with both, a bundle (see
    `operate.drivers.bundle`), or `config_db.json` alone. What the switch is to run is its running CONFIG_DB with
    fabricc's tables and fields exchanged: rows of the image and of operators stay (`sonic_tables`). The updater's own
    package on the switch checks it, first by the YANG models, then by its limits on fields; `vtysh -C` checks FRR.
    A merge is refused: use replace.

    **Commit.** A checkpoint, then a process on the switch that outlives the connection: `config replace` in steps that
    the updater survives, and `frr-reload.py` in the bgp container, after which nothing may be left to change: BFD's
    timers, which FRR before 10.2 cannot undo, are set to their defaults. What the updater's limits refuse fails
    unless `reload` is set: then `config reload` of the whole target, which restarts the services. `config save` comes
    last, after the confirmation when there is one, so a reboot before it reverts.

    **Confirmation.** SONiC has none: another detached process goes back to the checkpoint at the deadline, the way the
    commit came. It also guards a commit without `revert_in`, should the connection break in the middle.

    Args:
        hostname: name or address.
        username: login, with `sudo -n` unless it is root.
        password: of the login; never shown.
        timeout: seconds for connecting and for each answer.
        optional_args: those of `fabricc.operate.drivers.shell.Shell`, and

            * `sudo` (True): run commands that change something through `sudo -n`.
            * `reload` (False): allow `config reload` for what `config replace` refuses.
            * `private_dir` (`/var/lib/napalm-sonic`), `session` (random), `lock_timeout` (300 s).
            * `commit_timeout` (300 s): what a commit may take besides 15 s for each changed row, or 900 s for a reload.
    """

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self._plan: dict[str, Any] = {}
        self._compared: list[str] | None = None

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
            raise exceptions.ReplaceConfigException(
                f"{self.hostname}: {redact_text(str(error), self.password)}"
            ) from None
        if unknown := sorted(files.keys() - {CONFIG_DB, FRR}):
            raise exceptions.ReplaceConfigException(
                f"{self.hostname}: no place is known for {', '.join(unknown)}"
            )
        if empty := sorted(name for name, rows in tables.items() if not rows):
            raise exceptions.ReplaceConfigException(
                f"{self.hostname}: SONiC refuses empty tables: {', '.join(empty)}"
            )
        self._compared = None
        stored = {**files, **_read_scripts()}
        commands = [self._store_command()]
        commands += [self._check_command()] * (CONFIG_DB in files)
        commands += [self._grammar_command()] * (FRR in files)
        given = {self._store_command(): json.dumps(stored)}
        with self._loading(files, *commands, given=given, limit_s=_CHECK_S):
            self._store(stored, exceptions.ReplaceConfigException)
            self._check()

    def _store_command(self) -> str:
        return (
            f"umask 077 && mkdir -p {self._folder} && cd {self._folder} && python3 -c {shlex.quote(_STORE)}"
        )

    def _store(self, files: dict[str, str], failure: type[exceptions.NapalmException]) -> None:
        """Write files into the private folder."""
        self._run(self._store_command(), failure, json.dumps(files))

    def _check_command(self) -> str:
        return f"python3 {self._folder}/{_AGENT} check {self._folder}"

    def _grammar_command(self) -> str:
        return (
            f"umask 077 && cat {self._folder}/{FRR} > {FRR_FOLDER}/{_CANDIDATE} && "
            f"docker exec bgp vtysh -C -f {CONTAINER_FOLDER}/{_CANDIDATE}"
        )

    def _check(self) -> None:
        """Check whether and how the switch accepts the candidate."""
        self._plan = {"way": "none", "rows": 0, "takes_frr": True}
        if CONFIG_DB in self._files:
            answer = self._run(self._check_command(), exceptions.ReplaceConfigException, limit_s=_CHECK_S)
            self._plan = self._object(answer, _PLAN)
            refusal = redact_text(str(self._plan["text"]), self.password)
            if self._plan["kind"] == "limits" and not self.optional_args.get("reload"):
                raise exceptions.ReplaceConfigException(
                    f"{self.hostname}: `config replace` refuses it: {refusal}; `reload: true` in the access file "
                    "allows `config reload`, which restarts all services of this switch"
                )
            if self._plan["kind"] == "models":
                raise exceptions.ReplaceConfigException(f"{self.hostname}: {refusal}")
        if self._takes_frr():
            output = self._run(self._grammar_command(), exceptions.ReplaceConfigException)
            if "% " in output:
                raise exceptions.ReplaceConfigException(f"{self.hostname}: {excerpt(output, self.password)}")

    def _takes_frr(self) -> bool:
        """Return whether the candidate has an `frr.conf` from which the bgp container starts."""
        return FRR in self._files and bool(self._plan["takes_frr"])

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:  # noqa: ARG002
        """Refused: what a merge leaves behind would be nobody's configuration.

        Raises:
            MergeConfigException: always.
        """
        raise exceptions.MergeConfigException(
            f"{self.hostname}: SONiC takes whole configurations here; use a replace"
        )

    def _files_of(self, config: str) -> dict[str, str]:
        return {CONFIG_DB: unpack_bundle(config, CONFIG_DB).get(CONFIG_DB, "")}

    def _refusals(self, output: str, config: str) -> list[Refusal]:
        return list(vtysh_refusals(output, FRR)) or super()._refusals(output, config)

    def compare_config(self) -> str:
        """Return the commands of the commit, the fields of CONFIG_DB that change, and the lines of frr-reload.py."""
        commands = [RUNNING] * (CONFIG_DB in self._files) + [self._reload_command()] * self._takes_frr()
        with self._in_one_request(*commands):
            return self._compare()

    def _compare(self) -> str:
        parts: list[str] = []
        if CONFIG_DB in self._files:
            running = self._running()
            target = sonic_tables.merge(running, self._require_tables(self._files[CONFIG_DB]))
            old, new = (
                json.dumps(one, indent=1, sort_keys=True).splitlines()
                for one in sonic_tables.difference(running, target)
            )
            lines = list(
                difflib.unified_diff(
                    old, new, "CONFIG_DB, running", "CONFIG_DB, candidate", n=len(old), lineterm=""
                )
            )
            parts += [*self._way(), *lines] if lines else []
        if self._takes_frr():
            self._compared = lines = self._compare_frr()
            parts += ["--- FRR, running", "+++ FRR, candidate", *lines] if lines else []
        return redact_text("\n".join(parts), self.password)

    def _reload_command(self) -> str:
        return f"{_RELOAD} --test --stdout {CONTAINER_FOLDER}/{_CANDIDATE} 2>&1"

    def _compare_frr(self) -> list[str]:
        output = self._run(self._reload_command(), exceptions.CommitError)
        try:
            return frr_agent.differences(output)
        except frr_agent.Refusal as error:
            raise exceptions.CommitError(
                f"{self.hostname}: {redact_text(str(error), self.password)}"
            ) from None

    def _way(self) -> list[str]:
        """Return as comments which commands a commit uses, and what they interrupt."""
        plan = self._plan
        if plan["way"] == "reload":
            return [
                f"# by `config reload`: all services restart; `config replace` refuses it: {plan['text']}"
            ]
        count = len(plan["steps"])
        lines = [f"# by `config replace` in {count} step{'' if count == 1 else 's'}"]
        if plan["shut"]:
            lines.append(f"# ports in use that are shut, or shut and opened again: {', '.join(plan['shut'])}")
        if plan["restarts_bgp"]:
            lines.append("# the bgp container restarts")
        return lines

    def discard_config(self) -> None:
        """Forget the candidate and give the lock back."""
        self._unlock(*_DROPPED)

    # Commit.

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Make the candidate run.

        `message` is stored with the checkpoint on the switch, which is restored after `revert_in` seconds unless
        confirmed.

        Raises:
            CommitConfirmException: `revert_in` is below a second.
            CommitError: it failed; the switch went back to the checkpoint, or the message explains why not.
            SessionLockedException: FRR's configuration has changed since it was compared; nothing was changed.
        """
        if not self._files:
            raise exceptions.CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and revert_in < 1:
            raise exceptions.CommitConfirmException(f"{self.hostname}: revert_in must be at least one second")
        frr = [self._reload_command()] * (self._compared is not None)
        with self._in_one_request(self._lock_command(), *frr, self._kept_command(_PLAN_FILE), stops=True):
            self._lock()
            if self._compared is not None and self._compare_frr() != self._compared:
                reason = f"{self.hostname}: FRR's configuration has changed since it was compared"
                raise exceptions.SessionLockedException(reason)
            last = str(self._kept_plan().get("checkpoint", ""))
        name = f"napalm_{uuid.uuid4().hex[:12]}"
        self._prepare(name, message, last)
        try:
            self._apply()
        except (
            exceptions.CommitError,
            exceptions.CommandTimeoutException,
            exceptions.ConnectionException,
        ) as error:
            self._revert(name, str(error))
            raise exceptions.CommitError(f"{error}; {self._kept('phase')}") from None
        if revert_in:
            steps = (
                f"test -e {self._folder}/pending && echo $(({_UPTIME} + {revert_in})) > {self._folder}/deadline",
                f"echo pending > {self._folder}/phase",
            )
            with self._in_one_request(*steps, self._drop_command(self._session, *_DROPPED), stops=True):
                for step in steps:
                    self._run(step, exceptions.CommitError)
                self.discard_config()
        else:
            self._keep_commit()
            self.discard_config()

    def _kept_plan(self) -> dict[str, Any]:
        """Return the plan of the last commit, empty without one.

        Raises:
            CommandErrorException: the answer is no plan.
        """
        text = self._kept(_PLAN_FILE)
        return self._object(text, _KEPT_PLAN) if text else {}

    def _limit_s(self) -> float:
        """Seconds that this commit may take."""
        if self._plan["way"] == "reload":
            return self._patience + sonic_tables.RELOAD_S
        return self._patience + sonic_tables.ROW_S * int(self._plan["rows"])

    def _prepare(self, name: str, message: str, last: str) -> None:
        """Checkpoint, backup, and the process that goes back should this connection break.

        Args:
            name: of the checkpoint.
            message: stored with it.
            last: the checkpoint of the commit before, which is removed; "" for none.
        """
        kept = f"test -s /etc/sonic/checkpoints/{name}.cp.json"
        backup = (
            f"for one in {' '.join((FRR, *sonic_tables.DAEMON_FILES))}; do if [ -e {FRR_FOLDER}/$one ]; "
            f"then cp -p {FRR_FOLDER}/$one backup-$one; else rm -f backup-$one; fi; done"
        )
        wait = f"setsid python3 {self._folder}/{_AGENT} guard {self._folder} {name} {_DETACHED}"
        steps = [
            *([f"config delete-checkpoint {shlex.quote(last)} || true"] if last else []),
            f"config checkpoint {name} && {kept}",
            self._store_command(),
            f"cd {self._folder} && {backup} && rm -rf outcome started-* && : > why"
            f" && echo $(({_UPTIME} + {int(self._limit_s())})) > deadline"
            f" && cat {_BOOT} > boot && echo {name} > pending && echo committing > phase && {{ {wait} }}",
        ]
        plan = {**self._plan, "checkpoint": name, "frr": self._takes_frr()}
        files = {_PLAN_FILE: json.dumps(plan), "message": f"{message}\n", "owner": f"{self._session}\n"}
        given = {self._store_command(): json.dumps({**files, **_read_scripts()})}
        with self._in_one_request(*steps, given=given, stops=True, limit_s=self._patience):
            for step in steps:
                self._run(step, exceptions.CommitError)

    def _apply(self) -> None:
        """Start the application on the switch and follow it; a lost answer is requested again.

        Raises:
            CommitError: it failed, or is not through in time.
        """
        until = time.monotonic() + self._limit_s()
        start = f"setsid python3 {self._folder}/{_AGENT} apply {self._folder} {_DETACHED}"
        wait = (
            f"i=0; while [ ! -e outcome ] && [ $i -lt {_WAIT_TURNS} ]; do sleep 0.1; i=$((i + 1)); done; "
            "cat outcome 2> /dev/null || true"
        )
        # A second request does not start it again.
        command = (
            f"cd {self._folder} && {{ mkdir started-$(cat pending) 2> /dev/null && {{ {start} }}; {wait}; }}"
        )
        renewed = time.monotonic()
        while not (text := self._query_again(command).strip()):
            if time.monotonic() > until:
                raise exceptions.CommitError(f"{self.hostname}: not applied within {self._limit_s():g} s")
            if time.monotonic() > renewed + _RENEW_S:
                self._lock()
                renewed = time.monotonic()
        outcome = self._object(text, _OUTCOME)
        if not outcome["ok"]:
            raise exceptions.CommitError(
                f"{self.hostname}: {redact_text(str(outcome['why']), self.password)}"
            )

    def _query_again(self, command: str, limit_s: float | None = None) -> str:
        """Run a command that may be run twice, over a new connection where the old one breaks.

        Raises:
            ConnectAuthError: the switch refuses the login now; it is not repeated.
            CommitError: it does not answer in the time of a commit.
        """
        until = time.monotonic() + (limit_s or self._limit_s())
        while True:
            try:
                return self._run(command, exceptions.CommitError, limit_s=limit_s)
            except (exceptions.CommandTimeoutException, exceptions.ConnectionException) as error:
                if isinstance(error, exceptions.ConnectAuthError) or time.monotonic() > until:
                    raise
            with suppress(exceptions.CommandTimeoutException):
                self._reconnect()

    def _reconnect(self) -> None:
        time.sleep(_POLL_S)
        self._shell.close()
        with suppress(exceptions.ConnectionException):
            try:
                self._shell.open()
            except exceptions.ConnectAuthError as error:
                raise exceptions.CommitError(str(error)) from None

    def _keep_commit(self) -> None:
        """End the wait, and save what the switch boots from."""
        end = f"cd {self._folder} && mv pending confirmed"
        boot = f"cd {self._folder} && {{ [ ! -e confirmed-frr.conf ] || mv confirmed-frr.conf {FRR_PATH}; }}"
        with self._in_one_request(end, boot, stops=True):
            self._run(end, exceptions.CommitError)
            self._run(boot)
        self._save()
        self._run(f"echo confirmed > {self._folder}/phase", exceptions.CommitError)

    def _save(self) -> None:
        """Save CONFIG_DB, and read it back: the exit status of `config save` is no proof.

        Raises:
            CommitError: the switch does not boot with what it runs.
        """
        command = f"config save -y >&2 && python3 {self._folder}/{_AGENT} saved {self._folder}"
        answer = self._query_again(command, self._patience)
        if not self._object(answer, {"saved": bool})["saved"]:
            raise exceptions.CommitError(f"{self.hostname}: `config save` did not save what runs")

    def _revert(self, name: str, why: str) -> None:
        self._store({"why": f"{why}\n"}, exceptions.CommitError)
        command = f"python3 {self._folder}/{_AGENT} revert {self._folder} {name}"
        self._run(command, exceptions.CommitError, limit_s=self._limit_s() + sonic_tables.RELOAD_S)

    def commit_state(self) -> dict[str, Any]:
        """State of the last commit, whoever made it: `phase` and `why` as the FRR driver has them."""
        with self._in_one_request(
            self._pending_command(), self._kept_command("phase"), self._kept_command("why")
        ):
            return self._commit_state()

    def _commit_state(self) -> dict[str, Any]:
        self.has_pending_commit()
        phase = self._kept("phase") or "idle"
        if phase not in _PHASES:
            raise exceptions.ConnectionException(
                f"{self.hostname}: a commit has the unknown phase {phase!r:.40}"
            )
        return {"phase": phase, "why": redact_text(self._kept("why"), self.password)}

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation, or is undone at present.

        Raises:
            ConnectionException: the answer shows neither.
        """
        words = self._run(self._pending_command()).split()
        if words != ["none"] and (len(words) != 2 or words[0] != "waits"):
            raise exceptions.ConnectionException(
                f"{self.hostname}: unknown state of a commit: {quote_words(' '.join(words))}"
            )
        return words != ["none"]

    def _pending_command(self) -> str:
        return f"cd {self._folder} 2> /dev/null || {{ echo none; exit 0; }}; {_EXPIRE}; {_WAITING}"

    def _hold_commands(self) -> Sequence[str]:
        """Return the commands for a commit that waits: its name, and a failure while one does."""
        pending = self._pending_command()
        return (pending, f'[ "$({pending})" = none ]')

    def get_holds(self) -> list[Hold]:
        """Return claims of every session, and changes of CONFIG_DB that others make now. Not part of NAPALM."""
        with self._in_one_request(*self._claim_commands()):
            return self._find_holds()

    def _claim_commands(self) -> Sequence[str]:
        kept = (self._kept_command(name) for name in ("owner", "deadline"))
        return (self._pending_command(), *kept, f"echo {_UPTIME}", self._owner_command(), PROCESSES)

    def _find_holds(self) -> list[Hold]:
        found = super().get_holds()
        if any(one.kind is HoldKind.COMMIT for one in found):
            return found
        lines = self._run(PROCESSES).splitlines()
        matches = [_UPDATER.search(line) for line in lines if self._folder not in line]
        updates = dict.fromkeys(f"`{match[1]}`" for match in matches if match)
        if any(map(_ZTP.search, lines)):
            updates["ZTP, which `sudo ztp disable -y` ends,"] = None
        return [*found, *(Hold(HoldKind.UPDATE, update) for update in updates)]

    def _commit_left_s(self) -> float | None:
        at = self._kept("deadline")
        return float(at) - float(self._run(f"echo {_UPTIME}")) if is_number(at) else None

    def confirm_commit(self) -> None:
        """Keep and save what a commit of this session with `revert_in` brought.

        Raises:
            CommitError: none waits, or another session made it.
        """
        kept = (self._kept_command(name) for name in ("phase", "why", "owner"))
        with self._in_one_request(self._pending_command(), *kept):
            if self._commit_state()["phase"] != "pending":
                raise exceptions.CommitError(f"{self.hostname}: no commit waits for confirmation")
            self._require_own_commit()
        self._keep_commit()

    def rollback(self) -> None:
        """Go back to the checkpoint before the last commit, once.

        Raises:
            CommitError: there is none, or it failed.
        """
        self._plan = self._kept_plan()
        waits = self.has_pending_commit()
        if not self._plan or self._kept("phase") == "reverted":
            raise exceptions.CommitError(f"{self.hostname}: nothing to roll back to")
        if waits:
            self._require_own_commit()
        self._revert(self._plan["checkpoint"], "asked for")
        self._save()

    # Getters.

    def _requests(self) -> Mapping[str, Sequence[str]]:
        counters = (sonic_views.COUNTERS,)
        return {
            **super()._requests(),
            "get_holds": self._claim_commands(),
            "get_config": (*OF_RUNNING, *OF_STARTUP),
            "get_interfaces_counters": counters,
            "get_lossless_counters": counters,
            "get_alarms": (sonic_views.HEALTH,),
        }
