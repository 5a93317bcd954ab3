"""Accumulators: sums of gradients that are taken when enough have arrived."""
