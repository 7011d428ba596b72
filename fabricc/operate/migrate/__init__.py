"""Split a change into steps: intermediate specs, each proved and reviewed."""
