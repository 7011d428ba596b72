"""Readers of SONiC statements that fabricc never writes: designs of others."""
