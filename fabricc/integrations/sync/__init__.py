"""Synchronization with sources of truth: NetBox and Nautobot."""
