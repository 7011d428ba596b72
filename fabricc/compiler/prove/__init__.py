"""Prove files against the plan: one device, equal devices by substitution, several switches by rules."""
