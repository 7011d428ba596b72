"""Write the tree of a build: workers that share the devices, and what they report."""
