"""Plan a fabric from a spec, the catalog and the lock."""

from fabricc.front.planning.models import Naming
from fabricc.front.planning.plan import Plan, plan_fabric

__all__ = ["Naming", "Plan", "plan_fabric"]
