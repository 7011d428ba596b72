"""Caches of a process are bounded for user input, since a process may read many fabrics."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_UNBOUNDED = re.compile(r"@cache\n *def (\w+)\(\s*[^)\s]")
BY_OUR_OWN_WORDS = frozenset({
    "audit/adopt/models.py panel_names", "audit/adopt/models.py _of_system", "audit/links.py _evidence_kinds",
    "back/hosts/qos.py _planned_procedure", "back/hosts/words.py read_template",
    "back/jobs/roster.py read_scripts", "back/nos/__init__.py load", "back/nos/__init__.py load_vocabulary",
    "back/nos/cumulus/__init__.py reader", "back/nos/cumulus/__init__.py _known_keys",
    "back/nos/unread_lines.py _read_words", "back/nos/unread_lines.py _shortened_words",
    "back/nos/unread_lines.py _words_of", "back/nos/unread_lines.py _row_readers",
    "back/nos/eos/foreign/peering.py process_rows",
    "back/nos/frr/__init__.py _router_reader",
    "operate/drivers/frr.py _package_text",
    "back/nos/ports.py load_spelling", "back/nos/ports.py cached_parser", "back/nos/overlay_text.py _template_patterns",
    "back/nos/templating.py _make_environment", "catalog/library.py list_built_in",
    "base/documents/schema.py compile_pattern",
    "base/installation.py load_package_yaml",
    "base/documents/schema.py load_schema", "base/documents/schema.py schema_validator",
    "base/values.py _compile_constructor",
    "fabric/infiniband_wiring.py speed_word",
    "front/spec/pools.py _parse_networks", "review/diff/fact_impact.py vocabulary_of",
    "review/report/page.py _read_template",
})  # fmt: skip
"""Caches keyed by systems, drivers, releases, files and constants of fabricc's own, a bounded number."""
OF_ONE_CALL = frozenset({
    "front/planning/quality.py policy_of", "operate/verify/run.py names",
    "proof/invariants/transit.py permits", "proof/invariants/transit.py permits_an_aggregate",
    "rules/next_hops.py is_at_host",
})  # fmt: skip
"""Made anew for each plan, verification, policy or switch."""


def test_caches_of_user_input_are_bounded() -> None:
    found = {
        f"{path.relative_to(ROOT / 'fabricc').as_posix()} {name}"
        for path in (ROOT / "fabricc").rglob("*.py")
        for name in _UNBOUNDED.findall(path.read_text("utf-8"))
    }
    assert found == BY_OUR_OWN_WORDS | OF_ONE_CALL
