"""Planning: from a spec, the catalog and the lock to the Fabric."""

from fabricc.front.planning.models import Naming
from fabricc.front.planning.plan import Plan, plan

__all__ = ["Naming", "Plan", "plan"]
