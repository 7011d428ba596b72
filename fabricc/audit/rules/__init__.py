"""Rules for foreign fabrics: they use facts only, without a plan, a spec or unstated assumptions."""

from fabricc.audit.rules.all_rules import Examined, examine_fabric, find_all, invariant_progress
from fabricc.audit.rules.invariant_rules import Asked

__all__ = ["Asked", "Examined", "examine_fabric", "find_all", "invariant_progress"]
