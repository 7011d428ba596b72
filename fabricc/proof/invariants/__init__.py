"""The invariants of a lossless fabric, each stated anew from what files say rather than from how they were planned."""

from fabricc.proof.invariants.census import Census
from fabricc.proof.invariants.digest import Survey
from fabricc.proof.invariants.rules import CODES, RULES

__all__ = ["CODES", "RULES", "Census", "Survey"]
