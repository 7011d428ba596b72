"""Read a running fabric from the configurations of its devices; no spec is needed.

`from fabricc.audit import audit` is the entry for Python.
"""

from fabricc.audit.run import Audit, audit_fabric

__all__ = ["Audit", "audit_fabric"]
