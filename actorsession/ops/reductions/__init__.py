"""Reductions of many elements to few: over axes, by segments, counts, ranking and searching."""
