"""Readers of FRR statements that fabricc never writes: designs of others."""
