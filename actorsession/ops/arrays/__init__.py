"""Tensors made, laid out, cut, joined, gathered and scattered, whatever their elements mean."""
