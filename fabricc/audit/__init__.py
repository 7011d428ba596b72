"""What a running fabric is, from its devices' own configurations: nothing of it needs a spec.

`from fabricc.audit import audit` is the entry for Python.
"""

from fabricc.audit.run import Audit, audit_fabric

__all__ = ["Audit", "audit_fabric"]
