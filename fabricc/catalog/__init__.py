"""Models of switches, NICs and hosts, every figure with its source: data files and their loader."""

from fabricc.catalog.load import load_catalog
from fabricc.catalog.names import suggest_names

__all__ = ["load_catalog", "suggest_names"]
