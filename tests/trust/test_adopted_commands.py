"""Commands in a foreign switch's files are in no overlay that `adopt` writes, and are reported."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from fabricc import build
from fabricc.audit.adopt.run import adopt
from fabricc.back import nos as back_ends
from fabricc.back.nos.exec_commands import command_lines
from tests.back.nos.feature_table import FEATURES, MODELS, fabric_of
from tests.operate.lab import specs

if TYPE_CHECKING:
    from pathlib import Path

PLANTED = {
    "daemons": 'touch /var/cache/mark\nospfd_options="$(touch mark)"\n',
    "interfaces": "auto swp1\niface swp1\n    post-up touch mark\n    up touch mark\nsource /tmp/mark\n",
    "nftables.conf": 'include "/tmp/mark"\n',
    "sysctl.conf": "kernel.core_pattern = |/tmp/mark\n",
    "rsyslog.conf": "*.* ^/tmp/mark\n",
}


def test_commands_of_frr_are_not_adopted(tmp_path: Path) -> None:
    spec = specs.two_tiers(tmp_path / "spec")
    assert build(spec, tmp_path / "build", jobs=1).exit_status == 0
    found = tmp_path / "in"
    shutil.copytree(tmp_path / "build/small/switches", found)
    for folder in found.iterdir():
        for name, text in PLANTED.items():
            with (folder / name).open("a") as file:
                file.write(text)
    adoption = adopt(found, "lab")
    assert "mark" not in str(adoption.files)
    reported = [each for each in adoption.findings if each.code == "FAB6055"]
    assert len(reported) == len(list(found.iterdir()))
    assert "8 lines" in reported[0].message


@pytest.mark.parametrize(("nos", "file", "text", "lines"), [
    ("eos", "running-config.cfg", "event-handler X\n   action bash touch mark\n!\nhostname a\n", {1, 2}),
    ("eos", "running-config.cfg", "daemon X\n   exec /tmp/mark\n!\nalias wr bash touch mark\n", {1, 2, 4}),
    ("eos", "running-config.cfg", "schedule X interval 1 timeout 1 max-log-files 1 command bash x\n", {1}),
    ("nxos", "running-config.cfg", "event manager applet X\n  action 1 cli python x\nhostname a\n", {1, 2}),
    ("nxos", "running-config.cfg", "cli alias name wr run bash x\nscheduler job name X\n  run bash x\n", {1, 2, 3}),
    ("junos", "junos.conf", "event-options {\n    policy X {\n        then x;\n    }\n}\nsystem {\n    scripts {\n"
     "        op {\n            file x;\n        }\n    }\n    host-name a;\n}\n", {1, 2, 3, 7, 8, 9}),
    ("junos", "junos.conf", "set event-options policy X then x\nset system scripts op file x\n", {1, 2}),
    ("cumulus", "startup.yaml", "- set:\n    system:\n      snippet:\n        a:\n          file: x\n", {3, 4, 5}),
    ("sonic", "config_db.json", '{\n    "A": {\n        "a": "x; touch mark",\n        "b": "$(x)",\n'
     '        "c": "x"\n'
     '    },\n    "ZTP": {}\n}\n', {3, 4, 7}),
    ("frr", "frr.conf", "log file /tmp/mark\nlog syslog informational\n", {1}),
])  # fmt: skip
def test_commands_are_known(nos: str, file: str, text: str, lines: set[int]) -> None:
    assert command_lines(back_ends.load(nos), {file: text}) == {(file, line) for line in lines}


@pytest.mark.parametrize("nos", ["eos", "nxos", "junos", "sonic", "cumulus", "frr"])
def test_adopted_exec_lines_never_run_unknown_commands(nos: str) -> None:
    model = next(model for name, model in MODELS if name == nos)
    fabric = fabric_of(nos, model, FEATURES["ECN marking"])
    switch = fabric.switch(next(iter(fabric.switch_ids())))
    back_end = back_ends.load(nos)
    assert command_lines(back_end, back_end.render(switch)) == frozenset()
