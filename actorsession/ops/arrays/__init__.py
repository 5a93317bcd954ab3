"""Ops that make, reshape, slice, join, gather and scatter tensors, independent of the meaning of elements."""
