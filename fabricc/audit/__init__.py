"""What a running fabric is, from its devices' own configurations: nothing of it needs a spec."""
