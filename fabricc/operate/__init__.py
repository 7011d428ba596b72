"""Live devices: drivers, connections, pushing, verifying, the lab."""
