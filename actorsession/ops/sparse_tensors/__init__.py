"""Sparse tensors: entries by coordinate, and what can be done with them."""
