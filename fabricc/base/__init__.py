"""What every room stands on: documents, diagnostics, the doors for what others wrote, what is installed, values."""
