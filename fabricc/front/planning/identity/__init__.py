"""Keep names, numbers and addresses: given by tables, renamed, or pinned by the lock."""
