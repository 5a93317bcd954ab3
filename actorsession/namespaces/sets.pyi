# Written by scripts/generated.py.
"""Operations on sets, which are the rows of sparse or dense tensors."""

from actorsession.opsets.sparse.sets import (
set_difference as set_difference, set_difference as difference, set_intersection as
set_intersection, set_intersection as intersection, set_size as set_size, set_size as size,
set_union as set_union, set_union as union
)


__all__ = [
"difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union", "size",
"union"
]
