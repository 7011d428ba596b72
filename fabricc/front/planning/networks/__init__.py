"""Plan networks other than the rails: further, external, management and tenant networks, and overrides of devices."""
