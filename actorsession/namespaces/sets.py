"""Operations on sets, which are the rows of sparse or dense tensors."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.sparse.sets": (
        "set_difference set_difference=difference set_intersection set_intersection=intersection "
        "set_size set_size=size set_union set_union=union"
    )
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
