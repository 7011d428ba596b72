"""Live switches against the plan, read only: cabling, sessions, routes, interfaces, lossless policy, configuration."""
