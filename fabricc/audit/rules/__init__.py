"""Rules for foreign fabrics: they use facts only, without a plan, a spec or unstated assumptions."""

from fabricc.audit.rules.all_rules import RuleResults, examine_fabric, find_all, invariant_progress
from fabricc.audit.rules.invariant_rules import RuleProgress

__all__ = ["RuleProgress", "RuleResults", "examine_fabric", "find_all", "invariant_progress"]
