"""Turn a spec into a Fabric. No module in this package depends on a vendor."""
