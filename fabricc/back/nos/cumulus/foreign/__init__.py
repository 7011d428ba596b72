"""Readers of Cumulus statements that fabricc never writes: designs of others."""
