"""Every kind of file that fabricc opens, changed at random: `python -m tests.fuzz --inputs 100000`."""
