"""Compute the shape of a fabric: tiers, counts, cages, and the links between them."""
