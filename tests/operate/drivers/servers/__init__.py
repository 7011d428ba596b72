"""Devices for tests of drivers and of what uses them: a real FRR box, and small servers that speak a vendor's protocol.

Each is a context manager that yields a `Device`; `docs/drivers.md` lists what each covers.
"""
