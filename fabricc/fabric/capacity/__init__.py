"""The capacity of a fabric: its wiring, an outage of any of its parts, and what remains. Pure functions."""
