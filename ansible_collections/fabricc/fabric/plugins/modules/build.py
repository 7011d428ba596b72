#!/usr/bin/python
"""Build the tree of a fabric from its spec."""

from __future__ import annotations

DOCUMENTATION = r"""
module: build
short_description: Build the configuration of every switch and host from a spec
version_added: "0.1.0"
description:
  - Writes the tree of a fabricc spec (every configuration, the plan and the job files) and the lock beside the spec.
  - The tree appears in one step, and only when every file was read back and found to say what was planned.
  - Files that do not change are not touched.
author:
  - The authors of fabricc (@fabricc)
requirements:
  - fabricc (Python package)
options:
  spec:
    description: Path of the spec, such as V(cluster.yaml).
    type: path
    required: true
  dest:
    description: Folder of trees; the tree in it is named after the cluster.
    type: path
    default: build
  frozen:
    description: Fail rather than change the lock.
    type: bool
    default: false
  repin:
    description:
      - Pins of the lock that may change, so that addresses and ports may.
      - An empty list is the least that suffices; leave it out to keep all.
    type: list
    elements: str
  prove:
    description: Read every file back and prove it; without, the tree is written unproved.
    type: bool
    default: true
  jobs:
    description: Worker processes; by default one for each CPU.
    type: int
attributes:
  check_mode:
    description:
      - Builds in a folder below C(~/.cache/fabricc) and reports what would change.
      - RV(tree) is the tree in that folder, so that the tasks after this one work on it. Check mode of this module
        removes such folders after a day.
    support: full
  diff_mode:
    description: Shows each file of the tree that changes, 200 at most.
    support: full
"""

EXAMPLES = r"""
- name: Build a fabric
  fabricc.fabric.build:
    spec: zone-a/cluster.yaml
    dest: build
    frozen: true
  register: built

- name: Say where it is
  ansible.builtin.debug:
    msg: "{{ built.tree }}: {{ built.counts.gpus }} GPUs"
"""

RETURN = r"""
tree:
  description: Path of the tree; in check mode of the tree that was built aside.
  returned: success
  type: str
  sample: build/zone-a
cluster:
  description: Name of the cluster.
  returned: success
  type: str
counts:
  description: Devices, GPUs and cables by kind.
  returned: success
  type: dict
  sample: {"gpus": 64, "hosts": 8, "spines": 2, "tors": 16}
files:
  description: Number of files in the tree.
  returned: success
  type: int
changed_files:
  description: Files below the tree that differ, 200 at most; known in check mode or diff mode.
  returned: check mode or diff mode
  type: list
  elements: str
lock_changed:
  description: Whether the lock beside the spec changes.
  returned: success
  type: bool
findings:
  description: Everything that was found, with code, severity, message, help, file and line.
  returned: always
  type: list
  elements: dict
"""

import dataclasses
import os
import shutil
import stat
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fabricc.fabric.plugins.module_utils.interface import (
    make_preview_folder,
    note_preview,
    plain,
    require_package,
    wrong,
)

MOST = 200
"""Changed files that are returned."""
SHOWN = 1 << 20
"""Bytes of a file that diff mode shows."""
CHUNK = 1 << 18


def entries_below(top):
    """Yield path and entry of everything below a folder, a folder before its content; an unreadable one is empty."""
    waiting = [Path()]
    while waiting:
        above = waiting.pop()
        try:
            entries = list(os.scandir(top / above))
        except OSError:
            continue
        for entry in entries:
            yield above / entry.name, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(above / entry.name)


