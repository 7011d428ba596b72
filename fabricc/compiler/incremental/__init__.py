"""Builds after the first: no work if nothing changed, a few devices if only these can change.

This second way exists next to the whole build (`writing.py`) because a whole build also spends time on unchanged files.
Of 24,576 GPUs, 63,540 names and folders, CPU time on two cores: linking each into a new tree 0.70 s, the
manifest read and written 0.16 s, reading all file states for the record again 0.19 s, the rules of the whole fabric
0.11 s: 1.2 s, where one override on one ToR takes 0.45 s of CPU and 0.28 s in all. Devices are rendered, read back and
looked at by the same code either way (`device.py`, `outcome.py`).

- `record`: what the last build read and wrote; if all of it is unchanged, nothing is to do.
- `ledger`: the contribution of every device to the tables and to the rules of the whole fabric.
- `altered`: which devices two fabrics can differ in.
- `partial`: those devices, patched into the tree (`tree/patch.py`).
"""
