# Written by scripts/generated.py.
"""Collectives: sums, gathers and broadcasts over a group of devices."""

from actorsession.opsets.collective.groups import (
Group as Group, all_gather as all_gather, all_reduce as all_reduce, all_to_all as all_to_all,
barrier as barrier, broadcast as broadcast, reduce_scatter as reduce_scatter
)


__all__ = [
"Group", "all_gather", "all_reduce", "all_to_all", "barrier", "broadcast", "reduce_scatter"
]
