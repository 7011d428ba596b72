"""Readers of Junos statements that fabricc never writes: designs of others."""
