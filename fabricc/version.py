"""The version of fabricc, as `pyproject.toml` states it."""

__version__ = "0.1.0"
