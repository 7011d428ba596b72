"""Plan the ends that hosts have: cables, NICs and racks."""
