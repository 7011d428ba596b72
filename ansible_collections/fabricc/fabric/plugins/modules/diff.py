#!/usr/bin/python
"""Review the change of a fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
module: diff
short_description: Review a change of a fabric
version_added: "0.1.0"
description:
  - Says what changes between two specs or built trees, or between a Git revision of a spec and the files as they are.
  - The risk, the impact on traffic, the GPUs behind it, and how many addresses, AS numbers and ports change.
  - Changes nothing. The task fails where the change breaks the review policy of the spec or its folder.
author:
  - The authors of fabricc (@fabricc)
requirements:
  - fabricc (Python package)
options:
  before:
    description: The older spec or tree; without O(after) the spec that is compared with Git.
    type: path
    required: true
  after:
    description: The newer spec or tree.
    type: path
  base:
    description: Git revision to compare with, where this branch left it; V(HEAD) where none is named.
    type: str
  head:
    description: Git revision in place of the files as they are.
    type: str
  policy:
    description: The policy to hold the change to; by default the spec's own, and V(fabricc-policy.yaml) beside it.
    type: path
  labels:
    description: Labels that the change has, for policies that ask for one.
    type: list
    elements: str
    default: []
  jobs:
    description: Worker processes; by default one for each CPU.
    type: int
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: There is nothing to show, as the task changes nothing; RV(groups) has the diffs.
    support: none
"""

EXAMPLES = r"""
- name: Review what is not committed
  fabricc.fabric.diff:
    before: cluster.yaml
    base: origin/main
  register: review

- name: Stop where links would go down
  ansible.builtin.assert:
    that: review.risk in ("none", "low")
"""

RETURN = r"""
differs:
  description: Whether any device changes.
  returned: success
  type: bool
risk:
  description: V(none), V(low), V(medium) or V(high).
  returned: success
  type: str
impact:
  description: The gravest impact on traffic, V(none), V(hitless), V(session-reset), V(traffic-loss) or V(reload).
  returned: success
  type: str
devices_changed:
  description: Number of devices that change, come or go.
  returned: success
  type: int
gpus_affected:
  description: Number of GPUs behind rails that lose service while the change is applied.
  returned: success
  type: int
renumbered:
  description: How many numbers change of things that stay.
  returned: success
  type: dict
  sample: {"addresses": 0, "asns": 0, "ports": 0}
groups:
  description: Devices that change alike, each group with its impact, the keys of the spec that cause it, and
    the diffs of the first device.
  returned: success
  type: list
  elements: dict
findings:
  description: Findings that the change brings, and violations of the policy.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fabricc.fabric.plugins.module_utils.interface import plain, require_package, wrong


def main():
    """Run the module."""
    names = ("after", "base", "head", "policy", "labels", "jobs")
    module = AnsibleModule(
        argument_spec={
            "before": {"type": "path", "required": True},
            "after": {"type": "path"},
            "base": {"type": "str"},
            "head": {"type": "str"},
            "policy": {"type": "path"},
            "labels": {"type": "list", "elements": "str", "default": []},
            "jobs": {"type": "int"},
        },
        mutually_exclusive=[("after", "base"), ("after", "head")],
        supports_check_mode=True,
    )
    fabricc = require_package(module)
    try:
        review = fabricc.diff(module.params["before"], **{name: module.params[name] for name in names})
    except fabricc.FindingsError as error:
        findings = plain(error.diagnostics)
        module.fail_json(msg=wrong(findings), findings=findings)
    findings = plain((*review.findings, *review.violations))
    if review.violations:
        module.fail_json(msg=wrong(plain(review.violations)), findings=findings)
    module.exit_json(
        changed=False,
        differs=review.differs,
        risk=review.risk,
        impact=review.impact.label,
        devices_changed=review.changed,
        gpus_affected=review.gpus_affected,
        renumbered={
            "addresses": review.renumbering.addresses,
            "asns": review.renumbering.asns,
            "ports": review.renumbering.ports,
        },
        groups=[
            {
                "kind": group.kind,
                "devices": list(group.devices),
                "impact": group.impact.label,
                "causes": list(group.causes),
                "files": [{"path": each.path, "diff": each.text} for each in group.files],
            }
            for group in review.groups
        ],
        findings=findings,
    )


if __name__ == "__main__":
    main()
