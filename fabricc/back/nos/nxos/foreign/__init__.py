"""Readers of NX-OS statements that fabricc never writes: designs of others."""
