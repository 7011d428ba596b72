"""The NAPALM driver of FRR on Linux, over SSH."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Sequence
from functools import cache
from importlib.resources import files as package_files
from typing import Any, NoReturn

from napalm.base import exceptions

from fabricc.operate.drivers import Hold, HoldKind, frr_agent, linux, linux_views
from fabricc.operate.drivers.answers import ROUTE_VALUES, TIMES, AnswerError, parse_json
from fabricc.operate.drivers.bundle import candidate_files, pack_bundle, unpack_bundle
from fabricc.operate.drivers.checking import Refusal, vtysh_refusals
from fabricc.operate.drivers.frr_agent import NAMESPACES
from fabricc.operate.drivers.frr_files import FILES, MAIN, WITHOUT_SYSTEMD
from fabricc.operate.drivers.linux import LinuxDriver
from fabricc.operate.drivers.redact import excerpt, redact_text

_START = "import sys;exec(compile(sys.stdin.buffer.read(int(sys.argv[1])),'napalm-frr','exec'),{'__name__':'__main__'})"
_AGENT = "frr_agent.py"
_LINKS_OF_NAMESPACES = (
    f"{shlex.join(linux_views.LINKS)}; for one in {NAMESPACES}/*; do "
    f'if [ -e "$one" ]; then echo; nsenter --net="$one" {shlex.join(linux_views.LINKS)}; fi; done'
)
_MOVING = ("committing", "reverting")
_PHASES = ("idle", "committing", "pending", "confirmed", "reverting", "reverted", "failed")
_NUMBER = (int, float)
_REPLIES: dict[str, dict[str, Any]] = {
    "compare": {"diff": str},
    "guard": {"armed": bool},
    "holds": {"holds": list},
    "read": {"running": str, "saved": dict, "candidate": dict},
    "release": {"released": bool},
    "run": {"ran": list},
    "status": {"phase": str, "why": str, "left_s": _NUMBER, "wish": (str, type(None))},
}
"""Values of the agent's answers, by request; the other requests return none."""


@cache
def _package_text(name: str) -> bytes:
    return package_files("fabricc.operate.drivers").joinpath(name).read_bytes()


def require_reply(what: str, answer: Any) -> None:
    """Refuse an answer that is not the agent's to a request.

    Raises:
        AnswerError: it is another one, or lacks a value.
    """
    if not isinstance(answer, dict) or answer.get("did") != what:
        raise AnswerError(f"the answer is not that of the agent to `{what}`")
    wanted = {"refused": str, "text": str} if "refused" in answer else _REPLIES.get(what, {})
    for name, kind in wanted.items():
        if not isinstance(answer.get(name), kind):
            raise AnswerError(f"the agent's answer to `{what}` has no usable `{name}`")
    if "phase" in wanted and answer["phase"] not in _PHASES:
        raise AnswerError(f"the agent's answer to `{what}` has the unknown phase {answer['phase']!r:.40}")


