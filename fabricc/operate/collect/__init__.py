"""Collect the files that an audit reads from live switches, read-only."""
