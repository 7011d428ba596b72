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


def link_files(source, target):
    """A file of a tree under another name; no build writes into a file that stands."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def files(tree):
    """The regular files of a tree but its manifest, by their paths below it; no link is followed."""
    found = (Path(top, name) for top, _, names in os.walk(tree) for name in names)
    paths = {path.relative_to(tree): path for path in found if path.is_file() and not path.is_symlink()}
    return {path: file for path, file in paths.items() if path != Path("manifest.json")}


def content(file):
    """The bytes of a file, none where there is none."""
    return file.read_bytes() if file else b""


def compare_trees(new, old):
    """The files that differ between two trees, and their texts for diff mode."""
    after, before = files(new), files(old)
    paths = sorted(
        path
        for path in {*after, *before}
        if path not in after or path not in before or content(after[path]) != content(before[path])
    )
    shown = [
        {
            "before_header": str(old / path),
            "after_header": str(old / path),
            "before": content(before.get(path)).decode("utf-8", "replace"),
            "after": content(after.get(path)).decode("utf-8", "replace"),
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
            shutil.copy2(old, copy, follow_symlinks=False)
        elif old.is_dir():
            shutil.copytree(old, copy, symlinks=True, copy_function=link_files)
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
