"""The scripts of two specs of one host, run one after the other on a private copy of a host."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.back.hosts.test_apply import WORLD, needs_networkd
from tests.back.hosts.test_peers import can_isolate
from tests.compiler.test_network_apart import IB_STORAGE, RAILS, STORAGE, build

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not can_isolate(), reason="no root, or namespaces are not allowed here")

OTHERS = {"store": STORAGE, "parallel": IB_STORAGE}
RULES = {"store": "70-fabricc-roce-storage.rules", "parallel": "70-fabricc-ib-parallel.rules"}
BOTH = (
    WORLD
    + """
first=$folder/rails/build/rails/hosts/su001-host01
second=$(echo "$folder"/other/build/*/hosts/su001-host01)
absent_below() {
    (cd "$1" && find etc usr -type f) | while read -r file; do [ -e "/$file" ] || echo "$file"; done
}
stage apply sh "$first/apply"
stage second sh "$second/apply"
stage again sh "$first/apply"
for tree in "$first" "$second"; do
    stage check sh "$tree/apply" --check
    stage missing absent_below "$tree"
done
rule=$(basename "$second"/etc/udev/rules.d/70-*)
mv "$second/etc/udev/rules.d/$rule" "$second/etc/udev/rules.d/70-fabricc-renamed.rules"
stage changed sh "$second/apply"
"""
)


@needs_networkd
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.slow
def test_the_script_of_one_spec_leaves_the_files_of_the_other_alone(other: str, tmp_path: Path) -> None:
    for folder, spec in (("rails", RAILS), ("other", OTHERS[other])):
        build(with_ubuntu(spec), tmp_path / folder)
    done = subprocess.run(
        ["unshare", "-n", "-m", "-u", "sh", "-c", BOTH, "sh", str(tmp_path), 'ID=ubuntu\nVERSION_ID="24.04"'],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    first, _, changed = done.stdout.partition("=== changed\n")
    assert "=== check\n" in first, done.stderr
    assert "not planned" not in first
    assert "removed: " not in first
    assert "No such file" not in done.stdout + done.stderr
    for part in first.split("=== missing\n")[1:]:
        assert part.partition("===")[0] == ""
    assert re.findall(r"removed: (.*)\n", changed) == [f"/etc/udev/rules.d/{RULES[other]}"]


def with_ubuntu(spec: dict[str, Any]) -> dict[str, Any]:
    groups = [{**group, "os": "ubuntu-24.04"} for group in spec["gpus"].get("groups", ())]
    return {**spec, "gpus": {"groups": groups} if groups else {**spec["gpus"], "os": "ubuntu-24.04"}}
