"""Below the waist: a Fabric becomes files, and files become facts. Nobody here knows a spec."""
