"""The foundation of every package: documents, diagnostics, safe access to foreign files, values."""
