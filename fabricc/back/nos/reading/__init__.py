"""The reader of all back ends: one tree for every syntax, and rows of patterns that say what its lines mean."""
