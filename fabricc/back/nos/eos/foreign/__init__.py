"""Readers of EOS statements that fabricc never writes: designs of others."""
