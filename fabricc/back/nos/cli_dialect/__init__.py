"""Syntax that EOS, NX-OS and similar systems share: name order, prefix lists, community lists, route maps."""
