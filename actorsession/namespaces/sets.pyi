# Written by scripts/generated.py.
"""Operations on sets, which are the rows of sparse or dense tensors."""

from actorsession.opsets.sparse.sets import set_difference as set_difference
from actorsession.opsets.sparse.sets import set_difference as difference
from actorsession.opsets.sparse.sets import set_intersection as set_intersection
from actorsession.opsets.sparse.sets import set_intersection as intersection
from actorsession.opsets.sparse.sets import set_size as set_size
from actorsession.opsets.sparse.sets import set_size as size
from actorsession.opsets.sparse.sets import set_union as set_union
from actorsession.opsets.sparse.sets import set_union as union

__all__ = [
"difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size",
"union"
]
