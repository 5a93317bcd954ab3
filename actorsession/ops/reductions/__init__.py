"""Many elements into few: reductions over axes, segments, counts, and what ranks or searches."""
