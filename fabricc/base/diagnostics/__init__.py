"""Findings about an input or a result, rendered for people and for programs."""

from fabricc.base.diagnostics.model import Diagnostic, FindingsError, Position, Severity, worst_severity

__all__ = ["Diagnostic", "FindingsError", "Position", "Severity", "worst_severity"]
