"""Plan a fabric from a spec, the catalog and the lock."""

from fabricc.front.planning.plan import Plan, plan_fabric
from fabricc.front.planning.topology.models import Naming

__all__ = ["Naming", "Plan", "plan_fabric"]
