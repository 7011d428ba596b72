"""Other values in the text of a spec: what is written is read, and comments stay with what stays."""

from __future__ import annotations

from fabricc.base.documents.reader import parse_yaml
from fabricc.front.spec.canonical import edit_text, format_spec

SPEC = """\
# The cluster.
cluster: zone-a   # its name
gpus:
  # Two racks.
  hosts: 16
  hosts_per_unit: 8   # a rack

# Above.
cores: {model: a, nos: b}   # soon

# Below.
tors:
  model: 'a'
  nos: sonic-202505
  uplinks: 4   # spare
"""


def test_values_change_and_comments_stay() -> None:
    text = edit_text(
        SPEC, "spec.yaml",
        {("gpus", "hosts_per_unit"): 4, ("planes",): 2, ("tors", "oversubscription"): 2.0,
         ("spines",): {"model": "c", "nos": "d"}},
    )  # fmt: skip
    assert parse_yaml(text, "spec.yaml").value == parse_yaml(SPEC, "spec.yaml").value | {
        "gpus": {"hosts": 16, "hosts_per_unit": 4},
        "planes": 2,
        "spines": {"model": "c", "nos": "d"},
        "tors": {"model": "a", "nos": "sonic-202505", "uplinks": 4, "oversubscription": 2.0},
    }
    for comment in (
        "# The cluster.",
        "# its name",
        "# Two racks.",
        "# a rack",
        "# Above.",
        "# Below.",
        "# spare",
    ):
        assert comment in text
    assert "  # Two racks.\n  hosts: 16\n" in text
    assert format_spec(text, "spec.yaml") == (text, ())


def test_removed_keys_take_only_their_own_comments() -> None:
    text = edit_text(
        SPEC, "spec.yaml", {("cores",): None, ("tors", "uplinks"): None, ("gpus", "nothing"): None}
    )
    assert parse_yaml(text, "spec.yaml").value == {
        "cluster": "zone-a",
        "gpus": {"hosts": 16, "hosts_per_unit": 8},
        "tors": {"model": "a", "nos": "sonic-202505"},
    }
    assert "# Above." not in text
    assert "# soon" not in text
    assert "# spare" not in text
    assert "# a rack\n\n# Below.\ntors:" in text
    assert format_spec(text, "spec.yaml") == (text, ())


def test_without_changes_it_is_laid_out() -> None:
    assert edit_text(SPEC, "spec.yaml", {}) == format_spec(SPEC, "spec.yaml")[0]
