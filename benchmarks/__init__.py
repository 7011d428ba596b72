"""Timings of whole processes: `python -m benchmarks` prints the table. Nothing here decides whether a test passes."""
