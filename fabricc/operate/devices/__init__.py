"""Live switches: which there are, how to log in, and what they run, read to facts through the back ends."""
