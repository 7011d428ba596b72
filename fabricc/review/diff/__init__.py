"""Review of a change: what it does to every device, for how many GPUs, and how risky that is."""
