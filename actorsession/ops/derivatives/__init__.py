"""Gradients: the way back through a graph, and who may change it."""
