"""Faults planted in fabrics of the six systems: on one switch, on one tier and on every switch."""
