"""Plan a spec and its further networks, and apply what the spec accepts."""
