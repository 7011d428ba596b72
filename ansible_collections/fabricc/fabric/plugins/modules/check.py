#!/usr/bin/python
"""Prove a built tree."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check
short_description: Prove a built tree against its spec
version_added: "0.1.0"
description:
  - Reads every file of a tree that fabricc built and compares its bytes with the manifest, its meaning with a fresh
    plan of the spec, and both ends of every link; then proves the invariants of a lossless fabric.
  - Changes nothing; the task fails where something is wrong.
author:
  - The authors of fabricc (@fabricc)
requirements:
  - fabricc (Python package)
options:
  tree:
    description: The tree, V(build/CLUSTER).
    type: path
    required: true
  spec:
    description: Its spec, if it is not found by itself.
    type: path
  jobs:
    description: Worker processes; by default one for each CPU.
    type: int
attributes:
  check_mode:
    description: Changes nothing in any mode. Checks the tree that M(fabricc.fabric.build) returned in check mode.
    support: full
  diff_mode:
    description: There is nothing to show.
    support: none
"""

EXAMPLES = r"""
- name: Prove what is committed
  fabricc.fabric.check:
    tree: build/zone-a
    spec: zone-a/cluster.yaml
"""

RETURN = r"""
files:
  description: Number of files of the tree.
  returned: success
  type: int
links:
  description: Number of links whose two ends were compared.
  returned: success
  type: int
counts:
  description: Devices, GPUs and cables by kind.
  returned: success
  type: dict
findings:
  description: Everything that was found, with code, severity, message, help, file and line.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fabricc.fabric.plugins.module_utils.interface import (
    explain_check_mode,
    plain,
    preview_of,
    require_package,
    wrong,
)


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "tree": {"type": "path", "required": True},
            "spec": {"type": "path"},
            "jobs": {"type": "int"},
        },
        supports_check_mode=True,
    )
    fabricc, tree, spec = require_package(module), module.params["tree"], module.params["spec"]
    built = preview_of(module, tree)
    result = fabricc.check(
        tree, spec or built.get("spec"), lock=built.get("lock"), jobs=module.params["jobs"]
    )
    findings = plain(result.diagnostics)
    if result.exit_status:
        module.fail_json(msg=explain_check_mode(module, tree, wrong(findings)), findings=findings)
    module.exit_json(
        changed=False, files=result.files, links=result.links, counts=dict(result.counts), findings=findings
    )


if __name__ == "__main__":
    main()