def link_file(source, target):
    """Give a file of a tree a second name; a build replaces files and never writes into one that exists."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        size = os.lstat(source)
        if (
            size.st_blocks * 512 < size.st_size
        ):  # no build writes a sparse file: another one of this size will do
            target.touch()
            os.truncate(target, size.st_size)
        else:
            shutil.copy2(source, target, follow_symlinks=False)


def copy_tree(source, target):
    """Copy the files, links and folders of a tree; no build writes FIFOs, sockets and devices."""
    target.mkdir()
    for path, entry in entries_below(source):
        if entry.is_dir(follow_symlinks=False):
            (target / path).mkdir()
        elif entry.is_symlink():
            (target / path).symlink_to((source / path).readlink())
        elif entry.is_file(follow_symlinks=False):
            link_file(entry.path, target / path)


def files(tree):
    """Return the regular files of a tree except its manifest, by their paths below it; no link is followed."""
    return {
        path: tree / path
        for path, entry in entries_below(tree)
        if entry.is_file(follow_symlinks=False) and path != Path("manifest.json")
    }


def is_same(one, other):
    """Return whether two files have the same content."""
    if one.samefile(other):
        return True
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        while chunk := first.read(CHUNK):
            if chunk != second.read(CHUNK):
                return False
    return True


def shown_text(file):
    """Return the beginning of a file as text, "" where there is no file."""
    if file is None:
        return ""
    with file.open("rb") as opened:
        return opened.read(SHOWN).decode("utf-8", "replace")


def compare_trees(new, old):
    """Return the files that differ between two trees, and their texts for diff mode."""
    after, before = files(new), files(old)
    paths = sorted(
        path
        for path in {*after, *before}
        if path not in after or path not in before or not is_same(after[path], before[path])
    )
    shown = [
        {
            "before_header": str(old / path),
            "after_header": str(old / path),
            "before": shown_text(before.get(path)),
            "after": shown_text(after.get(path)),
        }
        for path in paths[:MOST]
    ]
    return [str(path) for path in paths], shown


def build_aside(fabricc, spec, dest, folder, repin, options):
    """Build a copy of a tree in a folder; return the result, the folder of trees there and the lock."""
    compiled = fabricc.compile_spec(spec, repin=repin)
    trees = Path(folder, "trees")
    trees.mkdir()
    if compiled.sound:
        old, copy = dest / compiled.spec.cluster, trees / compiled.spec.cluster
        if old.is_symlink() or old.is_file():
            link_file(old, copy)
        elif old.is_dir():
            copy_tree(old, copy)
    lock = Path(folder, compiled.lock_path.name)
    if compiled.lock_path.is_file():
        shutil.copy2(compiled.lock_path, lock)
    return dataclasses.replace(compiled, lock_path=lock).write(trees, **options), trees, lock


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "spec": {"type": "path", "required": True},
            "dest": {"type": "path", "default": "build"},
            "frozen": {"type": "bool", "default": False},
            "repin": {"type": "list", "elements": "str"},
            "prove": {"type": "bool", "default": True},
            "jobs": {"type": "int"},
        },
        supports_check_mode=True,
    )
    fabricc, wanted = require_package(module), module.params
    spec, dest = Path(wanted["spec"]), Path(wanted["dest"])
    options = {"jobs": wanted["jobs"], "frozen": wanted["frozen"], "check": wanted["prove"]}
    told = {}
    if module.check_mode or module._diff:
        try:
            usable = stat.S_ISDIR(dest.stat().st_mode)
        except FileNotFoundError:
            usable = True  # a build makes it
        except OSError:
            usable = False
        if not usable:
            module.fail_json(msg=f"dest: {wanted['dest']!a} is no folder", findings=[])
        folder = make_preview_folder() if module.check_mode else Path(tempfile.mkdtemp(dir=module.tmpdir))
        result, trees, lock = build_aside(fabricc, spec, dest, folder, wanted["repin"], options)
        if result.tree is not None:
            paths, shown = compare_trees(result.tree, dest / result.cluster)
            told = {"changed_files": paths[:MOST]} | ({"diff": shown} if module._diff else {})
        findings = plain(result.diagnostics, {str(trees): str(dest), str(lock): str(spec.parent / lock.name)})
        if module.check_mode and result.tree is not None and not result.exit_status:
            note_preview(folder, spec, lock)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if not module.check_mode:
        result = fabricc.build(spec, dest, repin=wanted["repin"], **options)
        findings = plain(result.diagnostics)
    if result.tree is None or result.exit_status:
        module.fail_json(msg=wrong(findings), findings=findings, **told)
    module.exit_json(
        changed=bool(result.written or result.removed or result.lock_changed),
        tree=str(result.tree),
        cluster=result.cluster,
        counts=dict(result.counts),
        files=result.files,
        lock_changed=result.lock_changed,
        findings=findings,
        **told,
    )


if __name__ == "__main__":
    main()
