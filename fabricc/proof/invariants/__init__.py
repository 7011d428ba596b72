"""The invariants of a lossless fabric, each stated anew from what files say rather than from how they were planned."""

from fabricc.proof.invariants.census import Census
from fabricc.proof.invariants.rules import CODES, RULES
from fabricc.proof.invariants.survey import Survey

__all__ = ["CODES", "RULES", "Census", "Survey"]
