"""The proof of InfiniBand: files read back against the subnets as decided, and opensm run on a simulated fabric."""
