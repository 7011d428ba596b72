"""The NAPALM driver of Cumulus Linux: NVUE's own commands over SSH."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from napalm.base.exceptions import (
    CommandErrorException,
    CommitError,
    ConnectionException,
    MergeConfigException,
    NapalmException,
    ReplaceConfigException,
    SessionLockedException,
)

from fabricc.operate.drivers import linux_views, nvue_views
from fabricc.operate.drivers.holds import Claim, Hold
from fabricc.operate.drivers.linux_session import LinuxSession
from fabricc.operate.drivers.lossless import Counters, Tally
from fabricc.operate.drivers.redact import excerpt, redacted
from fabricc.operate.drivers.single import one_text

FILE = "startup.yaml"
_YAML = re.compile(r"\s*(?:---|- \w[\w-]*:|[\w-]+:\s|\[|\{)")
_CHANGES = re.compile(r"(?m)^nv (?:set|unset) ")
_FAILED = re.compile(r"(?im)^.*\b(?:error|invalid|failed|ays_fail|apply_fail)\b.*$")


class CumulusDriver(LinuxSession):
    """Cumulus Linux with NVUE, release 5.9 or later.

    **Candidate.** `startup.yaml`, the whole configuration: the file, a folder with it alone, or its text. NVUE loads it
    into a pending revision (`nv config replace`; a merge is `nv config patch`) and validates it there.

    **Commit.** `nv config apply -y`, with `--confirm SECONDS` when there is `revert_in`: NVUE itself goes back unless
    `nv config apply --confirm-yes` comes. `nv config save` follows the confirmation. `rollback()` applies the revision
    that was applied before the last commit. The text of `--confirm-status` is assumed: not tried on a switch.

    Args:
        hostname: name or address.
        username: login; in the group `nvapply`, or with `sudo -n`.
        password: of the login; never shown.
        timeout: seconds for connecting and for each answer.
        optional_args: those of `fabricc.operate.drivers.shell.Shell`, and

            * `sudo` (True): run commands through `sudo -n`.
            * `private_dir` (`/var/lib/napalm-cumulus`), `session` (random), `lock_timeout` (300 s),
              `commit_timeout` (300 s).
    """

    FOLDER = "/var/lib/napalm-cumulus"
    platform = "cumulus"

    def _nv(self, words: str, failure: type[NapalmException]) -> str:
        """Output of `nv config …`, which says some failures with exit status 0."""
        said = self._run(f"nv config {words}", failure, limit_s=self._patience)
        if wrong := _FAILED.findall(said):
            text = redacted("; ".join(wrong[:5]), self.password)
            raise failure(f"{self.hostname}: nv config {words.split()[0]}: {text}")
        return said

    def _applied(self) -> str:
        """The revision that is applied; the history begins with it.

        Raises:
            CommitError: NVUE names none.
        """
        history = json.loads(self._nv("history -o json", CommitError) or "[]")
        for entry in history:
            if entry.get("state", "applied") == "applied":
                return str(entry.get("ref") or entry.get("revision") or entry.get("apply-id"))
        raise CommitError(f"{self.hostname}: NVUE names no applied revision")

    # Configuration.

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load the whole configuration into a pending revision.

        Raises:
            ReplaceConfigException: NVUE refuses it.
            SessionLockedException: another session holds a candidate.
            CommitConfirmException: a commit waits for confirmation.
        """
        self._load(
            one_text(filename, config, FILE, ReplaceConfigException), "replace", ReplaceConfigException
        )

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load a part that is added to what is applied.

        Raises:
            MergeConfigException: NVUE refuses it.
        """
        self._load(one_text(filename, config, FILE, MergeConfigException), "patch", MergeConfigException)

    def _load(self, text: str, verb: str, failure: type[NapalmException]) -> None:
        if self._has_foreign_revision():
            raise SessionLockedException(f"{self.hostname}: {self.username} has a pending revision of NVUE")
        with self._loading({FILE: text}):
            self._keep(FILE, text, failure)
            self._run("nv config detach || true")
            self._nv(f"{verb} {self._folder}/{FILE}", failure)

    def _files_of(self, config: str) -> dict[str, str]:
        return {FILE: one_text(None, config, FILE, ReplaceConfigException)}

    def compare_config(self) -> str:
        """NVUE's own difference of pending and applied, as commands."""
        return self._nv("diff -o commands", CommitError).strip() if self._files else ""

    def discard_config(self) -> None:
        """Forget the pending revision of this session and give the lock back."""
        if self._files:
            self._run("nv config detach || true")
        self._unlock(FILE)

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Apply the pending revision.

        `message` is kept in NVUE's history; NVUE goes back after `revert_in` seconds unless confirmed.

        Raises:
            CommitError: NVUE refuses; what ran before still runs.
        """
        if not self._files:
            raise CommitError(f"{self.hostname}: no candidate is loaded")
        self._lock()
        self._keep("before", f"{self._applied()}\n", CommitError)
        self._sign_commit()
        words = "apply -y" + (f" --confirm {revert_in}s" if revert_in else "")
        self._nv(words + (f" -m {shlex.quote(message)}" if message else ""), CommitError)
        if not revert_in:
            self._nv("save", CommitError)
        self._unlock(FILE)

    def has_pending_commit(self) -> bool:
        """Whether NVUE waits for a confirmation."""
        return self._commit_left_s() is not None

    def _commit_left_s(self) -> float | None:
        """Seconds until NVUE goes back, as `--confirm-status` prints them; None when no commit waits."""
        try:
            said = self._run("nv config apply --confirm-status")
        except CommandErrorException:
            return None
        found = re.search(r"\d+", said)
        return float(found[0]) if found and not re.search(r"(?i)\bno\b|not ", said) else None

    def get_holds(self) -> list[Hold]:
        """Claims of every session, and the pending revision of a person with this account. Not part of NAPALM."""
        found = super().get_holds()
        return [*found, Hold(Claim.CANDIDATE, self.username)] if self._has_foreign_revision() else found

    def _has_foreign_revision(self) -> bool:
        """Whether this account has a pending revision that no session of this driver made."""
        if self._kept("lock"):
            return False
        return bool(_CHANGES.search(self._run("nv config diff -o commands 2> /dev/null || true")))

    def confirm_commit(self) -> None:
        """Keep and save what waits.

        Raises:
            CommitError: nothing waits.
        """
        if not self.has_pending_commit():
            raise CommitError(f"{self.hostname}: no commit waits for confirmation")
        self._require_own_commit()
        self._nv("apply --confirm-yes", CommitError)
        self._nv("save", CommitError)
        self._run(f"rm -f {self._folder}/owner")

    def rollback(self) -> None:
        """Go back to the revision before the last commit, whether it waits for confirmation or not.

        Raises:
            CommitError: there is none, or NVUE refuses.
        """
        before = self._kept("before")
        if not before:
            raise CommitError(f"{self.hostname}: nothing to roll back to")
        if self.has_pending_commit():
            self._require_own_commit()
            self._nv("apply --confirm-no", CommitError)
        else:
            self._nv(f"apply {shlex.quote(before)} -y", CommitError)
        self._nv("save", CommitError)
        self._run(f"rm -f {self._folder}/before {self._folder}/owner")

    # Getters.

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:
        """What is applied, saved and pending, as `nv config show -o yaml` prints it."""
        every = " --all" if full else ""
        revisions = {"running": "applied", "startup": "startup", "candidate": "pending"}
        asked = [kind for kind in wanted if kind != "candidate" or self._files]
        return {kind: self._document(f"nv config show -r {revisions[kind]} -o yaml{every}") for kind in asked}

    def _document(self, command: str) -> str:
        """Return the YAML that a command prints, which is a list of header and settings, or one object.

        Raises:
            ConnectionException: it is none: empty, or behind a text that a login script prints.
        """
        text = self._run(command)
        if not _YAML.match(text):
            said = excerpt(text, self.password, longest=100) or "nothing"
            raise ConnectionException(f"{self.hostname}: {FILE} is not YAML of NVUE: {said!r}")
        return text

    def get_facts(self) -> dict[str, Any]:
        """Facts of the switch as NVUE shows them."""
        system, platform = self._json(
            ("nv", "show", "system", "-o", "json"), ("nv", "show", "platform", "-o", "json")
        )
        (links,) = self._json(linux_views.LINKS)
        return {
            "uptime": float(self._run("cat /proc/uptime").split()[0]),
            "vendor": "NVIDIA",
            "os_version": str(system.get("product-release") or system.get("build", "")),
            "serial_number": str(platform.get("serial-number", "")),
            "model": str(platform.get("product-name", "")),
            "hostname": str(system.get("hostname", "")),
            "fqdn": str(system.get("hostname", "")),
            "interface_list": sorted(link["ifname"] for link in links),
        }

    def _serial(self) -> str:
        try:
            (platform,) = self._json(("nv", "show", "platform", "-o", "json"))
        except CommandErrorException:
            return ""
        return str(platform.get("serial-number") or "") if isinstance(platform, dict) else ""

    def get_interfaces(self) -> dict[str, Any]:
        """Interfaces of the kernel; Cumulus keeps descriptions as aliases."""
        (links,) = self._json(linux_views.LINKS)
        speeds = linux_views.speeds(self._run("grep -s . /sys/class/net/*/speed || true"))
        return linux_views.interfaces(links, speeds)

    def get_lossless_counters(self) -> Counters:
        """Counters of lossless classes, as `fabricc.operate.drivers.lossless` has them; not part of NAPALM."""
        tally = Tally()
        if ports := nvue_views.ports(self._json(nvue_views.INTERFACES)[0]):
            nvue_views.lossless(self._run(nvue_views.counters_of(ports), limit_s=self._patience), tally)
        return tally.counters()

    def get_alarms(self) -> list[str]:
        """What NVUE says of the switch's health that is not well; not part of NAPALM.

        Raises:
            NotImplementedError: the release does not tell its health.
        """
        try:
            return nvue_views.alarms(self._json(nvue_views.HEALTH)[0])
        except CommandErrorException:
            raise NotImplementedError("nv show system health is not there") from None
