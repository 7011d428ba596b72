"""What others wrote, and the only doors through which it comes in: files, git, text."""
