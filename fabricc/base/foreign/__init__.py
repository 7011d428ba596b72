"""Open everything that others wrote: files, git, text. No other package does."""
