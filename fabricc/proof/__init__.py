"""Translation validation: compare the meaning of the emitted files with the plan and with each other."""

from fabricc.proof.compare import Finding, Mismatch, compare, device_findings

__all__ = ["Finding", "Mismatch", "compare", "device_findings"]
