"""Gradients of graphs, and the registration of gradient functions."""
