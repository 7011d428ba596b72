"""The invariants of a lossless fabric, computed from the content of the files instead of from the plan."""

from fabricc.proof.invariants.rules import CODES, RULES
from fabricc.proof.invariants.survey import Survey

__all__ = ["CODES", "RULES", "Survey"]
