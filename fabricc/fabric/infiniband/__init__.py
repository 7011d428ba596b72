"""The waist of InfiniBand: a subnet as decided, the identities of its devices, its wiring."""
