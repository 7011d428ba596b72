"""What is wrong with an input or a result: one value, rendered for people and for machines."""

from fabricc.base.diagnostics.model import Diagnostic, FindingsError, Position, Severity, worst_severity

__all__ = ["Diagnostic", "FindingsError", "Position", "Severity", "worst_severity"]
