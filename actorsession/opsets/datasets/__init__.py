"""Datasets: pipelines of elements for training, and the iterators that sessions take them from."""
