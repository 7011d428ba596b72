"""A whole push in which one answer is another: exit status, journal and switch agree.

A refusal or another answer that replaces a step is never a success of it, a lost one is requested again, and advice
next to an answer is never a failure. The words are those of makers' tests and guides, and of answers that real switches
printed where a copy of those is there.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from lxml import etree

from tests.operate.drivers.servers import eos, junos, linux_switch, nxos
from tests.operate.drivers.servers.parts import list_parts, replace_parts
from tests.operate.drivers.servers.web import Drop
from tests.operate.drivers.test_published_identities import ANSWERS
from tests.operate.push.network import run_here
from tests.operate.push.test_drivers import NEW, make_bench

if TYPE_CHECKING:
    from pathlib import Path

    from tests.operate.push.test_drivers import Bench

pytestmark = pytest.mark.slow
REFUSAL, ADVISORY, OTHER, LOST = "refusal", "advisory", "another answer", "lost"
CASES = [
    # System, step, kind, its words, whether the push may succeed without the step.
    (
        "eos",
        "show version",
        REFUSAL,
        "% Unavailable command (not supported on this hardware platform)",
        False,
    ),
    ("eos", "show configuration sessions detail", REFUSAL, "internal error", False),
    ("eos", r"configure session \S+ commit timer .*", REFUSAL, "Cannot commit session due to error", False),
    ("eos", "write memory", REFUSAL, "% Error: no space left on device", False),
    ("eos", "show interfaces counters queue detail", REFUSAL, "% Invalid input", True),
    ("eos", "show ip bgp summary vrf all", REFUSAL, "% BGP inactive", False),
    ("eos", r"configure session \S+ commit.*", ADVISORY, "! Reboot is required; commit failed links", True),
    ("eos", "write memory", ADVISORY, "! portfast should only be enabled on ports connected to a host", True),
    ("nxos", "show config-replace status", REFUSAL, "CLI execution error", False),
    (
        "nxos",
        "configure replace .* commit-timeout .*",
        REFUSAL,
        "Config lock in use by another session",
        False,
    ),
    ("nxos", "configure replace commit", REFUSAL, "ERROR: Cannot proceed, database is locked", False),
    (
        "nxos",
        "configure replace .*",
        ADVISORY,
        "Warning: License is in honor mode; replace failed links",
        True,
    ),
    ("nxos", "show bgp all summary vrf all", REFUSAL, "% Permission denied for the role", False),
    ("junos", "get-commit-information", REFUSAL, "permission denied", False),
    ("junos", "commit-configuration .*confirmed.*", REFUSAL, "configuration check-out failed", False),
    # Then a commit confirms, and the mark on the newest commit decides.
    ("junos", "commit-configuration check", REFUSAL, "remote commit-configuration failed on re1", True),
    ("junos", "commit-configuration(?: check| log)?", REFUSAL, "commit failed: daemon unresponsive", False),
    ("junos", "get-bgp-summary-information.*", REFUSAL, "permission denied", False),
    ("junos", "get-.*", ADVISORY, "License key missing; requires 'bgp' license; error", True),
    ("junos", "commit-configuration .*", ADVISORY, "uncommitted changes will be discarded on exit", True),
    ("sonic", r"(?s).*sonic_agent\.py apply .*", REFUSAL, "Error: Failed to acquire lock", False),
    (
        "sonic",
        "(?s).*",
        ADVISORY,
        "Warning: the configuration failed to load libyang; error is invalid",
        True,
    ),
    ("sonic", "(?s).*show running-config.*", OTHER, "% Unknown command: show running-config", False),
    ("sonic", "(?s).*sonic-cfggen -d --print-data.*", OTHER, "{}", False),
    ("sonic", "(?s).*config save -y.*", LOST, "", True),
    (
        "cumulus",
        "(?s).*nv config show -r applied.*",
        OTHER,
        "Error: The requested item does not exist.",
        False,
    ),
    ("cumulus", "(?s).*nv config history.*", OTHER, "[]", False),
    ("cumulus", "(?s).*nv config save.*", LOST, "", True),
    ("nxos", "show running-config", LOST, "", True),
    ("nxos", "show config-replace log exec", LOST, "", True),
    ("nxos", "copy running-config startup-config", OTHER, "Configuration update aborted: locked", False),
    ("cumulus", "(?s).*nv config apply -y --confirm.*", REFUSAL, "Error: 500 Internal Server Error", False),
    ("cumulus", "(?s).*nv config revision.*", REFUSAL, "nvued is not running", False),
    ("cumulus", "(?s).*", ADVISORY, "Warning: hostname `a` will be replaced; failed links are invalid", True),
]


class Injection(NamedTuple):
    """Which answers are replaced, and by what."""

    step: re.Pattern[str]
    kind: str
    words: str

    def install(self, monkeypatch: pytest.MonkeyPatch, nos: str) -> None:
        getattr(self, f"_install_{'linux' if nos in ('sonic', 'cumulus') else nos}")(monkeypatch)

    def _install_eos(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = eos.EosSwitch._run

        def answer(switch: eos.EosSwitch, text: str) -> dict[str, Any]:
            if not self.step.fullmatch(text):
                return run(switch, text)
            if self.kind == REFUSAL:
                raise eos.Refused(self.words, 1000)
            return {"output": f"{self.words}\n", **run(switch, text), "messages": [self.words]}

        monkeypatch.setattr(eos.EosSwitch, "_run", answer)

    def _install_nxos(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run, table = nxos.NxosSwitch._run, nxos.NxosSwitch._table

        lost: list[str] = []

        def answer(switch: nxos.NxosSwitch, text: str) -> str | None:
            if not self.step.fullmatch(text) or lost:
                return run(switch, text)
            if self.kind == LOST:
                lost.append(text)
                raise Drop
            return self.words if self.kind != ADVISORY else f"{self.words}\n{run(switch, text) or ''}"

        def rows(switch: nxos.NxosSwitch, text: str) -> dict[str, Any] | None:
            refused = self.kind == REFUSAL and self.step.fullmatch(text)
            return None if refused else table(switch, text)

        monkeypatch.setattr(nxos.NxosSwitch, "_run", answer)
        monkeypatch.setattr(nxos.NxosSwitch, "_table", rows)

    def _install_junos(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reply = junos.JunosSwitch._reply

        def answer(switch: junos.JunosSwitch, me: object, message: bytes) -> str:
            request = etree.fromstring(message.strip())
            name = " ".join(etree.QName(one).localname for one in (request[0], *request[0]))
            if not self.step.fullmatch(name):
                return reply(switch, me, message)
            severity = "error" if self.kind == REFUSAL else "warning"
            error = (
                f"<rpc-error><error-severity>{severity}</error-severity>"
                f"<error-message>{self.words}</error-message></rpc-error>"
            )
            if self.kind == REFUSAL:
                number = request.get("message-id")
                return f'<rpc-reply xmlns="{junos._BASE}" message-id="{number}">{error}</rpc-reply>'
            return re.sub("(<rpc-reply[^>]*>)", rf"\g<1>{error}", reply(switch, me, message), count=1)

        monkeypatch.setattr(junos.JunosSwitch, "_reply", answer)

    def _install_linux(self, monkeypatch: pytest.MonkeyPatch) -> None:
        serve = linux_switch.LinuxSwitch.serve

        lost: list[str] = []

        def other(command: str) -> str | None:
            if not self.step.fullmatch(command):
                return None
            words = shlex.quote(self.words)
            return f"printf %s {words}" if self.kind == OTHER else f"echo {words} >&2; exit 1"

        def answer(switch: linux_switch.LinuxSwitch, channel: Any, command: str) -> None:
            if self.kind == ADVISORY:
                channel.sendall(f"{self.words}\n".encode())
                channel.sendall_stderr(f"{self.words}\n".encode())
            elif self.kind != LOST:
                command = replace_parts(command, other)
            elif not lost and any(map(self.step.fullmatch, list_parts(command))):
                lost.append(command)
                raise Drop
            serve(switch, channel, command)

        monkeypatch.setattr(linux_switch.LinuxSwitch, "serve", answer)


def require_agreement(switch: Bench, status: int, output: str, saved: str) -> None:
    """Check that the exit status and the journal state what the switch runs and has saved."""
    state = switch.state()
    assert "Traceback" not in output, output
    assert "FAB7999" not in output, output
    if status == 0:
        assert state in ("undrained", "confirmed"), output
        assert switch.new
        assert NEW.search(saved)
        assert getattr(switch.server, "waiting", None) is None, "nothing reverts later"
    else:
        assert "FAB" in output
        assert state not in ("undrained", "confirmed", "unchanged"), output
        if state in ("", "rolled-back"):
            assert not switch.new, output
            assert not NEW.search(saved)


def saved_text(switch: Bench, nos: str) -> str:
    server = switch.server
    if nos == "eos":
        return "\n".join(server.startup)
    if nos in ("nxos", "junos"):
        return str(server.startup if nos == "nxos" else server.running)
    if nos == "sonic":
        return "".join(server.text(f"etc/sonic/{name}") for name in ("config_db.json", "frr/frr.conf"))
    return str(server.text("startup"))


@pytest.mark.parametrize(("nos", "step", "kind", "words", "optional"), CASES)
def test_a_push_with_another_answer_ends_as_the_switch_does(
    nos: str,
    step: str,
    kind: str,
    words: str,
    optional: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with make_bench(tmp_path, nos) as switch:
        Injection(re.compile(step), kind, words).install(monkeypatch, nos)
        ran = run_here(switch.words())
        require_agreement(switch, ran.returncode, ran.stdout + ran.stderr, saved_text(switch, nos))
        assert (ran.returncode == 0) == optional, ran.stdout + ran.stderr


PUBLISHED = re.compile(r"(?m)^.*(?:% ?Invalid|not supported|Cannot proceed|Cannot assign|timed out).*$")
STEPS = {"eos": ["show version", "write memory"], "nxos": ["show version", "show ip route"]}


@pytest.mark.skipif(not ANSWERS.is_dir(), reason="the published answers are not here (../shared/answers)")
@pytest.mark.parametrize(("nos", "step"), [(nos, step) for nos, steps in STEPS.items() for step in steps])
def test_published_refusals_are_never_a_success_that_the_switch_does_not_show(
    nos: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [path for path in sorted((ANSWERS / nos).rglob("*")) if path.suffix in (".raw", ".txt", ".text")]
    words = {one.strip() for path in files for one in PUBLISHED.findall(path.read_text(errors="replace"))}
    for number, one in enumerate(sorted(words)[:: max(1, len(words) // 3)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with make_bench(folder, nos) as switch, monkeypatch.context() as patched:
            Injection(re.compile(step), REFUSAL, one).install(patched, nos)
            ran = run_here(switch.words())
            require_agreement(switch, ran.returncode, ran.stdout + ran.stderr, saved_text(switch, nos))
