"""Sampling of candidate classes, and the losses on the classes sampled."""
