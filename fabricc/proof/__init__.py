"""Translation validation: what the emitted files say, against what was planned and against each other."""

from fabricc.proof.compare import Finding, Mismatch, compare, findings

__all__ = ["Finding", "Mismatch", "compare", "findings"]
