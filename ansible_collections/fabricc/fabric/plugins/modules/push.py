#!/usr/bin/python
"""Bring a built tree to the switches."""

from __future__ import annotations

DOCUMENTATION = r"""
module: push
short_description: Bring a built tree to the switches, in waves that keep the fabric up
version_added: "0.1.0"
description:
  - Brings every switch to its configuration in a tree that fabricc built, over NAPALM.
  - What is sent is what a fresh rendering of spec and lock gives; canaries go first, gates watch sessions, errors and
    pauses, disruptive changes are drained, and a switch whose change is not confirmed goes back by itself.
  - Runs once for a whole fabric, on the machine that has the tree.
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
  access:
    description: The access file, which says how to log in; by default V(fabricc-access.yaml) beside the spec,
      which must be trusted (C(fabricc trust FILE))
    type: path
  network:
    description: Which network, where the cluster has several.
    type: str
  only:
    description: The switches to push to; all by default.
    type: list
    elements: str
    default: []
  adopt:
    description: Take what the switches run now as known; for the first push, or after drift.
    type: bool
    default: false
  tree_digest:
    description: SHA-256 of the tree that was reviewed; any other is refused.
    type: str
  require_signature:
    description: File of the keys of those who have to have signed the tree; any other tree is refused.
    type: path
  signature:
    description: The signature, where it is not beside the tree.
    type: path
  journal:
    description: The journal of pushes, if not the usual one.
    type: path
  keep:
    description: Share of its paths that every rail, plane and switch keeps at each step, such as V(75%).
    type: str
  wave_size:
    description: Switches in one wave at most.
    type: int
  parallel:
    description: Connections at once.
    type: int
  settle:
    description: Seconds that a switch may take to come good after its change.
    type: float
  drain_wait:
    description: Seconds that traffic has to leave a drained switch.
    type: float
  confirm_within:
    description: Seconds after which a switch goes back by itself unless its change is confirmed.
    type: int
  max_failures:
    description: Switches that may fail, and be brought back, before the push stops.
    type: int
attributes:
  check_mode:
    description:
      - Asks every switch for its own diff and changes nothing.
      - Accepts the tree that M(fabricc.fabric.build) returned in check mode.
    support: full
  diff_mode:
    description: Shows the switches' own diffs, secrets masked.
    support: full
"""

EXAMPLES = r"""
- name: See what would change on the switches
  fabricc.fabric.push:
    tree: build/zone-a
  check_mode: true
  diff: true

- name: Push to one unit
  fabricc.fabric.push:
    tree: build/zone-a
    only: [su001-tor1a, su001-tor2a]
    keep: 80%
"""

RETURN = r"""
tree_sha256:
  description: Digest of the tree.
  returned: success
  type: str
states:
  description: How many switches ended in each state.
  returned: when not in check mode
  type: dict
  sample: {"confirmed": 18, "unchanged": 2}
run:
  description: Number of the run in the journal.
  returned: when not in check mode
  type: int
switches:
  description: Switch that changes, its impact on traffic and why.
  returned: check mode or diff mode
  type: dict
waves:
  description: Names of the switches of each wave.
  returned: check mode or diff mode
  type: list
  elements: list
findings:
  description: What went wrong or is worth knowing, with code, severity, message, help, file and line.
  returned: always
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.fabricc.fabric.plugins.module_utils.interface import preview_of, run_verb, wrong

OPTIONS = {
    "spec": "path",
    "access": "path",
    "network": "str",
    "tree_digest": "str",
    "require_signature": "path",
    "signature": "path",
    "journal": "path",
    "keep": "str",
    "wave_size": "int",
    "parallel": "int",
    "settle": "float",
    "drain_wait": "float",
    "confirm_within": "int",
    "max_failures": "int",
}
"""Options of the module that are those of the command, their words with a dash."""


def words(wanted):
    """The verb and its options."""
    stated = [f"--{name.replace('_', '-')}={wanted[name]}" for name in OPTIONS if wanted[name] is not None]
    only = [f"--only={name}" for name in wanted["only"]]
    return ["push", *stated, *only, *(["--adopt"] if wanted["adopt"] else [])]


def main():
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "tree": {"type": "path", "required": True},
            "only": {"type": "list", "elements": "str", "default": []},
            "adopt": {"type": "bool", "default": False},
            **{name: {"type": kind} for name, kind in OPTIONS.items()},
        },
        supports_check_mode=True,
    )
    command, tree = words(module.params), module.params["tree"]
    shown = {}
    if module.check_mode or module._diff:
        built = preview_of(module, tree)
        stated = [f"--{name}={value}" for name, value in built.items() if not module.params.get(name)]
        found = run_verb(module, [*command, *stated, "--dry-run"], tree)[1]
        diffs = {name: one.pop("diff") or "" for name, one in found["switches"].items()}
        shown = {"switches": found["switches"], "waves": found["waves"]}
        if module._diff:
            shown["diff"] = [{"prepared": f"--- {name}\n{text}\n"} for name, text in diffs.items()]
    if module.check_mode:
        module.exit_json(
            changed=bool(found["switches"]),
            tree_sha256=found["tree_sha256"],
            findings=found["findings"],
            **shown,
        )
    status, ended = run_verb(module, command, tree)
    ended |= shown
    ended["changed"] = any(count for state, count in ended["states"].items() if state != "unchanged")
    if status:
        module.fail_json(msg=wrong(ended["findings"]) or f"the push ended with status {status}", **ended)
    module.exit_json(**ended)


if __name__ == "__main__":
    main()
