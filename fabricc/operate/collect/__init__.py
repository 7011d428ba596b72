"""Fetching what an audit reads from live switches, read-only."""
