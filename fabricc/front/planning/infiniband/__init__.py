"""From a spec to an InfiniBand fabric: topology as everywhere, then identities, engines, tenants."""
