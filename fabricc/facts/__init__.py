"""The statements of one device, sorted once from a reading: ports, sessions, places in its files."""
