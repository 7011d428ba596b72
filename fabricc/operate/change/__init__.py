"""Plan a change: variants of a spec, and the order in which switches change."""
