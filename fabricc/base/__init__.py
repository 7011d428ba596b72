"""What every room stands on: diagnostics, the doors for what others wrote, values."""
