"""Fake quantisation: rounding to the values that a few bits can hold, with gradients."""
