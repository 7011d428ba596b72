"""Changes that cannot be made in one step: the specs in between, each proved and rated."""
