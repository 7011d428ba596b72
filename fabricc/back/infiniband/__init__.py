"""InfiniBand: a subnet planned from the same spec, the subnet manager's files, and the proof of both."""
