"""Translation validation: compare the meaning of the emitted files with the plan and with each other."""

from fabricc.proof.compare import Finding, Mismatch, compare, findings

__all__ = ["Finding", "Mismatch", "compare", "findings"]
