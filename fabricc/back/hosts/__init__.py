"""Hosts: operating-system and NIC configuration rendered from a `Host`, read back, and job files."""
