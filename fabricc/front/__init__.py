"""Above the waist: a spec becomes a Fabric. Nobody here knows a vendor."""
