"""The invariants of a lossless fabric, each stated anew from what files say rather than from how they were planned."""

from fabricc.check.invariants.census import Census
from fabricc.check.invariants.digest import Survey
from fabricc.check.invariants.rules import CODES, RULES

__all__ = ["CODES", "RULES", "Census", "Survey"]
