"""Maintenance of devices and links: whom it touches, what it leaves, and how it is begun and ended."""
