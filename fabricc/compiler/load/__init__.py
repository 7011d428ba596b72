"""Find the inputs of a build: the spec, its lock, its base revision, and their digests."""
