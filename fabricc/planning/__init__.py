"""Planning: from a spec, the catalog and the lock to the Fabric."""

from fabricc.planning.models import Naming
from fabricc.planning.plan import Plan, plan

__all__ = ["Naming", "Plan", "plan"]
