"""Topologies of the same Fabric for those who have images: containerlab and netlab."""
