"""Rules for foreign fabrics: they use facts only, without a plan, a spec or unstated assumptions."""

from fabricc.audit.rules.proved import Asked
from fabricc.audit.rules.whole import Examined, examine_fabric, find_all, invariant_progress

__all__ = ["Asked", "Examined", "examine_fabric", "find_all", "invariant_progress"]
