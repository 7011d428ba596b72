"""Tests of how diagnostics are shown."""
