"""Compute the queue pairs that a connection needs to use the fabric's parallel paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.routing import Spreading

if TYPE_CHECKING:
    from fabricc.fabric.routing import LoadBalancing

MOST = 4
"""Queue pairs of a connection at most (assumed: no document gives a figure for a path count).

NCCL's default is 1, and its user guide advises more for fabrics of several tiers, up to 128. Every one costs context
memory in the NIC for each peer: the manual of Ascend's HCCL, for the same setting, finds no gain beyond 8 and shows 4.
"""


def queue_pairs(paths: int, balancing: LoadBalancing) -> int:
    """Queue pairs per connection, for NCCL_IB_QPS_PER_CONNECTION and UCX_IB_NUM_PATHS.

    A queue pair has one UDP source port, and so takes one path where switches hash flows or flowlets: there are as
    many as paths, at most `MOST`. Where switches spread packets, one queue pair takes every path already.

    Args:
        paths: equal-cost ways from the host's ToRs to others, see `Fabric.paths`.
        balancing: how switches spread.
    """
    return 1 if balancing.mode is Spreading.PACKET else min(MOST, paths)
