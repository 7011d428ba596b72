"""Plan an InfiniBand fabric from a spec: topology, identities, engines and tenants."""
