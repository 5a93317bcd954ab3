# Written by scripts/generated.py.
"""Collectives: sums, gathers and broadcasts over a group of devices."""

from actorsession.opsets.collective.groups import Group as Group
from actorsession.opsets.collective.groups import all_gather as all_gather
from actorsession.opsets.collective.groups import all_reduce as all_reduce
from actorsession.opsets.collective.groups import all_to_all as all_to_all
from actorsession.opsets.collective.groups import barrier as barrier
from actorsession.opsets.collective.groups import broadcast as broadcast
from actorsession.opsets.collective.groups import reduce_scatter as reduce_scatter

__all__ = [
"Group", "all_gather", "all_reduce", "all_to_all", "barrier", "broadcast", "reduce_scatter"
]
