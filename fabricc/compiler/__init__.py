"""The build driver: from a spec's path to a checked output tree."""

from fabricc.compiler.result import BuildResult, exit_status

__all__ = ["BuildResult", "exit_status"]