class FrrDriver(LinuxDriver):
    """FRR on Linux.

    **Candidate.** `load_replace_candidate(filename=…)` takes a folder with the switch's files (`frr.conf`,
    `interfaces`, `sysctl.conf`, …: see `FILES`), a file with all of them as `operate.drivers.bundle` writes it, or
    `frr.conf` alone; `config=` takes the latter two. A file that is not named stays as it is. A merge adds to the
    running `frr.conf` and replaces other files. `vtysh -C` refuses a `frr.conf` against the grammar of the release.

    **Commit.** `frr-reload.py` changes only what differs and keeps the sessions it does not touch; afterwards nothing
    may be left to change. A process on the switch does it, so that a lost connection ends in the new configuration
    or in the old one, never between. With `revert_in` the same process waits, and restores the old one unless
    `confirm_commit()` came; until then the switch boots from the old files. `rollback()` goes back to before the
    last commit, once.

    **Sessions.** A candidate locks out others until commit, discard or close, or until `lock_timeout` seconds pass
    without a request. A session that names itself (`session`) takes its own lock up again after a lost connection.

    Needs on the switch: Python 3.9, frr-pythontools, and root or `sudo -n`.

    Args:
        hostname: name or address.
        username: login.
        password: of the login, or of nothing when a key is given; never shown.
        timeout: seconds for connecting and for each answer.
        optional_args: those of `fabricc.operate.drivers.shell.Shell`, and

            * `sudo` (False): run everything through `sudo -n`.
            * `files`: file name -> path on the switch, or None to leave that file alone.
            * `activate`: file name -> shell command, `{path}` standing for the path; empty for none.
            * `systemd` (True): whether systemd and ifupdown2 run on the switch; a network namespace has neither.
            * `vrf_namespaces` (False): VRFs are network namespaces (`zebra -n`) and not devices.
            * `private_dir` (`/var/lib/napalm-frr`): candidate, backup and lock on the switch, mode 0700.
            * `session` (random), `lock_timeout` (300 s), `commit_timeout` (300 s).
            * `use_reserve` (False): take the space that commits of before set aside in `private_dir` (4 MiB), should
              the disk be full: to end what was begun.
    """

    platform = "frr"

    def __init__(self, *login: Any, **named: Any) -> None:
        super().__init__(*login, **named)
        self.profile = [self.platform]
        self._ahead: dict[tuple[str, ...], list[Any]] = {}
        options = self.optional_args
        commands = dict({} if options.get("systemd", True) else WITHOUT_SYSTEMD)
        self._namespaces = bool(options.get("vrf_namespaces"))
        apply = f"python3 -c {shlex.quote(_package_text('frr_namespaces.py').decode())} {{path}}"
        if self._namespaces:
            commands["interfaces"] = (
                f"{commands.get('interfaces', FILES['interfaces'][1])} && {apply} tunnels"
            )
        self._table = _file_table(options.get("files") or {}, {**commands, **(options.get("activate") or {})})
        if self._namespaces and "interfaces" in self._table:
            self._table["interfaces"]["after"] = f"{apply} ports"
        self._python = (
            f'{"sudo -n " if options.get("sudo") else ""}python3 -c "{_START}" {len(_package_text(_AGENT))}'
        )

    # Connection.

    def open(self) -> None:
        """Connect; a commit whose process died on the switch is reverted now."""
        self._shell.open()
        try:
            self._ask("status")
        except exceptions.NapalmException:
            self._shell.close()
            raise

    def _ask(
        self,
        what: str,
        failure: type[exceptions.NapalmException] = exceptions.CommandErrorException,
        wait_s: float | None = None,
        **more: Any,
    ) -> Any:
        request = {
            "do": what,
            "folder": self.optional_args.get("private_dir", "/var/lib/napalm-frr"),
            "session": self._session,
            "lock_s": int(self.optional_args.get("lock_timeout", 300)),
            "use_reserve": bool(self.optional_args.get("use_reserve", False)),
            "table": self._table,
            "vrf_namespaces": self._namespaces,
            **more,
        }
        ran = self._shell.run(self._python, _package_text(_AGENT) + json.dumps(request).encode(), wait_s)
        try:
            answer = parse_json(ran.out.rpartition(f"{frr_agent.BEGINS}\n")[2], most=ROUTE_VALUES)
            require_reply(what, answer)
        except AnswerError as error:
            reason = excerpt(ran.err or str(error), self.password, end=True)
            raise exceptions.ConnectionException(
                f"{self.hostname}: exit status {ran.status}: {reason}"
            ) from None
        if "refused" in answer:
            self._refuse(answer["refused"], answer["text"], failure)
        return answer

    def _refuse(self, kind: str, text: str, failure: type[exceptions.NapalmException]) -> NoReturn:
        kinds = {
            "locked": exceptions.SessionLockedException,
            "pending": exceptions.CommitConfirmException,
            "lost": exceptions.CommitError,
        }
        raise kinds.get(kind, failure)(f"{self.hostname}: {redact_text(text, self.password)}")

    # Configuration.

    def load_replace_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load files that replace those of the switch.

        Raises:
            ReplaceConfigException: unreadable, of an unknown name, or refused by the switch.
            SessionLockedException: another session holds a candidate.
            CommitConfirmException: a commit runs or waits for confirmation.
        """
        self._load(filename, config, exceptions.ReplaceConfigException, merge=False)

    def load_merge_candidate(self, filename: str | None = None, config: str | None = None) -> None:
        """Load lines that are added to the running `frr.conf`.

        Raises:
            MergeConfigException: as `load_replace_candidate` raises ReplaceConfigException.
        """
        self._load(filename, config, exceptions.MergeConfigException, merge=True)

    def _load(
        self,
        filename: str | None,
        config: str | None,
        failure: type[exceptions.NapalmException],
        *,
        merge: bool,
    ) -> None:
        try:
            files = candidate_files(filename, config, MAIN)
        except (OSError, ValueError) as error:
            raise failure(f"{self.hostname}: {redact_text(str(error), self.password)}") from None
        left_alone = {name for name, path in (self.optional_args.get("files") or {}).items() if path is None}
        files = {name: text for name, text in files.items() if name not in left_alone}
        if unknown := sorted(files.keys() - self._table.keys()):
            raise failure(f"{self.hostname}: no place is known for {', '.join(unknown)}")
        self._ask("stage", failure, files=files, merge=merge)
        self._loaded = True

    def _files_of(self, config: str) -> dict[str, str]:
        return unpack_bundle(config, MAIN)

    def _refusals(self, output: str, config: str) -> list[Refusal]:
        return list(vtysh_refusals(output, MAIN)) or super()._refusals(output, config)

    def compare_config(self) -> str:
        """Return the changes of a commit: lines of frr-reload.py for FRR, a unified diff for each other file."""
        return str(self._ask("compare")["diff"]) if self._loaded else ""

    def commit_config(self, message: str = "", revert_in: int | None = None) -> None:
        """Make the candidate run.

        `message` is kept with the state on the switch, which goes back after `revert_in` seconds unless confirmed.

        Raises:
            CommitError: it failed; the text states whether the switch went back.
            ConnectionClosedException: the connection broke; the switch ends in the new or the old configuration,
                and `commit_state()` of a new connection returns which one.
        """
        if not self._loaded:
            raise exceptions.CommitError(f"{self.hostname}: no candidate is loaded")
        if revert_in is not None and revert_in < 1:
            raise exceptions.CommitConfirmException(f"{self.hostname}: revert_in must be at least one second")
        self._ask("commit", exceptions.CommitError, message=message, revert_s=revert_in or 0)
        self._loaded = False
        self._settle("pending" if revert_in else "confirmed")

    def _settle(self, wanted: str) -> None:
        """Wait until the switch has finished the request.

        Raises:
            CommitError: it ended otherwise, or has not ended in time.
        """
        until = time.monotonic() + self._patience
        pause = 0.1
        while time.monotonic() < until:
            state = self._ask("status", exceptions.CommitError)
            if state["phase"] not in _MOVING and not (state["phase"] == "pending" and state["wish"]):
                if state["phase"] == wanted:
                    return
                why = redact_text(state["why"], self.password)
                raise exceptions.CommitError(f"{self.hostname}: {state['phase']}: {why or 'no reason given'}")
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)
        raise exceptions.CommitError(f"{self.hostname}: the switch still is {state['phase']}")

    def commit_state(self) -> dict[str, Any]:
        """Return the state of the last commit, whoever made it.

        `phase`: `idle` (none), `committing`, `pending` (waits for confirmation, `left_s` seconds more), `confirmed`,
        `reverting`, `reverted`, or `failed` (going back failed too); `why` is the reason why it went back.
        """
        state = self._ask("status")
        why = redact_text(state["why"], self.password)
        return {"phase": state["phase"], "left_s": state["left_s"], "why": why}

    def has_pending_commit(self) -> bool:
        """Return whether a commit waits for confirmation; wait for a commit of any connection that is under way."""
        until = time.monotonic() + self._patience
        while (phase := self._ask("status")["phase"]) in _MOVING and time.monotonic() < until:
            time.sleep(0.5)
        return bool(phase == "pending")

    def get_holds(self) -> list[Hold]:
        """Return the claims of every session; wait for a commit that is under way. Not part of NAPALM."""
        self.has_pending_commit()
        return [
            Hold(HoldKind(one["claim"]), one["owner"], one["left_s"], own=one["owner"] == self._session)
            for one in self._ask("holds")["holds"]
        ]

    def end_hold(self, hold: Hold) -> bool:
        """Remove the guard or the candidate of a dead session; return whether a guard existed until now.

        Nothing is restored. Not part of NAPALM.
        """
        if hold.kind is HoldKind.GUARD:
            return bool(self._ask("release", exceptions.CommitError, owner=hold.owner)["released"])
        self._ask("discard", exceptions.CommitError, owner=hold.owner)
        return True

    def confirm_commit(self) -> None:
        """Keep what a commit of this session with `revert_in` brought.

        Raises:
            CommitError: none waits, or the time had run out.
            SessionLockedException: another session made the commit that waits.
        """
        self._ask("confirm", exceptions.CommitError)
        self._settle("confirmed")

    def arm_guard(self, seconds: int) -> None:
        """Set a dead-man's timer before a commit: the switch goes back to what runs now unless it is released.

        Later commits, confirmed or not, change neither the timer nor what it goes back to. Not part of NAPALM.

        Raises:
            CommitError: no candidate is loaded.
            SessionLockedException: another session has set one.
        """
        self._ask("guard", exceptions.CommitError, seconds=seconds, armed=False)

    def extend_guard(self, seconds: int) -> bool:
        """Restart a timer that is set; return False when none is: it was released, or the switch went back."""
        return bool(self._ask("guard", exceptions.CommitError, seconds=seconds, armed=True)["armed"])

    def release_guard(self) -> None:
        """Remove the timer, if this session has set one."""
        self._ask("release", exceptions.CommitError)

    def discard_config(self) -> None:
        """Forget the candidate."""
        self._ask("discard")
        self._loaded = False

    def rollback(self) -> None:
        """Go back to before the last commit, pending or not.

        Raises:
            CommitError: nothing to go back to, or it failed.
            SessionLockedException: a commit of another session waits.
        """
        self._ask("rollback", exceptions.CommitError)
        self._settle("reverted")

    # Getters.

    def _configurations(self, wanted: list[str], full: bool) -> dict[str, str]:  # noqa: ARG002 - FRR prints no defaults
        """Return FRR's running configuration, and the saved files and the candidate as bundles."""
        read = self._ask("read")
        texts = {"running": read["running"], "startup": pack_bundle(read["saved"])}
        texts["candidate"] = pack_bundle(read["candidate"])
        return {kind: texts[kind] for kind in wanted}

    def _outputs(self, *commands: Sequence[str]) -> list[str]:
        """Return the standard outputs of programs on the switch, in one request.

        Raises:
            CommandErrorException: one fails.
        """
        self._run_programs([command for command in commands if not self._ahead.get(tuple(command))])
        ran = [self._ahead[tuple(command)].pop() for command in commands]
        for command, (status, out, err) in zip(commands, ran, strict=True):
            if status:
                reason = excerpt(err or out, self.password, end=True)
                raise exceptions.CommandErrorException(f"{self.hostname}: {' '.join(command)}: {reason}")
        return [out for _, out, _ in ran]

    def _run_programs(self, commands: Sequence[Sequence[str]]) -> None:
        """Run programs by one request, and keep what each of them brings for `_outputs`."""
        if not commands:
            return
        given = [list(command) for command in commands]
        wait_s = self.timeout * min(len(given), TIMES)
        ran = self._ask("run", wait_s=wait_s, commands=given, limit_s=self.timeout)["ran"]
        for command, one in zip(commands, ran, strict=True):
            self._ahead.setdefault(tuple(command), []).append(one)

    def read_ahead(self, getters: Sequence[str]) -> None:
        """Run the programs of several getters by one request; each getter uses its answers once. Not part of NAPALM.

        Args:
            getters: names of getters; those that are not listed here send their own requests later.
        """
        self.drop_ahead()
        vtysh = {
            "get_bgp_neighbors": (linux.SUMMARY, linux.NEIGHBORS),
            "get_ecmp_widths": linux.ROUTES,
            "get_router_macs": (linux.ROUTER_MACS,),
        }
        known = {name: [(*self.VTYSH, "-c", one) for one in commands] for name, commands in vtysh.items()}
        known["get_identity"] = [linux.HOSTNAME]
        known["get_lossless_counters"] = [linux_views.ETHTOOL]
        known["get_interfaces_counters"] = [self._links_command]
        self._run_programs([command for name in getters for command in known.get(name, ())])

    def drop_ahead(self) -> None:
        """Forget answers that no getter has used; not part of NAPALM."""
        self._ahead = {}

    def cli(self, commands: list[str], encoding: str = "text") -> dict[str, str]:
        """Return the output of commands of `vtysh`.

        Raises:
            NotImplementedError: another encoding than text; end the command with `json` instead.
        """
        if encoding != "text":
            raise NotImplementedError("vtysh answers in text; end the command with json")
        return dict(zip(commands, self._outputs(*(("vtysh", "-c", one) for one in commands)), strict=True))

    def get_clock(self) -> int:
        """Return the clock of the machine, in seconds since 1970."""
        (seconds,) = self._outputs(("date", "+%s"))
        return int(seconds)

    def get_facts(self) -> dict[str, Any]:
        """Return facts of the machine; FRR has no serial number."""
        version, links, hostname, uptime = self._outputs(
            ("vtysh", "-c", "show version"),
            ("ip", "-j", "link", "show"),
            ("hostname",),
            ("cat", "/proc/uptime"),
        )
        found = re.search(r"FRRouting (\S+)", version)
        return {
            "uptime": float(uptime.split()[0]),
            "vendor": "FRRouting",
            "os_version": found[1] if found else "",
            "serial_number": "",
            "model": "Linux",
            "hostname": hostname.strip(),
            "fqdn": hostname.strip(),
            "interface_list": sorted(link["ifname"] for link in self._parse_json(links, "ip -j link")),
        }

    @property
    def _links_command(self) -> tuple[str, ...]:
        return ("sh", "-c", _LINKS_OF_NAMESPACES) if self._namespaces else linux_views.LINKS

    def _links(self) -> list[Any]:
        """Return the interfaces of the kernel with their counters, those of namespaces that are VRFs included."""
        if not self._namespaces:
            return super()._links()
        (text,) = self._outputs(self._links_command)
        lines = filter(str.strip, text.splitlines())
        return [link for line in lines for link in self._parse_json(line, "ip -j link")]

    def get_interfaces(self) -> dict[str, Any]:
        """Return interfaces of the kernel, with FRR's descriptions."""
        links, speeds = self._outputs(
            ("vtysh", "-c", "show interface vrf all json"),
            ("sh", "-c", "grep -s . /sys/class/net/*/speed || true"),
        )
        found: dict[str, Any] = self._view(
            linux_views.read_interfaces, self._links(), linux_views.read_speeds(speeds)
        )
        for name, one in self._parse_json(links, "show interface vrf all json").items():
            if name in found and one.get("description"):
                found[name]["description"] = one["description"]
        return found


def _file_table(paths: dict[str, str | None], commands: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the files in the order in which they are activated, `frr.conf` last."""
    known: dict[str, str | None] = {name: path for name, (path, _) in FILES.items()}
    places = {**{name: path for name, path in paths.items() if name not in known}, **known, **paths}
    return {
        name: {"path": path, "activate": commands.get(name, FILES[name][1] if name in FILES else "")}
        for name, path in places.items()
        if path is not None
    }
