"""The tables of torch kernels, one file for each family of operations."""
