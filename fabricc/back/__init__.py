"""Render a Fabric as files, and read facts from files. Back ends do not use the spec."""
