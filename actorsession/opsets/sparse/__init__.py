"""Sparse tensors: entries by coordinate, and the operations on them."""
