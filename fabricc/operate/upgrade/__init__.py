"""Another release of an operating system on switches: what it changes, who can take it, in which order, and back."""
