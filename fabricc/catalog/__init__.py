"""Models of switches, NICs and hosts, every figure with its source: data files and their loader."""

from fabricc.catalog.library import suggest_names
from fabricc.catalog.load import load_catalog

__all__ = ["load_catalog", "suggest_names"]
